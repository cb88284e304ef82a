//! Telegram, by its Bot API (<https://core.telegram.org/bots/api>).

pub mod api;
pub mod files;
pub mod update;
