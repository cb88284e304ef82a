//! JSON from outside, which is read only as far as a small stack can take it.
//!
//! serde_json reads 128 levels. A level of a large type costs kilobytes of stack, and a stack that
//! overflows is an abort, so the depth is looked at before a value is built. What other programs write
//! beside the standard is read as it is meant, or named.

use std::borrow::Cow;

mod flaws;
mod halves;
mod lenient;
mod loose;
mod members;

pub use flaws::{mend, mend_all, mend_strings};
pub use halves::Halves;
pub use lenient::lenient_from_str_within;
pub use loose::{Loose, Unreadable, loose_from_str, loose_value, without_closers};
pub use members::{Members, to_flag, to_number, to_seconds, to_text, with_texts_from_str};

use serde::de::{Deserialize, DeserializeOwned, Error as _};
use serde_json::{Error, Result};

use crate::base::limits::json::LEVELS_MAX;

/// Reads a text as [`serde_json::from_str`] does, unless it is nested too deeply. Half of a surrogate
/// pair is read as U+FFFD, and an error names a number that JSON does not have.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T> {
    from_str_within(text, LEVELS_MAX)
}

/// The same with another bound, for large types that hold themselves.
pub fn from_str_within<T: DeserializeOwned>(text: &str, levels_max: usize) -> Result<T> {
    check_depth(text.as_bytes(), levels_max)?;
    // Nearly all texts have no flaw, and are not searched for one.
    serde_json::from_str(text).or_else(|error| match mend(text)? {
        Cow::Owned(mended) => serde_json::from_str(&mended),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Reads bytes as [`from_str`] does.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    from_str(text(bytes)?)
}

/// Reads what borrows from a text that is [`mend`]ed already.
pub fn borrowed_from_str<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T> {
    check_depth(text.as_bytes(), LEVELS_MAX)?;
    serde_json::from_str(text)
}

/// The same for types that have no levels of their own: an envelope whose content is a
/// [`RawValue`](serde_json::value::RawValue). serde_json passes over such content, and over unknown
/// members, without recursion, so one bad part does not spoil the others.
pub fn envelope_from_slice<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T> {
    envelope_from_str(text(bytes)?)
}

/// The same for a text.
pub use serde_json::from_str as envelope_from_str;

/// All is read as text: reading bytes too would have every type's code in the program twice.
fn text(bytes: &[u8]) -> Result<&str> {
    str::from_utf8(bytes).map_err(Error::custom)
}

/// Fails when lists and objects are nested more than `levels_max` deep. What is in strings does not
/// count; the text need not be JSON otherwise.
pub fn check_depth(text: &[u8], levels_max: usize) -> Result<()> {
    // `[` and `{` differ in one bit. Most texts have so few that they need no closer look.
    if text.iter().filter(|byte| **byte | 0x20 == b'{').count() <= levels_max {
        return Ok(());
    }
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > levels_max {
                    let what = format_args!("it is nested more than {levels_max} levels deep");
                    return Err(Error::custom(what));
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn nested(levels: usize, open: &str, inner: &str, close: &str) -> String {
        format!("{}{inner}{}", open.repeat(levels), close.repeat(levels))
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused_and_all_else_is_read_as_before() {
        for (open, close, levels) in [
            ("[", "]", LEVELS_MAX),
            ("{\"a\":", "}", LEVELS_MAX),
            ("[{\"[\\\"\":", "}]", LEVELS_MAX / 2),
        ] {
            let fits = nested(levels, open, "1", close);
            assert!(from_str::<Value>(&fits).is_ok(), "{fits}");
            let deep = nested(levels + 1, open, "1", close);
            let error = from_slice::<Value>(deep.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "it is nested more than 32 levels deep");
        }
        let text = nested(LEVELS_MAX, "[", r#""[[[[ \" {{{{ \\", "]]""#, "]");
        assert!(from_str::<Value>(&text).is_ok());
        let flat = format!("[{}1]", "[],{},".repeat(1000));
        assert!(from_str::<Value>(&flat).is_ok());
        assert!(from_str::<Value>("]]]]}").is_err());
    }
}
