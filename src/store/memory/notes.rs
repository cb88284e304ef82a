//! The notes of a day: `memory/YYYY-MM-DD.md`.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use chrono::{Days, NaiveDate};

use crate::base::error::{Error, Result};
use crate::base::limits::memory::{NOTE_BYTES, NOTE_DAYS};

use super::FACTS_FILE_BYTES_MAX;
use super::{FACTS, FOLDER, Memory, if_any};

/// Bytes of one remark that is appended to the notes.
const REMARK_BYTES_MAX: usize = 4 * 1024;
/// Bytes of one day's notes beyond which nothing is appended: a hundred pages.
const NOTE_FILE_BYTES_MAX: u64 = 256 * 1024;

/// The notes of one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The day.
    pub date: NaiveDate,
    /// The last of its lines, at most [`NOTE_BYTES`].
    pub text: String,
    /// Whether there are earlier ones.
    pub is_cut: bool,
}

impl Memory<'_> {
    /// The notes of today and the days before it, the newest first. None while the clock is not set.
    pub fn notes(&self) -> Vec<Note> {
        if !self.clock.is_set() {
            return Vec::new();
        }
        let today = self.clock.now().date_naive();
        let days = (0..NOTE_DAYS).filter_map(|days| today.checked_sub_days(Days::new(days)));
        days.filter_map(|date| {
            let (text, is_cut) = self.read_end(&path_of(date), NOTE_BYTES).ok()??;
            let text = text.trim().to_owned();
            (!text.is_empty()).then_some(Note { date, text, is_cut })
        })
        .collect()
    }

    /// Adds a remark to today's notes, or to MEMORY.md while the clock is not set. Returns the file.
    pub fn append(&self, text: &str) -> Result<PathBuf> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Error::Failed("The note is empty.".to_owned()));
        }
        if text.len() > REMARK_BYTES_MAX {
            return Err(Error::TooLarge {
                what: "the note".to_owned(),
                limit: REMARK_BYTES_MAX,
            });
        }
        let text = text.replace('\n', "\n  ");
        let now = self.clock.now();
        let (path, line, most) = if self.clock.is_set() {
            let line = format!("- {} {text}\n", now.format("%H:%M"));
            (path_of(now.date_naive()), line, NOTE_FILE_BYTES_MAX)
        } else {
            let most = FACTS_FILE_BYTES_MAX as u64;
            (PathBuf::from(FACTS), format!("- {text}\n"), most)
        };
        self.append_line(&path, &line, most)?;
        Ok(path)
    }

    /// Adds a line to a file that has at most `most` bytes with it. What the file ended with gets its
    /// newline first.
    fn append_line(&self, path: &Path, line: &str, most: u64) -> Result<()> {
        let end = self.end_of(path, 1)?;
        let (size, last) = end.unwrap_or_default();
        if size + line.len() as u64 + 1 > most {
            return Err(Error::TooLarge {
                what: path.display().to_string(),
                limit: most as usize,
            });
        }
        let gap = if matches!(last.last(), None | Some(b'\n')) {
            ""
        } else {
            "\n"
        };
        self.workspace
            .append(path, format!("{gap}{line}").as_bytes())
    }

    /// The last lines of a file, at most so many bytes, and whether there are earlier ones.
    fn read_end(&self, path: &Path, bytes: usize) -> Result<Option<(String, bool)>> {
        let Some((size, end)) = self.end_of(path, bytes as u64)? else {
            return Ok(None);
        };
        let is_cut = size > end.len() as u64;
        let newline = end.iter().position(|byte| *byte == b'\n');
        let start = newline.filter(|_| is_cut).map_or(0, |newline| newline + 1);
        let end = end.get(start..).unwrap_or_default();
        let mut text = String::from_utf8_lossy(end).into_owned();
        text.truncate(text.floor_char_boundary(bytes));
        Ok(Some((text, is_cut)))
    }

    /// A file's size and at most so many bytes of its end; `None` when there is no such file.
    pub(super) fn end_of(&self, path: &Path, bytes: u64) -> Result<Option<(u64, Vec<u8>)>> {
        let Some(mut file) = if_any(self.workspace.open_read(path))? else {
            return Ok(None);
        };
        let mut read = || {
            let size = file.seek(SeekFrom::End(0))?;
            file.seek(SeekFrom::Start(size.saturating_sub(bytes)))?;
            let mut end = Vec::new();
            (&mut file).take(bytes).read_to_end(&mut end)?;
            Ok((size, end))
        };
        read().map(Some).map_err(Error::io("read", path))
    }
}

/// The file of a day's notes.
fn path_of(date: NaiveDate) -> PathBuf {
    Path::new(FOLDER).join(format!("{date}.md"))
}
