//! Bounds of the board's readings.

use std::time::Duration;

/// Time between two samples of the history. A hot afternoon or a full disk shows well enough.
pub const SAMPLE_INTERVAL: Duration = Duration::from_mins(15);
/// Samples that are kept: a day of them, in 4 kB.
pub const SAMPLES: usize = 96;
/// Columns of a history's small line, so that it fits a telephone: one an hour of a day.
pub const COLUMNS: usize = 24;
/// Bytes of a file of /proc or /sys that are read; the longest that is wanted has 2 kB.
pub const FILE_BYTES: usize = 16 * 1024;
/// Names of one folder of /sys that are looked at; a host of containers has hundreds.
pub const NAMES: usize = 256;
/// Network interfaces that are shown, those with hardware first.
pub const INTERFACES: usize = 8;
/// Processors that a list may name; Linux is built for 8192 at most.
pub const PROCESSORS: usize = 8192;
/// The coldest and the hottest that a working sensor says, in thousandths of a degree Celsius;
/// broken ones say -274000 or the largest number that there is.
pub const MILLIDEGREES: std::ops::RangeInclusive<i32> = -60_000..=200_000;
