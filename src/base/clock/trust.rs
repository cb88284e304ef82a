//! PURE: whether the wall clock can be trusted, from what is known about it.

use std::fmt;
use std::time::Duration;

use chrono::DateTime;

use super::BUILD_EPOCH;

/// How far a clock with a battery may be from the system's clock and still confirm it, in seconds: it
/// drifts by seconds a day.
const RTC_DRIFT_SECONDS: u64 = 300;
/// How far the clock may be behind the last known time, in seconds: a time service steps it back a bit.
const KNOWN_SLACK_SECONDS: i64 = 300;
/// Years after this version was made in which a clock is plausible.
const PLAUSIBLE_YEARS: i64 = 20;
/// How long the machine has to run until a plausible time is believed that nothing confirms. A board with a
/// network has reached a time server by then; one without would otherwise never remind anyone.
const UNCONFIRMED_GRACE: Duration = Duration::from_secs(10 * 60);
/// The same for a time that contradicts the last known one, which may itself have been wrong.
const CONTRADICTED_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether the wall clock can be trusted. Nothing dated happens before it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// A time service or a clock with a battery confirms the time.
    Trusted,
    /// Nothing confirms the time, but it is plausible and has been for a while: it is used.
    Unconfirmed,
    /// The time is wrong, or may well be.
    NotYet(Reason),
}

/// Why the time is not trusted yet. Its text completes "The clock …".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is before this version was made.
    BeforeBuild,
    /// It is before a time that was seen earlier, in seconds since 1970.
    BeforeKnown(i64),
    /// It is decades after this version was made.
    FarAhead,
    /// No time service and no clock with a battery confirms it yet.
    NotSynchronized,
}

/// What is known about the wall clock.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The time, in seconds since 1970.
    pub now: i64,
    /// The latest time that was seen earlier, in seconds since 1970.
    pub known: Option<i64>,
    /// Whether a time service keeps the clock right; `None` where that cannot be found out.
    pub is_synchronized: Option<bool>,
    /// What the clocks with a battery say, in seconds since 1970.
    pub hardware: Vec<i64>,
    /// How long the machine has run.
    pub uptime: Duration,
    /// Whether the clock was set while the program ran: somebody or something has set it on purpose.
    pub was_set: bool,
    /// Whether it was set by so much that its date can be another one.
    pub was_set_far: bool,
    /// What was found the last time.
    pub before: Option<Trust>,
}

impl Trust {
    /// Whether what is dated may happen.
    pub fn is_trusted(self) -> bool {
        !matches!(self, Self::NotYet(_))
    }
}

