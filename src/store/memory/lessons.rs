//! Lessons: what failed once and what worked instead, one a line of `memory/LESSONS.md`. Other lines of the file are a
//! person's, and stay.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Memory;
use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::text::is_prose;

/// The file of lessons.
pub const LESSONS: &str = "memory/LESSONS.md";
/// Bytes of a lesson's words: two lines on a screen.
pub const LESSON_BYTES: usize = 300;
/// Lessons that are kept; the oldest ones make room.
const LESSONS_MAX: usize = 40;
/// Bytes of the file that are read: all lessons, and as much again that a person has written between them.
const LESSONS_FILE_BYTES: usize = 32 * 1024;

const HEAD: &str = "# Lessons\n\nWhat failed once, and what worked instead. A call like it that fails again is shown its line.\n";
/// The end of a line whose lesson was shown the last time for nothing. The next time it goes.
const MISSED: &str = " (did not help the last time)";

/// Keeps two conversations from changing the file at once.
static CHANGING: Mutex<()> = Mutex::new(());

/// What was learned from a call that failed and one like it that worked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lesson {
    /// Which calls it is about: a tool, and the program, host or file that they have in common, such as `exec ping`.
    pub about: String,
    /// What failed, and what worked.
    pub text: String,
}

impl Lesson {
    /// Reads a line of the file, without what no person could see in its text; `None` for any other.
    fn parse(line: &str) -> Option<Self> {
        let (about, text) = line.strip_prefix("- ")?.split_once(": ")?;
        let text = text.strip_suffix(MISSED).unwrap_or(text);
        let text: String = text.chars().filter(|char| is_prose(*char)).collect();
        let text = text.trim();
        let is_lesson = (1..=2).contains(&about.split(' ').count()) && !text.is_empty();
        is_lesson.then(|| Self {
            about: about.to_owned(),
            text: text.to_owned(),
        })
    }

    fn line(&self) -> String {
        format!("- {}: {}", self.about, self.text)
    }

    fn is_in(&self, line: &str) -> bool {
        Self::parse(line).as_ref() == Some(self)
    }
}

impl Memory<'_> {
    /// The lessons, the oldest first.
    pub fn lessons(&self) -> Result<Vec<Lesson>> {
        let content = self.read_lessons()?;
        let text = String::from_utf8_lossy(&content);
        let lessons = text.lines().filter_map(Lesson::parse);
        Ok(lessons.take(LESSONS_MAX).collect())
    }

    /// Adds lessons that are not there yet, and drops the oldest beyond the bound. The same call again adds nothing.
    pub fn learn(&self, new: &[Lesson]) -> Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        self.change_lessons(|lines| {
            for lesson in new {
                if !lines.iter().any(|line| lesson.is_in(line)) {
                    lines.push(lesson.line());
                }
            }
            let is_lesson = |line: &String| Lesson::parse(line).is_some();
            let count = lines.iter().filter(|line| is_lesson(line)).count();
            let mut over = count.saturating_sub(LESSONS_MAX);
            lines.retain(|line| {
                let goes = over > 0 && is_lesson(line);
                over -= usize::from(goes);
                !goes
            });
        })
    }

    /// Removes a lesson.
    pub fn forget_lesson(&self, lesson: &Lesson) -> Result<()> {
        self.change_lessons(|lines| lines.retain(|line| !lesson.is_in(line)))
    }

    /// Notes whether a lesson that was shown has helped. One that has not, twice in a row, goes.
    pub fn note_shown(&self, lesson: &Lesson, helped: bool) -> Result<()> {
        self.change_lessons(|lines| {
            let Some(place) = lines.iter().position(|line| lesson.is_in(line)) else {
                return;
            };
            let was_missed = lines.get(place).is_some_and(|line| line.ends_with(MISSED));
            if was_missed && !helped {
                lines.remove(place);
            } else if let Some(line) = lines.get_mut(place) {
                *line = lesson.line() + if helped { "" } else { MISSED };
            }
        })
    }

    fn read_lessons(&self) -> Result<Vec<u8>> {
        let content = self.read_beginning(Path::new(LESSONS), LESSONS_FILE_BYTES + 1)?;
        let content = content.unwrap_or_default();
        if content.len() > LESSONS_FILE_BYTES {
            return Err(Error::TooLarge {
                what: LESSONS.to_owned(),
                limit: LESSONS_FILE_BYTES,
            });
        }
        Ok(content)
    }

    /// Replaces the file in one step, unless nothing in it has changed.
    fn change_lessons(&self, change: impl FnOnce(&mut Vec<String>)) -> Result<()> {
        let _changing = CHANGING.lock();
        let before = String::from_utf8(self.read_lessons()?)
            .map_err(|_| Error::Failed(format!("{LESSONS} is not UTF-8 text. Save it as UTF-8")))?;
        let text = if before.is_empty() { HEAD } else { &before };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if before.is_empty() {
            lines.push(String::new());
        }
        let was = lines.clone();
        change(&mut lines);
        if lines == was {
            return Ok(());
        }
        let text = lines.join("\n") + "\n";
        self.workspace.write(Path::new(LESSONS), text.as_bytes())
    }
}
