//! Pure: what the file's text and the environment set, key by key, and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::check::{self, safe_path, shown};
use super::nearest;
use super::resolve::{self, Outside};
use super::table::{self, KEYS, Key, Place, VARIABLE_JOINT, VARIABLE_PREFIX};
use super::text::read;
use super::text::scan::{self, Member};
use crate::error::{Error, Result};
use crate::json;
use crate::limits::config as limits;
use crate::secret::Secret;

/// Where the value of a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// The file, in this line.
    File(usize),
    /// A variable of the environment.
    Variable(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(line) => write!(f, "file, line {line}"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

/// A key's value.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Which key of the table.
    pub key: &'static Key,
    /// What it is set to. It may be a secret.
    pub value: Value,
    /// Who set it.
    pub source: Source,
}

/// What has been set, and what is wrong with it.
pub struct Settings<'a> {
    /// How references are followed; none: they are left as they are, and any text with one is right.
    outside: Option<&'a Outside<'a>>,
    /// What is set, by path.
    pub set: BTreeMap<String, Setting>,
    /// The same as one object, with the sections that are there but empty.
    pub values: Map<String, Value>,
    /// Every secret that has been met.
    pub secrets: Vec<Secret>,
    /// Whether the file itself holds a secret, not only references.
    pub holds_secret: bool,
    /// What is wrong: each with its place.
    problems: Vec<String>,
}

impl<'a> Settings<'a> {
    /// Nothing is set yet.
    pub fn new(outside: Option<&'a Outside<'a>>) -> Self {
        Self {
            outside,
            set: BTreeMap::new(),
            values: Map::new(),
            secrets: Vec::new(),
            holds_secret: false,
            problems: Vec::new(),
        }
    }

    /// Takes what the file says. Broken JSON is an error at once; the rest is collected.
    pub fn take_file(&mut self, text: &str, file: &str) -> Result<()> {
        let value = read::parse(text, file).map_err(Error::Config)?;
        if !value.is_object() {
            let what = shown(&value);
            return Err(Error::Config(format!(
                "{file}: this is {what}, not an object {{ … }}"
            )));
        }
        let mut done: Option<Vec<String>> = None;
        for member in scan::members(text) {
            // What lies within a value, or below an unknown name, has been dealt with.
            let within = |done: &Vec<String>| {
                member.path.len() > done.len() && member.path.starts_with(done)
            };
            if done.as_ref().is_some_and(within) {
                continue;
            }
            if !self.take_member(&member, &text[member.value.clone()], file) {
                done = Some(member.path);
            }
        }
        Ok(())
    }

    /// Takes one member of the file; false when there is nothing more to look at within it.
    fn take_member(&mut self, member: &Member, value: &str, file: &str) -> bool {
        let place = format!("{file}:{}", member.line);
        let mut names = Vec::new();
        let mut found = Place::Section("");
        for name in &member.path {
            let step = match found {
                Place::Section(section) => table::step(section, name),
                Place::Key(_) => None,
            };
            let Some((next, spelt)) = step else {
                names.extend(member.path[names.len()..].iter().cloned());
                let path = safe(&names);
                let advice = nearest::advice(&path);
                self.problem(&place, &format!("{path} is no key; {advice}"));
                return false;
            };
            found = next;
            names.push(spelt);
        }
        let value = json::from_str(value).unwrap_or_default();
        match found {
            Place::Key(key) => {
                let source = Source::File(member.line);
                let path = names.join(".");
                if let Some(Setting {
                    source: Source::File(first),
                    ..
                }) = self.set.get(&path)
                {
                    self.problem(
                        &place,
                        &format!("{} is set again; first in line {first}", safe(&names)),
                    );
                }
                self.holds_secret |= key.is_secret() && holds_plain_text(&value);
                self.take(key, &names, value, (source, &place));
                false
            }
            Place::Section(_) if value.is_object() => {
                section(&mut self.values, &names);
                true
            }
            Place::Section(_) => {
                if !value.is_null() {
                    let what = shown(&value);
                    let path = safe(&names);
                    self.problem(
                        &place,
                        &format!("{path} is {what}; it wants an object {{ … }}"),
                    );
                }
                false
            }
        }
    }

