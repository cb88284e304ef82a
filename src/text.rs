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

/// Whether a character of prose goes to a terminal: what is visible, and what joins the letters of
/// Persian and Hindi and the parts of an emoji.
pub fn is_prose(char: char) -> bool {
    !is_invisible(char) || matches!(char, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// The text with everything spelt out that is no prose, as in [`reveal`], but for the codes in `kept`.
pub fn reveal_but<'a>(text: &'a str, kept: &[&str]) -> Cow<'a, str> {
    if text.chars().all(is_prose) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let code = kept.iter().find(|code| rest.starts_with(**code));
        let length = code.map_or(char.len_utf8(), |code| code.len());
        match code.is_some() || is_prose(char) {
            true => shown.push_str(&rest[..length]),
            false => shown.extend(char.escape_default()),
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// JSON with everything invisible in its strings written as JSON's own escapes: the same value.
pub fn escape_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_invisible) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for char in json.chars() {
        match is_invisible(char) {
            true => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => escaped.push(char),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_keeps_what_joins_letters_and_own_codes_and_json_keeps_its_value() {
        let family = "👨\u{200d}👩 می\u{200c}خواهم ☀\u{fe0f}";
        assert_eq!(reveal_but(family, &[]), family);
        let bold = ["\x1b[1m", "\x1b[0m"];
        assert_eq!(
            reveal_but("\x1b[1mok\x1b[0m \x1b[2J\u{9b}\u{202e}\0", &bold),
            "\x1b[1mok\x1b[0m \\u{1b}[2J\\u{9b}\\u{202e}\\u{0}"
        );
        let value = serde_json::json!({"a": "\u{202e}x\u{9b}\x1b\u{e0041}\n"});
        let escaped = escape_json(&value.to_string()).into_owned();
        assert_eq!(escaped, r#"{"a":"\u202ex\u009b\u001b\udb40\udc41\n"}"#);
        assert_eq!(
            crate::json::from_str::<serde_json::Value>(&escaped).unwrap(),
            value
        );
    }

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
