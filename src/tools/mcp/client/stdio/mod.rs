//! Servers that are programs: messages are lines of their standard input and output
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio>).
//!
//! One thread reads the output of all of them, hands each message to the call that waits for it, and ends
//! programs that are not used. Calls wait, and never write or read themselves.

mod connection;
mod launch;
mod lines;
mod thread;

use std::sync::Arc;
use std::time::Duration;

pub use connection::{Connection, End, Settings};
pub use launch::{Launcher, Sandboxed, home_of};
pub use thread::Hub;

use super::protocol;
use super::transport::{Incoming, Outgoing, Replies, Transport};
use crate::base::cancel::Cancel;
use crate::base::error::Result;

/// The transport to a running program. When it is dropped the program is stopped.
pub struct Stdio(pub Arc<Connection>);

impl Transport for Stdio {
    fn request(
        &self,
        id: u64,
        message: &Outgoing<'_>,
        cancel: &Cancel,
    ) -> Result<Box<dyn Replies>> {
        // In these versions a question does not say which call it belongs to.
        let is_call = matches!(
            message.method,
            "tools/call" | "resources/read" | "prompts/get"
        );
        let may_ask = is_call && !protocol::is_modern(message.version);
        self.0.request(id, message.json, may_ask, cancel)?;
        Ok(Box::new(StdioReplies {
            connection: Arc::clone(&self.0),
            id,
        }))
    }

    fn send(&self, message: &Outgoing<'_>, _cancel: &Cancel) -> Result<()> {
        self.0.send(message.json)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.0.stop();
    }
}

struct StdioReplies {
    connection: Arc<Connection>,
    id: u64,
}

impl Replies for StdioReplies {
    fn next(&mut self, time: Duration, cancel: &Cancel) -> Result<Incoming> {
        self.connection.next(self.id, time, cancel)
    }
}

impl Drop for StdioReplies {
    fn drop(&mut self) {
        self.connection.forget(self.id);
    }
}
