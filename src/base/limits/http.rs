//! Bounds of HTTP.

use std::time::Duration;

/// Time in which a peer has to take some bytes of our request; then the line is dead.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes a second below which a transfer is given up as a whole: half of what a phone gets without
/// 3G. 12 MB may take 26 minutes, 50 MB less than two hours.
pub const TRANSFER_RATE: u64 = 8 * 1024;
/// Bytes of a download that are read and written at once.
pub const COPY_BYTES: usize = 8 * 1024;
/// Bytes of a response's head with its interim ones, and of a trailer; curl takes as much in a line. What is not
/// used of it is not kept.
pub const HEAD_BYTES: usize = 100 * 1024;
/// Bytes of each connection's input and output buffer, and so of what is kept of a response's head. ureq's
/// default of 128 KiB twice is the largest single cost of a held connection on a board.
pub const BUFFER_BYTES: usize = 8 * 1024;
/// Bytes of a response that is read whole.
pub const BODY_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of a response that is read in pieces and not kept: an event for each of 128,000
/// tokens, at 400 bytes an event.
pub const STREAM_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of one server-sent event, and of one of its lines. It holds one delta of a model's reply;
/// the largest honest one is a whole file in a tool call that is sent in one piece.
pub const EVENT_BYTES: usize = 1024 * 1024;
/// Bytes kept of an error's body: enough for every API's JSON error and the top of a proxy's page.
pub const ERROR_BODY_BYTES: usize = 4 * 1024;
/// Time for that tail, and for any silence in it. A new TLS connection costs about as much.
pub const TAIL_TIMEOUT: Duration = Duration::from_millis(200);
/// How long an idle connection is kept open: while tools run, and for the person's next message.
/// Servers close theirs after 60 s or more; what they close earlier is noticed.
pub const IDLE_AGE: Duration = Duration::from_secs(50);
/// Bytes of one message of a websocket. The largest honest ones describe a whole Discord server, with
/// its roles, channels and emoji, in one or two megabytes.
pub const WEBSOCKET_MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Redirects that are followed one after the other, where they are at all; a download of GitHub has two.
pub const REDIRECTS_MAX: usize = 5;
