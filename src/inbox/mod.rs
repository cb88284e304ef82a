//! Floor 5: messages that were accepted and that no session has yet.
//!
//! A message is here, on the disk, before its channel is told that we have it, until it stands in a
//! session's journal. The same message seen twice is accepted once.

mod state;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, FixedOffset};

use crate::append_log::{AppendLog, Durability, to_line};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::limits::append_log::LINE_BYTES;
use crate::limits::inbox::{BYTES, MESSAGES};
use crate::message::Envelope;
use crate::sys;

use state::{Fact, State};

/// The inbox of one home, for all threads.
#[derive(Debug)]
pub struct Inbox {
    clock: Clock,
    repairs: Vec<String>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    log: AppendLog,
    state: State,
}

impl Inbox {
    /// Opens the file, or begins it. Fails when another process has it open.
    pub fn open(path: &Path, clock: Clock) -> Result<Self> {
        let mut state = State::default();
        let (log, repairs) =
            AppendLog::replay(path, "inbox", |fact, bytes| state.apply(fact, bytes))?;
        Ok(Self {
            clock,
            repairs,
            inner: Mutex::new(Inner { log, state }),
        })
    }

    /// What was repaired when it was opened, as sentences for the person.
    pub fn repairs(&self) -> Vec<String> {
        self.repairs.clone()
    }

    /// Takes messages in, all or none: once this returns, they are on the disk.
    ///
    /// Returns those that are new, in their order; the others have been accepted before. A message
    /// without an id is always new and gets one, so that it can be taken. Fails when too much waits
    /// already: then nothing more may be fetched from the channel.
    pub fn accept(&self, messages: Vec<Envelope>) -> Result<Vec<Envelope>> {
        let mut inner = self.lock();
        let new = inner.state.new_ones(messages);
        if new.is_empty() {
            return Ok(new);
        }
        let at = self.clock.now();
        let facts: Vec<Fact> = new
            .into_iter()
            .map(|message| Ok(Fact::accepted(with_id(message)?, at)))
            .collect::<Result<_>>()?;
        inner.record(facts)
    }

    /// Notes that a session has the message. A power cut may take the note, and then the message is
    /// in both: the session's entry names it.
    pub fn taken(&self, id: &str) {
        let mut inner = self.lock();
        if !inner.state.holds(id) {
            return;
        }
        let fact = Fact::Taken { taken: id.into() };
        // What a session has is not ours any more, whether or not the note can be written.
        if let Err(error) = inner.log.append(&to_line(&fact), Durability::Buffered) {
            tracing::warn!("a message that is in its session stays in the inbox too: {error}");
        }
        inner.state.apply(fact, 0);
    }

    /// Notes, on the disk, that something is done with a message that must not be done twice.
    pub fn begin(&self, id: &str) -> Result<()> {
        let mut inner = self.lock();
        if !inner.state.holds(id) {
            return Err(Error::Failed(format!(
                "the message {id} is not in the inbox"
            )));
        }
        let fact = Fact::Begun { begun: id.into() };
        inner.log.append(&to_line(&fact), Durability::Synced)?;
        inner.state.apply(fact, 0);
        Ok(())
    }

    /// The messages with which nothing has been done, in the order in which they came.
    pub fn waiting(&self) -> Vec<Envelope> {
        self.lock().state.messages(false)
    }

    /// The messages that were begun and not taken: after a restart, those that a kill interrupted.
    pub fn begun(&self) -> Vec<Envelope> {
        self.lock().state.messages(true)
    }

    /// The number of the message that a channel gave last, as its id `channel:number` has it, and
    /// when it was accepted.
    pub fn last_update(&self, channel: &str) -> Option<(i64, DateTime<FixedOffset>)> {
        self.lock().state.last_update(channel)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Writes what was accepted, with one sync for all, and returns the messages.
    fn record(&mut self, facts: Vec<Fact>) -> Result<Vec<Envelope>> {
        let lines: Vec<Vec<u8>> = facts.iter().map(to_line).collect();
        if lines.iter().any(|line| line.len() > LINE_BYTES) {
            return Err(Error::TooLarge {
                what: "a message with all that belongs to it".to_owned(),
                limit: LINE_BYTES,
            });
        }
        let content = lines.concat();
        self.check_room(lines.len(), content.len())?;
        let Self { log, state } = self;
        log.compact(state.live_bytes(), || state.compacted());
        log.append(&content, Durability::Synced)?;
        let messages = facts.iter().filter_map(Fact::message).cloned().collect();
        for (fact, line) in facts.into_iter().zip(lines) {
            state.apply(fact, line.len());
        }
        Ok(messages)
    }

    fn check_room(&self, messages: usize, bytes: usize) -> Result<()> {
        let waiting = self.state.waiting();
        if waiting + messages <= MESSAGES && self.state.live_bytes() + bytes <= BYTES {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "the inbox is full: {waiting} messages wait to be worked on; new ones are fetched when some are done"
        )))
    }
}

/// The message, with an id that no other has and never will.
fn with_id(mut message: Envelope) -> Result<Envelope> {
    if message.id.is_empty() {
        let number = u64::from_ne_bytes(sys::random::bytes()?);
        message.id = format!("inbox:{number:016x}");
    }
    Ok(message)
}

#[cfg(test)]
mod tests;
