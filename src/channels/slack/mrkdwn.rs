//! Slack's markup: <https://docs.slack.dev/messaging/formatting-message-text>. PURE.
//!
//! It has no escape for its marks. A mark counts at the edge of a word, in a pair on one line; where a text has such
//! a pair by chance, characters that look alike take its place. Our own marks get edges where they have none, and
//! end with their line. Nothing in a text can mention anyone: what begins a mention is escaped.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::EDIT_UNITS;
use crate::text::markup::split::{Limit, Unit};
use crate::text::markup::{Document, Format, Level, Style, has_scheme};

/// UTF-16 units of one message with its escapes: what people can write in one themselves, and what its blocks take
/// together. Slack would take 40,000 of a text, and cuts off the rest. <https://docs.slack.dev/reference/methods/chat.postMessage>
const MESSAGE_UNITS: usize = 12_000;
/// Those of one block of text, of which a message with buttons has several.
/// <https://docs.slack.dev/reference/block-kit/blocks/section-block>
const SECTION_UNITS: usize = 3000;
/// Characters of a link's address in a message, so that one message holds it with its words.
const LINK_CHARS: usize = 1000;

/// Makes an edge of a word where there is none.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// The marks, and what looks like each and is none.
const MARKS: [(char, char); 4] = [('*', '∗'), ('_', 'ˍ'), ('~', '∼'), ('`', 'ˋ')];

/// What can be around words, outermost first: what is in a link's angle brackets is shown as it stands.
const LEVELS: [Level; 4] = [Level::Bold, Level::Italic, Level::Strike, Level::Link];

/// Slack's markup as a format, for messages of so many UTF-16 units.
pub struct Mrkdwn(usize);

/// That of messages.
pub const MESSAGE: Mrkdwn = Mrkdwn(MESSAGE_UNITS);
/// That of drafts, which are edited.
pub const DRAFT: Mrkdwn = Mrkdwn(EDIT_UNITS);

impl Format for Mrkdwn {
    fn limit(&self) -> Limit {
        Limit {
            units: self.0,
            unit: Unit::Utf16,
        }
    }

    fn can_link(&self, address: &str) -> bool {
        has_scheme(address, &["http", "https", "mailto"])
            && !address.contains(['<', '>', '|'])
            && escape(address).chars().count() <= LINK_CHARS
    }

    fn write(&self, document: &Document, range: Range<usize>) -> String {
        let mut writer = Writer {
            document,
            stretches: document.stretches(range).collect(),
            out: String::new(),
            open: Vec::new(),
            quote: 0,
            space: String::new(),
            is_line_start: true,
            has_closed: false,
        };
        for index in 0..writer.stretches.len() {
            writer.stretch(index);
        }
        writer.close(0);
        writer.out
    }
}

/// The text with everything escaped that Slack reads but for its marks.
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

/// A text as it is written, in parts for one block each. Marks end with their line, and what is cut of a line
/// or a code block goes on in the next part.
pub fn sections(text: &str) -> Vec<String> {
    const FENCE: &str = "```";
    let limit = Limit {
        units: SECTION_UNITS - 2 * (FENCE.len() + 1),
        unit: Unit::Utf16,
    };
    let (mut sections, mut rest, mut is_code) = (Vec::new(), text, false);
    while !rest.is_empty() {
        let most = limit.prefix(rest);
        let cut = match rest.get(..most).unwrap_or(rest) {
            whole if whole.len() == rest.len() => most,
            head => head
                .rfind('\n')
                .or_else(|| head.rfind(' '))
                .map_or(most, |at| at + 1),
        };
        let (part, after) = rest.split_at(cut);
        let begin = if is_code { "```\n" } else { "" };
        is_code ^= part.matches(FENCE).count() % 2 == 1;
        let end = if is_code { "\n```" } else { "" };
        sections.push([begin, part.trim_end_matches('\n'), end].concat());
        rest = after;
    }
    sections
}

struct Writer<'a> {
    document: &'a Document,
    stretches: Vec<(Range<usize>, Style)>,
    out: String,
    /// The open levels with their values.
    open: Vec<(Level, u32)>,
    /// The quote that is being written.
    quote: u32,
    /// White space that is not written yet: marks stand close to their words.
    space: String,
    is_line_start: bool,
    /// Whether the last thing that was written closes a level.
    has_closed: bool,
}

