//! Which settings are taken: each is looked up in the table of its program, brought into our form, and checked as one of
//! a file that was edited by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use super::report::{Mark, Report};
use super::source::{Program, Source};
use super::tables::{Found, How, NEVER, camel_case_path, find_row, prepare};
use super::texts;
use crate::base::error::Result;
use crate::cli::Context;
use crate::cli::config::check::check_start;
use crate::config::Loaded;
use crate::config::channels;
use crate::config::check;
use crate::config::key::{Key, Kind};
use crate::config::load::load_text;
use crate::config::resolve::refers;
use crate::config::schema::SearchProvider;
use crate::config::settings::Source as SetBy;
use crate::config::table;
use crate::config::text::edit;
use crate::models::table::{find, known};

/// Settings of a home that are looked at; the longest defaults have 900.
const SETTINGS: usize = 5_000;
/// Levels of them.
const LEVELS: usize = 12;
/// People that are taken from an allow-list.
const PEOPLE: usize = 200;
/// Characters of a value.
const VALUE_CHARS: usize = 8 * 1024;

/// Our configuration, into which settings are taken.
pub struct Target<'a> {
    /// Its file.
    pub file: &'a Path,
    /// The text of the file; `{}` where there is none.
    pub text: String,
    /// What it says now.
    pub loaded: &'a Loaded,
    /// The home and the environment with which it starts.
    pub context: &'a Context,
}

/// A setting that may be taken.
struct Wish {
    theirs: String,
    key: &'static Key,
    value: Value,
}

/// What was found so far, by our paths.
struct Reading<'a> {
    source: &'a Source,
    report: &'a mut Report,
    wishes: BTreeMap<String, Wish>,
    unknown: BTreeMap<String, BTreeSet<String>>,
    never: BTreeSet<String>,
    seen: usize,
}

/// The text of our configuration with what is taken; `None` when nothing is.
pub fn plan(source: &Source, target: &Target<'_>, report: &mut Report) -> Result<Option<String>> {
    let mut settings = source.settings.clone();
    prepare(source.program, &mut settings);
    let mut reading = Reading {
        source,
        report,
        wishes: BTreeMap::new(),
        unknown: BTreeMap::new(),
        never: BTreeSet::new(),
        seen: 0,
    };
    reading.value(&mut Vec::new(), &settings);
    for (mut section, mut names) in std::mem::take(&mut reading.unknown) {
        if section == "env" {
            // Those that settings refer to are taken with them.
            let text = source.settings.to_string();
            names.retain(|name| !text.contains(&format!("${{{name}}}")));
            section = texts::VARIABLES.to_owned();
        }
        if names.is_empty() {
            continue;
        }
        let names: Vec<_> = names.into_iter().collect();
        let names = names.join(", ");
        reading.report.add(Mark::Unknown, &section, &names);
    }
    let mut groups: BTreeMap<String, Vec<(String, Wish)>> = BTreeMap::new();
    for (path, wish) in reading.wishes {
        let group = group_of(wish.key, &path).unwrap_or_else(|| path.clone());
        groups.entry(group).or_default().push((path, wish));
    }
    let mut taking = Taking {
        program: source.program,
        target,
        text: target.text.clone(),
        found: Faults::of(target.context, target.loaded),
        has_model: target
            .loaded
            .settings
            .keys()
            .any(|path| path.starts_with("providers.")),
    };
    // A model is of use only with its provider.
    let (providers, rest): (Vec<_>, Vec<_>) = groups
        .into_iter()
        .partition(|(group, _)| group.starts_with("providers."));
    for (group, wishes) in providers.into_iter().chain(rest) {
        taking.group(&group, wishes, report)?;
    }
    Ok((taking.text != target.text).then_some(taking.text))
}