    /// Takes the variables that set keys: `PEACRAB_AGENTS__DEFAULTS__MODEL`. They win over the file.
    pub fn take_environment<'e>(&mut self, variables: impl Iterator<Item = (&'e str, &'e str)>) {
        for (variable, text) in variables {
            let Some(rest) = variable.strip_prefix(VARIABLE_PREFIX) else {
                continue;
            };
            // PEACRAB_HOME and its like are no keys: every key has two levels.
            if !rest.contains(VARIABLE_JOINT) {
                continue;
            }
            match self.key_of_variable(rest) {
                Some((key, names)) => {
                    let source = Source::Variable(variable.to_owned());
                    self.take(key, &names, key.parse(text), (source, variable));
                }
                None => {
                    let advice = match nearest::nearest_variable(variable) {
                        Some(near) => format!("did you mean {near}?"),
                        None => {
                            "`peacrab config explain KEY` says the variable of each key".to_owned()
                        }
                    };
                    self.problem(variable, &format!("this variable sets no key; {advice}"));
                }
            }
        }
    }

    /// The key and its names. A person's own name is the one in the file that reads the same in upper
    /// case, else the lower case.
    fn key_of_variable(&self, variable: &str) -> Option<(&'static Key, Vec<String>)> {
        let own: Vec<&str> = variable.split(VARIABLE_JOINT).collect();
        KEYS.iter().find_map(|key| {
            let known: Vec<&str> = key.path.split('.').collect();
            if known.len() != own.len() {
                return None;
            }
            let mut names: Vec<String> = Vec::new();
            for (known, own) in std::iter::zip(known, &own) {
                let name = match known {
                    "*" => self.chosen_name(&names, own),
                    _ if table::upper_snake(known) == *own => known.to_owned(),
                    _ => return None,
                };
                names.push(name);
            }
            Some((key, names))
        })
    }

    fn chosen_name(&self, section: &[String], upper: &str) -> String {
        let inside = section
            .iter()
            .try_fold(&self.values, |values, name| values.get(name)?.as_object());
        let known =
            inside.and_then(|values| values.keys().find(|name| table::upper_name(name) == upper));
        known.cloned().unwrap_or_else(|| upper.to_ascii_lowercase())
    }

    /// Takes the value of a key: follows its references, checks it and keeps it.
    fn take(&mut self, key: &'static Key, names: &[String], value: Value, from: (Source, &str)) {
        let (source, place) = from;
        let path = names.join(".");
        let resolved = match self.outside {
            Some(outside) => outside.resolve(key, value),
            None => Ok(value),
        };
        let value = match resolved {
            Ok(Value::Null) if !key.nullable => return,
            Ok(value) => value,
            Err(error) => return self.problem(place, &format!("{} {error}", safe(names))),
        };
        if let Some(problem) = check::problem(key, &path, &value, self.outside.is_none()) {
            return self.problem(place, &problem);
        }
        if key.is_secret() {
            self.secrets.extend(texts(&value).map(Secret::new));
        }
        insert(&mut self.values, names, value.clone());
        self.set.insert(path, Setting { key, value, source });
    }

    /// Notes what is wrong at a place.
    pub fn problem(&mut self, place: &str, what: &str) {
        self.problems.push(format!("{place}: {what}"));
    }

    /// An error with all problems, when there are any.
    pub fn verdict(&self) -> Result<()> {
        let shown = self.problems.len().min(limits::PROBLEMS);
        match &self.problems[..] {
            [] => Ok(()),
            [only] => Err(Error::Config(only.clone())),
            all => {
                let mut text = format!("the configuration has {} mistakes", all.len());
                for problem in &all[..shown] {
                    text.push_str("\n  ");
                    text.push_str(problem);
                }
                if shown < all.len() {
                    text.push_str("\n  …");
                }
                Err(Error::Config(text))
            }
        }
    }
}

fn safe(names: &[String]) -> String {
    safe_path(names.iter().map(String::as_str))
}

/// Puts a value where the names lead to.
pub fn insert(values: &mut Map<String, Value>, names: &[String], value: Value) {
    let Some((last, sections)) = names.split_last() else {
        return;
    };
    if let Some(section) = section(values, sections) {
        section.insert(last.clone(), value);
    }
}

