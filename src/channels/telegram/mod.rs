//! Telegram, by its Bot API (<https://core.telegram.org/bots/api>).
//!
//! One thread polls, another sends, each with its own connection. What comes in is in the inbox before
//! Telegram is told that we have it; what goes out lies in the outbox until Telegram has confirmed it.

pub mod api;
mod backoff;
mod draft;
mod files;
pub mod html;
mod pace;
mod poll;
mod question;
mod send;
mod show;
mod update;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::{Started, Wiring};
use crate::bus::Pulse;
use crate::cancel::Cancel;
use crate::clock::Clock;
use crate::config::schema::Channels;
use crate::error::{Error, Result};
use crate::files::Workspace;
use crate::http::Tls;
use crate::inbox::Inbox;
use crate::limits::channels::{LONG_POLL, PATIENCE, STACK_BYTES};
use crate::outbox::Outbox;
use crate::state::Pairing;

use api::Api;
use poll::Poller;
use send::Sender;

/// The channel's name in every chat's key.
pub const NAME: &str = api::CHANNEL;

/// What the adapter is made of.
pub struct Parts {
    /// What the configuration says.
    pub channels: Channels,
    /// Whom to trust.
    pub tls: Tls,
    /// What was accepted.
    pub inbox: Arc<Inbox>,
    /// What is owed.
    pub outbox: Arc<Outbox>,
    /// Who was let in.
    pub pairing: Arc<Pairing>,
    /// Where files come to and go from.
    pub workspace: Workspace,
    /// The commands for Telegram's menu, without the slash.
    pub menu: Vec<(&'static str, &'static str)>,
    /// Where the time comes from.
    pub clock: Clock,
}

/// What ends a thread, what shows that it is alive, and what the two tell each other.
struct Watched {
    cancel: Cancel,
    pulse: Pulse,
    /// The poller has reached Telegram again: the sender need not wait any longer.
    reached: Arc<AtomicBool>,
}

/// Starts both threads. Fails when the system has none left, or the proxy's URL is none.
pub fn start(parts: Parts, wiring: Wiring) -> Result<Started> {
    let config = &parts.channels.telegram;
    let Wiring {
        inbound,
        outbound,
        polling,
        sending,
    } = wiring;
    let polls = Api::new(&parts.tls, config, LONG_POLL + PATIENCE, &polling)?;
    let sends = Api::new(&parts.tls, config, PATIENCE, &sending)?;
    let parts = Arc::new(parts);
    let (poll_pulse, send_pulse) = (Pulse::new("telegram-poll"), Pulse::new("telegram-send"));
    let reached = Arc::new(AtomicBool::new(false));
    let watched = |cancel, pulse: &Pulse| Watched {
        cancel,
        pulse: pulse.clone(),
        reached: Arc::clone(&reached),
    };
    let poller = Poller::new(
        Arc::clone(&parts),
        polls,
        inbound,
        watched(polling, &poll_pulse),
    );
    let sender = Sender::new(parts, sends, outbound, watched(sending, &send_pulse));
    Ok(Started {
        threads: vec![
            spawn(&poll_pulse, move || poller.run())?,
            spawn(&send_pulse, move || sender.run())?,
        ],
        pulses: vec![poll_pulse, send_pulse],
    })
}

fn spawn(pulse: &Pulse, run: impl FnOnce() + Send + 'static) -> Result<thread::JoinHandle<()>> {
    thread::Builder::new()
        .name(pulse.name().to_owned())
        .stack_size(STACK_BYTES)
        .spawn(run)
        .map_err(|error| Error::Failed(format!("the system has no thread left: {error}")))
}
