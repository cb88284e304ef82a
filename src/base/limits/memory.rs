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
/// Bytes of a HISTORY.md that is set aside whole; a person may have made it longer than it gets here.
pub const HISTORY_ASIDE_BYTES_MAX: u64 = 4 * HISTORY_BYTES_MAX;
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
/// Bytes of a query; words beyond are not looked for.
pub const QUERY_BYTES_MAX: usize = 1000;
/// Words that a query looks for, and pairs of characters of languages without spaces; one bit each.
pub const QUERY_WORDS: usize = 14;
/// Exact phrases that a query looks for.
pub const QUERY_PHRASES: usize = 4;
/// Days that a query can look back.
pub const QUERY_DAYS_MAX: usize = 36_500;
/// Passages that a search finds.
pub const HITS: usize = 10;
/// Bytes of a passage that a hit shows: a few lines.
pub const HIT_BYTES: usize = 400;
/// Bytes of it that come before the word that was found.
pub const HIT_LEAD_BYTES: usize = 80;
/// Bytes that a search reads at a time.
pub const SEARCH_BLOCK_BYTES: usize = 64 * 1024;
/// Lines of a search after which it is looked whether it was cancelled.
pub const SEARCH_LINES: u64 = 1024;
/// Messages of a search that are all counted to see how rare a word is.
pub const SEARCH_COUNTED: u64 = 8 * 1024;
/// Beyond them, only one of so many is counted: rareness is a weight, and not worth another pass.
pub const SEARCH_SAMPLE: u64 = 8;
/// Bytes at the beginning of a message's line in which its text begins.
pub const CONTENT_WITHIN_BYTES: usize = 64;
/// Bytes of a passage of a file of notes; a longer paragraph is several.
pub const PASSAGE_BYTES: usize = 4 * 1024;
/// Bytes of one file of notes that are searched.
pub const SEARCH_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes at the end of a message's line in which its time is looked for before the line is parsed.
pub const TIME_BYTES: usize = 400;
/// Characters of MEMORY.md that `/memory` shows: about a message of Telegram's.
pub const SHOWN_CHARS: usize = 3000;
/// Conversations of which `/status` knows how their last consolidation went.
pub const NOTED_MAX: usize = 32;
/// Files whose changes are noticed and can be taken back: those that stand in prompts, the skills and the tools.
pub const CHANGED_FILES: usize = 256;
/// Bytes of such a file beyond which only the change is noticed, and its text not kept.
pub const CHANGED_TEXT_BYTES: u64 = 32 * 1024;
/// Notes of days among them that went into the system prompt, and may again when the clock is set back.
pub const CHANGED_NOTES: usize = NOTE_DAYS as usize;
/// Changes of such files that are kept.
pub const CHANGES: usize = 40;
/// Bytes of the earlier texts that are kept with them.
pub const CHANGES_BYTES: usize = 512 * 1024;
/// Bytes of the file with the changes that are read: with all texts, in which JSON can make six bytes of one.
pub const CHANGES_FILE_BYTES: usize = 16 * 1024 * 1024;
/// Lines of a difference that are shown.
pub const DIFF_LINES: usize = 120;
/// Pairs of lines that are compared with each other; beyond them all old lines count as gone.
pub const DIFF_PAIRS: usize = 250_000;
