//! Floor 8: where people are reached. A channel implements `adapter`; what is the same for all of them
//! is in `intake` (messages from people) and `delivery` (messages to people).

pub mod adapter;
mod backoff;
pub mod buttons;
pub mod choices;
pub mod delivery;
pub mod dingtalk;
pub mod discord;
pub mod email;
pub mod feishu;
pub mod health;
pub mod intake;
pub mod irc;
pub mod local;
pub mod matrix;
mod missed;
pub mod mochat;
mod multipart;
pub mod names;
pub mod qq;
pub mod slack;
pub mod table;
pub mod telegram;
pub mod texts;
pub mod whatsapp;
