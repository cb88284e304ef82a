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
pub use transport::{Incoming, Outgoing, Replies, Transport};
