//! Character maps (ISO 32000-1, 9.10.3): the text of a character code, and the length of codes.

use std::collections::BTreeMap;

use super::object::{Lexer, Object};

/// Entries of a map; there are 65,536 codes of two bytes.
const ENTRIES: usize = 70_000;
/// Operands between two operators of a map, which come a hundred at a time.
const OPERANDS: usize = 10_000;

/// A character map.
#[derive(Default)]
pub struct CharacterMap {
    /// By the first code of a range: the last one, and the text of the first one.
    ranges: BTreeMap<u32, (u32, String)>,
    /// First bytes of codes that have one byte.
    single: Option<(u32, u32)>,
    /// Whether there are codes of two bytes.
    pub has_pairs: bool,
}

impl CharacterMap {
    /// Reads a map from the data of its stream.
    pub fn read(bytes: &[u8]) -> Self {
        let mut map = Self::default();
        let mut lexer = Lexer::new(bytes, 0);
        let mut operands = Vec::new();
        while let Some(object) = lexer.next() {
            let Object::Word(word) = object else {
                if operands.len() < OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            match word.as_str() {
                "endcodespacerange" => operands.chunks(2).for_each(|pair| map.add_space(pair)),
                "endbfchar" => {
                    for pair in operands.chunks(2) {
                        if let [Object::Text(code), Object::Text(text)] = pair {
                            map.add(code_of(code), code_of(code), utf16(text));
                        }
                    }
                }
                "endbfrange" => operands.chunks(3).for_each(|range| map.add_range(range)),
                _ => {}
            }
            operands.clear();
        }
        map
    }

    fn add_space(&mut self, pair: &[Object]) {
        if let [Object::Text(first), Object::Text(last)] = pair {
            match first.len() {
                1 => self.single = Some((code_of(first), code_of(last))),
                _ => self.has_pairs = true,
            }
        }
    }

    fn add_range(&mut self, range: &[Object]) {
        match range {
            [Object::Text(first), Object::Text(last), Object::Text(text)] => {
                self.add(code_of(first), code_of(last), utf16(text));
            }
            [Object::Text(first), Object::Text(_), Object::Array(texts)] => {
                for (code, text) in (code_of(first)..).zip(texts) {
                    if let Object::Text(text) = text {
                        self.add(code, code, utf16(text));
                    }
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, first: u32, last: u32, text: String) {
        if self.ranges.len() < ENTRIES {
            self.ranges.insert(first, (last, text));
        }
    }

    /// The text of a code.
    pub fn text(&self, code: u32) -> Option<String> {
        let (first, (last, text)) = self.ranges.range(..=code).next_back()?;
        if code > *last {
            return None;
        }
        let mut chars: Vec<char> = text.chars().collect();
        if let Some(char) = chars.last_mut() {
            *char = char::from_u32(u32::from(*char).checked_add(code - first)?)?;
        }
        Some(chars.into_iter().collect())
    }

    /// Whether a code that begins with this byte has one byte.
    pub fn is_single(&self, byte: u8) -> bool {
        let byte = u32::from(byte);
        self.single
            .is_some_and(|(first, last)| (first..=last).contains(&byte))
    }
}

/// A code of some bytes as a number.
fn code_of(bytes: &[u8]) -> u32 {
    let add = |code: u32, byte: &u8| code << 8 | u32::from(*byte);
    bytes.iter().take(4).fold(0, add)
}

/// Text in UTF-16, the high byte first.
pub fn utf16(bytes: &[u8]) -> String {
    // A single byte is against the standard, and means its character.
    if let [byte] = bytes {
        return char::from(*byte).to_string();
    }
    let units = bytes.chunks_exact(2).map(|pair| match pair {
        [high, low] => u16::from(*high) << 8 | u16::from(*low),
        _ => 0,
    });
    let chars = char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
    chars.filter(|char| *char != '\0').collect()
}
