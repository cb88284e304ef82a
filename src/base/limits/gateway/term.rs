//! Bounds of terminals: their emulation, and those that are open in chats.

/// Columns and rows of a terminal that is asked for without a size: what programs expect.
pub const SIZE: (u16, u16) = (80, 24);
/// Columns: below this no program is usable, above it no chat shows a whole line.
pub const COLUMNS: std::ops::RangeInclusive<u16> = 20..=132;
/// Rows, for the same reasons.
pub const ROWS: std::ops::RangeInclusive<u16> = 5..=60;
/// Cells of a screen. Each takes 32 bytes, twice where a program uses the alternate screen, so that a terminal
/// stays below 250 kB; and a message of Telegram's has 4096 characters.
pub const CELLS_MAX: u32 = 3_200;
/// Characters of a window's title that are kept.
pub const TITLE_CHARS: usize = 80;

/// Bytes that wait to be typed into a program that does not read: a long pasted text.
pub const INPUT_BYTES: usize = 64 * 1024;
/// Times that a key is pressed by one `/key`.
pub const KEYS_MAX: usize = 100;
/// Bytes that the emulator takes at once: a few of them can stand for a long work (repeated characters), between
/// which a terminal has to be able to close.
pub const FEED_BYTES: usize = 256;
