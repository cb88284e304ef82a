//! Messages to and from people, and the addresses they travel between.

mod draft;
mod reply;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::base::access::Role;
use crate::base::language::Language;

pub use draft::DraftKey;
pub use reply::UNKNOWN_MESSAGE;

/// The key of a conversation, of its journal and of its queue, such as `telegram:812` or
/// `cli:default`. The key of a conversation in a chat is the chat's address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct SessionKey(String);

impl SessionKey {
    /// Reads `channel:name`; a name alone is a conversation of the command line.
    pub fn parse(key: &str) -> Self {
        if key.contains(':') {
            Self(key.to_owned())
        } else {
            Self(format!("cli:{key}"))
        }
    }

    /// The conversation of a single question on the command line. `name` tells it from the others.
    pub fn of_question(name: &str) -> Self {
        Self(format!("{QUESTIONS}{name}"))
    }

    /// The key under which standing approvals are kept: single questions on the command line share those
    /// of its default conversation.
    pub fn approval_scope(key: &str) -> &str {
        if key.starts_with(QUESTIONS) {
            "cli:default"
        } else {
            key
        }
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The channel, and the conversation's name within it.
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once(':').unwrap_or((&self.0, ""))
    }
}

/// How the keys of single questions on the command line begin.
const QUESTIONS: &str = "cli:ask-";

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> Self {
        key.0
    }
}

impl From<String> for SessionKey {
    fn from(key: String) -> Self {
        Self::parse(&key)
    }
}

/// Where something is delivered: a chat of a channel, and a thread or topic within it.
///
/// As text it is `telegram:-1001` or `telegram:-1001:7`. A channel whose own ids contain colons writes
/// them in another way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub struct Address {
    /// The channel's name, such as `telegram`.
    pub channel: String,
    /// The chat's id within the channel.
    pub chat: String,
    /// The thread's or topic's id within the chat.
    pub thread: Option<String>,
}

impl Address {
    /// A chat of a channel, without a thread.
    pub fn new(channel: &str, chat: &str) -> Self {
        Self {
            channel: channel.to_owned(),
            chat: chat.to_owned(),
            thread: None,
        }
    }

    /// Reads `channel:chat` or `channel:chat:thread`.
    pub fn parse(text: &str) -> Self {
        let mut parts = text.splitn(3, ':');
        let mut part = || parts.next().map(str::to_owned);
        Self {
            channel: part().unwrap_or_default(),
            chat: part().unwrap_or_default(),
            thread: part(),
        }
    }

    /// The chat and its thread, without the channel: `-1001` or `-1001:7`.
    pub fn within_channel(&self) -> String {
        match &self.thread {
            Some(thread) => format!("{}:{thread}", self.chat),
            None => self.chat.clone(),
        }
    }

    /// The conversation that takes place here.
    pub fn session(&self) -> SessionKey {
        SessionKey(self.to_string())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.channel, self.chat)?;
        match &self.thread {
            Some(thread) => write!(f, ":{thread}"),
            None => Ok(()),
        }
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

impl From<String> for Address {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

/// The person who wrote a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The id that the channel gives and that never changes.
    pub id: String,
    /// The name that people see. It may be anything.
    pub name: String,
    /// The language that they have chosen in their app.
    #[serde(default, skip_serializing_if = "Language::is_default")]
    pub language: Language,
    /// Where they write, when that is a thread whose channel counts for their role: the channel's id, empty when it
    /// is unknown.
    #[serde(skip)]
    pub thread_of: Option<String>,
}

/// A person as the rules about access know them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The id that never changes.
    pub id: String,
    /// The name by which others write to them, without its `@`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub username: String,
}

/// Who or what caused a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A person at the terminal.
    Cli,
    /// A person in a chat.
    Person(Sender),
    /// A scheduled job.
    Cron {
        /// Its id.
        job: String,
        /// Its name, for people.
        name: String,
    },
    /// The heartbeat: the agent looks at its own list.
    Heartbeat,
    /// A task for a subagent, from the turn of another conversation.
    Subagent {
        /// The conversation that gets the report.
        parent: SessionKey,
        /// The id of the agent that does it.
        agent: String,
        /// The id of the agent that gets the report.
        parent_agent: String,
        /// Its name, for people.
        label: String,
        /// The person whose turn it is from; `None` where no message says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<Author>,
    },
    /// The report of a subagent to the conversation that has started it.
    Report {
        /// The id of the agent of that conversation.
        agent: String,
        /// The subagent's name, for people.
        label: String,
        /// The person whose turn it is for; `None` where no message says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<Author>,
    },
}

/// What kind of file came with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Media {
    /// A picture.
    Photo,
    /// A voice message.
    Voice,
    /// Audio.
    Audio,
    /// A video.
    Video,
    /// A video in which a person speaks to the chat, in place of a voice message.
    VideoNote,
    /// Any other file.
    Document,
}

