//! Who has access: the people in allowFrom and those who are paired. Anyone else who writes to the bot in
//! private is given a pairing code.

use std::sync::Arc;

use super::IntakeParts;
use crate::channels::texts::{introduction, welcome};
use crate::limits::state::PAIRING_VALID_SECS;
use crate::markup::inline_code;
use crate::message::{Envelope, OutgoingMessage, Sender};
use crate::sync::Mutex;

/// The people who may write according to the configuration. Clones share it, so that a reload of the
/// configuration takes effect everywhere.
#[derive(Clone, Debug, Default)]
pub struct AllowList(Arc<Mutex<Arc<[String]>>>);

impl AllowList {
    /// Ids, names with an `@`, or `*` for everyone.
    pub fn new(entries: Vec<String>) -> Self {
        Self(Arc::new(Mutex::new(entries.into())))
    }

    /// The entries as they are now.
    pub fn entries(&self) -> Arc<[String]> {
        Arc::clone(&self.0.lock())
    }

    /// Puts other entries in place of these.
    pub fn replace(&self, entries: Vec<String>) {
        *self.0.lock() = entries.into();
    }
}

/// Whether the configuration gives a sender access: by id, by the name with an `@` that people choose
/// themselves, or because everyone has it.
pub fn is_allowed(allow_from: &[String], id: &str, username: Option<&str>) -> bool {
    allow_from.iter().any(|entry| match entry.trim() {
        "*" => true,
        entry => match entry.strip_prefix('@') {
            Some("") => false,
            Some(name) => username.is_some_and(|username| username.eq_ignore_ascii_case(name)),
            None => entry == id,
        },
    })
}

/// Ignores a message from an unknown sender, who is given a code if the chat is private.
pub(super) fn refuse(parts: &IntakeParts, envelope: &Envelope, sender: &Sender) {
    let chat = envelope.address();
    if envelope.is_group {
        tracing::debug!(sender = %sender.id, %chat, "ignored message from unknown user");
        return;
    }
    let text = Some(envelope.text.as_str()).filter(|_| !envelope.is_relayed);
    match parts
        .pairing
        .accept(text.unwrap_or_default(), &chat, sender)
    {
        Ok(true) => {
            tracing::info!(sender = %sender.id, %chat, "paired by an invitation");
            match parts.outbox.add(
                &OutgoingMessage::text(&chat, welcome(sender.language)),
                None,
            ) {
                Ok(_) => (parts.wake)(),
                Err(error) => tracing::warn!("failed to store a welcome: {error}"),
            }
            return;
        }
        Ok(false) => {}
        Err(error) => tracing::warn!("failed to pair a person by an invitation: {error}"),
    }
    tracing::info!(sender = %sender.id, %chat, "ignored message from unknown user");
    match parts.pairing.offer(&chat, sender) {
        Ok(Some(code)) => {
            let (id, minutes) = (inline_code(&sender.id), PAIRING_VALID_SECS / 60);
            let text = introduction(sender.language, &parts.pair_command, &code, &id, &minutes);
            let message = OutgoingMessage::text(&chat, text);
            match parts.outbox.add(&message, None) {
                Ok(_) => (parts.wake)(),
                Err(error) => {
                    tracing::warn!("failed to send a pairing code: {error}");
                    withdraw_code(parts, sender);
                }
            }
        }
        // They already have one.
        Ok(None) => {}
        Err(error) => tracing::warn!("failed to create a pairing code: {error}"),
    }
}

/// Withdraws a code that was not sent, so that the person can get another one.
fn withdraw_code(parts: &IntakeParts, sender: &Sender) {
    if let Err(error) = parts.pairing.remove(parts.channel, &sender.id) {
        tracing::warn!("failed to withdraw a pairing code: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_or_a_name_or_everyone() {
        let allowed = |list: &[&str], id: &str, name: Option<&str>| {
            let list: Vec<String> = list.iter().map(|entry| (*entry).to_owned()).collect();
            is_allowed(&list, id, name)
        };
        assert!(!allowed(&[], "1", Some("ana")));
        assert!(allowed(&["7", "1"], "1", None));
        assert!(allowed(&["@Ana"], "1", Some("ana")));
        assert!(!allowed(&["@ana"], "1", None));
        assert!(!allowed(&["ana"], "1", Some("ana")), "a name needs its @");
        assert!(!allowed(&["1"], "11", Some("1")));
        assert!(
            !allowed(&["@"], "1", Some("")),
            "an empty name matches no one"
        );
        assert!(allowed(&["*"], "1", None));
    }
}
