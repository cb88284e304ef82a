//! How calls fail, and what the server does then.

use std::io;

use serde_json::{Value, json};

use crate::harness::faults;
use crate::harness::gate::Gate;
use crate::harness::wire::{self, Connection};

use super::request::Call;

/// How a call fails.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Too many calls: a 429 with the seconds to wait.
    TooMany(u64),
    /// A refusal with this error.
    Error(&'static str),
    /// An HTML page of a proxy, with status 502.
    BadGateway,
    /// The server does it, and the connection breaks before the answer.
    LostReply,
    /// The connection breaks before anything is done.
    Cut,
    /// The call succeeds once the gate is open.
    HoldUntil(Gate),
    /// The server does it; half of the JSON is missing.
    TruncatedJson,
    /// The login page, with status 200.
    LoginPage,
}

/// What the server sends back.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(body: &Value) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type", "application/json; charset=utf-8".to_owned())],
            body: body.to_string().into_bytes(),
        }
    }

    pub(super) fn error(error: &str) -> Self {
        Self::json(&json!({"ok": false, "error": error}))
    }

    pub(super) fn page(status: u16, words: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type", "text/html; charset=utf-8".to_owned())],
            body: format!("<!DOCTYPE html><title>{words}</title>").into_bytes(),
        }
    }

    /// <https://docs.slack.dev/apis/web-api/rate-limits>
    pub(super) fn too_many(seconds: u64) -> Self {
        let mut reply = Self::error("ratelimited");
        reply.status = 429;
        reply.headers.push(("retry-after", seconds.to_string()));
        reply
    }

    pub(super) fn send(&self, connection: &mut Connection) -> io::Result<()> {
        wire::respond(connection, self.status, &self.headers, &self.body)
    }
}

impl Fault {
    /// Makes a call fail; returns whether the connection stays open. `act` carries the call out.
    pub(super) fn play(
        &self,
        connection: &mut Connection,
        act: impl FnOnce() -> Reply,
    ) -> io::Result<bool> {
        let reply = match self {
            Self::Cut => return Ok(false),
            Self::LostReply => {
                act();
                return Ok(false);
            }
            Self::HoldUntil(gate) => {
                gate.wait();
                act()
            }
            Self::TruncatedJson => {
                let mut reply = act();
                reply.body.truncate(reply.body.len() / 2);
                reply
            }
            Self::TooMany(seconds) => Reply::too_many(*seconds),
            Self::Error(error) => Reply::error(error),
            Self::BadGateway => Reply::page(502, "502 Bad Gateway"),
            Self::LoginPage => Reply::page(200, "Sign in | Slack"),
        };
        reply.send(connection)?;
        Ok(true)
    }
}

pub(super) type Faults = faults::Faults<Call, Fault>;
