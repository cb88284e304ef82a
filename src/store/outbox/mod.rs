//! Messages to people, until their channel has confirmed them piece by piece.
//!
//! A message is stored here before it is sent. What a kill or a network failure leaves behind is sent
//! later, in order. The file is empty while nothing is pending, no draft is shown and no message was added
//! that may be added once only.

mod room;
mod state;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::base::limits::append_log::LINE_BYTES;
use crate::base::message::{Address, DraftKey, OutgoingMessage, SessionKey};
use crate::base::sync::{Mutex, MutexGuard};
use crate::store::append_log::{AppendLog, Durability, to_line};
use crate::sys::random;
use crate::text::one_line;

use state::{Record, State};

/// Messages that are pending at a time: what jobs and people make in a day without the network.
const MESSAGES_MAX: usize = 500;
/// Messages that wait for one chat at a time.
const CHAT_MAX: usize = 100;
/// Messages that wait for one chat beyond which none of the program's own is added, as of an alarm or a job.
const CHAT_NOTICES_MAX: usize = 50;
/// Messages that are pending beyond which none of the program's own is added.
const NOTICES_MAX: usize = 400;
/// Bytes of their lines, which are held in memory too: 4 KiB each.
const BYTES_MAX: usize = 2 * 1024 * 1024;
/// Drafts that are noted; more than turns and commands run at a time, because a draft stays noted
/// when its work was killed.
const DRAFTS_MAX: usize = 32;

/// Characters that are kept of the reason why a message fails.
const WHY_CHARS_MAX: usize = 200;
/// Messages whose failure is remembered for the `peacrab send` that waits for it.
const FAILURES_MAX: usize = 8;
/// Messages with buttons, or pieces of them, of which it is known as what their chats show them: the values of a
/// long form.
const SHOWN_MAX: usize = 64;

/// The outbox of one home, for all threads.
#[derive(Debug)]
pub struct Outbox {
    repairs: Vec<String>,
    inner: Mutex<Inner>,
}

/// The turn that ends with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosesTurn {
    /// The session of the turn.
    pub session: SessionKey,
    /// The length of the session's journal, in bytes, before the record of the turn's end.
    pub journal: u64,
}

/// A message that has not been delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its number. Later messages have larger ones, until the process ends.
    pub id: u64,
    /// A random number, unique also after a restart.
    pub key: u64,
    /// The message.
    pub message: OutgoingMessage,
    /// The turn that it closes.
    pub closes: Option<ClosesTurn>,
    /// How many of its pieces the channel has confirmed.
    pub pieces: usize,
}

/// The next message of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub id: u64,
    /// Where it goes.
    pub to: Address,
    /// The draft that its first piece takes the place of; `None` once that piece is confirmed.
    pub replaces: Option<DraftKey>,
    /// The earlier message that its first piece takes the place of; `None` once that piece is confirmed.
    pub edits: Option<String>,
    /// Whether it has files, which can take long.
    pub has_files: bool,
    /// Whether it comes without a sound.
    pub is_silent: bool,
    /// For how long it has failed so far.
    pub failed: Duration,
}

/// A message that has failed and is tried again, or was set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failing {
    /// When it failed first, in milliseconds since 1970.
    pub since_ms: i64,
    /// For how many seconds it has failed while the program was running.
    pub secs: u64,
    /// The last failure.
    pub why: String,
}

/// What a channel has to deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The next message of each address, the oldest first. Addresses whose next message is held are
    /// left out.
    pub heads: Vec<Head>,
    /// The drafts that some message, held or not, will take the place of.
    pub replaces: Vec<DraftKey>,
}

/// A message that shows the progress of some work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The work.
    pub key: DraftKey,
    /// The chat.
    pub to: Address,
    /// The message's id within the chat.
    pub message: String,
}

#[derive(Debug)]
struct Inner {
    log: AppendLog,
    state: State,
    /// Confirmations that could not be written. They go before the next line.
    unwritten: Vec<u8>,
    /// The messages that were given up last, each with the reason.
    failures: VecDeque<(u64, String)>,
    /// The messages with buttons that were shown last, each with its id within the chat.
    shown: VecDeque<(u64, String)>,
}

impl Outbox {
    /// Opens the file, or creates it. Fails when another process has it open.
    pub fn open(path: &Path) -> Result<Self> {
        let mut state = State::default();
        let (log, repairs) =
            AppendLog::replay(path, "outbox", |record, bytes| state.apply(record, bytes))?;
        Ok(Self {
            repairs,
            inner: Mutex::new(Inner {
                log,
                state,
                unwritten: Vec::new(),
                failures: VecDeque::new(),
                shown: VecDeque::new(),
            }),
        })
    }

