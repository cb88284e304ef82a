//! After a start: what the last run accepted, began or had to deliver goes on.

use super::run::Loop;
use super::scheduler::Input;
use crate::bus::Event;
use crate::inbox::Inbox;
use crate::markup::inline_code;
use crate::message::Envelope;
use crate::session::store;

/// The messages that the last run had accepted and not worked off.
pub(super) struct Accepted {
    /// With which nothing has been done.
    waiting: Vec<Envelope>,
    /// That were begun and must not be run again.
    begun: Vec<Envelope>,
}

impl Accepted {
    /// Reads them.
    pub(super) fn read(inbox: &Inbox) -> Self {
        Self {
            waiting: inbox.waiting(),
            begun: inbox.begun(),
        }
    }
}

impl Loop {
    /// Lets go what closed a turn, goes on with the turns that were interrupted, and takes what was
    /// accepted and not yet read.
    pub(super) fn recover(&mut self, accepted: Accepted) {
        let sessions = store::unfinished(&self.gateway.parts.sessions).unwrap_or_else(|error| {
            tracing::error!("failed to look for interrupted turns: {error}");
            Vec::new()
        });
        for pending in self.gateway.parts.outbox.pending() {
            if let Some(closes) = pending.closes
                && !sessions.contains(&closes.session)
            {
                self.gateway.parts.outbox.release(&closes.session);
            }
        }
        for session in sessions {
            if self.gateway.deliveries.contains_key(session.parts().0) {
                tracing::info!(%session, "going on with an interrupted turn");
                self.handle(Input::Interrupted(session));
            }
        }
        for message in accepted.begun {
            let command = inline_code(&message.text);
            let text = format!(
                "{command} was interrupted by a restart. I don't know whether it took effect, and I did not run it again."
            );
            self.gateway.tell(&message.address(), &text);
            self.gateway.parts.inbox.taken(&message.id);
        }
        for message in accepted.waiting {
            let files = (!message.remote_files.is_empty()).then(|| message.clone());
            self.take(Event::Arrived(message));
            if let Some(message) = files {
                self.fetch(message);
            }
        }
        self.gateway
            .deliveries
            .values()
            .for_each(|delivery| delivery.wake());
    }
}
