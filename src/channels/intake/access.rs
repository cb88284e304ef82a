//! Who has access: the people whom the configuration names and those who are paired. Anyone else who writes to the bot in
//! private is given a pairing code.

use std::collections::VecDeque;
use std::sync::Arc;

use super::IntakeParts;
use crate::base::access::Rules;
use crate::base::limits::state::PAIRING_VALID_SECS;
use crate::base::message::{Address, Envelope, OutgoingMessage, Sender, Writer};
use crate::base::sync::Mutex;
use crate::channels::kit::texts::{introduction, reminder, welcome};
use crate::store::state::pairing::Offer;
use crate::text::markup::inline_code;

/// Codes whose people were reminded of them that are remembered: as many as a channel gives out at a time, and more.
const REMINDED_CODES: usize = 128;

/// The people who may write according to the configuration, and their roles. Clones share it, so that a
/// reload of the configuration takes effect everywhere.
#[derive(Clone, Debug, Default)]
pub struct AccessList {
    rules: Arc<Mutex<Arc<Rules>>>,
    /// The codes of which someone was reminded, the newest last.
    reminded: Arc<Mutex<VecDeque<String>>>,
}

impl AccessList {
    /// A list with these rules.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules: Arc::new(Mutex::new(Arc::new(rules))),
            reminded: Arc::default(),
        }
    }

    /// The rules as they are now.
    pub fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.lock())
    }

    /// Puts other rules in place of these.
    pub fn replace(&self, rules: Rules) {
        *self.rules.lock() = Arc::new(rules);
    }

    /// Whether the person with this code has not been reminded of it before.
    fn reminds(&self, code: &str) -> bool {
        let mut reminded = self.reminded.lock();
        if reminded.iter().any(|known| known == code) {
            return false;
        }
        if reminded.len() >= REMINDED_CODES {
            reminded.pop_front();
        }
        reminded.push_back(code.to_owned());
        true
    }
}

/// Ignores a message from an unknown sender, who is given a code if the chat is private.
pub(super) fn refuse(parts: &IntakeParts, envelope: &Envelope, sender: &Sender) {
    let chat = envelope.address();
    if envelope.is_group {
        tracing::debug!(sender = %sender.id, %chat, "ignored message from unknown user");
        return;
    }
    let text = Some(envelope.text.as_str()).filter(|_| !envelope.is_relayed);
    if accept_invitation(parts, text.unwrap_or_default(), &chat, sender) {
        return;
    }
    tracing::info!(sender = %sender.id, %chat, "ignored message from unknown user");
    match parts.pairing.offer(&chat, sender) {
        Ok(Some(code)) => {
            let (id, minutes) = (inline_code(&sender.id), PAIRING_VALID_SECS / 60);
            let text = introduction(sender.language, &parts.pair_command, &code, &id, &minutes);
            let message = OutgoingMessage {
                from: Writer::Notice,
                ..OutgoingMessage::text(&chat, text)
            };
            match parts.outbox.add(&message, None) {
                Ok(_) => (parts.wake)(),
                Err(error) => {
                    tracing::warn!("failed to send a pairing code: {error}");
                    withdraw_code(parts, sender);
                }
            }
        }
        Ok(None) => remind(parts, &chat, sender),
        Err(error) => tracing::warn!("failed to create a pairing code: {error}"),
    }
}

/// Reminds someone of the code that they have, once for each: two programs that answer each other end there.
fn remind(parts: &IntakeParts, chat: &Address, sender: &Sender) {
    let offers = parts.pairing.list().map(|known| known.offers);
    let mut offers = offers.unwrap_or_default().into_iter();
    let is_theirs = |offer: &Offer| offer.channel == chat.channel && offer.sender.id == sender.id;
    let Some(offer) = offers.find(is_theirs) else {
        return;
    };
    if !parts.access.reminds(&offer.code) {
        return;
    }
    let message = OutgoingMessage {
        from: Writer::Notice,
        ..OutgoingMessage::text(chat, reminder(sender.language, &offer.code))
    };
    match parts.outbox.add(&message, None) {
        Ok(_) => (parts.wake)(),
        Err(error) => tracing::warn!("failed to remind a person of their pairing code: {error}"),
    }
}

/// Notes a person's name for the web page, where it decides as the channel saw it last.
pub(super) fn note_name(parts: &IntakeParts, sender: &Sender, username: &str) {
    let noted = parts.pairing.note_name(parts.channel, &sender.id, username);
    if let Err(error) = noted {
        tracing::warn!("failed to save the name of a person: {error}");
    }
}

/// Pairs the sender of a text whose last word is an invitation, and welcomes them. Whether it was one.
pub(super) fn accept_invitation(
    parts: &IntakeParts,
    text: &str,
    chat: &Address,
    sender: &Sender,
) -> bool {
    match parts.pairing.accept(text, chat, sender) {
        Ok(true) => {}
        Ok(false) => return false,
        Err(error) => {
            tracing::warn!("failed to pair a person by an invitation: {error}");
            return false;
        }
    }
    tracing::info!(sender = %sender.id, %chat, "paired by an invitation");
    let message = OutgoingMessage::text(chat, welcome(sender.language));
    match parts.outbox.add(&message, None) {
        Ok(_) => (parts.wake)(),
        Err(error) => tracing::warn!("failed to store a welcome: {error}"),
    }
    true
}

/// Withdraws a code that was not sent, so that the person can get another one.
fn withdraw_code(parts: &IntakeParts, sender: &Sender) {
    if let Err(error) = parts.pairing.remove(parts.channel, &sender.id) {
        tracing::warn!("failed to withdraw a pairing code: {error}");
    }
}
