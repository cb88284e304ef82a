//! What of a journal has not been consolidated into the memory yet.
//!
//! The range is read without a lock, while turns go on. Its result is applied later, by the thread that has the
//! session open: an anchor tells whether the journal still has that range as the next one.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::access::Role;
use crate::base::chat::{Entry, EntryKind};
use crate::base::error::{Error, Result};
use crate::base::message::SessionKey;
use crate::store::append_log::{Durability, Lines, Tail};
use crate::sys;

use super::SUMMARY_BYTES;
use super::line::{self, Line, Marks, State};
use super::window::{Window, closes_turn, read_window};
use super::{Session, conversation, store};

/// What of a session has not been remembered, in bytes from the beginning of its journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Where it begins.
    pub from: u64,
    /// Where the window begins; where the last `/new` was when the window is empty.
    pub to_window: u64,
    /// The end of the journal.
    pub end: u64,
    /// Turns of the window that have not been remembered, the running one among them.
    pub turns: usize,
    /// All turns of the window.
    pub window_turns: usize,
}

impl Pending {
    /// Whether everything has been remembered.
    pub fn is_empty(&self) -> bool {
        self.turns == 0 && self.from >= self.to_window
    }

    /// Bytes of the journal's lines that have not been remembered.
    pub fn bytes(&self) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.end.saturating_sub(self.from)
        }
    }
}

/// How much of what is pending is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpTo {
    /// What is before the window.
    Window,
    /// The older half of the window too, in turns or in bytes, whichever leaves less.
    HalfWindow,
    /// All turns that have ended.
    End,
}

/// A range of a journal to be remembered.
#[derive(Clone, Debug)]
pub struct Range {
    /// The hash of its first entry's line, by which the journal is recognised later.
    pub anchor: u64,
    /// Bytes from that line to the end of the range.
    pub bytes: u64,
    /// Its entries but for what guests said and what they were answered: that is not remembered. Results of tools
    /// and the arguments of calls are shortened.
    pub entries: Vec<Entry>,
    /// The summary that the model gets in front of the window.
    pub earlier_summary: Option<String>,
    /// Whether it reaches as far as was asked for, rather than as far as `max_bytes` allowed.
    pub is_all: bool,
}

/// What has been remembered. It may be stored and applied later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The [`Range`]'s anchor.
    pub anchor: u64,
    /// The range's length in bytes.
    pub bytes: u64,
    /// What the range was about, in short. Used only together with `forget`.
    pub summary: Option<String>,
    /// Whether the window begins after the range, behind the summary.
    pub forget: bool,
}

impl Session {
    /// What has not been remembered yet.
    pub fn pending(&self) -> Pending {
        let turns = self.conversation.turn_places();
        // Lines before the first entry, such as the journal's head, are nothing to be remembered.
        let first = first_entry(&self.log.tail(), self.marks.remembered_to);
        let first = first.ok().flatten().map(|(place, _)| place);
        let from = first.unwrap_or_else(|| self.log.length());
        let first = turns.first().map(|(place, _)| *place);
        Pending {
            from,
            to_window: first.unwrap_or(self.marks.window_from),
            end: self.log.length(),
            turns: turns.iter().filter(|(place, _)| *place >= from).count(),
            window_turns: turns.len(),
        }
    }

    /// Journals that a range has been remembered, in one synced line. Returns false, and writes
    /// nothing, when the next range is another one: this was applied already, or the archive has it.
    pub fn remember(&mut self, done: &Remembered) -> Result<bool> {
        let path = self.log.path().to_owned();
        let begin = self
            .find_range(done)
            .map_err(Error::io("read the session", &path))?;
        let Some(begin) = begin else {
            return Ok(false);
        };
        let mut marks = self.marks;
        marks.remembered_to = begin + done.bytes;
        let since = begin.max(marks.cleared_to);
        // A summary of what was before the last `/new` is not for the new conversation.
        let forgets = done.forget && self.has_entries(since, marks.remembered_to)?;
        let mut summary = None;
        if forgets {
            marks.window_from = marks.window_from.max(marks.remembered_to);
            let earlier = self.conversation.summary_text();
            summary = done.summary.as_deref().map(|text| join(earlier, text));
        }
        if summary.is_some() {
            marks.summary_at = Some(self.log.length());
        }
        if !self.has_entries(marks.remembered_to, marks.window_from)? {
            marks.remembered_to = marks.remembered_to.max(marks.window_from);
        }
        let state = State {
            consolidated_to: summary.as_ref().map(|_| marks.window_from),
            summary: summary.clone(),
            marks: Some(marks),
            ..State::default()
        };
        let line = line::encode_state(&state, self.settings.clock.now());
        self.write(&line, Durability::Synced, &mut |_| false)?;
        self.marks = marks;
        self.conversation.leave_out_before(marks.window_from);
        if summary.is_some() {
            self.conversation.set_summary(summary);
        }
        Ok(true)
    }

