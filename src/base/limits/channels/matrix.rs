//! Bounds of the Matrix channel.

/// Bytes of a page of older events, of one event, and of other small replies.
pub const REPLY_BYTES: usize = 1024 * 1024;
/// Bytes of a file that goes to Matrix: Synapse's usual bound.
pub const UPLOAD_BYTES: u64 = 50 * 1024 * 1024;
