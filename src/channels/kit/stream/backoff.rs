//! How long a receiver waits after failures, and what is logged about them once.

use std::fmt::Display;
use std::time::Duration;

use crate::base::clock::Clock;
use crate::base::limits::channels::{FIRST_WAIT, LONGEST_BACKOFF};
use crate::channels::kit::health::{Health, Task};
use crate::sys::random;

/// The longest wait while the clock is not set, so that a channel works soon after the time is known.
const UNSET_CLOCK_WAIT: Duration = Duration::from_secs(10);

/// The failures of one task in a row.
pub struct Backoff {
    task: Task,
    /// The task for the log, as in "failed to …" and "can … again".
    name: &'static str,
    clock: Clock,
    health: Health,
    failures: u32,
    /// What was logged last; the same is not logged again.
    logged: String,
}

impl Backoff {
    /// No failure yet. Outages are reported to `health`.
    pub fn new(task: Task, name: &'static str, clock: Clock, health: Health) -> Self {
        Self {
            task,
            name,
            clock,
            health,
            failures: 0,
            logged: String::new(),
        }
    }

    /// The task has succeeded. Returns whether it had failed before.
    pub fn succeeded(&mut self) -> bool {
        let had_failed = self.failures > 0;
        if had_failed {
            tracing::info!("can {} again", self.name);
            self.health.succeeded(self.task);
            self.failures = 0;
            self.logged.clear();
        }
        had_failed
    }

    /// The task has failed: logs why, once, and returns how long to wait. `asked` is the time that the
    /// other side asks for; without it each wait is twice as long as the last one.
    pub fn failed(&mut self, error: &dyn Display, asked: Option<Duration>) -> Duration {
        let mut why = error.to_string();
        if !self.clock.is_set() {
            // Certificates cannot be checked before the time is known.
            why = format!("waiting for the clock to be set ({why})");
        }
        self.health.failed(self.task, &why, self.clock.now());
        if why == self.logged {
            tracing::debug!("failed to {}: {why}", self.name);
        } else {
            tracing::warn!("failed to {}: {why}", self.name);
            self.logged = why;
        }
        // What was asked for is never cut short.
        let longer = |asked: Duration| asked + part_of(asked, chance());
        let mut wait = asked.map_or_else(|| with_jitter(doubled(self.failures)), longer);
        if !self.clock.is_set() {
            wait = wait.min(UNSET_CLOCK_WAIT);
        }
        self.failures = self.failures.saturating_add(1);
        wait
    }
}

/// The wait after so many failures before: twice as long each time.
pub fn doubled(failures: u32) -> Duration {
    doubled_from(FIRST_WAIT, failures)
}

/// The same with another first wait.
pub fn doubled_from(first: Duration, failures: u32) -> Duration {
    let times = 1_u32.checked_shl(failures).unwrap_or(u32::MAX);
    first.saturating_mul(times).min(LONGEST_BACKOFF)
}

/// See [`jittered`].
pub fn with_jitter(wait: Duration) -> Duration {
    jittered(wait, chance())
}

/// Up to a quarter longer, so that many boards do not come back in step, and up to a quarter shorter where it would be
/// longer than the longest wait. `chance` is a random number from 0 to 1.
pub fn jittered(wait: Duration, chance: f32) -> Duration {
    let part = part_of(wait, chance);
    if wait + part > LONGEST_BACKOFF {
        wait - part
    } else {
        wait + part
    }
}

fn part_of(wait: Duration, chance: f32) -> Duration {
    wait.mul_f32(chance.clamp(0.0, 1.0) / 4.0)
}

fn chance() -> f32 {
    let [chance] = random::bytes().unwrap_or_default();
    f32::from(chance) / f32::from(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(health: &Health) -> Backoff {
        Backoff::new(Task::Receive, "test", Clock::System, health.clone())
    }

    #[test]
    fn the_wait_doubles_up_to_its_bound_and_starts_again_after_a_success() {
        let health = Health::default();
        let mut backoff = backoff(&health);
        let waits: Vec<u64> = (0..40)
            .map(|_| backoff.failed(&"no route", None).as_secs())
            .collect();
        let grows = |pair: &[u64]| pair[1] >= pair[0] || pair[0] >= 200;
        assert!(waits.windows(2).all(grows), "{waits:?}");
        assert!(
            waits[0] <= 1 && (225..=300).contains(&waits[39]),
            "{waits:?}"
        );
        assert_eq!(health.outages().len(), 1);
        assert!(backoff.succeeded() && !backoff.succeeded());
        assert_eq!(health.outages(), []);
        assert!(backoff.failed(&"no route", None).as_secs() <= 1);
    }

    #[test]
    fn while_the_clock_is_not_set_the_wait_stays_short() {
        let clock = Clock::Hand(Default::default());
        let mut backoff = Backoff::new(Task::Receive, "test", clock, Health::default());
        let longest = (0..40).map(|_| backoff.failed(&"no time", None)).max();
        assert!(
            longest.is_some_and(|wait| wait.as_secs() <= 12),
            "{longest:?}"
        );
    }

    #[test]
    fn the_wait_that_the_other_side_asks_for_counts_more() {
        let wait = backoff(&Health::default()).failed(&"429", Some(Duration::from_secs(40)));
        assert!((40..=50).contains(&wait.as_secs()), "{wait:?}");
    }
}
