//! HTTP/1.1 as a server sees it (RFC 9112): requests from bytes, and replies as bytes. PURE.

pub mod reply;
pub mod request;
