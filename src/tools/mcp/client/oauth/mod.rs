//! Logins to servers that are reached over HTTP: OAuth 2.1 as MCP profiles it
//! (<https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization>).
//!
//! A [`Login`] has two steps, so that its link can go to a chat and the address at which the browser ended
//! can come back as a message. What it ends with is stored, and [`token`] and [`renew`] take it from there:
//! any process that uses the same folder has the login.
//!
//! Every address comes from a server. `web` checks each of them, and where it leads.

pub mod challenge;
mod login;
pub mod metadata;
mod store;
#[cfg(test)]
mod tests;
mod token;
mod web;

pub use challenge::Challenge;
pub use login::{Login, REDIRECT};
pub use store::forget;

use super::http::HttpParts;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::limits::http::ERROR_BODY_BYTES;
use crate::base::secret::{Eraser, Secret};
use crate::net::http::Response;
use crate::text::one_line;
use std::time::Duration;
use store::{Stored, begin_renewing};
use web::Web;

/// Bytes of one header's value: the buffer for a request's head has 8 KiB.
const HEADER_BYTES: usize = 6 * 1024;
/// Bytes of the list of rights in a challenge.
const SCOPE_BYTES: usize = 2048;

/// How often a server may refuse rights that were asked for, within this time, until no further login is tried.
const STEP_UPS: (u32, Duration) = (2, Duration::from_secs(600));
/// Characters of what an authorization server says about an error.
const EXPLANATION_CHARS: usize = 300;

/// A request that a server refused because of its login.
pub struct Refused<'a> {
    /// The status: 401 or 403.
    pub status: u16,
    /// What the server wants.
    pub challenge: Challenge,
    /// The token that it got.
    pub token: Option<&'a Secret>,
    /// Whether that token was renewed just before.
    pub is_second: bool,
}

/// Whether there is a token for a server.
pub fn has_token(parts: &HttpParts) -> bool {
    !store::read(parts).token.is_empty()
}

/// Logs in with the client of the configuration, where that takes no person. False: it takes one.
pub fn log_in_alone(parts: &HttpParts, cancel: &Cancel) -> Result<bool> {
    let _renewing = begin_renewing(parts, cancel)?;
    let mut new = store::read(parts);
    let is_in = login::without_person(parts, &mut new, cancel)?;
    if is_in {
        store::update(parts, |stored| *stored = new)?;
    }
    Ok(is_in)
}

/// The token for a server, renewed when it has expired and that needs no person; `None`: there is no login.
pub fn token(parts: &HttpParts, cancel: &Cancel) -> Result<Option<Secret>> {
    let mut stored = store::read(parts);
    let is_over = stored.expires > 0 && stored.expires <= parts.clock.now_ms();
    // A token that cannot be renewed may still be good: the clock of a board can be wrong.
    if is_over && (stored.is_own || !stored.refresh.is_empty()) {
        let old = stored.token.clone();
        stored = renewed(parts, &old, cancel)?;
    }
    Ok(Some(Secret::new(&stored.token)).filter(|token| !token.is_empty()))
}

/// Renews the token that a server refused. False: that takes a login by a person, for which it is noted
/// what the server wants.
///
/// Fails when the server refuses again and again what was asked for.
pub fn renew(parts: &HttpParts, refused: &Refused<'_>, cancel: &Cancel) -> Result<bool> {
    let sent = refused.token.map_or("", Secret::expose);
    if refused.status == 401 && !refused.is_second {
        let stored = renewed(parts, sent, cancel)?;
        if !stored.token.is_empty() && stored.token != sent {
            return Ok(true);
        }
    }
    if refused.challenge.is_empty() && sent.is_empty() {
        return Ok(false);
    }
    if refused.status == 403 && !refused.challenge.is_insufficient {
        return Ok(false);
    }
    let mut is_hopeless = false;
    store::update(parts, |stored| {
        if refused.status == 401 && stored.token == sent {
            stored.token.clear();
            stored.refresh.clear();
        }
        if refused.status == 403 {
            is_hopeless = !count_refusal(stored, &refused.challenge, parts.clock.now_ms());
        }
        stored.challenge = refused.challenge.clone();
    })?;
    if !is_hopeless {
        Ok(false)
    } else {
        Err(Error::Failed(format!(
            "the MCP server {} refuses the login again and again: it lacks rights that were asked for",
            parts.name
        )))
    }
}

