//! Where a request's cache is marked, and for how long: PURE.

use std::time::Duration;

use super::{CACHE_HOUR, CACHE_MINUTES, CACHE_REACH};
use crate::base::chat::{Entry, EntryKind, Request, Role};
use crate::config::schema::CacheTime;

/// Pauses of a conversation that say whether the next one will be shorter than an hour: those of about a day.
const CACHE_PAUSES: usize = 8;

/// How long the server keeps what is marked, from its last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Five minutes; to write it costs a quarter more than other input.
    FiveMinutes,
    /// An hour; to write it costs twice as much as other input.
    Hour,
}

/// The marks of a request.
///
/// The API takes four, reads the longest cached beginning of at most [`CACHE_REACH`] blocks before one, and charges a
/// tenth for what it reads. Two are on the tools and on the system prompt: with another MEMORY.md the tools are still
/// read. The other two:
///
/// - After the history, before the running turn, whose facts are other ones in the next turn. Each step of
///   the turn reads it, and the first step of the next turn.
/// - After the newest entry, which the next step of the turn reads. A turn of one step writes a message
///   in vain, a quarter of little; a turn of two steps has already saved more.
///
/// After a turn of many blocks the mark that it has left is out of reach for the next one, whose first
/// request would write the whole history again. So that request marks the same place instead of the
/// newest entry.
///
/// Marks of an hour have to come before those of five minutes.
#[derive(Debug)]
pub struct Marks {
    /// On the tools and on the system prompt.
    pub prompt: Option<Time>,
    /// After how many entries, and for how long.
    entries: [(usize, Option<Time>); 2],
}

impl Marks {
    /// Chooses the marks of a request.
    pub fn of(request: &Request<'_>, wanted: CacheTime) -> Self {
        let history = request.stable.min(request.entries.len());
        let (before, running) = request.entries.split_at(history);
        let (prompt, kept) = match wanted {
            CacheTime::Off => (None, None),
            CacheTime::FiveMinutes => (Some(Time::FiveMinutes), Some(Time::FiveMinutes)),
            CacheTime::Hour => (Some(Time::Hour), Some(Time::Hour)),
            CacheTime::Auto => match comes_back_within_hour(request.entries) {
                Some(true) => (Some(Time::Hour), Some(Time::Hour)),
                Some(false) => (Some(Time::FiveMinutes), Some(Time::FiveMinutes)),
                // Other conversations share the prompt.
                None => (Some(Time::Hour), Some(Time::FiveMinutes)),
            },
        };
        let is_first_step = running.iter().all(|entry| entry.role() == Role::User);
        let last_turn = begin_of_last_turn(before);
        let blocks: usize = before[last_turn..].iter().map(count_blocks).sum();
        let entries = match is_first_step && blocks >= CACHE_REACH {
            true => [(last_turn, kept), (history, kept)],
            // Only the next step reads the newest entry.
            false => [
                (history, kept),
                (request.entries.len(), kept.map(|_| Time::FiveMinutes)),
            ],
        };
        Self { prompt, entries }
    }

    /// The mark after so many entries.
    pub fn after(&self, entries: usize) -> Option<Time> {
        let mut marks = self.entries.iter();
        marks
            .find(|(after, _)| *after == entries)
            .and_then(|(_, time)| *time)
    }
}

/// Whether the person mostly comes back within an hour when they pause for longer than five minutes; `None` while they
/// have not paused.
///
/// An hour saves 1.15 of what the history costs as input at each such pause, and costs 0.75 of it more at a longer one.
fn comes_back_within_hour(entries: &[&Entry]) -> Option<bool> {
    let timed = |entry: &&Entry| entry.timestamp.map(|time| (entry.kind, time));
    let later = entries.iter().filter_map(timed);
    let pairs = later.clone().zip(later.skip(1));
    let pauses: Vec<Duration> = pairs
        .filter(|(_, (kind, _))| *kind == EntryKind::Person)
        // A clock that was put back makes no pause.
        .filter_map(|((_, before), (_, after))| (after - before).to_std().ok())
        .filter(|pause| *pause > CACHE_MINUTES)
        .collect();
    let last = &pauses[pauses.len().saturating_sub(CACHE_PAUSES)..];
    let short = last.iter().filter(|pause| **pause <= CACHE_HOUR).count();
    (!last.is_empty()).then_some(2 * short >= last.len())
}

/// Where the last turn of the history begins: at a person's text that follows a reply without calls, or
/// the summary of older turns.
fn begin_of_last_turn(history: &[&Entry]) -> usize {
    let is_end = |entry: &Entry| match entry.kind {
        EntryKind::Assistant => entry.tool_calls.is_empty(),
        kind => kind == EntryKind::Summary,
    };
    let is_begin = |pair: &[&Entry]| is_end(pair[0]) && pair[1].kind == EntryKind::Person;
    let before = history.windows(2).rposition(is_begin);
    before.map_or(0, |before| before + 1)
}

fn count_blocks(entry: &&Entry) -> usize {
    1 + entry.tool_calls.len() + 2 * entry.images.len()
}
