//! What an update means. Pure; the intake decides who has access.

mod choice;
mod markdown;
mod media;
mod text;
mod utf16;

use super::api::types::{Callback, Entity, Message, Peer, Stopped, Update};
use super::api::{CHANNEL, ChatTarget, Me, MessageRef};
use crate::base::language::Language;
use crate::base::message::{self, Address, PressedMessage, Sender};
use crate::config::schema::GroupPolicy;

pub use choice::Chosen;

/// The data of the button of a draft.
const STOP: &str = "c:/stop";

/// Whether texts of a person, by their id, are awaited in a chat.
pub type Awaits<'a> = dyn Fn(&Address, &str) -> bool + 'a;

/// The meaning of an update.
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
    /// A topic of a private chat was opened, and has no name.
    Topic(ChatTarget),
    /// Nothing for us.
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
    /// Whether it is for us. Others become [`Meaning::Nothing`], except the parts of an album: only one
    /// of them has the text, and when it is for us, all are.
    pub addressed: bool,
}

/// A button was pressed.
#[derive(Debug, PartialEq, Eq)]
pub struct Pressed {
    /// The update's number.
    pub number: i64,
    /// The id of the press, which the confirmation to Telegram has to name; empty for the button of a draft, which has
    /// none.
    pub callback: String,
    /// Where.
    pub chat: Address,
    /// Whether others can press buttons in this chat too.
    pub is_group: bool,
    /// Who pressed it.
    pub sender: Sender,
    /// Their name without the `@`; may be empty.
    pub username: String,
    /// The message with the button.
    pub message: PressedMessage,
    /// The button's data.
    pub data: String,
    /// The choice, where the button was the model's.
    pub chosen: Option<Chosen>,
}

/// What an update means to the bot that `me` is. `awaits` says whether texts of a person are awaited in a group.
pub fn read(update: Update, me: &Me, policy: GroupPolicy, awaits: &Awaits) -> Meaning {
    let reader = Reader { me, policy, awaits };
    let number = update.update_id;
    if let Some(pressed) = update.callback_query {
        return reader.pressed(pressed, number);
    }
    if let Some(stopped) = update.stopped_message_generation {
        return stop(stopped, number);
    }
    let is_edit = update.message.is_none();
    let Some(message) = update.message.or(update.edited_message) else {
        return Meaning::Nothing;
    };
    if is_group(&message.chat) == Some(false)
        && let Some(topic) = &message.forum_topic_created
    {
        let place = ChatTarget {
            chat: message.chat.id,
            thread: message.message_thread_id,
        };
        return match topic.is_name_implicit {
            true => Meaning::Topic(place),
            false => Meaning::Nothing,
        };
    }
    let has_text = !text_of(&message).0.is_empty();
    match reader.received(*message, number) {
        // A live location that moves is an edit, too.
        // Nor is what a message has from others what its author has typed.
        Some(received) if is_edit && has_text && !received.message.is_relayed => Meaning::Edited {
            chat: received.message.address(),
            reference: received.message.reference,
            text: received.message.text,
        },
        Some(received) if !is_edit => Meaning::Message(Box::new(received)),
        _ => Meaning::Nothing,
    }
}

/// The text or caption of a message, and its entities.
fn text_of(message: &Message) -> (&str, &[Entity]) {
    if message.text.is_empty() {
        (&message.caption, &message.caption_entities)
    } else {
        (&message.text, &message.entities)
    }
}

struct Reader<'a> {
    me: &'a Me,
    policy: GroupPolicy,
    awaits: &'a Awaits<'a>,
}

