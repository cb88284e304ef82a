//! Bounds of MoChat.

use std::time::Duration;

/// Characters of one message. MoChat names no limit; a few screens are read at once.
pub const MESSAGE_CHARS: usize = 4000;
/// Sessions and panels that are followed, each.
pub const TARGETS: usize = 64;
/// Messages that are asked for at once.
pub const MESSAGES: usize = 100;
/// Bytes of an id.
pub const ID_BYTES: usize = 128;
/// Bytes of a person's text.
pub const CONTENT_BYTES: usize = 256 * 1024;
/// How often the lists of sessions and panels are looked at where all are followed.
pub const REFRESH: Duration = Duration::from_secs(30);
/// How often each panel is looked at: the server tells nothing new of panels by itself.
pub const PANEL_LOOK: Duration = Duration::from_secs(10);
/// The shortest time in milliseconds that one session is waited for, where several are followed.
pub const WATCH_MS_MIN: u64 = 1000;
/// The least time between two requests that bring nothing: a server that does not wait must not be flooded.
pub const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes of the file with what was read: an entry of each target.
pub const STATE_BYTES: usize = 64 * 1024;
/// Messages to all chats in [`TOTAL_SPAN`].
pub const TOTAL: usize = 10;
/// See [`TOTAL`].
pub const TOTAL_SPAN: Duration = Duration::from_secs(1);
