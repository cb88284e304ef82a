//! Bounds of commands within kernel isolation.

pub mod shell;

use std::time::Duration;

/// Bytes of a confined child's policy; a command line of Linux is at most 128 KiB.
pub const POLICY_BYTES: usize = 512 * 1024;
/// Entries of each of the policy's lists; the longest honest one has a dozen.
pub const POLICY_ITEMS: usize = 1024;
/// The exit status of a child that could not confine itself. The daemon reads the reason from
/// a pipe of its own; this only has to differ from what shells use.
pub const CONFINE_FAILED: i32 = 120;
/// Names of programs in a command's output that are looked for when it fails.
pub const PROGRAM_NAMES: usize = 4;
/// Paths in a command's own line that are looked for then.
pub const PATHS: usize = 8;
/// Bytes of a script that may say what runs it; Linux reads as many.
pub const SHEBANG_BYTES: u64 = 256;
/// Parts of a path up to which it is not named for one of its folders: `/home/pi`.
pub const FOLDERS_NAMED: usize = 3;
/// What is added to a command's chance to be killed when memory runs out (0 to 1000).
pub const OOM_SCORE: &str = "700";
/// The same for the supervisor of a command that shares the machine's processes.
pub const OOM_SCORE_OF_SUPERVISOR: &str = "400";
/// How much a command stands back when the processor is busy (0 to 19).
pub const NICENESS: i32 = 5;
/// Connections of a command that are being made at a time, each by a process of its own; further ones
/// are told to try again (EAGAIN).
pub const CONNECTING: usize = 32;
/// How often the number of tasks is looked at while a command of root's runs. A fork bomb makes
/// some four hundred in this time.
pub const TASKS_LOOK: Duration = Duration::from_millis(20);
/// The same while it does not grow: each look without growth doubles the pause up to this, so that a shell that waits
/// wakes the processor hardly more than once a second.
pub const TASKS_LOOK_MAX: Duration = Duration::from_millis(640);
/// New tasks of the machine between two looks that do not count as growth: others start programs, too.
pub const TASKS_GROWTH: u64 = 16;
/// Rounds of killing every descendant. One is enough unless something forks all the time.
pub const SWEEPS: usize = 100;
/// Wait between two such rounds, for the killed ones to be gone.
pub const SWEEP_PAUSE: Duration = Duration::from_millis(5);
/// How often is looked where protected paths are, while they change places with others.
pub const LOOKS: usize = 8;
/// Neighbours of a protected path that get their rights one by one.
pub const NEIGHBOURS: usize = 4096;
/// Bytes of a command's root folder, which holds names only.
pub const ROOT_BYTES: u64 = 1024 * 1024;
/// Bytes of a command's /dev/shm.
pub const SHARED_BYTES: u64 = 16 * 1024 * 1024;
/// Seconds of processor time of each process; a command in the foreground has less time anyway.
pub const CPU_SECONDS: u64 = 3600;
/// Bytes of writable memory of each process: as much as a large board has.
pub const MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// Bytes of one file that a command writes: an image of a system fits, a full card is far.
pub const FILE_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Most bytes of a command's /tmp, which is memory as far as it is used.
pub const TMP_BYTES: u64 = 256 * 1024 * 1024;
/// The share of the machine's memory that it may be where that is less: one part of so many. The same for /dev/shm.
pub const TMP_PARTS: u64 = 8;
/// Processes and threads of a command; a parallel build has fifty.
pub const PROCESSES: u64 = 512;
/// Open files of each process.
pub const FILES: u64 = 1024;
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
/// How long what was killed may take to be gone, on a board that is very busy. With [`KILL_GRACE`] before it this is less
/// than a gateway has to stop.
pub const KILL_TIME: Duration = Duration::from_secs(5);
/// How long a command may take until it is confined, on a board that is very busy with something else. Only for waits that a
/// stop ends; others have [`TRY_TIME`].
pub const START_TIME: Duration = Duration::from_mins(1);
/// How long finding out what the kernel supports may take. On the slowest board it needs 50 ms.
pub const TRY_TIME: Duration = Duration::from_secs(10);
/// How long something that would change files waits for a command outside the sandbox to end.
pub const CHANGE_WAIT: Duration = Duration::from_secs(5);
/// How long a command outside the sandbox waits for what changes files and cannot be frozen.
pub const SETTLE_TIME: Duration = Duration::from_secs(3);
/// Looks, 2 ms apart, after which freezing has failed: a process may hang in the kernel.
pub const FREEZE_LOOKS: u32 = 1500;
/// How long the escape test waits for a process that outlives its command; it shows after 0.2 s.
pub const OUTLIVE_TIME: Duration = Duration::from_millis(500);
/// Commands in the background at a time, of all chats together.
pub const SESSIONS: usize = 8;
/// Commands in the background of one chat, so that one does not take all from the others.
pub const SESSIONS_PER_CHAT: usize = 4;
/// Bytes of unread output that a command in the background may have; older ones are dropped.
pub const SESSION_BYTES: usize = 128 * 1024;
/// A command in the background that nobody asks for is killed after this.
pub const SESSION_IDLE: Duration = Duration::from_mins(30);
/// How long reading a command in the background waits for output or for its end.
pub const READ_TIME: Duration = Duration::from_secs(2);
/// How often that is looked for.
pub const READ_POLL: Duration = Duration::from_millis(20);
/// How long a command in the background may take to read its input.
pub const INPUT_TIME: Duration = Duration::from_secs(5);
/// Bytes that are kept of what a program that is served writes to its standard error: a traceback.
pub const ERRORS_BYTES: usize = 4 * 1024;
/// Stack of the thread that follows a command in the background; it needs 10 kB.
pub const SESSION_STACK_BYTES: usize = 128 * 1024;
/// Folders for temporary files that killed supervisors left, of which one start of the gateway removes so many.
pub const LEFTOVERS_MAX: usize = 64;
/// Seconds since the last change of such a folder. A younger one may be just being made.
pub const LEFTOVER_SECONDS_MIN: i64 = 60;
