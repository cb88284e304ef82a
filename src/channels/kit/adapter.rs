//! What a channel implements. Everything that is the same for all channels is in `intake` (messages
//! from people) and `delivery` (messages to people).

use std::fmt;
use std::fs::File;
use std::time::Duration;

use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::Address;

pub use crate::text::markup::Piece;

use super::sink::SharedSink;

/// What a channel can do, and its limits.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// Whether messages can have buttons. Without them a message ends with numbered choices, and a reply that
    /// names one counts as a press.
    pub buttons: bool,
    /// Whether messages can be edited and deleted. Without that nothing is: there are no drafts, and what would
    /// have been edited is sent as a new message where a person needs it.
    pub edits: bool,
    /// Bytes of what a button carries.
    pub button_data_bytes: usize,
    /// Bytes of the largest file that can be sent.
    pub upload_bytes: u64,
    /// Bytes of the largest file that can be fetched.
    pub download_bytes: usize,
    /// How often "typing" must be repeated; `None` where the channel has no such thing.
    pub typing_interval: Option<Duration>,
    /// The least time between two messages to one chat.
    pub chat_interval: Duration,
    /// Messages to one group, and the span that they are counted in.
    pub group_rate: (usize, Duration),
    /// Messages to all chats, and the span that they are counted in.
    pub total_rate: (usize, Duration),
    /// The reaction that a message gets when it has been accepted; empty for none.
    pub reaction: String,
    /// Whether replies quote the message that they reply to.
    pub quotes: bool,
    /// The least time between two edits of a draft; `None` for no drafts. Without [`edits`](Self::edits) it
    /// does not count.
    pub edit_interval: Option<Duration>,
}

/// A button below a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Button {
    /// Its label.
    pub label: String,
    /// What comes back when it is pressed.
    pub data: String,
}

/// A message as it is sent, or the new content of one that is edited.
#[derive(Clone, Copy, Debug, Default)]
pub struct Post<'a> {
    /// The text.
    pub text: &'a str,
    /// Whether the text is in the channel's markup.
    pub is_marked: bool,
    /// Rows of buttons.
    pub buttons: &'a [Vec<Button>],
    /// The message that it replies to, if that is to be quoted.
    pub reply_to: Option<&'a str>,
    /// The same for each attempt to send the same piece, and for no other: channels that can tell
    /// repeated requests apart (Discord's `nonce`) use it. `None` for what may come twice.
    pub key: Option<u64>,
    /// Whether people's devices make no sound for it.
    pub silent: bool,
    /// The person, by their id, who alone is to see it in a group; `None` for everyone. Channels that cannot do that show
    /// it to all.
    pub only_for: Option<&'a str>,
}

/// A file as it is sent.
#[derive(Debug)]
pub struct Upload<'a> {
    /// The file, at its beginning.
    pub file: &'a File,
    /// The name that people see.
    pub name: &'a str,
    /// See [`Post::key`].
    pub key: Option<u64>,
    /// See [`Post::silent`].
    pub silent: bool,
    /// See [`Post::only_for`].
    pub only_for: Option<&'a str>,
    /// The seconds of a voice message; `None` for other files. Channels without voice messages send a file.
    pub voice: Option<u64>,
    /// Whether it is a sticker. Channels without stickers send a picture.
    pub is_sticker: bool,
}

/// Why a call to a channel failed, told apart by what can be done about it. No text contains a secret.
#[derive(Debug)]
pub enum Failure {
    /// Too many requests for this chat. A limit that concerns all chats is [`Failure::Down`].
    RetryAfter(Duration),
    /// The channel rejects the markup; the plain text would be accepted.
    Markup(String),
    /// The message already has this content.
    NotModified,
    /// The message to edit, delete, reply or react to does not exist or can no longer be changed.
    MessageGone,
    /// The text is too long.
    TooLong,
    /// Nothing can be sent to this chat any more.
    Gone {
        /// The channel's description.
        said: String,
        /// The chat that replaced it.
        moved_to: Option<Address>,
    },
    /// The channel refuses, now and later.
    Refused(String),
    /// This request failed: a 5xx, or no reply in time. Other chats may be served.
    Trouble(String),
    /// The channel cannot be reached at all, or rejects the credentials.
    Down(String),
    /// A file or the configuration is at fault, on this side.
    Local(Error),
    /// The call was cancelled.
    Stopped,
}

impl Failure {
    /// The failure for an answer of a server of files that stays the same however often it is asked; `None` if it may
    /// change. 401 concerns the token, and 408, 425 and 429 ask for another try (RFC 9110, RFC 8470, RFC 6585).
    pub fn of_file(status: u16) -> Option<Self> {
        match status {
            403 | 404 | 410 => Some(Self::MessageGone),
            401 | 408 | 425 | 429 => None,
            300..=499 => Some(Self::Refused(format!(
                "the server refuses to give the file (status {status})"
            ))),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RetryAfter(time) => write!(f, "rate-limited for {} s", time.as_secs()),
            Self::NotModified => f.write_str("the message already has this content"),
            Self::MessageGone => f.write_str("the message no longer exists or cannot be changed"),
            Self::TooLong => f.write_str("the text is too long for the channel"),
            Self::Markup(said)
            | Self::Gone { said, .. }
            | Self::Refused(said)
            | Self::Trouble(said)
            | Self::Down(said) => f.write_str(said),
            Self::Local(error) => error.fmt(f),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Stopped => Self::Stopped,
            error => Self::Local(error),
        }
    }
}

/// A slash command in a channel's menu.
#[derive(Clone, Debug)]
pub struct MenuEntry {
    /// Its name without the slash.
    pub name: String,
    help: Help,
}