    /// The repairs made when it was opened, as sentences for people.
    pub fn repairs(&self) -> Vec<String> {
        self.repairs.clone()
    }

    /// Adds a message: once this returns, it is on the disk. Returns its number. A text that is too
    /// long is cut, with a note. Fails when too much is pending already.
    ///
    /// A message whose [`once`](OutgoingMessage::once) is known is not added again; its number is returned,
    /// or 0 when it is no longer pending.
    ///
    /// A message that closes a turn is held, also after a restart, until [`Outbox::release`] says that
    /// the turn has ended: the answer of a turn that continues would be sent twice.
    pub fn add(&self, message: &OutgoingMessage, closes: Option<ClosesTurn>) -> Result<u64> {
        let key = u64::from_ne_bytes(random::bytes()?);
        let mut inner = self.lock();
        if !message.once.is_empty()
            && let Some(id) = inner.state.find_once(&message.once)
        {
            return Ok(id);
        }
        let id = inner.state.next_id();
        let record = Record::queued(id, key, message, closes);
        let line = to_line(&record);
        if line.len() > LINE_BYTES {
            return Err(Error::TooLarge {
                what: format!("a message to {} with its files and buttons", message.to),
                limit: LINE_BYTES,
            });
        }
        room::check(message, line.len(), &inner.state)?;
        inner.compact();
        inner.append(&line, Durability::Synced)?;
        inner.state.apply(record, line.len());
        Ok(id)
    }

    /// Releases the messages that close turns of a session: its journal records the end by now.
    pub fn release(&self, session: &SessionKey) {
        self.release_before(session, u64::MAX);
    }

    /// Releases those of earlier turns, which a journal of this length has left behind.
    pub fn release_before(&self, session: &SessionKey, journal: u64) {
        self.lock().state.release(session, journal);
    }

    /// Gives up the messages that are held for the end of a session's turn: the person has stopped it,
    /// and a held message delays all others of its chat. See [`Outbox::sent`] for errors.
    pub fn withdraw(&self, session: &SessionKey) -> Result<()> {
        let held: Vec<u64> = self.lock().state.held(session).collect();
        held.into_iter()
            .map(|id| self.done(id))
            .fold(Ok(()), Result::and)
    }

    /// All pending messages, oldest first.
    pub fn pending(&self) -> Vec<Pending> {
        self.lock().state.pending().cloned().collect()
    }

    /// How many messages are pending, but for those that are set aside.
    pub fn count(&self) -> usize {
        self.lock().state.waiting().count()
    }

    /// The same for each chat.
    pub fn count_by_chat(&self) -> BTreeMap<Address, usize> {
        let inner = self.lock();
        let mut counts = BTreeMap::new();
        for pending in inner.state.waiting() {
            *counts.entry(pending.message.to.clone()).or_default() += 1;
        }
        counts
    }

    /// One message, if it is still pending.
    pub fn get(&self, id: u64) -> Option<Pending> {
        let inner = self.lock();
        let mut pending = inner.state.pending();
        pending.find(|pending| pending.id == id).cloned()
    }

    /// What a channel has to deliver.
    pub fn backlog(&self, channel: &str) -> Backlog {
        self.lock().state.backlog(channel)
    }

    /// Records, on the disk, that the channel has confirmed so many pieces of a message.
    ///
    /// After an error the confirmation counts until the process ends, and is written with the next
    /// line.
    pub fn sent(&self, id: u64, pieces: usize) -> Result<()> {
        self.confirm(Record::Sent { sent: id, pieces })
    }

    /// Records, on the disk, that a message is delivered or given up. See [`Outbox::sent`].
    pub fn done(&self, id: u64) -> Result<()> {
        self.confirm(Record::Done { done: id })
    }

    /// Like [`Outbox::done`], for a message that its channel refuses.
    pub fn give_up(&self, id: u64, reason: &str) -> Result<()> {
        let mut inner = self.lock();
        inner.failures.truncate(FAILURES_MAX - 1);
        inner.failures.push_front((id, reason.to_owned()));
        drop(inner);
        self.done(id)
    }

    /// Records that a message has failed for this long. A power cut may lose that.
    pub fn note_failing(&self, id: u64, time: Duration, why: &str, now_ms: i64) {
        let mut inner = self.lock();
        let since_ms = match inner.state.failing(id) {
            Some(before) => before.since_ms,
            None => now_ms,
        };
        let record = Record::Failing {
            failing: id,
            how: Failing {
                since_ms,
                secs: time.as_secs(),
                why: one_line(why, WHY_CHARS_MAX),
            },
        };
        if !inner.state.is_news(&record) {
            return;
        }
        let line = to_line(&record);
        inner.state.apply(record, 0);
        if let Err(error) = inner.append(&line, Durability::Buffered) {
            tracing::warn!("failed to record in the outbox that a message fails: {error}");
        }
    }

