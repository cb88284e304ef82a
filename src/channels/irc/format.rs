//! Texts on IRC: lines of a bounded length, with marks for bold and italic. Pure.
//! <https://modern.ircdocs.horse/formatting>

use std::ops::Range;

use super::TEXT_BYTES;
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{Document, Format, Level, Style};

/// Lines of one piece of a message. A question is always one, with the whole command that it is about.
const PIECE_LINES: usize = 24;

const BOLD: char = '\u{2}';
const ITALIC: char = '\u{1d}';
const COLOR: char = '\u{3}';
const HEX_COLOR: char = '\u{4}';

/// The styles that have a mark, and the marks, each of which turns its style on and off.
const MARKS: [(Level, char); 2] = [(Level::Bold, BOLD), (Level::Italic, ITALIC)];

/// IRC's formatting as a format. Code and tables are written as they are.
pub struct Formatting;

impl Format for Formatting {
    fn limit(&self) -> Limit {
        Limit {
            units: TEXT_BYTES * PIECE_LINES,
            unit: Unit::Bytes,
        }
    }

    fn can_link(&self, _: &str) -> bool {
        false
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        let mut out = String::with_capacity(range.len());
        let mut is_at_line = true;
        for (stretch, style) in document.stretches(range) {
            let text = document.text().get(stretch).unwrap_or_default();
            for line in text.split_inclusive('\n') {
                let is_quoted = style.has(Level::Quote) && !line.trim().is_empty();
                if is_at_line && is_quoted {
                    out.push_str("> ");
                }
                write_line(&mut out, line, style);
                is_at_line = line.ends_with('\n');
            }
        }
        out
    }

    fn fits(&self, _: &str, written: &str) -> bool {
        wrap(written, TEXT_BYTES).len() <= PIECE_LINES
    }
}

/// Writes a line or a part of one; marks never reach beyond it.
fn write_line(out: &mut String, line: &str, style: Style) {
    let is_code = style.has(Level::Pre) || style.has(Level::Code);
    let (words, newline) = match line.strip_suffix('\n') {
        Some(words) => (words, "\n"),
        None => (line, ""),
    };
    if words.is_empty() && style.has(Level::Pre) {
        // An empty line of code is one with a space: there are no empty messages.
        out.push(' ');
    }
    let marks = MARKS
        .iter()
        .filter(|(level, _)| style.has(*level) && !is_code);
    let marks: Vec<char> = marks.map(|(_, mark)| *mark).collect();
    let is_blank = words.trim().is_empty();
    if !is_blank {
        out.extend(&marks);
    }
    out.push_str(&strip(words));
    if !is_blank {
        out.extend(marks.iter().rev());
    }
    out.push_str(newline);
}

/// The text without formatting and other control characters.
pub fn strip(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let (digits, radix) = match char {
            COLOR => (2, 10),
            HEX_COLOR => (6, 16),
            '\n' | '\t' => {
                plain.push(char);
                continue;
            }
            char if char.is_control() => continue,
            char => {
                plain.push(char);
                continue;
            }
        };
        let mut number = || {
            let mut count = 0;
            while count < digits && chars.next_if(|char| char.is_digit(radix)).is_some() {
                count += 1;
            }
            (count > 0, chars.peek() == Some(&','))
        };
        if number() == (true, true) {
            let mut ahead = chars.clone();
            ahead.next();
            // A comma that no colour follows is the text's.
            if ahead.peek().is_some_and(|char| char.is_digit(radix)) {
                chars.next();
                for _ in 0..digits {
                    chars.next_if(|char| char.is_digit(radix));
                }
            }
        }
    }
    plain
}

/// The lines that a text is sent in, of at most so many bytes each: cut at words, else at characters. What is bold or
/// italic at a cut is so again in the next line, because each line begins without formatting. Empty lines are left out.
pub fn wrap(text: &str, bytes: usize) -> Vec<String> {
    // Room for the marks that are opened at the beginning and closed at the end.
    let bytes = bytes.max(2 * MARKS.len() + char::MAX.len_utf8());
    let mut lines = Vec::new();
    for line in text.split(['\n', '\r']) {
        let mut rest = line;
        let mut open: Vec<char> = Vec::new();
        while !rest.is_empty() {
            let begun: String = open.iter().collect();
            let room = bytes - begun.len();
            let end = if rest.len() <= room {
                rest.len()
            } else {
                cut(rest, room - MARKS.len())
            };
            let (part, after) = rest.split_at(end);
            toggle(&mut open, part);
            let is_last = after.is_empty();
            let part = if is_last {
                part
            } else {
                part.trim_end_matches(' ')
            };
            let mut line = begun + part;
            if !is_last {
                line.extend(open.iter().rev());
            }
            if has_text(&line) {
                lines.push(line);
            }
            rest = if is_last {
                after
            } else {
                after.trim_start_matches(' ')
            };
        }
    }
    lines
}

