//! What became of each thing of another home, in lines.

use crate::text::{count_of, one_line};

/// Lines of a report that are shown.
const LINES: usize = 400;
/// Characters of a name, and of what is said of it. Both may be of another program.
const WHAT_CHARS: usize = 120;
const WHY_CHARS: usize = 240;

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is here as it was there.
    Taken,
    /// It is here in another form.
    Changed,
    /// What is here already was kept.
    Kept,
    /// It was not taken.
    Left,
    /// There is nothing like it here.
    Unknown,
}

impl Mark {
    fn word(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Changed => "changed",
            Self::Kept => "kept",
            Self::Left => "not taken",
            Self::Unknown => "no counterpart",
        }
    }
}

/// The lines so far.
#[derive(Debug, Default)]
pub struct Report {
    text: String,
    lines: usize,
    taken: usize,
}

impl Report {
    /// Begins another part, such as the settings.
    pub fn part(&mut self, title: &str) {
        self.text.push_str(title);
        self.text.push('\n');
    }

    /// Adds a line: what it is about, and its value or a reason; both may be empty.
    pub fn add(&mut self, mark: Mark, what: &str, why: &str) {
        self.taken += usize::from(matches!(mark, Mark::Taken | Mark::Changed));
        self.lines += 1;
        if self.lines > LINES {
            return;
        }
        let (what, why) = (one_line(what, WHAT_CHARS), one_line(why, WHY_CHARS));
        let word = mark.word();
        let between = if why.is_empty() { "" } else { ": " };
        self.text
            .push_str(&format!("  {word:<15}{what}{between}{why}\n"));
    }

    /// How many things are new here.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// The report for a terminal.
    pub fn text(&self) -> String {
        let mut text = self.text.clone();
        if self.lines > LINES {
            let more = count_of(self.lines - LINES, "line", "lines");
            text.push_str(&format!("  … and {more} more\n"));
        }
        text
    }
}
