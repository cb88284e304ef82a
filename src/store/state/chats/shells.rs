//! What is remembered of the shells of chats, `state/shells.json`: the folder that each was in, and what was
//! typed. Nothing else of a shell outlives it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::AgentPrefix;
use crate::base::error::Result;
use crate::store::state::file::{Damaged, Policy, StateFile};

/// Chats whose folder and history are kept; a new one displaces the oldest.
const CHATS: usize = 32;
/// Commands in the history of a chat.
const HISTORY_LINES: usize = 100;
/// Bytes of a command in a history; a longer one is not kept.
const HISTORY_LINE_BYTES: usize = 1000;
/// Bytes of the file of histories: all of them full, with JSON's escapes.
const HISTORY_FILE_BYTES: usize = 8 * 1024 * 1024;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Chat {
    session: String,
    folder: Option<String>,
    is_told: bool,
    dropped: u64,
    lines: Vec<String>,
}

/// The folder of the last shell of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFolder {
    /// The folder.
    pub path: PathBuf,
    /// Whether the person knows that the shell is gone.
    pub is_told: bool,
}

/// The commands that were typed in a chat, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// The number of the first one.
    pub first: u64,
    /// The commands.
    pub lines: Vec<String>,
}

/// What is remembered of the shells. With a damaged file nothing is.
#[derive(Clone, Debug)]
pub struct ShellMemory(StateFile<Vec<Chat>>, AgentPrefix);

impl ShellMemory {
    /// The memory below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: HISTORY_FILE_BYTES,
            damaged: Damaged::StartFresh,
            // It is written at each command, and a power cut may take the last one.
            synced: false,
        };
        Self(
            StateFile::new(state.join("shells.json"), policy),
            AgentPrefix::default(),
        )
    }

    /// That of an agent: its chats have shells of their own.
    #[must_use]
    pub fn of_agent(self, agent: &str) -> Self {
        Self(self.0, AgentPrefix::new(agent))
    }

    /// The folder that the last shell of a chat was in.
    pub fn folder(&self, session: &str) -> Option<LastFolder> {
        let chat = self.chat(session)?;
        Some(LastFolder {
            path: chat.folder?.into(),
            is_told: chat.is_told,
        })
    }

    /// Keeps the folder of a chat's shell; `None` forgets it.
    pub fn set_folder(&self, session: &str, folder: Option<&LastFolder>) -> Result<()> {
        self.change(session, |chat| {
            chat.folder = folder.map(|folder| folder.path.display().to_string());
            chat.is_told = folder.is_some_and(|folder| folder.is_told);
        })
    }

    /// Adds a command to the history of a chat, unless it is the same as the last one. It must contain no
    /// secrets.
    pub fn add_line(&self, session: &str, line: &str) -> Result<()> {
        if line.len() > HISTORY_LINE_BYTES {
            return Ok(());
        }
        self.change(session, |chat| {
            if chat.lines.last().is_none_or(|last| last != line) {
                chat.lines.push(line.to_owned());
            }
            let over = chat.lines.len().saturating_sub(HISTORY_LINES);
            chat.lines.drain(..over);
            chat.dropped += over as u64;
        })
    }

    /// The history of a chat.
    pub fn history(&self, session: &str) -> History {
        let chat = self.chat(session).unwrap_or_default();
        History {
            first: chat.dropped + 1,
            lines: chat.lines,
        }
    }

    fn chat(&self, session: &str) -> Option<Chat> {
        let session = self.1.key(session);
        let mut list = self.0.read().ok()?.into_iter();
        list.find(|chat| chat.session == session)
    }

    fn change(&self, session: &str, change: impl FnOnce(&mut Chat)) -> Result<()> {
        let session = self.1.key(session);
        self.0.update(|list| {
            let known = list.iter().position(|chat| chat.session == session);
            let mut chat = match known {
                Some(index) => list.remove(index),
                None => Chat {
                    session,
                    ..Chat::default()
                },
            };
            change(&mut chat);
            list.push(chat);
            let over = list.len().saturating_sub(CHATS);
            list.drain(..over);
            Ok(())
        })
    }
}

impl History {
    /// The command with this number.
    pub fn get(&self, number: u64) -> Option<&str> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.lines.get(index).map(String::as_str)
    }

    /// The commands with their numbers.
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        let lines = self.lines.iter().enumerate();
        lines.map(|(index, line)| (self.first + index as u64, line.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_the_last_commands_of_each_chat_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ShellMemory::new(folder.path());
        assert_eq!(memory.folder("telegram:1"), None);
        let last = LastFolder {
            path: "/etc".into(),
            is_told: true,
        };
        memory.set_folder("telegram:1", Some(&last)).unwrap();
        for number in 0..HISTORY_LINES + 2 {
            memory
                .add_line("telegram:1", &format!("echo {number}"))
                .unwrap();
        }
        memory
            .add_line("telegram:1", &format!("echo {}", HISTORY_LINES + 1))
            .unwrap();
        memory
            .add_line("telegram:1", &"x".repeat(HISTORY_LINE_BYTES + 1))
            .unwrap();
        let again = ShellMemory::new(folder.path());
        assert_eq!(again.folder("telegram:1"), Some(last));
        let history = again.history("telegram:1");
        assert_eq!((history.first, history.lines.len()), (3, HISTORY_LINES));
        assert_eq!(history.get(3), Some("echo 2"));
        assert_eq!(history.get(2), None);
        assert_eq!(history.numbered().next_back(), Some((102, "echo 101")));
        assert_eq!(again.history("telegram:2").lines, [""; 0]);
        memory.set_folder("telegram:1", None).unwrap();
        assert_eq!(again.folder("telegram:1"), None);
        let work = ShellMemory::new(folder.path()).of_agent("work");
        assert_eq!(work.history("telegram:1").lines, [""; 0]);
    }
}
