//! Floor 1: the beginnings of texts that are too long, cut where a character ends, and numbers of
//! things.

use std::borrow::Cow;

/// The first `chars` characters of a text, or all of it.
pub fn truncate_chars(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// A number of things, such as `1 message` or `2 messages`.
pub fn count_of(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// As many whole characters of a text's beginning as fit into `bytes`.
pub fn truncate_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// Like [`truncate_chars`], with an ellipsis behind a text that was cut.
pub fn ellipsize_chars(text: &str, chars: usize) -> Cow<'_, str> {
    ellipsize(text, truncate_chars(text, chars))
}

/// Like [`truncate_bytes`], with an ellipsis behind a text that was cut, beyond `bytes`.
pub fn ellipsize_bytes(text: &str, bytes: usize) -> Cow<'_, str> {
    ellipsize(text, truncate_bytes(text, bytes))
}

fn ellipsize<'a>(text: &'a str, kept: &'a str) -> Cow<'a, str> {
    match kept.len() < text.len() {
        true => Cow::Owned(format!("{kept}…")),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_only_when_it_is_too_long() {
        assert_eq!(truncate_chars("äöü", 3), "äöü");
        assert_eq!(truncate_chars("äöü", 2), "äö");
        assert_eq!(truncate_bytes("äöü", 6), "äöü");
        assert_eq!(truncate_bytes("äöü", 5), "äö");
        assert_eq!(truncate_bytes("äöü", 1), "");
        assert_eq!(ellipsize_chars("äöü", 3), "äöü");
        assert_eq!(ellipsize_chars("äöü", 2), "äö…");
        assert_eq!(ellipsize_bytes("äöü", 6), "äöü");
        assert_eq!(ellipsize_bytes("äöü", 3), "ä…");
    }
}
