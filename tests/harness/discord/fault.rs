//! How requests fail, and what the server does then.

use std::io;

use serde_json::{Value, json};

use crate::harness::faults;
use crate::harness::gate::Gate;
use crate::harness::wire::{self, Connection};

use super::request::Call;
use super::store::Place;

/// How a request fails.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A bucket is empty: a 429 of the API, with the time to wait.
    TooManyRequests {
        /// In seconds, with a fraction.
        retry_after: f64,
        /// Whether the whole bot has to wait.
        is_global: bool,
    },
    /// A 429 of the edge: an HTML page without the API's headers.
    EdgeTooManyRequests,
    /// The token is not valid.
    Unauthorized,
    /// The bot may not write there.
    MissingPermissions,
    /// The person has blocked the bot's messages.
    CannotSend,
    /// The channel is gone.
    UnknownChannel,
    /// The API itself fails: status 500.
    InternalError,
    /// An HTML page of a proxy, with status 502.
    BadGateway,
    /// The server does it, and the connection breaks before the answer.
    LostReply,
    /// The connection breaks before anything is done.
    Cut,
    /// Nothing is done, and there is never an answer.
    Hang,
    /// The request succeeds once the gate is open.
    HoldUntil(Gate),
    /// The server does it; half of the JSON is missing.
    TruncatedJson,
}

/// Why a request is refused.
/// <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub status: u16,
    pub code: u64,
    pub words: &'static str,
    /// The invalid members of the body, each with its error.
    pub errors: Option<(String, &'static str, String)>,
    /// Whether a correct client may get it, too.
    pub is_innocent: bool,
}

impl Refusal {
    pub(super) fn new(status: u16, code: u64, words: &'static str) -> Self {
        Self {
            status,
            code,
            words,
            errors: None,
            is_innocent: false,
        }
    }

    /// An invalid member of the body, by its name.
    pub(super) fn form(member: &str, code: &'static str, words: impl Into<String>) -> Self {
        Self {
            errors: Some((member.to_owned(), code, words.into())),
            ..Self::new(400, 50035, "Invalid Form Body")
        }
    }

    pub(super) fn innocent(mut self) -> Self {
        self.is_innocent = true;
        self
    }

    pub(super) fn body(&self) -> Value {
        let mut body = json!({"message": self.words, "code": self.code});
        if let Some((member, code, words)) = &self.errors {
            let mut errors = json!({"_errors": [{"code": code, "message": words}]});
            for name in member.rsplit('.') {
                errors = json!({name: errors});
            }
            body["errors"] = errors;
        }
        body
    }

    pub(super) fn line(&self) -> String {
        self.body().to_string()
    }
}

/// What the server sends back.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub content_type: &'static str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        let body = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        Self {
            status,
            content_type: "application/json",
            // Without this discord.py treats a 429 as one of the edge.
            headers: vec![("via", "1.1 google".to_owned())],
            body,
        }
    }

    pub(super) fn page(status: u16, words: &str) -> Self {
        Self {
            status,
            content_type: "text/html; charset=UTF-8",
            headers: Vec::new(),
            body: format!("<!doctype html><title>{words}</title><h1>{words}</h1>").into_bytes(),
        }
    }

    pub(super) fn refusal(refusal: &Refusal) -> Self {
        Self::json(refusal.status, &refusal.body())
    }

    /// <https://discord.com/developers/docs/topics/rate-limits#exceeding-a-rate-limit>
    pub(super) fn too_many(retry_after: f64, is_global: bool) -> Self {
        let mut reply = Self::json(
            429,
            &json!({
                "message": "You are being rate limited.", "retry_after": retry_after,
                "global": is_global,
            }),
        );
        let seconds = retry_after.ceil().to_string();
        reply.headers.push(("retry-after", seconds));
        let scope = if is_global { "global" } else { "user" };
        reply.headers.push(("x-ratelimit-scope", scope.to_owned()));
        if is_global {
            reply
                .headers
                .push(("x-ratelimit-global", "true".to_owned()));
        }
        reply
    }

    pub(super) fn send(&self, connection: &mut Connection) -> io::Result<()> {
        let mut headers = self.headers.clone();
        if self.status != 204 {
            headers.push(("content-type", self.content_type.to_owned()));
            return wire::respond(connection, self.status, &headers, &self.body);
        }
        wire::begin(connection, self.status, &headers)
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
                act().send(connection)?;
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

    /// How long the client must wait, and whether that is for all requests.
    pub(super) fn wait(&self) -> Option<(f64, bool)> {
        match self {
            Self::TooManyRequests {
                retry_after,
                is_global,
            } => Some((*retry_after, *is_global)),
            _ => None,
        }
    }

    /// The answer when nothing is done.
    fn instead(&self) -> Reply {
        let refusal = match self {
            Self::TooManyRequests {
                retry_after,
                is_global,
            } => return Reply::too_many(*retry_after, *is_global),
            Self::EdgeTooManyRequests => {
                let mut page = Reply::page(429, "Error 1015: You are being rate limited");
                page.headers.push(("retry-after", "1".to_owned()));
                return page;
            }
            Self::BadGateway => return Reply::page(502, "502 Bad Gateway"),
            Self::Unauthorized => Refusal::new(401, 0, "401: Unauthorized"),
            Self::MissingPermissions => missing_permissions(),
            Self::CannotSend => cannot_send(),
            Self::UnknownChannel => unknown_channel(),
            Self::InternalError => Refusal::new(500, 0, "500: Internal Server Error"),
            other => unreachable!("{other:?} is no refusal"),
        };
        Reply::refusal(&refusal)
    }
}

pub(super) fn missing_permissions() -> Refusal {
    Refusal::new(403, 50013, "Missing Permissions").innocent()
}

pub(super) fn cannot_send() -> Refusal {
    Refusal::new(403, 50007, "Cannot send messages to this user").innocent()
}

pub(super) fn unknown_channel() -> Refusal {
    Refusal::new(404, 10003, "Unknown Channel")
}

pub(super) type Faults = faults::Faults<Call, Fault, Place>;
