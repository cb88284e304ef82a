//! The append-only journal of a conversation. It survives a kill at any instant.
//!
//! A session is one JSONL file. Every event is another line. A torn last line is cut off, a garbled one
//! in the middle is skipped, and both are reported. The cost of opening depends on the window, not on
//! the length of the journal. A journal that has grown beyond its limit moves its older part to the
//! archive between two turns.
//!
//! Marks (see [`Marks`]) divide a journal: what has been consolidated into the memory, what may go to
//! the model, and what of that only in short.

mod archive;
pub mod conversation;
pub mod line;
mod pending;
pub mod store;
pub mod taken;
mod window;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use crate::base::access::Role;
use crate::base::chat::{Entry, EntryKind, ToolCall};
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::message::{Author, SessionKey};
use crate::config::schema::{Config, Fsync};
use crate::store::append_log::{AppendLog, Durability};

use conversation::{Conversation, Fitted, JournalEntry};
use line::{Marks, State, TurnEnd};
pub use pending::{Pending, Range, Remembered, UpTo};

/// Bytes of journal lines that are held in memory for the history. A window of 128,000 tokens
/// is about as long; a board with less memory has models with smaller windows.
const HISTORY_BYTES: usize = 512 * 1024;
/// Bytes of the summary in front of the window: three paragraphs.
const SUMMARY_BYTES: usize = 6 * 1024;
/// How long a journal may get, in sizes at which it is archived, while what is to be archived has not
/// been consolidated: a month without a model that would do it.
const PENDING_JOURNALS: u64 = 2;

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Turns that may go to the model, beside the one that runs.
    pub window: usize,
    /// When entries are forced to the disk.
    pub fsync: Fsync,
    /// Bytes of a journal beyond which its older part goes to the archive.
    pub journal_bytes: u64,
    /// Bytes of all archives together.
    pub archive_bytes: u64,
    /// Where timestamps come from.
    pub clock: Clock,
}

impl Settings {
    /// As the configuration says.
    pub fn new(config: &Config, clock: Clock) -> Self {
        /// Bytes of a megabyte.
        const MB: u64 = 1_000_000;
        Self {
            window: config.agents.defaults.memory_window,
            fsync: config.storage.fsync,
            journal_bytes: config.storage.journal_max_mb * MB,
            archive_bytes: config.storage.archive_max_mb * MB,
            clock,
        }
    }
}

/// Decides whether a failed write is retried, and waits before it returns true.
pub type Retry<'a> = dyn FnMut(&Error) -> bool + 'a;

/// An open session: the only one that writes its journal.
pub struct Session {
    chat: SessionKey,
    log: AppendLog,
    settings: Settings,
    conversation: Conversation,
    /// What the journal's next state line will say of its places.
    marks: Marks,
    /// Whether entries stand behind the last end of a turn.
    unfinished: bool,
    repairs: Vec<String>,
    /// Bytes beyond which it is worth a look whether something can go to the archive.
    archive_above: u64,
}

impl Session {
    /// Opens the chat's journal below `folder`, or begins it.
    ///
    /// Fails when another process has it open. What had to be repaired is in [`Session::repairs`].
    pub fn open(folder: &Path, chat: &SessionKey, settings: Settings) -> Result<Self> {
        let opened = Self::open_if_free(folder, chat, settings)?;
        opened.ok_or_else(|| {
            let (_, name) = chat.parts();
            Error::Failed(format!(
                "Another peacrab has the conversation {name:?} open. Use `-s NAME` for a separate one."
            ))
        })
    }

    /// Like [`open`](Self::open), but `None` when another process has it open.
    pub fn open_if_free(
        folder: &Path,
        chat: &SessionKey,
        settings: Settings,
    ) -> Result<Option<Self>> {
        let path = store::path_of(folder, chat);
        let opened = AppendLog::open(&path, |line| line::decode(line).is_some())?;
        let Some(log) = opened else {
            return Ok(None);
        };
        let window = window::read_window(log.tail(), settings.window)
            .map_err(Error::io("read the session", &path))?;
        let mut session = Self {
            chat: chat.clone(),
            marks: checked_marks(&window, &log).map_err(Error::io("read the session", &path))?,
            repairs: log.repairs("session", window.garbled),
            conversation: window.conversation,
            unfinished: window.unfinished,
            archive_above: settings.journal_bytes,
            log,
            settings,
        };
        session.archive();
        Ok(Some(session))
    }

