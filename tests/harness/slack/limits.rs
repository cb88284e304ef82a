//! Rate limits. <https://docs.slack.dev/apis/web-api/rate-limits>

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::request::Call;

/// By method: how many calls in how many seconds. Messages are counted for each chat, with short bursts.
const TIERS: [(&str, u32, u64); 7] = [
    ("chat.postMessage", 6, 5),
    ("chat.update", 50, 60),
    ("chat.delete", 50, 60),
    ("reactions.add", 50, 60),
    ("conversations.history", 50, 60),
    ("conversations.replies", 50, 60),
    ("files.info", 50, 60),
];
/// The usual tier.
const PLENTY: (u32, u64) = (100, 60);
/// Calls that are this much too early are allowed: clocks differ.
const TOLERANCE: Duration = Duration::from_millis(50);

/// Counts the calls.
#[derive(Default)]
pub(super) struct Limits {
    /// Whether nothing is counted.
    pub is_lax: bool,
    windows: BTreeMap<String, (Instant, u32)>,
    /// Until when a bucket is blocked.
    waits: BTreeMap<String, Instant>,
}

/// The result of counting a call.
pub(super) struct Verdict {
    /// How long to wait, in seconds.
    pub wait: Option<u64>,
    /// Whether the client ignored an earlier limit.
    pub is_impatient: bool,
}

impl Limits {
    /// Counts a call.
    pub(super) fn count(&mut self, call: &Call) -> Verdict {
        let bucket = call.bucket();
        let until = self.waits.get(&bucket);
        let is_impatient = until.is_some_and(|until| call.at + TOLERANCE < *until);
        let tier = TIERS.iter().find(|(method, ..)| *method == call.method);
        let (most, seconds) = tier.map_or(PLENTY, |(_, most, seconds)| (*most, *seconds));
        let now = Instant::now();
        let window = self.windows.entry(bucket.clone()).or_insert((now, 0));
        if now - window.0 >= Duration::from_secs(seconds) {
            *window = (now, 0);
        }
        window.1 += 1;
        let wait = (window.1 > most && !self.is_lax).then(|| {
            let left = (window.0 + Duration::from_secs(seconds)).saturating_duration_since(now);
            left.as_secs() + 1
        });
        if let Some(seconds) = wait {
            self.hold(&bucket, seconds);
        }
        Verdict { wait, is_impatient }
    }

    /// A client has gone, and the next one knows nothing of its waits.
    pub(super) fn forget_waits(&mut self) {
        self.waits.clear();
    }

    /// Notes that a client must wait.
    pub(super) fn hold(&mut self, bucket: &str, seconds: u64) {
        let until = Instant::now() + Duration::from_secs(seconds);
        self.waits.insert(bucket.to_owned(), until);
    }
}
