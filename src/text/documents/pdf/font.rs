//! Fonts: the text and the width of character codes (ISO 32000-1, 9.6 to 9.8).

use std::collections::BTreeMap;

use super::cmap::{CharacterMap, utf16};
use super::file::File;
use super::glyphs::{Encoding, text_of};
use super::object::{Lexer, Object};
use crate::text::html::charset::{Charset, decode_all};

/// Bytes of a font's own program in which its encoding is looked for.
const PROGRAM_BYTES: usize = 64 * 1024;
/// Widths of one font.
const WIDTHS: usize = 70_000;

/// Widths of Helvetica's characters from the blank to the tilde: its own fonts need not say them.
const HELVETICA: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// How a string is cut into codes, and what they mean without a map.
enum Coding {
    /// One byte, with the texts of all.
    Single(Vec<String>),
    /// One or two bytes, by the code spaces of a map.
    Pairs(CharacterMap),
    /// Characters of UTF-16.
    Utf16,
    /// Characters of a set.
    Charset(Charset),
}

/// A font.
pub struct Font {
    coding: Coding,
    unicode: CharacterMap,
    widths: BTreeMap<u32, f64>,
    usual_width: f64,
    /// Whether the widths are Helvetica's where there are none.
    is_plain: bool,
    /// The factor of a width.
    scale: f64,
}

/// A character of a string.
pub struct Glyph {
    /// Its text; `None` where nothing says which it is.
    pub text: Option<String>,
    /// Its width, for a font of size 1.
    pub width: f64,
    /// Whether it is a blank that word spacing widens.
    pub is_space: bool,
}

impl Font {
    /// A font by its dictionary.
    pub fn new(file: &File<'_>, font: &Object) -> Self {
        let unicode = map_of(file, font.get("ToUnicode"));
        let encoding = file.member(font, "Encoding");
        if font.get("Subtype").name() == Some("Type0") {
            return Self::composite(file, font, &encoding, unicode);
        }
        let mut widths = BTreeMap::new();
        let first = file.member(font, "FirstChar").count().unwrap_or(0) as u32;
        let listed = file.member(font, "Widths");
        for (code, width) in (first..).zip(listed.members()).take(256) {
            widths.extend(file.resolve(width).number().map(|width| (code, width)));
        }
        let matrix = file.member(font, "FontMatrix");
        let scale = match (font.get("Subtype").name(), matrix.members().first()) {
            (Some("Type3"), Some(Object::Number(scale))) => *scale,
            _ => 0.001,
        };
        let name = file.member(font, "BaseFont");
        let is_fixed = name.name().is_some_and(|name| name.contains("Courier"));
        Self {
            coding: Coding::Single(single(file, font, &encoding)),
            unicode,
            is_plain: widths.is_empty() && !is_fixed,
            widths,
            usual_width: if is_fixed { 600.0 } else { 500.0 },
            scale,
        }
    }

    fn composite(file: &File<'_>, font: &Object, encoding: &Object, unicode: CharacterMap) -> Self {
        let descendants = file.member(font, "DescendantFonts");
        let descendant = descendants
            .members()
            .first()
            .map(|font| file.resolve(font).into_owned());
        let descendant = descendant.unwrap_or(Object::Null);
        let coding = match encoding.name() {
            Some(name) => named_coding(name),
            None => {
                let map = map_of(file, font.get("Encoding"));
                Coding::Pairs(map)
            }
        };
        Self {
            coding,
            unicode,
            widths: composite_widths(file, &file.member(&descendant, "W")),
            usual_width: file.member(&descendant, "DW").number().unwrap_or(1000.0),
            is_plain: false,
            scale: 0.001,
        }
    }

    /// The characters of a string.
    pub fn glyphs(&self, bytes: &[u8], take: &mut dyn FnMut(Glyph)) {
        match &self.coding {
            Coding::Single(table) => {
                for byte in bytes {
                    let code = u32::from(*byte);
                    let own = table
                        .get(usize::from(*byte))
                        .filter(|text| !text.is_empty());
                    let text = self.unicode.text(code).or_else(|| own.cloned());
                    take(self.glyph(code, text, *byte == b' '));
                }
            }
            Coding::Pairs(map) => {
                let mut rest = bytes;
                while let [first, after @ ..] = rest {
                    let (code, after) = match after {
                        [second, after @ ..] if !map.is_single(*first) => {
                            (u32::from(*first) << 8 | u32::from(*second), after)
                        }
                        _ => (u32::from(*first), after),
                    };
                    take(self.glyph(code, self.unicode.text(code), false));
                    rest = after;
                }
            }
            Coding::Utf16 => {
                for pair in bytes.chunks(2) {
                    let code = pair
                        .iter()
                        .fold(0, |code, byte| code << 8 | u32::from(*byte));
                    take(self.glyph(code, Some(utf16(pair)), false));
                }
            }
            Coding::Charset(charset) => {
                for char in decode_all(*charset, bytes).chars() {
                    let width = if char.is_ascii() { 0.5 } else { 1.0 };
                    let (text, is_space) = (Some(char.to_string()), false);
                    take(Glyph {
                        text,
                        width,
                        is_space,
                    });
                }
            }
        }
    }