impl Media {
    /// Whether it is listened to.
    pub fn is_spoken(self) -> bool {
        matches!(self, Self::Voice | Self::Audio | Self::VideoNote)
    }
}

/// A file of a message, stored in the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its kind.
    pub media: Media,
    /// Its path within the workspace.
    pub path: String,
}

/// A file of a message that the channel still has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteFile {
    /// Its kind.
    pub media: Media,
    /// What the channel fetches it by: a file id, or a URL.
    pub id: String,
    /// Its size in bytes, where the channel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The sender's name for it, or a usual one for its kind. It may be anything.
    pub name: String,
}

/// A message with everything that is needed to work on it and to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// The channel's id for it, such as `telegram:812`: the same id is the same message. Empty where
    /// a message cannot arrive twice.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Whose journal and queue it goes to.
    pub session: SessionKey,
    /// Who caused it.
    pub origin: Origin,
    /// Where the answer goes; `None` where the caller reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Address>,
    /// What the one who caused it may do. A file of an earlier version says nothing, and then there were
    /// only owners.
    #[serde(default, skip_serializing_if = "Role::is_owner")]
    pub role: Role,
    /// The sender's name by which others can write to them, without its `@`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// Whether there is a person who can be asked for approval.
    pub attended: bool,
    /// Whether others can write in this conversation too.
    #[serde(default)]
    pub is_group: bool,
    /// Whether the text is not what the person typed: it was forwarded, sent through an inline bot, or
    /// stood on a button that the model made. Such a text is for the model and never a command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_relayed: bool,
    /// The message that it replies to, as quoted lines for the model; may be empty. It is kept apart from
    /// the text so that a command is recognised in a reply, too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// What the person wrote. A forward, a location and the like are described in brackets.
    pub text: String,
    /// The part at the beginning of the text that the channel wrote rather than the person, such as
    /// `[forwarded from Ana]`; may be empty. After an edit the text may begin in another way.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub described: String,
    /// The text as it was typed, where `text` shows its formatting as Markdown; empty where both are the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unmarked: String,
    /// The files, as far as they have been fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Files that are still to be fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remote_files: Vec<RemoteFile>,
    /// The message's id within its chat, which replies, edits and reactions point to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// The message that it replies to, by its id within its chat; empty for none, and [`UNKNOWN_MESSAGE`] for one that is
    /// not named.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub replies_to: String,
    /// The message whose button typed this command; `None` where a person typed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pressed: Option<PressedMessage>,
    /// When the person sent it by the channel's clock, in seconds since 1970; `None` where the channel does not say, and
    /// once it is stored.
    #[serde(skip)]
    pub sent_at: Option<i64>,
    /// Whether the sender's language was guessed from the text, because the app says it at other times only.
    #[serde(skip)]
    pub is_language_guessed: bool,
}

/// A message of ours, one of whose buttons a person has pressed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressedMessage {
    /// Its id within the chat.
    pub id: String,
    /// Its text as people read it, without markup; empty when the channel does not send it along.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

impl Envelope {
    /// A text typed at the terminal.
    pub fn typed(session: &SessionKey, text: &str) -> Self {
        Self {
            id: String::new(),
            session: session.clone(),
            origin: Origin::Cli,
            reply: None,
            role: Role::Owner,
            username: String::new(),
            attended: true,
            is_group: false,
            is_relayed: false,
            quote: String::new(),
            text: text.to_owned(),
            described: String::new(),
            unmarked: String::new(),
            attachments: Vec::new(),
            remote_files: Vec::new(),
            reference: String::new(),
            replies_to: String::new(),
            pressed: None,
            sent_at: None,
            is_language_guessed: false,
        }
    }

    /// A text that a person wrote in a chat, with the least role until the intake has decided.
    pub fn written(address: &Address, sender: Sender, text: &str) -> Self {
        Self {
            origin: Origin::Person(sender),
            reply: Some(address.clone()),
            role: Role::Guest,
            ..Self::typed(&address.session(), text)
        }
    }

    /// The text as it was typed, for programs and forms.
    pub fn typed_text(&self) -> &str {
        if self.unmarked.is_empty() {
            &self.text
        } else {
            &self.unmarked
        }
    }

    /// The person who wrote it, if a person did.
    pub fn sender(&self) -> Option<&Sender> {
        match &self.origin {
            Origin::Person(sender) => Some(sender),
            Origin::Cli
            | Origin::Cron { .. }
            | Origin::Heartbeat
            | Origin::Subagent { .. }
            | Origin::Report { .. } => None,
        }
    }

    /// The person for whom it is, as the rules about access know them.
    pub fn author(&self) -> Option<Author> {
        if let Origin::Subagent { author, .. } | Origin::Report { author, .. } = &self.origin {
            return author.clone();
        }
        let sender = self.sender()?;
        Some(Author {
            id: sender.id.clone(),
            username: self.username.clone(),
        })
    }

