//! Markdown for a terminal, as it streams: text in, text with SGR codes out.
//!
//! What has been printed stays, so only what more text will hardly change is printed: complete blocks,
//! and the last one as far as no unclosed mark leaves it open. A table is printed when it is complete.
//!
//! A model's text is untrusted: control characters are dropped, so that it cannot move the cursor, set
//! the title or answer the terminal's questions (ECMA-48).

mod lines;
mod look;
#[cfg(test)]
mod tests;

use std::ops::Range;

use self::lines::Lines;
pub use self::look::Look;
use crate::text::markup::{Document, Growing, Level, Style, parse_growing, parse_grown};

/// How often each byte of a streamed block may be parsed, so that the time for a block grows with
/// its length only. Blocks of up to 1 kB are still shown by the token.
const PARSES_PER_BYTE: usize = 256;

/// Renders a stream of Markdown.
#[derive(Default)]
pub struct Renderer {
    /// The Markdown of the last block, and of those before it that are not shown yet.
    source: String,
    /// Bytes that came after the source was last parsed.
    unparsed: usize,
    /// What has been shown of the source's text.
    shown: String,
    /// Whether a complete block is directly above what comes next.
    is_apart: bool,
    /// The lines of the screen; `None` before the text begins.
    lines: Option<Lines>,
    look: Look,
}

impl Renderer {
    /// A renderer at the beginning of a text and of a line.
    pub fn new(look: Look) -> Self {
        Self {
            look,
            ..Self::default()
        }
    }

    /// What the terminal can show.
    pub fn look(&self) -> Look {
        self.look
    }

    /// Takes the next piece and appends what can be shown to `out`.
    pub fn push(&mut self, piece: &str, out: &mut String) {
        let visible = piece.chars().filter(|c| visible(*c));
        self.source.extend(visible);
        self.unparsed += piece.len();
        // Parsing a block again for each word would take a time that grows with the square of its
        // length.
        if self.unparsed * PARSES_PER_BYTE >= self.source.len() {
            self.unparsed = 0;
            let columns = self.lines().columns();
            self.show(&parse_growing(&self.source, columns), out);
        }
    }

    /// The text has ended: shows what was held back and sets the terminal back to plain.
    pub fn finish(&mut self, out: &mut String) {
        let columns = self.lines().columns();
        self.show(&parse_grown(&self.source, columns), out);
        self.lines().finish(out);
        *self = Self::new(self.look);
    }

    /// The width of the screen stays what it was when the text began, so that its beginning does not
    /// change.
    fn lines(&mut self) -> &mut Lines {
        self.lines.get_or_insert_with(|| Lines::new(self.look))
    }

    fn show(&mut self, growing: &Growing, out: &mut String) {
        let text = growing.document.text();
        let end = growing.settled.clamp(growing.block_text, text.len());
        let (from, is_same) = continuation(&self.shown, text);
        if from < end {
            let newlines = match is_same {
                false => 1,
                true if self.is_apart && self.shown.is_empty() => 2,
                true => 0,
            };
            for _ in 0..newlines {
                self.lines().newline(Style::default(), out);
            }
            self.write(&growing.document, from..end, out);
            self.is_apart = false;
            text[..end].clone_into(&mut self.shown);
        }
        if growing.block_source > 0 {
            // What was shown of the last block goes on; the blocks before it are done.
            self.source.drain(..growing.block_source);
            self.is_apart |= growing.block_text > 0 && end == growing.block_text;
            let last = &text[growing.block_text..end];
            last.trim_start_matches('\n').clone_into(&mut self.shown);
        }
    }

    fn write(&mut self, document: &Document, range: Range<usize>, out: &mut String) {
        let text = document.text();
        let lines = self.lines();
        // The character before shows whether a code block begins here or goes on.
        let before = text.floor_char_boundary(range.start.saturating_sub(1));
        let mut last = 0;
        for (stretch, style) in document.stretches(before..range.end) {
            let code = style.get(Level::Pre);
            let language = document.value(Level::Pre, style);
            let new = stretch.start.max(range.start)..stretch.end;
            if !new.is_empty() {
                if stretch.start >= range.start && code != last && !language.is_empty() {
                    lines.put_label(language, style, out);
                }
                lines.put(&text[new], style, out);
            }
            last = code;
        }
    }
}

/// Where a text goes on after what has been shown of it, and whether that is still how it begins; if
/// not, the beginning of the first line that differs. White space may have changed: a list that becomes
/// loose parts the items that it has.
fn continuation(shown: &str, text: &str) -> (usize, bool) {
    if text.starts_with(shown) {
        return (shown.len(), true);
    }
    let is_visible = |(_, c): &(usize, char)| !c.is_whitespace();
    let mut visible = text.char_indices().filter(is_visible);
    let mut end = 0;
    for (_, expected) in shown.char_indices().filter(is_visible) {
        match visible.next() {
            Some((place, c)) if c == expected => end = place + c.len_utf8(),
            _ => return (text[..end].rfind('\n').map_or(0, |line| line + 1), false),
        }
    }
    (end, true)
}

pub use crate::text::is_prose as visible;
