//! A formatted text as Markdown (<https://core.telegram.org/bots/api#messageentity>). Pure.

use std::cmp::Reverse;
use std::ops::Range;

use super::utf16;
use crate::channels::telegram::api::types::Entity;

/// Formatted parts of a text that are read; Telegram has at most 100.
const ENTITIES: usize = 200;
/// Characters of the language of a block of code.
const FENCE_LANGUAGE_CHARS: usize = 40;

/// A part of a text and how it looks.
#[derive(Clone, Debug)]
pub struct Mark {
    range: Range<usize>,
    style: Style,
}

#[derive(Clone, Debug)]
enum Style {
    /// A block of lines that are quoted.
    Quote,
    /// A block of code in this language, which may be empty.
    Block(String),
    /// A link to this address.
    Link(String),
    /// Between these.
    Between(&'static str, &'static str),
    Code,
}

impl Style {
    /// What Markdown has for an entity; `None` for what the text says already.
    fn of(entity: &Entity) -> Option<Self> {
        Some(match entity.kind.as_str() {
            "blockquote" | "expandable_blockquote" => Self::Quote,
            "pre" => {
                let is_plain = |char: &char| !char.is_whitespace() && !matches!(char, '`' | '~');
                let language = entity.language.chars().take_while(is_plain);
                Self::Block(language.take(FENCE_LANGUAGE_CHARS).collect())
            }
            "text_link" => Self::Link(plain_address(&entity.url)),
            "text_mention" => Self::Link(format!("tg://user?id={}", entity.user.as_ref()?.id)),
            "bold" => Self::Between("**", "**"),
            "italic" => Self::Between("*", "*"),
            "underline" => Self::Between("<u>", "</u>"),
            "strikethrough" => Self::Between("~~", "~~"),
            "spoiler" => Self::Between("||", "||"),
            "code" => Self::Code,
            _ => return None,
        })
    }

    /// Whether nothing within it is markup.
    fn is_verbatim(&self) -> bool {
        matches!(self, Self::Block(_) | Self::Code)
    }
}

/// An address that ends where the Markdown of its link says.
fn plain_address(url: &str) -> String {
    let mut address = String::new();
    for char in url.trim().chars().filter(|char| !char.is_control()) {
        match char {
            ' ' | '(' | ')' | '<' | '>' | '[' | ']' | '\\' => {
                address.push_str(&format!("%{:02X}", u32::from(char)));
            }
            char => address.push(char),
        }
    }
    address
}

/// The marks of a text. `place` says where in `shown` a byte of the text is: some of it may be left out.
pub fn marks(
    text: &str,
    entities: &[Entity],
    shown: &str,
    place: impl Fn(usize) -> usize,
) -> Vec<Mark> {
    let mark = |entity: &Entity| {
        let style = Style::of(entity)?;
        let range = utf16::range(text, entity.offset, entity.length)?;
        let (start, end) = (place(range.start), place(range.end));
        let part = shown.get(start..end)?;
        // Markdown knows no emphasis that begins or ends with a space, and a block has its own lines.
        let (lead, kept) = match style {
            Style::Code => (0, part),
            Style::Block(_) | Style::Quote => {
                let kept = part.trim_start_matches('\n');
                (part.len() - kept.len(), kept.trim_end_matches('\n'))
            }
            _ => (part.len() - part.trim_start().len(), part.trim()),
        };
        let is_told = matches!(&style, Style::Link(url) if says(kept, url));
        let range = start + lead..start + lead + kept.len();
        (!kept.trim().is_empty() && !is_told).then_some(Mark { range, style })
    };
    let mut marks: Vec<Mark> = entities.iter().take(ENTITIES).filter_map(mark).collect();
    let rank = |style: &Style| match style {
        Style::Quote => 0,
        Style::Link(_) => 1,
        Style::Between(..) => 2,
        Style::Block(_) | Style::Code => 3,
    };
    marks.sort_by_key(|mark| (mark.range.start, Reverse(mark.range.end), rank(&mark.style)));
    marks
}

/// Whether the words of a link are its address.
fn says(words: &str, url: &str) -> bool {
    let bare = |url: &str| {
        let url = url.split_once("://").map_or(url, |(_, rest)| rest);
        url.strip_suffix('/').unwrap_or(url).to_owned()
    };
    url.is_empty() || bare(words) == bare(url)
}

