//! How calls fail, and what the server does then.

use std::io;

use serde_json::{Value, json};

use crate::harness::faults;
use crate::harness::gate::Gate;
use crate::harness::wire::{self, Connection};

use super::check::Refusal;
use super::person::Place;
use super::request::Call;

/// How a call fails.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The bot sends too much.
    TooManyRequests {
        /// Seconds.
        retry_after: u32,
    },
    /// The token is not valid.
    Unauthorized,
    /// Another bot polls.
    Conflict,
    /// The person has blocked the bot.
    Forbidden,
    /// `Bad Request:` with these words.
    BadRequest(&'static str),
    /// The server is of a version without this method.
    NoMethod,
    /// The text's HTML is broken.
    ParseError,
    /// The server itself fails: status 500 in the API's format.
    InternalError,
    /// An HTML page of a proxy, with status 502.
    ServerError,
    /// The server does it, and the connection breaks before the answer.
    LostReply,
    /// The connection breaks before anything is done.
    Cut,
    /// Nothing is done, and there is never an answer.
    Hang,
    /// The request succeeds once the gate is open.
    HoldUntil(Gate),
    /// The answer stops in the middle, until the gate is open.
    SlowBody(Gate),
    /// The connection breaks in the middle of the answer.
    CutOff,
    /// The server does it; its answer is whole, but half of the JSON is missing.
    TruncatedJson,
    /// The answer claims to be JSON and is not. Nothing is done.
    GarbageJson,
    /// An answer of this many bytes. Nothing is done.
    HugeBody(usize),
}

/// What the server sends back.
pub(super) struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

impl Reply {
    /// An answer in the API's format.
    pub(super) fn of(outcome: Result<Value, Refusal>) -> Self {
        let (status, body) = match outcome {
            Ok(result) => (200, json!({"ok": true, "result": result})),
            Err(refusal) => (refusal.code, refusal.body()),
        };
        Self::json(status, body.to_string())
    }

    /// The bytes of a file.
    pub(super) fn file(bytes: &[u8]) -> Self {
        Self {
            status: 200,
            content_type: "application/octet-stream",
            body: bytes.to_vec(),
        }
    }

    fn json(status: u16, body: String) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: body.into_bytes(),
        }
    }

    pub(super) fn send(&self, connection: &mut Connection) -> io::Result<()> {
        let headers = [("content-type", self.content_type.to_owned())];
        wire::respond(connection, self.status, &headers, &self.body)
    }

    /// Sends it in two halves with something between them.
    fn send_halves(&self, connection: &mut Connection, between: impl FnOnce()) -> io::Result<()> {
        let mut headers = vec![("content-type", self.content_type.to_owned())];
        headers.push(("content-length", self.body.len().to_string()));
        wire::begin(connection, self.status, &headers)?;
        let (first, second) = self.body.split_at(self.body.len() / 2);
        wire::send(connection, first)?;
        between();
        wire::send(connection, second)
    }
}

impl Fault {
    /// Makes a call fail; returns whether the connection stays open. `act` carries the call out; it
    /// returns `None` if the client has disconnected.
    pub(super) fn play(
        &self,
        connection: &mut Connection,
        act: impl FnOnce() -> Option<Reply>,
    ) -> io::Result<bool> {
        match self {
            Self::Cut => return Ok(false),
            Self::Hang => {
                wire::wait_for_the_end(connection);
                return Ok(false);
            }
            Self::LostReply => {
                act();
                return Ok(false);
            }
            Self::HoldUntil(gate) => {
                gate.wait();
                let Some(reply) = act() else { return Ok(false) };
                reply.send(connection)?;
            }
            Self::SlowBody(gate) => {
                let Some(reply) = act() else { return Ok(false) };
                reply.send_halves(connection, || gate.wait())?;
            }
            Self::CutOff => {
                let Some(mut reply) = act() else {
                    return Ok(false);
                };
                let headers = [("content-length", reply.body.len().to_string())];
                wire::begin(connection, reply.status, &headers)?;
                reply.body.truncate(reply.body.len() / 2);
                wire::send(connection, &reply.body)?;
                return Ok(false);
            }
            Self::TruncatedJson => {
                let Some(mut reply) = act() else {
                    return Ok(false);
                };
                reply.body.truncate(reply.body.len() / 2);
                reply.send(connection)?;
            }
            _ => self.instead().send(connection)?,
        }
        Ok(true)
    }

    /// The answer when nothing is done.
    fn instead(&self) -> Reply {
        match self {
            Self::ServerError => Reply {
                status: 502,
                content_type: "text/html",
                body: b"<html><h1>502 Bad Gateway</h1></html>".to_vec(),
            },
            Self::GarbageJson => Reply::json(200, "<html>Please log in</html>".to_owned()),
            Self::HugeBody(bytes) => Reply::json(
                200,
                format!(r#"{{"ok":true,"result":"{}"}}"#, "a".repeat(*bytes)),
            ),
            _ => Reply::of(Err(self.refusal())),
        }
    }

    fn refusal(&self) -> Refusal {
        match self {
            Self::TooManyRequests { retry_after } => Refusal {
                retry_after: Some(*retry_after),
                ..Refusal::new(429, format!("Too Many Requests: retry after {retry_after}"))
            },
            Self::InternalError => Refusal::new(500, "Internal Server Error"),
            Self::Unauthorized => Refusal::new(401, "Unauthorized"),
            Self::Conflict => Refusal::conflict(),
            Self::Forbidden => Refusal::blocked(),
            Self::BadRequest(words) => Refusal::bad(words),
            Self::NoMethod => Refusal::new(404, "Not Found: method not found"),
            Self::ParseError => {
                Refusal::bad("can't parse entities: Unsupported start tag \"x\" at byte offset 0")
            }
            other => unreachable!("{other:?} is no refusal"),
        }
    }
}

pub(super) type Faults = faults::Faults<Call, Fault, Place>;