/// Whether a line has something besides formatting; a space is something.
fn has_text(line: &str) -> bool {
    line.chars().any(|char| !char.is_control())
}

/// Where a line is cut that has more than so many bytes: behind its last space, else anywhere between two characters.
fn cut(line: &str, bytes: usize) -> usize {
    let most = line.floor_char_boundary(bytes.max(1));
    let most = match most {
        0 => line.chars().next().map_or(line.len(), char::len_utf8),
        most => most,
    };
    let head = line.get(..most).unwrap_or_default();
    let indent = head.len() - head.trim_start_matches(' ').len();
    match head.rfind(' ') {
        Some(space) if space > indent && space > most / 3 => space + 1,
        _ => most,
    }
}

/// Which marks are open behind a text.
fn toggle(open: &mut Vec<char>, text: &str) {
    for char in text.chars() {
        if !MARKS.iter().any(|(_, mark)| *mark == char) {
            continue;
        }
        match open.iter().position(|mark| *mark == char) {
            Some(at) => drop(open.remove(at)),
            None => open.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::markup::render;
    use proptest::prelude::*;

    fn written(markdown: &str) -> Vec<String> {
        let pieces = render(markdown, &Formatting).into_iter();
        pieces
            .flat_map(|piece| wrap(&piece.written, TEXT_BYTES))
            .collect()
    }

    #[test]
    fn markdown_becomes_lines() {
        for (markdown, expected) in [
            (
                "Good **morning**, *Ana*.",
                &["Good \u{2}morning\u{2}, \u{1d}Ana\u{1d}."][..],
            ),
            ("one\n\ntwo", &["one", "two"]),
            ("# Plan\n\n- a\n- b", &["\u{2}Plan\u{2}", "• a", "• b"]),
            ("> said\n> so", &["> said", "> so"]),
            ("`a*b`", &["a*b"]),
            ("```\nif x:\n\n    y\n```", &["if x:", " ", "    y"]),
            ("a\u{2}b\u{3}4,5c\u{1b}[1m", &["abc[1m"]),
        ] {
            assert_eq!(written(markdown), expected, "{markdown:?}");
        }
    }

    #[test]
    fn formatting_is_taken_out() {
        for (text, expected) in [
            ("\u{2}bold\u{2} \u{1d}it\u{1f}x\u{f}", "bold itx"),
            ("\u{3}04red\u{3}", "red"),
            ("\u{3}4,12red, blue", "red, blue"),
            ("\u{3}4,red", ",red"),
            ("\u{3}123", "3"),
            ("\u{4}ff00aa,00ff00x", "x"),
            ("\u{3},5", ",5"),
            ("tab\there", "tab\there"),
        ] {
            assert_eq!(strip(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_words_and_stays_bold() {
        let lines = wrap("\u{2}one two three\u{2} four", 12);
        assert_eq!(lines, ["\u{2}one two\u{2}", "\u{2}three\u{2} four"]);
        assert_eq!(wrap("abcdefghijklmnop", 10), ["abcdefgh", "ijklmnop"]);
        assert_eq!(wrap("\u{2}\u{2}\n\r\n\0", 100), Vec::<String>::new());
        assert_eq!(wrap("a\r\nQUIT", 100), ["a", "QUIT"]);
        let words = "ü🦀 ".repeat(300);
        let lines = wrap(&words, 100);
        assert!(lines.iter().all(|line| line.len() <= 100));
        assert!(
            lines.iter().rev().skip(1).all(|line| line.len() > 60),
            "{lines:?}"
        );
    }

    proptest! {
        #[test]
        fn every_line_fits_and_no_word_is_lost(
            text in "([a-zü漢🦀\u{2}\u{1d}\u{3}0-9,\\n\\r]{0,30} ?){0,40}", bytes in 20..500_usize,
        ) {
            let lines = wrap(&text, bytes);
            for line in &lines {
                prop_assert!(line.len() <= bytes, "{} {line:?}", line.len());
                prop_assert!(!line.contains(['\n', '\r']));
            }
            let bare = |text: &str| -> String {
                text.chars().filter(|char| !char.is_whitespace() && !char.is_control()).collect()
            };
            prop_assert_eq!(bare(&lines.concat()), bare(&text));
            // What fits is not cut again.
            let again: Vec<String> = lines.iter().flat_map(|line| wrap(line, bytes)).collect();
            prop_assert_eq!(again, lines);
        }

        #[test]
        fn every_piece_has_few_lines(text in "([a-z*_`#>| \\n漢]{0,60}\\n){0,60}") {
            for piece in render(&text, &Formatting) {
                prop_assert!(wrap(&piece.written, TEXT_BYTES).len() <= PIECE_LINES);
            }
        }

        #[test]
        fn what_is_stripped_has_no_control_characters(text in any::<String>()) {
            let plain = strip(&text);
            prop_assert!(!plain.contains(|char: char| char.is_control() && !"\n\t".contains(char)));
        }
    }
}
