//! MoChat's API, as far as it is used, over one connection. Every call is a POST, and an error may have the status 200.

use std::time::Duration;

use serde_json::{Value, json};

use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::json;
use crate::base::limits::channels::{IDLE, JSON_LEVELS_MAX, LONGEST_WAIT, SAID_CHARS, USUAL_WAIT};
use crate::base::limits::http::BODY_BYTES;
use crate::base::secret::{Eraser, Secret};
use crate::channels::kit::adapter::{Failure, Sent};
use crate::config::schema::Bot;
use crate::net::http::{Client, Method, Settings, Tls};
use crate::text::one_line;

/// The error for a wrong token.
const BAD_TOKEN: &str = "MoChat rejects the agent's token: set channels.mochat.clawToken to the one that MoChat shows for the agent";

/// The status within a reply that means success.
const OK: u64 = 200;

/// A connection to the API. It makes one call at a time, so each thread has its own.
pub struct Api {
    client: Client,
    base: String,
    token: Secret,
}

impl Api {
    /// Prepares calls; nothing is connected yet. `patience` is how long a reply may take to begin.
    ///
    /// Fails with [`Error::Config`] when the proxy's URL is invalid.
    pub fn new(bot: &Bot, tls: &Tls, patience: Duration, cancel: &Cancel) -> Result<Self> {
        let settings = Settings {
            proxy: bot.proxy.clone(),
            ..Settings::new(patience, IDLE)
        };
        Ok(Self {
            client: Client::new(tls, settings, cancel)?,
            base: bot.text("baseUrl").trim_end_matches('/').to_owned(),
            token: bot.secret("clawToken"),
        })
    }

    /// Makes a call; returns the `data` of its reply.
    pub fn call(&self, path: &str, body: &Value) -> Sent<Value> {
        let headers = [
            ("content-type", "application/json"),
            ("x-claw-token", self.token.expose()),
        ];
        let url = format!("{}/api/claw/{path}", self.base);
        let reply = self
            .client
            .send(Method::POST, &url, &headers, body.to_string().as_bytes())
            .and_then(|response| response.read_to_end(BODY_BYTES))
            .map_err(|error| self.explain(error))?;
        let text = String::from_utf8_lossy(&reply);
        let mut reply = json::with_texts_from_str(&text, JSON_LEVELS_MAX).map_err(|error| {
            Failure::Trouble(format!(
                "unexpected reply from MoChat (byte {})",
                error.column()
            ))
        })?;
        match json::to_number(&reply["code"]) {
            None => Ok(reply),
            Some(OK) => Ok(reply["data"].take()),
            Some(code) => {
                let said = reply["message"].as_str().or_else(|| reply["name"].as_str());
                Err(self.refused(code, said.unwrap_or_default(), None))
            }
        }
    }

    /// Sends a text to a session or a panel; returns its id, if MoChat tells it.
    pub fn send(&self, chat: &str, text: &str, is_session: bool) -> Sent<String> {
        let (path, key) = if is_session {
            ("sessions/send", "sessionId")
        } else {
            ("groups/panels/send", "panelId")
        };
        let sent = self.call(path, &json!({key: chat, "content": text}))?;
        Ok(sent["messageId"].as_str().unwrap_or_default().to_owned())
    }

    /// What a refusal means, without the token, which the server or a proxy's page may have repeated.
    fn refused(&self, code: u64, said: &str, retry_after: Option<Duration>) -> Failure {
        let eraser = Eraser::new([self.token.clone()]);
        refused(code, &eraser.clean(said), retry_after)
    }

    /// What an error means.
    fn explain(&self, error: Error) -> Failure {
        match error {
            Error::Status {
                status,
                retry_after,
                body,
                ..
            } => self.refused(u64::from(status), &body, retry_after),
            error @ Error::Network { .. } => Failure::Down(error.to_string()),
            error @ Error::Timeout { .. } => Failure::Trouble(error.to_string()),
            Error::Stopped => Failure::Stopped,
            error => Failure::Local(error),
        }
    }
}

/// What a refusal means. Its code is that of HTTP, in the reply or in its head.
fn refused(code: u64, said: &str, retry_after: Option<Duration>) -> Failure {
    let said = format!(
        "MoChat refused the request: {} ({code})",
        one_line(said, SAID_CHARS)
    );
    match code {
        401 | 403 => Failure::Down(BAD_TOKEN.to_owned()),
        404 | 410 => Failure::Gone {
            said,
            moved_to: None,
        },
        429 => Failure::RetryAfter(retry_after.unwrap_or(USUAL_WAIT).min(LONGEST_WAIT)),
        400..=499 => Failure::Refused(said),
        _ => Failure::Trouble(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_says_what_can_be_done() {
        assert!(matches!(refused(401, "", None), Failure::Down(said) if said == BAD_TOKEN));
        assert!(matches!(refused(429, "", None), Failure::RetryAfter(wait) if wait == USUAL_WAIT));
        assert!(matches!(refused(404, "x", None), Failure::Gone { .. }));
        assert!(
            matches!(refused(400, "x", None), Failure::Refused(said) if said.contains("x (400)"))
        );
        for code in [500, 502, 0, 10_000] {
            assert!(
                matches!(refused(code, "", None), Failure::Trouble(_)),
                "{code}"
            );
        }
    }
}
