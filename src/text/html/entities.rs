//! References to characters: `&amp;`, `&#8364;`, and those without a semicolon (HTML, section 13.2.5.72).

use pulldown_cmark::{Event, Options, Parser};

/// Characters of the longest name of a character, such as `&CounterClockwiseContourIntegral;`.
const ENTITY_CHARS: usize = 32;

/// The names that are understood without a semicolon. The parser of Markdown knows all names with one.
const BARE: &str = "\
    AElig AMP Aacute Acirc Agrave Aring Atilde Auml COPY Ccedil ETH Eacute Ecirc Egrave Euml GT Iacute Icirc \
    Igrave Iuml LT Ntilde Oacute Ocirc Ograve Oslash Otilde Ouml QUOT REG THORN Uacute Ucirc Ugrave Uuml Yacute \
    aacute acirc acute aelig agrave amp aring atilde auml brvbar ccedil cedil cent copy curren deg divide eacute \
    ecirc egrave eth euml frac12 frac14 frac34 gt iacute icirc iexcl igrave iquest iuml laquo lt macr micro middot \
    nbsp not ntilde oacute ocirc ograve ordf ordm oslash otilde ouml para plusmn pound quot raquo reg sect shy \
    sup1 sup2 sup3 szlig thorn times uacute ucirc ugrave uml uuml yacute yen yuml";

/// What has come after an ampersand.
#[derive(Debug, Default)]
pub struct Reference {
    /// As it came, but for the digits of a number.
    text: String,
    /// The value of the digits.
    number: Option<u32>,
}

impl Reference {
    /// Whether a character belongs to it.
    pub fn push(&mut self, char: char) -> bool {
        let radix = match self.text.as_str() {
            "#" => 10,
            "#x" | "#X" => 16,
            text if text.starts_with('#') => return false,
            text => {
                let is_part = char.is_ascii_alphanumeric() || char == '#' && text.is_empty();
                let is_part = is_part && text.len() < ENTITY_CHARS;
                if is_part {
                    self.text.push(char);
                }
                return is_part;
            }
        };
        if let Some(digit) = char.to_digit(radix) {
            let number = self.number.unwrap_or_default();
            self.number = Some(number.saturating_mul(radix).saturating_add(digit));
            return true;
        }
        let is_hexadecimal = radix == 10 && self.number.is_none() && matches!(char, 'x' | 'X');
        if is_hexadecimal {
            self.text.push(char);
        }
        is_hexadecimal
    }
}

/// The text of a reference that ends before a character, and whether that is its semicolon. In the value of an
/// attribute, `?a=1&copy=2` is an address and has no copyright sign.
pub fn decode(reference: &Reference, next: Option<char>, is_value: bool) -> (String, bool) {
    let text = reference.text.as_str();
    let is_ended = next == Some(';');
    if let Some(number) = reference.number {
        return (numbered(number).to_string(), is_ended);
    }
    if is_ended && let Some(decoded) = named(text) {
        return (decoded, true);
    }
    let bare = BARE.split(' ').filter(|name| text.starts_with(name));
    if let Some(name) = bare.max_by_key(|name| name.len()) {
        let rest = text.get(name.len()..).unwrap_or_default();
        let is_address = is_value && (!rest.is_empty() || next == Some('='));
        if let Some(decoded) = named(name).filter(|_| !is_address) {
            return (decoded + rest, false);
        }
    }
    (format!("&{text}"), false)
}

/// A character by its number. Numbers of control characters mean what Windows has there (HTML, section
/// 13.2.5.80).
fn numbered(code: u32) -> char {
    match u8::try_from(code) {
        Ok(byte @ 0x80..=0x9f) => super::charset::windows_1252(byte),
        _ => char::from_u32(code)
            .filter(|char| *char != '\0')
            .unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// A character by its name. The Markdown parser has the table of all 2,231, which are the same.
pub fn named(name: &str) -> Option<String> {
    let reference = format!("x&{name};");
    let mut text = String::new();
    for event in Parser::new_ext(&reference, Options::empty()) {
        if let Event::Text(part) = event {
            text.push_str(&part);
        }
    }
    let text = text.strip_prefix('x')?;
    (!text.starts_with('&') || text == "&").then(|| text.to_owned())
}
