//! A parsed text: its visible characters, and the style of each stretch of them.

use std::ops::Range;

use crate::text::is_invisible;

/// One aspect of a style. Those up to [`Level::Pre`] nest in this order, outermost first; the others
/// only describe a stretch. The order is the one in which a quote or a link is never cut by what it
/// contains: bold around half a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A block quote. Its value is its number.
    Quote,
    /// A link. Its value identifies the address, see [`Document::value`].
    Link,
    /// Bold, or a heading.
    Bold,
    /// Italic.
    Italic,
    /// Struck through.
    Strike,
    /// Code within a line.
    Code,
    /// A code block. Its value identifies the language, see [`Document::value`].
    Pre,
    /// A heading, in bold as well. Its value is 1 to 6.
    Heading,
    /// A list item's mark: a bullet, a number or a check box.
    Mark,
    /// Anything else that the text does not contain: a rule, the address after a link's text.
    Aside,
    /// A table, in a code block. Its value is 1 in the head and 2 below it.
    Table,
    /// Within list items: the columns by which their text is indented.
    Inset,
    /// In a quote within list items: the columns by which the quote itself is indented.
    Margin,
}

impl Level {
    /// The levels that nest, outermost first.
    pub const NESTING: [Self; 7] = [
        Self::Quote,
        Self::Link,
        Self::Bold,
        Self::Italic,
        Self::Strike,
        Self::Code,
        Self::Pre,
    ];

    /// The number of levels.
    pub(super) const COUNT: usize = Self::Margin as usize + 1;
}

/// The style of a stretch: for each level 0, or a value that tells neighbours apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style([u32; Level::COUNT]);

impl Style {
    /// The value of a level.
    pub fn get(self, level: Level) -> u32 {
        self.0[level as usize]
    }

    /// Whether the stretch has a level at all.
    pub fn has(self, level: Level) -> bool {
        self.get(level) != 0
    }

    /// The same style with another value of a level.
    pub fn with(mut self, level: Level, value: u32) -> Self {
        self.0[level as usize] = value;
        self
    }

    /// Only the quote: neither code nor the space between blocks can be in anything else.
    pub(super) fn block(self) -> Self {
        Self::default()
            .with(Level::Quote, self.get(Level::Quote))
            .with(Level::Margin, self.get(Level::Margin))
    }

    /// The part of this style that can go on where nothing may be opened: what is open already,
    /// unless it has to be closed for something outside of it.
    pub(super) fn continuing(self, open: Self) -> Self {
        let mut style = Self::default();
        for ((kept, wanted), open) in style.0.iter_mut().zip(self.0).zip(open.0) {
            if wanted == open {
                *kept = open;
            } else if open != 0 {
                break;
            }
        }
        style
    }

    /// The nesting levels that have to be closed and opened between this style and the next.
    pub fn change(self, next: Self) -> &'static [Level] {
        let levels = Level::NESTING.iter();
        let same = levels.take_while(|level| self.get(**level) == next.get(**level));
        &Level::NESTING[same.count()..]
    }
}

struct Run {
    end: usize,
    style: Style,
}

/// A text and the styles of its stretches.
#[derive(Default)]
pub struct Document {
    text: String,
    runs: Vec<Run>,
    values: Vec<String>,
}

impl Document {
    /// The visible text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Appends a stretch.
    pub(super) fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let end = self.text.len();
        match self.runs.last_mut() {
            Some(run) if run.style == style => run.end = end,
            _ => self.runs.push(Run { end, style }),
        }
    }

    /// Removes a text from the end, if it is there.
    pub(super) fn strip_end(&mut self, suffix: &str) {
        let Some(rest) = self.text.strip_suffix(suffix) else {
            return;
        };
        let end = rest.len();
        self.text.truncate(end);
        while let Some(run) = self.runs.pop() {
            let begin = self.runs.last().map_or(0, |before| before.end);
            if begin < end {
                self.runs.push(Run { end, ..run });
                return;
            }
        }
    }

    /// The style at the text's end.
    pub(super) fn last_style(&self) -> Style {
        self.runs.last().map(|run| run.style).unwrap_or_default()
    }

    /// Stores an address or a language; returns its value in a style.
    pub(super) fn add_value(&mut self, value: String) -> u32 {
        self.values.push(value);
        u32::try_from(self.values.len()).unwrap_or(u32::MAX)
    }

    /// The address of a style's [`Level::Link`] or the language of its [`Level::Pre`]; empty if the
    /// style has none.
    pub fn value(&self, level: Level, style: Style) -> &str {
        let index = (style.get(level) as usize).wrapping_sub(1);
        self.values.get(index).map_or("", String::as_str)
    }

    /// The stretches within a range, in order. Blank ones keep at most the style before them: an
    /// entity without visible text is an error to Telegram, and useless elsewhere.
    pub fn stretches(&self, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, Style)> {
        let first = self.runs.partition_point(|run| run.end <= range.start);
        let mut start = range.start;
        let mut before = Style::default();
        self.runs[first..].iter().map_while(move |run| {
            let stretch = start..run.end.min(range.end);
            start = run.end;
            before = match self.text.get(stretch.clone()) {
                None | Some("") => return None,
                Some(text) if is_blank(text) => run.style.continuing(before),
                Some(_) => run.style,
            };
            Some((stretch, before))
        })
    }
}

/// Whether a text shows nothing. Telegram refuses such a message as empty (`strip_empty_characters`
/// and `clean_input_string` in its server's source, and some more).
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || is_invisible(c)
            || matches!(c, '\u{30a}' | '\u{333}' | '\u{33f}' | '\u{fffc}')
    })
}
