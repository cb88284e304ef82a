//! Bounds of pictures.

/// Pixels of a canvas, a byte each: a terminal of 200 columns and 60 lines has 864,000. A canvas that would
/// have more is cut at the bottom.
pub const PIXELS_MAX: usize = 900_000;
/// Pixels along one side of a canvas. Telegram takes photos whose sides add up to 10,000.
pub const SIDE_MAX: u32 = 4000;
/// Colours of a picture; PNG has an index of a byte. A further colour becomes the nearest one.
pub const COLOURS_MAX: usize = 256;
/// How often a pixel is repeated in each direction.
pub const TIMES_MAX: u32 = 8;
/// Bytes that are compressed together. Nothing is matched across them, and a hash table fits its positions
/// into 16 bits.
pub const BLOCK_BYTES: usize = 48 * 1024;
/// Entries of the table in which the compression looks for earlier bytes: 8 kB.
pub const HASH_ENTRIES: usize = 4096;
/// Curves in one plot, so that they can be told apart and their legend leaves room.
pub const CURVES_MAX: usize = 6;
/// Width and height of a plot: sharp on a phone, and a few kB.
pub const PLOT_SIZE: (u32, u32) = (720, 400);
/// Ticks along an axis of values.
pub const TICKS: u32 = 5;
/// Characters of a curve's name in the legend.
pub const NAME_CHARS: usize = 24;
/// Ticks along the axis of time that are aimed at; a label has up to ten characters.
pub const TIME_TICKS: i64 = 7;
/// The most that there are.
pub const TIME_TICKS_MAX: usize = 16;
/// Rows of a table that are drawn, which is more than a plot has pixels.
pub const CSV_ROWS_MAX: usize = 5000;
/// Bytes of a file with a table.
pub const CSV_BYTES: usize = 512 * 1024;
/// Pictures that wait for their delivery. Older ones are deleted, and their message says so.
pub const WAITING_MAX: usize = 16;
/// How long a picture waits that no message has taken along.
pub const WAITING_TIME: std::time::Duration = std::time::Duration::from_secs(7 * 24 * 3600);
