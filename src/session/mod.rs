//! Floor 5: the journal of a conversation, append-only, that survives a kill at any instant.
//!
//! A session is one JSONL file. Everything that happens is another line; nothing is rewritten. A
//! torn last line is cut off, a garbled one in the middle is skipped, and both are reported. Opening
//! costs what the window costs, however long the journal is.

pub mod history;
pub mod line;
pub mod store;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::path::Path;

use crate::append_log::{AppendLog, Durability};
use crate::chat::{Entry, Role, ToolCall};
use crate::clock::Clock;
use crate::config::schema::Fsync;
use crate::error::{Error, Result};
use crate::limits::session::HISTORY_BYTES;
use crate::message::SessionKey;

use line::{Line, State, TurnEnd};

/// How a session is opened.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Most entries that are held for the history.
    pub window: usize,
    /// When entries are forced to the disk.
    pub fsync: Fsync,
    /// Where timestamps come from.
    pub clock: Clock,
}

/// An open session: the only one that writes its journal.
pub struct Session {
    chat: SessionKey,
    log: AppendLog,
    settings: Settings,
    /// The newest entries that may go to the model.
    entries: VecDeque<Entry>,
    /// Whether entries stand behind the last end of a turn.
    unfinished: bool,
    repairs: Vec<String>,
}

impl Session {
    /// Opens the chat's journal below `folder`, or begins it.
    ///
    /// Fails when another process has it open. What had to be repaired is in [`Session::repairs`].
    pub fn open(folder: &Path, chat: &SessionKey, settings: Settings) -> Result<Self> {
        let path = store::path_of(folder, chat);
        let opened = AppendLog::open(&path, |line| line::decode(line).is_some())?;
        let log = opened.ok_or_else(|| {
            Error::Failed(format!(
                "the session {chat} is in use by another peacrab; wait for it, or choose another with --session"
            ))
        })?;
        let mut session = Self {
            chat: chat.clone(),
            log,
            settings,
            entries: VecDeque::new(),
            unfinished: false,
            repairs: Vec::new(),
        };
        session
            .load()
            .map_err(Error::io("read the session", &path))?;
        Ok(session)
    }

    /// Whose conversation it is.
    pub fn chat(&self) -> &SessionKey {
        &self.chat
    }

    /// What was repaired when it was opened, as sentences for the person.
    pub fn repairs(&self) -> &[String] {
        &self.repairs
    }

    /// The entries that may go to the model, oldest first.
    pub fn entries(&self) -> &VecDeque<Entry> {
        &self.entries
    }

    /// Whether the last turn has not ended: it was killed, and can go on.
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Bytes of the journal: they name the place where a turn stands.
    pub fn length(&self) -> u64 {
        self.log.length()
    }

    /// Whether a message of a channel has been journalled, among the entries that are held.
    pub fn holds(&self, origin: &str) -> bool {
        let mut entries = self.entries.iter();
        !origin.is_empty() && entries.any(|entry| entry.origin.as_deref() == Some(origin))
    }

    /// The calls of the unfinished turn that have no result.
    pub fn unanswered(&self) -> Vec<ToolCall> {
        if self.unfinished {
            history::unanswered(&self.entries)
        } else {
            Vec::new()
        }
    }

    /// Journals an entry, and forces it to the disk when the configuration says so, before it counts.
    pub fn append(&mut self, mut entry: Entry) -> Result<()> {
        entry.timestamp = Some(self.settings.clock.now());
        let durability = match self.settings.fsync {
            Fsync::Always => Durability::Synced,
            Fsync::Turn => Durability::Buffered,
        };
        self.write(&line::encode_entry(&entry), durability)?;
        self.unfinished = true;
        self.hold(entry);
        Ok(())
    }

    /// Journals that the turn has ended, together with its last entry where there is one.
    pub fn end_turn(&mut self, last: Option<Entry>, end: TurnEnd) -> Result<()> {
        let now = self.settings.clock.now();
        let mut lines = Vec::new();
        let last = last.map(|entry| Entry {
            timestamp: Some(now),
            ..entry
        });
        if let Some(entry) = &last {
            lines = line::encode_entry(entry);
        }
        lines.extend(line::encode_state(
            &State {
                turn: Some(end),
                ..State::default()
            },
            now,
        ));
        self.write(&lines, Durability::Synced)?;
        last.into_iter().for_each(|entry| self.hold(entry));
        self.unfinished = false;
        self.forget_thoughts();
        Ok(())
    }

    /// What only the running turn needs leaves the memory too, as it never was on the disk.
    fn forget_thoughts(&mut self) {
        for entry in &mut self.entries {
            entry.reasoning.clear();
            for image in std::mem::take(&mut entry.images) {
                entry.content.push_str(&line::image_note(&image));
            }
            entry
                .tool_calls
                .iter_mut()
                .for_each(|call| call.signature = None);
        }
    }

    /// Journals that nothing said so far goes to the model any more. The journal keeps it.
    pub fn clear(&mut self) -> Result<()> {
        let state = State {
            consolidated_to: Some(self.log.length()),
            turn: Some(TurnEnd::Stopped),
            ..State::default()
        };
        let line = line::encode_state(&state, self.settings.clock.now());
        self.write(&line, Durability::Synced)?;
        self.entries.clear();
        self.unfinished = false;
        Ok(())
    }

    /// Lets go of the oldest entries beyond the window, at a person's entry.
    fn hold(&mut self, entry: Entry) {
        let begins_turn = entry.role == Role::User;
        self.entries.push_back(entry);
        // A turn's own entries all stay until it ends: the model needs its calls and results.
        if begins_turn {
            while self.entries.len() > self.settings.window {
                self.entries.pop_front();
            }
        }
    }

    /// Writes lines at the journal's end. The first ones of all have the head before them: a session
    /// that was only looked at is none yet.
    fn write(&mut self, lines: &[u8], durability: Durability) -> Result<()> {
        let lines = match self.log.length() {
            0 => Cow::Owned([&self.head(), lines].concat()),
            _ => Cow::Borrowed(lines),
        };
        self.log.append(&lines, durability)
    }

    /// The first line: whose journal it is.
    fn head(&self) -> Vec<u8> {
        let now = self.settings.clock.now();
        let state = State {
            key: Some(self.chat.to_string()),
            created_at: Some(now.to_rfc3339()),
            ..State::default()
        };
        line::encode_state(&state, now)
    }

    /// Reads as much of the journal's end as the window wants.
    fn load(&mut self) -> io::Result<()> {
        let mut reader = self.log.tail();
        let (mut barrier, mut bytes, mut garbled, mut turn_known) = (0, 0, 0, false);
        while let Some(line) = reader.previous()? {
            bytes += line.bytes.len();
            if line.offset < barrier
                || self.entries.len() >= self.settings.window
                || bytes > HISTORY_BYTES
            {
                break;
            }
            match line::decode(&line.bytes) {
                Some(Line::Entry(entry)) => {
                    // A journal of nanobot's has no ends of turns: there an answer is one.
                    let answer = entry.role == Role::Assistant && entry.tool_calls.is_empty();
                    self.unfinished |= !turn_known && !answer;
                    turn_known = true;
                    self.entries.push_front(entry);
                }
                Some(Line::State(state)) => {
                    turn_known |= state.turn.is_some();
                    barrier = barrier.max(state.consolidated_to.unwrap_or(0));
                }
                None => garbled += 1,
            }
        }
        self.repairs = self.log.repairs("session", garbled);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