impl Writer<'_> {
    fn stretch(&mut self, index: usize) {
        let (range, style) = self.stretches[index].clone();
        let text = &self.document.text()[range];
        if style.has(Level::Pre) {
            return self.code_block(text, style);
        }
        let is_link = style.has(Level::Link);
        let mut lines = text.split('\n').peekable();
        let mut is_first = true;
        while let Some(line) = lines.next() {
            if !is_first {
                if is_link {
                    self.space.push(' ')
                } else {
                    self.close(0);
                    self.space.push('\n');
                }
            }
            is_first = false;
            // Whether the line goes on in another style, in which a pair could end.
            let goes_on = lines.peek().is_none() && index + 1 < self.stretches.len();
            self.line(index, line, style, goes_on);
        }
    }

    /// A line of a stretch.
    fn line(&mut self, index: usize, line: &str, style: Style, goes_on: bool) {
        let words = line.trim();
        let start = line.len() - line.trim_start().len();
        self.space.push_str(&line[..start]);
        if words.is_empty() {
            return;
        }
        self.begin(index, style);
        if style.has(Level::Code) {
            self.code(words);
        } else if style.has(Level::Link) || style.has(Level::Mark) {
            self.put_all(&escape(words));
        } else {
            self.prose(words, goes_on);
        }
        self.space.push_str(&line[start + words.len()..]);
    }

    /// Writes what is between the last words and the next: the marks that end, the white space and the marks that
    /// begin.
    fn begin(&mut self, index: usize, style: Style) {
        // Code is shown in no other style, and its marks would not be edges of words.
        let wanted = |level: Level| style.has(level) && !style.has(Level::Code);
        let wanted = |level: Level| wanted(level) || level == Level::Link && style.has(level);
        let kept = self.open.iter();
        let kept = kept.take_while(|(level, value)| wanted(*level) && style.get(*level) == *value);
        self.close(kept.count());
        self.write_space(style.get(Level::Quote));
        for level in LEVELS {
            let is_open = self.open.iter().any(|(open, _)| *open == level);
            if !wanted(level) || is_open {
                continue;
            }
            match mark_of(level) {
                Some(mark) => self.put_mark(mark),
                None => self.open_link(index, style),
            }
            self.open.push((level, style.get(level)));
        }
    }

    /// Closes the levels above the outermost `kept`.
    fn close(&mut self, kept: usize) {
        for (level, _) in self.open.split_off(kept).into_iter().rev() {
            self.out.push(mark_of(level).unwrap_or('>'));
            self.has_closed = true;
        }
    }

    /// The empty lines between two paragraphs of a quote belong to it. A quote begins a line of its own.
    fn write_space(&mut self, quote: u32) {
        let is_within = self.quote == quote;
        for c in std::mem::take(&mut self.space).chars() {
            if c == '\n' && !is_within {
                self.quote = 0;
            }
            self.put(c);
        }
        if quote != 0 && !is_within && !self.is_line_start {
            self.put('\n');
        }
        self.quote = quote;
    }

    /// Writes a character, and before the first of a line the mark of its quote.
    fn put(&mut self, c: char) {
        if self.is_line_start && self.quote != 0 {
            self.out.push_str("> ");
        }
        self.is_line_start = c == '\n';
        self.out.push(c);
        self.has_closed = false;
    }

    fn put_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.put(c));
    }

    /// Writes a mark that opens something, at the edge of a word.
    fn put_mark(&mut self, mark: char) {
        let last = self.out.chars().next_back().filter(|_| !self.is_line_start);
        if last.is_some_and(|last| last.is_alphanumeric() || last == mark) {
            self.put(ZERO_WIDTH_SPACE);
        }
        self.put(mark);
    }

    /// Opens a link. Without words of its own it is only its address.
    fn open_link(&mut self, index: usize, style: Style) {
        let address = self.document.value(Level::Link, style).to_owned();
        let value = style.get(Level::Link);
        let stretches = self.stretches[index..].iter();
        let words: String = stretches
            .take_while(|(_, style)| style.get(Level::Link) == value)
            .map(|(range, _)| &self.document.text()[range.clone()])
            .collect();
        self.put('<');
        if words.trim() != address {
            self.put_all(&escape(&address));
            self.put('|');
        }
    }

    /// Slack's code has no way to show a backquote.
    fn code(&mut self, text: &str) {
        if self.open.iter().any(|(level, _)| *level == Level::Link) {
            return self.put_all(&escape(text));
        }
        self.put_mark('`');
        self.put_all(&escape(&text.replace('`', "ˋ")));
        self.put('`');
        self.has_closed = true;
    }

    fn code_block(&mut self, text: &str, style: Style) {
        self.close(0);
        self.write_space(style.get(Level::Quote));
        // Within a quote, a fence would be a part of its line.
        self.quote = 0;
        if !self.is_line_start {
            self.put('\n');
        }
        self.put_all("```\n");
        self.put_all(&escape(&text.replace("```", "``\u{200b}`")));
        self.put_all("\n```");
        self.has_closed = true;
    }

    fn prose(&mut self, text: &str, goes_on: bool) {
        let mut rest = text;
        while let Some((start, length)) = find_address(rest) {
            self.words(&rest[..start], false);
            self.put('<');
            self.put_all(&escape(&rest[start..start + length]));
            self.put('>');
            rest = &rest[start + length..];
        }
        self.words(rest, goes_on);
    }

    /// Words without addresses.
    fn words(&mut self, text: &str, goes_on: bool) {
        let Some(first) = text.chars().next() else {
            return;
        };
        let is_joined = self.has_closed && first.is_alphanumeric();
        // It would be a quote.
        let is_quote = self.is_line_start && self.quote == 0 && first == '>';
        if is_joined || is_quote {
            self.put(ZERO_WIDTH_SPACE);
        }
        let before = self.out.chars().next_back();
        let mut text = text.to_owned();
        for (mark, alike) in MARKS {
            let is_open = self
                .open
                .iter()
                .any(|(level, _)| mark_of(*level) == Some(mark));
            if text.contains(mark) && (is_open || is_pair(&text, mark, before, goes_on)) {
                text = text.replace(mark, alike.encode_utf8(&mut [0; 4]));
            }
        }
        self.put_all(&escape(&text));
    }
}

