//! HISTORY.md: paragraphs that begin `[YYYY-MM-DD HH:MM]`, the oldest first.
//!
//! A full one becomes `HISTORY-YYYY-MM-DD.md`, named by the date of its last paragraph.

use std::path::{Path, PathBuf};

use chrono::{DateTime, FixedOffset, NaiveDateTime};

use crate::base::error::{Error, Result};
use crate::text::ellipsize_bytes;

use super::HISTORY_BYTES_MAX;
use super::{FOLDER, HISTORY, Memory};

/// Bytes of one paragraph of HISTORY.md; what is over is cut off.
const PARAGRAPH_BYTES_MAX: usize = 4 * 1024;
/// Bytes of a HISTORY.md that is set aside whole; a person may have made it longer than it gets here.
const HISTORY_ASIDE_BYTES_MAX: u64 = 4 * HISTORY_BYTES_MAX;
/// Bytes at the end of HISTORY.md in which a paragraph is looked for before it is written.
const HISTORY_TAIL_BYTES: u64 = 4 * PARAGRAPH_BYTES_MAX as u64;
/// Histories that may be begun on one day before the next one fails.
const HISTORIES_PER_DAY: u32 = 100;

const STAMP: &str = "%Y-%m-%d %H:%M";

impl Memory<'_> {
    /// Adds a paragraph to HISTORY.md, unless it has been added already.
    pub(super) fn log(&self, entry: &str) -> Result<()> {
        let now = self.clock.is_set().then(|| self.clock.now());
        let Some(paragraph) = paragraph(entry, now) else {
            return Ok(());
        };
        let path = Path::new(HISTORY);
        let (size, end) = self.end_of(path, HISTORY_TAIL_BYTES)?.unwrap_or_default();
        if has(&String::from_utf8_lossy(&end), &paragraph) {
            return Ok(());
        }
        let is_full = size > 0 && size + paragraph.len() as u64 > HISTORY_BYTES_MAX;
        // One that a person has brought, and that is too long to be held whole, goes on as it is.
        if is_full && size <= HISTORY_ASIDE_BYTES_MAX {
            self.set_aside()?;
            return self.workspace.write(path, paragraph.as_bytes());
        }
        let gap = match (end.is_empty(), end.ends_with(b"\n\n"), end.ends_with(b"\n")) {
            (true, ..) | (_, true, _) => "",
            (.., true) => "\n",
            _ => "\n\n",
        };
        self.workspace
            .append(path, format!("{gap}{paragraph}").as_bytes())
    }

    /// The time of the last paragraph of HISTORY.md.
    pub fn last_logged(&self) -> Result<Option<NaiveDateTime>> {
        let end = self.end_of(Path::new(HISTORY), HISTORY_TAIL_BYTES)?;
        let (_, end) = end.unwrap_or_default();
        Ok(last_stamp(&String::from_utf8_lossy(&end)))
    }

    /// Copies a full HISTORY.md to a file of its own, so that a new one can replace it.
    fn set_aside(&self) -> Result<()> {
        let most = HISTORY_ASIDE_BYTES_MAX as usize;
        let content = self.read_beginning(Path::new(HISTORY), most + 1)?;
        let content = content.unwrap_or_default();
        if content.len() > most {
            return Err(Error::TooLarge {
                what: HISTORY.to_owned(),
                limit: most,
            });
        }
        let date = last_date(&String::from_utf8_lossy(&content));
        for number in 1..=HISTORIES_PER_DAY {
            let path = aside_path(&date, number);
            match self.read_beginning(&path, most + 1)? {
                // A kill came before the new one replaced it.
                Some(same) if same == content => return Ok(()),
                Some(_) => {}
                None => return self.workspace.write(&path, &content),
            }
        }
        Err(Error::Failed(format!(
            "There are {HISTORIES_PER_DAY} files named HISTORY-{date}. Delete some of them."
        )))
    }
}

fn aside_path(date: &str, number: u32) -> PathBuf {
    let name = match number {
        1 => format!("HISTORY-{date}.md"),
        _ => format!("HISTORY-{date}-{number}.md"),
    };
    Path::new(FOLDER).join(name)
}

/// An entry as a paragraph with the time before it and a blank line after it; `None` when it is blank.
fn paragraph(entry: &str, now: Option<DateTime<FixedOffset>>) -> Option<String> {
    let lines: Vec<&str> = entry.lines().map(str::trim_end).collect();
    let filled = lines.iter().filter(|line| !line.is_empty());
    let text = filled.copied().collect::<Vec<_>>().join("\n");
    let text = ellipsize_bytes(text.trim(), PARAGRAPH_BYTES_MAX);
    if without_stamp(&text).is_empty() {
        return None;
    }
    let stamp = match now {
        Some(now) if stamp_of(&text).is_none() => format!("[{}] ", now.format(STAMP)),
        _ => String::new(),
    };
    Some(format!("{stamp}{text}\n\n"))
}

/// The time at which a paragraph of HISTORY.md begins.
pub(super) fn stamp_of(paragraph: &str) -> Option<NaiveDateTime> {
    let (stamp, _) = paragraph.strip_prefix('[')?.split_once(']')?;
    NaiveDateTime::parse_from_str(stamp, STAMP).ok()
}

/// A paragraph's words: when they are saved again, the time may be a later one.
fn without_stamp(paragraph: &str) -> &str {
    let rest = stamp_of(paragraph).and_then(|_| paragraph.split_once(']'));
    rest.map_or(paragraph, |(_, rest)| rest).trim()
}

fn has(text: &str, paragraph: &str) -> bool {
    let words = without_stamp(paragraph);
    text.split("\n\n")
        .any(|other| without_stamp(other.trim()) == words)
}

/// The date of the last paragraph that has one.
fn last_date(text: &str) -> String {
    last_stamp(text).map_or("undated".to_owned(), |stamp| stamp.date().to_string())
}

fn last_stamp(text: &str) -> Option<NaiveDateTime> {
    text.rsplit("\n\n").find_map(|part| stamp_of(part.trim()))
}
