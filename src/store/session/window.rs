//! The end of a journal: what of it may go to the model, read backwards.

use std::io;
use std::path::Path;

use crate::base::chat::{Entry, EntryKind};
use crate::base::error::{Error, Result};
use crate::base::message::SessionKey;
use crate::store::append_log::{Tail, TailLine};
use crate::sys;

use super::HISTORY_BYTES;
use super::conversation::{self, Conversation, JournalEntry};
use super::line::{self, Line, Marks, State};
use super::store::path_of;

/// Bytes of a journal that are read back for the history. Of old results of tools little is held, so
/// that this is more; an old board reads and parses it in half a second.
const WINDOW_READ_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a journal that are read back to find the beginning of its last turn. A turn of 40
/// steps with four calls each, all with results of the usual length, is 3 MB.
const TURN_BYTES: usize = 16 * 1024 * 1024;
/// Entries that are read back for the same purpose, so that many small ones fill no memory.
const TURN_ENTRIES: usize = 8_000;

/// The end of a journal.
#[derive(Debug)]
pub struct Window {
    /// The entries that may go to the model, behind the summary of what was before.
    pub conversation: Conversation,
    /// The byte at which the first of these entries begins.
    pub first_offset: Option<u64>,
    /// Whether entries follow the last end of a turn.
    pub unfinished: bool,
    /// Lines that could not be read.
    pub garbled: usize,
    /// The journal's marks; `None` when no turn has ended since this program knows marks.
    pub marks: Option<Marks>,
    /// The end of the last readable line.
    pub end: u64,
}

/// Reads as much of a journal's end as may go to the model: at most one whole turn more than `turns`, and
/// the one that has not ended, whatever its length.
pub(super) fn read_window(mut tail: Tail<'_>, turns: usize) -> io::Result<Window> {
    let mut reading = Reading {
        turns: turns.saturating_add(1),
        ..Reading::default()
    };
    while let Some(line) = tail.previous()? {
        if !reading.take(&line) {
            break;
        }
    }
    reading.finish(&tail)
}

/// What has been read, from the end of a journal.
#[derive(Default)]
struct Reading {
    /// Most turns that have ended.
    turns: usize,
    /// The newest entry first.
    found: Vec<JournalEntry>,
    turns_found: usize,
    /// Whether there is more that was not read.
    is_cut: bool,
    is_unfinished: Option<bool>,
    /// Bytes of the lines that were read, and about how many are held.
    bytes_read: usize,
    bytes_held: usize,
    garbled: usize,
    marks: Option<Marks>,
    /// Where a version that knew no marks began a new conversation.
    cleared_to: u64,
    end: Option<u64>,
}

impl Reading {
    /// Takes the line before those that were taken; false when it and all before it are not needed.
    fn take(&mut self, line: &TailLine) -> bool {
        let window_from = self.marks.map_or(0, |marks| marks.window_from);
        if line.offset < window_from.max(self.cleared_to) {
            return false;
        }
        if self.found.len() >= TURN_ENTRIES || self.bytes_read > TURN_BYTES {
            self.is_cut = true;
            return false;
        }
        self.bytes_read += line.bytes.len();
        let Some(decoded) = line::decode(&line.bytes) else {
            self.garbled += 1;
            return true;
        };
        self.end
            .get_or_insert(line.offset + line.bytes.len() as u64 + 1);
        match decoded {
            Line::Entry(entry) => return self.take_entry(entry, line.offset),
            Line::State(state) => self.take_state(&state),
        }
        true
    }

    fn take_entry(&mut self, mut entry: Entry, offset: u64) -> bool {
        // A journal of nanobot's has no ends of turns: there an answer is one.
        let is_answer = closes_turn(&entry);
        let is_unfinished = *self.is_unfinished.get_or_insert(!is_answer);
        let is_person = |later: &JournalEntry| later.entry.kind == EntryKind::Person;
        if is_answer && self.found.last().is_some_and(is_person) {
            self.begin_turn();
        }
        if self.turns_found > 0 || !is_unfinished {
            // Only a turn that goes on needs it.
            entry.reasoning.clear();
        }
        let is_begun = self.found.last().is_some_and(|later| later.begins_turn);
        let is_enough =
            is_begun && self.turns_found >= self.turns.saturating_add(usize::from(is_unfinished));
        let is_full = self.bytes_read > WINDOW_READ_BYTES || self.bytes_held > HISTORY_BYTES;
        if is_enough || is_full && self.turns_found > 0 {
            self.is_cut = true;
            return false;
        }
        let shortened_to = self.marks.map_or(0, |marks| marks.shortened_to);
        if is_full || offset < shortened_to {
            conversation::shorten(&mut entry, true);
        }
        self.bytes_held += conversation::bytes_of(&entry);
        self.found.push(JournalEntry::new(entry, offset, false));
        true
    }

