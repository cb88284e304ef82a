//! Floor 4: the one place that owns HTTP.
//!
//! Every call has all its timeouts, a cap on what it takes in, and breaks within
//! [`limits::cancel::POLL`](crate::limits::cancel::POLL) and a bit when the turn's token is raised,
//! whatever it is waiting for. Errors and log lines name a server as host and port only: paths,
//! queries and user names in a URL can hold secrets.
//!
//! The log has one line per call, at level debug: method, host, status, milliseconds until the
//! answer began, and bytes sent.

mod address;
mod client;
mod connect;
mod explain;
mod retry_after;
mod settings;
mod transfer;

pub use client::{Client, Response};
pub use connect::{Tls, look_up};
pub use settings::Settings;
pub use transfer::{Body, Upload, error_of};

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::server;
