//! Bounds of the commands about the board.

use std::time::Duration;

/// How long a command that only looks may take.
pub const LOOK_TIME: Duration = Duration::from_secs(20);
/// How long a change of a service may take; systemd gives a service 90 s to start.
pub const CHANGE_TIME: Duration = Duration::from_secs(120);
/// Commands of the configuration.
pub const OWN_COMMANDS_MAX: usize = 30;
