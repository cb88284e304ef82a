//! Bounds of Slack. <https://docs.slack.dev/apis/web-api/rate-limits>

/// Those of a draft: an edit cannot have more. <https://docs.slack.dev/reference/methods/chat.update>
pub const EDIT_UNITS: usize = 4000;
/// Bytes of a button's data, its `value`.
pub const BUTTON_DATA_BYTES: usize = 2000;
/// Bytes of a connection's address with its ticket, and of the address of a file.
pub const URL_BYTES: usize = 2048;
/// Bytes of a connection's other short strings, such as an envelope's id.
pub const TOKEN_BYTES: usize = 256;
