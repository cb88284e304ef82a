//! E-mail: mails are read over IMAP and sent over SMTP. A thread of mails is a conversation.
//!
//! Anyone can write any sender into a mail. So a mail counts only when the receiving server confirms its sender,
//! and only people who have access are ever answered.

mod adapter;
pub mod compose;
mod imap;
pub mod incoming;
pub mod mime;
mod receive;
mod settings;
mod smtp;
mod texts;
mod threads;
mod wire;

pub use adapter::Email;
pub use imap::{structure, value};
pub use settings::check;

/// The channel's name in addresses.
pub const NAME: &str = "email";
