//! Lines that wait for the rest of their paste, and messages that wait for the inbox, `state/irc-held.json`: a server
//! tells them once, so they are on the disk at once.

use std::path::Path;

use super::paste::Whole;
use crate::store::state::{Damaged, Policy, StateFile};

/// Bytes of the file with lines that wait for the rest of their paste, or for the inbox.
const HELD_BYTES: usize = 256 * 1024;

/// The file.
pub struct Held {
    file: StateFile<Vec<Whole>>,
    /// Whether there is one.
    is_there: bool,
}

impl Held {
    /// The file below the folder `state`, and what it holds.
    pub fn open(state: &Path) -> (Self, Vec<Whole>) {
        let policy = Policy {
            bytes_max: HELD_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        let file: StateFile<Vec<Whole>> = StateFile::new(state.join("irc-held.json"), policy);
        let left = file.read().unwrap_or_default();
        let is_there = file.path().exists();
        (Self { file, is_there }, left)
    }

    /// Replaces what is held.
    pub fn keep(&mut self, now: Vec<Whole>) {
        self.is_there = true;
        let kept = self.file.update(|held| {
            *held = now;
            Ok(())
        });
        if let Err(error) = kept {
            tracing::warn!("failed to save a line of IRC before the rest of it has come: {error}");
        }
    }

    /// The inbox has everything. After a power cut something may be left, which the inbox recognises.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_there)
            && let Err(error) = std::fs::remove_file(self.file.path())
        {
            tracing::debug!("failed to remove the held lines of IRC: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::{Address, Envelope, Sender};

    #[test]
    fn lines_are_held_until_the_inbox_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let (mut held, left) = Held::open(folder.path());
        assert!(left.is_empty());
        held.clear();
        let chat = Address::new("irc", "ana");
        let whole = Whole {
            envelope: Envelope::written(&chat, Sender::default(), "one\ntwo"),
            ids: vec!["2".to_owned()],
        };
        held.keep(vec![whole.clone()]);
        let (mut held, left) = Held::open(folder.path());
        assert_eq!(left, [whole]);
        held.clear();
        assert!(Held::open(folder.path()).1.is_empty());
        assert!(!folder.path().join("irc-held.json").exists());
    }
}
