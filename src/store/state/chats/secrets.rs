//! The people who were asked for a secret in a chat, `state/secrets.json`, so that an answer is known as one even when
//! the gateway has ended in between. No secret is in it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::error::Result;
use crate::base::message::Address;
use crate::store::state::file::{Damaged, Policy, StateFile};

/// Bytes of the file that keeps them over a restart; each has about 100.
const LATE_SECRETS_BYTES: usize = 8 * 1024;

/// Someone who was asked for a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskedSecret {
    /// The chat.
    pub chat: Address,
    /// The id of the person.
    pub person: String,
    /// When the question was over, in seconds; `None` while the program still asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<i64>,
}

/// Keeps who was asked. With a damaged file nobody was.
#[derive(Debug)]
pub struct AskedSecrets(StateFile<Vec<AskedSecret>>);

impl AskedSecrets {
    /// Below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: LATE_SECRETS_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        Self(StateFile::new(state.join("secrets.json"), policy))
    }

    /// Who was asked.
    pub fn list(&self) -> Vec<AskedSecret> {
        self.0.read().unwrap_or_default()
    }

    /// Keeps this list in place of the last one.
    pub fn set(&self, list: Vec<AskedSecret>) -> Result<()> {
        self.0.update(|kept| {
            *kept = list;
            Ok(())
        })
    }
}
