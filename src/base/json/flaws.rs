//! What other programs write that strict readers refuse: halves of surrogate pairs, numbers that are
//! none, and commas behind the last element.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::Error as _;
use serde_json::{Error, Result};

/// Half of a surrogate pair is legal JSON (RFC 8259, section 8.2), and no text: it becomes U+FFFD. Fails where
/// the text has `NaN` or `Infinity`, which JSON does not have (section 6) and Python writes.
pub fn mend(text: &str) -> Result<Cow<'_, str>> {
    match flaws(text).find(|flaw| flaw.kind == Kind::Number) {
        Some(flaw) => {
            let what = format_args!("it contains {}, which is not JSON", &text[flaw.range]);
            Err(Error::custom(what))
        }
        None => Ok(replaced(text, |kind| kind == Kind::Half)),
    }
}

/// Mends the strings of a text as [`mend_all`] does, and leaves numbers that are none, which are to be named.
pub fn mend_strings(text: &str) -> Cow<'_, str> {
    replaced(text, |kind| kind != Kind::Number)
}

/// Mends all that is no JSON: a number that is none is `null`, because one that nobody needs spoils nothing else;
/// control characters in strings and unknown escapes (section 7) stand for themselves; a comma behind the last
/// element is left out. Not for our own files, in which such a line is a damaged one.
pub fn mend_all(text: &str) -> Cow<'_, str> {
    replaced(text, |_| true)
}

fn replaced(text: &str, is_meant: impl Fn(Kind) -> bool) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut from = 0;
    for flaw in flaws(text).filter(|flaw| is_meant(flaw.kind)) {
        mended.push_str(&text[from..flaw.range.start]);
        match flaw.kind {
            Kind::Number => mended.push_str("null"),
            Kind::Half => mended.push_str("\\ufffd"),
            Kind::Control(byte) => mended.push_str(&format!("\\u{byte:04x}")),
            Kind::Escape => mended.push_str("\\\\"),
            Kind::Comma => {}
        }
        from = flaw.range.end;
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(mended + &text[from..]),
    }
}

struct Flaw {
    range: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A number that JSON does not have.
    Number,
    /// Half of a surrogate pair.
    Half,
    /// A control character in a string.
    Control(u8),
    /// The backslash of an escape that JSON does not have.
    Escape,
    /// A comma behind the last element.
    Comma,
}

/// Finds the flaws of a text that is JSON otherwise.
fn flaws(text: &str) -> impl Iterator<Item = Flaw> {
    let mut at = 0;
    let mut in_string = false;
    // Most texts have none, and are not read letter by letter.
    let is_suspect = ["\\ud", "\\uD", "NaN", "Infinity"]
        .iter()
        .any(|sign| text.contains(sign))
        || text.bytes().any(|byte| byte < b' ')
        || has_odd_escape(text)
        || (text.bytes().enumerate())
            .any(|(at, byte)| byte == b',' && is_last(&text.as_bytes()[at..]));
    let end = if is_suspect { text.len() } else { 0 };
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while at < end {
            let start = at;
            at += 1;
            let kind = match bytes[start] {
                b'"' => {
                    in_string = !in_string;
                    continue;
                }
                b'\\' if in_string && is_odd(bytes.get(at)) => Kind::Escape,
                b'\\' if in_string => {
                    at += escape_length(&bytes[start..]) - 1;
                    match surrogate(&bytes[start..]) {
                        Some(0xD800..0xDC00) if is_low(&bytes[at..]) => {
                            at += 6;
                            continue;
                        }
                        Some(_) => Kind::Half,
                        None => continue,
                    }
                }
                byte @ 0..b' ' if in_string => Kind::Control(byte),
                b',' if !in_string && is_last(&bytes[start..]) => Kind::Comma,
                b'N' | b'I' | b'-' if !in_string => {
                    let rest = &bytes[start..];
                    let mut names = ["NaN", "Infinity", "-Infinity"].into_iter();
                    match names.find(|name| rest.starts_with(name.as_bytes())) {
                        Some(name) => at = start + name.len(),
                        None => continue,
                    }
                    Kind::Number
                }
                _ => continue,
            };
            return Some(Flaw {
                range: start..at,
                kind,
            });
        }
        None
    })
}

/// Whether a comma is followed by the end of its list or object.
fn is_last(comma: &[u8]) -> bool {
    let next = comma[1..].iter().find(|byte| !byte.is_ascii_whitespace());
    next.is_some_and(|next| b"]}".contains(next))
}

