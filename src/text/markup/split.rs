//! Cuts Markdown into messages: between paragraphs, else lines, else words, else anywhere. What announces the
//! next lines goes with them: a heading, a line in bold, one that ends with a colon.

use std::ops::Range;

use super::document::{Document, Level, is_blank};
use super::{CUT_MARK, Format};

/// What a channel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// UTF-16 code units: two for most emoji.
    Utf16,
    /// Unicode code points.
    Chars,
    /// Bytes of UTF-8.
    Bytes,
}

impl Unit {
    fn count(self, c: char) -> usize {
        match self {
            Self::Utf16 => c.len_utf16(),
            Self::Chars => 1,
            Self::Bytes => c.len_utf8(),
        }
    }
}

/// The maximum length of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The number of units.
    pub units: usize,
    /// What is counted.
    pub unit: Unit,
}

impl Limit {
    /// Whether a text is within the limit.
    pub fn holds(self, text: &str) -> bool {
        self.prefix(text) == text.len()
    }

    /// The length in bytes of the longest beginning of a text within the limit.
    pub fn prefix(self, text: &str) -> usize {
        let mut left = self.units;
        let too_long = text.char_indices().find(|(_, c)| {
            let rest = left.checked_sub(self.unit.count(*c));
            left = rest.unwrap_or(0);
            rest.is_none()
        });
        too_long.map_or(text.len(), |(place, _)| place)
    }

    /// Where the longest end of a text within the limit begins.
    fn suffix(self, text: &str) -> usize {
        let mut left = self.units;
        let mut ends = text.char_indices().rev().take_while(|(_, c)| {
            let rest = left.checked_sub(self.unit.count(*c));
            left = rest.unwrap_or(0);
            rest.is_some()
        });
        let mut start = text.len();
        ends.by_ref().for_each(|(place, _)| start = place);
        start
    }
}

/// The ranges of a document's messages. Each is without white space around it, except for the
/// indentation of code, and shows something.
pub struct Pieces<'a> {
    document: &'a Document,
    format: &'a dyn Format,
    at: usize,
}

impl<'a> Pieces<'a> {
    /// All messages of a document.
    pub fn new(document: &'a Document, format: &'a dyn Format) -> Self {
        Self {
            document,
            format,
            at: 0,
        }
    }

    /// The end of the message that begins here. The white space before it is not sent.
    fn end(&self, start: usize) -> usize {
        let text = self.document.text();
        let most = start + self.format.limit().prefix(&text[start..]);
        if most == text.len() && fits(self.document, self.format, start..most, "") {
            return most;
        }
        // The longest range that fits is between these two. One character always goes out, so that
        // every text has an end.
        let first = text[start..].chars().next().map_or(0, char::len_utf8);
        let (mut fitting, mut failing) = (start + first, most + 1);
        while let Some(middle) = between(text, fitting, failing) {
            if fits(self.document, self.format, start..middle, "") {
                fitting = middle
            } else {
                failing = middle
            }
        }
        self.best_cut(start, fitting)
    }

    /// The best cut of a message that fits as far as `end`. A message is at least half full, unless a
    /// word would have to be cut.
    fn best_cut(&self, start: usize, end: usize) -> usize {
        let text = self.document.text();
        let (mut paragraph, mut line, mut word) = (0, 0, 0);
        // A cut is behind white space, and the first that does not fit counts too: it is not sent.
        let next = text[end..].chars().next().map_or(0, char::len_utf8);
        for (stretch, style) in self.document.stretches(start..end + next) {
            for (index, c) in text[stretch.clone()].char_indices() {
                let place = stretch.start + index;
                let behind = place + c.len_utf8();
                if c == '\n' {
                    if line == place && !style.has(Level::Pre) {
                        paragraph = behind;
                    }
                    line = behind;
                } else if c.is_whitespace() {
                    word = behind;
                }
            }
        }
        let half = start.midpoint(end);
        let last = line.max(word);
        if paragraph > half {
            self.before_announcement(start, paragraph)
        } else if line > half {
            self.before_announcement(start, line)
        } else if last > start {
            last
        } else {
            end
        }
    }
}

