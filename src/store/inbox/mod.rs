//! Accepted messages that are not in their session's journal yet.
//!
//! A message is stored here before it is confirmed to its channel, until it is in its session's
//! journal. A message that arrives twice is accepted once.

mod state;

use std::collections::BTreeSet;
use std::path::Path;

use chrono::{DateTime, FixedOffset};

use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::limits::append_log::LINE_BYTES;
use crate::base::limits::inbox::MESSAGES;
use crate::base::message::{Attachment, Envelope, SessionKey};
use crate::base::sync::{Mutex, MutexGuard};
use crate::store::append_log::{AppendLog, Durability, to_line};
use crate::sys;

use state::{Record, State};

/// Ids of messages of one channel that are known again: of owners', and of all others'. A channel repeats at most the
/// batch that we have not confirmed, of which Telegram's is 100, or what it holds to be lost, for hours.
const SEEN: usize = 512;

/// Bytes of the records that follow a message: that it has begun, was asked about, and is done.
const NOTES_BYTES: usize = 512;
/// Bytes of the lines of messages that wait, which are held in memory too. Three batches of 100
/// messages, each as long as Telegram lets them be, fit.
const BYTES: usize = 4 * 1024 * 1024;

/// The inbox of one home folder, shared by all threads.
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
    /// Records of messages that are over which could not be written. They go before the next line.
    unwritten: Vec<u8>,
}

impl Inbox {
    /// Opens the file, or creates it. Fails when another process has it open.
    pub fn open(path: &Path, clock: Clock) -> Result<Self> {
        let mut state = State::default();
        let (log, repairs) =
            AppendLog::replay(path, "inbox", |record, bytes| state.apply(record, bytes))?;
        Ok(Self {
            clock,
            repairs,
            inner: Mutex::new(Inner {
                log,
                state,
                unwritten: Vec::new(),
            }),
        })
    }

    /// The repairs made when the file was opened, as sentences for people.
    pub fn repairs(&self) -> Vec<String> {
        self.repairs.clone()
    }

    /// Accepts messages, all or none, with one write: once this returns, they are on the disk.
    ///
    /// Returns those that are new, in their order; the others have been accepted before. A message
    /// without an id is always new and gets one. Fails when too many wait already: then nothing more
    /// may be fetched from the channel.
    pub fn accept(&self, messages: Vec<Envelope>) -> Result<Vec<Envelope>> {
        let mut inner = self.lock();
        let new = inner.state.new_ones(messages);
        if new.is_empty() {
            return Ok(new);
        }
        let at = self.clock.now();
        let records: Vec<Record> = new
            .into_iter()
            .map(|message| Ok(Record::accepted(with_id(message)?, at)))
            .collect::<Result<_>>()?;
        inner.record(records)
    }

    /// Records, on the disk, that a message has another text now. Returns the text with the notes about
    /// its files; `None` when no such message waits, or it says that already.
    pub fn edit(&self, session: &SessionKey, reference: &str, text: &str) -> Option<String> {
        let mut inner = self.lock();
        let record = inner.state.edit(session, reference, text)?;
        let Record::Edited { edited: id, .. } = &record else {
            return None;
        };
        let id = id.clone();
        let line = to_line(&record);
        if let Err(error) = inner.check_room(0, line.len()) {
            tracing::warn!("ignored the edit of a message: {error}");
            return None;
        }
        inner.compact();
        // The message itself is safe. If the process is killed now, its old text counts.
        if let Err(error) = inner.append(&line, Durability::Synced) {
            tracing::warn!("failed to save the edit of a message: {error}");
        }
        inner.state.apply(record, line.len());
        inner.state.message(&id).map(|message| message.text)
    }

    /// Whether a message waits, by its id within its chat, and nothing has been begun of it.
    pub fn is_unread(&self, session: &SessionKey, reference: &str) -> bool {
        self.lock().state.is_unread(session, reference)
    }

    /// Records the outcome of fetching a message's remote files: `attachments` are in the workspace now, and
    /// `notes`, a line each, say why others are not. Returns the message as it is now; `None` when it
    /// is not waiting any more.
    ///
    /// The line is not forced to the disk: after a power cut the files may be fetched again.
    pub fn fetched(
        &self,
        id: &str,
        attachments: Vec<Attachment>,
        notes: Vec<String>,
    ) -> Option<Envelope> {
        let mut inner = self.lock();
        if !inner.state.holds(id) {
            return None;
        }
        let record = Record::Fetched {
            fetched: id.to_owned(),
            attachments,
            notes,
        };
        if let Err(error) = inner.append(&to_line(&record), Durability::Buffered) {
            tracing::warn!("failed to record that files were fetched: {error}");
        }
        inner.state.apply(record, 0);
        inner.state.message(id)
    }

