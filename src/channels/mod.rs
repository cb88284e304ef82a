//! Floor 7: where people are reached. One folder an adapter; each has its own threads, lets only those
//! in whom it may, and meets the agent in `message` and the bus alone.

pub mod adapter;
mod door;
pub mod intake;
mod names;
pub mod telegram;
mod utf16;

use std::thread::JoinHandle;

use crate::bus::{InboundSender, OutboundReceiver, Pulse};
use crate::cancel::Cancel;
use crate::error::Result;

/// A channel that is set up and not yet started.
pub enum Channel {
    /// Telegram.
    Telegram(Box<telegram::Parts>),
}

/// What a channel is connected with.
pub struct Wiring {
    /// Where messages go, once they are in the inbox.
    pub inbound: InboundSender,
    /// What is to be shown.
    pub outbound: OutboundReceiver,
    /// Raised when nothing more is to be taken in.
    pub polling: Cancel,
    /// Raised when nothing more is to be sent.
    pub sending: Cancel,
}

/// A channel at work.
pub struct Started {
    /// Its threads' pulses.
    pub pulses: Vec<Pulse>,
    /// Its threads.
    pub threads: Vec<JoinHandle<()>>,
}

impl Channel {
    /// The channel's name in every chat's key.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Telegram(_) => telegram::NAME,
        }
    }

    /// Starts its threads. Fails when the system has none left, or the configuration cannot be used.
    pub fn start(self, wiring: Wiring) -> Result<Started> {
        match self {
            Self::Telegram(parts) => telegram::start(*parts, wiring),
        }
    }
}
