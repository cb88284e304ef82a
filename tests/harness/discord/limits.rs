//! Rate limits. <https://discord.com/developers/docs/topics/rate-limits>

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::request::Call;

/// Maximum requests per second of the whole bot.
const OVERALL: u32 = 50;
/// By route: how many requests in how many milliseconds. Other routes have a high limit.
const BUCKETS: [(&str, u32, u64); 7] = [
    ("createMessage", 5, 5_000),
    ("editMessage", 5, 5_000),
    ("deleteMessage", 5, 1_000),
    ("typing", 5, 5_000),
    ("react", 1, 250),
    ("unreact", 1, 250),
    ("followUp", 5, 2_000),
];
const PLENTY: (u32, u64) = (100, 1_000);
/// Requests that are this much too early are allowed: clocks differ.
const TOLERANCE: Duration = Duration::from_millis(20);

/// Counts the requests.
#[derive(Default)]
pub(super) struct Limits {
    changed: BTreeMap<String, (u32, u64)>,
    windows: BTreeMap<String, (Instant, u32)>,
    /// Until when a bucket is blocked; the empty name stands for all.
    waits: BTreeMap<String, Instant>,
    /// How many requests were refused because of a limit.
    pub refused: usize,
}

/// The result of counting a request.
pub(super) struct Verdict {
    /// The headers that each answer has.
    pub headers: Vec<(&'static str, String)>,
    /// How long to wait, in seconds, and whether that is for all requests.
    pub wait: Option<(f64, bool)>,
    /// Whether the client ignored an earlier limit.
    pub is_impatient: bool,
}

impl Limits {
    /// Sets the rate limit of a route.
    pub(super) fn set(&mut self, route: &str, most: u32, time: Duration) {
        let millis = time.as_millis() as u64;
        self.changed.insert(route.to_owned(), (most, millis));
    }

    /// A client has gone, and the next one knows nothing of its waits.
    pub(super) fn forget_waits(&mut self) {
        self.waits.clear();
    }

    /// Counts a request.
    pub(super) fn count(&mut self, call: &Call) -> Verdict {
        let bucket = call.bucket();
        let is_impatient = ["", bucket.as_str()].iter().any(|name| {
            let until = self.waits.get(*name);
            until.is_some_and(|until| call.at + TOLERANCE < *until)
        });
        let (most, millis) = self.limit(call.route);
        let (left, reset) = self.spend(&bucket, most, Duration::from_millis(millis));
        let mut wait = left.is_none().then_some((reset, false));
        // Answers to interactions do not count for the whole bot.
        let is_interaction =
            call.path.starts_with("/interactions") || call.path.starts_with("/webhooks");
        if !is_interaction {
            let (left, reset) = self.spend("", OVERALL, Duration::from_secs(1));
            wait = wait.or_else(|| left.is_none().then_some((reset, true)));
        }
        if let Some((seconds, is_global)) = wait {
            self.refused += 1;
            self.hold(if is_global { "" } else { &bucket }, seconds);
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let headers = vec![
            ("x-ratelimit-limit", most.to_string()),
            ("x-ratelimit-remaining", left.unwrap_or(0).to_string()),
            (
                "x-ratelimit-reset",
                format!("{:.3}", now.as_secs_f64() + reset),
            ),
            ("x-ratelimit-reset-after", format!("{reset:.3}")),
            ("x-ratelimit-bucket", format!("bucket-{}", call.route)),
        ];
        Verdict {
            headers,
            wait,
            is_impatient,
        }
    }

    /// Notes that a client must wait.
    pub(super) fn hold(&mut self, bucket: &str, seconds: f64) {
        let until = Instant::now() + Duration::from_secs_f64(seconds);
        self.waits.insert(bucket.to_owned(), until);
    }

    fn limit(&self, route: &str) -> (u32, u64) {
        let usual = BUCKETS.iter().find(|(name, ..)| *name == route);
        let usual = usual.map_or(PLENTY, |(_, most, millis)| (*most, *millis));
        self.changed.get(route).copied().unwrap_or(usual)
    }

    /// Takes one request from a bucket; returns the rest, or `None`, and the seconds until it is full.
    fn spend(&mut self, bucket: &str, most: u32, time: Duration) -> (Option<u32>, f64) {
        let now = Instant::now();
        let window = self.windows.entry(bucket.to_owned()).or_insert((now, 0));
        if now.duration_since(window.0) >= time {
            *window = (now, 0);
        }
        let reset = (window.0 + time)
            .saturating_duration_since(now)
            .as_secs_f64();
        if window.1 >= most {
            return (None, reset);
        }
        window.1 += 1;
        (Some(most - window.1), reset)
    }
}
