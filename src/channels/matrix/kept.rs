//! What is remembered across restarts, `state/matrix.json`: the place in the stream of events, and the encrypted rooms
//! that were told what to do.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sync::Invitation;
use crate::store::state::file::{Damaged, Policy, StateFile};

/// Invitations that wait to be answered; of more the oldest are forgotten.
const INVITATIONS: usize = 16;
/// Encrypted rooms that are remembered, so that each is told only once what to do.
const TOLD_ROOMS: usize = 256;
/// Bytes of the file with the place in the stream of events and the rooms that were told something.
const STATE_BYTES: usize = 128 * 1024;

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// The account that it is about.
    pub user: String,
    /// Where the next sync goes on; empty: at the present.
    pub since: String,
    /// The encrypted rooms that were told what to do, the newest at the end.
    pub told: Vec<String>,
    /// Invitations that are still to be answered, the newest at the end.
    pub invitations: Vec<Invitation>,
}

/// The file, and what it is to contain.
#[derive(Debug)]
pub struct KeptFile {
    file: StateFile<Kept>,
    saved: Kept,
    /// What it is to contain.
    pub now: Kept,
}

impl KeptFile {
    /// Reads the file below the folder `state`. One that is damaged, or about another account, counts as missing.
    pub fn open(state: &Path, user: &str) -> Self {
        let policy = Policy {
            bytes_max: STATE_BYTES,
            damaged: Damaged::StartFresh,
            // The inbox is: after a power cut what it has is recognised.
            synced: false,
        };
        let file: StateFile<Kept> = StateFile::new(state.join("matrix.json"), policy);
        let saved = file.read().unwrap_or_default();
        let now = if saved.user == user {
            saved.clone()
        } else {
            Kept {
                user: user.to_owned(),
                ..Kept::default()
            }
        };
        Self { file, saved, now }
    }

    /// Where the next sync goes on.
    pub fn since(&self) -> Option<&str> {
        Some(self.now.since.as_str()).filter(|since| !since.is_empty())
    }

    /// Whether an encrypted room was told what to do.
    pub fn was_told(&self, room: &str) -> bool {
        self.now.told.iter().any(|told| told == room)
    }

    /// An encrypted room was told what to do.
    pub fn note_told(&mut self, room: &str) {
        if self.now.told.len() >= TOLD_ROOMS {
            self.now.told.remove(0);
        }
        self.now.told.push(room.to_owned());
    }

    /// Adds an invitation, which is answered in its turn. A newer one into the same room takes the place of an older.
    pub fn add_invitation(&mut self, invitation: Invitation) {
        let invitations = &mut self.now.invitations;
        invitations.retain(|known| known.room != invitation.room);
        if invitations.len() >= INVITATIONS {
            invitations.remove(0);
        }
        invitations.push(invitation);
    }

    /// Writes what has changed. When that fails, more is read again after a restart, and recognised.
    pub fn save(&mut self) {
        if self.saved == self.now {
            return;
        }
        let saved = self.file.update(|kept| {
            kept.clone_from(&self.now);
            Ok(())
        });
        match saved {
            Ok(()) => self.saved.clone_from(&self.now),
            Err(error) => tracing::warn!("failed to save the place in Matrix's events: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_kept_for_the_same_account_only() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptFile::open(folder.path(), "@bot:x.org");
        assert_eq!(kept.since(), None);
        kept.now.since = "s1".to_owned();
        kept.note_told("!a:x.org");
        kept.save();
        let again = KeptFile::open(folder.path(), "@bot:x.org");
        assert_eq!(again.since(), Some("s1"));
        assert!(again.was_told("!a:x.org") && !again.was_told("!b:x.org"));
        let other = KeptFile::open(folder.path(), "@other:x.org");
        assert_eq!((other.since(), other.now.told.len()), (None, 0));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut kept = KeptFile::open(folder.path(), "@bot:x.org");
        for number in 0..2 * TOLD_ROOMS {
            kept.note_told(&format!("!{number:0>250}"));
        }
        for number in 0..2 * INVITATIONS {
            kept.add_invitation(Invitation {
                room: format!("!{number:0>250}"),
                from: format!("@{}:x", "a".repeat(250)),
                name: "n".repeat(64),
                ..Invitation::default()
            });
        }
        assert_eq!(kept.now.invitations.len(), INVITATIONS);
        kept.now.since = "s".repeat(4096);
        kept.save();
        assert_eq!(KeptFile::open(folder.path(), "@bot:x.org").now, kept.now);
    }
}
