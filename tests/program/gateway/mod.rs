//! `peacrab gateway`: people on Telegram, and what they are promised.

mod approvals;
mod conversation;
mod faults;
mod groups;
mod media;
mod promises;
mod scene;
mod sending;
mod typed;
mod who;