    /// Whether something was said between two places.
    fn has_entries(&self, begin: u64, end: u64) -> Result<bool> {
        if begin >= end {
            return Ok(false);
        }
        let first = first_entry(&self.log.tail(), begin)
            .map_err(Error::io("read the session", self.log.path()))?;
        Ok(first.is_some_and(|(place, _)| place < end))
    }

    /// Where the range begins, if it is the next one to be remembered and the journal has all of it.
    fn find_range(&self, done: &Remembered) -> io::Result<Option<u64>> {
        let tail = self.log.tail();
        let Some((begin, anchor)) = first_entry(&tail, self.marks.remembered_to)? else {
            return Ok(None);
        };
        let end = begin.saturating_add(done.bytes);
        let is_whole = end <= self.log.length() && self.log.starts_line(end)?;
        Ok((anchor == done.anchor && done.bytes > 0 && is_whole).then_some(begin))
    }
}

/// The first entry at or after a place where a line begins: its own place, and the hash of its line.
fn first_entry(tail: &Tail<'_>, from: u64) -> io::Result<Option<(u64, u64)>> {
    let mut place = from;
    while let Some(line) = tail.line_at(place)? {
        if let Some(Line::Entry(_)) = line::decode(&line) {
            return Ok(Some((place, store::fnv1a(&line))));
        }
        place += line.len() as u64 + 1;
    }
    Ok(None)
}

/// The older summary and a new paragraph, the oldest text cut.
fn join(earlier: Option<&str>, paragraph: &str) -> String {
    let paragraph = paragraph.trim();
    let all = match earlier {
        Some(earlier) => format!("{}\n\n{paragraph}", earlier.trim()),
        None => paragraph.to_owned(),
    };
    let excess = all.len().saturating_sub(SUMMARY_BYTES);
    if excess == 0 {
        return all;
    }
    let kept = &all[all.ceil_char_boundary(excess)..];
    match kept.split_once("\n\n") {
        // Whole paragraphs, unless the newest one alone is too long.
        Some((_, whole)) => whole.to_owned(),
        None => kept.to_owned(),
    }
}

/// Reads what is pending of a chat, at most about `max_bytes` of texts. Does not lock the journal: a
/// turn may be running, and what it has said so far is not part of the range.
///
/// `None` when nothing is pending, or when the chat has no journal of this version.
pub fn read_pending(
    folder: &Path,
    chat: &SessionKey,
    up_to: UpTo,
    max_bytes: usize,
) -> Result<Option<Range>> {
    let path = store::path_of(folder, chat);
    let read = || -> io::Result<Option<Range>> {
        let file = match sys::file::open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let tail = Tail::new(&file, file.metadata()?.len());
        let window = read_window(tail, usize::MAX)?;
        let Some(marks) = window.marks else {
            return Ok(None);
        };
        let wanted = end_of(&window, &marks, up_to);
        let summary = window.conversation.summary_text().map(str::to_owned);
        // Before the entries of the range are held as well.
        drop(window);
        let tail = Tail::new(&file, wanted);
        let begin = match first_entry(&tail, marks.remembered_to)? {
            Some((place, anchor)) if place < wanted => (place, anchor),
            _ => return Ok(None),
        };
        // What was before the last `/new` is a range of its own: its summary is not for the new conversation.
        let is_before = up_to == UpTo::HalfWindow && begin.0 < marks.cleared_to;
        let end = if is_before {
            wanted.min(marks.cleared_to)
        } else {
            wanted
        };
        let mut range = read_range(&file, begin, end, max_bytes, summary)?;
        range.is_all &= end == wanted;
        Ok(Some(range))
    };
    read().map_err(Error::io("read the session", &path))
}

