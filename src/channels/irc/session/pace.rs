//! How fast lines go out: a few at once, then one at a time. Servers disconnect clients that write faster.

use std::time::Duration;

/// Lines that may go out at once; then one each `sendIntervalMs`.
const BURST: u32 = 5;

/// Counts lines as most servers do (RFC 1459, 8.10): each one costs its interval, and a few may be in debt.
#[derive(Debug)]
pub struct Pace {
    interval: Duration,
    /// When all that was sent is paid for.
    paid_at: Duration,
}

impl Pace {
    /// A connection that has sent nothing.
    pub fn new(interval: Duration, now: Duration) -> Self {
        Self {
            interval,
            paid_at: now,
        }
    }

    /// When the next line may be sent.
    pub fn next(&self) -> Duration {
        self.paid_at.saturating_sub(self.interval * (BURST - 1))
    }

    /// A line is sent.
    pub fn sent(&mut self, now: Duration) {
        self.paid_at = self.paid_at.max(now) + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_lines_go_at_once_and_the_others_one_by_one() {
        let second = Duration::from_secs(1);
        let mut pace = Pace::new(2 * second, second * 100);
        let mut now = second * 100;
        let mut times = Vec::new();
        for _ in 0..8 {
            now = now.max(pace.next());
            times.push(now.as_secs() - 100);
            pace.sent(now);
        }
        assert_eq!(times, [0, 0, 0, 0, 0, 2, 4, 6]);
        // After a rest, again a few at once.
        now += 60 * second;
        for _ in 0..BURST {
            assert!(pace.next() <= now);
            pace.sent(now);
        }
        assert!(pace.next() > now);
    }
}