/// Decides. What was trusted once stays trusted as long as the time is possible at all: a board that loses
/// its network keeps its jobs.
pub fn judge(facts: &Facts) -> Trust {
    if facts.now < BUILD_EPOCH {
        return Trust::NotYet(Reason::BeforeBuild);
    }
    if facts.is_synchronized == Some(true) {
        return Trust::Trusted;
    }
    if let Some(before) = facts.before.filter(|before| before.is_trusted()) {
        return before;
    }
    let known = facts.known.unwrap_or(i64::MIN);
    let contradicted = if facts.now < known.saturating_sub(KNOWN_SLACK_SECONDS) {
        Some(Reason::BeforeKnown(known))
    } else if facts.now > BUILD_EPOCH + PLAUSIBLE_YEARS * 366 * 24 * 3600 {
        Some(Reason::FarAhead)
    } else {
        None
    };
    let confirms = |clock: &i64| clock.abs_diff(facts.now) <= RTC_DRIFT_SECONDS;
    let has_passed = |grace| facts.was_set || facts.uptime >= grace;
    match contradicted {
        None if facts.hardware.iter().any(confirms) => Trust::Trusted,
        None if has_passed(UNCONFIRMED_GRACE) => Trust::Unconfirmed,
        None => Trust::NotYet(Reason::NotSynchronized),
        // A time service that nudges a clock says nothing about its date.
        Some(_) if facts.was_set_far || facts.uptime >= CONTRADICTED_GRACE => Trust::Unconfirmed,
        Some(reason) => Trust::NotYet(reason),
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeBuild => f.write_str("has not been set"),
            Self::BeforeKnown(known) => {
                let known = DateTime::from_timestamp(*known, 0).unwrap_or_default();
                let known = known.format("%Y-%m-%d %H:%M");
                write!(f, "is behind: it was {known} UTC before")
            }
            Self::FarAhead => f.write_str("is decades ahead"),
            Self::NotSynchronized => {
                f.write_str("has not been synchronized since the machine started")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = BUILD_EPOCH + 1_000_000;
    const HOUR: i64 = 3600;

    fn facts() -> Facts {
        Facts {
            now: NOW,
            known: None,
            is_synchronized: Some(false),
            hardware: Vec::new(),
            uptime: Duration::from_secs(30),
            was_set: false,
            was_set_far: false,
            before: None,
        }
    }

    #[test]
    fn the_time_is_trusted_as_the_table_says() {
        use Reason::{BeforeBuild, BeforeKnown, FarAhead, NotSynchronized};
        use Trust::{NotYet, Trusted, Unconfirmed};
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let decades = NOW + 30 * 366 * 24 * HOUR;
        #[rustfmt::skip]
        let table = [
            // A board starts in 1970, or at the date of its system's image.
            ("1970", Facts { now: 12, ..facts() }, NotYet(BeforeBuild)),
            ("1970 for days", Facts { now: 12, uptime: minutes(5000), ..facts() }, NotYet(BeforeBuild)),
            ("1970, synchronized", Facts { now: 12, is_synchronized: Some(true), ..facts() }, NotYet(BeforeBuild)),
            ("1970, set", Facts { now: 12, was_set: true, ..facts() }, NotYet(BeforeBuild)),
            ("a negative time", Facts { now: -5, ..facts() }, NotYet(BeforeBuild)),
            ("a second before the build", Facts { now: BUILD_EPOCH - 1, uptime: minutes(5000), ..facts() }, NotYet(BeforeBuild)),
            ("back to 1970", Facts { now: 12, before: Some(Trusted), ..facts() }, NotYet(BeforeBuild)),
            // A time service has answered.
            ("synchronized", Facts { is_synchronized: Some(true), ..facts() }, Trusted),
            ("synchronized, after a wrong year", Facts { is_synchronized: Some(true), known: Some(decades), ..facts() }, Trusted),
            ("synchronized, in decades", Facts { is_synchronized: Some(true), now: decades, ..facts() }, Trusted),
            // No answer yet: wait, but not for ever.
            ("just started", facts(), NotYet(NotSynchronized)),
            ("started, ahead of the last known time", Facts { known: Some(NOW - HOUR), ..facts() }, NotYet(NotSynchronized)),
            ("nine minutes", Facts { uptime: minutes(9), ..facts() }, NotYet(NotSynchronized)),
            ("ten minutes", Facts { uptime: minutes(10), ..facts() }, Unconfirmed),
            ("a container that must not ask", Facts { is_synchronized: None, ..facts() }, NotYet(NotSynchronized)),
            ("the same on an old host", Facts { is_synchronized: None, uptime: minutes(5000), ..facts() }, Unconfirmed),
            ("set by hand", Facts { was_set: true, ..facts() }, Unconfirmed),
            // A clock with a battery.
            ("a battery", Facts { hardware: vec![NOW - 1], ..facts() }, Trusted),
            ("a battery that drifts", Facts { hardware: vec![NOW + 300], ..facts() }, Trusted),
            ("a clock without one", Facts { hardware: vec![35], ..facts() }, NotYet(NotSynchronized)),
            ("the second one has one", Facts { hardware: vec![35, NOW], ..facts() }, Trusted),
            ("it is hours off", Facts { hardware: vec![NOW - HOUR], ..facts() }, NotYet(NotSynchronized)),
            ("the smallest number", Facts { hardware: vec![i64::MIN], ..facts() }, NotYet(NotSynchronized)),
            // What was seen before contradicts.
            ("behind", Facts { known: Some(NOW + HOUR), ..facts() }, NotYet(BeforeKnown(NOW + HOUR))),
            ("a bit behind", Facts { known: Some(NOW + 300), uptime: minutes(10), ..facts() }, Unconfirmed),
            ("behind, with a battery", Facts { known: Some(NOW + HOUR), hardware: vec![NOW], ..facts() }, NotYet(BeforeKnown(NOW + HOUR))),
            ("behind, after an hour", Facts { known: Some(NOW + HOUR), uptime: minutes(60), ..facts() }, NotYet(BeforeKnown(NOW + HOUR))),
            ("behind, after a day", Facts { known: Some(NOW + HOUR), uptime: minutes(24 * 60), ..facts() }, Unconfirmed),
            ("behind, nudged", Facts { known: Some(NOW + HOUR), was_set: true, ..facts() }, NotYet(BeforeKnown(NOW + HOUR))),
            ("behind, set by hand", Facts { known: Some(NOW + HOUR), was_set: true, was_set_far: true, ..facts() }, Unconfirmed),
            ("in decades", Facts { now: decades, uptime: minutes(60), ..facts() }, NotYet(FarAhead)),
            ("in decades, with a battery", Facts { now: decades, hardware: vec![decades], ..facts() }, NotYet(FarAhead)),
            ("in decades, after a day", Facts { now: decades, uptime: minutes(24 * 60), ..facts() }, Unconfirmed),
            ("the last second", Facts { now: i64::MAX, known: Some(i64::MAX), ..facts() }, NotYet(FarAhead)),
            // Once trusted, trusted.
            ("the network is gone", Facts { before: Some(Trusted), ..facts() }, Trusted),
            ("back by hours", Facts { before: Some(Trusted), known: Some(NOW + 5 * HOUR), ..facts() }, Trusted),
            ("still unconfirmed", Facts { before: Some(Unconfirmed), ..facts() }, Unconfirmed),
            ("confirmed at last", Facts { before: Some(Unconfirmed), is_synchronized: Some(true), ..facts() }, Trusted),
            ("not yet, and still not", Facts { before: Some(NotYet(BeforeBuild)), ..facts() }, NotYet(NotSynchronized)),
        ];
        for (case, facts, expected) in table {
            assert_eq!(judge(&facts), expected, "{case}");
        }
    }

    #[test]
    fn each_reason_completes_a_sentence() {
        let behind = Reason::BeforeKnown(1_795_305_600).to_string();
        assert_eq!(behind, "is behind: it was 2026-11-22 00:00 UTC before");
        assert_eq!(Reason::BeforeBuild.to_string(), "has not been set");
    }
}
