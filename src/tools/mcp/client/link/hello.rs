//! How the conversation with a server begins.

use std::time::Duration;

use serde_json::Map;

use super::{Call, Link};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::tools::mcp::client::message::{self, Message, RpcError};
use crate::tools::mcp::client::protocol::{self, Hello};
use crate::tools::mcp::client::transport::Incoming;

impl Link {
    pub(super) fn greet(&self, cancel: &Cancel) -> Result<Hello> {
        let watch = Stopwatch::start();
        let left = || self.options.connect_time.saturating_sub(watch.elapsed());
        let known = self.options.known_version;
        let mut is_certain = false;
        if known.is_none_or(protocol::is_modern) {
            match self.discover(self.options.discover_time, cancel)? {
                Discovered::Modern(hello) => return self.checked(hello),
                Discovered::Legacy => is_certain = true,
                Discovered::Silent => {}
            }
        }
        let error = match self.initialize(left(), cancel) {
            Err(error @ Error::Failed(_)) if !is_certain => error,
            outcome => return outcome,
        };
        // It was not there yet, or it is another version of the server by now.
        match self.discover(left(), cancel) {
            Ok(Discovered::Modern(hello)) => self.checked(hello),
            Err(Error::Stopped) => Err(Error::Stopped),
            _ => Err(error),
        }
    }

    fn never_spoke(&self) -> Error {
        Error::Timeout {
            host: format!("the MCP server {}", self.options.name),
            what: format!(
                "nothing came for {} s. Either it is not an MCP server, or its first start takes longer, as with npx \
                 and uvx, which download it: then try again",
                self.options.connect_time.as_secs()
            ),
        }
    }

    fn checked(&self, hello: Hello) -> Result<Hello> {
        if hello.version.is_empty() {
            Err(self.unknown_version())
        } else {
            Ok(hello)
        }
    }

    fn discover(&self, patience: Duration, cancel: &Cancel) -> Result<Discovered> {
        let call = Call {
            method: "server/discover",
            params: Map::new(),
            parameters: Vec::new(),
            patience,
        };
        let [newest, ..] = protocol::MODERN;
        let mut outcome = self.exchange_once(&call, newest, cancel);
        if let Ok(Err(error)) = &outcome
            && let Some(version) = protocol::supported(&error.data)
            && protocol::is_modern(version)
        {
            outcome = self.exchange_once(&call, version, cancel);
        }
        match outcome {
            Ok(Ok(result)) => Ok(match protocol::read_discover(&result) {
                Some(hello) => Discovered::Modern(hello),
                None => Discovered::Legacy,
            }),
            Ok(Err(error)) if protocol::MODERN_ERRORS.contains(&error.code) => {
                match protocol::supported(&error.data) {
                    Some(version) if !protocol::is_modern(version) => Ok(Discovered::Legacy),
                    _ => Err(self.answered(&error)),
                }
            }
            Ok(Err(_)) => Ok(Discovered::Legacy),
            Err(Error::Timeout { .. }) => Ok(Discovered::Silent),
            Err(Error::Status { status, .. }) if is_refusal(status) => Ok(Discovered::Legacy),
            Err(error) => Err(error),
        }
    }

    fn initialize(&self, patience: Duration, cancel: &Cancel) -> Result<Hello> {
        let [newest, ..] = protocol::LEGACY;
        let call = Call {
            method: "initialize",
            params: protocol::initialize(newest, self.options.abilities),
            parameters: Vec::new(),
            patience,
        };
        let mut outcome = self.exchange_once(&call, newest, cancel);
        if let Err(Error::Status { status, .. }) = &outcome
            && is_refusal(*status)
            && self.transport.fall_back(cancel)?
        {
            outcome = self.exchange_once(&call, newest, cancel);
        }
        let result = match outcome {
            Err(Error::Timeout { .. }) => return Err(self.never_spoke()),
            outcome => outcome?.map_err(|error| self.answered(&error))?,
        };
        let hello = protocol::read_initialize(&result)
            .ok_or_else(|| self.fault("did not answer as MCP specifies"))?;
        let hello = self.checked(hello)?;
        let json = message::notification("notifications/initialized", None);
        self.send(&json, "notifications/initialized", hello.version, cancel)?;
        Ok(hello)
    }

    /// One request and its response, without anything between them.
    fn exchange_once(
        &self,
        call: &Call,
        version: &'static str,
        cancel: &Cancel,
    ) -> Result<std::result::Result<String, RpcError>> {
        let id = self.next_id();
        let mut replies = self.send_request(id, call, version, cancel)?;
        let watch = Stopwatch::start();
        loop {
            let left = call.patience.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return Err(self.silent(call));
            }
            let Incoming::Message(text) = replies.next(left, cancel)? else {
                continue;
            };
            match message::read(&text) {
                Some(Message::Response {
                    id: answered,
                    outcome,
                }) if answered.is_none_or(|answered| answered == id) => {
                    return Ok(outcome.map(|result| result.get().to_owned()));
                }
                _ => self.take(&text, cancel)?,
            }
        }
    }
}

enum Discovered {
    Modern(Hello),
    Legacy,
    /// It did not answer in time.
    Silent,
}

/// Whether a status can mean that the server does not know this era or transport.
fn is_refusal(status: u16) -> bool {
    matches!(status, 400 | 404 | 405 | 406 | 415 | 422 | 501)
}
