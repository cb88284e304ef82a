//! Bounds of a turn.

use std::time::Duration;

/// Stack of such a thread; a file tool needs about 20 kB.
pub const CALL_STACK_BYTES: usize = 256 * 1024;
/// Stack of the thread that drives a turn. TLS with ring needs 64 kB, a regular expression more.
pub const TURN_STACK_BYTES: usize = 512 * 1024;
/// Bytes of one message of a person.
pub const MESSAGE_BYTES: usize = 128 * 1024;
/// How long a question to a person waits; then it counts as denied.
pub const ANSWER_TIME: Duration = Duration::from_mins(10);
/// Tokens that the history always gets, however small the window is said to be.
pub const HISTORY_FLOOR_TOKENS: usize = 1_300;
/// Tokens of a window below which a request has the small prompt and the few tools.
pub const SMALL_WINDOW_TOKENS: u32 = 8_000;

/// Bounds of subagents.
pub mod subagent {
    /// Bytes of a report; a longer one keeps its ends.
    pub const REPORT_BYTES: usize = 24 * 1024;
    /// Journals that are kept to look at, the newest ones.
    pub const JOURNALS_KEPT: usize = 20;
}
