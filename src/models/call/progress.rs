//! How long a reply may take. A server that keeps sending comments, blanks or single characters is
//! not silent, yet its reply may never end.

use std::time::Duration;

use crate::base::chat::Fault;
use crate::base::clock::Stopwatch;
use crate::models::classify::Failure;

/// How many times the longest silence (`streamIdleTimeoutSecs`, 90 s) a reply may come without growing:
/// models that think send comments for minutes.
const REPLY_QUIET_IDLES: u32 = 4;
/// How many times that a reply may take as a whole: an hour, in which a model on the board itself
/// writes 7,000 tokens at two a second.
const REPLY_TOTAL_IDLES: u32 = 40;

/// Measures one reply.
pub struct Progress {
    idle: Duration,
    total: Stopwatch,
    quiet: Stopwatch,
    bytes: usize,
}

impl Progress {
    /// Starts to measure a reply; `idle` is how long it may be silent.
    pub fn start(idle: Duration) -> Self {
        Self {
            idle,
            total: Stopwatch::start(),
            quiet: Stopwatch::start(),
            bytes: 0,
        }
    }

    /// Fails when the reply, which has so many `bytes` by now, has not grown for too long, or takes too
    /// long as a whole. Another try would not help.
    pub fn check(&mut self, bytes: usize) -> Result<(), Failure> {
        if bytes > self.bytes {
            self.bytes = bytes;
            self.quiet = Stopwatch::start();
        }
        let reason = if self.quiet.elapsed() > self.idle * REPLY_QUIET_IDLES {
            "it keeps the connection open, but its answer does not grow"
        } else if self.total.elapsed() > self.idle * REPLY_TOTAL_IDLES {
            "its answer takes too long; raise streamIdleTimeoutSecs to give it more time"
        } else {
            return Ok(());
        };
        Err(Failure::new(Fault::Garbage, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;

    /// Checks every millisecond with what `bytes` says, until it fails.
    fn ends(bytes: impl Fn(usize) -> usize) -> (String, Duration) {
        let watch = Stopwatch::start();
        let mut progress = Progress::start(Duration::from_millis(5));
        let failure = (0..).find_map(|step| {
            Cancel::new().wait(Duration::from_millis(1));
            progress.check(bytes(step)).err()
        });
        (failure.unwrap().reason, watch.elapsed())
    }

    #[test]
    fn a_reply_has_to_grow_and_to_end() {
        let (reason, _) = ends(|_| 1);
        assert!(reason.contains("does not grow"), "{reason}");
        let (reason, time) = ends(|step| step);
        assert!(reason.contains("too long"), "{reason}");
        assert!(time > Duration::from_millis(5) * REPLY_TOTAL_IDLES);
    }
}
