//! Floor 5: what is owed to people, until their channel has confirmed it, piece by piece.
//!
//! A parcel is here, on the disk, before it is sent. What a kill or a dead network left is sent
//! later, in order. The file is empty while nothing is owed and no turn shows a draft.

mod state;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::append_log::{AppendLog, Durability, to_line};
use crate::error::{Error, Result};
use crate::limits::append_log::LINE_BYTES;
use crate::limits::outbox::{BYTES, PARCELS};
use crate::message::{Address, OutgoingMessage};

use state::{Fact, State};

/// The outbox of one home, for all threads.
#[derive(Debug)]
pub struct Outbox {
    repairs: Vec<String>,
    inner: Mutex<Inner>,
}

/// A parcel that is owed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Its number. Later parcels have larger ones, until the process ends.
    pub id: u64,
    /// What is to be sent.
    pub parcel: OutgoingMessage,
    /// Of a turn's closing words: the length of its session's journal before the turn's end.
    pub turn: Option<u64>,
    /// How many of its pieces the channel has confirmed.
    pub pieces: usize,
}

#[derive(Debug)]
struct Inner {
    log: AppendLog,
    state: State,
    /// Confirmations that could not be written. They go before the next line.
    unwritten: Vec<u8>,
}

impl Outbox {
    /// Opens the file, or begins it. Fails when another process has it open.
    pub fn open(path: &Path) -> Result<Self> {
        let mut state = State::default();
        let (log, repairs) =
            AppendLog::replay(path, "outbox", |fact, bytes| state.apply(fact, bytes))?;
        Ok(Self {
            repairs,
            inner: Mutex::new(Inner {
                log,
                state,
                unwritten: Vec::new(),
            }),
        })
    }

    /// What was repaired when it was opened, as sentences for the person.
    pub fn repairs(&self) -> Vec<String> {
        self.repairs.clone()
    }

    /// Takes a parcel in: once this returns, it is on the disk. Returns its number. A text that is
    /// too long is cut, with a note. Fails when too much is owed already.
    ///
    /// `turn` is the length of the session's journal, of the words that close a turn. They are held
    /// back, also after a restart, until [`Outbox::release`] says that the turn has ended: words that
    /// were sent of a turn that goes on would be said twice.
    pub fn add(&self, parcel: &OutgoingMessage, turn: Option<u64>) -> Result<u64> {
        let mut inner = self.lock();
        let id = inner.state.next_id();
        let fact = Fact::owed(id, parcel, turn);
        let line = to_line(&fact);
        if line.len() > LINE_BYTES {
            return Err(Error::TooLarge {
                what: format!("a message to {} with all that belongs to it", parcel.to),
                limit: LINE_BYTES,
            });
        }
        inner.check_room(line.len())?;
        inner.compact();
        inner.append(&line, Durability::Synced)?;
        inner.state.apply(fact, line.len());
        Ok(id)
    }

    /// Lets a chat's closing words go: the journal says by now that the turn has ended.
    pub fn release(&self, chat: &Address) {
        self.lock().state.release(chat);
    }

    /// All that is owed, oldest first.
    pub fn pending(&self) -> Vec<Owed> {
        self.lock().state.owed().cloned().collect()
    }

    /// How many parcels are owed.
    pub fn count(&self) -> usize {
        self.lock().state.owed().count()
    }

    /// Whether a chat is owed what takes the place of its draft.
    pub fn replaces_draft(&self, chat: &Address) -> bool {
        let inner = self.lock();
        let mut owed = inner.state.owed();
        owed.any(|owed| owed.parcel.to == *chat && owed.parcel.replaces_draft)
    }

    /// The chats of a channel to which something may be sent.
    pub fn chats(&self, channel: &str) -> BTreeSet<Address> {
        let inner = self.lock();
        let chats = inner.state.sendable().map(|owed| &owed.parcel.to);
        chats
            .filter(|chat| chat.channel == channel)
            .cloned()
            .collect()
    }

    /// The oldest parcel of a channel that may be sent and whose chat is none that `not` excludes. It is
    /// the first of its chat. `not` must not call the outbox.
    pub fn next(&self, channel: &str, not: &dyn Fn(&Address) -> bool) -> Option<Owed> {
        let inner = self.lock();
        let is_wanted = |chat: &Address| chat.channel == channel && !not(chat);
        inner.state.next(is_wanted).cloned()
    }

    /// Notes, on the disk, that the channel has confirmed so many pieces of a parcel.
    ///
    /// After an error it holds until the process ends, and is written with what comes next.
    pub fn sent(&self, id: u64, pieces: usize) -> Result<()> {
        self.confirm(Fact::Sent { sent: id, pieces })
    }

    /// Notes, on the disk, that the channel has confirmed all of a parcel. See [`Outbox::sent`].
    pub fn done(&self, id: u64) -> Result<()> {
        self.confirm(Fact::Done { done: id })
    }

    /// The channel's name for the message that shows the running turn of a chat.
    ///
    /// The first confirmation of a parcel that replaces the draft takes the draft with it: from then
    /// on the message is the answer.
    pub fn draft(&self, chat: &Address) -> Option<String> {
        self.lock().state.draft(chat).map(str::to_owned)
    }

    /// Notes which message shows the running turn. A power cut may take the note, and then the answer
    /// comes as a message of its own.
    pub fn set_draft(&self, chat: &Address, reference: Option<&str>) {
        let mut inner = self.lock();
        if inner.state.draft(chat) == reference {
            return;
        }
        let fact = Fact::Draft {
            draft: chat.clone(),
            message: reference.map(str::to_owned),
        };
        let line = to_line(&fact);
        inner.state.apply(fact, 0);
        if let Err(error) = inner.append_or_empty(&line, Durability::Buffered) {
            tracing::warn!("after a restart an answer may not replace its draft: {error}");
        }
    }

    /// What was confirmed was confirmed, whether or not it can be written.
    fn confirm(&self, fact: Fact) -> Result<()> {
        let mut inner = self.lock();
        if !inner.state.is_news(&fact) {
            return Ok(());
        }
        let line = to_line(&fact);
        inner.state.apply(fact, 0);
        let written = inner.append_or_empty(&line, Durability::Synced);
        if written.is_err() {
            inner.unwritten.extend(line);
        }
        written
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Appends a line that the state knows already, or empties the file when nothing is owed.
    fn append_or_empty(&mut self, line: &[u8], durability: Durability) -> Result<()> {
        if self.state.owed().next().is_some() {
            return self.append(line, durability);
        }
        // Drafts of turns that still run stay noted.
        self.log.restart(&self.state.compacted(), durability)?;
        self.unwritten.clear();
        Ok(())
    }

    fn append(&mut self, line: &[u8], durability: Durability) -> Result<()> {
        let lines = [&self.unwritten, line].concat();
        self.log.append(&lines, durability)?;
        self.unwritten.clear();
        Ok(())
    }

    fn compact(&mut self) {
        let Self { log, state, .. } = self;
        if log.compact(state.live_bytes(), || state.compacted()) {
            self.unwritten.clear();
        }
    }

    fn check_room(&self, bytes: usize) -> Result<()> {
        let owed = self.state.owed().count();
        if owed < PARCELS && self.state.live_bytes() + bytes <= BYTES {
            return Ok(());
        }
        Err(Error::Failed(format!(
            "the outbox is full: {owed} messages wait for their channel to be reachable"
        )))
    }
}

#[cfg(test)]
mod tests;
