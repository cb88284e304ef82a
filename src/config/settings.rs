//! Pure: what the file's text and the environment set, and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::check::{self, describe_value, safe_path};
use super::key::{Key, Kind, VARIABLE_JOINT, VARIABLE_PREFIX};
use super::nearest;
use super::resolve::{self, Outside};
use super::table::{self, Place, keys};
use super::text::read;
use super::text::scan::{self, Member};
use super::texts;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::secret::Secret;

/// Problems of a file that are told at once; a screen holds no more, and the next show then.
const PROBLEMS: usize = 10;

/// Where the value of a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is not set.
    Default,
    /// The file, on this line.
    File(usize),
    /// An environment variable.
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

/// A setting that is set.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its row in the table.
    pub key: &'static Key,
    /// Its value. It may be a secret.
    pub value: Value,
    /// Where it is set.
    pub source: Source,
}

/// Everything that is set, and what is wrong with it.
pub struct Settings<'a> {
    /// Looks up references; `None`: they are left as they are, and any string with one is valid.
    outside: Option<&'a Outside<'a>>,
    /// The settings by path.
    pub set: BTreeMap<String, Setting>,
    /// The same as one object, which also has empty sections.
    pub values: Map<String, Value>,
    /// Every secret among them.
    pub secrets: Vec<Secret>,
    /// Whether the file itself contains a secret, not only references.
    pub holds_secret: bool,
    /// What has to be corrected before a start, each with its place.
    problems: Vec<String>,
    /// The same within channels, which matters while they are enabled: the channel, the place, and the problem.
    of_channels: Vec<(String, String, String)>,
    /// What is ignored, because a start without it is safe, each with its place.
    ignored: Vec<String>,
    /// How many more there are.
    ignored_more: usize,
    /// Why the passphrase of backups cannot be used.
    pub backup_fault: Option<String>,
    /// The names of sections that cannot be used.
    left_out: Vec<Vec<String>>,
}

/// The switch of a section by a name that other programs have for it, such as `enable` or `disabled`. The value gets
/// the sense of our own.
fn other_switch(section: &str, name: &str, value: &mut Value) -> Option<(Place, String)> {
    let is_reversed = table::switch_name(name)?;
    let (place, spelt) = table::step(section, "enabled")?;
    let Place::Key(key) = place else { return None };
    *value = check::plainly(key.kind, value.take());
    if let Value::Bool(is_on) = value {
        *is_on ^= is_reversed;
    }
    Some((place, spelt))
}

impl<'a> Settings<'a> {
    /// Starts with nothing set.
    pub fn new(outside: Option<&'a Outside<'a>>) -> Self {
        Self {
            outside,
            set: BTreeMap::new(),
            values: Map::new(),
            secrets: Vec::new(),
            holds_secret: false,
            problems: Vec::new(),
            of_channels: Vec::new(),
            ignored: Vec::new(),
            ignored_more: 0,
            backup_fault: None,
            left_out: Vec::new(),
        }
    }

