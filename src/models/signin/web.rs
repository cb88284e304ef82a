//! Requests to sign-in servers.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::{ANSWER_BYTES, EXPLANATION_CHARS};
use super::{Failure, SignIn};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::json::Members;
use crate::base::secret::{Eraser, Secret};
use crate::net::http::oauth::form;
use crate::net::http::{Bound, Client, Method, Settings};
use crate::text::one_line;

/// Time for one request to a sign-in server.
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Bytes of a token: a request's head has 8 KiB.
const TOKEN_BYTES: usize = 6 * 1024;

/// Makes the requests of one sign-in.
pub struct Web {
    client: Client,
    name: &'static str,
    eraser: Eraser,
}

/// What a server answered.
pub struct Answer {
    /// The status.
    pub status: u16,
    body: String,
}

impl Answer {
    /// The members of its JSON; empty if it is something else.
    pub fn members(&self) -> Members<'_> {
        Members::read(&self.body).unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn of(status: u16, body: &str) -> Self {
        let body = body.to_owned();
        Self { status, body }
    }

    /// Whether it did what was asked.
    pub fn is_good(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Web {
    /// Prepares a request, which has [`REQUEST_TIME`].
    pub fn new(sign_in: &SignIn, cancel: &Cancel) -> Result<Self> {
        Self::within(sign_in, REQUEST_TIME, cancel)
    }

    /// Prepares a request, which has this time.
    pub fn within(sign_in: &SignIn, time: Duration, cancel: &Cancel) -> Result<Self> {
        let settings = Settings {
            proxy: sign_in.proxy.clone(),
            clock: sign_in.ins.clock.clone(),
            bound: Some(Bound {
                watch: Stopwatch::start(),
                time,
                bytes: ANSWER_BYTES as u64 * 2,
            }),
            ..Settings::new(time, time)
        };
        Ok(Self {
            client: Client::new(&sign_in.ins.tls, settings, cancel)?,
            name: sign_in.service.name(),
            eraser: Eraser::default(),
        })
    }

    /// The same, whose errors never show these.
    pub fn hiding<'a>(self, secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        Self {
            eraser: Eraser::new(secrets.into_iter().cloned()),
            ..self
        }
    }

    /// Posts a form.
    pub fn post(&self, url: &str, pairs: &[(&str, &str)]) -> Result<Answer> {
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.ask(Method::POST, url, &headers, Some(form::encode(pairs)))
    }

    /// Sends something; a redirect is an answer like any other.
    pub fn ask(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Result<Answer> {
        let mut all = vec![("accept", "application/json")];
        all.extend(headers);
        let body = body.as_deref().map(str::as_bytes);
        let response = self.client.ask(method, url, &all, body)?;
        let status = response.status();
        let read = response.read_to_end(ANSWER_BYTES);
        let body = match read {
            Ok(body) => String::from_utf8_lossy(&body).into_owned(),
            // The status says enough.
            Err(Error::TooLarge { .. } | Error::Network { .. }) if status >= 400 => String::new(),
            Err(error) => return Err(error),
        };
        Ok(Answer { status, body })
    }

    /// An error of this sign-in: one line, without the secrets.
    pub fn fault(&self, what: &str) -> Error {
        let what = self.explanation(what);
        Error::Failed(format!("cannot sign in to {}: {what}", self.name))
    }

    /// Words of an error as they may be shown.
    fn explanation(&self, text: &str) -> String {
        one_line(&self.eraser.clean(text), EXPLANATION_CHARS)
    }

    /// What an answer says about an error, as it may be shown; may be empty.
    pub fn said(&self, answer: &Answer) -> String {
        self.explanation(&problem(&answer.members()).1)
    }

    /// A token of an answer. Fails unless it can be sent.
    pub fn token(&self, members: &Members<'_>, name: &str) -> Result<Secret> {
        let token = members.text_or_empty(name);
        if !token.is_empty() && is_sendable(&token) {
            Ok(Secret::new(&token))
        } else {
            Err(self.fault("its server did not answer with a token that can be used"))
        }
    }

    /// What a refusal means: for [`FINAL`] codes the sign-in has ended.
    pub fn refusal(&self, answer: &Answer) -> Failure {
        let members = answer.members();
        let (code, said) = problem(&members);
        let text = match (code.as_str(), said.as_str()) {
            ("", "") => format!("its server answered {}", answer.status),
            ("", said) => format!("its server says: {said}"),
            (code, "") => format!("its server says {code}"),
            (code, said) => format!("its server says {code}: {said}"),
        };
        let text = self.explanation(&text);
        let is_final =
            FINAL.contains(&code.as_str()) || answer.status == 401 && !members.is_empty();
        if is_final && answer.status < 500 {
            Failure::SignedOut(text)
        } else {
            Failure::Failed(self.fault(&text))
        }
    }
}

/// Refusals after which only a person helps: those of RFC 6749, section 5.2, and those of OpenAI.
const FINAL: [&str; 6] = [
    "invalid_grant",
    "invalid_client",
    "unauthorized_client",
    "refresh_token_expired",
    "refresh_token_reused",
    "refresh_token_invalidated",
];

/// The code of an error, to compare it; empty for none. [`Web::refusal`] shows it.
pub fn code_of(members: &Members<'_>) -> String {
    problem(members).0
}

/// The code and the words of an error: `{"error": "…"}` or `{"error": {"code": "…"}}`, or GitHub's. They may quote
/// what was sent.
fn problem(members: &Members<'_>) -> (String, String) {
    let error = members.members("error");
    let first = |texts: [String; 3]| texts.into_iter().find(|text| !text.is_empty());
    let code = first([
        error.text_or_empty("code"),
        error.text_or_empty("type"),
        members.text_or_empty("error"),
    ]);
    let said = first([
        error.text_or_empty("message"),
        members.text_or_empty("error_description"),
        members.members("error_details").text_or_empty("message"),
    ]);
    let said = said.unwrap_or_else(|| members.text_or_empty("message"));
    (code.unwrap_or_default(), said)
}

/// Whether a token can be the value of a header.
pub fn is_sendable(token: &str) -> bool {
    token.len() <= TOKEN_BYTES && token.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The claims of a JSON web token, as text; its signature is the server's business.
pub fn claims(token: &str) -> Option<String> {
    let payload = token
        .split('.')
        .nth(1)
        .filter(|part| part.len() <= TOKEN_BYTES)?;
    let bytes = BASE64_URL_SAFE_NO_PAD
        .decode(payload.trim_end_matches('='))
        .ok()?;
    String::from_utf8(bytes).ok()
}
