//! Where a message goes, and its text with its buttons.

use std::fmt;

use serde_json::{Value, json};

use super::types::Message;
use crate::base::message::Address;

/// The channel's name in an [`Address`].
pub const CHANNEL: &str = "telegram";

/// A chat, or a topic of a forum, which is a conversation of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatTarget {
    /// The chat's id; negative for groups.
    pub chat: i64,
    /// The topic.
    pub thread: Option<i64>,
}

impl ChatTarget {
    /// The chat of an address; `None` for another channel's.
    pub fn parse(chat: &Address) -> Option<Self> {
        if chat.channel != CHANNEL {
            return None;
        }
        let thread = chat.thread.as_ref().map(|thread| thread.parse());
        Some(Self {
            chat: chat.chat.parse().ok()?,
            thread: thread.transpose().ok()?,
        })
    }

    /// The private chat with a person, which has the person's id.
    pub fn private(person: i64) -> Self {
        Self {
            chat: person,
            thread: None,
        }
    }

    /// The address: `telegram:-100123`, for a topic `telegram:-100123:7`.
    pub fn address(self) -> Address {
        Address {
            thread: self.thread.map(|thread| thread.to_string()),
            ..Address::new(CHANNEL, &self.chat.to_string())
        }
    }

    pub(super) fn chat(self) -> (&'static str, Value) {
        ("chat_id", self.chat.into())
    }

    pub(super) fn thread(self) -> (&'static str, Value) {
        ("message_thread_id", self.thread.into())
    }
}

/// A message of the bot's. As text it is `45`, `45@1001` when only the person 1001 sees it, or `45!1001` when it went
/// into the private chat of that person instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRef {
    /// Its number: in the chat, or among those that only one person sees.
    pub id: i64,
    /// Who alone sees it.
    pub only_for: Option<i64>,
    /// The private chat that it is in, where that is not the chat that it was for.
    pub moved_to: Option<i64>,
}

impl MessageRef {
    /// Reads the text form.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, moved_to) = text.split_once('!').unzip();
        let (id, person) = match id {
            Some(id) => (id, None),
            None => text
                .split_once('@')
                .map_or((text, None), |(id, person)| (id, Some(person))),
        };
        Some(Self {
            id: id.parse().ok()?,
            only_for: person.map(str::parse).transpose().ok()?,
            moved_to: moved_to.map(str::parse).transpose().ok()?,
        })
    }

    /// The message that Telegram shows; `receiver` is the person who sees it, if only one does.
    pub fn of(message: &Message, receiver: Option<i64>) -> Self {
        match message.ephemeral_message_id.zip(receiver) {
            Some((id, receiver)) => Self {
                id,
                only_for: Some(receiver),
                moved_to: None,
            },
            None => Self::from(message.message_id),
        }
    }

    /// The chat that it is in. `place` is the one that it was for.
    pub fn place(self, place: ChatTarget) -> ChatTarget {
        self.moved_to.map_or(place, ChatTarget::private)
    }

    /// What names it in a call.
    pub(super) fn names(self) -> [(&'static str, Value); 2] {
        let id = match self.only_for {
            Some(_) => "ephemeral_message_id",
            None => "message_id",
        };
        [
            (id, self.id.into()),
            ("receiver_user_id", self.only_for.into()),
        ]
    }

    /// The method for such a message.
    pub(super) fn method(self, usual: &'static str, ephemeral: &'static str) -> &'static str {
        self.only_for.map_or(usual, |_| ephemeral)
    }
}

impl From<i64> for MessageRef {
    fn from(id: i64) -> Self {
        Self {
            id,
            only_for: None,
            moved_to: None,
        }
    }
}

impl fmt::Display for MessageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)?;
        if let Some(chat) = self.moved_to {
            write!(f, "!{chat}")?;
        }
        self.only_for
            .map_or(Ok(()), |person| write!(f, "@{person}"))
    }
}

/// A button below a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// Its label.
    pub text: String,
    /// What comes back when it is pressed; 1 to 64 bytes.
    pub data: String,
}

/// The text of a message as Telegram takes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageBody<'a> {
    /// At most 4096 UTF-16 units without its markup; as a caption 1024.
    pub text: &'a str,
    /// Whether it is in Telegram's HTML; otherwise it is shown unchanged.
    pub html: bool,
    /// Rows of buttons.
    pub buttons: &'a [Vec<Button>],
    /// Whether people get it without a sound.
    pub silent: bool,
    /// Who alone sees it, in a group.
    pub only_for: Option<i64>,
}

impl MessageBody<'_> {
    pub(super) fn mode(&self) -> (&'static str, Value) {
        ("parse_mode", self.html.then_some("HTML").into())
    }

    pub(super) fn sound(&self) -> (&'static str, Value) {
        ("disable_notification", self.silent.then_some(true).into())
    }

    pub(super) fn receiver(&self) -> (&'static str, Value) {
        let receiver = self
            .only_for
            .map(|person| json!({"receiver_user_id": person}));
        ("ephemeral_message_parameters", receiver.into())
    }

    pub(super) fn markup(&self) -> (&'static str, Value) {
        let keyboard = (!self.buttons.is_empty()).then(|| keyboard(self.buttons));
        ("reply_markup", keyboard.into())
    }
}

/// Rows of buttons as Telegram takes them.
pub fn keyboard(rows: &[Vec<Button>]) -> Value {
    let button = |button: &Button| json!({"text": button.text, "callback_data": button.data});
    let row = |row: &Vec<Button>| row.iter().map(button).collect();
    let rows: Vec<Value> = rows.iter().map(row).collect();
    json!({"inline_keyboard": rows})
}

/// The message that is replied to. If it was deleted meanwhile, the message is sent all the same.
pub fn reply(to: Option<i64>) -> (&'static str, Value) {
    let reply = to.map(|id| json!({"message_id": id, "allow_sending_without_reply": true}));
    ("reply_parameters", reply.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_and_its_name_are_the_same() {
        for name in ["45", "45@1001", "45!1001"] {
            assert_eq!(MessageRef::parse(name).unwrap().to_string(), name);
        }
        for name in ["", "x", "45@", "@1", "45@x", "1@2@3", "45!", "1!2@3"] {
            assert_eq!(MessageRef::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_chat_and_its_address_are_the_same() {
        for key in ["telegram:812", "telegram:-1001557912345:7"] {
            assert_eq!(
                ChatTarget::parse(&Address::parse(key)).unwrap().address(),
                Address::parse(key)
            );
        }
        for key in [
            "cli:1",
            "telegram:",
            "telegram:x",
            "telegram:1:",
            "telegram:1:x",
            "telegram:1:2:3",
        ] {
            assert_eq!(ChatTarget::parse(&Address::parse(key)), None, "{key}");
        }
    }
}
