//! `peacrab gateway`: people on Telegram, and what they are promised.

mod approvals;
mod conversation;
mod crowd;
mod discord;
mod faults;
mod flood;
mod full;
mod groups;
mod language;
mod media;
pub mod memory;
mod network;
mod order;
mod others;
mod parallel;
mod power;
mod recovery;
mod reload;
pub mod scene;
mod sending;
mod slots;
mod slow;
mod stop;
mod typed;
mod update;
mod wear;
mod who;
