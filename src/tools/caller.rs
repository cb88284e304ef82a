//! Who makes a call, and which tools they have.

use crate::base::access::Role;
use crate::base::approval::{Answer, Question};
use crate::base::cancel::Cancel;
use crate::base::chat::InputAnswer;
use crate::base::message::{Address, Author, Envelope, Origin};

/// The tools that a subagent does not have: those that reach people, now or later, and more subagents.
pub const NOT_FOR_SUBAGENTS: [&str; 4] = ["message", "cron", "watch", "spawn"];

/// The only tools that a turn has for a guest: they neither run anything here nor reach files, memory or
/// other people.
const FOR_GUESTS: [&str; 2] = ["web_search", "web_fetch"];

/// Who makes a call.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// The session key. Background commands belong to it.
    pub session: &'a str,
    /// What the person may do for whom it is made. A guest has few tools.
    pub role: Role,
    /// The id of the message that the turn answers; empty for none.
    pub message: &'a str,
    /// Stops the call.
    pub cancel: &'a Cancel,
    /// A person's answer to the question that this call led to.
    pub answer: Option<(&'a Question, Answer)>,
    /// Takes what a long call says about how far it is.
    pub progress: Option<&'a (dyn Fn(&str) + Sync)>,
    /// The answer to what a server wanted to know in the middle of this call.
    pub input: Option<&'a InputAnswer>,
    /// The names of tools that this caller does not have.
    pub without: &'a [&'a str],
    /// The person for whom it is made, where a message says so.
    pub author: Option<&'a Author>,
    /// Whether it is made in a turn that people alone have begun and joined; see [`Self::is_asked_by`].
    pub is_asked: bool,
}

impl<'a> Caller<'a> {
    /// A caller who has not been asked anything yet. An empty `message` stands for none.
    pub fn new(session: &'a str, role: Role, message: &'a str, cancel: &'a Cancel) -> Self {
        Self {
            session,
            role,
            message,
            cancel,
            answer: None,
            progress: None,
            input: None,
            without: &[],
            author: None,
            is_asked: true,
        }
    }

    /// The one who typed a message.
    pub fn of(message: &'a Envelope, cancel: &'a Cancel) -> Self {
        Self {
            is_asked: Self::is_asked_by(message),
            ..Self::new(message.session.as_str(), message.role, &message.id, cancel)
        }
    }

    /// Whether a person has asked for what a message begins, by themselves or through an agent that worked for them: no job,
    /// watch or heartbeat has begun it.
    pub fn is_asked_by(message: &Envelope) -> bool {
        message.attended || matches!(message.origin, Origin::Cli | Origin::Person(_))
    }

    /// The person for whom it is made, in their private chat: no one else has a say there.
    pub(super) fn alone(&self) -> Option<&'a Author> {
        let chat = Address::parse(self.session).chat;
        self.author.filter(|author| author.id == chat)
    }

    /// The same in a turn that they have asked for: what a job or a watch begins is done for them, and not by them.
    pub(super) fn in_person(&self) -> Option<&'a Author> {
        self.alone().filter(|_| self.is_asked)
    }

    /// Whether it has the tool of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        has_tool(self.role, name) && !self.without.contains(&name)
    }
}

/// Whether someone with a role has the tool of this name.
pub fn has_tool(role: Role, name: &str) -> bool {
    match role {
        Role::Guest => FOR_GUESTS.contains(&name),
        Role::User | Role::Owner => true,
    }
}
