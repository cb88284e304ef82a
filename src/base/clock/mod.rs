//! Time, as a seam. Nothing else asks the system what time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, FixedOffset, Local, Utc};

mod trust;
mod turned;

pub use trust::{Facts, Reason, Trust, judge};
pub use turned::Turned;

/// The day this version was made, as seconds since 1970 (2026-11-22). A board has no clock of its
/// own and starts in 1970 or at its last shutdown: an earlier time than this is surely not set yet.
pub const BUILD_EPOCH: i64 = 1_795_305_600;

/// Where the time comes from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock, in the system's zone (`TZ`, else /etc/localtime). In a build for tests, the
    /// clock of the file that `PEACRAB_TEST_CLOCK` names.
    #[default]
    System,
    /// A clock that a test turns by hand, in milliseconds since 1970, UTC.
    Hand(Arc<AtomicI64>),
}

/// Whether the process has found the wall clock to be wrong, or not to be set yet.
static IS_DOUBTED: AtomicBool = AtomicBool::new(false);

/// Notes whether the wall clock is trusted, for what counts by days.
pub fn note_trust(trust: Trust) {
    IS_DOUBTED.store(!trust.is_trusted(), Ordering::Relaxed);
}

impl Clock {
    /// Whether the date may be a wrong one: surely before this version was made, else as far as [`note_trust`] has
    /// said.
    pub fn is_doubted(&self) -> bool {
        let is_said = matches!(self, Self::System) && IS_DOUBTED.load(Ordering::Relaxed);
        is_said || !self.is_set()
    }

    /// The wall clock's time with its zone.
    pub fn now(&self) -> DateTime<FixedOffset> {
        match (self, self.turned()) {
            (Self::Hand(_), Some(turned)) => turned.utc().fixed_offset(),
            (Self::System, Some(turned)) => turned.utc().with_timezone(&Local).fixed_offset(),
            (_, None) => Local::now().fixed_offset(),
        }
    }

    /// The wall clock's time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        match self.turned() {
            Some(turned) => turned.millis,
            None => Utc::now().timestamp_millis(),
        }
    }

    /// What a test has set the clock to; `None` for a real clock.
    pub fn turned(&self) -> Option<Turned> {
        match self {
            Self::System => turned::read(),
            Self::Hand(millis) => Some(Turned::by_hand(millis.load(Ordering::Relaxed))),
        }
    }

    /// Whether the wall clock has been set at all: certificates need it. What is dated asks for
    /// [`Trust`], which needs more.
    pub fn is_set(&self) -> bool {
        self.now().timestamp() >= BUILD_EPOCH
    }

    /// The name of the zone as a person knows it, such as `Europe/Zurich`, else the offset.
    pub fn zone_name(&self) -> String {
        let named = match self {
            Self::System => std::env::var("TZ")
                .ok()
                .filter(|zone| !zone.is_empty())
                .or_else(zone_of_system),
            Self::Hand(_) => None,
        };
        let label = named.map(|zone| zone_label(&zone).to_owned());
        label.unwrap_or_else(|| self.now().offset().to_string())
    }
}

/// Seconds since 1970 of a date in the form of RFC 3339.
pub fn seconds_of(date: &str) -> Option<i64> {
    let date = DateTime::parse_from_rfc3339(date).ok()?;
    Some(date.timestamp())
}

/// The name of a zone with one offset that a rule such as `<UTC+0200>-2` gives it; anything else is itself.
pub fn zone_label(rule: &str) -> &str {
    let name = rule
        .strip_prefix("<UTC")
        .and_then(|rest| rest.split_once('>'));
    match name {
        Some((name, _)) => &rule[1.."<UTC".len() + name.len()],
        None => rule,
    }
}

/// The name of the system's zone: where /etc/localtime points, or from Debian's /etc/timezone.
pub fn zone_of_system() -> Option<String> {
    let target = std::fs::read_link("/etc/localtime").ok();
    let linked = target.as_ref().and_then(|path| {
        path.to_str()?
            .split_once("zoneinfo/")
            .map(|(_, name)| name.to_owned())
    });
    linked.or_else(|| {
        let name = std::fs::read_to_string("/etc/timezone").ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    })
}

/// Measures a span on the monotonic clock, which does not change with the wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_in_1970_is_not_believed() {
        let hand = Arc::new(AtomicI64::new(0));
        let clock = Clock::Hand(hand.clone());
        assert!(!clock.is_set());
        assert_eq!(clock.now().to_rfc3339(), "1970-01-01T00:00:00+00:00");
        hand.store((BUILD_EPOCH + 1) * 1000, Ordering::Relaxed);
        assert!(clock.is_set());
        assert!(
            Clock::System.is_set(),
            "the machine that runs the tests has a clock"
        );
    }

    /// A release that forgets to move the constant would believe a clock that is too early.
    #[test]
    fn the_build_epoch_is_the_newest_date_of_the_changelog() {
        let changelog = include_str!("../../../CHANGELOG.md");
        let newest = changelog.lines().find_map(|line| {
            line.strip_prefix("## ")?
                .split_once(" - ")
                .map(|(_, date)| date)
        });
        let date = chrono::NaiveDate::parse_from_str(newest.expect("a dated heading"), "%Y-%m-%d")
            .unwrap();
        let midnight = date.and_hms_opt(0, 0, 0).unwrap().and_utc().timestamp();
        assert_eq!(BUILD_EPOCH, midnight);
    }
}
