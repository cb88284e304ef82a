//! `peacrab gateway`: people on Telegram, and what they are promised.

mod approvals;
mod conversation;
mod faults;
mod flood;
mod groups;
mod media;
mod network;
mod parallel;
mod power;
mod recovery;
mod scene;
mod sending;
mod slow;
mod stop;
mod typed;
mod wear;
mod who;
