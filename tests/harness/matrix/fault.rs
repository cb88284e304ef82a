//! How requests fail, and what the server does then.

use std::io;

use serde_json::{Value, json};

use crate::harness::faults;
use crate::harness::wire::{self, Connection};

use super::request::Call;

/// How a request fails.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Too many requests, with the time to wait in milliseconds.
    TooManyRequests(u64),
    /// The server itself fails: status 500.
    InternalError,
    /// An HTML page of a proxy, with status 502.
    BadGateway,
    /// The server does it, and the connection breaks before the answer.
    LostReply,
    /// The connection breaks before anything is done.
    Cut,
    /// The server does it; half of the JSON is missing.
    TruncatedJson,
}

/// Why a request is refused.
/// <https://spec.matrix.org/latest/client-server-api/#standard-error-response>
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub status: u16,
    pub code: &'static str,
    pub words: String,
    /// Whether a correct client may get it, too.
    pub is_innocent: bool,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &'static str, words: impl Into<String>) -> Self {
        Self {
            status,
            code,
            words: words.into(),
            is_innocent: false,
        }
    }

    pub(super) fn innocent(mut self) -> Self {
        self.is_innocent = true;
        self
    }

    pub(super) fn not_found(words: &str) -> Self {
        Self::new(404, "M_NOT_FOUND", words)
    }

    pub(super) fn bad(words: impl Into<String>) -> Self {
        Self::new(400, "M_BAD_JSON", words)
    }

    pub(super) fn line(&self) -> String {
        format!("{} {} {}", self.status, self.code, self.words)
    }
}

/// What the server sends back.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string().into_bytes(),
        }
    }

    pub(super) fn refusal(refusal: &Refusal) -> Self {
        let mut body = json!({"errcode": refusal.code, "error": refusal.words});
        if refusal.code == "M_UNKNOWN_TOKEN" {
            body["soft_logout"] = json!(false);
        }
        Self::json(refusal.status, &body)
    }

    /// <https://spec.matrix.org/latest/client-server-api/#rate-limiting>
    pub(super) fn too_many(millis: u64) -> Self {
        let body = json!({
            "errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests", "retry_after_ms": millis,
        });
        let mut reply = Self::json(429, &body);
        let seconds = millis.div_ceil(1000).to_string();
        reply.headers.push(("retry-after", seconds));
        reply
    }

    pub(super) fn send(&self, connection: &mut Connection) -> io::Result<()> {
        wire::respond(connection, self.status, &self.headers, &self.body)
    }
}

impl Fault {
    /// Makes a request fail; returns whether the connection stays open. `act` carries the request out.
    pub(super) fn play(
        &self,
        connection: &mut Connection,
        act: impl FnOnce() -> Reply,
    ) -> io::Result<bool> {
        match self {
            Self::Cut => return Ok(false),
            Self::LostReply => {
                act();
                return Ok(false);
            }
            Self::TruncatedJson => {
                let mut reply = act();
                reply.body.truncate(reply.body.len() / 2);
                reply.send(connection)?;
            }
            _ => self.instead().send(connection)?,
        }
        Ok(true)
    }

    /// The answer when nothing is done.
    fn instead(&self) -> Reply {
        let refusal = match self {
            Self::TooManyRequests(millis) => return Reply::too_many(*millis),
            Self::BadGateway => {
                return Reply {
                    status: 502,
                    headers: vec![("content-type", "text/html".to_owned())],
                    body: b"<!doctype html><h1>502 Bad Gateway</h1>".to_vec(),
                };
            }
            Self::InternalError => Refusal::new(500, "M_UNKNOWN", "Internal server error"),
            other => unreachable!("{other:?} is no refusal"),
        };
        Reply::refusal(&refusal)
    }
}

pub(super) fn not_in_room(room: &str) -> Refusal {
    let words = format!("User {} not in room {room}", super::BOT_ID);
    Refusal::new(403, "M_FORBIDDEN", words).innocent()
}

pub(super) type Faults = faults::Faults<Call, Fault>;