impl Reading<'_> {
    fn value(&mut self, path: &mut Vec<String>, value: &Value) {
        let is_empty = match value {
            Value::Null => true,
            Value::String(text) => text.trim().is_empty(),
            Value::Array(values) => values.is_empty(),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        if is_empty || self.seen >= SETTINGS || path.len() > LEVELS {
            return;
        }
        if let [.., section, name] = path.as_slice()
            && ["channels", "channelList", "channel_list", "channels_config"].contains(&&**section)
            && value
                .get("enabled")
                .is_some_and(|is_on| is_on == false || is_on == "false")
        {
            let name = name.clone();
            self.unknown
                .entry(texts::OFF.to_owned())
                .or_default()
                .insert(name);
            return;
        }
        let found = find_row(self.source.program, path);
        let is_whole = found.as_ref().is_some_and(|found| {
            let kind = found.ours.as_ref().map(|(key, _)| key.kind);
            kind.is_some_and(|kind| {
                matches!(
                    kind,
                    Kind::Secrets | Kind::Object | Kind::Roles | Kind::NamedRoles
                )
            })
        });
        if let Value::Object(members) = value
            && !is_whole
        {
            for (name, value) in members {
                if !name.starts_with(['_', '$']) {
                    path.push(name.clone());
                    self.value(path, value);
                    path.pop();
                }
            }
            return;
        }
        self.seen += 1;
        let theirs = path.join(".");
        match found {
            Some(Found {
                how: How::Silent, ..
            }) => {}
            Some(Found {
                how: How::Never(why),
                depth,
                ..
            }) => {
                let section = path.get(..depth).unwrap_or(path).join(".");
                if self.never.insert(section.clone()) {
                    self.report.add(Mark::Left, &section, why);
                }
            }
            Some(Found {
                ours: Some(ours),
                how,
                ..
            }) => self.take(theirs, ours, value, how),
            _ => {
                let (section, name) = theirs.rsplit_once('.').unwrap_or(("(top)", &theirs));
                let names = self.unknown.entry(section.to_owned()).or_default();
                names.insert(name.to_owned());
            }
        }
    }

    fn take(&mut self, theirs: String, ours: (&'static Key, String), value: &Value, how: How) {
        let (key, ours) = ours;
        let names = key.split(&ours).unwrap_or_default();
        if let Some(name) = names.last().filter(|name| NEVER.contains(name)) {
            self.report.add(Mark::Left, &theirs, &texts::never(name));
            return;
        }
        self.report.part(texts::part_of(&ours));
        // With a key of spaces, that of the environment would be sent.
        let says_something = |value: &Value| {
            let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
            !is_blank && *value != key.default_value()
        };
        let converted = self.convert(&theirs, key, value, how);
        let Some(value) = converted.filter(says_something) else {
            return;
        };
        let problem = if has_unfit(&value) || ours.chars().any(char::is_control) {
            Some(texts::UNFIT.to_owned())
        } else if has_text(&value, &|text| refers(text)) {
            Some(texts::REFERS.to_owned())
        } else if has_text(&value, &|text| {
            text.starts_with("enc:") || text.starts_with("enc2:")
        }) {
            Some(texts::ENCRYPTED.to_owned())
        } else if key.is_secret() && has_text(&value, &is_example) {
            Some(texts::EXAMPLE.to_owned())
        } else {
            check::problem(key, &ours, &value, false).map(|_| texts::OTHER_VALUE.to_owned())
        };
        if let Some(why) = problem {
            self.report.add(Mark::Left, &theirs, &why);
            return;
        }
        match self.wishes.get_mut(&ours) {
            // The same list may be in several places.
            Some(wish) => {
                if let (Value::Array(all), Value::Array(more)) = (&mut wish.value, value) {
                    let new: Vec<_> = more.into_iter().filter(|one| !all.contains(one)).collect();
                    all.extend(new);
                }
            }
            None => drop(self.wishes.insert(ours, Wish { theirs, key, value })),
        }
    }

    /// A value in our form; `None` when nothing is left of it.
    fn convert(&mut self, theirs: &str, key: &Key, value: &Value, how: How) -> Option<Value> {
        let number = |value: &Value| {
            value
                .as_f64()
                .or_else(|| value.as_str()?.parse().ok())
                .filter(|it: &f64| it.is_finite())
        };
        let scaled = |by: f64| number(value).map(|it| json!((it * by).round().max(0.0) as u64));
        let mut value = match how {
            How::Milliseconds => scaled(1000.0)?,
            How::Minutes => scaled(1.0 / 60.0)?,
            How::Words(off, on) => match value {
                Value::Bool(true) => on.into(),
                Value::Bool(false) => off.into(),
                Value::String(word) => if word == "true" { on } else { off }.into(),
                _ => return None,
            },
            How::Host => value.as_str()?.split(':').next()?.into(),
            _ => value.clone(),
        };
        self.resolve(&mut value);
        Some(match key.kind {
            Kind::Ids | Kind::Names => return self.people(theirs, key.kind, &value),
            // Rooms here, and people in some of theirs: a star is taken for neither.
            Kind::Texts if key.path.ends_with(".groupAllowFrom") => {
                return self.people(theirs, Kind::Names, &value);
            }
            Kind::Secret => match value {
                Value::Array(keys) => keys.into_iter().next()?,
                value => value,
            },
            Kind::Text if key.path == "agents.defaults.provider" => {
                let name = value.as_str()?;
                find(name).map_or(value.clone(), |row| row.name.into())
            }
            // YAML has strings only.
            Kind::Text | Kind::Choice(_) | Kind::Url => value,
            _ => match value.as_str() {
                Some(text) => key.parse(text),
                None => value,
            },
        })
    }

    /// Fills in the variables of the home's `.env`, where a string consists of one.
    fn resolve(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let name = text
                    .strip_prefix("${")
                    .and_then(|rest| rest.strip_suffix('}'));
                if let Some(found) = name.and_then(|name| self.source.variables.get(name)) {
                    text.clone_from(found);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.resolve(value)),
            Value::Object(members) => members.values_mut().for_each(|value| self.resolve(value)),
            _ => {}
        }
    }

    /// The people of an allow-list, as ours names them. Everyone is not taken.
    fn people(&mut self, theirs: &str, kind: Kind, value: &Value) -> Option<Value> {
        let listed: Vec<String> = match value {
            Value::Array(values) => values
                .iter()
                .filter_map(|one| match one {
                    Value::String(text) => Some(text.clone()),
                    Value::Number(number) => Some(number.to_string()),
                    _ => None,
                })
                .collect(),
            Value::String(text) => text.split(',').map(str::to_owned).collect(),
            Value::Number(number) => vec![number.to_string()],
            _ => return None,
        };
        let mut people: Vec<String> = Vec::new();
        for one in listed.iter().map(|one| one.trim()).take(PEOPLE) {
            let channel = theirs
                .split('.')
                .find(|part| channels::NAMES.contains(part));
            let one = channel
                .and_then(|channel| one.strip_prefix(channel)?.strip_prefix(':'))
                .unwrap_or(one);
            let one = one.strip_prefix("tg:").unwrap_or(one);
            // nanobot writes `id|name`.
            let id = one.split('|').next().unwrap_or(one).trim();
            let digits = id.trim_start_matches('-');
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let named = match kind {
                Kind::Ids if !is_number && !id.starts_with('@') => format!("@{id}"),
                _ => id.to_owned(),
            };
            if let Some(why) = not_one_person(&named) {
                self.report.add(Mark::Left, theirs, why);
                continue;
            }
            if !people.contains(&named) {
                people.push(named);
            }
        }
        (!people.is_empty()).then(|| people.into())
    }
}

