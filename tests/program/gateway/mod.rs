//! `peacrab gateway`: people on Telegram, and what they are promised.

mod approvals;
mod conversation;
mod crowd;
mod discord;
mod faults;
mod flood;
mod full;
mod groups;
mod media;
mod network;
mod order;
mod others;
mod parallel;
mod power;
mod recovery;
pub mod scene;
mod sending;
mod slots;
mod slow;
mod stop;
mod typed;
mod wear;
mod who;
