//! Bounds of the board's readings.

use std::time::Duration;

/// Time between two samples of the history.
pub const SAMPLE_INTERVAL: Duration = Duration::from_mins(5);
/// Samples that are kept: a week of them. Their file has 188 kB.
pub const SAMPLES: usize = 7 * 24 * 12;
/// Samples that the small lines of the status show: a day.
pub const SHOWN_SAMPLES: usize = 24 * 12;
/// Samples that are written together: an hour of them, because SD cards wear.
pub const WRITTEN_TOGETHER: usize = 12;
/// Samples that wait in memory while the clock cannot be trusted or the disk is full: four hours, 5 kB.
pub const UNWRITTEN_MAX: usize = 48;
/// Values beside the built-in quantities that have a history: watched ones.
pub const OTHERS: usize = 16;
/// Bytes of the name of such a value.
pub const NAME_BYTES: usize = 48;
/// Missing samples that a curve goes on across: one can fall between two others when the clock is corrected.
pub const BRIDGED: usize = 1;
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
/// Processes that are looked at for a list.
pub const PROCESSES_MAX: usize = 4096;
/// Processes that are shown.
pub const TOP_SHOWN: usize = 10;
/// How long processes are watched for a list of those that use most.
pub const TOP_SPAN: Duration = Duration::from_secs(1);
/// Characters of a process's name; the kernel keeps 15, and more of its own threads.
pub const PROCESS_NAME_CHARS: usize = 32;
/// Addresses of one kind that are shown.
pub const ADDRESSES_MAX: usize = 6;
/// Bytes of a name of a unit (systemd.unit(5)).
pub const UNIT_BYTES: usize = 255;
/// Bytes of the id of a start of the machine: a UUID and a newline.
pub const BOOT_ID_BYTES: usize = 64;
