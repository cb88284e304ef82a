//! Finds words in bytes, many at a time and without parsing them first. Pure.
//!
//! Most bytes cost a look at two small tables. What is found is the beginning of a word; of scripts
//! without spaces, any place.

use super::{QUERY_PHRASES, QUERY_WORDS};
use std::fmt;

/// The bit of a table that stands for an escaped character of JSON (`\u4e2d`).
const ESCAPE: u32 = 1 << 31;

/// The most needles: words, phrases and a date.
pub(super) const NEEDLES: usize = QUERY_WORDS + QUERY_PHRASES + 1;

/// One bit for each, and the one above.
const _: () = assert!(NEEDLES < u32::BITS as usize);

/// A word or a phrase to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needle {
    /// In lower case, at least one.
    chars: Vec<char>,
    /// Whether it is of a script with spaces between words.
    is_spaced: bool,
}

impl Needle {
    pub(super) fn new(chars: Vec<char>) -> Self {
        let is_spaced = !chars.first().is_some_and(|first| is_unspaced(*first));
        Self { chars, is_spaced }
    }

    /// Where the word ends that begins at a byte of the text; `None` when it is another one.
    fn end_at(&self, text: &[u8], at: usize) -> Option<usize> {
        self.chars.iter().try_fold(at, |at, wanted| {
            let char = char_at(text, at)?;
            (fold(char) == *wanted).then_some(at + char.len_utf8())
        })
    }
}

impl fmt::Display for Needle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chars.iter().try_for_each(|char| write!(f, "{char}"))
    }
}

/// What was found in a text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// For each needle, how often: two for a whole word, one for the beginning of a longer one.
    pub halves: [u32; NEEDLES],
    /// For each needle, where it is first.
    pub first: [usize; NEEDLES],
    /// The needles that were found.
    pub found: u32,
    /// Whether there are escaped characters, which may be anything.
    pub has_escapes: bool,
}

/// Looks for several words at a time.
pub(super) struct Scanner {
    needles: Vec<Needle>,
    /// For each byte, the needles that can begin with it.
    first: [u32; 256],
    /// For each byte, the needles that can go on with it.
    second: [u32; 256],
}

impl Scanner {
    /// For at most [`NEEDLES`].
    pub(super) fn new(needles: Vec<Needle>) -> Self {
        let (mut first, mut second) = ([0; 256], [0; 256]);
        first[usize::from(b'\\')] = ESCAPE;
        second[usize::from(b'u')] = ESCAPE;
        for (index, needle) in needles.iter().enumerate() {
            let bit = 1 << index;
            let mut chars = needle.chars.iter();
            let begins = chars.next().map_or(Vec::new(), |char| spellings(*char));
            let next = chars.next().map(|char| spellings(*char));
            for bytes in begins {
                let mut bytes = bytes.bytes();
                let (one, two) = (bytes.next(), bytes.next());
                first[usize::from(one.unwrap_or_default())] |= bit;
                match (two, &next) {
                    (Some(two), _) => second[usize::from(two)] |= bit,
                    (None, Some(next)) => {
                        let leads = next.iter().filter_map(|bytes| bytes.bytes().next());
                        leads.for_each(|lead| second[usize::from(lead)] |= bit);
                    }
                    (None, None) => second.iter_mut().for_each(|bits| *bits |= bit),
                }
            }
        }
        Self {
            needles,
            first,
            second,
        }
    }

    #[cfg(test)]
    pub(super) fn needles(&self) -> &[Needle] {
        &self.needles
    }

    /// Counts the needles in a text, which ends with a byte that belongs to none of them.
    pub(super) fn count(&self, text: &[u8]) -> Counts {
        let mut counts = Counts::default();
        let mut before = 0;
        for (index, byte) in text.iter().enumerate() {
            let bits = before & self.second[usize::from(*byte)];
            before = self.first[usize::from(*byte)];
            if bits != 0 {
                self.look(text, index - 1, bits, &mut counts);
            }
        }
        counts
    }