    /// Opens another journal in the same folder, in the same manner.
    pub fn open_beside(&self, chat: &SessionKey) -> Result<Self> {
        Self::open(self.folder(), chat, self.settings.clone())
    }

    /// The folder of the journal.
    pub fn folder(&self) -> &Path {
        self.log.path().parent().unwrap_or(Path::new("."))
    }

    /// Whose conversation it is.
    pub fn chat(&self) -> &SessionKey {
        &self.chat
    }

    /// What its requests have in common: see [`store::cache_key`].
    pub fn cache_key(&self) -> Option<String> {
        store::cache_key(self.log.path())
    }

    /// The repairs made when it was opened, as sentences for people.
    pub fn repairs(&self) -> &[String] {
        &self.repairs
    }

    /// The entries that may go to the model.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Makes the conversation fit into so many tokens and into the window, and returns what goes to the
    /// model. See [`Conversation::fit`]. The end of the turn journals what was left out and shortened, so
    /// that the next turn begins with the same.
    pub fn fit<'a>(&'a mut self, budget: usize, facts: &'a Entry) -> Fitted<'a> {
        self.conversation.fit(self.settings.window, budget, facts)
    }

    /// Whether the last turn has not ended: it was killed, and can continue.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// The length of the journal in bytes, which identifies a state of the turn.
    pub fn length(&self) -> u64 {
        self.log.length()
    }

    /// Whether a message of a channel has been journalled, among the entries that are held.
    pub fn holds(&self, origin: &str) -> bool {
        self.conversation.holds(origin)
    }

    /// Whether the last turn has not ended and began with this message of a channel.
    pub fn is_answering(&self, origin: &str) -> bool {
        self.unfinished && self.conversation.last_turn_answers(origin)
    }

    /// Whether the turn that began with a message came to words only: the program saw no call of a tool that ran. The last
    /// turn for an empty id; false when the turn is not held.
    pub fn only_said(&self, origin: &str) -> bool {
        let mut turn = self.conversation.turn_of(origin).peekable();
        let is_proof = |entry: &Entry| entry.kind == EntryKind::Tool && entry.came_to.is_work();
        turn.peek().is_some() && !turn.any(is_proof)
    }

    /// What the person may do whose message the last turn is about.
    pub fn last_role(&self) -> Role {
        self.conversation.last_role()
    }

    /// The people whose messages a turn is about that goes on; empty once it has ended, or if the journal does not say it.
    pub fn authors(&self) -> Vec<&Author> {
        if self.unfinished {
            self.conversation.last_authors()
        } else {
            Vec::new()
        }
    }

    /// The role of a turn with a message whose sender has this role. In a turn that goes on it is the least of all who have
    /// written in it.
    pub fn role_with(&self, sender: Option<Role>) -> Role {
        match sender {
            Some(role) if !self.unfinished => role,
            Some(role) => role.min(self.last_role()),
            None => self.last_role(),
        }
    }

    /// The id of the last message that an entry was made from.
    pub fn last_origin(&self) -> Option<&str> {
        self.conversation.last_origin()
    }

    /// The calls of the unfinished turn that have no result.
    pub fn unanswered(&self) -> Vec<ToolCall> {
        if self.unfinished {
            self.conversation.unanswered()
        } else {
            Vec::new()
        }
    }

    /// Journals an entry, and forces it to the disk when the configuration says so, before it counts.
    /// A write that fails leaves the session as it was.
    pub fn append(&mut self, entry: Entry) -> Result<()> {
        self.append_with(entry, &mut |_| false)
    }

    /// Like [`append`](Self::append), and writes again while `retry` says so.
    pub fn append_with(&mut self, mut entry: Entry, retry: &mut Retry<'_>) -> Result<()> {
        entry.timestamp = Some(self.settings.clock.now());
        let durability = match self.settings.fsync {
            Fsync::Always => Durability::Synced,
            Fsync::Turn => Durability::Buffered,
        };
        let offset = self.write(&line::encode_entry(&entry), durability, retry)?;
        self.hold(entry, offset);
        Ok(())
    }

