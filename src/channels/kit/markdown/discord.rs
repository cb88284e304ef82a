//! Discord's Markdown: <https://support.discord.com/hc/en-us/articles/210298617>.
//!
//! It differs from CommonMark: emphasis needs no word boundary, list items and headings are found line
//! by line, masked links may not contain another address, and code blocks end at the first fence. So
//! everything in a text that could be read as markup is escaped, and all markup in the result is ours.
//! Addresses are written as `<https://…>`, which keeps Discord from embedding a preview of each.
//!
//! Mentions are broken with a zero-width space, but only `allowed_mentions` in the request guarantees
//! that nobody is notified.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{Document, Format, Level, Style, has_scheme};

/// Characters of one Discord message, with its Markdown; bots get no more.
const DISCORD_MESSAGE_CHARS: usize = 2000;
/// Characters of a link's address in a Discord message, so that one message holds it with its words.
const DISCORD_LINK_CHARS: usize = 1000;

/// Separates what Discord would read as one mark or as a mention.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// The deepest heading that Discord knows; deeper ones are bold.
const HEADINGS: u32 = 3;

/// Discord's Markdown as a format.
pub struct Markdown;

impl Format for Markdown {
    fn limit(&self) -> Limit {
        Limit {
            units: DISCORD_MESSAGE_CHARS,
            unit: Unit::Chars,
        }
    }

    fn can_link(&self, address: &str) -> bool {
        has_scheme(address, &["http", "https"])
            && !address.contains(['<', '>', '\\'])
            && masked(address).chars().count() <= DISCORD_LINK_CHARS
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        let mut writer = Writer {
            document,
            stretches: document.stretches(range).collect(),
            out: String::new(),
            open: Vec::new(),
            style: Style::default(),
            space: String::new(),
            is_line_start: true,
            is_line_blank: true,
            has_heading: false,
            has_closed: false,
        };
        for index in 0..writer.stretches.len() {
            writer.stretch(index);
        }
        writer.close(0);
        writer.out
    }
}

struct Writer<'a> {
    document: &'a Document,
    stretches: Vec<(Range<usize>, Style)>,
    out: String,
    /// The open levels with their values and what closes them.
    open: Vec<(Level, u32, String)>,
    style: Style,
    /// White space that is not written yet: marks stand close to their words.
    space: String,
    /// Whether the next character is the first of its line, with the marks before it.
    is_line_start: bool,
    /// Whether a list or a heading could still begin in this line.
    is_line_blank: bool,
    /// Whether this line begins with the mark of a heading.
    has_heading: bool,
    /// Whether the last thing that was written closes a level.
    has_closed: bool,
}