    /// Records that a session has the message. A power cut may lose the record, and then the message is
    /// in both: the session's entry names it.
    pub fn taken(&self, id: &str) {
        let mut inner = self.lock();
        if !inner.state.holds(id) {
            return;
        }
        let record = Record::Taken { taken: id.into() };
        // The session has the message, whether or not the record can be written.
        let line = to_line(&record);
        if let Err(error) = inner.append(&line, Durability::Buffered) {
            tracing::warn!("failed to record that a message is in its session: {error}");
            inner.unwritten.extend(line);
        }
        inner.state.apply(record, 0);
    }

    /// Forgets that a message was accepted, until the next start: it is new when it arrives again.
    pub fn forget(&self, id: &str) {
        self.lock().state.forget(id);
    }

    /// Records, on the disk, that work on a message begins that must not be done twice.
    pub fn begin(&self, id: &str) -> Result<()> {
        self.note(id, Record::Begun { begun: id.into() })
    }

    /// Records, on the disk, that nothing of such work was done, because it waits for an approval: after a kill it is
    /// asked again. It [begins](Inbox::begin) once it is allowed.
    pub fn ask(&self, id: &str) -> Result<()> {
        self.note(id, Record::Asked { asked: id.into() })
    }

    fn note(&self, id: &str, record: Record) -> Result<()> {
        let mut inner = self.lock();
        if !inner.state.holds(id) {
            return Err(Error::Failed(format!(
                "the message {id} is not in the inbox"
            )));
        }
        inner.append(&to_line(&record), Durability::Synced)?;
        inner.state.apply(record, 0);
        Ok(())
    }

    /// The message with this id as it is now, if it is waiting, begun or not.
    pub fn message(&self, id: &str) -> Option<Envelope> {
        self.lock().state.message(id)
    }

    /// Whether the message with this id is still waiting, begun or not.
    pub fn holds(&self, id: &str) -> bool {
        self.lock().state.holds(id)
    }

    /// The messages that were not begun, in the order in which they came. Those with remote files still
    /// have to get them.
    ///
    /// Read this before any receiver runs: what a receiver accepts meanwhile would be handled twice.
    pub fn waiting(&self) -> Vec<Envelope> {
        self.lock().state.messages(false)
    }

    /// The messages that were begun and not finished: after a restart, those that a kill interrupted.
    pub fn begun(&self) -> Vec<Envelope> {
        self.lock().state.messages(true)
    }

    /// The paths, within the workspace, of files that messages in the inbox need.
    pub fn files(&self) -> BTreeSet<String> {
        self.lock().state.files()
    }

    /// The newest number of a channel, from its id `channel:number`, and when it was accepted.
    pub fn last_update(&self, channel: &str) -> Option<(i64, DateTime<FixedOffset>)> {
        self.lock().state.last_update(channel)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        crate::base::sync::may_wait_for_disk();
        self.inner.lock()
    }
}

impl Inner {
    /// Writes the records of accepted messages, with one sync for all, and returns the messages.
    fn record(&mut self, records: Vec<Record>) -> Result<Vec<Envelope>> {
        let lines: Vec<Vec<u8>> = records.iter().map(to_line).collect();
        if lines.iter().any(|line| line.len() > LINE_BYTES) {
            return Err(Error::TooLarge {
                what: "a message with its files".to_owned(),
                limit: LINE_BYTES,
            });
        }
        let content = lines.concat();
        self.check_room(lines.len(), content.len())?;
        self.compact();
        // What is accepted can be begun and noted as done on a disk that is full by then: else it would be done again.
        let notes = (self.state.waiting() + lines.len()) * NOTES_BYTES;
        self.log.reserve(content.len() + notes)?;
        self.append(&content, Durability::Synced)?;
        let messages = records.iter().filter_map(Record::message).cloned();
        let messages = messages.collect();
        for (record, line) in records.into_iter().zip(lines) {
            self.state.apply(record, line.len());
        }
        Ok(messages)
    }

    fn append(&mut self, lines: &[u8], durability: Durability) -> Result<()> {
        let lines = [&self.unwritten, lines].concat();
        self.log.append(&lines, durability)?;
        self.unwritten.clear();
        Ok(())
    }

    fn compact(&mut self) {
        let Self {
            log,
            state,
            unwritten,
        } = self;
        if log.compact(state.live_bytes(), || state.compacted()) {
            unwritten.clear();
        }
    }

    fn check_room(&self, messages: usize, bytes: usize) -> Result<()> {
        let waiting = self.state.waiting();
        if waiting + messages <= MESSAGES && self.state.live_bytes() + bytes <= BYTES {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "The inbox is full: {waiting} messages are waiting. New ones are accepted once some of these are done."
        )))
    }
}

/// The message, with a unique id.
fn with_id(mut message: Envelope) -> Result<Envelope> {
    if message.id.is_empty() {
        let number = u64::from_ne_bytes(sys::random::bytes()?);
        message.id = format!("inbox:{number:016x}");
    }
    Ok(message)
}

#[cfg(test)]
mod tests;
