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
#[cfg(test)]
pub(crate) use tests::{log::with_log, server};
