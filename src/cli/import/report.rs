//! What became of each thing of another home, in lines.

use super::texts::PARTS;
use crate::text::{count_of, one_line};

/// Lines of a report that are shown.
const LINES: usize = 400;
/// Characters of a name, and of what is said of it. Both may be of another program.
const WHAT_CHARS: usize = 120;
const WHY_CHARS: usize = 240;
/// Characters of a list of people: 200 with 20 characters each.
const PEOPLE_CHARS: usize = 4_000;

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

/// A line. Those with the lowest rank are shown first, and left out last.
#[derive(Debug)]
struct Line {
    part: &'static str,
    rank: usize,
    text: String,
}

/// The lines so far.
#[derive(Debug, Default)]
pub struct Report {
    part: &'static str,
    held: Vec<Line>,
    lines: usize,
    taken: usize,
    has_token: bool,
    has_people: bool,
}

impl Report {
    /// Begins another part, such as the settings, or goes on with it.
    pub fn part(&mut self, title: &'static str) {
        self.part = title;
    }

    /// Adds a line: what it is about, and its value or a reason; both may be empty.
    pub fn add(&mut self, mark: Mark, what: &str, why: &str) {
        let is_new = matches!(mark, Mark::Taken | Mark::Changed);
        self.taken += usize::from(is_new);
        self.lines += 1;
        let names_people = is_new && what.ends_with("llowFrom");
        self.has_people |= names_people;
        let rank = match mark {
            _ if names_people => 0,
            Mark::Taken | Mark::Changed => 1 + place_of(self.part),
            Mark::Kept | Mark::Left => 1 + PARTS.len(),
            Mark::Unknown => 2 + PARTS.len(),
        };
        let most = if names_people {
            PEOPLE_CHARS
        } else {
            WHY_CHARS
        };
        let (what, why) = (one_line(what, WHAT_CHARS), one_line(why, most));
        let word = mark.word();
        let between = if why.is_empty() { "" } else { ": " };
        let text = format!("  {word:<15}{what}{between}{why}\n");
        let part = self.part;
        // Sorted, so that the last one is the one to leave out.
        let at = self.held.partition_point(|line| line.rank <= rank);
        self.held.insert(at, Line { part, rank, text });
        self.held.truncate(LINES);
    }

    /// How many things are new here.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// Notes that the token of a bot was taken.
    pub fn note_token(&mut self) {
        self.has_token = true;
    }

    /// Whether the token of a bot was taken.
    pub fn has_token(&self) -> bool {
        self.has_token
    }

    /// Whether people were taken.
    pub fn has_people(&self) -> bool {
        self.has_people
    }

    /// The report for a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in PARTS {
            let mut lines = self.held.iter().filter(|line| line.part == part).peekable();
            if lines.peek().is_some() {
                text.push_str(&format!("{part}\n"));
            }
            lines.for_each(|line| text.push_str(&line.text));
        }
        if self.lines > LINES {
            let more = count_of(self.lines - LINES, "line", "lines");
            text.push_str(&format!("  … and {more} more, of less importance\n"));
        }
        text
    }
}

/// The place of a part in a report.
fn place_of(part: &str) -> usize {
    let place = PARTS.iter().position(|one| *one == part);
    place.unwrap_or(PARTS.len())
}
