//! A call's arguments as models write them: JSON, or nearly.
//!
//! What is only nearly JSON is repaired where its meaning is certain. Everything else is an error that
//! names the parameter and the value it should have.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::json::LEVELS_MAX;

/// The arguments of one call, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arguments(Vec<(String, Value)>);

impl Arguments {
    /// Parses a JSON object. Also accepted are a string that contains one, a Markdown fence around it,
    /// what [`json::loose_from_str`] reads as one, and nothing at all.
    pub fn parse(text: &str) -> Result<Self> {
        let bare = without_fence(text.trim());
        if matches!(bare, "" | "null" | "\"\"") {
            return Ok(Self::default());
        }
        let read = |text: &str| -> serde_json::Result<Self> {
            match json::from_str::<String>(text) {
                Ok(inner) => {
                    let inner = without_fence(inner.trim());
                    object(inner).or_else(|error| match json::loose_from_str(inner) {
                        Ok(loose) => object(&loose),
                        Err(_) => Err(error),
                    })
                }
                Err(_) => object(text),
            }
        };
        read(bare).or_else(|error| {
            let loose = json::loose_from_str(bare).ok();
            loose.and_then(|loose| read(&loose).ok()).ok_or_else(|| {
                Error::Failed(format!(
                    "the arguments are not a JSON object such as {{\"path\": \"notes.md\"}}: {error}"
                ))
            })
        })
    }

    /// All of them as a JSON object, as a program gets it. The last of several with one name counts.
    pub fn to_json(&self) -> String {
        Value::Object(self.members()).to_string()
    }

    /// All of them by their names. The last of several with one name counts.
    pub fn members(&self) -> Map<String, Value> {
        self.0.iter().cloned().collect()
    }

    /// A required string.
    pub fn text(&self, name: &str, wants: &str) -> Result<Cow<'_, str>> {
        self.optional_text(name, wants)?
            .ok_or_else(|| self.missing(name, wants))
    }

    /// A string, if given. A number or a boolean becomes one.
    pub fn optional_text(&self, name: &str, wants: &str) -> Result<Option<Cow<'_, str>>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(Cow::Borrowed(text))),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                Ok(Some(Cow::Owned(value.to_string())))
            }
            Some(other) => Err(wrong(name, wants, other)),
        }
    }

    /// A non-negative whole number, if given. `"10"` and `10.0` are ten.
    pub fn number(&self, name: &str, wants: &str) -> Result<Option<usize>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let whole = |number: f64| {
            let is_whole = number >= 0.0 && number.fract() == 0.0 && number < 1e15;
            is_whole.then_some(number as usize)
        };
        let number = match value {
            Value::Number(number) => number.as_f64().and_then(whole),
            Value::String(text) => text.trim().parse().ok().and_then(whole),
            _ => None,
        };
        number.map(Some).ok_or_else(|| wrong(name, wants, value))
    }

    /// A boolean; false when it is missing. `"true"` and `1` are true.
    pub fn flag(&self, name: &str) -> Result<bool> {
        let wants = "true or false";
        let Some(value) = self.get(name) else {
            return Ok(false);
        };
        let word = match value {
            Value::Bool(flag) => return Ok(*flag),
            Value::String(text) => text.trim().to_lowercase(),
            Value::Number(number) => number.to_string(),
            _ => return Err(wrong(name, wants, value)),
        };
        match word.as_str() {
            "true" | "yes" | "1" => Ok(true),
            "false" | "no" | "0" | "" => Ok(false),
            _ => Err(wrong(name, wants, value)),
        }
    }

    /// A list of strings; empty when it is missing. A single string is a list of one.
    pub fn texts(&self, name: &str, wants: &str) -> Result<Vec<String>> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        texts_of(value).ok_or_else(|| wrong(name, wants, value))
    }

    /// Rows of strings; empty when it is missing. A flat list is one row.
    pub fn rows(&self, name: &str, wants: &str) -> Result<Vec<Vec<String>>> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let rows = match value {
            Value::Array(rows) if rows.iter().all(Value::is_array) => {
                rows.iter().map(texts_of).collect()
            }
            other => texts_of(other).map(|row| vec![row]),
        };
        rows.ok_or_else(|| wrong(name, wants, value))
    }

    /// The argument that shows people what a call is about: the file or the command, else the first
    /// that is a string.
    pub fn subject(&self) -> Option<&str> {
        let named = |name: &str| self.get(name).and_then(Value::as_str);
        let first = || self.0.iter().find_map(|(_, value)| value.as_str());
        named("path").or_else(|| named("command")).or_else(first)
    }

    /// The last of several counts, as in most JSON parsers; null means missing.
    fn get(&self, name: &str) -> Option<&Value> {
        let mut values = self.0.iter().rev();
        let (_, value) = values.find(|(key, _)| key == name)?;
        (!value.is_null()).then_some(value)
    }

    fn missing(&self, name: &str, wants: &str) -> Error {
        let given: Vec<&str> = self.0.iter().map(|(key, _)| key.as_str()).collect();
        let given = if given.is_empty() {
            "no parameters".to_owned()
        } else {
            given.join(", ")
        };
        Error::Failed(format!(
            "the parameter {name} is missing ({wants}); the call has {given}"
        ))
    }
}

