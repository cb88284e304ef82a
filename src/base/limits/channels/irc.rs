//! Bounds of IRC. <https://modern.ircdocs.horse/>

use std::time::Duration;

/// Bytes of a line that servers pass on, with CR and LF and with the sender before it (RFC 1459, 2.3).
pub const WIRE_BYTES: usize = 512;
/// The same where a server announces LINELEN; what is beyond is not believed.
pub const WIRE_BYTES_MAX: usize = 4096;
/// Bytes of a line that is read: 8191 of tags (IRCv3 message-tags) and what follows.
pub const LINE_BYTES: usize = 16 * 1024;
/// Bytes that are read at once.
pub const CHUNK_BYTES: usize = 4096;
/// Bytes of a buffer that is kept when it is empty.
pub const KEPT_BUFFER_BYTES: usize = 8 * 1024;
/// Tags of a line that are read.
pub const TAGS: usize = 64;
/// Parameters of a line (RFC 1459, 2.3).
pub const PARAMETERS: usize = 15;
/// Bytes of the text of one line of ours; with the longest usual prefix and target it is within [`WIRE_BYTES`].
pub const TEXT_BYTES: usize = 400;
/// The least bytes of a text's line, whatever the prefix and the target take.
pub const TEXT_BYTES_MIN: usize = 100;
/// Lines of one piece of a message. A question is always one, with the whole command that it is about.
pub const PIECE_LINES: usize = 24;
/// Lines after which the server is asked whether it has read them. What it has is not sent again after a broken connection.
pub const CONFIRM_LINES: usize = 5;
/// Pieces of which is remembered how far they were sent.
pub const BEGUN_PIECES: usize = 16;
/// Lines that may go out at once; then one each `sendIntervalMs`.
pub const BURST: u32 = 5;
/// Bytes of the user name and of the host in our prefix while the server has not shown it.
pub const PREFIX_USER_BYTES: usize = 11;
/// See [`PREFIX_USER_BYTES`].
pub const PREFIX_HOST_BYTES: usize = 63;
/// Bytes of a piece of a SASL response (IRCv3 sasl).
pub const SASL_PIECE_BYTES: usize = 400;
/// Time for name, connection and TLS.
pub const CONNECT_TIME: Duration = Duration::from_secs(30);
/// Time in which a line has to be written.
pub const LINE_TIME: Duration = Duration::from_secs(20);
/// How long a read waits when something has come that may be no text, such as a ticket of TLS.
pub const READ_TIME: Duration = Duration::from_millis(250);
/// Time in which a server has to let us in; some look up the host and the user name for half a minute.
pub const REGISTER_TIME: Duration = Duration::from_secs(90);
/// Silence after which the server is asked whether it is still there.
pub const PING_INTERVAL: Duration = Duration::from_secs(90);
/// Time for the server to answer that.
pub const PONG_TIME: Duration = Duration::from_secs(30);
/// Time for the server to answer who has a nick, or to confirm lines. Without it the connection counts as dead.
pub const ANSWER_TIME: Duration = Duration::from_secs(60);
/// Time for a message to be sent and confirmed, with those that wait before it.
pub const SEND_TIME: Duration = Duration::from_mins(4);
/// How long what is being sent may take when the receiver ends.
pub const FINISH_TIME: Duration = Duration::from_secs(3);
/// Time in which the farewell has to be written.
pub const QUIT_TIME: Duration = Duration::from_secs(1);
/// How long it counts who has a nick. Later the server is asked before something is sent there.
pub const VERIFIED_TIME: Duration = Duration::from_secs(10);
/// People whose nicks are remembered.
pub const PEOPLE: usize = 64;
/// Bytes of the file with them, and with [`PASTED`].
pub const STATE_BYTES: usize = 64 * 1024;
/// Bytes of a person's id or of a channel's name that are accepted.
pub const ID_BYTES: usize = 256;
/// Messages that wait for a worker's turn.
pub const QUEUE: usize = 16;
/// Lines of our own business, such as joining channels, that wait to be sent.
pub const CHORES: usize = 64;
/// Channels to join.
pub const CHANNELS: usize = 32;
/// Capabilities of a server that are remembered while they are listed.
pub const CAPABILITIES: usize = 128;
/// Nicks that are tried when the wanted one is in use.
pub const NICK_TRIES: u32 = 8;
/// Characters of the nick of a connection that only tests the settings; the oldest servers allow 9.
pub const TRIAL_NICK_CHARS: usize = 9;
/// How often the wanted nick is asked for while another one is used.
pub const REGAIN_INTERVAL: Duration = Duration::from_secs(60);
/// The first wait before a channel is joined again; each further one is twice as long.
pub const REJOIN_WAIT: Duration = Duration::from_secs(5);
/// The longest one.
pub const REJOIN_WAIT_MAX: Duration = Duration::from_mins(10);
/// Time in a channel after which being removed from it counts as the first time.
pub const REJOIN_STEADY: Duration = Duration::from_mins(10);
/// A connection that was shorter counts as a failure: the next one waits longer.
pub const STEADY: Duration = Duration::from_secs(60);
/// How long more lines of a paste are waited for.
pub const PASTE_WAIT: Duration = Duration::from_millis(400);
/// The longest that a paste is collected, and its bytes.
pub const PASTE_TIME: Duration = Duration::from_secs(5);
/// See [`PASTE_TIME`].
pub const PASTE_BYTES: usize = 32 * 1024;
/// Bytes of the file with lines that wait for the rest of their paste, or for the inbox.
pub const HELD_BYTES: usize = 256 * 1024;
/// Lines of pastes, after their first ones, whose ids are remembered after a restart.
pub const PASTED: usize = 64;
/// Messages that are kept while the inbox cannot store them. With more the server is not read.
pub const UNSTORED: usize = 64;
/// Open batches of a server.
pub const BATCHES: usize = 16;
/// Lines that are remembered so that a replay does not bring them again.
pub const SEEN: usize = 512;
/// The least time between two explanations to people without an account, and the people who are remembered for it.
pub const EXPLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// See [`EXPLAIN_INTERVAL`].
pub const EXPLAINED: usize = 32;
/// The longest wait for a rate limit that a server names.
pub const WAIT_MAX: Duration = Duration::from_mins(5);
/// The wait where it names none.
pub const USUAL_WAIT: Duration = Duration::from_secs(5);
/// Messages of all kinds to one chat or to all within [`TOTAL_SPAN`]: what counts is the pace of the lines.
pub const TOTAL: usize = 60;
/// See [`TOTAL`].
pub const TOTAL_SPAN: Duration = Duration::from_secs(60);
