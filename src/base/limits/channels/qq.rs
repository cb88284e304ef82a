//! Bounds of QQ's official bots. <https://bot.q.qq.com/wiki/develop/api-v2/>

/// How long a message in a private chat can be replied to: 60 minutes, less what a request takes.
pub const PRIVATE_REPLY_MS: i64 = 59 * 60 * 1000;
/// The same for a message in a group, in a channel or in a guild's private chat: five minutes.
pub const GROUP_REPLY_MS: i64 = 4 * 60 * 1000 + 50 * 1000;
/// Bytes of an id; QQ's have up to 150.
pub const ID_BYTES: usize = 256;
/// Bytes of a file that goes to QQ. It travels as base64, and QQ's edge takes few larger requests.
pub const UPLOAD_BYTES: u64 = 10 * 1024 * 1024;
