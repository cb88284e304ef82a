//! How long a reply may take. A server that keeps the line busy with comments, blanks or single
//! characters is not silent, and yet there is no end to it.

use std::time::Duration;

use crate::chat::Fault;
use crate::clock::Stopwatch;
use crate::limits::provider::{REPLY_QUIET_IDLES, REPLY_TOTAL_IDLES};
use crate::provider::classify::Failure;

/// Measures one reply.
pub struct Progress {
    idle: Duration,
    total: Stopwatch,
    quiet: Stopwatch,
    bytes: usize,
}

impl Progress {
    /// A reply that begins now; `idle` is how long it may be silent.
    pub fn start(idle: Duration) -> Self {
        Self {
            idle,
            total: Stopwatch::start(),
            quiet: Stopwatch::start(),
            bytes: 0,
        }
    }

    /// Takes how many bytes of the reply itself there are by now, and fails when they have not grown
    /// for too long, or when the reply takes too long as a whole. Another try would not help.
    pub fn check(&mut self, bytes: usize) -> Result<(), Failure> {
        if bytes > self.bytes {
            self.bytes = bytes;
            self.quiet = Stopwatch::start();
        }
        let said = if self.quiet.elapsed() > self.idle * REPLY_QUIET_IDLES {
            "it keeps the connection busy, but its answer does not go on"
        } else if self.total.elapsed() > self.idle * REPLY_TOTAL_IDLES {
            "its answer takes too long; a higher streamIdleTimeoutSecs gives it more time"
        } else {
            return Ok(());
        };
        Err(Failure::new(Fault::Garbage, said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;

    /// Checks every millisecond with what `bytes` says, until it fails.
    fn ends(bytes: impl Fn(usize) -> usize) -> (String, Duration) {
        let watch = Stopwatch::start();
        let mut progress = Progress::start(Duration::from_millis(5));
        let failure = (0..).find_map(|step| {
            Cancel::new().wait(Duration::from_millis(1));
            progress.check(bytes(step)).err()
        });
        (failure.unwrap().said, watch.elapsed())
    }

    #[test]
    fn a_reply_has_to_grow_and_to_end() {
        let (said, _) = ends(|_| 1);
        assert!(said.contains("does not go on"), "{said}");
        let (said, time) = ends(|step| step);
        assert!(said.contains("too long"), "{said}");
        assert!(time > Duration::from_millis(5) * REPLY_TOTAL_IDLES);
    }
}
