//! Reads large types of which no member is important enough to lose the rest.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Error, Result};

use super::from_str_within;

/// Values of a wrong shape in a document that is read without them.
const SHAPES_MAX: usize = 16;

/// Reads as [`from_str_within`] does. A number and a string stand for each other, and a member or an
/// element of another wrong shape counts as missing, of which there may be `SHAPES_MAX`. The text is
/// changed and read again: a second kind of reader would have every type's code in the program twice.
pub fn lenient_from_str_within<T: DeserializeOwned>(text: &str, levels_max: usize) -> Result<T> {
    let mut read = from_str_within(text, levels_max);
    let mut changed = None;
    for _ in 0..SHAPES_MAX {
        let Err(error) = &read else { break };
        let Some(next) = change(changed.as_deref().unwrap_or(text), error) else {
            break;
        };
        read = from_str_within(&next, levels_max);
        changed = Some(next);
    }
    read
}

/// A text in which the value that an error is about has the shape that is expected, or is left out.
fn change(text: &str, error: &Error) -> Option<String> {
    let lines = text
        .split_inclusive('\n')
        .take(error.line().checked_sub(1)?);
    // The column is of the last byte that was read: of a list or an object none was.
    let end = lines.map(str::len).sum::<usize>() + error.column() + 1;
    let slot = error.is_data().then(|| last_slot(text.as_bytes(), end))??;
    let mut values =
        serde_json::Deserializer::from_str(text.get(slot.value..)?).into_iter::<&RawValue>();
    let value = values.next()?.ok()?.get();
    let value_end = slot.value + value.len();
    if let Some(other) = as_expected(value, &error.to_string()) {
        return Some([&text[..slot.value], &other, &text[value_end..]].concat());
    }
    let (before, after) = (&text[..slot.start], text[value_end..].trim_start());
    let (before, after) = match after.strip_prefix(',') {
        Some(after) => (before, after),
        None => (before.trim_end().trim_end_matches(','), after),
    };
    Some([before, after].concat())
}

/// A number as a string, or the number in a string or without its fraction, where an error expects that.
fn as_expected(value: &str, error: &str) -> Option<String> {
    let (_, expected) = error.rsplit_once("expected ")?;
    let number: f64 = value.trim_matches('"').trim().parse().ok()?;
    let is_string = value.starts_with('"');
    let is_whole = expected.starts_with(['i', 'u']);
    match expected.starts_with("a string") {
        true => (!is_string).then(|| format!("\"{value}\"")),
        false if is_whole && number.is_finite() => {
            let whole = value.trim_matches('"').trim();
            let fits = whole.parse::<i128>().is_ok();
            let changed = if fits {
                whole.to_owned()
            } else {
                format!("{number:.0}")
            };
            (changed != value).then_some(changed)
        }
        false => (is_string && expected.starts_with('f')).then(|| number.to_string()),
    }
}

/// A member or an element.
struct Slot {
    start: usize,
    /// Where its value begins.
    value: usize,
}

/// The last value that begins before a place.
fn last_slot(text: &[u8], end: usize) -> Option<Slot> {
    let (mut open, mut key, mut slot) = (Vec::new(), None, None);
    let mut at = 0;
    while at < end.min(text.len()) {
        let start = at;
        at += 1;
        match text[start] {
            b'"' => {
                while text.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
                if open.last() == Some(&b'{') && key.is_none() {
                    key = Some(start);
                    continue;
                }
            }
            byte @ (b'{' | b'[') => open.push(byte),
            b'}' | b']' => {
                open.pop();
                continue;
            }
            b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => continue,
            _ => {
                let is_over = |byte: &u8| b",]} \n\r\t".contains(byte);
                at += text[at..]
                    .iter()
                    .position(is_over)
                    .unwrap_or(text.len() - at);
            }
        }
        // The whole document is no part of anything.
        slot = (start > 0).then(|| Slot {
            start: key.take().unwrap_or(start),
            value: start,
        });
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::Value;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Part {
        id: i64,
        name: String,
        size: Option<u64>,
        place: f64,
        is_on: bool,
        parts: Vec<Part>,
    }

    fn read(text: &str) -> Part {
        lenient_from_str_within(text, 16).unwrap()
    }

    #[test]
    fn numbers_and_strings_stand_for_each_other_and_other_shapes_are_missing() {
        let expected = Part {
            id: 7,
            name: "8".to_owned(),
            size: Some(12),
            place: 1.5,
            ..Part::default()
        };
        for text in [
            r#"{"id": 7, "name": "8", "size": 12, "place": 1.5}"#,
            r#"{"id": "7", "name": 8, "size": "12", "place": "1.5"}"#,
            r#"{"id": 7.0, "name": 8, "size": 12.0, "place": 1.5, "is_on": {"x": [1]}}"#,
            "{\"is_on\": \"yes\", \"id\": \"7\",\n \"name\": 8, \"size\": \" 12 \",\n\t\"place\": 1.5, \"parts\": 7}",
            r#"{"id": 7, "name": "8", "size": 12, "place": 1.5, "parts": [7, "x"]}"#,
            r#"{"parts": null, "is_on": null, "id": "7", "name": 8, "size": 12, "place": 1.5}"#,
            r#"{"id": 7, "name": "8", "size": 12, "place": 1.5, "is_on": "\ud83d"}"#,
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let inner =
            read(r#"{"parts": [{"id": "1", "size": -1}, 5, {"id": [], "name": {}}], "id": 9}"#);
        assert_eq!((inner.id, inner.parts.len()), (9, 2));
        assert_eq!((inner.parts[0].id, inner.parts[0].size), (1, None));
        assert_eq!(read(r#"{"id": "9223372036854775807"}"#).id, i64::MAX);
        for broken in ["[1]", "7", "{", r#"{"id": }"#, ""] {
            assert!(lenient_from_str_within::<Part>(broken, 16).is_err() || broken == "[1]");
        }
        let many = format!(r#"{{"parts": [{}]}}"#, vec!["7"; SHAPES_MAX + 1].join(","));
        assert!(
            lenient_from_str_within::<Part>(&many, 16).is_err(),
            "the work is bounded"
        );
    }

    proptest! {
        #[test]
        fn a_member_of_any_shape_spoils_no_other(
            value in prop_oneof![
                Just("null"), Just("\"x\\\"}\""), Just("-1.5"), Just("[{}, [1]]"), Just("{\"id\": [2]}"),
                Just("true"), Just("1e400"), Just("\"\""), Just("18446744073709551615"),
            ],
            name in prop_oneof![Just("name"), Just("size"), Just("place"), Just("is_on"), Just("parts")],
            is_first in any::<bool>(),
        ) {
            let text = match is_first {
                true => format!(r#"{{"{name}": {value}, "id": 3}}"#),
                false => format!(r#"{{"id": 3, "{name}": {value}}}"#),
            };
            prop_assume!(serde_json::from_str::<Value>(&text).is_ok());
            prop_assert_eq!(read(&text).id, 3, "{}", text);
        }

        #[test]
        fn no_text_brings_it_down(text in "[\\[\\]{}\",:0-9a-e\\\\ ]{0,40}") {
            let _ = lenient_from_str_within::<Part>(&text, 16);
        }
    }
}
