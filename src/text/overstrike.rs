//! What a command writes for a terminal, as plain lines. PURE.
//!
//! A program overwrites its progress bar with carriage returns, backspaces and escape sequences. Here they
//! move a cursor over the last lines, as a terminal does, so that what is left is what a person would see at
//! the end; colours, titles and the like are dropped. It takes bytes in any pieces and holds a bounded part
//! of the output: a line that has left the open ones is final.

use std::collections::VecDeque;

/// Lines that a program can still change by moving the cursor up; a progress display has a dozen.
const OPEN_LINES: usize = 64;
/// Characters of a line that can still be overwritten. What is before them stays as it is.
const OPEN_COLUMNS: usize = 4096;
/// Columns to which the cursor moves over what is empty; no terminal is wider.
const EMPTY_COLUMNS: usize = 512;
/// Bytes of an escape sequence; what is longer is none, and the text after it is shown again.
const SEQUENCE_BYTES: usize = 4096;
/// Numbers of an escape sequence that are read; the rest is passed over.
const SEQUENCE_NUMBERS: usize = 16;

/// Turns output for a terminal into plain text. See the module.
#[derive(Clone, Debug)]
pub struct Overstrike {
    lines: VecDeque<Line>,
    row: usize,
    column: usize,
    saved: (usize, usize),
    state: State,
    /// Bytes of the escape sequence so far.
    length: usize,
    numbers: Vec<usize>,
    is_private: bool,
    /// The beginning of a character that is not complete.
    partial: Vec<u8>,
}

/// A line that can still change.
#[derive(Clone, Debug, Default)]
struct Line {
    cells: Vec<char>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    /// After ESC.
    Escape,
    /// After ESC and one of `( ) * + # %`, which one more byte ends.
    Designation,
    /// After ESC `[`.
    Control,
    /// A title or another string, which BEL or ESC `\` ends.
    String,
    /// After ESC within a string.
    StringEscape,
}

impl Default for Overstrike {
    fn default() -> Self {
        Self {
            lines: VecDeque::from([Line::default()]),
            row: 0,
            column: 0,
            saved: (0, 0),
            state: State::Text,
            length: 0,
            numbers: Vec::new(),
            is_private: false,
            partial: Vec::new(),
        }
    }
}

/// The whole of an output as plain text.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut screen = Overstrike::default();
    screen.feed(text.as_bytes(), &mut out);
    screen.finish(&mut out);
    out
}

