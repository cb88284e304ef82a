//! Floor 8: where people are reached: a folder for each channel. What they share is in `kit`, `intake` (messages from people)
//! and `delivery` (messages to people).

pub mod delivery;
#[cfg(feature = "dingtalk")]
pub mod dingtalk;
#[cfg(feature = "discord")]
pub mod discord;
#[cfg(feature = "email")]
pub mod email;
#[cfg(feature = "feishu")]
pub mod feishu;
pub mod http;
pub mod intake;
#[cfg(feature = "irc")]
pub mod irc;
pub mod kit;
pub mod local;
#[cfg(feature = "matrix")]
pub mod matrix;
#[cfg(feature = "mochat")]
pub mod mochat;
#[cfg(feature = "qq")]
pub mod qq;
#[cfg(feature = "slack")]
pub mod slack;
pub mod table;
pub mod telegram;
#[cfg(feature = "whatsapp")]
pub mod whatsapp;
