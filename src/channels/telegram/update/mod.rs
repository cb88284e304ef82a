//! What an update means. Pure; who may speak is decided by the intake.

mod media;
mod text;
mod utf16;

use super::api::types::{Callback, Entity, Message, Peer, Update};
use super::api::{CHANNEL, Me, Place};
use crate::config::schema::GroupPolicy;
use crate::language::Language;
use crate::message::{self, Address, Sender};

/// What an update comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A new message.
    Message(Box<Received>),
    /// A message was edited.
    Edited {
        /// Where.
        chat: Address,
        /// The message's number.
        reference: String,
        /// The new text, as [`Received`] would have it.
        text: String,
    },
    /// A button was pressed.
    Pressed(Box<Pressed>),
    /// Nothing that is for us.
    Nothing,
}

/// A new message.
#[derive(Debug, PartialEq, Eq)]
pub struct Received {
    /// The message. Its files are still at Telegram.
    pub message: message::Envelope,
    /// The sender's name without the `@`, as others can write to them; may be empty.
    pub username: String,
    /// The same for all parts of an album, each of which comes as a message of its own.
    pub album: Option<String>,
    /// Whether it is for us. What is not becomes [`Meaning::Nothing`], but for the parts of an
    /// album: only one of them has the text, and when it is for us, all are.
    pub addressed: bool,
}

/// A button was pressed.
#[derive(Debug, PartialEq, Eq)]
pub struct Pressed {
    /// The update's number.
    pub number: i64,
    /// What the answer to Telegram has to name.
    pub callback: String,
    /// Where.
    pub chat: Address,
    /// Whether others can press buttons in this chat too.
    pub is_group: bool,
    /// Who pressed it.
    pub sender: Sender,
    /// Their name without the `@`; may be empty.
    pub username: String,
    /// The number of the message with the button.
    pub message: i64,
    /// What the button stands for.
    pub data: String,
}

/// What an update means to the bot that `me` is.
pub fn read(update: Update, me: &Me, policy: GroupPolicy) -> Meaning {
    let reader = Reader { me, policy };
    let number = update.update_id;
    if let Some(pressed) = update.callback_query {
        return reader.pressed(pressed, number);
    }
    let is_edit = update.message.is_none();
    let Some(message) = update.message.or(update.edited_message) else {
        return Meaning::Nothing;
    };
    let has_words = !words(&message).0.is_empty();
    match reader.received(*message, number) {
        // A live location that moves is an edit, too.
        Some(received) if is_edit && has_words => Meaning::Edited {
            chat: received.message.address(),
            reference: received.message.reference,
            text: received.message.text,
        },
        Some(received) if !is_edit => Meaning::Message(Box::new(received)),
        _ => Meaning::Nothing,
    }
}

/// The words of a message or below its files, and what is special within them.
fn words(message: &Message) -> (&str, &[Entity]) {
    if message.text.is_empty() {
        (&message.caption, &message.caption_entities)
    } else {
        (&message.text, &message.entities)
    }
}

struct Reader<'a> {
    me: &'a Me,
    policy: GroupPolicy,
}

impl Reader<'_> {
    fn received(&self, message: Message, number: i64) -> Option<Received> {
        let is_group = is_group(&message.chat)?;
        // Who writes in the name of a chat cannot be told, and bots could talk to each other forever.
        let from = message.from.as_ref().filter(|from| !from.is_bot)?;
        if message.sender_chat.is_some() {
            return None;
        }
        let (words, entities) = words(&message);
        let said = text::read(words, entities, self.me);
        let addressed = !is_group || self.addresses(&message, &said)?;
        if !addressed && message.media_group_id.is_none() {
            return None;
        }
        let remote_files = media::remote_files(&message);
        let mut text = text::with_context(&said.text, &message, self.me);
        if text.is_empty() && remote_files.is_empty() {
            // Whoever only calls us by our name wants something as well.
            words.trim().clone_into(&mut text);
            if text.is_empty() {
                return None;
            }
        }
        Some(Received {
            username: from.username.clone(),
            message: message::Envelope {
                id: format!("{CHANNEL}:{number}"),
                is_group,
                is_relayed: text::is_relayed(&message),
                reference: message.message_id.to_string(),
                remote_files,
                ..message::Envelope::written(&place(&message).key(), sender(from), &text)
            },
            album: message.media_group_id,
            addressed,
        })
    }

    /// Whether a message in a group is for us; none when it is surely not.
    fn addresses(&self, message: &Message, said: &text::Said) -> Option<bool> {
        let answers_us = text::answered(message)
            .and_then(|answered| answered.from)
            .is_some_and(|from| from.id == self.me.id);
        match self.policy {
            GroupPolicy::Off => None,
            _ if said.is_for_another => None,
            GroupPolicy::Open => Some(true),
            GroupPolicy::Mention => Some(said.is_for_us || answers_us),
        }
    }

    fn pressed(&self, pressed: Callback, number: i64) -> Meaning {
        let message = pressed.message.unwrap_or_default();
        match is_group(&message.chat) {
            Some(is_group) if !pressed.data.is_empty() => Meaning::Pressed(Box::new(Pressed {
                number,
                callback: pressed.id,
                chat: place(&message).key(),
                is_group,
                sender: sender(&pressed.from),
                username: pressed.from.username,
                message: message.message_id,
                data: pressed.data,
            })),
            _ => Meaning::Nothing,
        }
    }
}

/// Whether others can speak in a chat; none for channels, in which nobody speaks with us.
fn is_group(chat: &Peer) -> Option<bool> {
    match chat.kind.as_str() {
        "private" => Some(false),
        "group" | "supergroup" => Some(true),
        _ => None,
    }
}

/// A topic of a forum is a conversation of its own; a thread of answers is none.
fn place(message: &Message) -> Place {
    Place {
        chat: message.chat.id,
        thread: message
            .message_thread_id
            .filter(|_| message.is_topic_message),
    }
}

fn sender(from: &Peer) -> Sender {
    Sender {
        id: from.id.to_string(),
        name: text::name_of(from),
        language: Language::from_tag(&from.language_code),
    }
}

#[cfg(test)]
mod tests;