/// The mark of a level; `None` for a link.
fn mark_of(level: Level) -> Option<char> {
    match level {
        Level::Bold => Some('*'),
        Level::Italic => Some('_'),
        Level::Strike => Some('~'),
        _ => None,
    }
}

/// Whether a mark opens something in a text that has, or may have, its end too.
fn is_pair(text: &str, mark: char, before: Option<char>, goes_on: bool) -> bool {
    let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut is_open = false;
    let mut last = before;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        if c == mark {
            if is_open && !is_space(last) && !is_word(next) {
                return true;
            }
            // A text that goes on may do so without a space.
            let has_next = !is_space(next) || next.is_none() && goes_on;
            is_open |= !is_word(last) && has_next;
        }
        last = Some(c);
    }
    is_open && goes_on
}

/// Where a web address is in a text, and its length.
fn find_address(text: &str) -> Option<(usize, usize)> {
    let is_end = |c: char| c.is_whitespace() || c.is_control() || "<>|`".contains(c);
    let mut from = 0;
    while let Some(found) = text[from..].find("://") {
        let found = from + found;
        let start = ["https", "http"].into_iter().find_map(|scheme| {
            let before = text[..found].strip_suffix(scheme)?;
            let is_word = before
                .chars()
                .next_back()
                .is_some_and(char::is_alphanumeric);
            (!is_word).then_some(before.len())
        });
        let behind = found + "://".len();
        if let Some(start) = start {
            let end = text[behind..]
                .find(is_end)
                .map_or(text.len(), |end| behind + end);
            let address = text[start..end].trim_end_matches(|c| ".,:;!?\"')]*_~".contains(c));
            if start + address.len() > behind {
                return Some((start, address.len()));
            }
        }
        from = behind;
    }
    None
}
