//! Floor 5: the journal of a conversation, append-only, that survives a kill at any instant.
//!
//! A session is one JSONL file. Everything that happens is another line; nothing is rewritten. A
//! torn last line is cut off, a garbled one in the middle is skipped, and both are reported. Opening
//! costs what the window costs, however long the journal is.

pub mod history;
pub mod line;
pub mod store;
mod tail;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::chat::{Entry, Role, ToolCall};
use crate::clock::Clock;
use crate::config::schema::Fsync;
use crate::error::{Error, Result};
use crate::limits::session::HISTORY_BYTES;
use crate::message::ChatId;
use crate::sys;

use line::{Line, State, TurnEnd};
use tail::Tail;

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
    chat: ChatId,
    path: PathBuf,
    file: File,
    settings: Settings,
    /// The newest entries that may go to the model.
    entries: VecDeque<Entry>,
    /// Whether entries stand behind the last end of a turn.
    unfinished: bool,
    /// Where the journal ends: after the last whole line.
    length: u64,
    repairs: Vec<String>,
}

impl Session {
    /// Opens the chat's journal below `folder`, or begins it.
    ///
    /// Fails when another process has it open. What had to be repaired is in [`Session::repairs`].
    pub fn open(folder: &Path, chat: &ChatId, settings: Settings) -> Result<Self> {
        sys::file::private_folder(folder)?;
        let path = store::path_of(folder, chat);
        let options = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .clone();
        let file = options
            .open(&path)
            .map_err(Error::io("open the session", &path))?;
        if !sys::file::try_lock(&file).map_err(Error::io("lock the session", &path))? {
            return Err(Error::Failed(format!(
                "the session {chat} is in use by another peacrab; wait for it, or choose another with --session"
            )));
        }
        let mut session = Self {
            chat: chat.clone(),
            path,
            file,
            settings,
            entries: VecDeque::new(),
            unfinished: false,
            length: 0,
            repairs: Vec::new(),
        };
        session
            .load()
            .map_err(Error::io("read the session", &session.path))?;
        Ok(session)
    }

    /// Whose conversation it is.
    pub fn chat(&self) -> &ChatId {
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
        self.length
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
        self.write(
            &line::encode_entry(&entry),
            self.settings.fsync == Fsync::Always,
        )?;
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
        self.write(&lines, true)?;
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
            consolidated_to: Some(self.length),
            turn: Some(TurnEnd::Stopped),
            ..State::default()
        };
        self.write(&line::encode_state(&state, self.settings.clock.now()), true)?;
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
    fn write(&mut self, lines: &[u8], sync: bool) -> Result<()> {
        let is_new = self.length == 0;
        let lines = match is_new {
            true => Cow::Owned([&self.head(), lines].concat()),
            false => Cow::Borrowed(lines),
        };
        let written = self
            .file
            .write_all(&lines)
            .and_then(|()| if sync { self.file.sync_data() } else { Ok(()) })
            .and_then(|()| if is_new { self.sync_folder() } else { Ok(()) });
        if let Err(error) = written {
            // A full disk can leave half a line: the journal ends where it ended before.
            let _ = self.file.set_len(self.length);
            return Err(Error::io("write the session", &self.path)(error));
        }
        self.length += lines.len() as u64;
        Ok(())
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

    /// Makes sure that the new file is found after a power cut.
    fn sync_folder(&self) -> io::Result<()> {
        match self.path.parent() {
            Some(folder) => sys::file::sync_folder(File::open(folder)?.as_fd()),
            None => Ok(()),
        }
    }

    /// Cuts a torn end off and reads as much of the end as the window wants.
    fn load(&mut self) -> io::Result<()> {
        let found = self.file.metadata()?.len();
        self.length = whole_lines(&self.file, found)?;
        if self.length < found {
            self.file.set_len(self.length)?;
            let cut = found - self.length;
            self.repairs.push(format!(
                "the last {cut} bytes of the session were torn by a crash and have been cut off"
            ));
        }
        let mut reader = Tail::new(&self.file, self.length);
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
        if garbled > 0 {
            self.repairs.push(format!(
                "{garbled} unreadable lines of the session were skipped"
            ));
        }
        Ok(())
    }
}

/// The length of the journal up to its last whole line: one that ends in a line end and can be read.
fn whole_lines(file: &File, length: u64) -> io::Result<u64> {
    let mut reader = Tail::new(file, length);
    let Some(last) = reader.previous()? else {
        return Ok(0);
    };
    let ended = last.offset + (last.bytes.len() as u64) < length;
    Ok(if ended && line::decode(&last.bytes).is_some() {
        length
    } else {
        last.offset
    })
}

#[cfg(test)]
mod tests;
