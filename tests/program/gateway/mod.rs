//! `peacrab gateway`: people on Telegram, and what they are promised.

mod conversation;
mod promises;
