//! Bounds of the local channel.

use std::time::Duration;

/// Programs that are connected at a time.
pub const PROGRAMS: usize = 16;
/// Chats that a program is subscribed to; one that has more subscribes to all.
pub const CHATS: usize = 64;
/// How long a program may take to read a line before it is disconnected: what is sent to others waits meanwhile.
pub const WRITE_TIME: Duration = Duration::from_secs(5);
/// Copies of files for programs that are kept, whatever they do with them.
pub const FILES: usize = 32;
