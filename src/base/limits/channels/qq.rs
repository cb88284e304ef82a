//! Bounds of QQ's official bots. <https://bot.q.qq.com/wiki/develop/api-v2/>

use std::time::Duration;

/// Characters of one message. Tencent's own plugin cuts at 5000.
pub const MESSAGE_CHARS: usize = 4000;
/// Replies to one message of a person: QQ takes five.
pub const REPLIES: u32 = 5;
/// How long a message in a private chat can be replied to: 60 minutes, less what a request takes.
pub const PRIVATE_REPLY_MS: i64 = 59 * 60 * 1000;
/// The same for a message in a group, in a channel or in a guild's private chat: five minutes.
pub const GROUP_REPLY_MS: i64 = 4 * 60 * 1000 + 50 * 1000;
/// Messages of a chat that are remembered to reply to. Four take 20 replies.
pub const CHAT_MESSAGES: usize = 4;
/// Chats whose messages are remembered to reply to; the one that was silent the longest is forgotten.
pub const CHATS: usize = 64;
/// Sent pieces of which it is remembered what they replied to, so that a repetition is recognised by QQ.
pub const KEYS: usize = 32;
/// How long no message is tried that replies to nothing, once QQ has refused one in a chat.
pub const NO_ACTIVE_MS: i64 = 60 * 60 * 1000;
/// Wait of a message that can only be sent as a reply, before the next look, which asks nobody. What a person writes
/// ends it at once, unless that comes at the very moment at which the wait begins.
pub const REPLY_LOOK: Duration = Duration::from_secs(20);
/// How often another message is taken to reply to, within one sending.
pub const CHOICES: usize = 6;
/// The largest `msg_seq`. QQ documents none; its own plugin stays below 65,536.
pub const SEQUENCE_MAX: u64 = 65_535;
/// Bytes of the file with the messages to reply to: ids have about 100 bytes.
pub const STATE_BYTES: usize = 128 * 1024;
/// Bytes of an id; QQ's have up to 150.
pub const ID_BYTES: usize = 256;
/// Bytes of an access token; QQ's have about 100.
pub const TOKEN_BYTES: usize = 1024;
/// How long before its end an access token is replaced: QQ gives a new one in the last minute.
pub const TOKEN_MARGIN: Duration = Duration::from_secs(45);
/// The longest and the shortest time that an access token is used; QQ's live two hours.
pub const TOKEN_TIMES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_hours(2));
/// Bytes of a file that goes to QQ. It travels as base64, and QQ's edge takes few larger requests.
pub const UPLOAD_BYTES: u64 = 10 * 1024 * 1024;
/// Bytes of a button's data.
pub const BUTTON_DATA_BYTES: usize = 100;
/// Characters of a button's label.
pub const LABEL_CHARS: usize = 20;
/// Buttons in a row, and rows.
pub const ROW_BUTTONS: usize = 5;
/// Messages to all chats in [`TOTAL_SPAN`].
pub const TOTAL: usize = 20;
/// See [`TOTAL`].
pub const TOTAL_SPAN: Duration = Duration::from_secs(1);
/// A connection to the gateway that was shorter counts as a failure: the next one waits longer.
pub const STEADY: Duration = Duration::from_secs(60);
