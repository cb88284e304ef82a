//! Estimates the tokens of a string without a tokenizer.
//!
//! The pieces are those of OpenAI's `o200k_base`: a word with the space before it, up to three digits, a run
//! of punctuation, a run of blanks. Inside a piece the estimate is the average over English, German, Chinese,
//! code, JSON and logs. A model with another vocabulary reports its own counts, and the caller corrects
//! the estimate with them.

use crate::base::limits::tokens::BYTES_PER_TOKEN;

/// Parts of a token in which the estimate counts.
const UNIT: u64 = 100;
/// Characters behind an accented letter in which words count as those of a language with accents.
const ACCENT_REACH: u32 = 150;

/// The tokens of a text, within 15 % for a text of a few hundred bytes. A longer text never has fewer
/// tokens than its beginning.
pub fn estimate(text: &str) -> usize {
    let mut scan = Scan::default();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        scan.add(char);
        let rest = chars.as_str();
        let letters = scan.add_letters(rest.as_bytes());
        chars = rest.get(letters..).unwrap_or_default().chars();
    }
    scan.cost.div_ceil(UNIT) as usize
}

/// The tokens of a text of which only the length is known, such as base64 or text on a disk.
pub fn estimate_bytes(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// Letters of a word that are in the vocabulary with nearly every beginning.
const SHORT_WORD: u32 = 4;

/// What a character is for the pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Class {
    Blank,
    /// A newline, and the beginning of the text.
    #[default]
    Newline,
    Digit,
    Lower,
    Upper,
    /// A Latin letter beyond ASCII, such as `ä`.
    Accented,
    /// A letter of a script whose words are spelt with letters, such as Cyrillic.
    Foreign,
    /// A sign of Chinese, Japanese or Korean.
    Wide,
    Punctuation,
    /// Punctuation beyond ASCII and symbols: a token each.
    Symbol,
    /// An emoji or a rare sign: bytes rather than words.
    Rare,
}

impl Class {
    fn of(char: char) -> Self {
        match char {
            'a'..='z' => Self::Lower,
            ' ' | '\t' => Self::Blank,
            '\n' | '\r' => Self::Newline,
            '0'..='9' => Self::Digit,
            'A'..='Z' => Self::Upper,
            '\0'..='\u{7f}' => Self::Punctuation,
            'À'..='ɏ' | 'Ḁ'..='ỿ' if char.is_alphabetic() => Self::Accented,
            '\u{2e80}'..='\u{2fff}' | '\u{3040}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' => {
                Self::Wide
            }
            '\u{f900}'..='\u{faff}' => Self::Wide,
            '\u{10000}'.. => Self::Rare,
            _ if char.is_alphabetic() => Self::Foreign,
            _ => Self::Symbol,
        }
    }

    fn is_letter(self) -> bool {
        matches!(
            self,
            Self::Lower | Self::Upper | Self::Accented | Self::Foreign
        )
    }
}

/// Reads a text from its beginning and adds up what each character costs, in hundredths of a token.
#[derive(Default)]
struct Scan {
    cost: u64,
    char: char,
    class: Class,
    /// Characters of this run so far: of one class, or letters of a word.
    length: u32,
    /// Upper-case letters at the beginning of this word, as long as no other has followed.
    capitals: u32,
    /// Whether this run came right after a blank, which is then a part of its first token.
    after_space: bool,
    /// Letters for which words count as those of a language with accents, which have more tokens.
    accented: u32,
}

impl Scan {
    fn add(&mut self, char: char) {
        let class = Class::of(char);
        self.accented = match class {
            Class::Accented => ACCENT_REACH,
            _ => self.accented.saturating_sub(1),
        };
        let begins = match (self.class, class) {
            // camelCase is two words.
            (before, Class::Upper) if before != Class::Upper => true,
            (before, class) => before != class && !(before.is_letter() && class.is_letter()),
        };
        let cost = if begins {
            self.begin(class)
        } else {
            self.go_on(char, class)
        };
        self.cost += cost;
        self.char = char;
        self.class = class;
    }

    /// Adds the lower-case letters with which a text goes on with a word, and returns how many: at once what
    /// [`Scan::add`] does one by one, as they are most of most texts.
    fn add_letters(&mut self, text: &[u8]) -> usize {
        if self.accented > 0 || !self.class.is_letter() {
            return 0;
        }
        let is_letter = |byte: &&u8| byte.is_ascii_lowercase();
        let count = text.iter().take_while(is_letter).count();
        let Some(last) = count.checked_sub(1).and_then(|last| text.get(last)) else {
            return 0;
        };
        let short = (SHORT_WORD.saturating_sub(self.length) as usize).min(count);
        let long = (count - short) as u64;
        self.cost += short as u64 + long * self.letter_of_long_word();
        self.length = self.length.saturating_add(count as u32);
        (self.char, self.class) = (char::from(*last), Class::Lower);
        count
    }

    /// What a letter of a word costs beyond [`SHORT_WORD`].
    fn letter_of_long_word(&self) -> u64 {
        if self.accented > 0 {
            21
        } else if self.after_space {
            4
        } else {
            14
        }
    }

    /// The cost of the first character of a run.
    fn begin(&mut self, class: Class) -> u64 {
        let before = self.class;
        let is_after_space = before == Class::Blank;
        let is_glued = before == Class::Punctuation && self.length == 1 && !self.after_space;
        self.length = 1;
        self.capitals = u32::from(class == Class::Upper);
        self.after_space = is_after_space;
        match class {
            // The last space before a word is a part of its first token, but not before a digit.
            Class::Blank => 0,
            Class::Newline if matches!(before, Class::Punctuation | Class::Symbol) => 15,
            Class::Digit if is_after_space => 200,
            // One sign before a word is often a token together with it, such as `_name` or `.get`.
            class if class.is_letter() && is_glued => match self.char {
                '_' | '(' | '.' => 5,
                '-' => 35,
                '/' => 50,
                _ => 75,
            },
            Class::Symbol => 85,
            Class::Accented => 130,
            Class::Rare => 200,
            _ => 100,
        }
    }

    /// The cost of a further character of a run.
    fn go_on(&mut self, char: char, class: Class) -> u64 {
        self.length = self.length.saturating_add(1);
        let is_capital = class == Class::Upper && self.capitals + 1 == self.length;
        self.capitals += u32::from(is_capital);
        match class {
            Class::Blank if self.length == 2 => 100,
            Class::Blank | Class::Newline => 0,
            Class::Digit if self.length % 3 == 1 => 100,
            Class::Digit => 0,
            Class::Punctuation if char == self.char => 5,
            Class::Punctuation if self.length == 2 => 5,
            Class::Punctuation => 40,
            Class::Symbol => 85,
            Class::Rare => 200,
            Class::Wide => 68,
            Class::Foreign => 25,
            Class::Accented => 40,
            _ if is_capital && self.length > 2 => 33,
            _ if self.length <= SHORT_WORD => 1,
            _ => self.letter_of_long_word(),
        }
    }
}

#[cfg(test)]
mod tests;
