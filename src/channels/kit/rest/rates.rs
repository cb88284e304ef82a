//! Discord's rate limits: which calls have to wait. All connections share them.
//! <https://discord.com/developers/docs/topics/rate-limits>

use std::collections::BTreeMap;
use std::time::Duration;

use crate::base::clock::Stopwatch;
use crate::base::limits::channels::LONGEST_WAIT;
use crate::base::sync::Mutex;

/// Rate-limit buckets of Discord's that are remembered: one of each kind for a dozen busy chats.
const DISCORD_BUCKETS: usize = 64;

/// The buckets that are empty, each until a time on the stopwatch.
#[derive(Debug)]
pub struct RateLimits {
    watch: Stopwatch,
    until: Mutex<BTreeMap<String, Duration>>,
}

/// The bucket that all calls share.
const GLOBAL: &str = "";

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            watch: Stopwatch::start(),
            until: Mutex::default(),
        }
    }
}

impl RateLimits {
    /// How long a call that counts for this bucket has to wait.
    pub fn wait(&self, bucket: &str) -> Duration {
        let until = self.until.lock();
        let due = [GLOBAL, bucket].map(|name| until.get(name).copied().unwrap_or_default());
        due[0].max(due[1]).saturating_sub(self.watch.elapsed())
    }

    /// Calls that count for this bucket, or all if there is none, have to wait from now on.
    pub fn hold(&self, bucket: Option<&str>, wait: Duration) {
        let now = self.watch.elapsed();
        let mut until = self.until.lock();
        until.retain(|_, until| *until > now);
        // A limit that is not remembered costs one refusal.
        if until.len() < DISCORD_BUCKETS || bucket.is_none() {
            let bucket = bucket.unwrap_or(GLOBAL).to_owned();
            until.insert(bucket, now + wait.min(LONGEST_WAIT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_waits_alone_and_all_wait_for_the_global_one() {
        let limits = RateLimits::default();
        assert_eq!(limits.wait("a"), Duration::ZERO);
        limits.hold(Some("a"), Duration::from_secs(100));
        assert!(limits.wait("a") > Duration::from_secs(90));
        assert_eq!(limits.wait("b"), Duration::ZERO);
        limits.hold(None, Duration::MAX);
        assert!(limits.wait("b") > Duration::from_secs(90));
        assert!(limits.wait("b") <= LONGEST_WAIT);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let limits = RateLimits::default();
        for number in 0..3 * DISCORD_BUCKETS {
            limits.hold(Some(&number.to_string()), Duration::from_secs(100));
        }
        assert_eq!(limits.until.lock().len(), DISCORD_BUCKETS);
        limits.hold(None, Duration::from_secs(100));
        assert!(limits.wait("x") > Duration::ZERO);
    }
}
