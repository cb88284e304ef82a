//! The keys of drafts: messages that show the progress of some work.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::SessionKey;

/// The piece of work whose progress a draft shows. Two pieces of work in one chat never edit each
/// other's message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DraftKey(String);

/// How the keys of turns begin.
const TURN: &str = "turn:";
/// How the keys of terminals begin.
const TERMINAL: &str = "terminal:";
/// How the keys of allowances begin.
const ALLOWANCE: &str = "allowance:";

impl DraftKey {
    /// The running turn of a session.
    pub fn turn(session: &SessionKey) -> Self {
        Self(format!("{TURN}{session}"))
    }

    /// Whether it is a turn's.
    pub fn is_of_turn(&self) -> bool {
        self.0.starts_with(TURN)
    }

    /// Whether a restart has to tell its chat that it is over.
    pub fn is_told_after_restart(&self) -> bool {
        self.is_of_terminal() || self.0.starts_with(ALLOWANCE)
    }

    /// What an owner allows in a session for some minutes.
    pub fn allowance(session: &SessionKey) -> Self {
        Self(format!("{ALLOWANCE}{session}"))
    }

    /// The session of such an allowance.
    pub fn allowed_session(&self) -> Option<SessionKey> {
        self.0.strip_prefix(ALLOWANCE).map(SessionKey::parse)
    }

    /// A terminal, by the id of the envelope that opened it.
    pub fn terminal(envelope: &str) -> Self {
        Self(format!("{TERMINAL}{envelope}"))
    }

    /// Whether it is a terminal's.
    pub fn is_of_terminal(&self) -> bool {
        self.0.starts_with(TERMINAL)
    }

    /// A plan, by its id and how often it has ended.
    pub fn plan(id: &str, ends: u32) -> Self {
        Self(format!("plan:{id}:{ends}"))
    }

    /// A slash command, by the id of the envelope that it came in.
    pub fn command(envelope: &str) -> Self {
        Self(format!("command:{envelope}"))
    }
}

impl fmt::Display for DraftKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