    /// Journals that the turn has ended, together with its last entry where there is one.
    pub fn end_turn(&mut self, last: Option<Entry>, end: TurnEnd) -> Result<()> {
        self.end_turn_with(last, end, &mut |_| false)
    }

    /// Like [`end_turn`](Self::end_turn), and writes again while `retry` says so.
    pub fn end_turn_with(
        &mut self,
        mut last: Option<Entry>,
        end: TurnEnd,
        retry: &mut Retry<'_>,
    ) -> Result<()> {
        let now = self.settings.clock.now();
        self.keep_cuts();
        let mut lines = Vec::new();
        if let Some(entry) = &mut last {
            entry.timestamp = Some(now);
            lines = line::encode_entry(entry);
        }
        let state = State {
            turn: Some(end),
            marks: Some(self.marks),
            ..State::default()
        };
        lines.extend(line::encode_state(&state, now));
        let offset = self.write(&lines, Durability::Synced, retry)?;
        if let Some(entry) = last {
            self.hold(entry, offset);
        }
        self.unfinished = false;
        self.conversation.end_turn();
        self.archive();
        Ok(())
    }

    /// Journals that a turn has ended with an answer that was stored for delivery before a kill. One that was reviewed is
    /// there already, and lacks what was added to it.
    pub fn end_answered(&mut self, answer: &str, retry: &mut Retry<'_>) -> Result<()> {
        let proposed = self.conversation.proposed().unwrap_or_default();
        let rest = answer.strip_prefix(proposed).unwrap_or(answer).trim();
        let last = (!rest.is_empty()).then(|| Entry::new(EntryKind::Assistant, rest));
        self.end_turn_with(last, TurnEnd::Answered, retry)
    }

    /// Starts a new conversation: earlier entries stay in the journal and no longer go to the model. What
    /// has not been remembered stays pending.
    pub fn clear(&mut self) -> Result<()> {
        let place = self.log.length();
        let mut marks = Marks {
            cleared_to: place,
            window_from: place,
            shortened_to: 0,
            summary_at: None,
            ..self.marks
        };
        if self.pending().is_empty() {
            marks.remembered_to = place;
        }
        let state = State {
            consolidated_to: Some(place),
            turn: Some(TurnEnd::Stopped),
            marks: Some(marks),
            ..State::default()
        };
        let line = line::encode_state(&state, self.settings.clock.now());
        self.write(&line, Durability::Synced, &mut |_| false)?;
        self.marks = marks;
        self.conversation = Conversation::default();
        self.unfinished = false;
        Ok(())
    }

    /// Takes over what was left out and shortened in memory.
    fn keep_cuts(&mut self) {
        let first = self.conversation.entries().next().map(|held| held.offset);
        if let Some(first) = first {
            self.marks.window_from = self.marks.window_from.max(first);
        }
        self.marks.shortened_to = self.conversation.shortened_to();
    }

    fn hold(&mut self, entry: Entry, offset: u64) {
        let begins_turn = !std::mem::replace(&mut self.unfinished, true);
        self.conversation
            .push(JournalEntry::new(entry, offset, begins_turn));
    }

    /// Writes lines at the journal's end, and returns where they begin. The head precedes the first ones:
    /// a session that was only looked at has no file yet.
    fn write(
        &mut self,
        lines: &[u8],
        durability: Durability,
        retry: &mut Retry<'_>,
    ) -> Result<u64> {
        let written = match self.log.length() {
            0 => Cow::Owned([&self.head(), lines].concat()),
            _ => Cow::Borrowed(lines),
        };
        loop {
            match self.log.append(&written, durability) {
                Ok(()) => return Ok(self.log.length() - lines.len() as u64),
                Err(error) if retry(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The marks of a journal that was opened. One that has none counts as remembered up to its window: that
/// was written before there was a memory.
fn checked_marks(window: &window::Window, log: &AppendLog) -> io::Result<Marks> {
    let first = window.first_offset.unwrap_or(log.length());
    let mut marks = window.marks.unwrap_or(Marks {
        remembered_to: first,
        window_from: first,
        ..Marks::default()
    });
    if marks.remembered_to > log.length() || !log.starts_line(marks.remembered_to)? {
        marks.remembered_to = first;
    }
    Ok(marks)
}

#[cfg(test)]
mod tests;