/// Why an entry of an allow-list, as it would be written, is not the name of a person.
fn not_one_person(entry: &str) -> Option<&'static str> {
    // A mask of IRC has a star for what people choose themselves, and the host is checked as at a start.
    let is_pattern = entry.contains(['*', '?']) && !entry.contains('!');
    match entry {
        _ if is_example(entry) => Some(texts::EXAMPLE),
        _ if entry.contains('*') && !entry.contains(char::is_alphanumeric) => Some(texts::EVERYONE),
        _ if is_pattern => Some(texts::PATTERN),
        _ if !entry.contains(char::is_alphanumeric) => Some(texts::EXAMPLE),
        _ => None,
    }
}

/// Settings that belong together: taken all or not at all, because a key must not meet another one's address, nor a model
/// another one's provider.
fn group_of(key: &Key, path: &str) -> Option<String> {
    let names = key.split(path)?;
    match names.as_slice() {
        ["providers", name, ..] => Some(format!("providers.{name}")),
        ["channels", name, _, ..] => Some(format!("channels.{name}")),
        ["tools", "mcpServers", name, ..] => Some(format!("tools.mcpServers.{name}")),
        ["agents", "defaults", "model" | "provider"] => Some("agents.defaults.model".to_owned()),
        ["tools", "web", "search", ..] => Some("tools.web.search".to_owned()),
        _ => None,
    }
}

