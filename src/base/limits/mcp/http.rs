//! Bounds of MCP servers that are reached over HTTP, and of the logins to them.

/// Bytes of one reply of events, reports of progress included.
pub const REPLY_BYTES: usize = 64 * 1024 * 1024;
/// Messages of a stream that wait to be taken.
pub const WAITING_MESSAGES: usize = 64;
/// Bytes of one header's value: the buffer for a request's head has 8 KiB.
pub const HEADER_BYTES: usize = 6 * 1024;

/// Bytes of an address that a server names.
pub const ADDRESS_BYTES: usize = 2048;
/// Bytes of the list of rights in a challenge.
pub const SCOPE_BYTES: usize = 2048;
