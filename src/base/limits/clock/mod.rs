//! Bounds of the clock, and of the trust in it.

use std::time::Duration;

/// How often a clock is read that a test turns.
pub const TURNED_LOOK: Duration = Duration::from_millis(20);
