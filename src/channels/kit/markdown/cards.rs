//! The Markdown of Feishu's cards: CommonMark, and a few tags.
//! <https://open.feishu.cn/document/uAjLw4CM/ukzMukzMukzM/feishu-cards/card-json-v2-components/content-components/rich-text>
//!
//! Everything in a text that could be read as markup, a tag (`<at id=all>` notifies a whole group) or an emoji is
//! written as a numeric entity, which Feishu recommends and CommonMark never reads as markup. So all markup in the
//! result is ours. Tables come as code blocks: a card may have only five real ones.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::base::limits::channels::feishu::MESSAGE_JSON_BYTES;
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{Document, Format, Level, Style, has_scheme};

/// Bytes of a message's Markdown; a longer card can hardly be read on a phone.
const MESSAGE_BYTES: usize = 16 * 1024;
/// Characters of a link's address, so that one message holds it with its words.
const LINK_CHARS: usize = 1000;

/// Separates what would be read as one mark or as a tag.
const ZERO_WIDTH_SPACE: char = '\u{200b}';
/// White space that hardly shows: emphasis begins and ends only at the boundary of a word.
const HAIR_SPACE: char = '\u{200a}';

/// The Markdown of cards as a format.
pub struct Markdown;

impl Format for Markdown {
    fn limit(&self) -> Limit {
        Limit {
            units: MESSAGE_BYTES,
            unit: Unit::Bytes,
        }
    }

    fn can_link(&self, address: &str) -> bool {
        has_scheme(address, &["http", "https"])
            && !address.contains(['<', '>', '\\', '"', '\'', '`', '[', ']'])
            && destination(address).chars().count() <= LINK_CHARS
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        write(document, range, &CARD)
    }

    fn fits(&self, _: &str, written: &str) -> bool {
        self.limit().holds(written) && json_bytes(written) <= MESSAGE_JSON_BYTES
    }
}

/// What differs between relatives of this Markdown.
pub(in crate::channels) struct Dialect {
    /// Whether a character in a text could be read as markup, by the character before it and the text behind it.
    /// Those that are markup only at the beginning of a line are known.
    pub is_mark: fn(char, Option<char>, &str) -> bool,
    /// Writes such a character so that it is shown.
    pub escape: fn(char, &mut String),
    /// Writes an address within a link.
    pub destination: fn(&str) -> String,
    /// Whether tags count even within code.
    pub has_tags: bool,
    /// Whether a line ends only where two spaces stand before the newline.
    pub has_hard_breaks: bool,
}

/// The Markdown of cards.
const CARD: Dialect = Dialect {
    is_mark: |c, _, next| match c {
        ':' => next.starts_with(|c: char| c.is_ascii_alphabetic()),
        c => is_always_mark(c),
    },
    escape: |c, out| out.push_str(&format!("&#{};", u32::from(c))),
    destination,
    has_tags: true,
    has_hard_breaks: false,
};

