//! What an update means. Nothing is asked and nothing is written here; who may speak is decided at
//! the door.

mod media;
mod text;

use super::api::types::{Callback, Entity, Message, Peer, Update};
use super::api::{CHANNEL, Me, Place};
use crate::config::schema::GroupPolicy;
use crate::message::{self, Address, Sender};

pub use media::Wanted;

/// What an update comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Somebody said something.
    Message(Box<Incoming>),
    /// A message has other words now.
    Edited {
        /// Where.
        chat: Address,
        /// The message's number.
        reference: String,
        /// The words, as [`Incoming`] would have them.
        text: String,
    },
    /// A button was pressed.
    Pressed(Box<Pressed>),
    /// Nothing that is for us.
    Nothing,
}

/// Something that was said, before its files are here.
#[derive(Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The message, still without attachments.
    pub message: message::Envelope,
    /// The sender's name without the `@`, as others can write to them; may be empty.
    pub username: String,
    /// The files that came with it.
    pub wanted: Vec<Wanted>,
    /// The same for all parts of an album, of which each comes as a message of its own.
    pub album: Option<String>,
    /// Whether it is for us. What is not becomes [`Meaning::Nothing`], but for the parts of an
    /// album: only one of them has the words, and when it is for us, all are.
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
    match reader.incoming(*message, number) {
        // A live location that moves is an edit, too.
        Some(incoming) if is_edit && has_words => Meaning::Edited {
            chat: incoming.message.address(),
            reference: incoming.message.reference,
            text: incoming.message.text,
        },
        Some(incoming) if !is_edit => Meaning::Message(Box::new(incoming)),
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
    fn incoming(&self, message: Message, number: i64) -> Option<Incoming> {
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
        let wanted = media::wanted(&message);
        let mut text = text::with_context(&said.text, &message, self.me);
        if text.is_empty() && wanted.is_empty() {
            // Whoever only calls us by our name wants something as well.
            words.trim().clone_into(&mut text);
            if text.is_empty() {
                return None;
            }
        }
        Some(Incoming {
            username: from.username.clone(),
            message: message::Envelope {
                id: format!("{CHANNEL}:{number}"),
                is_group,
                reference: message.message_id.to_string(),
                ..message::Envelope::written(&place(&message).key(), sender(from), &text)
            },
            wanted,
            album: message.media_group_id,
            addressed,
        })
    }

    /// Whether a message in a group is for us; none when it is surely not.
    fn addresses(&self, message: &Message, said: &text::Said) -> Option<bool> {
        let answers_us = text::answered(message)
            .and_then(|answered| answered.from.as_ref())
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
    }
}

#[cfg(test)]
mod tests;
