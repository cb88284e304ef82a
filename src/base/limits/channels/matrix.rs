//! Bounds of the Matrix channel.

use std::time::Duration;

/// Bytes of a reply to a sync. A room's share is bounded by the filter; what does not fit is asked for again with one
/// event a room.
pub const SYNC_BYTES: usize = 2 * 1024 * 1024;
/// Events of a room in one sync. Older ones are fetched in pages.
pub const TIMELINE_EVENTS: usize = 10;
/// Bytes of a page of older events, of one event, and of other small replies.
pub const REPLY_BYTES: usize = 1024 * 1024;
/// Bytes of the list of a room's members. A room whose list is longer is a group for certain: an entry has less than
/// 2 kB.
pub const MEMBERS_BYTES: usize = 16 * 1024;
/// Bytes of the list of private chats that is kept with the account, `m.direct`.
pub const DIRECT_BYTES: usize = 256 * 1024;
/// Events in one page of older ones.
pub const MISSED_EVENTS: usize = 20;
/// Pages of older events that are fetched for one room at a time.
pub const MISSED_PAGES: usize = 6;
/// Bytes of older events of one room that are kept until they are read in their order.
pub const MISSED_BYTES: usize = 1024 * 1024;
/// How long a sync waits for something to happen. Proxies before a homeserver often allow 60 s.
pub const SYNC_WAIT: Duration = Duration::from_secs(30);
/// How long a call may take that is only for show, such as a read receipt: meanwhile nothing is received.
pub const SHOW_PATIENCE: Duration = Duration::from_secs(5);
/// Invitations that wait to be answered; of more the oldest are forgotten.
pub const INVITATIONS: usize = 16;
/// Rooms that strangers may bring the bot into within [`STRANGERS_SPAN`].
pub const STRANGERS_ROOMS: usize = 10;
/// See [`STRANGERS_ROOMS`].
pub const STRANGERS_SPAN: Duration = Duration::from_hours(1);
/// Tries to join a room.
pub const JOIN_TRIES: u32 = 3;
/// Rooms of which the number of members is remembered. Of others it is asked for again.
pub const ROOMS: usize = 256;
/// Encrypted rooms that are remembered, so that each is told only once what to do.
pub const TOLD_ROOMS: usize = 256;
/// Bytes of the file with the place in the stream of events and the rooms that were told something.
pub const STATE_BYTES: usize = 128 * 1024;
/// Bytes of an id: of a room, a person or an event (the specification's bound).
pub const ID_BYTES: usize = 255;
/// Bytes of a token for a place in the stream of events. Synapse's have less than 200.
pub const TOKEN_BYTES: usize = 4096;
/// The longest time until the place in the stream is saved although nothing in it was for us: the most that is read
/// again after a crash.
pub const SAVE_INTERVAL: Duration = Duration::from_mins(30);
/// Bytes of one message's visible text. An event has at most 65,536 bytes, and an edit contains its text twice as it
/// is and once as HTML.
pub const PIECE_BYTES: usize = 14_000;
/// Bytes of one message's HTML as it stands in JSON.
pub const PIECE_HTML_BYTES: usize = 24_000;
/// Bytes of one message's visible text as it stands in JSON, where quotes and newlines take two.
pub const PIECE_JSON_BYTES: usize = 16_000;
/// Bytes of a link's tag with its address; a longer one is shown as text.
pub const LINK_BYTES: usize = 2048;
/// Bytes of an event's content. Some of the 65,536 are for what the server adds.
pub const CONTENT_BYTES: usize = 62_000;
/// Bytes of a file that goes to Matrix: Synapse's usual bound.
pub const UPLOAD_BYTES: u64 = 50 * 1024 * 1024;
/// How long "typing" is shown.
pub const TYPING_TIME: Duration = Duration::from_secs(12);
/// Time between two showings of "typing".
pub const TYPING_INTERVAL: Duration = Duration::from_secs(10);
/// Rooms in which "typing" is shown at a time, as far as it is taken away again.
pub const TYPING_ROOMS: usize = 16;
/// Messages to all rooms within a second. A homeserver's own limit counts more.
pub const TOTAL: usize = 10;
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
pub const SHORT_WAIT: Duration = Duration::from_secs(1);
