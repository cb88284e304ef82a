//! Messages of the outbox of which no more is sent: delivered, given up, or set aside.

use std::path::Path;

use super::{Caller, Outcome};
use crate::base::error::Error;
use crate::base::message::OutgoingMessage;
use crate::channels::kit::adapter::Failure;
use crate::store::outbox::Pending;

/// Messages that are set aside at a time; then the oldest of them is given up.
const ASIDE_MAX: usize = 32;

impl Caller<'_> {
    /// Decides about a piece that was not sent: some failures are temporary, others final.
    pub(super) fn undelivered(&self, pending: &Pending, failure: Failure) -> Outcome {
        let to = &pending.message.to;
        if let Failure::Gone {
            moved_to: Some(moved_to),
            ..
        } = &failure
            && moved_to != to
        {
            tracing::info!(chat = %to, to = %moved_to, "the group has moved; its messages follow");
            self.parts.observer.moved(to, moved_to);
            if let Err(error) = self.parts.outbox.moved(to, moved_to) {
                tracing::warn!("failed to write to the outbox: {error}");
            }
            return Outcome::Moved;
        }
        let why = failure.to_string();
        let is_chat_gone = matches!(failure, Failure::Gone { .. });
        let outcome = Outcome::from(failure);
        if matches!(outcome, Outcome::Dropped) {
            tracing::error!(chat = %to, "failed to deliver a message, giving up: {why}");
            self.give_up(pending, &why, is_chat_gone);
        }
        outcome
    }

    /// Records how many pieces of a message were sent; `None` when nothing remains to be sent.
    pub(super) fn confirm(&self, id: u64, pieces: Option<usize>) {
        let recorded = match pieces {
            Some(pieces) => self.parts.outbox.sent(id, pieces),
            None => self.parts.outbox.done(id),
        };
        if let Err(error) = recorded {
            tracing::warn!("failed to record in the outbox what was sent: {error}");
        }
    }

    /// Records that nothing more of a message is sent.
    pub(super) fn give_up(&self, pending: &Pending, why: &str, is_chat_gone: bool) {
        let observer = &self.parts.observer;
        observer.given_up(&pending.message, why, is_chat_gone);
        if let Err(error) = self.parts.outbox.give_up(pending.id, why) {
            tracing::warn!("failed to record in the outbox what was given up: {error}");
        }
        self.remove_made(&pending.message);
    }

    /// Lets the others of its chat go on beside a message that has always failed.
    pub(super) fn set_aside(&self, id: u64, why: &str) {
        let outbox = &self.parts.outbox;
        let Some(pending) = outbox.get(id) else {
            return;
        };
        let to = &pending.message.to;
        tracing::error!(chat = %to, "set aside a message that has always failed: {why}");
        let aside = outbox.aside();
        if aside.len() >= ASIDE_MAX
            && let Some(oldest) = aside.first()
        {
            self.give_up(oldest, "too many messages are set aside", false);
        }
        let is_first = aside.iter().all(|other| other.message.to != *to);
        if let Err(error) = outbox.set_aside(id) {
            tracing::warn!("failed to record in the outbox what was set aside: {error}");
        }
        (self.parts.observer).set_aside(&pending.message, why, is_first);
    }

    /// Removes the files that were made for a message which is over. What is left over in the home's folder
    /// is deleted when further ones are made.
    pub(super) fn remove_made(&self, message: &OutgoingMessage) {
        for path in &message.made_files {
            let path = Path::new(path);
            let removed = if self.parts.outgoing.holds(path) {
                std::fs::remove_file(path).map_err(Error::io("remove", path))
            } else {
                (self.parts.workspace_with)(path).and_then(|it| it.remove(path))
            };
            if let Err(error) = removed {
                tracing::warn!("failed to remove a file that was sent: {error}");
            }
        }
    }
}
