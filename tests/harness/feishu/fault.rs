//! How requests fail, and what the server does then.

use std::io;

use serde_json::{Value, json};

use crate::harness::faults;
use crate::harness::wire::{self, Connection};

use super::server::Call;

/// How a request fails.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Too many calls of this API: status 429, with the seconds to wait in a header.
    RateLimited(u64),
    /// Too many messages to one chat.
    ChatRateLimited,
    /// The token is not valid any more.
    TokenExpired,
    /// The card is refused: too many tables.
    CardRefused,
    /// The API itself fails: status 500.
    InternalError,
    /// An HTML page of a proxy, with status 502.
    BadGateway,
    /// The server does it, and the connection breaks before the answer.
    LostReply,
    /// The connection breaks before anything is done.
    Cut,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    pub status: u16,
    pub code: i64,
    pub words: String,
    /// Whether a correct client may get it, too.
    pub is_innocent: bool,
}

impl Refusal {
    pub(super) fn new(code: i64, words: &str) -> Self {
        Self {
            status: 400,
            code,
            words: words.to_owned(),
            is_innocent: false,
        }
    }

    pub(super) fn innocent(mut self) -> Self {
        self.is_innocent = true;
        self
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
        Self {
            status,
            content_type: "application/json; charset=utf-8",
            headers: vec![("x-tt-logid", "20261123000000000000".to_owned())],
            body: body.to_string().into_bytes(),
        }
    }

    pub(super) fn refusal(refusal: &Refusal) -> Self {
        Self::json(
            refusal.status,
            &json!({"code": refusal.code, "msg": refusal.words, "error": {"log_id": "2026"}}),
        )
    }

    pub(super) fn send(&self, connection: &mut Connection) -> io::Result<()> {
        let mut headers = self.headers.clone();
        headers.push(("content-type", self.content_type.to_owned()));
        wire::respond(connection, self.status, &headers, &self.body)
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
            _ => self.instead().send(connection)?,
        }
        Ok(true)
    }

    /// The answer when nothing is done.
    fn instead(&self) -> Reply {
        let refusal = match self {
            Self::RateLimited(seconds) => {
                let mut reply = Reply::json(
                    429,
                    &json!({"code": 99_991_400, "msg": "request trigger frequency limit"}),
                );
                reply
                    .headers
                    .push(("x-ogw-ratelimit-limit", "100".to_owned()));
                reply
                    .headers
                    .push(("x-ogw-ratelimit-reset", seconds.to_string()));
                return reply;
            }
            Self::BadGateway => {
                return Reply {
                    status: 502,
                    content_type: "text/html",
                    headers: Vec::new(),
                    body: b"<h1>502 Bad Gateway</h1>".to_vec(),
                };
            }
            Self::ChatRateLimited => Refusal::new(230_020, "trigger message frequency limit"),
            Self::TokenExpired => token_refused(),
            Self::CardRefused => Refusal::new(
                230_099,
                "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit; ErrorValue: table; ",
            ),
            Self::InternalError => Refusal {
                status: 500,
                ..Refusal::new(1500, "internal error")
            },
            other => unreachable!("{other:?} is no refusal"),
        };
        Reply::refusal(&refusal)
    }
}

pub(super) fn token_refused() -> Refusal {
    let words = "Invalid access token for authorization. Please make a test attempt with the correct token.";
    Refusal::new(99_991_663, words)
}

pub(super) type Faults = faults::Faults<Call, Fault>;
