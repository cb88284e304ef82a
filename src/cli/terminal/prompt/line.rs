//! The text that is being typed, and the cursor in it. Pure.

use unicode_width::UnicodeWidthChar;

/// A text of one or several lines with a cursor.
#[derive(Debug, Default)]
pub struct Line {
    text: String,
    /// A byte index; always at the beginning of a character that takes room.
    cursor: usize,
    /// What was cut last.
    cut: String,
}

impl Line {
    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The byte at which the cursor is.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Replaces the text; the cursor is at its end.
    pub fn set(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.cursor = text.len();
    }

    /// Takes the text away.
    pub fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Inserts at the cursor.
    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    /// One character to the left.
    pub fn left(&mut self) {
        self.cursor = self.before(self.cursor);
    }

    /// One character to the right.
    pub fn right(&mut self) {
        self.cursor = self.behind(self.cursor);
    }

    /// To the beginning of the line.
    pub fn home(&mut self) {
        self.cursor = self.line_start(self.cursor);
    }

    /// To the end of the line.
    pub fn end(&mut self) {
        self.cursor = self.line_end(self.cursor);
    }

    /// To the beginning of this word, or of the one before it.
    pub fn word_left(&mut self) {
        self.cursor = self.word_start();
    }

    /// To the end of this word, or of the next one.
    pub fn word_right(&mut self) {
        self.cursor = self.word_end();
    }

    /// One line up; false on the first one.
    pub fn up(&mut self) -> bool {
        let start = self.line_start(self.cursor);
        if start == 0 {
            return false;
        }
        let above = self.line_start(start - 1);
        self.cursor = self.at_column(above, self.column());
        true
    }

    /// One line down; false on the last one.
    pub fn down(&mut self) -> bool {
        let end = self.line_end(self.cursor);
        if end == self.text.len() {
            return false;
        }
        self.cursor = self.at_column(end + 1, self.column());
        true
    }

    /// Deletes the character before the cursor.
    pub fn backspace(&mut self) {
        let from = self.before(self.cursor);
        self.delete(from, self.cursor);
    }

    /// Deletes the character at the cursor.
    pub fn delete_forward(&mut self) {
        self.delete(self.cursor, self.behind(self.cursor));
    }

    /// Cuts to the end of the line; at its end, the newline.
    pub fn cut_to_end(&mut self) {
        match self.line_end(self.cursor) {
            end if end == self.cursor => self.delete_forward(),
            end => self.cut(self.cursor, end),
        }
    }

    /// Cuts to the beginning of the line.
    pub fn cut_to_start(&mut self) {
        self.cut(self.line_start(self.cursor), self.cursor);
    }

    /// Cuts the word before the cursor, up to a blank.
    pub fn cut_word_left(&mut self) {
        let before = self.text[..self.cursor].trim_end();
        let from = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before[at..].chars().next().map_or(0, char::len_utf8)
        });
        self.cut(from, self.cursor);
    }

    /// Cuts the word behind the cursor.
    pub fn cut_word_right(&mut self) {
        self.cut(self.cursor, self.word_end());
    }

    /// Inserts what was cut last.
    pub fn paste(&mut self) {
        let cut = self.cut.clone();
        self.insert(&cut);
    }

    fn cut(&mut self, from: usize, to: usize) {
        if from < to {
            self.text[from..to].clone_into(&mut self.cut);
            self.delete(from, to);
        }
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self, place: usize) -> usize {
        let mut chars = self.text[..place].char_indices().rev();
        let found = chars.find(|(_, char)| takes_room(*char));
        found.map_or(0, |(start, _)| start)
    }

    fn behind(&self, place: usize) -> usize {
        let mut chars = self.text[place..].char_indices().skip(1);
        let found = chars.find(|(_, char)| takes_room(*char));
        found.map_or(self.text.len(), |(start, _)| place + start)
    }

    fn line_start(&self, place: usize) -> usize {
        self.text[..place].rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, place: usize) -> usize {
        let rest = &self.text[place..];
        rest.find('\n').map_or(self.text.len(), |end| place + end)
    }

    fn column(&self) -> usize {
        let line = &self.text[self.line_start(self.cursor)..self.cursor];
        line.chars().map(width).sum()
    }

    /// The place in the line that begins at `start` which is at most at a column.
    fn at_column(&self, start: usize, column: usize) -> usize {
        let mut reached = 0;
        for (at, char) in self.text[start..].char_indices() {
            reached += width(char);
            if char == '\n' || reached > column {
                return start + at;
            }
        }
        self.text.len()
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end_matches(|char| !is_word(char));
        before.trim_end_matches(is_word).len()
    }

    fn word_end(&self) -> usize {
        let behind = self.text[self.cursor..].trim_start_matches(|char| !is_word(char));
        self.text.len() - behind.trim_start_matches(is_word).len()
    }
}

