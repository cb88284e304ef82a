//! Styled characters into lines of the screen: wrapped between words, with hanging indents.

use super::look::Look;
use crate::text::is_prose;
use crate::text::markup::width::{can_break_between, text_width};
use crate::text::markup::{Level, Style};

/// Columns by which code blocks are indented.
const CODE_INSET: usize = 2;

const FAINT: &str = ";2";

/// Writes lines. A word is held back until it is complete, because the line may have to be broken
/// before it; a word that is wider than a line goes through and is left to the terminal.
#[derive(Default)]
pub struct Lines {
    look: Look,
    /// The width of the screen.
    columns: usize,
    /// Where the cursor is; `None` at the beginning of a line.
    column: Option<usize>,
    /// Where the text of the line begins, behind its indentation.
    start: usize,
    /// Whether the line begins with the bar of a quote.
    is_quoted: bool,
    /// White space that came after the last word, or at the beginning of the line.
    spaces: usize,
    /// The word that is held back.
    word: String,
    /// Where in the word each style begins.
    styles: Vec<(usize, Style)>,
    /// Whether the beginning of the word has been written.
    is_torn: bool,
    /// The style of the last character.
    last: Style,
    /// The terminal's style, as SGR parameters.
    codes: String,
}

impl Lines {
    /// Lines that begin on a fresh one.
    pub fn new(look: Look) -> Self {
        Self {
            look,
            columns: (look.columns)(),
            ..Self::default()
        }
    }