    fn take_state(&mut self, state: &State) {
        if state.turn.is_some() {
            self.is_unfinished.get_or_insert(false);
            self.begin_turn();
        }
        if self.marks.is_none() && state.begins_conversation() {
            self.cleared_to = self
                .cleared_to
                .max(state.consolidated_to.unwrap_or_default());
        }
        // A version that knew no marks may have archived what they name.
        let found = state
            .marks
            .filter(|marks| Some(marks.window_from) <= self.end);
        self.marks = self.marks.or(found);
    }

    /// The oldest entry that was found begins a turn.
    fn begin_turn(&mut self) {
        if let Some(later) = self.found.last_mut() {
            self.turns_found += usize::from(!later.begins_turn);
            later.begins_turn = true;
        }
    }

    fn finish(mut self, tail: &Tail<'_>) -> io::Result<Window> {
        if self.is_cut && self.turns_found > 0 {
            // The rest of a turn whose beginning was not read.
            while self.found.last().is_some_and(|oldest| !oldest.begins_turn) {
                self.found.pop();
            }
        }
        let cleared_to = self.cleared_to;
        let marks = self.marks.as_mut();
        if let Some(marks) = marks.filter(|marks| marks.window_from < cleared_to) {
            (marks.window_from, marks.cleared_to, marks.summary_at) =
                (cleared_to, cleared_to, None);
        }
        let first_offset = self.found.last().map(|oldest| oldest.offset);
        let shortened_to = self.marks.map_or(0, |marks| marks.shortened_to);
        let mut conversation = Conversation::new(shortened_to);
        if let Some(place) = self.marks.and_then(|marks| marks.summary_at) {
            conversation.set_summary(read_summary(tail, place)?);
        }
        let found = self.found.into_iter().rev();
        found.for_each(|entry| conversation.push(entry));
        Ok(Window {
            conversation,
            first_offset,
            unfinished: self.is_unfinished.unwrap_or(false),
            garbled: self.garbled,
            marks: self.marks,
            end: self.end.unwrap_or(0),
        })
    }
}

/// The summary in the state line at a place; `None` when there is none.
fn read_summary(tail: &Tail<'_>, place: u64) -> io::Result<Option<String>> {
    let line = tail.line_at(place)?;
    Ok(match line.and_then(|line| line::decode(&line)) {
        Some(Line::State(state)) => state.summary,
        _ => None,
    })
}

/// Whether an entry answers the person, so that its turn may end with it. An answer that is being reviewed has not gone out.
pub(super) fn closes_turn(entry: &Entry) -> bool {
    entry.kind == EntryKind::Assistant && entry.tool_calls.is_empty() && !entry.is_proposed
}

/// Counts the entries of a chat that may go to the model, of at most so many turns; see
/// [`read_conversation`].
pub fn count_window(folder: &Path, chat: &SessionKey, turns: usize) -> Result<usize> {
    Ok(read_conversation(folder, chat, turns)?.len())
}

/// Reads the entries of a chat that may go to the model, of at most so many turns. Does not lock its
/// journal: a turn may be running. A chat without a journal has none.
pub fn read_conversation(folder: &Path, chat: &SessionKey, turns: usize) -> Result<Conversation> {
    let path = path_of(folder, chat);
    let read = || -> io::Result<Conversation> {
        let file = match sys::file::open_to_read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Conversation::default());
            }
            opened => opened?,
        };
        let tail = Tail::new(&file, file.metadata()?.len());
        Ok(read_window(tail, turns)?.conversation)
    };
    read().map_err(Error::io("read the session", &path))
}
