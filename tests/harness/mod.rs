//! What the stories need: a home, a scripted model, a Telegram of our own, and the real program, also
//! on a terminal and in the background.

pub mod discord;
pub mod feature;
mod form;
pub mod gate;
pub mod gateway;
pub mod home;
pub mod line;
pub mod model;
mod network;
pub mod program;
pub mod systemd;
pub mod telegram;
pub mod terminal;
mod tls;
mod wire;

use std::time::Duration;

/// Longest wait for anything that ought to happen at once. Generous, because it only ends tests
/// that have failed already.
pub const PATIENCE: Duration = Duration::from_secs(60);
