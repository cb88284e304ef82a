//! One setting: its path, type and default, and how its names are spelt.

use serde_json::Value;

use crate::base::json;
use crate::base::secret::{Secret, in_address, in_words, mask_address, mask_words};

/// One setting. `*` in the path stands for a name that the user chooses.
#[derive(Debug)]
pub struct Key {
    /// The path, such as `providers.*.apiKey`.
    pub path: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// Whether null is a value of its own. For any other setting it means "the default".
    pub nullable: bool,
    /// The default, as JSON.
    pub default: &'static str,
    /// What it is for, for people.
    pub meaning: &'static str,
}

/// The type of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A boolean.
    Flag,
    /// A whole number within both ends.
    Whole(u64, u64),
    /// A number within both ends.
    Real(f64, f64),
    /// A string.
    Text,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A list of numeric ids, or names with an `@`; numbers are accepted and become strings.
    Ids,
    /// A list of ids of any form; numbers are accepted and become strings.
    Names,
    /// An `http` or `https` URL, or an empty string.
    Url,
    /// A list of hosts, each with or without a port.
    Hosts,
    /// A path that begins with `/` or `~`, or an empty string.
    Path,
    /// A list of such paths.
    Paths,
    /// The name of a time zone, or `auto`.
    Zone,
    /// Two times of a day, such as `22:00-07:00`, or an empty string.
    QuietHours,
    /// A string that must not be shown.
    Secret,
    /// An object of such strings.
    Secrets,
    /// Any object.
    Object,
    /// An object of roles, by a person's or a group's id or a name with an `@`.
    Roles,
    /// The same, by ids of any form.
    NamedRoles,
    /// An object of prices by model.
    Prices,
    /// `agents.list`
    Agents,
    /// `agents.bindings`
    Bindings,
}

pub(super) const fn key(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    Key {
        path,
        kind,
        nullable: false,
        default,
        meaning,
    }
}

impl Key {
    pub(super) const fn or_null(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// Whether its value must not be shown.
    pub fn is_secret(&self) -> bool {
        matches!(self.kind, Kind::Secret | Kind::Secrets)
    }

    /// The value without its secrets, to be shown.
    pub fn masked(&self, value: Value) -> Value {
        match value {
            Value::String(text) if text.is_empty() => Value::String(text),
            Value::String(text) if self.is_secret() => format!("{:?}", Secret::new(&text)).into(),
            Value::String(text) if self.is_address(&text) => mask_address(&text).into(),
            Value::Array(words) if self.has_arguments() => {
                mask_words(words.iter().filter_map(Value::as_str)).into()
            }
            Value::Array(values) => values.into_iter().map(|one| self.masked(one)).collect(),
            Value::Object(members) => {
                let members = members.into_iter();
                Value::Object(
                    members
                        .map(|(name, one)| (name, self.masked(one)))
                        .collect(),
                )
            }
            value => value,
        }
    }

    /// What is secret in a value that is shown otherwise: in addresses, and in a program's arguments.
    pub fn secrets_within(&self, value: &Value) -> Vec<Secret> {
        match value {
            Value::String(text) if self.is_address(text) => in_address(text),
            Value::Array(words) if self.has_arguments() => {
                in_words(words.iter().filter_map(Value::as_str))
            }
            Value::Array(values) => {
                let values = values.iter();
                values.flat_map(|one| self.secrets_within(one)).collect()
            }
            Value::Object(members) => {
                let values = members.values();
                values.flat_map(|one| self.secrets_within(one)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn is_address(&self, text: &str) -> bool {
        self.kind == Kind::Url || text.contains("://") && !text.contains(char::is_whitespace)
    }

    /// Whether its value is the arguments of a program.
    pub fn has_arguments(&self) -> bool {
        self.path.ends_with(".args")
    }

    /// The default as a value.
    pub fn default_value(&self) -> Value {
        json::from_str(self.default).unwrap_or_default()
    }

    /// The names in the path, with the user's own in place of `*`; `None` when the path is not this
    /// setting's. A name may contain dots, as that of a host does.
    pub fn split<'a>(&self, path: &'a str) -> Option<Vec<&'a str>> {
        let Some((before, after)) = self.path.split_once('*') else {
            return (path == self.path).then(|| path.split('.').collect());
        };
        let name = path.strip_prefix(before)?.strip_suffix(after)?;
        let mut names: Vec<&str> = path[..before.len() - 1].split('.').collect();
        names.push(name);
        names.extend(path[before.len() + name.len() + 1..].split('.'));
        (!name.is_empty()).then_some(names)
    }

    /// The environment variable that sets the setting at the path.
    pub fn variable(&self, path: &str) -> String {
        let names = self.split(path).unwrap_or_default();
        let upper: Vec<String> = std::iter::zip(self.path.split('.'), names)
            .map(|(known, name)| match known {
                "*" => upper_name(name),
                _ => upper_snake(name),
            })
            .collect();
        format!("{VARIABLE_PREFIX}{}", upper.join(VARIABLE_JOINT))
    }
}

/// The prefix of environment variables for settings.
pub const VARIABLE_PREFIX: &str = "PEACRAB_";

/// What separates the levels of a path in a variable's name.
pub const VARIABLE_JOINT: &str = "__";

/// `max_tokens` as `maxTokens`; other names as they are.
pub fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut chars = name.chars().peekable();
    while let Some(char) = chars.next() {
        match chars.peek() {
            Some(next) if char == '_' && !camel.is_empty() && next.is_ascii_lowercase() => {
                camel.push(next.to_ascii_uppercase());
                chars.next();
            }
            _ => camel.push(char),
        }
    }
    camel
}

/// `maxTokens` as `MAX_TOKENS`.
pub fn upper_snake(name: &str) -> String {
    let mut upper = String::with_capacity(name.len() + 4);
    for char in name.chars() {
        if char.is_ascii_uppercase() {
            upper.push('_');
        }
        upper.push(char.to_ascii_uppercase());
    }
    upper
}

/// A name that the user chose, as it is written in a variable: `my-host` as `MY_HOST`.
pub fn upper_name(name: &str) -> String {
    name.chars()
        .map(|char| {
            if char.is_ascii_alphanumeric() {
                char.to_ascii_uppercase()
            } else {
                '_'
            }
        })
        .collect()
}
