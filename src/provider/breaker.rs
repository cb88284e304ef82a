//! Leaves a failing model alone for a while. Pure: the time comes in as a value.

use std::time::Duration;

use crate::limits::provider::{BREAKER_FAILURES, BREAKER_REST};

/// Counts a model's failures in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaker {
    failures: u32,
    last: Duration,
}

impl Breaker {
    /// It answered: the count begins anew.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// It failed, at a time on the monotonic clock.
    pub fn failed(&mut self, now: Duration) {
        self.failures = self.failures.saturating_add(1);
        self.last = now;
    }

    /// Whether it should be left alone at this time. After the rest one failure more is enough for
    /// the next one.
    pub fn rests(&self, now: Duration) -> bool {
        self.failures >= BREAKER_FAILURES && now.saturating_sub(self.last) < BREAKER_REST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_rest_a_model_for_a_minute() {
        let at = Duration::from_secs;
        let mut breaker = Breaker::default();
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
