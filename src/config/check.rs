//! Pure: whether a value is what its key wants, and how a wrong one is shown.

use serde_json::Value;

use super::resolve;
use super::table::{Key, Kind};
use crate::limits::config as limits;
use crate::text::ellipsize_chars;

/// What is wrong with the value of the key at the path; none when it is right. `open`: references
/// have not been followed, so that a text with one may become anything.
pub fn problem(key: &Key, path: &str, value: &Value, open: bool) -> Option<String> {
    // Null stands for the default; other programs write it for whatever is not set.
    if value.is_null() || accepts(key.kind, value, open) {
        return None;
    }
    let what = match key.is_secret() {
        true => kind_of(value).to_owned(),
        false => shown(value),
    };
    let path = safe_path(path.split('.'));
    let wants = key.kind.wants();
    let or_null = if key.nullable { ", or null" } else { "" };
    Some(format!("{path} is {what}; it wants {wants}{or_null}"))
}

fn accepts(kind: Kind, value: &Value, open: bool) -> bool {
    let text = |right: &dyn Fn(&str) -> bool| {
        let right = |text: &str| right(text) || open && resolve::refers(text);
        value.as_str().is_some_and(right)
    };
    let each = |right: &dyn Fn(&str) -> bool| {
        let right = |value: &Value| value.as_str().is_some_and(right);
        value
            .as_array()
            .is_some_and(|values| values.iter().all(right))
    };
    let is_path = |text: &str| {
        text.starts_with('/') || open && (text.starts_with('~') || resolve::refers(text))
    };
    match kind {
        Kind::Flag => value.is_boolean(),
        Kind::Whole(least, most) => value
            .as_u64()
            .is_some_and(|number| (least..=most).contains(&number)),
        Kind::Real(least, most) => value
            .as_f64()
            .is_some_and(|number| (least..=most).contains(&number)),
        Kind::Text | Kind::Zone | Kind::Secret => value.is_string(),
        Kind::Choice(words) => text(&|text| words.contains(&text)),
        Kind::Texts => each(&|_| true),
        Kind::Url => text(&|text| {
            text.is_empty() || text.starts_with("http://") || text.starts_with("https://")
        }),
        Kind::Path => text(&|text| text.is_empty() || is_path(text)),
        Kind::Paths => each(&is_path),
        Kind::Secrets => value
            .as_object()
            .is_some_and(|members| members.values().all(Value::is_string)),
        Kind::Object => value.is_object(),
    }
}

/// What a wrong value is: a number, a boolean or a short text itself, anything else by its kind,
/// because it may be a key in the wrong place.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.len() < limits::SECRET_BYTES => value.to_string(),
        _ => kind_of(value).to_owned(),
    }
}

/// A path of names that may be anything, cut to what a line can bear. Names that may be keys or tokens
/// are hidden.
pub fn safe_path<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names
        .map(|name| if looks_secret(name) { HIDDEN } else { name })
        .collect();
    ellipsize_chars(&names.join("."), limits::EXCERPT_CHARS).into_owned()
}

/// What stands for a name that is hidden.
const HIDDEN: &str = "[hidden]";

/// Whether a name may be a key or a token: very long, or long with digits and letters. No key of the
/// configuration is either.
pub fn looks_secret(name: &str) -> bool {
    let is_mixed = name.contains(|char: char| char.is_ascii_digit())
        && name.contains(|char: char| char.is_alphabetic());
    let least = match is_mixed {
        true => limits::SECRET_NAME_BYTES,
        false => 2 * limits::SECRET_NAME_BYTES,
    };
    name.len() >= least
}

/// What sort of value it is, without showing it.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
