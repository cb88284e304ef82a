//! The update that a chat has asked for and waits for, `state/update.json`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::StateFile;
use super::file::{Damaged, Policy};
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::Address;

/// Bytes of the file that keeps the chat that waits; it has 200.
const WAITING_FILE_BYTES: usize = 64 * 1024;

/// An update that was asked for in a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedUpdate {
    /// The chat.
    pub chat: Address,
    /// The language of the person who asked.
    #[serde(default)]
    pub language: Language,
    /// The version that is installed.
    pub version: String,
}

/// Keeps the update until its end is known. With a damaged file there is none.
#[derive(Debug)]
pub struct UpdateRequest(StateFile<Option<RequestedUpdate>>);

impl UpdateRequest {
    /// Below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: WAITING_FILE_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        Self(StateFile::new(state.join("update.json"), policy))
    }

    /// The update, if one is under way.
    pub fn get(&self) -> Option<RequestedUpdate> {
        self.0.read().unwrap_or_default()
    }

    /// Keeps an update.
    pub fn set(&self, update: RequestedUpdate) -> Result<()> {
        self.0.update(|kept| {
            *kept = Some(update);
            Ok(())
        })
    }

    /// Takes the update out: its end is known.
    pub fn take(&self) -> Result<Option<RequestedUpdate>> {
        match self.get() {
            None => Ok(None),
            Some(_) => self.0.update(|kept| Ok(kept.take())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_is_kept_until_its_end_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let kept = || UpdateRequest::new(folder.path());
        assert_eq!(kept().take().unwrap(), None);
        let update = RequestedUpdate {
            chat: Address::new("telegram", "1"),
            language: Language::Chinese,
            version: "0.2.0".to_owned(),
        };
        kept().set(update.clone()).unwrap();
        assert_eq!(kept().get(), Some(update.clone()));
        assert_eq!(kept().take().unwrap(), Some(update));
        assert_eq!(kept().get(), None);
    }
}