/// Whether a backslash stands before something that JSON has no escape for.
fn has_odd_escape(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let next = rest.as_bytes().get(at + 1);
        if is_odd(next) {
            return true;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

/// Whether JSON has no escape with this letter. A backslash at the end is cut off, and stays.
fn is_odd(letter: Option<&u8>) -> bool {
    letter.is_some_and(|letter| !b"\"\\/bfnrtu".contains(letter))
}

/// Bytes of the escape that a text begins with: six where it is of a surrogate, else those that cannot
/// end the string.
fn escape_length(text: &[u8]) -> usize {
    if surrogate(text).is_some() { 6 } else { 2 }
}

/// The surrogate that a text begins with, as `\ud83d`.
pub(super) fn surrogate(text: &[u8]) -> Option<u16> {
    let digits = str::from_utf8(text.strip_prefix(b"\\u")?.get(..4)?).ok()?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (0xD800..=0xDFFF).contains(&unit).then_some(unit)
}

fn is_low(text: &[u8]) -> bool {
    surrogate(text).is_some_and(|unit| unit >= 0xDC00)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn half_a_surrogate_pair_is_a_replacement_character() {
        for (text, meant) in [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\uDE00 a""#, "\u{fffd} a"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\ud83dx\\ud83d""#, "\u{fffd}x\\ud83d"),
            (r#""a \"NaN\" \ude00""#, "a \"NaN\" \u{fffd}"),
            (r#""\ud83d\n""#, "\u{fffd}\n"),
        ] {
            let read: String = super::super::from_str(text).unwrap();
            assert_eq!(read, meant, "{text}");
        }
        for broken in [r#""\ud83"#, r#""\ud83d"#, r#""\uD8""#, r#""\"#] {
            assert!(super::super::from_str::<Value>(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn control_characters_escapes_and_last_commas_are_mended() {
        for (text, meant) in [
            ("\"a\tb\nc\"", "a\tb\nc"),
            ("\"\u{1b}[0m\"", "\u{1b}[0m"),
            (r#""\x1b \' \\x \d""#, r"\x1b \' \x \d"),
        ] {
            let read: String = super::super::from_str(&mend_all(text)).unwrap();
            assert_eq!(read, meant, "{text}");
            assert!(super::super::from_str::<String>(text).is_err(), "{text}");
        }
        assert_eq!(mend_strings("[NaN, \"a\tb\"]"), r#"[NaN, "a\u0009b"]"#);
        for (text, meant) in [
            ("{\"a\": [1, 2,\n],}", "{\"a\": [1, 2\n]}"),
            (r#"[",]", ",}" , ]"#, r#"[",]", ",}"  ]"#),
        ] {
            assert_eq!(mend_all(text), meant);
        }
        let layout = "{\n\t\"a\": 1\r\n}";
        assert_eq!(mend_all(layout), layout);
    }

    #[test]
    fn a_number_that_is_none_is_named_or_null() {
        for (text, name, meant) in [
            (r#"{"a": NaN}"#, "NaN", r#"{"a": null}"#),
            ("[1, -Infinity, 2]", "-Infinity", "[1, null, 2]"),
            (r#"["NaN", Infinity]"#, "Infinity", r#"["NaN", null]"#),
        ] {
            let error = super::super::from_str::<Value>(text)
                .unwrap_err()
                .to_string();
            assert_eq!(error, format!("it contains {name}, which is not JSON"));
            assert_eq!(mend_all(text), meant);
        }
        let read: String = super::super::from_str(r#""NaN""#).unwrap();
        assert_eq!(read, "NaN");
    }

    proptest! {
        #[test]
        fn what_is_json_stays_as_it_is_and_what_is_mended_is_json(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("\\ud83d"), Just("\\ude00"), Just("\\\\"), Just("\\\""), Just("NaN"),
                    Just("é"), Just("-Infinity"), Just("\\n"), Just("d83d"), Just("\\u00e9"),
                    Just("\t"), Just("\\x"), Just("\\é"),
                ],
                0..12,
            ),
        ) {
            let text = format!("[\"{}\", NaN]", parts.concat());
            let mended = mend_all(&text);
            let read: Result<Value> = super::super::from_str(&mended);
            prop_assert!(read.is_ok(), "{text}: {mended}");
            prop_assert_eq!(mend_all(&mended), &*mended);
        }

        #[test]
        fn no_text_brings_it_down(text in ".{0,40}", tail in "[\\\\u\"dD8NaIn]{0,20}") {
            let text = text + &tail;
            let _ = mend(&text);
            let mended = mend_all(&text);
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert_eq!(&*mended, &text);
            }
        }
    }
}
