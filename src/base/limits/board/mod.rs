//! Bounds of the board's readings.

use std::time::Duration;

/// Time between two samples of the history.
pub const SAMPLE_INTERVAL: Duration = Duration::from_mins(5);
/// Samples that are kept: a week of them. Their file has 188 kB.
pub const SAMPLES: usize = 7 * 24 * 12;
/// Samples that are written together: an hour of them, because SD cards wear.
pub const WRITTEN_TOGETHER: usize = 12;
/// Samples that wait in memory while the clock cannot be trusted or the disk is full: four hours, 5 kB.
pub const UNWRITTEN_MAX: usize = 48;
/// Values beside the built-in quantities that have a history: watched ones.
pub const OTHERS: usize = 16;
/// Bytes of the name of such a value.
pub const NAME_BYTES: usize = 48;
/// Columns of a history's small line, so that it fits a telephone: one an hour of a day.
pub const COLUMNS: usize = 24;
/// Bytes of a file of /proc or /sys that are read; the longest that is wanted has 2 kB.
pub const FILE_BYTES: usize = 16 * 1024;
/// Names of one folder of /sys that are looked at; a host of containers has hundreds.
pub const NAMES: usize = 256;
/// Network interfaces that are shown, those with hardware first.
pub const INTERFACES: usize = 8;
