//! Bounds of commands within kernel isolation.

pub mod shell;

use std::time::Duration;

/// Bytes of a confined child's policy; a command line of Linux is at most 128 KiB.
pub const POLICY_BYTES: usize = 512 * 1024;
/// Entries of each of the policy's lists; the longest honest one has a dozen.
pub const POLICY_ITEMS: usize = 1024;
/// Wait between two such rounds, for the killed ones to be gone.
pub const SWEEP_PAUSE: Duration = Duration::from_millis(5);
/// Neighbours of a protected path that get their rights one by one.
pub const NEIGHBOURS: usize = 4096;
/// Bytes of output that are kept for the conversation; the rest goes to a file.
pub const OUTPUT_BYTES: usize = 64 * 1024;
/// Bytes of output after which a command is stopped: nobody will read it, and the card fills.
/// In the tests for emulated boards (`cross/build --tests`) it is less: they would take minutes for so much.
pub const FLOOD_BYTES: u64 = match cfg!(emulated) {
    true => 4 * 1024 * 1024,
    false => 64 * 1024 * 1024,
};
/// How often whoever watches an output is told that nothing new has come.
pub const OUTPUT_LOOK: Duration = Duration::from_secs(1);
/// Bytes read from a pipe at once: a screen of output. Each command at work holds them.
pub const PIPE_BYTES: usize = 8 * 1024;
/// Bytes read at once of what a supervisor says, which is a few lines.
pub const STATUS_BYTES: usize = 512;
/// How long a supervisor may take to kill everything before it is killed itself.
pub const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long a command may take until it is confined, on a board that is very busy with something else. Only for waits that a
/// stop ends; others have [`TRY_TIME`].
pub const START_TIME: Duration = Duration::from_mins(1);
/// How long finding out what the kernel supports may take. On the slowest board it needs 50 ms.
pub const TRY_TIME: Duration = Duration::from_secs(10);
/// How long a command outside the sandbox waits for what changes files and cannot be frozen.
pub const SETTLE_TIME: Duration = Duration::from_secs(3);