/// Where a range ends.
fn end_of(window: &Window, marks: &Marks, up_to: UpTo) -> u64 {
    let mut turns = window.conversation.turn_places();
    let begin = turns.first().map_or(marks.window_from, |(place, _)| *place);
    let running = turns.pop_if(|_| window.unfinished);
    let end = running.map_or(window.end, |(place, _)| place);
    match up_to {
        UpTo::Window => begin,
        UpTo::End => end,
        UpTo::HalfWindow => {
            let all: usize = turns.iter().map(|(_, bytes)| bytes).sum();
            let mut kept_bytes = 0;
            let kept = turns.iter().rev().take_while(|(_, bytes)| {
                kept_bytes += bytes;
                kept_bytes <= all / 2
            });
            let kept = kept.count().clamp(1, (turns.len() / 2).max(1));
            let first_kept = turns.len().saturating_sub(kept);
            turns.get(first_kept).map_or(begin, |(place, _)| *place)
        }
    }
}

/// Reads the entries of a range, whole turns of about `max_bytes` together. Of a single turn that is
/// longer, the first entries are read and the others are counted.
fn read_range(
    file: &File,
    (begin, anchor): (u64, u64),
    end: u64,
    max_bytes: usize,
    earlier_summary: Option<String>,
) -> io::Result<Range> {
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(begin))?;
    let mut lines = Lines::new(reader);
    let mut entries: Vec<Entry> = Vec::new();
    // Where turns begin among them.
    let mut begins = Vec::new();
    let (mut bytes, mut skipped, mut has_ended) = (0, 0, true);
    // The end of the last whole turn: its place, and how many entries there were.
    let mut whole: Option<(u64, usize)> = None;
    let mut place = begin;
    let mut is_all = true;
    while place < end {
        let line_begin = place;
        let Some(line) = lines.following()? else {
            break;
        };
        let decoded = line::decode(line);
        place = begin + lines.consumed();
        match decoded {
            Some(Line::Entry(mut entry)) => {
                if has_ended && !entries.is_empty() {
                    whole = Some((line_begin, entries.len()));
                }
                if has_ended {
                    begins.push(entries.len());
                }
                has_ended = closes_turn(&entry) && is_before_person(file, place)?;
                conversation::shorten(&mut entry, true);
                bytes += conversation::bytes_of(&entry);
                if bytes <= max_bytes || entries.is_empty() {
                    entries.push(entry);
                    continue;
                }
                if let Some((ended_at, count)) = whole {
                    entries.truncate(count);
                    (place, is_all) = (ended_at, false);
                    break;
                }
                skipped += 1;
            }
            Some(Line::State(state)) if state.turn.is_some() => {
                has_ended = true;
                if skipped > 0 {
                    is_all = place >= end;
                    break;
                }
            }
            _ => {}
        }
    }
    if skipped > 0 {
        let note = format!("[{skipped} more entries of this turn are left out here]");
        entries.push(Entry::new(EntryKind::Note, note));
    }
    Ok(Range {
        anchor,
        bytes: place.min(end) - begin,
        entries: without_guests(entries, &begins),
        earlier_summary,
        is_all,
    })
}

/// The entries without those of guests, and without all answers in a turn in which a guest spoke. `begins` says where
/// turns begin.
fn without_guests(entries: Vec<Entry>, begins: &[usize]) -> Vec<Entry> {
    let mut kept = Vec::with_capacity(entries.len());
    let mut turn: Vec<Entry> = Vec::new();
    let mut end_turn = |turn: &mut Vec<Entry>| {
        let is_guest = |entry: &Entry| entry.person == Role::Guest;
        if turn.iter().any(is_guest) {
            turn.retain(|entry| entry.kind == EntryKind::Person && !is_guest(entry));
        }
        kept.append(turn);
    };
    for (index, entry) in entries.into_iter().enumerate() {
        if begins.contains(&index) {
            end_turn(&mut turn);
        }
        turn.push(entry);
    }
    end_turn(&mut turn);
    kept
}

/// Whether the line at a place is a person's: a journal of nanobot's has no ends of turns.
fn is_before_person(file: &File, place: u64) -> io::Result<bool> {
    let line = Tail::new(file, place).line_at(place)?;
    let decoded = line.and_then(|line| line::decode(&line));
    Ok(matches!(decoded, Some(Line::Entry(entry)) if entry.kind == EntryKind::Person))
}

#[cfg(test)]
mod tests;
