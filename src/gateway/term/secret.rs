//! Secrets that are typed into terminals, and whose messages are for a terminal.

use std::sync::Arc;

use super::{Asking, Closing, Open, is_text, keys, may_be_secret, texts};
use crate::base::access::{Person, Role};
use crate::base::message::{Address, Envelope};
use crate::channels::http::PAGE;
use crate::gateway::Gateway;
use crate::gateway::commands::typed_command;

impl Open {
    /// Whether the chat shows a question for a secret that was not answered.
    fn is_asking(&self) -> bool {
        self.state.lock().asking == Asking::Yes
    }

    /// The bytes of a secret; `None` when they are no keys.
    fn bytes_of_secret(&self, message: &Envelope) -> Option<Vec<u8>> {
        let command = typed_command(message);
        if !is_text(message, command.as_ref()) {
            return self.bytes_of(message, command.as_ref())?.ok();
        }
        let mut bytes = keys::encode_text(message.typed_text(), false);
        bytes.push(b'\r');
        Some(bytes)
    }
}

impl Gateway {
    /// Whether a message is what a program in a terminal reads and does not show. It must not be stored. Nor must one that
    /// was meant to be, and comes too late.
    pub(in crate::gateway) fn is_secret(&self, message: &Envelope) -> bool {
        if !may_be_secret(message, typed_command(message).as_ref()) {
            return false;
        }
        let is_late = self.is_late(message);
        let open = self.terminals.at(&message.address());
        let open = open.filter(|open| open.is_by(message));
        is_late || open.is_some_and(|open| open.keyboard.hides_input() || open.is_asking())
    }

    /// Types a secret, and deletes it from its chat. Nothing of it is kept.
    pub(in crate::gateway) fn type_secret(&self, message: &Envelope) {
        let (to, language) = (message.address(), message.language());
        if let Some(delivery) = self.delivery(&to) {
            delivery.remove(&to, &message.reference);
        }
        let open = self.terminals.at(&to).filter(|open| open.is_by(message));
        if let Some(open) = open.as_ref().filter(|_| message.role < Role::Owner) {
            open.close(Closing::NotOwner);
            return self.tell(&to, texts::secret_refused(language));
        }
        let hides_input = |open: &Arc<Open>| open.keyboard.hides_input();
        let Some(awaiting) = open.as_ref().filter(|open| hides_input(open)) else {
            if let Some(open) = &open {
                self.note_asking(open, false);
            }
            self.settle_late(message);
            return self.tell(&to, texts::late_secret(language));
        };
        match awaiting.bytes_of_secret(message) {
            // What was typed instead of a key may be a part of the secret, and is not repeated.
            None => self.tell(&to, texts::key_usage(language)),
            Some(bytes) if awaiting.push(&bytes) => {}
            Some(_) => self.tell(&to, texts::input_full(language)),
        }
    }

    /// Whether what a person writes in a chat is for a terminal there, or was meant to be.
    pub(in crate::gateway) fn is_awaited(&self, chat: &Address, person: &str) -> bool {
        let open = self.terminals.at(chat);
        open.is_some_and(|open| open.person == person) || self.is_asked_late(chat, person)
    }

    /// Closes the terminal that a person has opened in a chat: they have no access any more.
    pub(in crate::gateway) fn close_terminal_of(&self, chat: &Address, person: &str) {
        let open = self.terminals.at(chat);
        if let Some(open) = open.filter(|open| open.person == person) {
            open.close(Closing::NotOwner);
        }
    }

    /// Closes the terminals of people who are no owners by the configuration of now. Of one who may be named there by a
    /// name, only the next message shows it.
    pub(in crate::gateway) fn close_terminals_of_others(&self) {
        let open: Vec<Arc<Open>> = self.terminals.inner.lock().open.values().cloned().collect();
        for open in open {
            let channel = open.to.channel.as_str();
            let Some(access) = self.access.get(channel) else {
                continue;
            };
            let rules = access.rules();
            let role = if channel == PAGE {
                self.role_of_key(&open.person)
            } else {
                rules.role(&Person {
                    id: &open.person,
                    username: "",
                    group: open.is_group.then_some(open.to.chat.as_str()),
                    thread_of: None,
                    paired: self.parts.pairing.role_of(channel, &open.person),
                })
            };
            let has_names = rules.named().any(|entry| entry.trim().starts_with('@'));
            if role != Some(Role::Owner) && !has_names {
                open.close(Closing::NotOwner);
            }
        }
    }
}
