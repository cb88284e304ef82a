//! After a start: what the last run accepted, began or had to deliver goes on.

use super::run::Loop;
use super::scheduler::Input;
use crate::bus::Event;
use crate::chat::{Entry, EntryKind};
use crate::error::Result;
use crate::inbox::Inbox;
use crate::markup::inline_code;
use crate::message::Envelope;
use crate::outbox::Pending;
use crate::session::line::TurnEnd;
use crate::session::{Session, store};

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
    /// Ends turns whose answer is stored already, goes on with those that were interrupted, and takes
    /// what was accepted and not yet read.
    pub(super) fn recover(&mut self, accepted: Accepted) {
        for pending in self.gateway.parts.outbox.pending() {
            let Some(closes) = &pending.closes else {
                continue;
            };
            if let Err(error) = self.close_turn(&pending) {
                tracing::error!(session = %closes.session, "failed to close a turn: {error}");
            }
            self.gateway.parts.outbox.release(&closes.session);
        }
        let sessions = store::unfinished(&self.gateway.parts.sessions).unwrap_or_else(|error| {
            tracing::error!("failed to look for interrupted turns: {error}");
            Vec::new()
        });
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

    /// Ends a turn that was killed after its answer was stored and before the journal recorded the
    /// end. The model is not asked again: the answer will be delivered.
    fn close_turn(&self, pending: &Pending) -> Result<()> {
        let Some(closes) = &pending.closes else {
            return Ok(());
        };
        let parts = &self.gateway.parts;
        let mut session = Session::open(&parts.sessions, &closes.session, parts.journals.clone())?;
        if session.is_unfinished() && session.length() == closes.journal {
            let answer = Entry::new(EntryKind::Assistant, pending.message.text.as_str());
            session.end_turn(Some(answer), TurnEnd::Answered)?;
        }
        Ok(())
    }
}
