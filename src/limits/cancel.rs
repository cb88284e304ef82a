//! Bounds of the cancellation token.

use std::time::Duration;

/// How often a wait that cannot be woken looks at the token. Half of the 200 ms within which a
/// blocked call has to break.
pub const POLL: Duration = Duration::from_millis(100);