impl Writer<'_> {
    fn stretch(&mut self, index: usize) {
        let (range, style) = self.stretches[index].clone();
        let text = &self.document.text()[range];
        if style.has(Level::Pre) {
            self.begin(index, style);
            return self.code_block(text, self.document.value(Level::Pre, style));
        }
        let words = text.trim();
        let start = text.len() - text.trim_start().len();
        self.space.push_str(&text[..start]);
        if words.is_empty() {
            return;
        }
        self.begin(index, style);
        if style.has(Level::Mark) {
            words.chars().for_each(|c| match c {
                '•' => self.put('-'),
                c => self.put(c),
            });
            self.is_line_blank = true;
        } else if style.has(Level::Code) {
            self.code(words);
        } else {
            self.escape(words);
        }
        self.space.push_str(&text[start + words.len()..]);
    }

    /// Writes what lies between the last words and the next: the marks that end, the white space and
    /// the marks that begin.
    fn begin(&mut self, index: usize, style: Style) {
        let is_heading = (1..=HEADINGS).contains(&style.get(Level::Heading));
        let levels = [Level::Link, Level::Bold, Level::Italic, Level::Strike];
        // A heading is bold by itself.
        let wanted = |level: Level| style.has(level) && !(level == Level::Bold && is_heading);
        let kept = self
            .open
            .iter()
            .take_while(|(level, value, _)| wanted(*level) && style.get(*level) == *value);
        self.close(kept.count());
        let is_within = self.style.get(Level::Quote) == style.get(Level::Quote);
        self.write_space(style);
        // A quote begins a line of its own, also within a list item.
        if style.has(Level::Quote) && !is_within && !self.is_line_start {
            self.style = Style::default();
            self.put('\n');
        }
        self.style = style;
        for level in levels {
            let is_open = self.open.iter().any(|(open, _, _)| *open == level);
            if wanted(level) && !is_open {
                let (open, close) = match level {
                    Level::Link => self.link(index, style),
                    Level::Bold => ("**", "**".to_owned()),
                    Level::Italic => ("*", "*".to_owned()),
                    _ => ("~~", "~~".to_owned()),
                };
                self.put_mark(open);
                self.open.push((level, style.get(level), close));
            }
        }
    }

    /// Closes the levels above the outermost `kept`.
    fn close(&mut self, kept: usize) {
        for (_, _, close) in self.open.split_off(kept).into_iter().rev() {
            self.put_all(&close);
            self.has_closed |= !close.is_empty();
        }
    }

    /// The empty lines between two paragraphs of a quote belong to it.
    fn write_space(&mut self, next: Style) {
        let quote = next.get(Level::Quote);
        let is_within = quote == self.style.get(Level::Quote);
        let within = Style::default().with(Level::Quote, quote);
        for c in std::mem::take(&mut self.space).chars() {
            self.style = match c {
                '\n' if !is_within => Style::default(),
                _ => within,
            };
            // Nothing but spaces may come before the mark of a heading.
            let is_odd = next.has(Level::Heading) && c != '\n';
            self.put(if is_odd { ' ' } else { c });
        }
    }

    /// Writes a character, and before the first of a line the marks of its quote and its heading.
    fn put(&mut self, c: char) {
        if self.is_line_start && self.style.has(Level::Quote) {
            self.out.push_str("> ");
        }
        self.is_line_start = c == '\n';
        self.is_line_blank = self.is_line_start || self.is_line_blank && c.is_whitespace();
        let heading = self.style.get(Level::Heading);
        if c == '\n' {
            self.has_heading = false;
        } else if !self.has_heading && (1..=HEADINGS).contains(&heading) {
            (0..heading).for_each(|_| self.out.push('#'));
            self.out.push(' ');
            self.has_heading = true;
        }
        self.out.push(c);
        self.has_closed = false;
    }

    fn put_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.put(c));
    }

    /// Writes a mark that opens something, apart from the same mark that has just closed something.
    fn put_mark(&mut self, mark: &str) {
        let first = mark.chars().next();
        if self.has_closed && first.is_some() && self.out.chars().next_back() == first {
            self.put(ZERO_WIDTH_SPACE);
        }
        self.put_all(mark);
    }

    /// What opens and closes a link. Discord shows a masked link as it stands if its words contain an
    /// address.
    fn link(&self, index: usize, style: Style) -> (&'static str, String) {
        let address = self.document.value(Level::Link, style);
        let value = style.get(Level::Link);
        let stretches = self.stretches[index..].iter();
        let words: String = stretches
            .take_while(|(_, style)| style.get(Level::Link) == value)
            .map(|(range, _)| &self.document.text()[range.clone()])
            .collect();
        if words == address || words.contains("://") {
            // Where they differ, the address follows.
            ("", String::new())
        } else {
            ("[", format!("](<{}>)", masked(address)))
        }
    }

    /// Two backquotes are the longest fence of code within a line; three begin a block anywhere.
    fn code(&mut self, text: &str) {
        let (open, close) = if text.contains('`') {
            ("`` ", " ``")
        } else {
            ("`", "`")
        };
        self.put_mark(open);
        self.put_code(text, 1);
        self.put_all(close);
        self.has_closed = true;
    }

    fn code_block(&mut self, text: &str, language: &str) {
        self.put_mark("```");
        self.put_all(language);
        self.put('\n');
        self.put_code(text, 2);
        self.put_all("\n```");
        self.has_closed = true;
    }

    /// Writes code with at most so many backquotes in a row.
    fn put_code(&mut self, text: &str, most: usize) {
        let mut backquotes = 0;
        for c in text.chars() {
            backquotes = if c == '`' { backquotes + 1 } else { 0 };
            if backquotes > most {
                self.put(ZERO_WIDTH_SPACE);
                backquotes = 1;
            }
            self.put(c);
        }
    }

    fn escape(&mut self, text: &str) {
        let mut rest = text;
        // Where a number at the beginning of a line ends, which must not become a list item.
        let mut number_end = None;
        while let Some(c) = rest.chars().next() {
            let next = &rest[c.len_utf8()..];
            if self.is_line_blank {
                let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                number_end = (digits.len() < rest.len()).then_some(digits.len());
            }
            let address = address(rest);
            if address > 0 && !self.out.ends_with(char::is_alphanumeric) {
                self.put('<');
                self.put_all(&rest[..address]);
                self.put('>');
                rest = &rest[address..];
                continue;
            }
            let is_mark = match c {
                '*' | '_' | '~' | '|' | '\\' | '`' | '[' => true,
                ']' => next.starts_with('(') || self.style.has(Level::Link),
                '>' | '#' | '-' | '+' => self.is_line_blank,
                '.' | ')' => number_end == Some(rest.len()),
                _ => false,
            };
            if is_mark {
                self.put('\\');
            }
            self.put(c);
            if is_mention(c, next) {
                self.put(ZERO_WIDTH_SPACE);
            }
            rest = next;
        }
    }
}

/// An address within a masked link: a parenthesis would end it.
fn masked(address: &str) -> String {
    address.replace('(', "%28").replace(')', "%29")
}

/// The bytes of the web address that a text begins with.
fn address(text: &str) -> usize {
    let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>`\\".contains(c);
    let scheme = ["https://", "http://"].into_iter();
    let Some(scheme) = scheme.into_iter().find(|scheme| text.starts_with(scheme)) else {
        return 0;
    };
    let address = &text[..text.find(is_end).unwrap_or(text.len())];
    let address = address.trim_end_matches(|c| ".,:;!?\"')]*_~|".contains(c));
    if address.len() > scheme.len() {
        address.len()
    } else {
        0
    }
}

/// Whether Discord would make a mention, an emoji or a time of a character and what follows it.
fn is_mention(c: char, next: &str) -> bool {
    let begins: &[&str] = match c {
        '@' => &["everyone", "here"],
        '<' => &["@", "#", ":", "/", "a:", "t:", "id:"],
        _ => &[],
    };
    begins.iter().any(|begin| next.starts_with(begin))
}
