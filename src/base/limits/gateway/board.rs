//! Bounds of the commands about the board.

use std::time::Duration;

/// Lines of a log when no number is named: what a phone shows without scrolling for long.
pub const LOG_LINES: usize = 30;
/// The most lines of a log; a long output comes as a file.
pub const LOG_LINES_MAX: usize = 2000;
/// How long a log is followed.
pub const FOLLOW_TIME: Duration = Duration::from_secs(10 * 60);
/// How long a command that only looks may take.
pub const LOOK_TIME: Duration = Duration::from_secs(20);
/// How long a change of a service may take; systemd gives a service 90 s to start.
pub const CHANGE_TIME: Duration = Duration::from_secs(120);
/// How long a button can confirm something that changes the board, in seconds: pressed by mistake the day after
/// it does nothing.
pub const CONFIRM_SECONDS: i64 = 600;
/// How long the answer to a restart of the machine may take to be sent before the machine goes down.
pub const FAREWELL_TIME: Duration = Duration::from_secs(5);
/// Units that get buttons below a list of services.
pub const UNIT_BUTTONS: usize = 4;
/// Units that a list of services names.
pub const UNITS_SHOWN: usize = 20;
/// Buttons in a row.
pub const BUTTONS_IN_ROW: usize = 3;
/// How often a packet is sent that wakes a machine: nothing confirms it.
pub const WAKE_TIMES: usize = 3;
/// Commands of the configuration.
pub const OWN_COMMANDS_MAX: usize = 30;