/// What a command does.
#[derive(Clone, Debug)]
enum Help {
    /// In every language.
    BuiltIn(fn(Language) -> &'static str),
    /// As the configuration says it.
    Own(String),
}

impl MenuEntry {
    /// A command of the program.
    pub fn built_in(name: &str, help: fn(Language) -> &'static str) -> Self {
        Self {
            name: name.to_owned(),
            help: Help::BuiltIn(help),
        }
    }

    /// A command of the configuration.
    pub fn own(name: &str, help: String) -> Self {
        Self {
            name: name.to_owned(),
            help: Help::Own(help),
        }
    }

    /// What it does, in a language.
    pub fn help(&self, language: Language) -> &str {
        match &self.help {
            Help::BuiltIn(help) => help(language),
            Help::Own(help) => help,
        }
    }
}

/// The outcome of a call.
pub type Sent<T = ()> = std::result::Result<T, Failure>;

/// A configured channel.
pub trait Adapter: Send + Sync {
    /// Its name in addresses and in the configuration.
    fn name(&self) -> &'static str;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// Whether an address is one of this channel's, and a group (where more people read and a lower
    /// rate holds). `None` for an address that it cannot deliver to.
    fn is_group(&self, address: &Address) -> Option<bool>;

    /// Splits Markdown into messages in the channel's own markup.
    fn render(&self, markdown: &str) -> Vec<Piece>;

    /// Shortens Markdown to one message: the beginning of what is being written.
    fn render_draft(&self, markdown: &str) -> Option<Piece>;

    /// Asks the channel who the bot is: the name by which people find it, such as `@crabby_bot`. Also
    /// tries whether the token works.
    fn identify(&self, cancel: &Cancel) -> Sent<String>;

    /// A connection for one worker. Its calls block, end when `cancel` is raised, and beat
    /// `heartbeat` while bytes of a transfer are moving.
    fn connect(&self, cancel: &Cancel, heartbeat: &Heartbeat) -> Result<Box<dyn Connection>>;

    /// Receives until `cancel` is raised, and passes everything on to `intake`. Runs on a thread of
    /// its own.
    fn receive(&self, intake: SharedSink, heartbeat: Heartbeat, cancel: Cancel);

    /// Whether something waits for the ends of turns, which [`Adapter::turn_begins`] and [`Adapter::turn_ended`] tell then.
    fn awaits_turns(&self) -> bool {
        false
    }

    /// A turn in a chat begins. `reference` is the message that it is about; empty where it is about none.
    fn turn_begins(&self, _to: &Address, _reference: &str) {}

    /// A turn in a chat has failed: the message about `reference` that comes next says why, and is no answer.
    fn turn_failed(&self, _to: &Address, _reference: &str) {}

    /// A message that was accepted gets no turn, because of `why`. Returns whether that needs no message of its own: what
    /// waits for the turn knows it now.
    fn refused(&self, _to: &Address, _reference: &str, _why: &str) -> bool {
        false
    }

    /// A turn in a chat has ended, and nothing of it is still to be sent. `reference` is the last message that it was
    /// about.
    fn turn_ended(&self, _to: &Address, _reference: &str) {}
}

/// The calls of one worker, one after the other.
pub trait Connection: Send {
    /// Sends a message; returns its id within the chat.
    fn send(&mut self, to: &Address, post: &Post<'_>) -> Sent<String>;

    /// Sends a whole text laid out by the channel, with its tables and lists, or puts it in the place of the message
    /// `edits`; returns the message. `post` has no text. `None` where the channel does not, or the text needs no such
    /// thing: then nothing was sent.
    fn send_rich(
        &mut self,
        _to: &Address,
        _markdown: &str,
        _post: &Post<'_>,
        _edits: Option<&str>,
    ) -> Option<Sent<String>> {
        None
    }

    /// Shows the text of unfinished work, which is no message and goes when the next one comes: the text of a later
    /// call with the same `id` takes its place. `None` where the channel has no such thing, or not there.
    fn preview(&mut self, _to: &Address, _id: u32, _post: &Post<'_>) -> Option<Sent> {
        None
    }

    /// Replaces the text and the buttons of an earlier message.
    fn edit(&mut self, to: &Address, message: &str, post: &Post<'_>) -> Sent;

    /// Deletes an earlier message.
    fn delete(&mut self, to: &Address, message: &str) -> Sent;

    /// Sends a file.
    fn upload(&mut self, to: &Address, upload: &Upload<'_>) -> Sent;

    /// Sends a file and the text to it as one message; `None` where the channel does not, or not these: then nothing was
    /// sent.
    fn upload_with_text(
        &mut self,
        _to: &Address,
        _upload: &Upload<'_>,
        _text: &Post<'_>,
    ) -> Option<Sent> {
        None
    }

    /// Sends the first of several files and the text to them as one message: how many files it took. `None` where the
    /// channel does not, or not these: then nothing was sent.
    fn upload_album(
        &mut self,
        _to: &Address,
        _uploads: &[Upload<'_>],
        _text: Option<&Post<'_>>,
    ) -> Option<Sent<usize>> {
        None
    }

    /// Adds a reaction to a person's message.
    fn react(&mut self, to: &Address, message: &str, emoji: &str) -> Sent;

    /// Shows that an answer is being written.
    fn typing(&mut self, to: &Address) -> Sent;

    /// Fetches the file that `id` names, of at most `limit` bytes.
    fn fetch(&mut self, id: &str, into: &mut File, limit: usize) -> Sent;

    /// Registers the slash commands, with descriptions in every language.
    fn set_menu(&mut self, commands: &[MenuEntry]) -> Sent;
}
