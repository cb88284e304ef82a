//! What other programs write that strict readers refuse: halves of surrogate pairs, and numbers that are
//! none.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::Error as _;
use serde_json::{Error, Result};

/// Half of a surrogate pair is legal JSON (RFC 8259, section 8.2), and no text: it becomes U+FFFD, which
/// takes as many bytes as an escape. Fails where the text has `NaN` or `Infinity`, which JSON does not
/// have (section 6) and Python writes.
pub fn mend(text: &str) -> Result<Cow<'_, str>> {
    let mut mended = Cow::Borrowed(text);
    for flaw in flaws(text) {
        if flaw.is_number {
            let number = &text[flaw.range];
            let what = format_args!("it contains {number}, which is not JSON");
            return Err(Error::custom(what));
        }
        mended.to_mut().replace_range(flaw.range, "\\ufffd");
    }
    Ok(mended)
}

/// The same, and a number that is none is `null`: one that nobody needs spoils nothing else.
pub fn mend_numbers(text: &str) -> Cow<'_, str> {
    let mut mended = String::new();
    let mut from = 0;
    for flaw in flaws(text) {
        mended.push_str(&text[from..flaw.range.start]);
        mended.push_str(if flaw.is_number { "null" } else { "\\ufffd" });
        from = flaw.range.end;
    }
    match from {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(mended + &text[from..]),
    }
}

struct Flaw {
    range: Range<usize>,
    is_number: bool,
}

/// Finds the flaws of a text that is JSON otherwise.
fn flaws(text: &str) -> impl Iterator<Item = Flaw> {
    let mut at = 0;
    let mut in_string = false;
    // Most texts have none, and are not read letter by letter.
    let is_suspect = ["\\ud", "\\uD", "NaN", "Infinity"]
        .iter()
        .any(|sign| text.contains(sign));
    let end = if is_suspect { text.len() } else { 0 };
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while at < end {
            let start = at;
            at += 1;
            let is_number = match bytes[start] {
                b'"' => {
                    in_string = !in_string;
                    continue;
                }
                b'\\' if in_string => {
                    at += escape_length(&bytes[start..]) - 1;
                    match surrogate(&bytes[start..]) {
                        Some(0xD800..0xDC00) if is_low(&bytes[at..]) => at += 6,
                        Some(_) => {
                            return Some(Flaw {
                                range: start..at,
                                is_number: false,
                            });
                        }
                        None => {}
                    }
                    continue;
                }
                b'N' | b'I' | b'-' if !in_string => ["NaN", "Infinity", "-Infinity"]
                    .into_iter()
                    .find(|name| bytes[start..].starts_with(name.as_bytes())),
                _ => None,
            };
            if let Some(name) = is_number {
                at = start + name.len();
                return Some(Flaw {
                    range: start..at,
                    is_number: true,
                });
            }
        }
        None
    })
}

/// Bytes of the escape that a text begins with: six where it is of a surrogate, else those that cannot
/// end the string.
fn escape_length(text: &[u8]) -> usize {
    if surrogate(text).is_some() { 6 } else { 2 }
}

/// The surrogate that a text begins with, as `\ud83d`.
fn surrogate(text: &[u8]) -> Option<u16> {
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
            assert_eq!(mend_numbers(text), meant);
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
                ],
                0..12,
            ),
        ) {
            let text = format!("[\"{}\", NaN]", parts.concat());
            let mended = mend_numbers(&text);
            let read: Result<Value> = super::super::from_str(&mended);
            prop_assert!(read.is_ok(), "{text}: {mended}");
            prop_assert_eq!(mend_numbers(&mended), &*mended);
        }

        #[test]
        fn no_text_brings_it_down(text in ".{0,40}", tail in "[\\\\u\"dD8NaIn]{0,20}") {
            let text = text + &tail;
            let _ = mend(&text);
            let mended = mend_numbers(&text);
            if serde_json::from_str::<Value>(&text).is_ok() {
                prop_assert_eq!(&*mended, &text);
            }
        }
    }
}