    /// Reads the file's text. Broken JSON is an error at once; other problems are collected.
    pub fn take_file(&mut self, text: &str, file: &str) -> Result<()> {
        let value = read::parse(text, file).map_err(Error::Config)?;
        if !value.is_object() {
            let text = texts::file_is_not_an_object(file, &describe_value(&value));
            return Err(Error::Config(text));
        }
        let mut done: Option<Vec<String>> = None;
        for member in scan::members(text) {
            // Members of a value, or below an unknown name, need no further look.
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

    /// Reads one member of the file; false when its own members need no further look.
    fn take_member(&mut self, member: &Member, value: &str, file: &str) -> bool {
        let place = format!("{file}:{}", member.line);
        let mut names = Vec::new();
        let mut found = Place::Section("");
        let mut value = json::from_str(value).unwrap_or_default();
        for name in &member.path {
            let step = match found {
                Place::Section(section) => {
                    table::step(section, name).or_else(|| other_switch(section, name, &mut value))
                }
                Place::Key(_) => None,
            };
            let Some((next, spelt)) = step else {
                // Where something is to be off, a start that has it on is not safe.
                let is_last = !names.is_empty() && names.len() + 1 == member.path.len();
                let stops = is_last
                    && table::switch_name(name).is_some_and(|is_reversed| {
                        check::plainly(Kind::Flag, value) == Value::Bool(is_reversed)
                    });
                names.extend(member.path[names.len()..].iter().cloned());
                let path = safe(&names);
                let advice = nearest::advise(&path);
                let text = texts::unknown_setting(&path, &advice);
                self.complain(stops, &names, &place, &text);
                return false;
            };
            found = next;
            names.push(spelt);
        }
        match found {
            Place::Key(key) => {
                let source = Source::File(member.line);
                let path = names.join(".");
                if let Some(Setting {
                    source: Source::File(first),
                    ..
                }) = self.set.get(&path)
                {
                    let text = texts::set_twice(&safe(&names), *first);
                    self.complain(key.guards(), &names, &place, &text);
                }
                let within = key.secrets_within(&value);
                let mut within = within.iter().map(Secret::expose);
                self.holds_secret |= within.any(|text| !resolve::refers(text))
                    || key.is_secret() && holds_plain_text(&value);
                self.take(key, &names, value, (source, &place));
                false
            }
            Place::Section(_) if value.is_object() => {
                section(&mut self.values, &names);
                true
            }
            Place::Section(_) => {
                if !value.is_null() {
                    let value = describe_value(&value);
                    let text = texts::section_is_not_an_object(&safe(&names), &value);
                    let guards = table::within(&names.join(".")).any(Key::guards);
                    self.complain(guards, &names, &place, &text);
                }
                false
            }
        }
    }

    /// Reads the variables that match settings, such as `PEACRAB_AGENTS__DEFAULTS__MODEL`. They override
    /// the file.
    pub fn take_environment<'e>(&mut self, variables: impl Iterator<Item = (&'e str, &'e str)>) {
        for (variable, text) in variables {
            let Some(rest) = variable.strip_prefix(VARIABLE_PREFIX) else {
                continue;
            };
            // PEACRAB_HOME is not a setting: every setting has at least two levels.
            if !rest.contains(VARIABLE_JOINT) {
                continue;
            }
            match self.key_of_variable(rest) {
                Some((key, names)) => {
                    let source = Source::Variable(variable.to_owned());
                    self.take(key, &names, key.parse(text), (source, variable));
                }
                None => {
                    let nearest = nearest::nearest_variable(variable);
                    self.ignore(variable, &texts::unknown_variable(nearest.as_deref()));
                }
            }
        }
    }

    /// The setting of a variable, and the names in its path. A name that the user chose is the one in the
    /// file that is the same in upper case, else it is taken in lower case.
    fn key_of_variable(&self, variable: &str) -> Option<(&'static Key, Vec<String>)> {
        let own: Vec<&str> = variable.split(VARIABLE_JOINT).collect();
        keys().find_map(|key| {
            let known: Vec<&str> = key.path.split('.').collect();
            if known.len() != own.len() {
                return None;
            }
            let mut names: Vec<String> = Vec::new();
            for (known, own) in std::iter::zip(known, &own) {
                let name = match known {
                    "*" => self.chosen_name(&names, own),
                    _ if super::key::upper_snake(known) == *own => known.to_owned(),
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
        let known = inside.and_then(|values| {
            values
                .keys()
                .find(|name| super::key::upper_name(name) == upper)
        });
        known.cloned().unwrap_or_else(|| upper.to_ascii_lowercase())
    }

    /// Keeps the value of a setting, once its references are followed and it is checked.
    fn take(&mut self, key: &'static Key, names: &[String], value: Value, from: (Source, &str)) {
        let (source, place) = from;
        let path = names.join(".");
        let written = value.clone();
        let resolved = match self.outside {
            Some(outside) => outside.resolve(key, value),
            None => Ok(value),
        };
        let resolved = resolved.map(|value| match value {
            Value::String(line) if key.has_arguments() => check::arguments(&line),
            value => check::plainly(key.kind, value),
        });
        let value = match resolved {
            Ok(Value::Null) if !key.nullable => return,
            // As other programs write what is not set.
            Ok(Value::String(text)) if text.is_empty() && !check::accepts_empty(key, &path) => {
                return;
            }
            Ok(Value::Array(ids)) if key.path.ends_with(".allowFrom") => {
                let ids = self.without_wrong_ids(key, names, place, ids);
                ids_as_strings(ids)
            }
            Ok(Value::Array(ids)) if matches!(key.kind, Kind::Ids | Kind::Names) => {
                ids_as_strings(ids)
            }
            Ok(value @ Value::Array(_)) => {
                let mut value = check::agents::normalize(key.kind, value);
                let open = self.outside.is_none();
                for text in check::agents::drop_unusable(key.kind, &path, &mut value, open) {
                    self.ignore(place, &text);
                }
                value
            }
            Ok(value) => value,
            Err(error) => {
                let text = format!("{} {error}", safe(names));
                return self.wrong(key, names, place, &text);
            }
        };
        // An empty file is not the wish for backups that anyone can read.
        let is_lost = key.path == check::PASSPHRASE && value == "" && written != "";
        let problem = match is_lost {
            true => Some(texts::short_passphrase(&path)),
            false => check::problem(key, &path, &value, self.outside.is_none()),
        };
        if let Some(problem) = problem {
            return self.wrong(key, names, place, &problem);
        }
        if key.path == check::PASSPHRASE
            && let Some(fault) = self.backup_fault.take()
        {
            let (off, other) = (texts::backups_off(&fault), texts::other_used(&fault, place));
            for line in &mut self.ignored {
                *line = line.replace(&off, &other);
            }
        }
        if key.is_secret() {
            let is_plain = |text: &str| check::is_plain_variable(key, (&written, &value), text);
            let secrets = strings(&value).filter(|text| !is_plain(text));
            self.secrets.extend(secrets.map(Secret::new));
        } else {
            self.secrets.extend(key.secrets_within(&value));
        }
        insert(&mut self.values, names, value.clone());
        self.set.insert(path, Setting { key, value, source });
    }

    /// The ids that can match someone. Without the others fewer people have access, which is safe.
    fn without_wrong_ids(
        &mut self,
        key: &Key,
        names: &[String],
        place: &str,
        mut ids: Vec<Value>,
    ) -> Vec<Value> {
        let open = self.outside.is_none();
        ids.retain(|id| {
            let alone = Value::Array(vec![id.clone()]);
            let problem = check::problem(key, &names.join("."), &alone, open);
            // As other programs write an empty list.
            let is_said = *id != "";
            if let Some(problem) = problem.as_ref().filter(|_| is_said) {
                self.ignore(place, &texts::used_instead(problem, None));
            }
            problem.is_none()
        });
        ids
    }

    /// A wrong value. It stops the program where its setting guards something; a server or a command with one is
    /// left out; without their passphrase automatic backups are off; elsewhere the setting keeps its default, or the
    /// value that it has from the file.
    fn wrong(&mut self, key: &Key, names: &[String], place: &str, what: &str) {
        if let Some(section) = key.leaves_out() {
            let names = names[..section.min(names.len())].to_vec();
            self.leave_out(place, what, names);
        } else if key.path == check::PASSPHRASE {
            self.ignore(place, &texts::backups_off(what));
            self.backup_fault = Some(what.to_owned());
        } else if key.guards() {
            self.guarded(names, place, what);
        } else {
            let is_set = self.set.contains_key(&names.join("."));
            let default = Some(key.default).filter(|_| !is_set);
            self.ignore(place, &texts::used_instead(what, default));
        }
    }

    fn complain(&mut self, stops: bool, names: &[String], place: &str, what: &str) {
        if stops {
            self.guarded(names, place, what)
        } else {
            self.ignore(place, what)
        }
    }

    /// A problem with a setting that guards something. Whether a channel is enabled is known at the end.
    fn guarded(&mut self, names: &[String], place: &str, what: &str) {
        match names {
            [section, channel, ..] if section == "channels" => {
                let found = (channel.clone(), place.to_owned(), what.to_owned());
                self.of_channels.push(found);
            }
            _ => self.problem(place, what),
        }
    }

    /// Ignores what is wrong in channels that are not enabled.
    pub fn settle_channels(&mut self) {
        for (channel, place, what) in std::mem::take(&mut self.of_channels) {
            let channels = self.values.get("channels");
            let enabled = channels.map(|channels| &channels[&channel]["enabled"]);
            if matches!(enabled, Some(Value::Bool(true) | Value::String(_))) {
                self.problem(&place, &what)
            } else {
                self.ignore(&place, &texts::used_instead(&what, None))
            }
        }
    }

    /// Replaces the value of a setting that is set.
    pub fn replace(&mut self, path: &str, value: Value) {
        if let Some(setting) = self.set.get_mut(path) {
            setting.value = value.clone();
            let names: Vec<String> = path.split('.').map(str::to_owned).collect();
            insert(&mut self.values, &names, value);
        }
    }

    /// Notes that what stands at a place is ignored.
    pub fn ignore(&mut self, place: &str, what: &str) {
        if self.ignored.len() < PROBLEMS {
            self.ignored.push(format!("{place}: {what}"))
        } else {
            self.ignored_more += 1
        }
    }

    /// Takes what is ignored, a screenful at most.
    pub fn take_ignored(&mut self) -> Vec<String> {
        let more = (self.ignored_more > 0).then(|| texts::more_problems(self.ignored_more));
        let first = std::mem::take(&mut self.ignored);
        first.into_iter().chain(more).collect()
    }

    /// Removes what is set at a path and below it, as if it were not set.
    pub fn forget(&mut self, names: &[impl AsRef<str>]) {
        let Some((last, sections)) = names.split_last() else {
            return;
        };
        let path = names
            .iter()
            .map(AsRef::as_ref)
            .collect::<Vec<_>>()
            .join(".");
        let below = format!("{path}.");
        self.set
            .retain(|known, _| *known != path && !known.starts_with(&below));
        let inside = sections.iter().try_fold(&mut self.values, |values, name| {
            values.get_mut(name.as_ref())?.as_object_mut()
        });
        if let Some(section) = inside {
            section.remove(last.as_ref());
        }
    }

    /// Notes that a section, such as a server, cannot be used as a whole. It is there until
    /// [`forget_left_out`](Self::forget_left_out).
    pub fn leave_out(&mut self, place: &str, problem: &str, names: Vec<String>) {
        if !self.left_out.contains(&names) {
            self.ignore(place, &texts::left_out(problem, &safe(&names)));
            self.left_out.push(names);
        }
    }

    /// Removes the sections that cannot be used.
    pub fn forget_left_out(&mut self) {
        for names in std::mem::take(&mut self.left_out) {
            self.forget(&names);
        }
    }

    /// Adds a problem at a place, such as `config.json:7`.
    pub fn problem(&mut self, place: &str, what: &str) {
        self.problems.push(format!("{place}: {what}"));
    }

    /// Fails with all problems, if there are any.
    pub fn verdict(&self) -> Result<()> {
        let shown = self.problems.len().min(PROBLEMS);
        match &self.problems[..] {
            [] => Ok(()),
            [only] => Err(Error::Config(only.clone())),
            all => {
                let mut text = texts::found_problems(all.len());
                for problem in &all[..shown] {
                    text.push_str("\n  ");
                    text.push_str(problem);
                }
                if shown < all.len() {
                    text.push_str("\n  ");
                    text.push_str(&texts::more_problems(all.len() - shown));
                }
                Err(Error::Config(text))
            }
        }
    }
}

fn safe(names: &[String]) -> String {
    safe_path(names.iter().map(String::as_str))
}

/// Inserts a value at the path of these names.
pub fn insert(values: &mut Map<String, Value>, names: &[String], value: Value) {
    let Some((last, sections)) = names.split_last() else {
        return;
    };
    if let Some(section) = section(values, sections) {
        section.insert(last.clone(), value);
    }
}

/// The object at the path of these names, created if needed.
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

/// Ids as people write them: numbers become strings.
fn ids_as_strings(ids: Vec<Value>) -> Value {
    let ids = ids.into_iter().map(|id| match id {
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            Value::String(number.to_string())
        }
        id => id,
    });
    Value::Array(ids.collect())
}

/// The strings of a secret's value: itself, or the members of an object.
fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let members = value.as_object().into_iter().flat_map(Map::values);
    members.chain([value]).filter_map(Value::as_str)
}

fn holds_plain_text(value: &Value) -> bool {
    strings(value).any(|text| !text.is_empty() && !resolve::refers(text))
}

#[cfg(test)]
mod tests;
