//! Bounds of terminals: their emulation, and those that are open in chats.

use std::time::Duration;

/// Columns and rows of a terminal that is asked for without a size: what programs expect.
pub const SIZE: (u16, u16) = (80, 24);
/// The same for the screen of a phone, where a line of code has about forty characters.
pub const PHONE_SIZE: (u16, u16) = (40, 20);
/// Columns: below this no program is usable, above it no chat shows a whole line.
pub const COLUMNS: std::ops::RangeInclusive<u16> = 20..=132;
/// Rows, for the same reasons.
pub const ROWS: std::ops::RangeInclusive<u16> = 5..=60;
/// Cells of a screen. Each takes 32 bytes, twice where a program uses the alternate screen, so that a terminal
/// stays below 250 kB; and a message of Telegram's has 4096 characters.
pub const CELLS_MAX: u32 = 3_200;
/// Bytes of the answers to a program's questions that wait to be typed in. An answer has about ten.
pub const REPLIES_BYTES: usize = 1024;
/// Characters of a window's title that are kept.
pub const TITLE_CHARS: usize = 80;
/// Bytes that the emulator takes at once: a few of them can stand for a long work (repeated characters), between
/// which a terminal has to be able to close.
pub const FEED_BYTES: usize = 256;

/// Open terminals of all chats together; each has a thread and a screen.
pub const OPEN_MAX: usize = 4;
/// Stack of the thread that follows a terminal; formatting a screen needs most of it.
pub const STACK_BYTES: usize = 256 * 1024;
/// Bytes that wait to be typed into a program that does not read: a long pasted text.
pub const INPUT_BYTES: usize = 64 * 1024;
/// Bytes of output that are taken at once.
pub const READ_BYTES: usize = 4 * 1024;
/// Bytes of output within [`FRAME_TIME`] after which the program has to wait: nobody sees more of it, and the emulator would
/// take the whole processor.
pub const FRAME_BYTES: usize = 256 * 1024;
/// How long output is collected before the screen is shown: longer than most programs need to redraw it.
pub const FRAME_TIME: Duration = Duration::from_millis(100);
/// How long it has to be quiet for the screen to be shown sooner: a key's echo comes at once.
pub const QUIET_TIME: Duration = Duration::from_millis(25);
/// When it is looked, after the last output, whether the program has turned the echo off: it does so a moment after or before it
/// asks, and the kernel does not say when.
pub const ECHO_LOOKS: [Duration; 3] = [
    Duration::from_millis(150),
    Duration::from_millis(600),
    Duration::from_secs(3),
];
/// How long after a program has stopped waiting for a secret a message still counts as that: its writer has not seen it yet.
pub const LATE_SECRET: Duration = Duration::from_mins(1);
/// Chats of which that is remembered.
pub const LATE_SECRETS_MAX: usize = 16;
/// Bytes of the file that keeps them over a restart; each has about 100.
pub const LATE_SECRETS_BYTES: usize = 8 * 1024;
/// A terminal into which nobody types is closed after this.
pub const IDLE: Duration = Duration::from_hours(2);
/// How long the end of the gateway waits for terminals to close: the supervisors kill what runs in them within it.
pub const CLOSE_TIME: Duration = Duration::from_secs(3);
/// Bytes of a `/key` command; more is better sent as a message.
pub const KEYS_BYTES: usize = 400;
/// Times that a key is pressed by one `/key`.
pub const KEYS_MAX: usize = 100;
/// Typed messages after which the screen is shown again below them.
pub const TYPED_ABOVE_MAX: u32 = 4;
/// Pixels of a picture for one of its dots, in both directions: 80 columns are as wide as a phone shows sharply.
pub const PICTURE_TIMES: u32 = 2;