fn texts_of(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(values) => {
            let texts = values.iter().map(|value| value.as_str().map(str::to_owned));
            texts.collect()
        }
        _ => None,
    }
}

fn wrong(name: &str, wants: &str, value: &Value) -> Error {
    let is = match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => "another text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    Error::Failed(format!("the parameter {name} wants {wants}, and is {is}"))
}

/// Parses an object and keeps the order of its members, which `serde_json::Map` does not.
fn object(text: &str) -> serde_json::Result<Arguments> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Arguments;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(Arguments(members))
        }
    }
    json::check_depth(text.as_bytes(), LEVELS_MAX)?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let arguments = reader.deserialize_map(Members)?;
    reader.end()?;
    Ok(arguments)
}

/// What is inside a Markdown fence.
fn without_fence(text: &str) -> &str {
    let fenced = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"));
    match fenced {
        Some(inside) => inside.trim_start_matches(char::is_alphanumeric).trim(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Arguments {
        Arguments::parse(text).unwrap()
    }

    #[test]
    fn what_is_nearly_json_is_read_where_its_meaning_is_certain() {
        let plain = parse(r#"{"path": "a.md", "limit": 3}"#);
        for nearly in [
            r#""{\"path\": \"a.md\", \"limit\": 3}""#,
            "```json\n{\"path\": \"a.md\", \"limit\": 3}\n```",
            "```\n{\"path\": \"a.md\", \"limit\": 3}```",
            r#" {"path": "a.md", "limit": 3,} "#,
            "{\"path\": \"a.md\", \"limit\": 3 ,\n }",
            r#""{\"path\": \"a.md\", \"limit\": 3,}""#,
            "{'path': 'a.md', 'limit': 3}}",
            "{\"path\": \"a.md\", \"limit\": 3",
        ] {
            assert_eq!(parse(nearly), plain, "{nearly}");
        }
        for nothing in ["", "  ", "{}", "null", "\"\"", "\"{}\"", "``````"] {
            assert_eq!(parse(nothing), Arguments::default(), "{nothing}");
        }
        let lines = parse("{\"content\": \"one,}\ntwo\t\\\"three,]\\\"\", }");
        let content = lines.text("content", "").unwrap();
        assert_eq!(content, "one,}\ntwo\t\"three,]\"");
    }

    #[test]
    fn what_is_no_object_is_an_error_that_shows_one() {
        for wrong in ["[1]", "path=a", "{\"path\": ", "7", "{} {}", "\"text\""] {
            let error = Arguments::parse(wrong).unwrap_err().to_string();
            assert!(
                error.starts_with("the arguments are not a JSON object such as {\"path\""),
                "{error}"
            );
        }
    }

    #[test]
    fn numbers_and_truth_values_may_come_as_text_and_text_as_numbers() {
        let given = parse(r#"{"a": "10", "b": 10.0, "c": "True", "d": 1, "e": 42, "f": null}"#);
        assert_eq!(given.number("a", "").unwrap(), Some(10));
        assert_eq!(given.number("b", "").unwrap(), Some(10));
        assert_eq!(given.number("f", "").unwrap(), None);
        assert!(given.flag("c").unwrap());
        assert!(given.flag("d").unwrap());
        assert!(!given.flag("f").unwrap());
        assert_eq!(given.text("e", "").unwrap(), "42");
    }

    #[test]
    fn a_wrong_or_missing_parameter_is_named_with_what_it_wants() {
        let given =
            parse(r#"{"file_path": "a", "content": {"x": 1}, "limit": -1, "all": "maybe"}"#);
        let says = |error: Error| error.to_string();
        assert_eq!(
            says(given.text("path", "the file's path").unwrap_err()),
            "the parameter path is missing (the file's path); the call has file_path, content, limit, all"
        );
        assert_eq!(
            says(given.text("content", "a text").unwrap_err()),
            "the parameter content wants a text, and is an object"
        );
        assert_eq!(
            says(given.number("limit", "a number of lines").unwrap_err()),
            "the parameter limit wants a number of lines, and is -1"
        );
        assert_eq!(
            says(given.flag("all").unwrap_err()),
            "the parameter all wants true or false, and is another text"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in any::<String>()) {
            let _ = Arguments::parse(&text);
        }

        #[test]
        fn no_text_that_looks_like_json_does_either(text in r#"[{}\[\],:"\\ \n`0-9a-z-]{0,60}"#) {
            if let Ok(given) = Arguments::parse(&text) {
                let _ = (given.text("a", ""), given.number("a", ""), given.flag("a"), given.subject());
            }
        }

        #[test]
        fn what_is_json_is_read_as_it_is(path in any::<String>(), content in any::<String>()) {
            let text = serde_json::json!({"path": path, "content": content}).to_string();
            for form in [text.clone(), serde_json::json!(text).to_string(), format!("{text}}}")] {
                let given = Arguments::parse(&form).unwrap();
                prop_assert_eq!(given.text("path", "").unwrap(), path.as_str());
                prop_assert_eq!(given.text("content", "").unwrap(), content.as_str());
            }
        }
    }
}
