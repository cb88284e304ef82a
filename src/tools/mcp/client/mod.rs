//! Servers of tools, which are reached by the Model Context Protocol (MCP).
//!
//! `message`, `protocol`, `input` and `tool` are PURE: what is written and read. A [`Transport`] carries
//! messages: standard input and output of a confined program, or HTTP. [`Link`] speaks with one server, in
//! the version that it knows, and a call is a value that can wait for an answer of a person.
//!
//! Everything that a server says is untrusted: its texts, its sizes, and whether it answers at all.

pub mod http;
pub mod input;
mod link;
pub mod message;
pub mod oauth;
pub mod protocol;
pub mod servers;
pub mod stdio;
pub mod tool;
pub mod transport;

pub use input::fits;
pub use link::{Call, Link, Options, Paused, Step};
use std::time::Duration;
pub use transport::{Incoming, Outgoing, Replies, Transport};

/// Bytes of an address that a server names.
const ADDRESS_BYTES: usize = 2048;
/// Bytes of one message from a server: an image of 3 MB in base64.
const MESSAGE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a tool's name as the server says it.
const NAME_BYTES: usize = 256;
/// Bytes of one tool's schema.
const SCHEMA_BYTES: usize = 32 * 1024;
/// Time that a call can take in all, however often it reports progress.
const CALL_TIME: Duration = Duration::from_secs(3600);
/// Bytes of messages that wait for a server to read them; beyond that it does not read.
const UNREAD_BYTES: usize = 4 * 1024 * 1024;
/// Stack of the thread that serves all programs; reading a message needs 20 kB.
const STACK_BYTES: usize = 256 * 1024;
/// How long a program has to end after its input was closed.
const CLOSE_TIME: Duration = Duration::from_secs(1);
