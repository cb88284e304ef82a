//! Characters by their codes and names (ISO 32000-1, annex D).

use crate::text::html::charset::{Charset, decode_all, windows_1252};
use crate::text::html::named;

/// The standard encoding from 0xa1 on; a blank for none.
const STANDARD: &str = "¡¢£⁄¥ƒ§¤'“«‹›\u{fb01}\u{fb02} –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ—                Æ ª    ŁØŒº     æ   ı  łøœß    ";
/// The letters of the font Symbol, from A and from a on.
const SYMBOL: [&str; 2] = ["ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"];

/// Glyphs whose names HTML does not have for their characters.
const NAMES: &str = "\
    space exclam ! quotedbl \" numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright ) \
    asterisk * plus + comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 \
    nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \\ bracketright ] \
    asciicircum ^ underscore _ grave ` braceleft { bar | braceright } asciitilde ~ quoteleft ‘ quoteright ’ \
    quotedblleft “ quotedblright ” quotesinglbase ‚ quotedblbase „ guillemotleft « guillemotright » guilsinglleft ‹ \
    guilsinglright › endash – emdash — bullet • ellipsis … fi fi fl fl ff ff ffi ffi ffl ffl dotlessi ı dotlessj ȷ \
    germandbls ß Euro € sterling £ minus − multiply × exclamdown ¡ questiondown ¿ periodcentered · paragraph ¶ \
    dagger † daggerdbl ‡ florin ƒ fraction ⁄ perthousand ‰ trademark ™ registered ® copyright © degree ° \
    ordfeminine ª ordmasculine º onesuperior ¹ twosuperior ² threesuperior ³ onehalf ½ onequarter ¼ threequarters ¾ \
    plusminus ± logicalnot ¬ mu µ Lslash Ł lslash ł brokenbar ¦ nbspace \u{a0} sfthyphen \u{ad} currency ¤ \
    circumflex ˆ tilde ˜ dieresis ¨ acute ´ macron ¯ cedilla ¸ caron ˇ breve ˘ ring ˚ summation ∑ product ∏ \
    integral ∫ radical √ infinity ∞ lessequal ≤ greaterequal ≥ notequal ≠ approxequal ≈ partialdiff ∂ lozenge ◊ \
    element ∈ arrowright → arrowleft ← arrowup ↑ arrowdown ↓ similar ∼ prime ′ asteriskmath ∗ dotmath ⋅ checkmark ✓";

/// Parts of names, and what HTML calls them.
const ACCENTS: [(&str, &str); 7] = [
    ("dieresis", "uml"),
    ("circumflex", "circ"),
    ("cedilla", "cedil"),
    ("hungarumlaut", "dblac"),
    ("ogonek", "ogon"),
    ("macron", "macr"),
    ("dotaccent", "dot"),
];

/// Encodings that have a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Encoding {
    /// Adobe's own.
    Standard,
    /// That of Windows.
    Windows,
    /// That of old Macintosh systems.
    Macintosh,
    /// That of the font Symbol.
    Symbol,
}

impl Encoding {
    /// The texts of all codes of one byte.
    pub fn table(self) -> Vec<String> {
        let macintosh = match (self, Charset::named("macintosh")) {
            (Self::Macintosh, Some(charset)) => {
                let bytes: Vec<u8> = (0..=255).collect();
                decode_all(charset, &bytes)
            }
            _ => String::new(),
        };
        let mut macintosh = macintosh.chars();
        let one = |byte: u8| {
            let char = match (self, byte) {
                (Self::Macintosh, _) => macintosh.next(),
                (Self::Standard, b'\'') => Some('’'),
                (Self::Standard, b'`') => Some('‘'),
                (Self::Symbol, b'A'..=b'Z' | b'a'..=b'z') => {
                    let [upper, lower] = SYMBOL;
                    let letters = if byte < b'a' { upper } else { lower };
                    letters.chars().nth(usize::from(byte & 31) - 1)
                }
                (Self::Symbol, 0xb7) => Some('•'),
                (_, ..0x80) => Some(char::from(byte)),
                (Self::Windows, _) => Some(windows_1252(byte)),
                (_, 0xa1..) => STANDARD.chars().nth(usize::from(byte) - 0xa1),
                _ => None,
            };
            let char = char.filter(|char| !char.is_control() && (*char != ' ' || byte == b' '));
            char.map(String::from).unwrap_or_default()
        };
        (0..=255).map(one).collect()
    }
}

/// The text of a glyph by its name; `None` where the name says nothing.
pub fn text_of(name: &str) -> Option<String> {
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    let mut chars = name.chars();
    if let (Some(char), None) = (chars.next(), chars.next()) {
        return Some(char.to_string());
    }
    if name == "space" {
        return Some(" ".to_owned());
    }
    let mut words = NAMES.split(' ').skip(1);
    while let (Some(known), Some(text)) = (words.next(), words.next()) {
        if known == name {
            return Some(text.to_owned());
        }
    }
    let hex = name.strip_prefix("uni").or_else(|| name.strip_prefix('u'));
    if let Some(hex) =
        hex.filter(|hex| hex.len() >= 4 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        let code = u32::from_str_radix(
            hex.get(..hex.len().min(if hex.len() > 6 { 4 } else { 6 }))?,
            16,
        );
        return code.ok().and_then(char::from_u32).map(String::from);
    }
    let accent = ACCENTS.iter().find_map(|(accent, short)| {
        let letter = name.strip_suffix(accent)?;
        Some(format!("{letter}{short}"))
    });
    named(accent.as_deref().unwrap_or(name))
}
