//! Floor 2: the words between people and us.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::approval::{Answer, Question};
use crate::cancel::Cancel;
use crate::error::{Error, Result};

/// A conversation's place: a channel and a chat within it. It is the key of its session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct ChatId {
    /// Such as `cli`.
    pub channel: String,
    /// The chat's id within the channel.
    pub chat: String,
}

impl ChatId {
    /// A chat of a channel.
    pub fn new(channel: &str, chat: &str) -> Self {
        Self {
            channel: channel.to_owned(),
            chat: chat.to_owned(),
        }
    }

    /// Reads `channel:chat`; without a colon it is a chat of the command line.
    pub fn parse(key: &str) -> Self {
        match key.split_once(':') {
            Some((channel, chat)) => Self::new(channel, chat),
            None => Self::new("cli", key),
        }
    }
}

impl fmt::Display for ChatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.chat)
    }
}

impl From<ChatId> for String {
    fn from(chat: ChatId) -> Self {
        chat.to_string()
    }
}

impl From<String> for ChatId {
    fn from(key: String) -> Self {
        Self::parse(&key)
    }
}

/// Who wrote a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The id that the channel gives and that never changes.
    pub id: String,
    /// The name that people see. It may be anything.
    pub name: String,
}

/// What kind of file came with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    /// A picture.
    Photo,
    /// Spoken into the telephone.
    Voice,
    /// Music.
    Audio,
    /// A film.
    Video,
    /// Any other file.
    Document,
}

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// What it is.
    pub media: Media,
    /// Where it lies, counted from the workspace.
    pub path: String,
}

/// What a person has said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The channel's id for it, such as `telegram:812`: the same id is the same message. Empty where
    /// the channel cannot say it twice.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Where it was said.
    pub chat: ChatId,
    /// Who said it.
    #[serde(default)]
    pub sender: Sender,
    /// Whether others can speak in this chat too.
    #[serde(default)]
    pub is_group: bool,
    /// The words, with whatever the channel puts before them (what it is a reply to, where it is).
    pub text: String,
    /// The files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The message's name within its chat, which replies and reactions point to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
}

impl Message {
    /// A text that was typed here.
    pub fn typed(chat: &ChatId, text: &str) -> Self {
        Self {
            id: String::new(),
            chat: chat.clone(),
            sender: Sender::default(),
            is_group: false,
            text: text.to_owned(),
            attachments: Vec::new(),
            reference: String::new(),
        }
    }
}

/// What comes in from a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inbound {
    /// A message. It is on disk by now.
    Message(Message),
    /// A message was edited; that counts only while nobody has read it.
    Edited {
        /// Where.
        chat: ChatId,
        /// The message's name within its chat.
        reference: String,
        /// The new words.
        text: String,
    },
    /// A question was answered with a button.
    Answered {
        /// Where.
        chat: ChatId,
        /// Who answered.
        sender: Sender,
        /// The question's number.
        question: u64,
        /// What was said.
        answer: Answer,
    },
}

/// What a channel is told to show. It may be merged or dropped: what must arrive is in the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outbound {
    /// Something new is owed: look into the outbox.
    Owed,
    /// A message was taken: a sign at the message itself.
    Taken {
        /// Where.
        chat: ChatId,
        /// The message's name within its chat.
        reference: String,
    },
    /// Work has begun in a chat, until [`Outbound::Resting`].
    Working(ChatId),
    /// Work has ended.
    Resting(ChatId),
    /// What the running turn has to show so far, as Markdown; it takes the place of what was shown.
    Draft {
        /// Where.
        chat: ChatId,
        /// The whole of it.
        text: String,
        /// The message that it is about, by its name within the chat; may be empty.
        reply_to: String,
    },
    /// A question to the person, with buttons.
    Asked {
        /// Where.
        chat: ChatId,
        /// The question's number.
        number: u64,
        /// What is asked.
        question: Box<Question>,
    },
    /// A question is over: its buttons go.
    Settled {
        /// Where.
        chat: ChatId,
        /// The question's number.
        number: u64,
        /// How it came out, in words.
        outcome: String,
    },
}

/// Something to be sent to a chat, and owed until the channel has confirmed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// Where to.
    pub chat: ChatId,
    /// The words, as Markdown; may be empty when there are files.
    pub text: String,
    /// Files to go along, as absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Rows of buttons; a press comes back as a message with the button's words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<String>>,
    /// The message that it answers, by its name within the chat; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reply_to: String,
    /// Whether it takes the place of what the running turn has shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replaces_draft: bool,
}

/// What stands before a file's own name where the file was put aside to be sent.
pub const NAME_MARK: char = '~';

impl Parcel {
    /// The name under which people get a file.
    pub fn name_of(file: &str) -> &str {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.split_once(NAME_MARK).map_or(name, |(_, own)| own)
    }

    /// Words for a chat.
    pub fn text(chat: &ChatId, text: impl Into<String>) -> Self {
        Self {
            chat: chat.clone(),
            text: text.into(),
            files: Vec::new(),
            buttons: Vec::new(),
            reply_to: String::new(),
            replaces_draft: false,
        }
    }
}

/// What a turn tells whoever listens while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message of the person's is in the journal: the one with this id.
    Journalled(&'a str),
    /// A piece of the model's text, as it comes.
    Delta(&'a str),
    /// The text of one reply is complete (the pieces, or the whole where nothing streamed).
    Said(&'a str),
    /// Tools are about to run, such as `read_file("src/main.py")`.
    ToolHint(&'a str),
    /// A tool failed; the model has been told.
    ToolFailed(&'a str),
    /// Something the person should know that is no answer: a retry, a fallback, a repaired journal.
    Notice(&'a str),
}

/// Whoever hears a turn and can be asked: a terminal, a chat, or nobody.
pub trait Listener {
    /// Hears of an event.
    fn hear(&mut self, event: Event<'_>);

    /// Asks a person whether a command may run; waits until the answer, the token or
    /// [`ANSWER_TIME`](crate::limits::agent::ANSWER_TIME).
    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Answer;

    /// What the person has said since the turn began. It is given to the turn between two steps.
    fn interjections(&mut self) -> Vec<Message> {
        Vec::new()
    }

    /// Takes the turn's closing words, before the journal says that the turn has ended: whoever owes
    /// them to a person has them on disk when this returns. `turn` is the journal's length in bytes,
    /// by which the turn is known if the process is killed in between; none for an error.
    fn owe(&mut self, _text: &str, _turn: Option<u64>) -> Result<()> {
        Ok(())
    }

    /// Sends something for a tool. Once this returns it is owed.
    fn send(&mut self, _parcel: Parcel) -> Result<()> {
        Err(Error::Failed(
            "nothing can be sent from here: the person reads the answer itself".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_sent_under_its_own_name() {
        for (file, name) in [
            ("plots/a.png", "a.png"),
            (".results/send-7-0~a~b.png", "a~b.png"),
            ("a.png", "a.png"),
        ] {
            assert_eq!(Parcel::name_of(file), name);
        }
    }

    #[test]
    fn a_key_without_a_channel_is_the_command_lines() {
        assert_eq!(
            ChatId::parse("telegram:12:3"),
            ChatId::new("telegram", "12:3")
        );
        assert_eq!(ChatId::parse("work").to_string(), "cli:work");
    }
}
