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

/// Whether a character is not seen, or changes how others are seen: controls but for the newline and
/// the tab, marks of direction, zero-width and filler characters, tags, variation selectors, and line
/// separators (Unicode's Default_Ignorable_Code_Point, Bidi_Control and Cc).
pub fn is_invisible(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' => true,
        '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => char.is_control(),
    }
}

/// The text with what is invisible spelt out, such as `\u{202e}`: for what a person decides about.
pub fn reveal(text: &str) -> Cow<'_, str> {
    if !text.contains(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match is_invisible(char) {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    Cow::Owned(shown)
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

    #[test]
    fn what_is_invisible_is_spelt_out() {
        let shown = reveal("ls \u{202e}x\u{200b}\r\u{1b}[2J\u{e0041}\u{3164}\n\tä 中 🦀");
        assert_eq!(
            shown,
            "ls \\u{202e}x\\u{200b}\\r\\u{1b}[2J\\u{e0041}\\u{3164}\n\tä 中 🦀"
        );
        assert!(matches!(reveal("echo ok"), Cow::Borrowed(_)));
    }
}
