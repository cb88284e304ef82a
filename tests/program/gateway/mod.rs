//! `peacrab gateway`: people on Telegram, and what they are promised.

mod conversation;
mod flood;
mod network;
mod parallel;
mod power;
mod promises;
mod stop;
mod wear;
