//! References to characters: `&amp;`, `&#8364;`.

use pulldown_cmark::{Event, Options, Parser};

/// What a reference means that has been read without its `&`; `None` when it means nothing.
pub fn decode(entity: &str) -> Option<String> {
    let bare = entity.trim_end_matches(';');
    if let Some(number) = bare.strip_prefix('#') {
        return Some(numbered(number)?.to_string());
    }
    // The usual ones, which are also understood without their semicolon.
    let char = match bare {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "nbsp" => ' ',
        "copy" => '©',
        _ if entity.ends_with(';') => return named(entity),
        _ => return None,
    };
    Some(char.to_string())
}

/// A character by its number. Numbers of control characters mean what Windows has there (HTML, section
/// 13.2.5.80).
fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16),
        None => number.parse(),
    };
    let code = code.ok()?;
    Some(match u8::try_from(code) {
        Ok(byte @ 0x80..=0x9f) => super::charset::windows_1252(byte),
        _ => char::from_u32(code)
            .filter(|char| *char != '\0')
            .unwrap_or('\u{fffd}'),
    })
}

/// A character by its name. The Markdown parser has the table of all 2,231, which are the same.
fn named(entity: &str) -> Option<String> {
    let reference = format!("x&{entity}");
    let mut text = String::new();
    for event in Parser::new_ext(&reference, Options::empty()) {
        if let Event::Text(part) = event {
            text.push_str(&part);
        }
    }
    let text = text.strip_prefix('x')?;
    (text.strip_prefix('&') != Some(entity)).then(|| text.to_owned())
}