/// The object that the names lead to; what is not there yet is made.
fn section<'v>(
    values: &'v mut Map<String, Value>,
    names: &[String],
) -> Option<&'v mut Map<String, Value>> {
    let Some((first, rest)) = names.split_first() else {
        return Some(values);
    };
    let empty = || Value::Object(Map::new());
    match values.entry(first.clone()).or_insert_with(empty) {
        Value::Object(inner) => section(inner, rest),
        _ => None,
    }
}

/// The texts of a secret's value: itself, or the members of an object.
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let members = value.as_object().into_iter().flat_map(Map::values);
    members.chain([value]).filter_map(Value::as_str)
}

fn holds_plain_text(value: &Value) -> bool {
    texts(value).any(|text| !text.is_empty() && !resolve::refers(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problems(text: &str) -> String {
        let mut settings = Settings::new(None);
        let taken = settings.take_file(text, "f");
        let verdict = taken.and_then(|()| settings.verdict());
        verdict
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn each_mistake_is_told_with_its_line_and_what_would_be_right() {
        assert_eq!(
            problems("{\n\"agents\": {\"defaults\": {\n\"modle\": \"x\"}}}"),
            "f:3: agents.defaults.modle is no key; did you mean agents.defaults.model?"
        );
        assert_eq!(
            problems("{\"agents\": {\"defaults\": {\"max_tokens\": \"many\"}}}"),
            "f:1: agents.defaults.maxTokens is \"many\"; it wants a whole number from 1 to 1000000"
        );
        assert_eq!(
            problems("{\"agents\": []}"),
            "f:1: agents is a list; it wants an object { … }"
        );
        assert_eq!(problems("[1]"), "f: this is a list, not an object { … }");
        assert_eq!(
            problems("{\"log\": {\"level\": \"info\",\n\"level\": \"off\"}}"),
            "f:2: log.level is set again; first in line 1"
        );
    }

    #[test]
    fn a_wrong_secret_is_not_shown() {
        let text = problems("{\"providers\": {\"x\": {\"apiKey\": [\"sk-canary\"]}}}");
        assert_eq!(
            text,
            "f:1: providers.x.apiKey is a list; it wants a text, ${NAME} or file:PATH"
        );
    }

    #[test]
    fn several_mistakes_are_told_together_up_to_a_screen_full() {
        let few = problems("{\"a\": {\"b\": 1}, \"c\": 2}");
        assert!(
            few.starts_with("the configuration has 2 mistakes\n  f:1: a is no key;"),
            "{few}"
        );
        let many: Vec<String> = (0..100).map(|number| format!("\"k{number}\": 1")).collect();
        let many = problems(&format!("{{{}}}", many.join(",")));
        assert_eq!(many.lines().count(), limits::PROBLEMS + 2);
    }

    #[test]
    fn null_is_the_default_except_where_it_is_a_value() {
        let mut settings = Settings::new(None);
        let text =
            "{\"agents\": {\"defaults\": {\"model\": null, \"temperature\": null}}, \"tls\": null}";
        settings.take_file(text, "f").unwrap();
        settings.verdict().unwrap();
        assert_eq!(
            settings.set.keys().collect::<Vec<_>>(),
            ["agents.defaults.temperature"]
        );
    }

    #[test]
    fn a_variable_that_sets_no_key_is_a_mistake_and_other_variables_are_not() {
        let mut settings = Settings::new(None);
        let variables = [
            ("PEACRAB_HOME", "/h"),
            ("OTHER__THING", "1"),
            ("PEACRAB_LOG__LEVLE", "info"),
        ];
        settings.take_environment(variables.into_iter());
        assert_eq!(
            settings.verdict().unwrap_err().to_string(),
            "PEACRAB_LOG__LEVLE: this variable sets no key; did you mean PEACRAB_LOG__LEVEL?"
        );
    }

    proptest! {
        #[test]
        fn no_object_makes_it_fail_and_each_unknown_name_is_told(
            names in proptest::collection::btree_set("[a-z_.*]{1,12}", 1..5), deep in any::<bool>()
        ) {
            let inner = names.iter().map(|name| (name.clone(), Value::from(1))).collect();
            let mut value = Value::Object(inner);
            if deep {
                value = serde_json::json!({"providers": {"x": value}});
            }
            let told = problems(&value.to_string());
            for name in &names {
                prop_assert!(told.contains(name.as_str()), "{told}");
            }
        }
    }
}