    /// The owner, by their id, who alone is to see the program's answer in a group; empty for everyone.
    pub fn only_for(&self) -> &str {
        let owner = self
            .sender()
            .filter(|_| self.is_group && self.role == Role::Owner);
        owner.map_or("", |owner| &owner.id)
    }

    /// The language to answer in where the program itself answers.
    pub fn language(&self) -> Language {
        self.sender()
            .map_or_else(Language::default, |sender| sender.language)
    }

    /// Where the answer goes.
    pub fn address(&self) -> Address {
        let of_session = || Address::parse(self.session.as_str());
        self.reply.clone().unwrap_or_else(of_session)
    }
}

/// A button that types a slash command. Only the program makes them: the model's come back as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandButton {
    /// What people read.
    pub label: String,
    /// The command, with its slash.
    pub command: String,
}

/// A message to be delivered: pending until the channel has confirmed all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingMessage {
    /// Where it goes.
    pub to: Address,
    /// The text, as Markdown; may be empty when there are files.
    pub text: String,
    /// Files to attach, as absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Those of them that were made to be sent: they are removed once the message is delivered or given up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made_files: Vec<String>,
    /// The seconds of the voice message that its first file is; `None` for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<u64>,
    /// The name of the sticker that its first file is; `None` for other files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticker: Option<String>,
    /// Rows of buttons; a press comes back as a message with the button's label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Vec<String>>,
    /// Rows of buttons of the program's own, below the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_buttons: Vec<Vec<CommandButton>>,
    /// The message that it answers, by its id within the chat; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reply_to: String,
    /// The draft that it replaces, if that is still shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<DraftKey>,
    /// The earlier message of ours that it replaces, text and buttons, by its id within the chat; may be
    /// empty. If that message is gone, this one is sent below.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub edits: String,
    /// What makes it the same message as another, such as `cron:a1b2c3:1795330800000`; may be empty. The
    /// outbox takes each id once, also across restarts, as long as it is one of the last
    /// [`ONCE_IDS_MAX`](crate::base::limits::outbox::ONCE_IDS_MAX).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub once: String,
    /// The person, by their id, who alone is to see it in a group whose channel can do that; empty for everyone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub only_for: String,
    /// Whether it comes without a sound, because chats are to be left alone now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
    /// Whether it goes before all others that wait for its chat, such as the answer to `/stop`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    /// The run of a scheduled job that it comes from: the job's history has whether it could be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunRef>,
    /// What it comes from.
    #[serde(skip)]
    pub from: Writer,
}

/// What a message comes from: the less it is waited for, the less room it may take while its chat takes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    /// A turn that ends, or a command: someone waits for it.
    #[default]
    Answer,
    /// The same for a command of someone who is not an owner.
    Others,
    /// The program: an alarm, the result of a job, a script.
    Notice,
    /// A model, with its tool.
    Model,
}

/// Names a run of a scheduled job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRef {
    /// The job's id.
    pub job: String,
    /// When the run should have begun, in milliseconds since 1970.
    pub planned_ms: i64,
}

/// Separates a prefix from a file's own name where the file was copied to be sent.
pub const NAME_MARK: char = '~';

impl OutgoingMessage {
    /// The name that people see for a file.
    pub fn name_of(file: &str) -> &str {
        let name = file.rsplit('/').next().unwrap_or(file);
        name.split_once(NAME_MARK).map_or(name, |(_, own)| own)
    }

    /// A text for a chat.
    pub fn text(to: &Address, text: impl Into<String>) -> Self {
        Self {
            to: to.clone(),
            text: text.into(),
            files: Vec::new(),
            made_files: Vec::new(),
            voice: None,
            sticker: None,
            buttons: Vec::new(),
            command_buttons: Vec::new(),
            reply_to: String::new(),
            replaces: None,
            edits: String::new(),
            once: String::new(),
            only_for: String::new(),
            silent: false,
            urgent: false,
            run: None,
            from: Writer::Answer,
        }
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
            assert_eq!(OutgoingMessage::name_of(file), name);
        }
    }

    #[test]
    fn a_key_without_a_channel_is_the_command_lines() {
        assert_eq!(SessionKey::parse("work").as_str(), "cli:work");
        assert_eq!(
            SessionKey::parse("telegram:12:3").parts(),
            ("telegram", "12:3")
        );
    }

    #[test]
    fn an_address_is_the_key_of_its_conversation() {
        for text in ["telegram:12", "telegram:-100:7"] {
            let address = Address::parse(text);
            assert_eq!(address.to_string(), text);
            assert_eq!(address.session().as_str(), text);
        }
        assert_eq!(
            Address::parse("telegram:-100:7").thread.as_deref(),
            Some("7")
        );
    }
}
