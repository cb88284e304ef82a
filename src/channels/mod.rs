//! Floor 8: where people are reached: a folder for each channel. What they share is in `kit`, `intake` (messages from people)
//! and `delivery` (messages to people).

pub mod delivery;
pub mod dingtalk;
pub mod discord;
pub mod email;
pub mod feishu;
pub mod http;
pub mod intake;
pub mod irc;
pub mod kit;
pub mod local;
pub mod matrix;
pub mod mochat;
pub mod qq;
pub mod slack;
pub mod table;
pub mod telegram;
pub mod whatsapp;