impl Overstrike {
    /// Takes the next bytes, and appends to `out` what cannot change any more.
    pub fn feed(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let mut rest = if self.partial.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.partial)[..], bytes].concat();
            &joined[..]
        };
        while !rest.is_empty() {
            let (valid, bad) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None),
                Err(error) => {
                    let (valid, _) = rest.split_at(error.valid_up_to());
                    let valid = std::str::from_utf8(valid).unwrap_or_default();
                    (valid, Some(error.error_len()))
                }
            };
            valid.chars().for_each(|char| self.take(char, out));
            rest = rest.get(valid.len()..).unwrap_or_default();
            match bad {
                None => break,
                Some(Some(length)) => {
                    self.take(char::REPLACEMENT_CHARACTER, out);
                    rest = rest.get(length..).unwrap_or_default();
                }
                Some(None) => {
                    self.partial = rest.to_vec();
                    break;
                }
            }
        }
    }

    /// Appends what is left.
    pub fn finish(mut self, out: &mut String) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.take(char::REPLACEMENT_CHARACTER, out);
        }
        self.write_open(out);
    }

    /// The lines that can still change, as they are now.
    pub fn open_lines(&self) -> String {
        let mut out = String::new();
        self.write_open(&mut out);
        out
    }

    fn write_open(&self, out: &mut String) {
        for (index, line) in self.lines.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            out.extend(&line.cells);
        }
    }

    fn take(&mut self, char: char, out: &mut String) {
        if self.state != State::Text {
            self.length += 1;
            // A sequence has no newline in it, and no end: the text is worth more.
            if self.length > SEQUENCE_BYTES || char == '\n' {
                self.state = State::Text;
            }
        }
        match self.state {
            State::Text => self.text(char, out),
            State::Escape => self.escape(char, out),
            State::Designation => self.state = State::Text,
            State::Control => self.control(char, out),
            State::String => match char {
                '\u{7}' | '\u{9c}' => self.state = State::Text,
                '\u{1b}' => self.state = State::StringEscape,
                _ => {}
            },
            State::StringEscape => {
                self.state = State::Text;
                if char != '\\' {
                    self.begin(State::Escape);
                    self.escape(char, out);
                }
            }
        }
    }

    fn begin(&mut self, state: State) {
        self.state = state;
        self.length = 0;
        self.numbers.clear();
        self.is_private = false;
    }

    fn text(&mut self, char: char, out: &mut String) {
        match char {
            '\n' | '\u{b}' | '\u{c}' => self.next_line(out),
            '\r' => self.column = 0,
            '\u{8}' => self.column = self.column.saturating_sub(1),
            '\u{1b}' => self.begin(State::Escape),
            '\u{9b}' => self.begin(State::Control),
            '\t' => self.put(char, out),
            char if char.is_control() => {}
            char => self.put(char, out),
        }
    }

    fn escape(&mut self, char: char, out: &mut String) {
        self.state = State::Text;
        match char {
            '[' => self.begin(State::Control),
            ']' | 'P' | '_' | '^' | 'X' => self.begin(State::String),
            '(' | ')' | '*' | '+' | '#' | '%' | ' ' => self.begin(State::Designation),
            '\u{1b}' => self.begin(State::Escape),
            '7' => self.saved = (self.row, self.column),
            '8' => self.restore(),
            'D' => self.down(1, out),
            'E' => self.next_line(out),
            'M' => self.row = self.row.saturating_sub(1),
            'c' => self.clear(),
            _ => {}
        }
    }

    fn control(&mut self, char: char, out: &mut String) {
        match char {
            '0'..='9' => {
                let digit = char as usize - '0' as usize;
                if self.numbers.is_empty() {
                    self.numbers.push(0);
                }
                if let Some(last) = self.numbers.last_mut() {
                    *last = last
                        .saturating_mul(10)
                        .saturating_add(digit)
                        .min(OPEN_COLUMNS);
                }
            }
            ';' | ':' => {
                if self.numbers.is_empty() {
                    self.numbers.push(0);
                }
                if self.numbers.len() < SEQUENCE_NUMBERS {
                    self.numbers.push(0);
                }
            }
            '<'..='?' => self.is_private = true,
            // What stands before the last byte of rare sequences.
            ' '..='/' => self.is_private = true,
            '\u{1b}' => self.begin(State::Escape),
            '@'..='~' => {
                self.state = State::Text;
                if !self.is_private {
                    self.perform(char, out);
                }
            }
            // A terminal performs a control within a sequence.
            char if char.is_control() => {
                let state = self.state;
                self.text(char, out);
                self.state = state;
            }
            _ => self.state = State::Text,
        }
    }

    /// The number at a place of the sequence; 1 where there is none, and where it is 0.
    fn count(&self, index: usize) -> usize {
        self.numbers.get(index).map_or(1, |number| (*number).max(1))
    }

    fn perform(&mut self, char: char, out: &mut String) {
        let count = self.count(0);
        let mode = self.numbers.first().copied().unwrap_or_default();
        match char {
            'A' => self.row = self.row.saturating_sub(count),
            'B' | 'e' => self.down(count, out),
            'C' | 'a' => self.move_to(self.column.saturating_add(count)),
            'D' => self.column = self.column.saturating_sub(count),
            'E' => {
                self.down(count, out);
                self.column = 0;
            }
            'F' => {
                self.row = self.row.saturating_sub(count);
                self.column = 0;
            }
            'G' | '`' => self.move_to(count - 1),
            'H' | 'f' => {
                self.row = 0;
                self.down(count - 1, out);
                self.move_to(self.count(1) - 1);
            }
            'd' => {
                self.row = 0;
                self.down(count - 1, out);
            }
            'J' => self.erase_lines(mode),
            'K' => self.erase_in_line(mode),
            'P' => {
                let (column, line) = (self.column, self.line());
                let end = column.saturating_add(count).min(line.cells.len());
                if column < end {
                    line.cells.drain(column..end);
                }
            }
            'X' => {
                let (column, line) = (self.column, self.line());
                let cells = line.cells.iter_mut().skip(column).take(count);
                cells.for_each(|cell| *cell = ' ');
            }
            's' => self.saved = (self.row, self.column),
            'u' => self.restore(),
            _ => {}
        }
    }

    fn line(&mut self) -> &mut Line {
        // The row is always one of the lines: the deque is never empty, and each move is bounded by it.
        let row = self.row.min(self.lines.len().saturating_sub(1));
        if self.lines.is_empty() {
            self.lines.push_back(Line::default());
        }
        &mut self.lines[row]
    }

    fn put(&mut self, char: char, out: &mut String) {
        let (row, column) = (self.row, self.column);
        let line = self.line();
        match line.cells.get_mut(column) {
            Some(cell) => *cell = char,
            None => {
                line.cells.resize(column, ' ');
                line.cells.push(char);
            }
        }
        self.column += 1;
        if self.column < OPEN_COLUMNS {
            return;
        }
        // A line without an end is written out; what is above it is final then.
        for _ in 0..row {
            self.shift(out);
        }
        out.extend(self.line().cells.drain(..));
        self.column = 0;
    }

    fn move_to(&mut self, column: usize) {
        let length = self.line().cells.len();
        self.column = column.min(length.max(EMPTY_COLUMNS));
    }

    fn next_line(&mut self, out: &mut String) {
        self.column = 0;
        self.down(1, out);
    }

    /// Goes down; at the end there is a new line, as after a newline.
    fn down(&mut self, count: usize, out: &mut String) {
        for _ in 0..count.min(OPEN_LINES) {
            self.row += 1;
            if self.row < self.lines.len() {
                continue;
            }
            self.lines.push_back(Line::default());
            if self.lines.len() > OPEN_LINES {
                self.shift(out);
            }
        }
    }

    /// Writes the first line out.
    fn shift(&mut self, out: &mut String) {
        if let Some(line) = self.lines.pop_front() {
            out.extend(&line.cells);
            out.push('\n');
        }
        self.row = self.row.saturating_sub(1);
        self.saved.0 = self.saved.0.saturating_sub(1);
    }

    fn restore(&mut self) {
        self.row = self.saved.0.min(self.lines.len().saturating_sub(1));
        self.move_to(self.saved.1);
    }

    /// Forgets the lines, as `clear` does; one whose beginning was written stays where it is.
    fn clear(&mut self) {
        self.lines = VecDeque::from([Line::default()]);
        (self.row, self.column, self.saved) = (0, 0, (0, 0));
    }

    fn erase_lines(&mut self, mode: usize) {
        match mode {
            0 => {
                self.erase_in_line(0);
                self.lines.truncate(self.row + 1);
            }
            1 => {
                let row = self.row;
                self.lines
                    .iter_mut()
                    .take(row)
                    .for_each(|line| line.cells.clear());
                self.erase_in_line(1);
            }
            _ => self.clear(),
        }
    }

    fn erase_in_line(&mut self, mode: usize) {
        let (column, line) = (self.column, self.line());
        match mode {
            0 => line.cells.truncate(column),
            1 => line
                .cells
                .iter_mut()
                .take(column + 1)
                .for_each(|cell| *cell = ' '),
            _ => line.cells.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_overwritten_is_gone() {
        for (written, seen) in [
            ("one\r\ntwo\r\n", "one\ntwo\n"),
            ("10%\r20%\r100%\n", "100%\n"),
            ("100%\rx", "x00%"),
            ("long line\r\x1b[Kshort", "short"),
            ("abc\x08\x08X", "aXc"),
            ("_\x08a_\x08b", "ab"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]0;a title\x07text", "text"),
            ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
            ("a\nb\n\x1b[2A\x1b[2KA\n\x1b[2KB\n", "A\nB\n"),
            ("a\nb\nc\x1b[1;1Hx", "x\nb\nc"),
            ("old\nscreen\x1b[H\x1b[2Jnew", "new"),
            ("a\x1b[3Cb", "a   b"),
            ("a\tb\n", "a\tb\n"),
            ("\x1b(Bplain\x1b=\x1b>", "plain"),
            ("\x1b[?25lhidden\x1b[?25h", "hidden"),
            ("abcdef\x1b[3G\x1b[2P", "abef"),
            ("bell\x07 and \x00nul", "bell and nul"),
            ("cut \x1b[12", "cut "),
            ("cut \x1b]0;never ended\nnext", "cut \nnext"),
            (
                "\x1b[9999;9999Hx\x1b[9999A",
                &format!("{}{}x", "\n".repeat(64), " ".repeat(512)),
            ),
        ] {
            assert_eq!(plain(written), seen, "{written:?}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_shown_and_not_held() {
        let mut screen = Overstrike::default();
        let mut out = String::new();
        for _ in 0..1000 {
            screen.feed(&[b'x'; 1000], &mut out);
            assert!(screen.open_lines().len() <= OPEN_COLUMNS);
        }
        screen.finish(&mut out);
        assert_eq!(out, "x".repeat(1_000_000));
    }

    #[test]
    fn a_thousand_steps_of_a_progress_bar_are_one_line() {
        let bar: String = (0..=1000)
            .map(|step| format!("\r[{}] {step}", "#".repeat(step / 50)))
            .collect();
        assert_eq!(plain(&bar), format!("[{}] 1000", "#".repeat(20)));
    }

    fn fed(pieces: &[&[u8]]) -> String {
        let (mut screen, mut out) = (Overstrike::default(), String::new());
        for piece in pieces {
            screen.feed(piece, &mut out);
            let held: usize = screen.lines.iter().map(|line| line.cells.len()).sum();
            assert!(held <= OPEN_LINES * OPEN_COLUMNS && screen.lines.len() <= OPEN_LINES);
        }
        screen.finish(&mut out);
        out
    }

    proptest! {
        #[test]
        fn text_without_controls_stays_as_it_is(text in "[^\\p{Cc}]{0,200}(\n|\t|[^\\p{Cc}]){0,200}") {
            prop_assert_eq!(plain(&text), text);
        }

        #[test]
        fn the_pieces_make_no_difference_and_no_control_is_left(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(0x1b), Just(b'['), Just(b'\r'), Just(b'\n')], 0..600),
            cut in 0_usize..600,
        ) {
            let cut = cut.min(bytes.len());
            let whole = fed(&[&bytes]);
            prop_assert_eq!(&whole, &fed(&[&bytes[..cut], &bytes[cut..]]));
            prop_assert!(!whole.contains(|char: char| char.is_control() && char != '\n' && char != '\t'));
        }
    }
}
