//! Bounds of Slack. <https://docs.slack.dev/apis/web-api/rate-limits>

use std::time::Duration;

/// UTF-16 units of one message with its escapes: what people can write in one themselves, and what its blocks take
/// together. Slack would take 40,000 of a text, and cuts off the rest. <https://docs.slack.dev/reference/methods/chat.postMessage>
pub const MESSAGE_UNITS: usize = 12_000;
/// Those of a draft: an edit cannot have more. <https://docs.slack.dev/reference/methods/chat.update>
pub const EDIT_UNITS: usize = 4000;
/// Those of one block of text, of which a message with buttons has several.
/// <https://docs.slack.dev/reference/block-kit/blocks/section-block>
pub const SECTION_UNITS: usize = 3000;
/// Characters of a link's address in a message, so that one message holds it with its words.
pub const LINK_CHARS: usize = 1000;
/// Bytes of a button's data, its `value`.
pub const BUTTON_DATA_BYTES: usize = 2000;
/// Characters of a button's label.
pub const LABEL_CHARS: usize = 75;
/// Buttons in one row; a block takes 25, of which five are beside each other.
pub const ROW_BUTTONS: usize = 5;
/// Rows of buttons; a message takes 50 blocks.
pub const ROWS: usize = 20;
/// Messages to all chats within a second: Slack allows several hundred a minute.
pub const TOTAL: usize = 4;
/// The least time between two edits of a message: Slack allows 50 edits a minute.
pub const EDIT_INTERVAL: Duration = Duration::from_millis(1500);
/// The longest wait for a rate limit that holds a delivering thread; what takes longer is tried again.
pub const SHORT_WAIT: Duration = Duration::from_secs(1);
/// Time in which a connection has to say hello.
pub const HELLO_TIME: Duration = Duration::from_secs(20);
/// Silence after which a connection is asked whether it is alive. Slack's own pings come more often.
pub const SILENCE: Duration = Duration::from_secs(45);
/// Time in which it has to answer that.
pub const PONG_TIME: Duration = Duration::from_secs(15);
/// A connection that was shorter counts as a failure: the next one waits longer.
pub const STEADY: Duration = Duration::from_secs(60);
/// How long a connection that was replaced is still listened to: presses are sent once, to any of both.
pub const OLD_TIME: Duration = Duration::from_secs(15);
/// While there are two connections, how long each is listened to at a time.
pub const TURN_TIME: Duration = Duration::from_millis(100);
/// People whose names are remembered; a workspace of a family or a team has fewer.
pub const PEOPLE: usize = 64;
/// Names that are looked up for one message; further ones stay ids.
pub const MENTIONS: usize = 8;
/// How long a name may take to be looked up: Slack repeats an event that is not confirmed within 3 s.
pub const NAME_PATIENCE: Duration = Duration::from_secs(2);
/// Messages of a chat or a thread asked for at once; Slack recommends at most 200.
pub const MISSED_MESSAGES: usize = 100;
/// How often one chat or thread is asked for more.
pub const MISSED_PAGES: u32 = 3;
/// Threads of one chat that are asked for missed messages.
pub const MISSED_THREADS: usize = 16;
/// Messages that are this much older than the newest known one are fetched again: events may come slightly out
/// of order. In microseconds, as Slack numbers messages.
pub const MISSED_OVERLAP_MICROS: i64 = 10_000_000;
/// Events that are received and wait while missed messages are fetched. The rest waits in the connection.
pub const WAITING_FRAMES: usize = 64;
/// Messages among which one is looked for that may have been sent.
pub const SENT_MESSAGES: usize = 50;
/// Pages of a thread, whose oldest messages come first, in which it is looked for.
pub const SENT_PAGES: u32 = 4;
/// Chats of which it is known that nothing is in doubt.
pub const SETTLED: usize = 64;
/// Files that are uploaded, and not known to be shown.
pub const OPEN_UPLOADS: usize = 16;
/// Private chats that are remembered by their people.
pub const PRIVATE_CHATS: usize = 16;
/// Bytes of an id of Slack's; they have eleven characters.
pub const ID_BYTES: usize = 32;
/// Bytes of a connection's address with its ticket, and of the address of a file.
pub const URL_BYTES: usize = 2048;
/// Bytes of a connection's other short strings, such as an envelope's id.
pub const TOKEN_BYTES: usize = 256;
/// Threads of channels that are remembered: what is written there is for us.
pub const THREADS: usize = 64;
/// Bytes of the file with them; one takes 50.
pub const THREADS_FILE_BYTES: usize = 16 * 1024;
