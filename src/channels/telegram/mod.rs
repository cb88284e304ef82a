//! Telegram, by its Bot API (<https://core.telegram.org/bots/api>).

mod albums;
pub mod api;
mod connection;
pub mod html;
mod receive;
mod trial;
pub mod update;

pub use connection::Telegram;

/// The channel's name in addresses.
pub const NAME: &str = api::CHANNEL;