/// A text of the configuration with its faults, or why it is refused.
type Tried = std::result::Result<(String, Faults), String>;

/// What a start finds wrong in a configuration.
#[derive(Default)]
struct Faults {
    /// How many settings it ignores.
    ignored: usize,
    /// Why it fails.
    start: Option<String>,
}

impl Faults {
    fn of(context: &Context, loaded: &Loaded) -> Self {
        let start = check_start(context, loaded).err();
        Self {
            ignored: loaded.ignored.len(),
            start: start.map(|error| error.to_string()),
        }
    }
}

struct Taking<'a> {
    program: Program,
    target: &'a Target<'a>,
    text: String,
    found: Faults,
    has_model: bool,
}

impl Taking<'_> {
    fn group(
        &mut self,
        group: &str,
        mut wishes: Vec<(String, Wish)>,
        report: &mut Report,
    ) -> Result<()> {
        report.part(texts::part_of(&format!("{group}.")));
        let settings = &self.target.loaded.settings;
        let has_ours = settings.iter().any(|(path, setting)| {
            let of = group_of(setting.key, path);
            of.as_deref().unwrap_or(path) == group
                && (matches!(setting.source, SetBy::File(_)) || setting.key.is_secret())
        });
        if has_ours {
            let is_so = |(path, wish): &(String, Wish)| {
                settings
                    .get(path)
                    .is_some_and(|setting| setting.value == wish.value)
            };
            if !wishes.iter().all(is_so) {
                report.add(Mark::Kept, group, texts::CONFIGURED);
            }
            return Ok(());
        }
        if let Some(why) = self.why_not(group, &mut wishes) {
            let mark = if why == texts::OFF_THERE {
                Mark::Unknown
            } else {
                Mark::Left
            };
            report.add(mark, group, why);
            return Ok(());
        }
        let program = format!("{group}.command");
        let switch = format!("{group}.enabled");
        let starts_program = group.starts_with("tools.mcpServers.")
            && wishes.iter().any(|(path, _)| *path == program);
        if starts_program && let Some(key) = table::find(&switch) {
            wishes.retain(|(path, _)| *path != switch);
            let (theirs, value) = (switch.clone(), json!(false));
            wishes.push((switch.clone(), Wish { theirs, key, value }));
        }
        let mut tried = self.with(&wishes);
        let people = wishes
            .iter()
            .position(|(path, _)| path.ends_with(".allowFrom"));
        if let (Err(why), Some(people)) = (&tried, people) {
            // Without its people a channel answers fewer.
            let (path, _) = wishes.remove(people);
            report.add(Mark::Left, &path, why);
            tried = self.with(&wishes);
        }
        match tried {
            Ok((text, found)) => (self.text, self.found) = (text, found),
            Err(why) => {
                report.add(Mark::Left, group, &why);
                return Ok(());
            }
        }
        self.has_model |= group.starts_with("providers.");
        if group.starts_with("channels.") && wishes.iter().any(|(_, wish)| wish.key.is_secret()) {
            report.note_token();
        }
        for (path, wish) in wishes {
            let theirs = super::texts::plain_path(&wish.theirs);
            let is_same = camel_case_path(&theirs) == path;
            let shown = wish.key.masked(wish.value).to_string();
            if starts_program && path == switch {
                report.add(Mark::Changed, &path, &texts::switched_off(&path));
                continue;
            }
            let (mark, what) = match is_same {
                true => (Mark::Taken, path),
                false => (Mark::Changed, format!("{theirs} -> {path}")),
            };
            report.add(mark, &what, &shown);
        }
        Ok(())
    }

    /// The text with wishes and what a start finds in it, or why they are not taken.
    fn with(&self, wishes: &[(String, Wish)]) -> Tried {
        let mut text = self.text.clone();
        for (path, wish) in wishes {
            text = edit::set(&text, wish.key, path, &wish.value);
        }
        let (file, context) = (self.target.file, self.target.context);
        let Ok(loaded) = load_text(Some(&text), file, context.environment()) else {
            return Err(texts::OTHER_VALUE.to_owned());
        };
        let search = &loaded.config.tools.web.search;
        let takes_key = !matches!(
            search.provider,
            SearchProvider::Auto | SearchProvider::Searxng
        );
        let found = Faults::of(context, &loaded);
        match &found.start {
            _ if found.ignored > self.found.ignored => {
                Err(loaded.ignored.last().cloned().unwrap_or_default())
            }
            Some(why) if found.start != self.found.start => Err(why.clone()),
            _ if takes_key && search.api_key.is_empty() && !search.base_url.is_empty() => {
                Err(texts::NO_OWN_KEY.to_owned())
            }
            _ => Ok((text, found)),
        }
    }

    /// Why a group is not taken. Adds what it lacks.
    fn why_not(&self, group: &str, wishes: &mut Vec<(String, Wish)>) -> Option<&'static str> {
        let is = |name: &str| {
            let path = format!("{group}.{name}");
            move |(wish, _): &(String, Wish)| *wish == path
        };
        if let Some(provider) = group.strip_prefix("providers.") {
            let row = known(provider);
            let has_key = wishes.iter().any(is("apiKey"));
            let has_base = wishes.iter().any(is("apiBase"));
            return match row {
                Some(row) if row.is_at_home() && has_base => None,
                None if !has_base => Some(texts::NO_PROVIDER),
                _ if !has_key => Some(texts::NO_KEY),
                _ => None,
            };
        }
        if group
            .strip_prefix("channels.")
            .is_some_and(|name| channels::NAMES.contains(&name))
        {
            let is_token = |key: &Key| key.kind == Kind::Secret && !key.path.ends_with(".proxy");
            let has_token = wishes.iter().any(|(_, wish)| is_token(wish.key));
            let enabled = wishes.iter().find(|wish| is("enabled")(wish));
            let is_on = match enabled {
                Some((_, wish)) => wish.value == true,
                None => self.program.enables_by_token() && has_token,
            };
            if !is_on {
                return Some(texts::OFF_THERE);
            }
            let needs_token = table::within(group).any(is_token);
            let is_tokenless =
                ["channels.irc", "channels.local", "channels.whatsapp"].contains(&group);
            if needs_token && !has_token && !is_tokenless {
                return Some(texts::NO_TOKEN);
            }
            let path = format!("{group}.enabled");
            if enabled.is_none()
                && let Some(key) = table::find(&path)
            {
                let theirs = path.clone();
                wishes.push((
                    path,
                    Wish {
                        theirs,
                        key,
                        value: json!(true),
                    },
                ));
            }
            return None;
        }
        let is_model = ["agents.defaults.model", "agents.defaults.fallbackModels"];
        (is_model.contains(&group) && !self.has_model).then_some(texts::NO_MODEL)
    }
}

fn has_text(value: &Value, is_meant: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_meant(text),
        Value::Array(values) => values.iter().any(|value| has_text(value, is_meant)),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| is_meant(name) || has_text(value, is_meant)),
        _ => false,
    }
}

/// Whether a value has a string that no setting has: a newline in a key, or one that is too long.
fn has_unfit(value: &Value) -> bool {
    has_text(value, &|text| {
        text.len() > VALUE_CHARS || text.chars().any(char::is_control)
    })
}

/// Whether a key is that of an example, as their templates have it.
fn is_example(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.starts_with("your")
        || ["-your-", "xxx", "replace_me", "your_"]
            .iter()
            .any(|part| lower.contains(part))
        || lower.ends_with("sk-...")
}
