//! After a start: the work that the last run had accepted, begun or not delivered continues.

use super::Gateway;
use super::commands::texts;
use super::run::Loop;
use super::scheduler::Input;
use crate::base::bus::Event;
use crate::base::checksum::crc32;
use crate::base::message::{Envelope, OutgoingMessage};
use crate::store::inbox::Inbox;
use crate::text::markup::inline_code;

/// The messages that the last run had accepted and not finished.
pub(super) struct Accepted {
    /// Not begun.
    waiting: Vec<Envelope>,
    /// Begun, so they must not run again.
    begun: Vec<Envelope>,
}

impl Accepted {
    /// Those that were not begun.
    pub(super) fn waiting(&self) -> &[Envelope] {
        &self.waiting
    }

    /// Reads them.
    pub(super) fn read(inbox: &Inbox) -> Self {
        Self {
            waiting: inbox.waiting(),
            begun: inbox.begun(),
        }
    }
}

impl Gateway {
    /// Tells the chats that asked for a restart that it is done. Called once the channels poll.
    pub(super) fn say_back(&self) {
        let restarts = &self.parts.restarts;
        for (to, language) in restarts.list() {
            self.tell(&to, texts::back(language));
        }
        if let Err(error) = restarts.clear() {
            tracing::warn!("failed to forget who asked for a restart: {error}");
        }
    }
}

impl Loop {
    /// Releases the answers of turns that have ended, resumes interrupted turns, and takes the messages
    /// that were accepted and not read yet.
    pub(super) fn recover(&mut self, accepted: Accepted) {
        self.gateway.clear_outgoing();
        self.gateway.end_left_allowances();
        self.gateway.settle_terminals();
        let runs = self.gateway.settle_runs();
        let sessions = self.gateway.find_interrupted();
        for pending in self.gateway.parts.outbox.pending() {
            if let Some(closes) = pending.closes
                && !sessions.contains(&closes.session)
            {
                self.gateway.parts.outbox.release(&closes.session);
            }
        }
        for session in sessions {
            if runs.iter().any(|message| message.session == session) {
                self.gateway.interrupted.lock().remove(&session);
            } else if self.gateway.deliveries.contains_key(session.parts().0) {
                tracing::info!(%session, "resuming an interrupted turn");
                self.handle(Input::Interrupted(session));
            }
        }
        for message in runs {
            self.take(Event::Arrived(message));
        }
        for message in self.gateway.resume_plans(&accepted) {
            self.take(Event::Arrived(message));
        }
        for message in accepted.begun {
            let command = inline_code(&message.text);
            let text = texts::interrupted_command(message.language(), &command);
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
        self.gateway.tell_ignored_settings();
        self.gateway
            .deliveries
            .values()
            .for_each(|delivery| delivery.wake());
        self.gateway.find_unconsolidated();
    }
}

impl Gateway {
    /// Tells the owner that part of the configuration is not obeyed; the same news once only.
    fn tell_ignored_settings(&self) {
        let ignored = &self.parts.ignored_settings;
        let (Some(first), Some(chat)) = (ignored.first(), self.owner_chat()) else {
            return;
        };
        let language = self.parts.languages.get(&chat);
        let more = match ignored.len() - 1 {
            0 => String::new(),
            count => texts::ignored_more(language, &count),
        };
        let text = texts::ignored_settings(language, &inline_code(first), &more);
        let digest = crc32(ignored.concat().as_bytes());
        self.tell_with(OutgoingMessage {
            once: format!("settings:{digest:08x}"),
            ..OutgoingMessage::text(&chat, text)
        });
    }
}
