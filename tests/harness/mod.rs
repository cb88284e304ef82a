//! What the tests need: a home, a scripted model, fake Telegram and Discord servers, and the real program, also
//! on a terminal and in the background.

pub mod clock;
pub mod dingtalk;
pub mod discord;
pub mod ear;
pub mod executable;
mod faults;
pub mod feature;
pub mod feishu;
mod form;
pub mod gate;
pub mod gateway;
pub mod home;
pub mod irc;
pub mod line;
pub mod local;
pub mod mail;
pub mod matrix;
pub mod mcp;
pub mod mochat;
pub mod model;
pub mod mouth;
mod network;
pub mod program;
pub mod qq;
pub mod release;
mod shared;
pub mod signin;
pub mod slack;
pub mod systemd;
pub mod telegram;
pub mod terminal;
mod tls;
pub mod whatsapp;
mod wire;

use std::time::{Duration, Instant};

/// Maximum wait for anything that should happen at once. Generous, because it only ends tests
/// that fail anyway.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// Waits for what no server and no log tells.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}
