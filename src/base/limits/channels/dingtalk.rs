//! Bounds of DingTalk. <https://open.dingtalk.com/document/orgapp/the-robot-sends-a-group-message>

/// Bytes of a file that is sent: DingTalk takes no larger ones.
pub const UPLOAD_BYTES: u64 = 20 * 1024 * 1024;
/// Bytes of a reply of the API; the largest has a signed URL.
pub const REPLY_BYTES: usize = 64 * 1024;
/// Bytes of an id of a person, a group or a message; DingTalk's have up to 100.
pub const ID_BYTES: usize = 256;