    fn glyph(&self, code: u32, text: Option<String>, is_space: bool) -> Glyph {
        let plain = || {
            let index = usize::try_from(code).ok()?.checked_sub(32)?;
            HELVETICA.get(index).map(|width| f64::from(*width))
        };
        let known = self.widths.get(&code).copied();
        let width = known.or_else(|| plain().filter(|_| self.is_plain));
        Glyph {
            text: text.map(|text| plain_letters(&text)),
            width: width.unwrap_or(self.usual_width) * self.scale,
            is_space,
        }
    }
}

/// A text without ligatures and without the codes that fonts of symbols have for a dot.
fn plain_letters(text: &str) -> String {
    let mut plain = String::new();
    for char in text.chars() {
        match char {
            '\u{fb00}' => plain.push_str("ff"),
            '\u{fb01}' => plain.push_str("fi"),
            '\u{fb02}' => plain.push_str("fl"),
            '\u{fb03}' => plain.push_str("ffi"),
            '\u{fb04}' => plain.push_str("ffl"),
            '\u{f0b7}' | '\u{f0a7}' => plain.push('•'),
            '\u{a0}' | '\t' | '\n' | '\r' => plain.push(' '),
            '\u{ad}' => plain.push('-'),
            char if char.is_control() => {}
            char => plain.push(char),
        }
    }
    plain
}

fn map_of(file: &File<'_>, object: &Object) -> CharacterMap {
    match object {
        Object::Reference(number) => CharacterMap::read(&file.unpack(&file.find(*number))),
        _ => CharacterMap::default(),
    }
}

/// The texts of all codes of a font whose codes have one byte.
fn single(file: &File<'_>, font: &Object, encoding: &Object) -> Vec<String> {
    let name = file.member(font, "BaseFont");
    let is_symbol = name.name().is_some_and(|name| name.contains("Symbol"));
    let base = file.member(encoding, "BaseEncoding");
    let base = match encoding.name().or(base.name()) {
        Some("WinAnsiEncoding") => Some(Encoding::Windows),
        Some("MacRomanEncoding") => Some(Encoding::Macintosh),
        Some("StandardEncoding") => Some(Encoding::Standard),
        _ => None,
    };
    // TrueType fonts without an encoding are written by programs that mean the one of Windows.
    let is_true_type = font.get("Subtype").name() == Some("TrueType");
    let usual = match (is_symbol, is_true_type) {
        (true, _) => Encoding::Symbol,
        (_, true) => Encoding::Windows,
        _ => Encoding::Standard,
    };
    let mut table = base.unwrap_or(usual).table();
    if base.is_none() {
        own_encoding(file, font, &mut table);
    }
    let mut code = 0;
    for object in file.member(encoding, "Differences").members() {
        match &*file.resolve(object) {
            Object::Number(number) => code = *number as usize,
            Object::Name(name) => {
                if let Some(text) = table.get_mut(code) {
                    *text = text_of(name).unwrap_or_default();
                }
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    table
}

/// The encoding within a Type 1 font: lines such as `dup 12 /fi put`.
fn own_encoding(file: &File<'_>, font: &Object, table: &mut [String]) {
    let descriptor = file.member(font, "FontDescriptor");
    let Object::Reference(number) = descriptor.get("FontFile") else {
        return;
    };
    let program = file.unpack(&file.find(*number));
    let program = program.get(..PROGRAM_BYTES).unwrap_or(&program);
    let mut lexer = Lexer::new(program, 0);
    let mut code = None;
    while let Some(object) = lexer.next() {
        match object {
            Object::Word(word) if word == "eexec" => break,
            Object::Number(number) => code = Some(number as usize),
            Object::Name(name) => {
                if let Some(text) = code.take().and_then(|code| table.get_mut(code)) {
                    *text = text_of(&name).unwrap_or_default();
                }
            }
            _ => code = None,
        }
    }
}

/// The meaning of the name of a predefined map (ISO 32000-1, 9.7.5.2).
fn named_coding(name: &str) -> Coding {
    let charset = |name| Charset::named(name).map_or(Coding::Utf16, Coding::Charset);
    let has = |part| name.contains(part);
    if has("UCS2") || has("UTF16") {
        Coding::Utf16
    } else if has("GBK") || has("GB-") || has("GBpc") {
        charset("gb18030")
    } else if has("RKSJ") {
        charset("shift_jis")
    } else if has("B5") || has("ETen") {
        charset("big5")
    } else if has("KSC") {
        charset("euc-kr")
    } else if name.starts_with("EUC-") {
        charset("euc-jp")
    } else {
        Coding::Pairs(CharacterMap::default())
    }
}

/// Widths of a composite font: `code [w w …]` and `code code w`.
fn composite_widths(file: &File<'_>, list: &Object) -> BTreeMap<u32, f64> {
    let mut widths = BTreeMap::new();
    let mut members = list
        .members()
        .iter()
        .map(|member| file.resolve(member).into_owned());
    while let Some(first) = members.next().and_then(|first| first.count())
        && widths.len() < WIDTHS
    {
        let first = first as u32;
        match members.next() {
            Some(Object::Array(listed)) => {
                for (code, width) in (first..).zip(&listed) {
                    widths.extend(file.resolve(width).number().map(|width| (code, width)));
                }
            }
            Some(Object::Number(last)) => {
                let width = members
                    .next()
                    .and_then(|width| width.number())
                    .unwrap_or(0.0);
                let last = (last as u32).min(first.saturating_add(u32::from(u16::MAX)));
                widths.extend((first..=last).map(|code| (code, width)));
            }
            _ => break,
        }
    }
    widths
}
