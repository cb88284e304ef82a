//! The parts of Discord's objects that are used. Unknown members are ignored; missing or null ones are
//! empty. <https://discord.com/developers/docs/resources/message>

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::base::message::UNKNOWN_MESSAGE;

/// A message, of any kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// The channel, private chat or thread that it is in.
    pub channel_id: String,
    /// The kind of the channel; see [`is_thread`].
    pub channel_type: Option<u64>,
    /// Its place in a thread.
    pub position: Option<IgnoredAny>,
    /// The server; `None` in private chats, and in replies of the REST API.
    pub guild_id: Option<String>,
    /// Who wrote it.
    #[serde(deserialize_with = "or_default")]
    pub author: User,
    /// Their membership of the server; `None` in private chats.
    pub member: Option<Member>,
    /// Set when a program wrote it through a webhook.
    pub webhook_id: Option<IgnoredAny>,
    /// The text.
    #[serde(deserialize_with = "or_default")]
    pub content: String,
    /// When it was written (ISO 8601).
    #[serde(deserialize_with = "or_default")]
    pub timestamp: String,
    /// When it was edited by its author.
    pub edited_timestamp: Option<IgnoredAny>,
    /// Its kind: 0 for a usual one, 19 for a reply.
    #[serde(rename = "type")]
    pub kind: u64,
    /// Bits; see [`VOICE`].
    #[serde(deserialize_with = "or_default")]
    pub flags: u64,
    /// The people whom it mentions or replies to.
    #[serde(deserialize_with = "or_default")]
    pub mentions: Vec<User>,
    /// Its files.
    #[serde(deserialize_with = "or_default")]
    pub attachments: Vec<Attachment>,
    /// Its stickers.
    #[serde(deserialize_with = "or_default")]
    pub sticker_items: Vec<Named>,
    /// Its poll.
    pub poll: Option<Poll>,
    /// The message that it replies to, unless that was deleted.
    pub referenced_message: Option<Box<Message>>,
    /// The message that it refers to.
    #[serde(deserialize_with = "or_default")]
    pub message_reference: Reference,
    /// What was forwarded with it.
    #[serde(deserialize_with = "or_default")]
    pub message_snapshots: Vec<Snapshot>,
}

impl Message {
    /// Whether it brings what another message says.
    pub fn is_forward(&self) -> bool {
        !self.message_snapshots.is_empty() || self.message_reference.kind == 1
    }

    /// The message that it answers; empty for none.
    pub fn answered(&self) -> &str {
        let target = self.referenced_message.as_deref();
        let id = match (self.message_reference.message_id.as_str(), target) {
            ("", Some(target)) => target.id.as_str(),
            (id, _) => id,
        };
        match id {
            _ if self.is_forward() => "",
            "" if self.kind == REPLY || target.is_some() => UNKNOWN_MESSAGE,
            id => id,
        }
    }

    /// Whether others can read it. Whatever hints at a server counts: in a group people may do less.
    pub fn is_in_group(&self) -> bool {
        let is_private = self.channel_type.is_none_or(|kind| kind == PRIVATE);
        self.guild_id.is_some() || self.member.is_some() || !is_private
    }

    /// Whether it is in a thread. Where Discord does not name the kind of the channel, only messages in threads
    /// have a position.
    pub fn is_in_thread(&self) -> bool {
        self.channel_type.map_or(self.position.is_some(), is_thread)
    }
}

/// How a message refers to another one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// 0 for an answer, 1 for a forward.
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: u64,
    /// That one, which may be gone.
    #[serde(deserialize_with = "or_default")]
    pub message_id: String,
}

/// The kind of a message that answers another one.
pub const REPLY: u64 = 19;

/// The kind of a private chat with one person.
pub const PRIVATE: u64 = 1;

/// Whether a channel of this kind is a thread.
pub fn is_thread(kind: u64) -> bool {
    (10..=12).contains(&kind)
}

/// The flag of a voice message.
pub const VOICE: u64 = 1 << 13;

/// A person or a bot.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct User {
    /// Their id, which never changes.
    pub id: String,
    /// The unique name.
    pub username: String,
    /// The display name.
    #[serde(deserialize_with = "or_default")]
    pub global_name: String,
    /// Whether it is a bot.
    #[serde(deserialize_with = "or_default")]
    pub bot: bool,
}

/// A person as a server knows them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Member {
    /// Their name there.
    #[serde(deserialize_with = "or_default")]
    pub nick: String,
    /// The person, in interactions.
    pub user: Option<User>,
}

/// A file of a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Attachment {
    /// Its id.
    pub id: String,
    /// Its name, with some characters replaced.
    pub filename: String,
    /// Its media type.
    #[serde(deserialize_with = "or_default")]
    pub content_type: String,
    /// Bytes.
    pub size: Option<u64>,
    /// Its URL, valid for a day, without the token.
    pub url: String,
}

/// Something with a name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Named {
    /// The name.
    pub name: String,
}

/// A poll.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Poll {
    /// What is asked.
    pub question: PollText,
}

/// A text of a poll.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PollText {
    /// The text.
    #[serde(deserialize_with = "or_default")]
    pub text: String,
}

/// A message that was forwarded.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Its content, without its author.
    pub message: Box<Message>,
}

/// A pressed button, or a slash command that was chosen.
/// <https://discord.com/developers/docs/interactions/receiving-and-responding>
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Interaction {
    /// Its id.
    pub id: String,
    /// The token that replies to it, for a quarter of an hour.
    pub token: String,
    /// 2 for a command, 3 for a button.
    #[serde(rename = "type")]
    pub kind: u64,
    /// The server; `None` in private chats.
    pub guild_id: Option<String>,
    /// The channel.
    pub channel_id: String,
    /// The channel as far as it is known.
    #[serde(deserialize_with = "or_default")]
    pub channel: PartialChannel,
    /// Where it comes from: 0 for a server, 1 for the private chat, 2 for a chat of several people.
    #[serde(deserialize_with = "or_default")]
    pub context: u64,
    /// The person, in a server.
    pub member: Option<Member>,
    /// The person, in a private chat.
    pub user: Option<User>,
    /// The command or the button.
    pub data: Choice,
    /// The message with the button.
    pub message: Option<Box<Message>>,
    /// The language that the person has chosen, such as `zh-CN`.
    #[serde(deserialize_with = "or_default")]
    pub locale: String,
}

/// The channel of an interaction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartialChannel {
    /// Its kind; see [`is_thread`].
    #[serde(rename = "type")]
    pub kind: u64,
    /// Of a thread: the channel that it is in.
    #[serde(deserialize_with = "or_default")]
    pub parent_id: String,
}

/// The command or the button.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// A command's name, without the slash.
    pub name: String,
    /// Its arguments.
    #[serde(deserialize_with = "or_default")]
    pub options: Vec<ChoiceOption>,
    /// The button's data.
    #[serde(deserialize_with = "or_default")]
    pub custom_id: String,
}

/// An argument of a command.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ChoiceOption {
    /// A string in the commands that we register.
    pub value: serde_json::Value,
}

/// A channel, private chat or thread.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Channel {
    /// Its id.
    pub id: String,
    /// Its newest message, which may be gone.
    #[serde(deserialize_with = "or_default")]
    pub last_message_id: String,
}

/// An id as a number, which grows with time. `None` for anything else, also for a number that is not written as Discord
/// writes it: two texts are never the same id.
pub fn snowflake(id: &str) -> Option<i64> {
    let is_number = !id.starts_with('0') && id.bytes().all(|byte| byte.is_ascii_digit());
    id.parse().ok().filter(|_| is_number)
}

/// Null counts as missing.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
