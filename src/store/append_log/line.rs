//! Writes a line: JSON without newlines, short enough to be read again. PURE.

use std::borrow::Cow;

use serde::Serialize;

use crate::base::limits::append_log::CONTENT_BYTES;
use crate::text::truncate_bytes;

/// A value as one line of JSON with its line end.
pub fn to_line(value: &impl Serialize) -> Vec<u8> {
    // Strings, numbers and truth values only: there is nothing in our lines that JSON cannot say.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Cuts a text that would make its line longer than a line may be, and marks its end.
pub fn shorten(text: Cow<'_, str>) -> Cow<'_, str> {
    cut(text, CONTENT_BYTES)
}

/// Cuts a text to so many bytes, and marks its end.
pub fn cut(text: Cow<'_, str>, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return text;
    }
    let kept = truncate_bytes(&text, bytes);
    Cow::Owned(format!("{kept}\n[cut here: {} bytes in all]", text.len()))
}
