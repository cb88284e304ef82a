//! The members of an object, each read only when it is asked for.
//!
//! For documents that are read in one place: a derived reader costs some kilobytes of program for each type.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Result, envelope_from_str, from_str, from_str_within};

/// Members of an object that is read one by one. Known documents about logins have up to 80.
const MEMBERS_MAX: usize = 256;

/// Elements of a list that are read one by one: a megabyte of places. The longest known lists are those of a chat's events
/// and of a server's models, with some thousands.
const LIST_MAX: usize = 65_536;

/// The elements of a list.
struct List<'a>(Vec<&'a RawValue>);

/// The members of an object, by name. A member that is `null` or of another type counts as missing.
#[derive(Debug, Default)]
pub struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object; `None` when the text is none, or has more than `MEMBERS_MAX` members.
    pub fn read(text: &'a str) -> Option<Self> {
        envelope_from_str(text).ok()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names, with the values that can be read.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Value)> {
        let members = self.0.iter();
        members.filter_map(|(name, raw)| Some((name.as_str(), from_str(raw.get()).ok()?)))
    }

    /// A member as it is written.
    pub fn raw(&self, name: &str) -> Option<&'a RawValue> {
        let (_, raw) = self.0.iter().rfind(|(one, _)| one == name)?;
        (raw.get() != "null").then_some(*raw)
    }

    /// The name and the value of the only member.
    pub fn only(&self) -> Option<(&str, &'a RawValue)> {
        match self.0.as_slice() {
            [(name, value)] => Some((name, value)),
            _ => None,
        }
    }

    /// A member of any type.
    pub fn value(&self, name: &str) -> Value {
        let value = self.raw(name).and_then(|raw| from_str(raw.get()).ok());
        value.unwrap_or_default()
    }

    /// The same without lists and objects, which may be long and would take many times their bytes.
    fn scalar(&self, name: &str) -> Value {
        let is_scalar = |raw: &&RawValue| !raw.get().starts_with(['[', '{']);
        let value = self.raw(name).filter(is_scalar);
        let value = value.and_then(|raw| from_str(raw.get()).ok());
        value.unwrap_or_default()
    }

    /// A string, or a number as it is written.
    pub fn text(&self, name: &str) -> Option<String> {
        to_text(&self.scalar(name))
    }

    /// A number that counts something, which may be written as a string or a fraction.
    pub fn number(&self, name: &str) -> Option<u64> {
        to_number(&self.scalar(name))
    }

    /// A string; empty when it is missing.
    pub fn text_or_empty(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// Whether a boolean, which may be written as a string, is there and true.
    pub fn is_true(&self, name: &str) -> bool {
        to_flag(&self.scalar(name)) == Some(true)
    }

    /// A list, empty when it is missing; `None` when it is something else, or has more than `LIST_MAX` elements.
    pub fn list(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        match self.raw(name) {
            Some(raw) => envelope_from_str(raw.get()).ok().map(|List(list)| list),
            None => Some(Vec::new()),
        }
    }

    /// The elements of a list, or the members of an object with their names, as some write what has names.
    pub fn each(&self, name: &str) -> Option<Vec<(String, &'a RawValue)>> {
        match self.list(name) {
            Some(list) => Some(list.into_iter().map(|one| (String::new(), one)).collect()),
            None => Some(Self::read(self.raw(name)?.get())?.0),
        }
    }

    /// A list of strings.
    pub fn texts(&self, name: &str) -> Option<Vec<String>> {
        let values: Vec<Value> = from_str(self.raw(name)?.get()).ok()?;
        values.iter().map(to_text).collect()
    }

    /// The members of an object; none when it is missing.
    pub fn members(&self, name: &str) -> Self {
        let raw = self.raw(name).and_then(|raw| Self::read(raw.get()));
        raw.unwrap_or_default()
    }
}

/// Reads a document in which every number becomes a string, as which it is written: ids and texts come as either.
/// [`to_number`] reads what is a number.
pub fn with_texts_from_str(text: &str, levels_max: usize) -> Result<Value> {
    let mut document = from_str_within(text, levels_max)?;
    let mut left = vec![&mut document];
    while let Some(value) = left.pop() {
        match value {
            Value::Number(number) => *value = Value::String(number.to_string()),
            Value::Array(values) => left.extend(values),
            Value::Object(members) => left.extend(members.values_mut()),
            _ => {}
        }
    }
    Ok(document)
}

/// A boolean, or one that is written as a string or a number.
pub fn to_flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(is_on) => Some(*is_on),
        value => match to_text(value)?.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
    }
}

/// A string, or a number as it is written: ids come as either.
pub fn to_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A time in milliseconds since 1970 as seconds; `None` for one that no calendar has.
pub fn to_seconds(millis: u64) -> Option<i64> {
    i64::try_from(millis / 1000).ok()
}

