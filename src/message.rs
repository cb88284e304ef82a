//! Floor 2: the words between people and us.

use std::fmt;

use crate::approval::{Answer, Question};
use crate::cancel::Cancel;

/// A conversation's place: a channel and a chat within it. It is the key of its session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// What a turn tells whoever listens while it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_a_channel_is_the_command_lines() {
        assert_eq!(
            ChatId::parse("telegram:12:3"),
            ChatId::new("telegram", "12:3")
        );
        assert_eq!(ChatId::parse("work").to_string(), "cli:work");
    }
}
