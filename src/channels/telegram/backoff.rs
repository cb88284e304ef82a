//! How long to wait after failures, and what to say of them once.

use std::time::Duration;

use super::api::ApiError;
use crate::clock::Clock;
use crate::limits::channels::{FIRST_WAIT, LONGEST_BACKOFF};
use crate::sys::random;

/// The failures in a row of one thread.
pub(super) struct Backoff {
    what: &'static str,
    clock: Clock,
    failures: u32,
    /// What was said last; the same is not said again.
    said: String,
}

impl Backoff {
    /// No failure yet; `what` fails, in words for the log.
    pub fn new(what: &'static str, clock: Clock) -> Self {
        Self {
            what,
            clock,
            failures: 0,
            said: String::new(),
        }
    }

    /// It has worked. Says so when it had failed before, and returns whether it had.
    pub fn worked(&mut self) -> bool {
        let had_failed = self.failures > 0;
        if had_failed {
            tracing::info!("Telegram is reached again: {} goes on", self.what);
            self.failures = 0;
            self.said.clear();
        }
        had_failed
    }

    /// It has failed: says why, once, and how long to wait. After `quick` tries it waits longest, unless
    /// there is no connection: then it waits about as long as it has waited, to be there soon after
    /// the network.
    pub fn failed(&mut self, error: &ApiError, quick: u32) -> Duration {
        let mut words = error.to_string();
        if !self.clock.is_set() {
            // Certificates cannot be checked before the time is known.
            words = format!("waiting for the clock to be set ({words})");
        }
        if words == self.said {
            tracing::debug!("{}: {words}", self.what);
        } else {
            tracing::warn!("{} does not work: {words}", self.what);
            self.said = words;
        }
        let wait = match error {
            ApiError::TooManyRequests { retry_after } => *retry_after,
            ApiError::Network(_) | ApiError::Timeout(_) => doubled(self.failures),
            _ if self.failures >= quick => LONGEST_BACKOFF,
            _ => doubled(self.failures),
        };
        self.failures = self.failures.saturating_add(1);
        with_jitter(wait, random::bytes().unwrap_or_default())
    }
}

/// Twice as long each time.
fn doubled(failures: u32) -> Duration {
    let times = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    FIRST_WAIT.saturating_mul(times).min(LONGEST_BACKOFF)
}

/// Up to a quarter longer, so that many boards do not come back in step.
fn with_jitter(wait: Duration, chance: [u8; 1]) -> Duration {
    wait + wait.mul_f32(f32::from(chance[0]) / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_its_bound() {
        let mut backoff = Backoff::new("the test", Clock::System);
        let error = ApiError::Network("no route".to_owned());
        let waits: Vec<u64> = (0..12)
            .map(|_| backoff.failed(&error, 100).as_secs())
            .collect();
        assert!(
            waits
                .windows(2)
                .all(|pair| pair[1] >= pair[0] || pair[0] >= 300),
            "{waits:?}"
        );
        assert!(
            waits[0] <= 1 && waits[11] >= 300 && waits[11] <= 375,
            "{waits:?}"
        );
        backoff.worked();
        assert!(backoff.failed(&error, 100).as_secs() <= 1);
    }

    #[test]
    fn after_the_quick_tries_it_waits_longest_and_what_telegram_says_counts_more() {
        let mut backoff = Backoff::new("the test", Clock::System);
        let error = ApiError::Server("502".to_owned());
        assert!(backoff.failed(&error, 0) >= LONGEST_BACKOFF);
        let offline = ApiError::Network("no route".to_owned());
        assert!(backoff.failed(&offline, 0).as_secs() < 2);
        let asked = ApiError::TooManyRequests {
            retry_after: Duration::from_secs(7),
        };
        assert!(backoff.failed(&asked, 0).as_secs() < 9);
    }
}
