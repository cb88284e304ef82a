//! A text in which every stretch knows its style, as it is before it becomes HTML.

use std::ops::Range;

/// What a stretch of text can be, outermost tag first. A fixed order nests by itself, and it is the
/// one in which a quote or a link is never torn by what it contains; bold around half a link is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// A block quote. Its value is its number.
    Quote,
    /// A link. Its value is that of [`Rich::add_opening`].
    Link,
    /// Bold.
    Bold,
    /// Italic.
    Italic,
    /// Struck through.
    Strike,
    /// Code within a line.
    Code,
    /// A code block. Its value is that of [`Rich::add_opening`].
    Pre,
}

impl Level {
    /// All of them, outermost first.
    pub const ALL: [Self; 7] = [
        Self::Quote,
        Self::Link,
        Self::Bold,
        Self::Italic,
        Self::Strike,
        Self::Code,
        Self::Pre,
    ];
}

/// The style of a stretch: for each level 0, or a value that tells neighbours apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style([u32; Level::ALL.len()]);

impl Style {
    /// The value of a level.
    pub fn get(self, level: Level) -> u32 {
        self.0[level as usize]
    }

    /// The same with another value of a level.
    pub fn with(mut self, level: Level, value: u32) -> Self {
        self.0[level as usize] = value;
        self
    }

    /// Only the quote. Code can stand in nothing else, and blocks are parted by nothing else.
    pub fn block(self) -> Self {
        Self::default().with(Level::Quote, self.get(Level::Quote))
    }

    /// What of this style can go on when nothing may be opened: what is open already, unless it has
    /// to be closed for what is outside of it.
    pub fn continuing(self, open: Self) -> Self {
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

    /// The levels whose tags have to be closed and opened between this style and the next.
    pub fn change(self, next: Self) -> &'static [Level] {
        let same = self.0.iter().zip(next.0).take_while(|(a, b)| **a == *b);
        &Level::ALL[same.count()..]
    }
}

struct Run {
    end: usize,
    style: Style,
}

struct Opening {
    open: String,
    close: &'static str,
}

/// The text and the styles of its stretches.
#[derive(Default)]
pub struct Rich {
    text: String,
    runs: Vec<Run>,
    openings: Vec<Opening>,
}

impl Rich {
    /// The text without its styles.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Appends a stretch.
    pub fn push(&mut self, text: &str, style: Style) {
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

    /// Takes a text off the end, if it is there.
    pub fn strip_end(&mut self, suffix: &str) {
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

    /// The style of the text's end.
    pub fn last_style(&self) -> Style {
        self.runs.last().map(|run| run.style).unwrap_or_default()
    }

    /// Keeps a tag with an attribute; gives the value that stands for it in a style.
    pub fn add_opening(&mut self, open: String, close: &'static str) -> u32 {
        self.openings.push(Opening { open, close });
        u32::try_from(self.openings.len()).unwrap_or(u32::MAX)
    }

    /// The tags of a level that is in a style.
    pub fn tags(&self, level: Level, style: Style) -> (&str, &'static str) {
        match level {
            Level::Quote => ("<blockquote>", "</blockquote>"),
            Level::Bold => ("<b>", "</b>"),
            Level::Italic => ("<i>", "</i>"),
            Level::Strike => ("<s>", "</s>"),
            Level::Code => ("<code>", "</code>"),
            Level::Link | Level::Pre => {
                let index = (style.get(level) as usize).wrapping_sub(1);
                self.openings
                    .get(index)
                    .map_or(("", ""), |opening| (&opening.open, opening.close))
            }
        }
    }

    /// The stretches within a range, in order, with what is shown of their style.
    pub fn stretches(&self, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, Style)> {
        let first = self.runs.partition_point(|run| run.end <= range.start);
        let mut start = range.start;
        let mut before = Style::default();
        self.runs[first..].iter().map_while(move |run| {
            let stretch = start..run.end.min(range.end);
            start = run.end;
            // Nothing begins at what cannot be seen: Telegram has no empty entities.
            before = match self.text.get(stretch.clone()) {
                None | Some("") => return None,
                Some(text) if is_blank(text) => run.style.continuing(before),
                Some(_) => run.style,
            };
            Some((stretch, before))
        })
    }
}

/// Whether there is nothing to see. Telegram takes such a text for empty, and an empty one is an
/// error (`strip_empty_characters` and `clean_input_string` of its server's source, and some more).
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|letter| {
        letter.is_whitespace()
            || letter.is_control()
            || matches!(letter,
                '\u{ad}' | '\u{30a}' | '\u{333}' | '\u{33f}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{feff}'
                | '\u{fffc}' | '\u{e0000}'..='\u{e007f}')
    })
}
