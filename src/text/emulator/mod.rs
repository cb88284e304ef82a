//! What a terminal shows. PURE: bytes of programs go in, a screen of cells comes out.
//!
//! The work is done by the crate vt100; this adds the answers to what programs ask their terminal, so that none waits for
//! them, and what a picture of the screen needs.

pub mod draw;
pub mod keys;

use std::num::NonZeroU16;

use crate::base::limits::gateway::term as limits;

/// Bytes of the answers to a program's questions that wait to be typed in. An answer has about ten.
const REPLIES_BYTES: usize = 1024;
/// Bytes that the emulator takes at once: a few of them can stand for a long work (repeated characters), between
/// which a terminal has to be able to close.
pub const FEED_BYTES: usize = 256;

/// A terminal's screen, and the modes that programs have set.
pub struct Emulator {
    parser: vt100::Parser<Questions>,
}

/// What programs have asked, and the title that they have given.
#[derive(Default)]
struct Questions {
    replies: Vec<u8>,
    title: String,
}

/// What is on the screen.
#[derive(Clone, Copy)]
pub struct Screen<'a> {
    inner: &'a vt100::Screen,
    title: &'a str,
}

/// A colour as a program names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// The terminal's own.
    #[default]
    Default,
    /// One of the 256 of the palette.
    Index(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// A place on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The character with what is combined with it; empty for a blank, and for the second half of a wide one.
    pub text: &'a str,
    /// Its colour.
    pub foreground: Color,
    /// The colour behind it.
    pub background: Color,
    /// Whether it is bold.
    pub bold: bool,
    /// Whether its two colours are exchanged.
    pub inverse: bool,
    /// Whether a wide character before it takes this place too.
    pub is_continuation: bool,
}

impl Emulator {
    /// An empty screen of this size; a size of nothing counts as one.
    pub fn new(columns: u16, rows: u16) -> Self {
        Self {
            parser: vt100::Parser::new_with_callbacks(
                at_least_one(rows),
                at_least_one(columns),
                0,
                Questions::default(),
            ),
        }
    }

    /// Takes what programs have written. Returns what the terminal answers to what they have asked.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.parser.process(bytes);
        std::mem::take(&mut self.parser.callbacks_mut().replies)
    }

    /// Changes the size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.parser
            .set_size(at_least_one(rows), at_least_one(columns));
    }

    /// What is shown now.
    pub fn screen(&self) -> Screen<'_> {
        Screen {
            inner: self.parser.screen(),
            title: &self.parser.callbacks().title,
        }
    }
}

fn at_least_one(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
}

impl<'a> Screen<'a> {
    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        let (rows, columns) = self.inner.size();
        (columns.get(), rows.get())
    }

    /// A place; `None` beyond the screen.
    pub fn cell(&self, row: u16, column: u16) -> Option<Cell<'a>> {
        let cell = self.inner.cell(row, column)?;
        Some(Cell {
            text: cell.contents(),
            foreground: color(cell.fgcolor()),
            background: color(cell.bgcolor()),
            bold: cell.bold(),
            inverse: cell.inverse(),
            is_continuation: cell.is_wide_continuation(),
        })
    }

    /// The cursor's row and column, where it is shown.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        (!self.inner.hide_cursor()).then(|| self.inner.cursor_position())
    }

    /// The title of the window, as the program has set it; it can be anything.
    pub fn title(&self) -> &'a str {
        self.title
    }

    /// Whether a program uses the whole screen, as editors do.
    pub fn is_alternate(&self) -> bool {
        self.inner.alternate_screen()
    }

    /// Whether the program has switched the cursor keys to application mode.
    pub fn has_application_cursor(&self) -> bool {
        self.inner.application_cursor()
    }

    /// Whether the program wants to know what is pasted.
    pub fn has_bracketed_paste(&self) -> bool {
        self.inner.bracketed_paste()
    }

    /// A row as text, without the blanks at its end, and so wide that a place in it is its column. `mark` writes the character
    /// at the cursor, which it gets.
    pub fn line(&self, row: u16, mark: Option<&dyn Fn(&str) -> String>) -> String {
        let (columns, _) = self.size();
        let cursor = self.cursor().filter(|(at, _)| *at == row);
        let mut line = String::new();
        let mut length = 0;
        for column in 0..columns {
            let Some(cell) = self.cell(row, column).filter(|cell| !cell.is_continuation) else {
                continue;
            };
            let text = if cell.text.is_empty() { " " } else { cell.text };
            let is_marked = cursor.is_some_and(|(_, at)| at == column);
            match mark.filter(|_| is_marked) {
                Some(mark) => line.push_str(&mark(text)),
                None => line.push_str(text),
            }
            if text != " " || is_marked && mark.is_some() {
                length = line.len();
            }
        }
        line.truncate(length);
        line
    }

    /// All rows as text, without the blank ones at the end.
    pub fn text(&self, mark: Option<&dyn Fn(&str) -> String>) -> String {
        let (_, rows) = self.size();
        let lines: Vec<String> = (0..rows).map(|row| self.line(row, mark)).collect();
        lines.join("\n").trim_end_matches('\n').to_owned()
    }
}

fn color(color: vt100::Color) -> Color {
    match color {
        vt100::Color::Default => Color::Default,
        vt100::Color::Idx(index) => Color::Index(index),
        vt100::Color::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}

impl Questions {
    fn reply(&mut self, reply: &str) {
        if self.replies.len() + reply.len() <= REPLIES_BYTES {
            self.replies.extend_from_slice(reply.as_bytes());
        }
    }
}

/// What a terminal like VT100 with an advanced video option says that it is (DA1).
const IDENTITY: &str = "\x1b[?1;2c";

impl vt100::Callbacks for Questions {
    fn set_window_title(&mut self, _: &mut vt100::Screen, title: &[u8]) {
        let title = String::from_utf8_lossy(title);
        let chars = title.chars().filter(|char| !char.is_control());
        self.title = chars.take(limits::TITLE_CHARS).collect();
    }

    fn unhandled_escape(
        &mut self,
        _: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        byte: u8,
    ) {
        // DECID, an old form of DA1.
        if first.is_none() && byte == b'Z' {
            self.reply(IDENTITY);
        }
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        second: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let param = params.first().and_then(|one| one.first()).copied();
        let param = param.unwrap_or_default();
        let (row, column) = screen.cursor_position();
        let (row, column) = (row.saturating_add(1), column.saturating_add(1));
        let (rows, columns) = screen.size();
        match (first, second, last, param) {
            (None, _, 'c', 0) => self.reply(IDENTITY),
            (Some(b'>'), _, 'c', 0) => self.reply("\x1b[>0;10;1c"),
            (None, _, 'n', 5) => self.reply("\x1b[0n"),
            (None, _, 'n', 6) => self.reply(&format!("\x1b[{row};{column}R")),
            (Some(b'?'), _, 'n', 6) => self.reply(&format!("\x1b[?{row};{column}R")),
            // Which modes there are (DECRQM): none that is asked about is known.
            (Some(b'?'), Some(b'$'), 'p', mode) => self.reply(&format!("\x1b[?{mode};0$y")),
            (Some(b'$'), _, 'p', mode) => self.reply(&format!("\x1b[{mode};0$y")),
            (None, _, 't', 18) => self.reply(&format!("\x1b[8;{rows};{columns}t")),
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut vt100::Screen, params: &[&[u8]]) {
        // The colours of text and background, from which editors find out whether it is dark.
        match params {
            [b"10", b"?"] => self.reply("\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
            [b"11", b"?"] => self.reply("\x1b]11;rgb:0000/0000/0000\x1b\\"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
