//! Events of deliveries, for the rest of the program.

use crate::base::message::{Address, CommandButton, OutgoingMessage};

/// Learns what becomes of messages, on a thread that delivers: it may write to the disk, and not wait long.
pub trait Observer: Send + Sync {
    /// The channel will never take a message, or what is left of it; with `is_chat_gone` also no other one for its
    /// chat.
    fn given_up(&self, message: &OutgoingMessage, why: &str, is_chat_gone: bool);

    /// A message always fails although the channel works: it waits until somebody asks for it, and others of its chat
    /// go on. `is_first` says whether it is the only one of its chat.
    fn set_aside(&self, message: &OutgoingMessage, why: &str, is_first: bool);

    /// A message, or a part of it, is about to be sent.
    fn sends(&self, message: &OutgoingMessage);

    /// Progress or a text that is not of the outbox is about to appear below what a chat shows, with these buttons.
    fn shows(&self, to: &Address, buttons: &[Vec<CommandButton>]);

    /// A question is in its chat as a whole, as this message; empty where the channel does not say so.
    fn asked(&self, number: u64, message: &str);
    /// A chat has become another one, as a group does that becomes a supergroup.
    fn moved(&self, from: &Address, to: &Address);
}