    /// Looks whether needles that can begin at a byte do.
    fn look(&self, text: &[u8], at: usize, bits: u32, counts: &mut Counts) {
        if bits & ESCAPE != 0 {
            counts.has_escapes |= is_escape(text.get(at..).unwrap_or_default());
        }
        let tables = counts.halves.iter_mut().zip(&mut counts.first);
        for ((index, needle), (halves, first)) in self.needles.iter().enumerate().zip(tables) {
            if bits & (1 << index) == 0 || needle.is_spaced && !begins_word(text, at) {
                continue;
            }
            let Some(end) = needle.end_at(text, at) else {
                continue;
            };
            let is_whole = !needle.is_spaced || !char_at(text, end).is_some_and(is_in_word);
            // The beginning of another word says little when it has two letters.
            if !is_whole && needle.chars.len() < 3 {
                continue;
            }
            if *halves == 0 {
                *first = at;
            }
            *halves = halves.saturating_add(1 + u32::from(is_whole));
            counts.found |= 1 << index;
        }
    }
}

/// A character in the case in which characters are compared.
pub(super) fn fold(char: char) -> char {
    char.to_lowercase().next().unwrap_or(char)
}

/// The spellings of a lower-case character.
fn spellings(char: char) -> Vec<String> {
    let upper = char.to_uppercase().next().unwrap_or(char);
    vec![char.to_string(), upper.to_string()]
}

/// Whether a character is of a script that puts no spaces between words: Chinese, Japanese, Thai, Lao,
/// Burmese, Khmer.
pub(super) fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a word goes on with this character.
fn is_in_word(char: char) -> bool {
    char.is_alphanumeric() && !is_unspaced(char)
}

/// Whether a word can begin at this byte: nothing of a word is before it.
fn begins_word(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    match before {
        // A newline or a tab, as JSON has them.
        [.., b'\\', b'n' | b't' | b'r'] | [] => true,
        [.., byte] if byte.is_ascii() => !byte.is_ascii_alphanumeric(),
        _ => {
            let start = before.iter().rposition(|byte| byte & 0xc0 != 0x80);
            let char = start.and_then(|start| char_at(before, start));
            !char.is_some_and(is_in_word)
        }
    }
}

/// The character at a byte of UTF-8.
fn char_at(text: &[u8], at: usize) -> Option<char> {
    let lead = *text.get(at)?;
    let bytes = match lead {
        0..0x80 => return Some(char::from(lead)),
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    let char = std::str::from_utf8(text.get(at..at + bytes)?).ok()?;
    char.chars().next()
}

/// Whether this is an escaped character that may belong to a word. Control characters do not.
fn is_escape(text: &[u8]) -> bool {
    let digits = text.get(2..6).unwrap_or_default();
    digits.len() == 4
        && digits.iter().all(u8::is_ascii_hexdigit)
        && !matches!(digits, [b'0', b'0', b'0' | b'1', _])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn halves(word: &str, text: &str) -> u32 {
        let needle = Needle::new(word.chars().collect());
        Scanner::new(vec![needle])
            .count(format!("{text}\n").as_bytes())
            .halves[0]
    }

    #[test]
    fn words_are_found_in_any_case_where_they_begin() {
        for (word, text, found) in [
            ("fan", "A FAN, a fan; fans: sofan", 5),
            ("fan", r#"{"content":"x\nfan\tFan"}"#, 4),
            ("äpfel", "Äpfel ÄPFELN gäpfel", 3),
            ("москва", "мОСКВА москвич", 2),
            ("пи", "пи пирог", 2),
            ("配置", "重新配置，配置", 4),
            ("a", "a b a", 4),
            ("pi", "raspi pi4 Pi", 2),
            ("pi", "引pi脚", 2),
            ("fan", "f fa fän", 0),
        ] {
            assert_eq!(halves(word, text), found, "{word} in {text}");
        }
        let counts = |text: &str| Scanner::new(Vec::new()).count(text.as_bytes());
        assert!(counts(r"x\u4e2d").has_escapes);
        assert!(!counts(r"x\u001b C:\\users \u12").has_escapes);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(word in "[a-cä中П]{1,4}", text in proptest::collection::vec(any::<u8>(), 0..80)) {
            let needle = Needle::new(word.chars().map(fold).collect());
            Scanner::new(vec![needle]).count(&text);
        }

        /// The same as a search that takes its time.
        #[test]
        fn as_many_are_found_as_there_are(word in "[a-bä]{3}", words in proptest::collection::vec("[abäÄB]{1,5}", 0..12)) {
            let mut expected = 0;
            for other in &words {
                let lower = other.to_lowercase();
                expected += u32::from(lower.starts_with(&word)) + u32::from(lower == word);
            }
            prop_assert_eq!(halves(&word, &words.join(" ")), expected);
        }
    }
}
