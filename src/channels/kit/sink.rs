//! Where a channel's receiver hands over what arrives, and what it may ask meanwhile.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use super::health::Health;
use crate::base::access::Role;
use crate::base::bus::Heartbeat;
use crate::base::error::Result;
use crate::base::language::Language;
use crate::base::message::{Address, Envelope, PressedMessage, Sender, SessionKey};

/// Something that arrived from a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "most are messages, and none is kept"
)]
pub enum Incoming {
    /// A message, or a slash command, which is a message whose text begins with `/`.
    Message {
        /// The message. Its files are in [`remote_files`](Envelope::remote_files).
        envelope: Envelope,
        /// The sender's name as others can write to them, without the `@`; may be empty.
        username: String,
    },
    /// A message was edited.
    Edited {
        /// Whose conversation.
        session: SessionKey,
        /// The message's id within its chat.
        reference: String,
        /// The new text, in the form of a message's.
        text: String,
    },
    /// A button was pressed.
    Pressed {
        /// An id of the press, of the form of [`Envelope::id`].
        id: String,
        /// Where.
        address: Address,
        /// Whether others can press buttons there too.
        is_group: bool,
        /// Who pressed it.
        sender: Sender,
        /// Their name, as in [`Incoming::Message`].
        username: String,
        /// The message with the button.
        message: PressedMessage,
        /// The button's data.
        data: String,
    },
}

/// What a receiver holds of its sink.
pub type SharedSink = Arc<dyn Sink>;

/// Takes what a receiver has got. The intake is one.
pub trait Sink: Send + Sync {
    /// Takes a batch in order. When this returns, the messages are on the disk and the gateway has been
    /// notified of them.
    ///
    /// Fails, before the batch has had any effect, when the inbox cannot store the messages: then the
    /// receiver must not confirm them, and tries again later. While the gateway's queue is full it waits
    /// and beats `heartbeat`. Returns how many messages of it are new: not accepted before, and of someone who has access.
    fn take(&self, batch: Vec<Incoming>, heartbeat: &Heartbeat) -> Result<usize>;

    /// Whether the message with this id was accepted and is not in its conversation yet.
    fn holds(&self, id: &str) -> bool;

    /// Whether a text of a person in a group is for us although it does not say so.
    fn is_awaited(&self, chat: &Address, person: &str) -> bool;

    /// Whether a text must be stored nowhere: it is typed where the input is hidden.
    fn is_secret(&self, message: &Envelope) -> bool;

    /// Whether a text in a group chooses something that was offered there, where the channel has no buttons: then it is
    /// for us although it does not say so. `quoted` is the message that it replies to, or empty.
    fn is_choice(&self, chat: &Address, text: &str, quoted: &str) -> bool;

    /// Whether a person has access: by the configuration, or because they are paired.
    fn has_access(&self, sender: &Sender, username: &str) -> bool;

    /// The role of a person in a chat, which is given when it is a group; `None` when they have no access.
    /// This is the one place where roles are decided: what a person sends has its role from here on.
    fn role(&self, sender: &Sender, username: &str, group: Option<&Address>) -> Option<Role>;

    /// Whether the role of the person with this id may depend on their name.
    fn needs_name(&self, person: &str) -> bool;

    /// What a person is told at once who presses a button with this data; `None` when the press counts.
    fn press_notice(
        &self,
        sender: &Sender,
        username: &str,
        group: Option<&Address>,
        data: &str,
    ) -> Option<&'static str>;

    /// Pairs the sender of a text whose last word is an invitation, and welcomes them. For channels that must not
    /// answer anyone else, and keep the messages of unknown senders from here. Returns whether it was one.
    fn accept_invitation(&self, text: &str, chat: &Address, sender: &Sender) -> bool;

    /// The ids of the people who have access, as far as they are known by an id.
    fn known_people(&self) -> Vec<String>;

    /// Tells the people who have access something about this program, each in the private chat that has
    /// the person's id. `text` makes the text in a language.
    fn report(&self, text: &dyn Fn(Language) -> String);

    /// Where outages are reported.
    fn health(&self) -> Health;

    /// The newest number that the channel gave, and when it was accepted.
    fn last_update(&self) -> Option<(i64, DateTime<FixedOffset>)>;

    /// The channel was reached again after a failure: what waits for it is tried at once.
    fn reachable(&self);
}
