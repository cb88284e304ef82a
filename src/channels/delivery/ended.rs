//! The beginnings and ends of turns, for channels on which something waits for them.

use std::time::Duration;

use super::Delivery;
use crate::base::clock::Stopwatch;
use crate::base::limits::cancel::POLL;
use crate::base::message::Address;

/// How long the end of a turn waits for its messages. They go to programs that wait for them, which is a matter of
/// milliseconds.
const ENDED_TIME: Duration = Duration::from_secs(5);

impl Delivery {
    /// A turn begins; with an empty `reference` it is about no message.
    pub fn turn_begins(&self, to: &Address, reference: &str) {
        self.0.parts.adapter.turn_begins(to, reference);
    }

    /// A turn has failed; the message that says why comes next.
    pub fn turn_failed(&self, to: &Address, reference: &str) {
        self.0.parts.adapter.turn_failed(to, reference);
    }

    /// A message gets no turn. Returns whether that needs no message of its own.
    pub fn refused(&self, to: &Address, reference: &str, why: &str) -> bool {
        self.0.parts.adapter.refused(to, reference, why)
    }

    /// A turn has ended, and with it the work on a message. What waits for delivery goes out before the channel hears of
    /// it, which blocks for a moment on channels that want to hear.
    pub fn turn_ended(&self, to: &Address, reference: &str) {
        let parts = &self.0.parts;
        if !parts.adapter.awaits_turns() {
            return;
        }
        let is_pending = || {
            let mut pending = parts.outbox.pending().into_iter();
            pending.any(|pending| pending.message.to == *to)
        };
        let watch = Stopwatch::start();
        while is_pending() && watch.elapsed() < ENDED_TIME && !self.0.cancel.wait(POLL) {}
        parts.adapter.turn_ended(to, reference);
    }
}
