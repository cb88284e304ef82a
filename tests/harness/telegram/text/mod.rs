//! Text as Telegram reads and counts it.

pub(super) mod entities;
pub(super) mod html;

/// The length of a text as Telegram counts it.
pub(super) fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}
