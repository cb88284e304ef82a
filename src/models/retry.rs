//! Whether to ask a model again, and when. Pure: the time comes in as a value.

use std::time::Duration;

use crate::base::chat::Fault;
use crate::base::limits::models::RETRIES;

/// Wait before the first new try. The following ones are 2 and 4 s.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait that a server may ask for. Beyond it the person is better served by an answer
/// that says so, or by a fallback model.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Failures in a row after which a model is left alone for a while.
const BREAKER_FAILURES: u32 = 3;
/// How long a failing model is left alone.
const BREAKER_REST: Duration = Duration::from_secs(60);

/// What is known when a try has failed.
#[derive(Clone, Copy, Debug)]
pub struct Failed {
    /// How many tries failed before this one.
    pub before: u32,
    /// What went wrong.
    pub fault: Fault,
    /// Whether the person has seen a part of the answer.
    pub shown: bool,
    /// What the server asks for.
    pub retry_after: Option<Duration>,
}

/// How long to wait before the next try; none: it is given up.
///
/// `jitter`, from 0 to 1, spreads the wait over its half to its whole, so that many clients that
/// failed together do not come back together. What a server asks for is not shortened; when it asks
/// for longer than `LONGEST_WAIT`, waiting is no answer.
pub fn wait(failed: Failed, jitter: f64) -> Option<Duration> {
    let passes = matches!(
        failed.fault,
        Fault::Rate | Fault::Busy | Fault::Network | Fault::Timeout | Fault::Cut
    );
    if !passes || failed.shown || failed.before >= RETRIES {
        return None;
    }
    match failed.retry_after {
        Some(asked) => (asked <= LONGEST_WAIT).then_some(asked),
        None => {
            let whole = FIRST_WAIT * 2_u32.pow(failed.before);
            Some(whole.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0))
        }
    }
}

/// Counts a model's failures in a row, and leaves it alone for a while after some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CircuitBreaker {
    failures: u32,
    last: Duration,
}

impl CircuitBreaker {
    /// It answered, so the count starts over.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// It failed, at a time on the monotonic clock.
    pub fn failed(&mut self, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        self.last = now;
    }

    /// Whether it should be left alone at this time. After that, a single further failure is enough
    /// for the next rest.
    pub fn rests(&self, now: Duration) -> bool {
        self.failures >= BREAKER_FAILURES && now.saturating_sub(self.last) < BREAKER_REST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_is_tried_again_and_never_after_text_was_shown() {
        use Fault::*;
        let seconds = Duration::from_secs;
        let rows = [
            (0, Busy, false, None, Some(1)),
            (1, Busy, false, None, Some(2)),
            (2, Busy, false, None, Some(4)),
            (3, Busy, false, None, None),
            (0, Rate, false, Some(7), Some(7)),
            (2, Rate, false, Some(0), Some(0)),
            (0, Rate, false, Some(60), Some(60)),
            (0, Rate, false, Some(61), None),
            (3, Rate, false, Some(1), None),
            (0, Network, false, None, Some(1)),
            (0, Timeout, false, None, Some(1)),
            (0, Cut, false, None, Some(1)),
            (0, Cut, true, None, None),
            (0, Busy, true, Some(1), None),
            (0, Key, false, None, None),
            (0, Quota, false, Some(1), None),
            (0, Unknown, false, None, None),
            (0, Request, false, None, None),
            (0, Filter, false, None, None),
            (0, Overflow, false, None, None),
            (0, Garbage, false, None, None),
        ];
        for (before, fault, shown, retry_after, expected) in rows {
            let failed = Failed {
                before,
                fault,
                shown,
                retry_after: retry_after.map(seconds),
            };
            assert_eq!(wait(failed, 1.0), expected.map(seconds), "{failed:?}");
        }
    }

    #[test]
    fn jitter_takes_at_most_half_of_the_wait() {
        let failed = Failed {
            before: 2,
            fault: Fault::Busy,
            shown: false,
            retry_after: None,
        };
        assert_eq!(wait(failed, 0.0), Some(Duration::from_secs(2)));
        assert_eq!(wait(failed, 0.5), Some(Duration::from_secs(3)));
    }

    #[test]
    fn three_failures_rest_a_model_for_a_minute() {
        let at = Duration::from_secs;
        let mut breaker = CircuitBreaker::default();
        breaker.failed(at(1));
        breaker.failed(at(2));
        assert!(!breaker.rests(at(2)));
        breaker.failed(at(3));
        assert!(breaker.rests(at(3)) && breaker.rests(at(62)));
        assert!(!breaker.rests(at(63)));
        breaker.failed(at(64));
        assert!(breaker.rests(at(100)));
        breaker.succeeded();
        assert!(!breaker.rests(at(100)));
    }
}
