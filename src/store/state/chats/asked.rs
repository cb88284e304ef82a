//! What a chat was asked when the gateway ended: the conversations in which a command waits for an approval,
//! `state/questions.json`, so that after a kill it is known that it has not run; and the people who were asked for a
//! secret, `state/secrets.json`, so that an answer is known as one. No secret is in it.

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

/// Bytes of the list of conversations that wait for an approval; as many as turns may wait.
const OPEN_QUESTIONS_BYTES: usize = 16 * 1024;

/// Keeps the session keys. With a damaged file nothing waits.
#[derive(Debug)]
pub struct OpenQuestions(StateFile<Vec<String>>);

impl OpenQuestions {
    /// Below the folder `state`.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: OPEN_QUESTIONS_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        Self(StateFile::new(state.join("questions.json"), policy))
    }

    /// Notes that a conversation waits for an answer.
    pub fn open(&self, session: &str) -> Result<()> {
        self.0.update(|list| {
            list.retain(|other| other != session);
            list.push(session.to_owned());
            Ok(())
        })
    }

    /// Forgets it. Returns whether it was there.
    pub fn close(&self, session: &str) -> Result<bool> {
        let is_it = |list: Vec<String>| list.iter().any(|other| other == session);
        if !self.0.read().is_ok_and(is_it) {
            return Ok(false);
        }
        self.0.update(|list| {
            list.retain(|other| other != session);
            Ok(true)
        })
    }
}