/// A range of a document in a dialect.
pub(in crate::channels) fn write(
    document: &Document,
    range: Range<usize>,
    dialect: &'static Dialect,
) -> String {
    let mut writer = Writer {
        dialect,
        is_code: false,
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

/// The bytes of a text as JSON within JSON, which a card's is.
pub fn json_bytes(text: &str) -> usize {
    let bytes = |char: char| match char {
        '\n' | '\t' | '\r' => 3,
        '"' | '\\' => 4,
        char if char.is_control() => 7,
        char => char.len_utf8(),
    };
    text.chars().map(bytes).sum()
}

/// The text with the characters that entities stand for.
pub fn without_entities(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("&#") {
        let (before, from) = rest.split_at(at);
        plain.push_str(before);
        let number = from[2..].split_once(';');
        let char = number.and_then(|(number, after)| {
            let char = char::from_u32(number.parse().ok()?)?;
            Some((char, after))
        });
        match char {
            Some((char, after)) => {
                plain.push(char);
                rest = after;
            }
            None => {
                plain.push_str("&#");
                rest = &from[2..];
            }
        }
    }
    plain + rest
}

struct Writer<'a> {
    dialect: &'static Dialect,
    /// Whether a code block is being written.
    is_code: bool,
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
        let levels = [Level::Link, Level::Bold, Level::Italic, Level::Strike];
        // A heading is bold by itself.
        let is_shown =
            |level: Level| style.has(level) && !(level == Level::Bold && style.has(Level::Heading));
        let kept = self
            .open
            .iter()
            .take_while(|(level, value, _)| is_shown(*level) && style.get(*level) == *value);
        let next = self.document.text()[self.stretches[index].0.clone()]
            .trim_start()
            .chars()
            .next();
        self.close_before(kept.count(), next);
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
            if is_shown(level) && !is_open {
                let (open, close) = match level {
                    Level::Link => self.link(index, style),
                    Level::Bold => ("**", "**".to_owned()),
                    Level::Italic => ("*", "*".to_owned()),
                    _ => ("~~", "~~".to_owned()),
                };
                if level != Level::Link {
                    self.part_words(next);
                }
                self.put_mark(open);
                self.open.push((level, style.get(level), close));
            }
        }
    }

    /// A mark that opens between a word and a punctuation character would not be read as one.
    fn part_words(&mut self, next: Option<char>) {
        let before = self.out.chars().next_back();
        if before.is_some_and(char::is_alphanumeric) && !next.is_some_and(char::is_alphanumeric) {
            self.put(HAIR_SPACE);
        }
    }

    /// Closes the levels above the outermost `kept`; `next` is what comes behind them, if no white space does.
    fn close_before(&mut self, kept: usize, next: Option<char>) {
        let before = self.out.chars().next_back();
        let has_mark = self.open[kept..]
            .iter()
            .any(|(level, ..)| *level != Level::Link);
        self.close(kept);
        // The same for a mark that closes between a punctuation character and a word.
        let is_odd = before.is_some_and(|c| !c.is_alphanumeric());
        let goes_on = self.space.is_empty() && next.is_some_and(char::is_alphanumeric);
        if has_mark && is_odd && goes_on {
            self.put(HAIR_SPACE);
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
        if self.dialect.has_hard_breaks && self.is_line_start && c != '\n' && !self.is_code {
            self.break_line();
        }
        if self.is_line_start && self.style.has(Level::Quote) {
            self.out.push_str("> ");
        }
        self.is_line_start = c == '\n';
        self.is_line_blank = self.is_line_start || self.is_line_blank && c.is_whitespace();
        let heading = self.style.get(Level::Heading);
        if c == '\n' {
            self.has_heading = false;
        } else if !self.has_heading && heading > 0 {
            (0..heading).for_each(|_| self.out.push('#'));
            self.out.push(' ');
            self.has_heading = true;
        }
        self.out.push(c);
        self.has_closed = false;
    }

    /// Makes the newline just written end its line, unless an empty line or a block does that already.
    fn break_line(&mut self) {
        let line = self.out.strip_suffix('\n').unwrap_or_default();
        if !line.is_empty() && !line.ends_with(['\n', ' ']) && !line.ends_with("```") {
            self.out.pop();
            self.out.push_str("  \n");
        }
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

    /// What opens and closes a link. One whose words are its address is left to [`escape`](Self::escape).
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
            ("[", format!("]({})", (self.dialect.destination)(address)))
        }
    }

    fn code(&mut self, text: &str) {
        let longest = longest_run(text);
        let fence = "`".repeat(if longest == 0 { 1 } else { longest + 1 });
        let gap = if longest == 0 { "" } else { " " };
        self.put_mark(&format!("{fence}{gap}"));
        self.put_code(text);
        self.put_all(&format!("{gap}{fence}"));
        self.has_closed = true;
    }

    fn code_block(&mut self, text: &str, language: &str) {
        if !self.is_line_start {
            self.put('\n');
        }
        let fence = "`".repeat((longest_run(text) + 1).max(3));
        self.put_all(&fence);
        self.is_code = true;
        self.put_all(language);
        self.put('\n');
        self.put_code(text);
        self.put_all(&format!("\n{fence}"));
        self.is_code = false;
        self.has_closed = true;
    }

    /// Writes code, in which entities are not read, but a mention may be.
    fn put_code(&mut self, text: &str) {
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            self.put(c);
            let is_tag = self.dialect.has_tags
                && c == '<'
                && rest.peek().is_some_and(|next| "aA/".contains(*next));
            if is_tag {
                self.put(ZERO_WIDTH_SPACE);
            }
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
            let is_link = self
                .open
                .iter()
                .any(|(level, _, close)| *level == Level::Link && close.starts_with(']'));
            if address > 0 && !is_link && !self.out.ends_with(char::is_alphanumeric) {
                let (address, after) = rest.split_at(address);
                self.put('[');
                let mut before = None;
                for (at, c) in address.char_indices() {
                    let next = &address[at + c.len_utf8()..];
                    // A colon within an address is no mark.
                    let is_mark = c != ':' && (self.dialect.is_mark)(c, before, next);
                    self.put_entity(c, is_mark);
                    before = Some(c);
                }
                self.put_all(&format!("]({})", (self.dialect.destination)(address)));
                rest = after;
                continue;
            }
            let follows = next.chars().next();
            let before = self.out.chars().next_back();
            let is_mark = match c {
                '#' | '-' | '+' | '=' => self.is_line_blank,
                '.' | ')' => number_end == Some(rest.len()),
                '&' => follows.is_some_and(|c| c == '#' || c.is_ascii_alphabetic()),
                c => (self.dialect.is_mark)(c, before, next),
            };
            self.put_entity(c, is_mark);
            rest = next;
        }
    }

    fn put_entity(&mut self, c: char, is_mark: bool) {
        if is_mark {
            let mut escaped = String::new();
            (self.dialect.escape)(c, &mut escaped);
            self.put_all(&escaped);
        } else {
            self.put(c)
        }
    }
}

/// Whether a character could be markup wherever it is.
fn is_always_mark(c: char) -> bool {
    "*_~`[]<>|\\".contains(c)
}

/// The longest run of backquotes.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// An address within a link.
fn destination(address: &str) -> String {
    let mut written = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            '(' => written.push_str("%28"),
            ')' => written.push_str("%29"),
            '*' => written.push_str("%2A"),
            '_' | '~' | '&' | '|' => written += &format!("&#{};", u32::from(c)),
            c => written.push(c),
        }
    }
    written
}

/// The bytes of the web address that a text begins with.
fn address(text: &str) -> usize {
    let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>`\\\"'[]".contains(c);
    let schemes = ["https://", "http://"].into_iter();
    let Some(scheme) = schemes.into_iter().find(|scheme| text.starts_with(scheme)) else {
        return 0;
    };
    let address = &text[..text.find(is_end).unwrap_or(text.len())];
    // Characters that are no part of a usual address are where Chinese text goes on.
    let end = address
        .find(|c: char| !c.is_ascii())
        .unwrap_or(address.len());
    let address = address[..end].trim_end_matches(|c| ".,:;!?)*_~|".contains(c));
    if address.len() > scheme.len() {
        address.len()
    } else {
        0
    }
}
