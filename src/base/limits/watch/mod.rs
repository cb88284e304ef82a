//! Bounds of watches.

use std::time::Duration;

/// Watches of a home: what a person can still overlook, and what 60 kB hold.
pub const WATCHES_MAX: usize = 32;

/// The longest time in a rule, in seconds: 30 days.
pub const SECONDS_MAX: u64 = 30 * 24 * 3600;
/// Seconds between two looks at the board's values: a rise of the temperature takes minutes.
pub const VALUE_EVERY_SECONDS: u64 = 30;
/// Seconds between two looks at what the kernel reports by itself, in case it did not.
pub const EVENT_EVERY_SECONDS: u64 = 300;

/// A wait of this length returns the thread's unused stack to the kernel first.
pub const REST: Duration = Duration::from_secs(1);

/// How long a flapping value has to stay normal before its alarm is over, in milliseconds.
pub const FLAP_CALM_MS: i64 = 10 * 60 * 1000;
/// How much later than planned a look may be, in times of its interval: beyond that nothing is known about the time
/// between, such as after a suspend.
pub const GAP_INTERVALS: i64 = 3;
/// Time between two messages about things that happen one by one, such as lines of a log, in milliseconds. What happens
/// in between is counted.
pub const SEEN_PAUSE_MS: i64 = 10 * 60 * 1000;

/// How long a host has to answer one question.
pub const HOST_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a command waits for the first look at what is new.
pub const FIRST_LOOK_TIME: Duration = Duration::from_secs(2);
/// Bytes of a file of /proc, /sys or /run that is read.
pub const SYSTEM_BYTES: usize = 32 * 1024;
/// Folders of control groups that are searched for a service.
pub const GROUPS_MAX: usize = 256;
/// Bytes of the buffer for the kernel's notifications.
pub const EVENT_BYTES: usize = 4096;