    /// The width of the screen.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds text of one style.
    pub fn put(&mut self, text: &str, style: Style, out: &mut String) {
        let is_mark = style.has(Level::Mark) || style.has(Level::Aside);
        // An entity may stand for a control character.
        for c in text.chars().filter(|c| is_prose(*c)) {
            if c == '\n' {
                self.newline(style, out);
            } else if style.has(Level::Pre) {
                self.put_code(c, style, out);
            } else if c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{202f}') {
                self.close_code(style);
                self.flush(out);
                self.open_code(style);
                self.spaces += text_width(c.encode_utf8(&mut [0; 4]));
                self.is_torn = false;
                self.last = style;
            } else {
                self.close_code(style);
                let before = self.word.chars().next_back();
                if before.is_some_and(|before| can_break_between(before, c)) {
                    self.flush(out);
                }
                self.open_code(style);
                self.last = style;
                match self.ascii_of(c).filter(|_| is_mark) {
                    Some(ascii) => self.push(ascii, style),
                    None => self.push(c.encode_utf8(&mut [0; 4]), style),
                }
                // Even of the widest characters, each has at most four bytes for one column.
                if self.word.len() > self.columns * 4 {
                    self.flush(out);
                    self.is_torn = true;
                }
            }
        }
    }

    /// Names the language above a code block.
    pub fn put_label(&mut self, language: &str, style: Style, out: &mut String) {
        self.begin_code(style, out);
        self.switch(FAINT, out);
        out.push_str(language);
        self.end_line(out);
    }

    /// Ends the line. The style is that of the newline.
    pub fn newline(&mut self, style: Style, out: &mut String) {
        self.finish(out);
        if self.column.is_none() && style.has(Level::Quote) {
            self.begin_line(style, out);
        }
        self.end_line(out);
    }

    /// Writes what is held back.
    pub fn finish(&mut self, out: &mut String) {
        self.close_code(Style::default());
        self.flush(out);
        self.last = Style::default();
        self.is_torn = false;
        self.spaces = 0;
        self.switch("", out);
    }

    /// Without styles, code within a line keeps its marks.
    fn close_code(&mut self, next: Style) {
        if !self.look.is_styled && self.last.has(Level::Code) && !next.has(Level::Code) {
            self.push("`", self.last);
        }
    }

    fn open_code(&mut self, next: Style) {
        if !self.look.is_styled && !self.last.has(Level::Code) && next.has(Level::Code) {
            self.push("`", next);
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        if self.styles.last().is_none_or(|(_, last)| *last != style) {
            self.styles.push((self.word.len(), style));
        }
        self.word.push_str(text);
    }

    /// The ASCII form of a character of ours.
    fn ascii_of(&self, c: char) -> Option<&'static str> {
        match c {
            _ if !self.look.is_ascii => None,
            '•' => Some("-"),
            '☐' => Some("[ ]"),
            '☑' => Some("[x]"),
            '—' => Some("-"),
            _ => None,
        }
    }

    /// Code keeps its lines: what is too long is left to the terminal.
    fn put_code(&mut self, c: char, style: Style, out: &mut String) {
        if !self.last.has(Level::Pre) {
            self.begin_code(style, out);
            self.last = style;
        }
        self.switch(&self.codes(style), out);
        out.push(c);
    }

    /// Begins a line of code, below the mark of its list item if there is one.
    fn begin_code(&mut self, style: Style, out: &mut String) {
        self.finish(out);
        if self.column.is_some() {
            self.end_line(out);
        }
        self.begin_line(style, out);
    }

    /// Writes the word, on this line or the next.
    fn flush(&mut self, out: &mut String) {
        let Some((_, style)) = self.styles.first().copied() else {
            return;
        };
        let width = text_width(&self.word);
        if self.column.is_some() && style.has(Level::Quote) && !self.is_quoted {
            // A quote that is the beginning of a list item.
            self.end_line(out);
            self.spaces = 0;
        }
        let end = self.column.map(|column| column + self.spaces + width);
        let is_first = self
            .column
            .is_none_or(|column| column + self.spaces <= self.start);
        if !is_first && !self.is_torn && end.is_some_and(|end| end > self.columns) {
            self.end_line(out);
            self.spaces = 0;
        }
        if self.column.is_none() {
            self.begin_line(style, out);
            if is_first && style.has(Level::Heading) && !self.look.is_styled {
                let mark = "#".repeat(style.get(Level::Heading) as usize) + " ";
                out.push_str(&mark);
                self.column = Some(self.start + mark.len());
            }
        } else if self.spaces > 0 {
            let codes = self.codes(style);
            if self.codes != codes {
                self.switch("", out);
            }
            push_spaces(out, self.spaces);
        }
        let mut column = self.column.unwrap_or(0) + self.spaces + width;
        if column > self.columns {
            column = (column - 1) % self.columns + 1;
        }
        self.column = Some(column);
        self.spaces = 0;
        let word = std::mem::take(&mut self.word);
        let styles = std::mem::take(&mut self.styles);
        for (index, (start, style)) in styles.iter().enumerate() {
            let end = styles.get(index + 1).map_or(word.len(), |(next, _)| *next);
            self.switch(&self.codes(*style), out);
            out.push_str(&word[*start..end]);
        }
    }

    /// Writes what is left of a line's text: the bar of a quote and the indentation.
    fn begin_line(&mut self, style: Style, out: &mut String) {
        let most = self.columns / 2;
        let margin = (style.get(Level::Margin) as usize).min(most);
        // Of what is not a list, the white space at the beginning counts.
        let mut inset = (style.get(Level::Inset) as usize)
            .max(self.spaces)
            .min(most);
        if style.has(Level::Pre) && !style.has(Level::Table) {
            inset += CODE_INSET;
        }
        let mut start = inset;
        if style.has(Level::Quote) {
            push_spaces(out, margin);
            self.switch(FAINT, out);
            out.push_str(if self.look.is_ascii { "> " } else { "│ " });
            inset = inset.saturating_sub(margin);
            start = margin + 2 + inset;
        }
        if inset > 0 {
            self.switch("", out);
            push_spaces(out, inset);
        }
        self.spaces = 0;
        self.is_quoted = style.has(Level::Quote);
        self.start = start;
        self.column = Some(start);
    }

    fn end_line(&mut self, out: &mut String) {
        self.switch("", out);
        out.push('\n');
        self.column = None;
        self.start = 0;
    }

    fn switch(&mut self, codes: &str, out: &mut String) {
        if self.codes != codes && self.look.is_styled {
            out.push_str("\x1b[0");
            out.push_str(codes);
            out.push('m');
            codes.clone_into(&mut self.codes);
        }
    }

    /// The SGR parameters of a style (ECMA-48).
    fn codes(&self, style: Style) -> String {
        if style.has(Level::Table) {
            return String::from(if style.get(Level::Table) == 1 {
                ";1"
            } else {
                ""
            });
        }
        [
            (Level::Bold, ";1"),
            (Level::Mark, FAINT),
            (Level::Aside, FAINT),
            (Level::Italic, ";3"),
            (Level::Heading, ";4"),
            (Level::Strike, ";9"),
            (Level::Code, ";36"),
            (Level::Pre, ";36"),
        ]
        .iter()
        .filter(|(level, _)| style.has(*level))
        .map(|(_, code)| *code)
        .collect()
    }
}

fn push_spaces(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}