/// A number that counts something: `12`, `12.0` and `"12"` are the same, and less than nothing is `None`.
pub fn to_number(value: &Value) -> Option<u64> {
    let number = match value {
        Value::Number(number) => number.as_f64().filter(|_| number.as_u64().is_none()),
        Value::String(text) => match text.trim().parse() {
            Ok(number) => return Some(number),
            Err(_) => text.trim().parse().ok(),
        },
        _ => None,
    };
    let whole = number.filter(|number| number.is_finite() && *number >= 0.0);
    value.as_u64().or(whole.map(|number| number as u64))
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((name, value)) = map.next_entry::<&RawValue, _>()? {
                    if members.len() == MEMBERS_MAX {
                        return Err(A::Error::custom("it has too many members"));
                    }
                    members.push((from_str(name.get()).map_err(A::Error::custom)?, value));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

impl<'de> Deserialize<'de> for List<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = List<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut elements: A,
            ) -> std::result::Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = elements.next_element::<&RawValue>()? {
                    if list.len() == LIST_MAX {
                        return Err(A::Error::custom("it has too many elements"));
                    }
                    list.push(element);
                }
                Ok(List(list))
            }
        }

        deserializer.deserialize_seq(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read_by_name_and_type() {
        let text =
            r#"{"a": "x\n", "b": true, "c": [1, {}], "d": {"e": ["f"]}, "n": null, "a": "last"}"#;
        let members = Members::read(text).unwrap();
        assert_eq!(members.text("a").unwrap(), "last");
        assert!(members.is_true("b") && !members.is_true("a"));
        assert!(Members::read(r#"{"b": "True"}"#).unwrap().is_true("b"));
        let list = members.list("c").unwrap();
        let list: Vec<&str> = list.iter().map(|one| one.get()).collect();
        assert_eq!(list, ["1", "{}"]);
        assert_eq!(members.members("d").texts("e").unwrap(), ["f"]);
        assert!(members.raw("n").is_none() && members.text("b").is_none());
        assert!(members.list("missing").unwrap().is_empty() && members.list("a").is_none());
        assert_eq!(members.texts("c"), None, "not strings");
        let named = |name: &str| {
            let each = members.each(name).unwrap_or_default().into_iter();
            each.map(|(name, raw)| format!("{name}:{}", raw.get()))
                .collect::<Vec<_>>()
        };
        assert_eq!(named("c"), [":1", ":{}"]);
        assert_eq!(named("d"), [r#"e:["f"]"#]);
        assert!(members.each("b").is_none() && named("missing").is_empty());
        let text = r#"{"id": 7, "count": "12", "part": 12.0, "less": -1, "big": 1e300, "half \ud83d": "\ude00"}"#;
        let members = Members::read(text).unwrap();
        assert_eq!(members.text("id").unwrap(), "7");
        let numbers =
            ["id", "count", "part", "less", "big", "missing"].map(|name| members.number(name));
        assert_eq!(
            numbers,
            [Some(7), Some(12), Some(12), None, Some(u64::MAX), None]
        );
        assert_eq!(members.text("half \u{fffd}").unwrap(), "\u{fffd}");
        for text in ["[]", "7", "{", "null", "", r#"{"a":1} x"#] {
            assert!(Members::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn numbers_become_texts_and_booleans_are_read_in_any_writing() {
        let text =
            r#"{"id": 18446744073709551615, "in": [-7, {"of": 1.5}], "is": true, "no": null}"#;
        let value = with_texts_from_str(text, 4).unwrap();
        let expected =
            r#"{"id":"18446744073709551615","in":["-7",{"of":"1.5"}],"is":true,"no":null}"#;
        assert_eq!(value.to_string(), expected);
        assert_eq!(to_number(&value["id"]), Some(u64::MAX));
        assert!(with_texts_from_str("[[7]]", 1).is_err() && with_texts_from_str("{", 4).is_err());
        for (text, flag) in [
            ("true", Some(true)),
            ("\"True\"", Some(true)),
            ("1", Some(true)),
            ("\"0\"", Some(false)),
            ("\"no\"", None),
            ("null", None),
            ("[]", None),
        ] {
            assert_eq!(to_flag(&from_str(text).unwrap()), flag, "{text}");
        }
    }

    #[test]
    fn depth_and_number_of_members_are_bounded() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let members = Members::read(&deep).unwrap();
        assert_eq!(
            (members.value("a"), members.texts("a")),
            (Value::Null, None)
        );
        let many = |count: usize| format!("{{{}\"last\":1}}", "\"a\":1,".repeat(count));
        assert!(Members::read(&many(MEMBERS_MAX - 1)).is_some());
        assert!(Members::read(&many(MEMBERS_MAX)).is_none());
        let long = |count: usize| format!("{{\"a\":[{}1]}}", "1,".repeat(count - 1));
        let count = |text: &str| Some(Members::read(text)?.list("a")?.len());
        assert_eq!(count(&long(LIST_MAX)), Some(LIST_MAX));
        assert_eq!(count(&long(LIST_MAX + 1)), None);
    }
}
