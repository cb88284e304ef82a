//! Where a message goes, and its text with its buttons.

use serde_json::{Value, json};

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
}

impl MessageBody<'_> {
    pub(super) fn mode(&self) -> (&'static str, Value) {
        ("parse_mode", self.html.then_some("HTML").into())
    }

    pub(super) fn sound(&self) -> (&'static str, Value) {
        ("disable_notification", self.silent.then_some(true).into())
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
