//! Bounds of the shells of chats, and of what is shown of commands.

use std::time::Duration;

/// Lines that a program can still change by moving the cursor up; a progress display has a dozen.
pub const OPEN_LINES: usize = 64;
/// Characters of a line that can still be overwritten. What is before them stays as it is.
pub const OPEN_COLUMNS: usize = 4096;
/// Columns to which the cursor moves over what is empty; no terminal is wider.
pub const EMPTY_COLUMNS: usize = 512;
/// Bytes of an escape sequence; what is longer is none, and the text after it is shown again.
pub const SEQUENCE_BYTES: usize = 4096;
/// Numbers of an escape sequence that are read; the rest is passed over.
pub const SEQUENCE_NUMBERS: usize = 16;

/// Shells that are kept, of all chats: about 2 MB each. The one that was idle longest goes first.
pub const SHELLS: usize = 4;
/// A shell that gets no command for this time is ended.
pub const SHELL_IDLE: Duration = Duration::from_mins(30);
/// Bytes in a shell's /tmp and /dev/shm that are kept until its next command. They are memory, so a shell with more is
/// ended, unless it has programs in the background.
pub const HELD_BYTES: u64 = 48 * 1024 * 1024;
/// The same for the shells of all chats together, with whatever runs in them.
pub const HELD_BYTES_OF_ALL: u64 = 128 * 1024 * 1024;
/// How often that is looked at while programs run in the background.
pub const HELD_LOOK: Duration = Duration::from_secs(10);
/// Bytes of a line for a shell; messages of every channel are shorter.
pub const LINE_BYTES: usize = 64 * 1024;
/// Bytes of output that programs in the background write between two commands; older ones are dropped.
pub const UNREAD_BYTES: usize = 16 * 1024;
/// How often it is read, and how much at once: what writes more waits, so it costs next to nothing.
pub const UNREAD_PACE: Duration = Duration::from_secs(1);
/// See [`UNREAD_PACE`]: what a pipe holds.
pub const UNREAD_PACE_BYTES: usize = 64 * 1024;
/// Lines of it that are shown: the last ones.
pub const EARLIER_LINES: usize = 15;
/// Bytes of these lines.
pub const EARLIER_BYTES: usize = 1024;
/// How long a reply to a command that has ended is taken for a late input of it.
pub const ENDED_TIME: Duration = Duration::from_mins(1);
/// Ended commands that are known for this time, of all chats.
pub const ENDED_COMMANDS: usize = 16;
/// Bytes of a shell's report on a command, which is a number.
pub const REPORT_BYTES: usize = 4096;
/// Stack of the thread that waits with a shell between two commands.
pub const KEEPER_STACK_BYTES: usize = 128 * 1024;
/// How long a command that is stopped may take after the interrupt, after the request to end, and
/// after it was killed. Then the shell itself is ended.
pub const STOP_STEPS: [Duration; 3] = [
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(800),
];
/// How often is looked whether a command that is stopped has gone.
pub const STOP_LOOK: Duration = Duration::from_millis(40);
/// How long a shell may take to accept a command.
pub const SEND_TIME: Duration = Duration::from_secs(5);
/// Processes in the background that a list shows.
pub const LISTED_PROCESSES: usize = 10;
/// Characters of each.
pub const PROCESS_CHARS: usize = 80;
/// Characters of a command in the line of its prompt.
pub const PROMPT_CHARS: usize = 400;
/// Paths of a command that are looked for outside when it did not find them inside.
pub const PATHS_LOOKED_UP: usize = 8;

/// Chats whose folder and history are kept; a new one displaces the oldest.
pub const CHATS: usize = 32;
/// Commands in the history of a chat.
pub const HISTORY_LINES: usize = 100;
/// Bytes of a command in a history; a longer one is not kept.
pub const HISTORY_LINE_BYTES: usize = 1000;
/// Bytes of the file of histories: all of them full, with JSON's escapes.
pub const HISTORY_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Commands that `/history` shows unless it names a number.
pub const HISTORY_SHOWN: usize = 20;
