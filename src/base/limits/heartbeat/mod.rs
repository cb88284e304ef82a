//! Bounds of the heartbeat.

use std::time::Duration;

/// Bytes of HEARTBEAT.md that are read. It is sent with each beat.
pub const LIST_BYTES: usize = 16 * 1024;
/// The pause before a beat is tried again when something else was running.
pub const BUSY_WAIT: Duration = Duration::from_secs(60);
