//! The journal of a conversation that another program had.

use std::path::Path;

use super::line::{self, Marks, State, TurnEnd};
use super::store::path_of;
use crate::base::chat::{Entry, EntryKind};
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::message::SessionKey;
use crate::sys::file::{private_folder, write_atomic};

/// A conversation of another program.
#[derive(Debug, Default)]
pub struct Taken {
    /// When it was begun, as that program wrote it.
    pub created_at: Option<String>,
    /// What was said, the oldest first.
    pub entries: Vec<Entry>,
    /// How many of the first entries are in that program's memory already.
    pub remembered: usize,
    /// How many of the first entries no longer went to the model.
    pub left_out: usize,
    /// What these were about.
    pub summary: Option<String>,
}

impl Taken {
    /// Decodes a line and adds it, unless it is not an entry of a conversation. Nothing of it says any more which
    /// message it was made from, or by whom.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let Some(line::Line::Entry(entry)) = line::decode(bytes) else {
            return false;
        };
        let is_said = matches!(
            entry.kind,
            EntryKind::Person | EntryKind::Assistant | EntryKind::Tool
        );
        if is_said {
            self.entries.push(Entry {
                origin: None,
                author: None,
                reasoning: Vec::new(),
                ..entry
            });
        }
        is_said
    }

    /// Writes the journal of a chat, all at once, with its last turn ended. Returns false, and writes nothing, when
    /// the chat has a journal.
    pub fn write(&self, folder: &Path, chat: &SessionKey, clock: &Clock) -> Result<bool> {
        let path = path_of(folder, chat);
        if path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        private_folder(folder)?;
        write_atomic(&path, &self.encode(chat, clock), 0o600)?;
        Ok(true)
    }

    fn encode(&self, chat: &SessionKey, clock: &Clock) -> Vec<u8> {
        let now = clock.now();
        let head = State {
            key: Some(chat.to_string()),
            created_at: self.created_at.clone().or(Some(now.to_rfc3339())),
            summary: self.summary.clone(),
            ..State::default()
        };
        let mut text = line::encode_state(&head, now);
        let mut places = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            places.push(text.len() as u64);
            text.extend(line::encode_entry(entry));
        }
        let end = text.len() as u64;
        let place = |index: usize| places.get(index).copied().unwrap_or(end);
        let window_from = if self.left_out > 0 {
            place(self.left_out)
        } else {
            0
        };
        let state = State {
            turn: Some(TurnEnd::Stopped),
            marks: Some(Marks {
                remembered_to: place(self.remembered),
                window_from,
                summary_at: self.summary.as_ref().map(|_| 0),
                ..Marks::default()
            }),
            ..State::default()
        };
        text.extend(line::encode_state(&state, now));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::store::session::{Session, Settings};

    #[test]
    fn a_taken_conversation_has_ended_and_is_remembered_as_far_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let chat = SessionKey::parse("telegram:1001");
        let mut taken = Taken {
            remembered: 2,
            ..Taken::default()
        };
        for (role, content) in [
            ("user", "one"),
            ("assistant", "two"),
            ("user", "three"),
            ("assistant", "four"),
            ("user", "five"),
        ] {
            let line =
                format!(r#"{{"role":"{role}","content":"{content}","origin":"telegram:1:2"}}"#);
            assert!(taken.push(line.as_bytes()));
        }
        assert!(!taken.push(br#"{"_type":"metadata","key":"x:y"}"#));
        assert!(!taken.push(b"not JSON"));
        let write = || taken.write(folder.path(), &chat, &Clock::System).unwrap();
        assert!(write());
        assert!(!write(), "a journal that is there is kept");
        let settings = Settings::new(&Config::default(), Clock::System);
        let session = Session::open(folder.path(), &chat, settings).unwrap();
        assert!(!session.is_unfinished(), "nothing is answered again");
        assert!(session.repairs().is_empty(), "{:?}", session.repairs());
        let texts: Vec<_> = session
            .conversation()
            .entries()
            .map(|held| held.entry.content.clone())
            .collect();
        assert_eq!(texts, ["one", "two", "three", "four", "five"]);
        assert!(!session.holds("telegram:1:2"));
        let left = folder.path().join("telegram_1001.jsonl");
        let text = std::fs::read_to_string(left).unwrap();
        let place = text.find(r#"{"role":"user","content":"three""#).unwrap();
        assert_eq!(session.pending().from, place as u64);
    }
}