/// Counts a refusal of rights that were asked for; false when there were too many.
fn count_refusal(stored: &mut Stored, challenge: &Challenge, now: i64) -> bool {
    let (most, time) = STEP_UPS;
    let asked: Vec<&str> = stored.scope.split(' ').collect();
    let is_new = !challenge.scope.split(' ').all(|one| asked.contains(&one));
    let is_late = now.abs_diff(stored.refused_at) > time.as_millis() as u64;
    stored.refusals = if is_new || is_late {
        0
    } else {
        stored.refusals
    };
    stored.refusals += u32::from(!is_new);
    stored.refused_at = now;
    stored.refusals < most
}

/// What is stored once the token `old` is replaced, as far as that needs no person.
fn renewed(parts: &HttpParts, old: &str, cancel: &Cancel) -> Result<Stored> {
    let _renewing = begin_renewing(parts, cancel)?;
    let mut stored = store::read(parts);
    // Someone else was faster.
    if stored.token != old {
        return Ok(stored);
    }
    let refresh_before = stored.refresh.clone();
    let is_renewed = if !stored.refresh.is_empty() {
        refresh(parts, &mut stored, cancel)?
    } else {
        login::without_person(parts, &mut stored, cancel)?
    };
    if !is_renewed && old.is_empty() {
        return Ok(stored);
    }
    if !is_renewed {
        stored.token.clear();
        stored.refresh.clear();
    }
    let mut result = Stored::default();
    store::update(parts, |now| {
        // A person may have logged in or out meanwhile.
        if now.token == old && now.refresh == refresh_before {
            *now = stored;
        }
        result = now.clone();
    })?;
    Ok(result)
}

/// The errors of an authorization server after which only a login helps (RFC 6749, section 5.2).
const FINAL: [&str; 3] = ["invalid_grant", "invalid_client", "unauthorized_client"];

/// Trades the token for renewals in; false when the authorization server does not take it any more. After
/// any other refusal the login is kept, because the next try may succeed.
fn refresh(parts: &HttpParts, stored: &mut Stored, cancel: &Cancel) -> Result<bool> {
    let web = Web::new(parts, cancel)?;
    let old = stored.refresh.clone();
    let grant = [
        ("grant_type", "refresh_token"),
        ("refresh_token", old.as_str()),
    ];
    let Err(refusal) = token::request(&web, parts, stored, &grant)? else {
        return Ok(true);
    };
    let server = &parts.name;
    tracing::info!(%server, "the login was not renewed: {refusal}");
    if FINAL.contains(&refusal.split(':').next().unwrap_or_default()) {
        Ok(false)
    } else {
        Err(Error::Failed(format!(
            "the login to the MCP server {server} was not renewed: {refusal}"
        )))
    }
}

/// What is secret of the login to a server, and of its settings.
pub fn secrets(parts: &HttpParts) -> Vec<Secret> {
    let stored = store::read(parts);
    let of_login = [&stored.token, &stored.refresh, &stored.client.secret];
    let of_login = of_login.into_iter().map(|one| Secret::new(one));
    let configured = [&parts.server.client_secret].into_iter();
    let configured = configured.chain(parts.server.headers.values()).cloned();
    of_login.chain(configured).collect()
}

/// An error without the secrets in what a server has said.
pub fn without(eraser: &Eraser, error: Error) -> Error {
    let clean = |text: String| eraser.clean(&text).into_owned();
    match error {
        Error::Failed(text) => Error::Failed(clean(text)),
        Error::Network { host, what } => Error::Network {
            host,
            what: clean(what),
        },
        Error::Status {
            host,
            status,
            retry_after,
            body,
        } => Error::Status {
            host,
            status,
            retry_after,
            body: clean(body),
        },
        error => error,
    }
}

/// What an authorization server says about its refusal, without the secrets.
fn explain(response: Response, eraser: &Eraser) -> String {
    let status = response.status();
    let body = response.read_to_end(ERROR_BODY_BYTES).unwrap_or_default();
    let said = metadata::members(&body).unwrap_or_default();
    // Before they are cut.
    let text = |name: &str| eraser.clean(&said.text_or_empty(name)).into_owned();
    refusal(&text("error"), &text("error_description"), status)
}

/// A refusal as people read it.
fn refusal(error: &str, description: &str, status: u16) -> String {
    let text = match (error, description) {
        ("", _) => format!("it answered {status}"),
        (error, "") => error.to_owned(),
        (error, description) => format!("{error}: {description}"),
    };
    one_line(&text, EXPLANATION_CHARS)
}
