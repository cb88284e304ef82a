//! Whose a message is, and how it takes its place among the others.

use crate::base::message::{Envelope, Origin, SessionKey};
use crate::gateway::commands::{ParsedMessage, When};

pub(super) fn is_ready(message: &Envelope) -> bool {
    message.remote_files.is_empty()
}

pub(super) fn acts_at_once(message: &ParsedMessage) -> bool {
    message.when().is_some_and(|when| when != When::InOrder)
}

/// Whether it starts a turn of its own: a job's.
pub(super) fn is_of_job(message: &Envelope) -> bool {
    matches!(message.origin, Origin::Cron { .. })
}

/// Whether it is a subagent's: its task or its report.
pub(super) fn is_of_subagent(message: &Envelope) -> bool {
    matches!(
        message.origin,
        Origin::Subagent { .. } | Origin::Report { .. }
    )
}

/// The conversation that a message is a task of.
pub(super) fn parent_of(message: &Envelope) -> Option<&SessionKey> {
    match &message.origin {
        Origin::Subagent { parent, .. } => Some(parent),
        _ => None,
    }
}
