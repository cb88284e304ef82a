//! Bounds of the local channel.

use std::time::Duration;

/// Bytes of a line from a program: a message as long as one that is pasted into a chat.
pub const LINE_BYTES: usize = 64 * 1024;
/// Bytes that are read from a program at a time.
pub const READ_BYTES: usize = 4 * 1024;
/// Characters of one message to a program, so that a line stays within what small programs read.
pub const MESSAGE_CHARS: usize = 8 * 1024;
/// Programs that are connected at a time.
pub const PROGRAMS: usize = 16;
/// Chats that a program is subscribed to; one that has more subscribes to all.
pub const CHATS: usize = 64;
/// Bytes of the id of a chat, a person or a message.
pub const ID_BYTES: usize = 128;
/// Characters of a link's address in a message.
pub const LINK_CHARS: usize = 2000;
/// How long a program may take to read a line before it is disconnected: what is sent to others waits meanwhile.
pub const WRITE_TIME: Duration = Duration::from_secs(5);
/// Longest wait for a line. Nothing is due meanwhile: it only shows that the thread is alive.
pub const WAIT: Duration = Duration::from_mins(10);
/// Copies of files for programs that are kept, whatever they do with them.
pub const FILES: usize = 32;
/// Bytes of a file that goes to a program or comes from one.
pub const FILE_BYTES: usize = 50 * 1024 * 1024;
/// Bytes of a button's data.
pub const BUTTON_DATA_BYTES: usize = 256;
/// Messages to all chats within a second: the disk of a small board keeps up with them.
pub const TOTAL: usize = 50;
