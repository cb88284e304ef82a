//! Bounds of IRC. <https://modern.ircdocs.horse/>

use std::time::Duration;

/// Bytes of a line that servers pass on, with CR and LF and with the sender before it (RFC 1459, 2.3).
pub const WIRE_BYTES: usize = 512;
/// Bytes of the text of one line of ours; with the longest usual prefix and target it is within [`WIRE_BYTES`].
pub const TEXT_BYTES: usize = 400;
/// Time in which a server has to let us in; some look up the host and the user name for half a minute.
pub const REGISTER_TIME: Duration = Duration::from_secs(90);
/// Silence after which the server is asked whether it is still there.
pub const PING_INTERVAL: Duration = Duration::from_secs(90);
/// Time for the server to answer who has a nick, or to confirm lines. Without it the connection counts as dead.
pub const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Bytes of a person's id or of a channel's name that are accepted.
pub const ID_BYTES: usize = 256;
/// Channels to join.
pub const CHANNELS: usize = 32;
/// The first wait before a channel is joined again; each further one is twice as long.
pub const REJOIN_WAIT: Duration = Duration::from_secs(5);
