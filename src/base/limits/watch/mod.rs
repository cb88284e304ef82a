//! Bounds of watches.

use std::time::Duration;

/// Watches of a home: what a person can still overlook, and what 60 kB hold.
pub const WATCHES_MAX: usize = 32;
/// Watches that the model may have made in one chat: a model that adds them in a loop is stopped here.
pub const MODEL_WATCHES_MAX: usize = 8;
/// Bytes of a rule as it is typed: a shell line and a prompt have some hundreds.
pub const RULE_BYTES_MAX: usize = 2048;
/// Bytes of `watches.json`: 32 rules of the longest kind.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// Bytes of `state/watches.json`.
pub const STATE_BYTES_MAX: usize = 256 * 1024;

/// Shortest time between two looks that a rule may ask for, in seconds.
pub const EVERY_SECONDS_MIN: u64 = 10;
/// The shortest for a command, which is a process each time.
pub const COMMAND_EVERY_SECONDS_MIN: u64 = 30;
/// The longest time in a rule, in seconds: 30 days.
pub const SECONDS_MAX: u64 = 30 * 24 * 3600;
/// Shortest time between two repetitions of an alarm, in seconds.
pub const REPEAT_SECONDS_MIN: u64 = 60;
/// Seconds between two looks at the board's values: a rise of the temperature takes minutes.
pub const VALUE_EVERY_SECONDS: u64 = 30;
/// Seconds between two looks at a host that answers.
pub const HOST_EVERY_SECONDS: u64 = 60;
/// Seconds between two runs of a command.
pub const COMMAND_EVERY_SECONDS: u64 = 300;
/// Seconds between two looks at what the kernel reports by itself, in case it did not.
pub const EVENT_EVERY_SECONDS: u64 = 300;
/// How long a service may be away, in seconds: a restart is no alarm.
pub const SERVICE_HOLD_SECONDS: u64 = 5;

/// A wait of this length returns the thread's unused stack to the kernel first.
pub const REST: Duration = Duration::from_secs(1);

/// How far a value has to go back below its threshold to count as normal again, in percent of it.
pub const HYSTERESIS_PERCENT: f64 = 5.0;
/// Alarms within [`FLAP_WINDOW_MS`] from which a watch counts as flapping.
pub const FLAPS: usize = 3;
/// The time within which alarms are counted, in milliseconds.
pub const FLAP_WINDOW_MS: i64 = 60 * 60 * 1000;
/// How long a flapping value has to stay normal before its alarm is over, in milliseconds.
pub const FLAP_CALM_MS: i64 = 10 * 60 * 1000;
/// How much later than planned a look may be, in times of its interval: beyond that nothing is known about the time
/// between, such as after a suspend.
pub const GAP_INTERVALS: i64 = 3;
/// Time between two messages about things that happen one by one, such as lines of a log, in milliseconds. What happens
/// in between is counted.
pub const SEEN_PAUSE_MS: i64 = 10 * 60 * 1000;
/// Looks that are due within this many milliseconds are made together.
pub const TOGETHER_MS: i64 = 1000;
/// The longest wait of the thread: what no event reports is seen at least then.
pub const WAIT_MAX: Duration = Duration::from_secs(3600);
/// Wait before the file is read again after it could not be.
pub const STORE_RETRY_MS: i64 = 60 * 1000;

/// Bytes of a line of a watched file; a longer one is cut.
pub const LINE_BYTES: usize = 4096;
/// Characters of a line that a message shows.
pub const LINE_CHARS: usize = 300;
/// Bytes of a file that one look reads.
pub const READ_BYTES: usize = 64 * 1024;
/// Bytes of a file that are caught up with: of a longer backlog the end.
pub const BACKLOG_BYTES: u64 = 1024 * 1024;
/// Least time between two looks at a file that grows, in milliseconds.
pub const FILE_PACE_MS: i64 = 1000;
/// Bytes of a pattern.
pub const PATTERN_BYTES: usize = 512;
/// Bytes that a compiled pattern may hold.
pub const PATTERN_HELD_BYTES: usize = 64 * 1024;
/// Processor time in which one look compares a file's lines with a pattern: all rules share one thread.
pub const MATCH_TIME: Duration = Duration::from_secs(1);

/// Looks at hosts and commands at a time: each is a thread.
pub const PROBES_AT_ONCE: usize = 4;
/// How long a host has to answer one question.
pub const HOST_TIMEOUT: Duration = Duration::from_secs(3);
/// Questions to a host before it counts as away.
pub const HOST_TRIES: usize = 3;
/// How long a watched command may run. A shorter limit of the configuration applies first.
pub const COMMAND_TIME: Duration = Duration::from_secs(60);
/// How long a command waits for the first look at what is new.
pub const FIRST_LOOK_TIME: Duration = Duration::from_secs(2);
/// Bytes of a command's output that a message shows.
pub const OUTPUT_BYTES: usize = 600;
/// Services that failed which a message names.
pub const UNITS_NAMED: usize = 5;
/// How long `systemctl` may take.
pub const SYSTEMCTL_TIME: Duration = Duration::from_secs(10);
/// Bytes of what it prints that are read.
pub const SYSTEMCTL_BYTES: usize = 16 * 1024;
/// Sessions and addresses that are remembered, so that none is told twice.
pub const KNOWN_MAX: usize = 32;
/// Files of a folder of sessions that are looked at.
pub const SESSIONS_MAX: usize = 64;
/// Bytes of a file of /proc, /sys or /run that is read.
pub const SYSTEM_BYTES: usize = 32 * 1024;
/// Processes that are looked at to find the busiest.
pub const PROCESSES_MAX: usize = 512;
/// How long processes are compared to find the busiest.
pub const BUSY_SPAN: Duration = Duration::from_millis(500);
/// Folders of control groups that are searched for a service.
pub const GROUPS_MAX: usize = 256;
/// Bytes of the buffer for the kernel's notifications.
pub const EVENT_BYTES: usize = 4096;
/// Stack of the thread that waits.
pub const STACK_BYTES: usize = 256 * 1024;

/// The temperature that counts as too hot where the board names none, in degrees Celsius.
pub const HOT: f64 = 80.0;
/// Between these a trip point of the board is believed, in degrees Celsius.
pub const TRIPS: std::ops::RangeInclusive<f64> = 60.0..=95.0;
/// Percent of the time in which all tasks wait for memory that count as pressure.
pub const PRESSURE: f64 = 20.0;
/// How long memory pressure, heat and an unset clock have to last before they are told, in seconds.
pub const PRESSURE_HOLD_SECONDS: u64 = 60;
/// See [`PRESSURE_HOLD_SECONDS`].
pub const HOT_HOLD_SECONDS: u64 = 60;
/// See [`PRESSURE_HOLD_SECONDS`].
pub const CLOCK_HOLD_SECONDS: u64 = 15 * 60;