    /// How a message fails, if it does.
    pub fn failing(&self, id: u64) -> Option<Failing> {
        self.lock().state.failing(id).cloned()
    }

    /// Records, on the disk, that a message is not tried before [`Outbox::retry`]: others of its chat go on
    /// meanwhile. See [`Outbox::sent`] for errors.
    pub fn set_aside(&self, id: u64) -> Result<()> {
        self.confirm(Record::Aside {
            aside: id,
            again: false,
        })
    }

    /// The messages that are set aside, oldest first.
    pub fn aside(&self) -> Vec<Pending> {
        self.lock().state.aside().cloned().collect()
    }

    /// How many messages are set aside.
    pub fn count_aside(&self) -> usize {
        self.lock().state.aside().count()
    }

    /// Records, on the disk, that everything which is set aside is tried again. Returns how many messages that are.
    /// See [`Outbox::sent`] for errors.
    pub fn retry(&self) -> Result<usize> {
        let aside = self.aside();
        for Pending { id, .. } in &aside {
            self.confirm(Record::Aside {
                aside: *id,
                again: true,
            })?;
        }
        Ok(aside.len())
    }

    /// Notes as what the channel shows a message, or a piece of it: by this id within the chat.
    pub fn note_shown(&self, id: u64, reference: &str) {
        let mut inner = self.lock();
        inner.shown.truncate(SHOWN_MAX - 1);
        inner.shown.push_front((id, reference.to_owned()));
    }

    /// Whether one of these messages, if it was one of the last with buttons, is shown as this one of the chat.
    pub fn is_shown_as(&self, ids: &[u64], reference: &str) -> bool {
        let inner = self.lock();
        let mut shown = inner.shown.iter();
        shown.any(|(id, known)| known == reference && ids.contains(id))
    }

    /// Why a message was given up, if it was one of the last.
    pub fn failure(&self, id: u64) -> Option<String> {
        let inner = self.lock();
        let mut failures = inner.failures.iter();
        failures.find_map(|(failed, reason)| (*failed == id).then(|| reason.clone()))
    }

    /// Records, on the disk, that a chat has become another one: its pending messages go there. See
    /// [`Outbox::sent`].
    pub fn moved(&self, from: &Address, to: &Address) -> Result<()> {
        self.confirm(Record::Moved {
            moved: from.clone(),
            to: to.clone(),
        })
    }

    /// The drafts that a channel shows.
    ///
    /// The first confirmation of a message that replaces a draft takes the draft with it: from then
    /// on the message is the answer.
    pub fn drafts(&self, channel: &str) -> Vec<Draft> {
        let inner = self.lock();
        let drafts = inner.state.drafts();
        let of_channel = drafts.filter(|draft| draft.to.channel == channel);
        of_channel.cloned().collect()
    }

    /// The message that shows a piece of work.
    pub fn draft(&self, key: &DraftKey) -> Option<String> {
        self.lock().state.draft(key).map(str::to_owned)
    }

    /// Records which message of which chat shows some work; `None` when none does any longer. A power
    /// cut may lose the record, and then the answer comes as a message of its own.
    pub fn set_draft(&self, key: &DraftKey, shown: Option<(&Address, &str)>) {
        let mut inner = self.lock();
        if inner.state.draft(key) == shown.map(|(_, message)| message) {
            return;
        }
        let record = Record::Draft {
            draft: key.clone(),
            to: shown.map(|(to, _)| to.clone()),
            message: shown.map(|(_, message)| message.to_owned()),
        };
        let line = to_line(&record);
        inner.state.apply(record, 0);
        if let Err(error) = inner.append_or_empty(&line, Durability::Buffered) {
            tracing::warn!("failed to record a draft in the outbox: {error}");
        }
    }

    /// A confirmation counts whether or not it can be written.
    fn confirm(&self, record: Record) -> Result<()> {
        let mut inner = self.lock();
        if !inner.state.is_news(&record) {
            return Ok(());
        }
        let line = to_line(&record);
        inner.state.apply(record, 0);
        let written = inner.append_or_empty(&line, Durability::Synced);
        if written.is_err() {
            inner.unwritten.extend(line);
        }
        written
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        crate::base::sync::may_wait_for_disk();
        self.inner.lock()
    }
}

impl Inner {
    /// Appends a line that the state contains already, or empties the file when nothing is pending.
    fn append_or_empty(&mut self, line: &[u8], durability: Durability) -> Result<()> {
        // Emptying the file and writing the ids again would lose them to a kill in between.
        if self.state.pending().next().is_some() || self.state.has_once() {
            return self.append(line, durability);
        }
        // The drafts of running work stay recorded.
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
}

#[cfg(test)]
mod tests;
