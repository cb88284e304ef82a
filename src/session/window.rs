//! The end of a journal: what of it may go to the model, read backwards.

use std::io;
use std::path::Path;

use crate::append_log::Tail;
use crate::chat::{Entry, EntryKind};
use crate::error::{Error, Result};
use crate::limits::session::{HISTORY_BYTES, TURN_BYTES, TURN_ENTRIES};
use crate::message::SessionKey;
use crate::sys;

use super::conversation::{self, Conversation, JournalEntry};
use super::line::{self, Line, Marks};
use super::store::path_of;

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

/// Reads as much of a journal's end as may go to the model: at most `turns` whole turns, and the one
/// that has not ended, whatever its length.
pub(super) fn read_window(mut tail: Tail<'_>, turns: usize) -> io::Result<Window> {
    // The newest entry first.
    let mut found: Vec<JournalEntry> = Vec::new();
    let (mut bytes, mut garbled, mut turns_found, mut end) = (0, 0, 0, None);
    let (mut is_unfinished, mut is_cut) = (None, false);
    let mut marks: Option<Marks> = None;
    // A mark of a version that wrote no others.
    let mut cleared_to = 0;
    while let Some(line) = tail.previous()? {
        let window_from = marks.map_or(0, |marks| marks.window_from);
        if line.offset < window_from.max(cleared_to) {
            break;
        }
        if found.len() >= TURN_ENTRIES || bytes > TURN_BYTES {
            is_cut = true;
            break;
        }
        let turns = turns.saturating_add(usize::from(is_unfinished.unwrap_or(true)));
        bytes += line.bytes.len();
        let decoded = line::decode(&line.bytes);
        if decoded.is_some() {
            end.get_or_insert(line.offset + line.bytes.len() as u64 + 1);
        }
        match decoded {
            Some(Line::Entry(mut entry)) => {
                // A journal of nanobot's has no ends of turns: there an answer is one.
                let is_answer = closes_turn(&entry);
                is_unfinished.get_or_insert(!is_answer);
                let is_person = |later: &&mut JournalEntry| later.entry.kind == EntryKind::Person;
                if let Some(later) = found.last_mut().filter(is_person).filter(|_| is_answer) {
                    turns_found += usize::from(!later.begins_turn);
                    later.begins_turn = true;
                }
                let is_begun = found.last().is_some_and(|later| later.begins_turn);
                if turns_found >= turns && is_begun || turns_found > 0 && bytes > HISTORY_BYTES {
                    is_cut = true;
                    break;
                }
                if bytes > HISTORY_BYTES {
                    conversation::shorten(&mut entry, true);
                }
                found.push(JournalEntry::new(entry, line.offset, false));
            }
            Some(Line::State(state)) => {
                if state.turn.is_some() {
                    is_unfinished.get_or_insert(false);
                    if let Some(later) = found.last_mut() {
                        turns_found += usize::from(!later.begins_turn);
                        later.begins_turn = true;
                    }
                }
                if marks.is_none() && state.begins_conversation() {
                    cleared_to = cleared_to.max(state.consolidated_to.unwrap_or_default());
                }
                // A version that knew no marks may have archived what they name.
                let found = state.marks.filter(|marks| Some(marks.window_from) <= end);
                marks = marks.or(found);
            }
            None => garbled += 1,
        }
    }
    if is_cut && turns_found > 0 {
        // The rest of a turn whose beginning was not read.
        while found.last().is_some_and(|oldest| !oldest.begins_turn) {
            found.pop();
        }
    }
    if let Some(marks) = marks
        .as_mut()
        .filter(|marks| marks.window_from < cleared_to)
    {
        (marks.window_from, marks.cleared_to, marks.summary_at) = (cleared_to, cleared_to, None);
    }
    let first_offset = found.last().map(|oldest| oldest.offset);
    let mut conversation = Conversation::default();
    if let Some(place) = marks.and_then(|marks| marks.summary_at) {
        conversation.set_summary(read_summary(&tail, place)?);
    }
    found
        .into_iter()
        .rev()
        .for_each(|entry| conversation.push(entry));
    Ok(Window {
        conversation,
        first_offset,
        unfinished: is_unfinished.unwrap_or(false),
        garbled,
        marks,
        end: end.unwrap_or(0),
    })
}

/// The summary in the state line at a place; `None` when there is none.
fn read_summary(tail: &Tail<'_>, place: u64) -> io::Result<Option<String>> {
    let line = tail.line_at(place)?;
    Ok(match line.and_then(|line| line::decode(&line)) {
        Some(Line::State(state)) => state.summary,
        _ => None,
    })
}

/// Whether an entry answers the person, so that its turn may end with it.
pub(super) fn closes_turn(entry: &Entry) -> bool {
    entry.kind == EntryKind::Assistant && entry.tool_calls.is_empty()
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
