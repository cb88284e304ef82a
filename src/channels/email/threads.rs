//! What is remembered of the mailbox and of conversations: where reading goes on, and the subject and the ids that
//! the next answer needs.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::error::Result;
use crate::store::state::StateFile;
use crate::store::state::file::{Damaged, Policy};

/// Ids of earlier mails that an answer names: the first, and the newest.
const REFERENCES: usize = 6;
/// Conversations of which subject and ids are kept for the next answer.
const THREADS: usize = 200;
/// Bytes of the file with them.
const STATE_BYTES: usize = 1024 * 1024;

/// The name of the file below `state/`.
const FILE: &str = "email.json";

/// A conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The person's address.
    pub chat: String,
    /// The thread's id; empty for what belongs to none.
    pub id: String,
    /// The subject.
    pub subject: String,
    /// The ids of its mails: the first, and the newest.
    pub ids: Vec<String>,
}

/// Where reading goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// The account and the mailbox.
    pub mailbox: String,
    /// UIDs have their meaning as long as this is the same.
    pub validity: u64,
    /// The first UID that was not read.
    pub next: u64,
    /// Senders and UIDs of mails that are read later: too many came from their senders within an hour.
    pub waiting: Vec<(String, u64)>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Kept {
    place: Place,
    /// The day on which the owners were told of mails that were refused.
    noted: String,
    threads: Vec<Thread>,
}

/// The file.
pub struct Threads(StateFile<Kept>);

impl Threads {
    /// The file in a folder.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: STATE_BYTES,
            // Without it, what is unread of the last day is read again, and recognised.
            damaged: Damaged::StartFresh,
            synced: false,
        };
        Self(StateFile::new(state.join(FILE), policy))
    }

    /// Where reading goes on.
    pub fn place(&self) -> Result<Place> {
        Ok(self.0.read()?.place)
    }

    /// Remembers where reading goes on.
    pub fn set_place(&self, place: &Place) -> Result<()> {
        self.0.update(|kept| {
            kept.place.clone_from(place);
            Ok(())
        })
    }

    /// Notes that the owners are told today. False when they were told before.
    pub fn note_day(&self, today: &str) -> Result<bool> {
        self.0.update(|kept| {
            let is_new = kept.noted != today;
            today.clone_into(&mut kept.noted);
            Ok(is_new)
        })
    }

    /// What is remembered of a conversation.
    pub fn get(&self, chat: &str, id: &str) -> Option<Thread> {
        let kept = self.0.read().ok()?;
        let mut threads = kept.threads.into_iter();
        threads.find(|thread| thread.chat == chat && thread.id == id)
    }

    /// Remembers a mail of a conversation: the first subject stays.
    pub fn add(&self, chat: &str, id: &str, subject: &str, message: &str) -> Result<()> {
        self.0.update(|kept| {
            let at = kept
                .threads
                .iter()
                .position(|thread| thread.chat == chat && thread.id == id);
            let mut thread = match at {
                Some(at) => kept.threads.remove(at),
                None => Thread {
                    chat: chat.to_owned(),
                    id: id.to_owned(),
                    subject: subject.to_owned(),
                    ids: Vec::new(),
                },
            };
            thread.ids.retain(|known| known != message);
            if thread.ids.len() >= REFERENCES {
                // The first one stays: it is what threads hang on.
                thread.ids.remove(1);
            }
            thread.ids.push(message.to_owned());
            if kept.threads.len() >= THREADS {
                kept.threads.remove(0);
            }
            // The newest is the last.
            kept.threads.push(thread);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_keeps_its_subject_its_first_id_and_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let threads = Threads::new(folder.path());
        for number in 0..20 {
            let (subject, id) = (format!("s{number}"), format!("<{number}@x>"));
            threads.add("ana@x", "t", &subject, &id).unwrap();
        }
        let thread = threads.get("ana@x", "t").unwrap();
        assert_eq!(thread.subject, "s0");
        assert_eq!(thread.ids.first().unwrap(), "<0@x>");
        assert_eq!(thread.ids.last().unwrap(), "<19@x>");
        assert_eq!(thread.ids.len(), REFERENCES);
        assert_eq!(threads.get("bob@x", "t"), None);
    }

    #[test]
    fn the_conversations_that_were_active_last_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let threads = Threads::new(folder.path());
        threads.add("ana@x", "old", "", "<a@x>").unwrap();
        threads.add("ana@x", "older", "", "<b@x>").unwrap();
        threads.add("ana@x", "old", "", "<c@x>").unwrap();
        for number in 0..THREADS - 1 {
            threads
                .add("ana@x", &number.to_string(), "", "<d@x>")
                .unwrap();
        }
        assert!(threads.get("ana@x", "older").is_none());
        assert_eq!(threads.get("ana@x", "old").unwrap().ids.len(), 2);
    }

    #[test]
    fn the_place_survives_and_owners_are_told_once_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let threads = Threads::new(folder.path());
        assert_eq!(threads.place().unwrap(), Place::default());
        let place = Place {
            mailbox: "a".to_owned(),
            validity: 7,
            next: 9,
            waiting: vec![("ana@x".to_owned(), 8)],
        };
        threads.set_place(&place).unwrap();
        assert!(threads.note_day("2026-11-23").unwrap());
        assert!(!threads.note_day("2026-11-23").unwrap());
        assert!(threads.note_day("2026-11-24").unwrap());
        let again = Threads::new(folder.path());
        assert_eq!(again.place().unwrap(), place);
    }
}
