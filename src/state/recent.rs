//! The chat that was active last, `state/recent.json`: where words go that belong to no chat.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::limits::state::RECENT_FILE_BYTES;
use crate::message::Address;
use crate::sys;

/// The file of one home, for all threads. It is read once.
#[derive(Debug)]
pub struct Recent {
    path: PathBuf,
    known: Mutex<Option<Address>>,
}

impl Recent {
    /// The fact below the folder `state`. A file that cannot be read says nothing.
    pub fn new(state: &Path) -> Self {
        let path = state.join("recent.json");
        let content = sys::file::read_at_most(&path, RECENT_FILE_BYTES).unwrap_or_default();
        let known = serde_json::from_slice(&content).ok();
        Self {
            path,
            known: Mutex::new(known),
        }
    }

    /// The chat that was active last.
    pub fn get(&self) -> Option<Address> {
        self.lock().clone()
    }

    /// Notes that a chat is active. Writes only when it is another one than before.
    pub fn note(&self, chat: &Address) -> Result<()> {
        let mut known = self.lock();
        if known.as_ref() != Some(chat) {
            *known = Some(chat.clone());
            super::write(&self.path, chat)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Address>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_kept_and_written_only_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let recent = Recent::new(folder.path());
        assert_eq!(recent.get(), None);
        let (one, two) = (Address::parse("telegram:1"), Address::parse("telegram:2"));
        recent.note(&one).unwrap();
        assert_eq!(Recent::new(folder.path()).get(), Some(one.clone()));
        let path = folder.path().join("recent.json");
        std::fs::remove_file(&path).unwrap();
        recent.note(&one).unwrap();
        assert!(!path.exists());
        recent.note(&two).unwrap();
        assert_eq!(Recent::new(folder.path()).get(), Some(two));
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Recent::new(folder.path()).get(), None);
    }
}