/// Columns that a character takes on the screen.
pub fn width(char: char) -> usize {
    match char {
        '\t' => 1,
        char => char.width().unwrap_or(0),
    }
}

fn takes_room(char: char) -> bool {
    char == '\n' || width(char) > 0
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> Line {
        let mut line = Line::default();
        let (before, behind) = text.split_once('|').unwrap();
        line.set(&[before, behind].concat());
        line.cursor = before.len();
        line
    }

    fn shown(line: &Line) -> String {
        let (before, behind) = line.text.split_at(line.cursor);
        format!("{before}|{behind}")
    }

    #[test]
    fn each_key_does_what_it_does_elsewhere() {
        type Act = fn(&mut Line);
        let table: &[(&str, Act, &str)] = &[
            ("ab|c", Line::left, "a|bc"),
            ("|abc", Line::left, "|abc"),
            ("e\u{301}|x", Line::left, "|e\u{301}x"),
            ("|e\u{301}x", Line::right, "e\u{301}|x"),
            ("a 中|", Line::backspace, "a |"),
            ("a|bc", Line::delete_forward, "a|c"),
            ("one\ntw|o", Line::home, "one\n|two"),
            ("o|ne\ntwo", Line::end, "one|\ntwo"),
            ("one two|", Line::word_left, "one |two"),
            ("|one, two", Line::word_right, "one|, two"),
            ("one two|", Line::cut_word_left, "one |"),
            ("one a/b |x", Line::cut_word_left, "one |x"),
            ("|one two", Line::cut_word_right, "| two"),
            ("one |two\nx", Line::cut_to_end, "one |\nx"),
            ("one|\nx", Line::cut_to_end, "one|x"),
            ("a\none |two", Line::cut_to_start, "a\n|two"),
            ("abc\nde|f", |line| assert!(line.up()), "ab|c\ndef"),
            ("a\nde|f", |line| assert!(line.up()), "a|\ndef"),
            ("中文\nab|", |line| assert!(line.up()), "中|文\nab"),
            ("ab|c\nd", |line| assert!(line.down()), "abc\nd|"),
            ("a|b", |line| assert!(!line.up() && !line.down()), "a|b"),
        ];
        for (before, act, after) in table {
            let mut line = line(before);
            act(&mut line);
            assert_eq!(shown(&line), *after, "{before:?}");
        }
        let mut line = line("one |two");
        line.cut_to_end();
        line.home();
        line.paste();
        assert_eq!(shown(&line), "two|one ");
    }

    proptest! {
        #[test]
        fn no_sequence_of_keys_breaks_it(keys in prop::collection::vec(0_usize..15, 0..60)) {
            let mut line = Line::default();
            for key in keys {
                match key {
                    0 => line.insert("a b"),
                    1 => line.insert("中\u{301}"),
                    2 => line.insert("\n"),
                    3 => line.left(),
                    4 => line.right(),
                    5 => line.word_left(),
                    6 => line.word_right(),
                    7 => drop(line.up()),
                    8 => drop(line.down()),
                    9 => line.backspace(),
                    10 => line.delete_forward(),
                    11 => line.cut_to_end(),
                    12 => line.cut_word_left(),
                    13 => line.cut_to_start(),
                    _ => line.paste(),
                }
                prop_assert!(line.text.is_char_boundary(line.cursor));
            }
        }
    }
}
