//! Bounds of Feishu.

/// Bytes of an event; a text message has at most 150 kB, and is escaped twice.
pub const EVENT_BYTES: usize = 1024 * 1024;
/// People whose names are remembered.
pub const NAMES: usize = 32;
/// Bytes of a reply of the API; the largest are messages of 150 kB.
pub const REPLY_BYTES: usize = 1024 * 1024;
/// Bytes of the same within the request, where it is JSON within JSON. Feishu takes 30 kB with the buttons.
pub const MESSAGE_JSON_BYTES: usize = 20 * 1024;
/// Bytes of a button's data; Feishu has no bound below that of the card.
pub const BUTTON_DATA_BYTES: usize = 256;
/// Bytes of a file that is sent: Feishu takes no larger ones.
pub const UPLOAD_BYTES: u64 = 30 * 1024 * 1024;
