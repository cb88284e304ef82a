//! Bounds of the shells of chats, and of what is shown of commands.

use std::time::Duration;

/// The same for the shells of all chats together, with whatever runs in them.
pub const HELD_BYTES_OF_ALL: u64 = 128 * 1024 * 1024;
/// How long a command that is stopped may take after the interrupt, after the request to end, and
/// after it was killed. Then the shell itself is ended.
pub const STOP_STEPS: [Duration; 3] = [
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(800),
];
/// How often is looked whether a command that is stopped has gone.
pub const STOP_LOOK: Duration = Duration::from_millis(40);
/// Characters of a command in the line of its prompt.
pub const PROMPT_CHARS: usize = 400;