/// Writes a text with its marks. Those that overlap are closed and opened again where another one ends.
pub fn write(text: &str, marks: &[Mark]) -> String {
    let mut writer = Writer::default();
    let mut places: Vec<usize> = marks
        .iter()
        .flat_map(|mark| [mark.range.start, mark.range.end])
        .collect();
    places.sort_unstable();
    places.dedup();
    let (mut open, mut passed): (Vec<&Mark>, usize) = (Vec::new(), 0);
    for place in places {
        writer.words(&text[passed..place], &open);
        passed = place;
        if let Some(first) = open.iter().position(|mark| mark.range.end <= place) {
            let above = open.split_off(first);
            above.iter().rev().for_each(|mark| writer.close(mark, text));
            for mark in above.into_iter().filter(|mark| mark.range.end > place) {
                writer.open(mark, text);
                open.push(mark);
            }
        }
        for mark in marks.iter().filter(|mark| mark.range.start == place) {
            if !open.iter().any(|mark| mark.style.is_verbatim()) {
                writer.open(mark, text);
                open.push(mark);
            }
        }
    }
    writer.words(&text[passed..], &open);
    writer.written
}

#[derive(Default)]
struct Writer {
    written: String,
    /// Quotes that are open.
    quotes: usize,
    /// Newlines that have to come before anything else.
    owed: usize,
}

impl Writer {
    fn newline(&mut self) {
        self.written.push('\n');
        self.written.push_str(&"> ".repeat(self.quotes));
    }

    /// Begins a line, unless this is the beginning of one.
    fn begin_line(&mut self) {
        self.pay();
        let line = self.written.rsplit('\n').next().unwrap_or_default();
        if !line.trim_start_matches("> ").is_empty() {
            self.newline();
        }
    }

    /// Writes what is owed.
    fn pay(&mut self) {
        for _ in 0..std::mem::take(&mut self.owed) {
            self.newline();
        }
    }

    fn push(&mut self, text: &str) {
        self.pay();
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.newline();
            }
            self.written.push_str(line);
        }
    }

    fn words(&mut self, text: &str, open: &[&Mark]) {
        let mut text = text;
        if text.is_empty() {
            return;
        }
        // The newlines after a block are there already.
        for _ in 0..self.owed {
            text = text.strip_prefix('\n').unwrap_or(text);
        }
        let is_label = open.iter().any(|mark| matches!(mark.style, Style::Link(_)));
        let is_verbatim = open.iter().any(|mark| mark.style.is_verbatim());
        if is_label && !is_verbatim {
            self.push(&text.replace('[', "\\[").replace(']', "\\]"))
        } else {
            self.push(text)
        }
    }

    fn open(&mut self, mark: &Mark, text: &str) {
        match &mark.style {
            Style::Quote => {
                self.begin_line();
                self.quotes += 1;
                self.written.push_str("> ");
            }
            Style::Block(language) => {
                self.begin_line();
                let fence = fence(&text[mark.range.clone()], 3);
                self.push(&format!("{fence}{language}\n"));
            }
            Style::Link(_) => self.push("["),
            Style::Between(begin, _) => self.push(begin),
            Style::Code => {
                let part = &text[mark.range.clone()];
                let fence = fence(part, 1);
                self.push(&[&fence, padding(part)].concat());
            }
        }
    }

    fn close(&mut self, mark: &Mark, text: &str) {
        let part = &text[mark.range.clone()];
        match &mark.style {
            Style::Quote => {
                self.quotes = self.quotes.saturating_sub(1);
                // Without an empty line the next one would belong to the quote.
                self.owed = 2;
            }
            Style::Block(_) => {
                self.begin_line();
                self.push(&fence(part, 3));
                self.owed = 1;
            }
            Style::Link(url) => self.push(&format!("]({url})")),
            Style::Between(_, end) => self.push(end),
            Style::Code => self.push(&[padding(part), &fence(part, 1)].concat()),
        }
    }
}

/// Backticks, more than a text has in a row.
fn fence(text: &str, least: usize) -> String {
    let runs = text.split(|char| char != '`').map(str::len);
    let longest = runs.max().unwrap_or_default();
    "`".repeat(least.max(if longest >= least { longest + 1 } else { 0 }))
}

/// The space that code needs at its ends when it has a backtick there.
fn padding(text: &str) -> &'static str {
    if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    }
}
