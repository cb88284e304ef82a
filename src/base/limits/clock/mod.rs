//! Bounds of the clock, and of the trust in it.

use std::time::Duration;

/// Clocks with a battery that are looked at; a board has one or two.
pub const RTCS_MAX: usize = 4;
/// Bytes of a number that the kernel shows in a file.
pub const RTC_BYTES: usize = 64;
/// How far a clock with a battery may be from the system's clock and still confirm it, in seconds: it
/// drifts by seconds a day.
pub const RTC_DRIFT_SECONDS: u64 = 300;
/// How far the clock may be behind the last known time, in seconds: a time service steps it back a bit.
pub const KNOWN_SLACK_SECONDS: i64 = 300;
/// Years after this version was made in which a clock is plausible.
pub const PLAUSIBLE_YEARS: i64 = 20;
/// How long the machine has to run until a plausible time is believed that nothing confirms. A board with a
/// network has reached a time server by then; one without would otherwise never remind anyone.
pub const UNCONFIRMED_GRACE: Duration = Duration::from_secs(10 * 60);
/// The same for a time that contradicts the last known one, which may itself have been wrong.
pub const CONTRADICTED_GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// How often it is looked whether the time can be trusted by now, while it cannot.
pub const TRUST_LOOK: Duration = Duration::from_secs(5);
/// How often the time is written to the disk: SD cards wear.
pub const KNOWN_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Bytes of the file with the last known time.
pub const KNOWN_BYTES: usize = 4096;
/// How far the clock has to jump to be logged. Less is the usual work of a time service.
pub const JUMP_LOGGED: Duration = Duration::from_secs(60 * 60);
/// The smallest jump that counts as setting the clock, where the kernel does not tell.
pub const JUMP_MILLIS_MIN: u64 = 1000;
/// How often a clock is read that a test turns.
pub const TURNED_LOOK: Duration = Duration::from_millis(20);
/// How often it is looked whether a time that nothing confirms has been confirmed.
pub const UNCONFIRMED_LOOK: Duration = Duration::from_secs(10 * 60);
/// The longest wait for a time where the kernel gives no timer; a clock that is set is noticed after it.
pub const ALARM_RETRY: Duration = Duration::from_secs(30);
/// How much earlier than after [`KNOWN_INTERVAL`] the time is kept all the same.
pub const KNOWN_EARLY: Duration = Duration::from_mins(1);
