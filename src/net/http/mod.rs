//! HTTP.
//!
//! Every call has a time limit for each of its phases and a cap on what it takes in, and ends within
//! [`limits::cancel::POLL`](crate::base::limits::cancel::POLL) or so when its token is raised, whatever it
//! is waiting for. Errors and log lines name a server by host and port only: paths, queries and user
//! names in a URL can hold secrets. The connections come from [`net`](crate::net).
//!
//! The log has one line per call, at level debug: method, host, status, milliseconds until the
//! answer began, and bytes sent.

pub mod address;
mod client;
mod connect;
mod explain;
pub mod multipart;
pub mod oauth;
mod pool;
pub mod reply;
mod retry_after;
pub mod sse;
mod transfer;
pub mod websocket;

pub use crate::net::Tls;
pub use client::{Bound, Client, Found, Response, Settings, look_up};
pub use pool::{Pool, PooledClient};
pub use transfer::{Body, Upload, error_of};
pub use ureq::http::Method;

#[cfg(test)]
mod tests;
use std::time::Duration;
#[cfg(test)]
pub(crate) use tests::{log::with_log, server};

/// Bytes of a response's head with its interim ones, and of a trailer; curl takes as much in a line. What is not
/// used of it is not kept.
const HEAD_BYTES: usize = 100 * 1024;
/// Bytes of each connection's input and output buffer, and so of what is kept of a response's head. ureq's
/// default of 128 KiB twice is the largest single cost of a held connection on a board.
const BUFFER_BYTES: usize = 8 * 1024;
/// Time for that tail, and for any silence in it. A new TLS connection costs about as much.
const TAIL_TIMEOUT: Duration = Duration::from_millis(200);
/// Time for a name to be resolved. musl's resolver itself gives up after 10 s.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to reach a host over all its addresses, with a proxy's tunnel and the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