impl Pieces<'_> {
    /// The cut, or one before the lines above it that announce what is below. A message stays at least a quarter full.
    fn before_announcement(&self, start: usize, cut: usize) -> usize {
        let text = self.document.text();
        let least = start.midpoint(start.midpoint(cut));
        let mut best = cut;
        loop {
            let above = text[start..best].trim_end();
            let line = start + above.rfind('\n').map_or(0, |newline| newline + 1);
            let range = line..start + above.len();
            if line <= least || !self.announces(range) {
                return best;
            }
            best = line;
        }
    }

    /// Whether a line announces the next ones.
    fn announces(&self, line: Range<usize>) -> bool {
        let text = &self.document.text()[line.clone()];
        let mut shown = self.document.stretches(line).filter(|(stretch, _)| {
            let words = &self.document.text()[stretch.clone()];
            !words.trim().is_empty()
        });
        let mut is_code = false;
        let is_bold = shown.all(|(_, style)| {
            is_code |= style.has(Level::Pre);
            style.has(Level::Bold)
        });
        !text.is_empty() && !is_code && (is_bold || text.ends_with([':', '：']))
    }
}

impl Iterator for Pieces<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = begin(self.document, self.at)?;
            self.at = self.end(start);
            let piece = self.document.text()[start..self.at].trim_end();
            if !is_blank(piece) {
                return Some(start..start + piece.len());
            }
        }
    }
}

/// The last message of a document, and whether it is all of it. One that is not fits behind
/// [`CUT_MARK`], and begins with a line or at least with a word.
pub fn tail(document: &Document, format: &dyn Format) -> Option<(Range<usize>, bool)> {
    let text = document.text().trim_end();
    let start = begin(document, 0)?.min(text.len());
    let least = start + format.limit().suffix(&text[start..]);
    if least == start && fits(document, format, start..text.len(), "") {
        return (!is_blank(&text[start..])).then_some((start..text.len(), true));
    }
    let (mut failing, mut fitting) = (least.saturating_sub(1), text.len());
    while let Some(middle) = between(text, failing, fitting) {
        if fits(document, format, middle..text.len(), CUT_MARK) {
            fitting = middle
        } else {
            failing = middle
        }
    }
    let tail = &text[fitting..];
    let half = &tail[..tail.floor_char_boundary(tail.len() / 2)];
    let line = half.find('\n').map(|newline| newline + 1);
    let word = || half.find(char::is_whitespace);
    let cut = fitting + line.or_else(word).unwrap_or(0);
    let start = begin(document, cut)?.min(text.len());
    (!is_blank(&text[start..])).then_some((start..text.len(), false))
}

/// Where something begins to be visible, from a place on; in code, blank space counts.
fn begin(document: &Document, at: usize) -> Option<usize> {
    let text = document.text();
    document
        .stretches(at..text.len())
        .find_map(|(stretch, style)| {
            let is_shown = |c: char| style.has(Level::Pre) || !c.is_whitespace();
            let found = text[stretch.clone()].find(is_shown);
            found.map(|index| stretch.start + index)
        })
}

fn fits(document: &Document, format: &dyn Format, range: Range<usize>, before: &str) -> bool {
    let plain = [before, &document.text()[range.clone()]].concat();
    let written = [before, &format.write(document, range)].concat();
    format.fits(&plain, &written)
}

/// A place between two characters, about halfway between two others; `None` if there is none.
fn between(text: &str, low: usize, high: usize) -> Option<usize> {
    let middle = low.midpoint(high);
    let above = text.ceil_char_boundary(middle);
    let below = text.floor_char_boundary(middle);
    [below, above]
        .into_iter()
        .find(|place| low < *place && *place < high)
}
