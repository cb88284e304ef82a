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
/// Bytes of HISTORY.md after which a new one is begun. It is held whole then, so it is not longer.
pub const HISTORY_BYTES_MAX: u64 = 256 * 1024;
/// Earlier texts of MEMORY.md that are kept.
pub const VERSIONS: usize = 20;
/// How long a conversation rests until it is consolidated.
pub const IDLE_TIME: Duration = Duration::from_secs(6 * 60 * 60);
/// Words that a query looks for, and pairs of characters of languages without spaces; one bit each.
pub const QUERY_WORDS: usize = 14;
/// Exact phrases that a query looks for.
pub const QUERY_PHRASES: usize = 4;
/// Passages that a search finds.
pub const HITS: usize = 10;
/// Bytes of a passage that a hit shows: a few lines.
pub const HIT_BYTES: usize = 400;
