//! The conversations in which a command waits for an approval, `state/questions.json`: after a kill it is known that it
//! has not run.

use std::path::Path;

use crate::base::error::Result;
use crate::store::state::file::{Damaged, Policy, StateFile};

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
