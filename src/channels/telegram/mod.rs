//! Telegram, by its Bot API (<https://core.telegram.org/bots/api>).

pub mod api;
mod connection;
pub mod html;
mod receive;
pub mod update;

pub use connection::Telegram;

/// The channel's name in addresses.
pub const NAME: &str = api::CHANNEL;
