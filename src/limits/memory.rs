//! Bounds of the memory.

use std::time::Duration;

/// Bytes of MEMORY.md that go into the system prompt: about 2,000 tokens in every request.
pub const FACTS_BYTES: usize = 8 * 1024;
/// Bytes of a MEMORY.md that the model writes. What is longer costs more in each request than it helps.
pub const UPDATE_BYTES_MAX: usize = 32 * 1024;
/// Bytes of a MEMORY.md that is read whole, so that a person may write a longer one.
pub const FACTS_FILE_BYTES_MAX: usize = 256 * 1024;
/// Bytes of one day's notes that go into the system prompt, from their end.
pub const NOTE_BYTES: usize = 3 * 1024;
/// Days whose notes go into the system prompt, today included.
pub const NOTE_DAYS: u64 = 3;
/// Bytes of one remark that is appended to the notes.
pub const REMARK_BYTES_MAX: usize = 4 * 1024;
/// Bytes of one day's notes beyond which nothing is appended: a hundred pages.
pub const NOTE_FILE_BYTES_MAX: u64 = 256 * 1024;
/// Bytes of one paragraph of HISTORY.md; what is over is cut off.
pub const PARAGRAPH_BYTES_MAX: usize = 4 * 1024;
/// Bytes of HISTORY.md after which a new one is begun. It is held whole then, so it is not longer.
pub const HISTORY_BYTES_MAX: u64 = 256 * 1024;
/// Bytes at the end of HISTORY.md in which a paragraph is looked for before it is written.
pub const HISTORY_TAIL_BYTES: u64 = 4 * PARAGRAPH_BYTES_MAX as u64;
/// Histories that may be begun on one day before the next one fails.
pub const HISTORIES_PER_DAY: u32 = 100;
/// Earlier texts of MEMORY.md that are kept.
pub const VERSIONS: usize = 20;
/// Bytes of all of them; the newest one is kept whatever its size.
pub const VERSIONS_BYTES: u64 = 1024 * 1024;
/// How long a conversation rests until it is consolidated.
pub const IDLE_TIME: Duration = Duration::from_secs(6 * 60 * 60);
/// Turns that a resting conversation must have for that.
pub const IDLE_TURNS: usize = 5;