impl Reader<'_> {
    fn received(&self, message: Message, number: i64) -> Option<Received> {
        let is_group = is_group(&message.chat)?;
        // Who writes in the name of a chat is unknown, and bots could talk to each other forever.
        let from = message.from.as_ref().filter(|from| !from.is_bot)?;
        if message.sender_chat.is_some() {
            return None;
        }
        let (body, entities) = text_of(&message);
        let said = text::read(body, entities, self.me);
        let addressed = !is_group || self.addresses(&message, &said)?;
        if !addressed && message.media_group_id.is_none() {
            return None;
        }
        let remote_files = media::remote_files(&message);
        let described = text::describe_context(&message);
        let mut text = text::with_context(&described, &said.text, &message);
        let unmarked = if text == said.text && said.text != said.unmarked {
            said.unmarked.clone()
        } else {
            String::new()
        };
        if text.is_empty() && remote_files.is_empty() {
            // A message may be nothing but our name.
            body.trim().clone_into(&mut text);
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
                sent_at: message.date,
                quote: text::quote(&message, self.me),
                reference: message.message_id.to_string(),
                replies_to: text::replied_to(&message)
                    .map_or_else(String::new, |target| target.message_id.to_string()),
                remote_files,
                described,
                unmarked,
                ..message::Envelope::written(&place(&message).address(), sender(from), &text)
            },
            album: message.media_group_id,
            addressed,
        })
    }

    /// Whether a message in a group is for us; `None` when it cannot be.
    fn addresses(&self, message: &Message, said: &text::Body) -> Option<bool> {
        let replies_to_us = text::replied_to(message)
            .and_then(|target| target.from)
            .is_some_and(|from| from.id == self.me.id);
        match self.policy {
            GroupPolicy::Off => None,
            _ if said.is_for_another => None,
            GroupPolicy::Open => Some(true),
            GroupPolicy::Mention => {
                Some(said.is_for_us || replies_to_us || self.is_awaited(message))
            }
        }
    }

    /// Whether a message is a text that is awaited where and from whom it comes.
    fn is_awaited(&self, message: &Message) -> bool {
        let is_text = !message.text.is_empty() && !text::is_relayed(message);
        let from = message.from.as_ref().filter(|_| is_text);
        from.is_some_and(|from| (self.awaits)(&place(message).address(), &from.id.to_string()))
    }

    fn pressed(&self, pressed: Callback, number: i64) -> Meaning {
        let message = pressed.message.unwrap_or_default();
        match is_group(&message.chat) {
            Some(is_group) if !pressed.data.is_empty() => Meaning::Pressed(Box::new(Pressed {
                number,
                callback: pressed.id,
                chat: place(&message).address(),
                is_group,
                sender: sender(&pressed.from),
                username: pressed.from.username,
                message: PressedMessage {
                    id: MessageRef::of(&message, Some(pressed.from.id)).to_string(),
                    text: text_of(&message).0.to_owned(),
                },
                chosen: Chosen::read(&message, &pressed.data),
                data: pressed.data,
            })),
            _ => Meaning::Nothing,
        }
    }
}

/// The button of a draft types `/stop`. It is in private chats only, which have the id of their person.
fn stop(stopped: Stopped, number: i64) -> Meaning {
    let Stopped {
        chat,
        message_thread_id: thread,
    } = stopped;
    if is_group(&chat) != Some(false) {
        return Meaning::Nothing;
    }
    let place = ChatTarget {
        chat: chat.id,
        thread,
    };
    Meaning::Pressed(Box::new(Pressed {
        number,
        callback: String::new(),
        chat: place.address(),
        is_group: false,
        sender: sender(&chat),
        username: chat.username,
        message: PressedMessage::default(),
        data: STOP.to_owned(),
        chosen: None,
    }))
}

/// Whether others can write in a chat; `None` for broadcast channels.
fn is_group(chat: &Peer) -> Option<bool> {
    match chat.kind.as_str() {
        "private" => Some(false),
        "channel" | "" => None,
        _ => Some(true),
    }
}

/// Where a message was written. A topic of a forum is a conversation of its own; a thread of replies is
/// not.
fn place(message: &Message) -> ChatTarget {
    ChatTarget {
        chat: message.chat.id,
        thread: message
            .message_thread_id
            .filter(|_| message.is_topic_message),
    }
}

fn sender(from: &Peer) -> Sender {
    Sender {
        id: from.id.to_string(),
        name: text::display_name(from),
        language: Language::from_tag(&from.language_code),
        thread_of: None,
    }
}

#[cfg(test)]
mod tests;
