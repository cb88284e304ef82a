//! Bounds of the gateway.

pub mod board;
pub mod term;

use std::ops::Range;
use std::time::Duration;

/// Messages that wait in one session; a person who has sent more has lost track of them.
pub const WAITING_MAX: usize = 20;
/// The numbers that questions get: short enough to be typed.
pub const QUESTION_NUMBERS: Range<u64> = 100_000..1_000_000;
/// Commands such as `/sh` that run at a time, over all chats: each has a thread.
pub const COMMANDS_MAX: usize = 16;
/// Those of one chat: long ones, beside which others were started. Less, so that others have some.
pub const COMMANDS_IN_CHAT_MAX: usize = 4;
/// Commands that wait in one chat for those before them.
pub const COMMANDS_WAITING_MAX: usize = 50;
/// Bytes of a running command's output that are shown while it comes.
pub const SHOWN_OUTPUT_BYTES: usize = 3 * 1024;
/// Wait before a failed write of a turn's step is tried again. Half of [`STOP_GRACE`], so that the end
/// of the gateway does not wait for it.
pub const WRITE_RETRY: Duration = Duration::from_secs(5);
/// Minutes until a reminder comes again that was snoozed.
pub const SNOOZE_MINUTES: i64 = 10;
/// Parts that a `/get` sends; their numbers have three digits, and the last ones would take an hour.
pub const GET_PARTS_MAX: usize = 99;
/// Bytes that are copied or hashed at a time.
pub const COPY_BYTES: usize = 64 * 1024;
