//! Where a text is cut into messages: between paragraphs, else lines, else words, else anywhere.

use std::ops::Range;

use super::CUT_MARK;
use super::html::escaped_len;
use super::rich::{Level, Rich, Style, is_blank};
use crate::limits::channels::{
    LINK_BYTES, PIECE_ENTITIES, PIECE_HTML_BYTES, PIECE_UNITS, TAGS_BYTES,
};

// Whatever is open, a message has room for its tags and a letter: no piece is empty.
const _: () = assert!(LINK_BYTES + TAGS_BYTES + CUT_MARK.len() < PIECE_HTML_BYTES);
const _: () = assert!(Level::ALL.len() <= PIECE_ENTITIES);

/// The ranges of the messages, from a place on. Each is without white space around it, except for
/// the indentation of code, and has something to see.
pub struct Pieces<'a> {
    rich: &'a Rich,
    at: usize,
}

impl<'a> Pieces<'a> {
    /// The messages of the text behind a place.
    pub fn new(rich: &'a Rich, at: usize) -> Self {
        Self { rich, at }
    }

    /// Where something begins to be seen; in code, blank space counts.
    fn begin(&self) -> Option<usize> {
        let text = self.rich.text();
        self.rich
            .stretches(self.at..text.len())
            .find_map(|(stretch, style)| {
                let blank = text[stretch.clone()]
                    .find(|letter: char| style.get(Level::Pre) != 0 || !letter.is_whitespace());
                blank.map(|blank| stretch.start + blank)
            })
    }

    /// The end of the message that begins here. Behind it there may be white space that the cut eats.
    fn end(&self, start: usize) -> usize {
        let text = self.rich.text();
        let mut room = Room::new();
        let mut breaks = Breaks::default();
        let mut before = Style::default();
        for (stretch, style) in self.rich.stretches(start..text.len()) {
            if !room.takes_tags(self.rich, before, style) {
                return breaks.best(start, stretch.start);
            }
            before = style;
            let is_code = style.get(Level::Pre) != 0;
            for (index, letter) in text[stretch.clone()].char_indices() {
                let place = stretch.start + index;
                breaks.note(letter, place, is_code);
                if !room.takes(letter) {
                    return breaks.best(start, place);
                }
            }
        }
        text.len()
    }
}

impl Iterator for Pieces<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let start = self.begin()?;
            self.at = self.end(start);
            let piece = self.rich.text()[start..self.at].trim_end();
            if !is_blank(piece) {
                return Some(start..start + piece.len());
            }
        }
    }
}

/// Where the end of a text begins that fits one message with [`CUT_MARK`] before it: 0 if all of it
/// fits, else the beginning of a line or at least of a word.
pub fn tail(text: &str) -> usize {
    let text = text.trim_end();
    let mut units = 0;
    let mut start = text.len();
    for (place, letter) in text.char_indices().rev() {
        units += letter.len_utf16();
        if units > PIECE_UNITS {
            break;
        }
        // The mark has fewer units than bytes.
        if units <= PIECE_UNITS - CUT_MARK.len() {
            start = place;
        }
        if place == 0 {
            return 0;
        }
    }
    let tail = &text[start..];
    let half = &tail[..tail.floor_char_boundary(tail.len() / 2)];
    let line = half.find('\n').map(|newline| newline + 1);
    let word = || half.find(char::is_whitespace);
    start + line.or_else(word).unwrap_or(0)
}

/// What still fits a message.
struct Room {
    units: usize,
    bytes: usize,
    entities: usize,
}

impl Room {
    fn new() -> Self {
        Self {
            units: PIECE_UNITS,
            bytes: PIECE_HTML_BYTES - CUT_MARK.len(),
            entities: PIECE_ENTITIES,
        }
    }

    fn takes(&mut self, letter: char) -> bool {
        take(&mut self.units, letter.len_utf16()) && take(&mut self.bytes, escaped_len(letter))
    }

    /// What a change of style opens, with what will close it.
    fn takes_tags(&mut self, rich: &Rich, from: Style, to: Style) -> bool {
        let mut opened = from.change(to).iter().filter(|level| to.get(**level) != 0);
        opened.all(|level| {
            let (open, close) = rich.tags(*level, to);
            take(&mut self.entities, 1) && take(&mut self.bytes, open.len() + close.len())
        })
    }
}

fn take(room: &mut usize, amount: usize) -> bool {
    let rest = room.checked_sub(amount);
    *room = rest.unwrap_or(0);
    rest.is_some()
}

/// The last places at which a text may be cut.
#[derive(Default)]
struct Breaks {
    paragraph: usize,
    line: usize,
    word: usize,
}

impl Breaks {
    /// A cut is behind the white space, which need not fit: it is not sent.
    fn note(&mut self, letter: char, place: usize, is_code: bool) {
        let behind = place + letter.len_utf8();
        if letter == '\n' {
            if self.line == place && !is_code {
                self.paragraph = behind;
            }
            self.line = behind;
        } else if letter.is_whitespace() {
            self.word = behind;
        }
    }

    /// The best cut of a message that fits as far as `end`. A message is at least half full, unless
    /// a word would have to be torn.
    fn best(&self, start: usize, end: usize) -> usize {
        let half = start.midpoint(end);
        let last = self.line.max(self.word);
        if self.paragraph > half {
            self.paragraph
        } else if self.line > half {
            self.line
        } else if last > start {
            last
        } else {
            end
        }
    }
}
