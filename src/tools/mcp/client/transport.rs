//! How messages reach a server and come back.

use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::error::Result;

/// A message to a server.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// One JSON-RPC message, without a newline.
    pub json: &'a str,
    /// Its method; empty for a response.
    pub method: &'a str,
    /// The name of the tool or prompt, or the URI of the resource, that it is about.
    pub name: Option<&'a str>,
    /// The arguments that the server wants to have in headers too, by the last part of the header's name.
    pub parameters: &'a [(String, String)],
    /// The version of the protocol that it is written in.
    pub version: &'static str,
}

/// The notification that a request is given up.
pub const CANCELLED: &str = "notifications/cancelled";

/// What comes from a server while a request waits.
#[derive(Debug)]
pub enum Incoming {
    /// A message that belongs to the request: its response, a report of its progress, a question; or one
    /// that belongs to no request.
    Message(String),
    /// Nothing within the time.
    Nothing,
}

/// The messages that come for one request. Dropping it gives the request up.
pub trait Replies: Send {
    /// Waits for the next message, at most so long.
    ///
    /// [`Error::Stopped`](crate::base::error::Error::Stopped) when the token is raised; any other error means that
    /// no response will come.
    fn next(&mut self, time: Duration, cancel: &Cancel) -> Result<Incoming>;
}

/// A way to one server. Several requests may be under way.
pub trait Transport: Send + Sync {
    /// Sends a request with this id.
    ///
    /// Over HTTP, a reply with a status of 400 or more whose body is a JSON-RPC message is that message; any
    /// other is [`Error::Status`](crate::base::error::Error::Status).
    fn request(&self, id: u64, message: &Outgoing<'_>, cancel: &Cancel)
    -> Result<Box<dyn Replies>>;

    /// Sends a notification, or the response to a question of the server. Over HTTP, [`CANCELLED`] is sent on
    /// a thread of its own.
    fn send(&self, message: &Outgoing<'_>, cancel: &Cancel) -> Result<()>;

    /// Changes to an older transport, after the server has refused both `server/discover` and `initialize`
    /// with a status of 400, 404 or 405. False: there is none.
    fn fall_back(&self, _cancel: &Cancel) -> Result<bool> {
        Ok(false)
    }

    /// Whether nothing can be sent any more, and a new connection is needed.
    fn is_over(&self) -> bool {
        false
    }

    /// Whether giving up a request has to be said in a message. Over HTTP since 2026-07-28 the closed
    /// connection says it.
    fn announces_cancel(&self) -> bool {
        true
    }
}
