//! GitHub Copilot's subscription: GitHub's device code (RFC 8628) gives a token that lasts, which is exchanged for a
//! short one. Endpoints and names are those that editors use; none of them is documented.

use std::time::Duration;

use super::store::Stored;
use super::web::{Answer, Web, code_of};
use super::{Failure, SignIn};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::secret::Secret;
use crate::net::http::Method;
use crate::net::http::oauth::form;

/// How long a person has for GitHub's device code, whatever the server says.
const DEVICE_TIME: Duration = Duration::from_secs(900);
/// Shortest and longest pause between two questions whether the code was entered.
const DEVICE_PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The pause when the server names none (RFC 8628, section 3.2), and how much longer it gets after `slow_down`.
const DEVICE_PAUSE_USUAL: Duration = Duration::from_secs(5);
/// Characters of the code that the person enters.
const USER_CODE_CHARS: usize = 40;

/// The public client of Copilot's editor plugins.
const CLIENT: &str = "Iv1.b507a08c87ecfe98";
/// What the service wants to hear from an editor.
const EDITOR: [(&str, &str); 2] = [
    ("editor-version", "vscode/1.99.0"),
    ("editor-plugin-version", "copilot-chat/0.26.7"),
];
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The headers that the endpoint needs besides the token.
pub fn headers() -> Vec<(&'static str, String)> {
    let further = [
        ("copilot-integration-id", "vscode-chat"),
        ("openai-intent", "conversation-panel"),
        ("x-github-api-version", "2025-04-01"),
    ];
    let all = EDITOR.into_iter().chain(further);
    all.map(|(name, value)| (name, value.to_owned())).collect()
}

/// A login that waits for a person to enter a code.
pub struct Device {
    sign_in: SignIn,
    code: Secret,
    pause: Duration,
    time: Duration,
    /// The page that the person opens.
    pub url: String,
    /// What they enter there.
    pub user_code: String,
}

/// What GitHub says while the code has not been entered.
#[derive(Debug, PartialEq, Eq)]
enum Polled {
    /// To be asked again after this pause.
    Wait(Duration),
    Ended(&'static str),
    Unclear,
}

impl Device {
    /// Asks for a code.
    pub fn begin(sign_in: &SignIn, cancel: &Cancel) -> Result<Self> {
        let web = Web::new(sign_in, cancel)?;
        let url = format!("{}/login/device/code", sign_in.addresses.issuer);
        let answer = web.post(&url, &[("client_id", CLIENT), ("scope", "read:user")])?;
        if !answer.is_good() {
            return Err(error_of(&web, web.refusal(&answer)));
        }
        let members = answer.members();
        let code = web.token(&members, "device_code")?;
        let user_code = members.text_or_empty("user_code");
        let url = form::tame(&members.text_or_empty("verification_uri"));
        let is_fit = (1..=USER_CODE_CHARS).contains(&user_code.len())
            && user_code.bytes().all(|byte| byte.is_ascii_graphic())
            && url.starts_with(&format!("{}/", sign_in.addresses.issuer));
        if !is_fit {
            return Err(web.fault("its server did not answer with a code that can be used"));
        }
        let seconds = |name: &str| members.number(name).map(Duration::from_secs);
        Ok(Self {
            sign_in: sign_in.clone(),
            code,
            pause: bounded(seconds("interval").unwrap_or(DEVICE_PAUSE_USUAL)),
            time: seconds("expires_in")
                .unwrap_or(DEVICE_TIME)
                .min(DEVICE_TIME),
            url,
            user_code,
        })
    }

    /// Waits until the code was entered, gets a token for Copilot with what comes back, and stores both.
    pub fn finish(mut self, cancel: &Cancel) -> Result<()> {
        let watch = Stopwatch::start();
        loop {
            if cancel.wait(self.pause) {
                return Err(Error::Stopped);
            }
            let web = Web::new(&self.sign_in, cancel)?.hiding([&self.code]);
            if watch.elapsed() > self.time {
                return Err(web.fault(EXPIRED));
            }
            let url = format!("{}/login/oauth/access_token", self.sign_in.addresses.issuer);
            let pairs = [
                ("client_id", CLIENT),
                ("device_code", self.code.expose()),
                ("grant_type", GRANT),
            ];
            let answer = match web.post(&url, &pairs) {
                Ok(answer) => answer,
                // The network may come back before the code expires.
                Err(Error::Network { .. } | Error::Timeout { .. }) => continue,
                Err(error) => return Err(error),
            };
            let members = answer.members();
            if answer.is_good() && members.text("access_token").is_some() {
                let token = web.token(&members, "access_token")?;
                return self.store(&token, cancel);
            }
            match judge(&answer, self.pause) {
                Polled::Wait(pause) => self.pause = pause,
                Polled::Ended(why) => return Err(web.fault(why)),
                Polled::Unclear => return Err(error_of(&web, web.refusal(&answer))),
            }
        }
    }

    /// Nothing is stored of an account without Copilot.
    fn store(&self, token: &Secret, cancel: &Cancel) -> Result<()> {
        let _lock = self.sign_in.lock(cancel)?;
        let web = Web::new(&self.sign_in, cancel)?.hiding([token]);
        match exchange(&self.sign_in, &web, token) {
            Ok(stored) => self.sign_in.write(&stored),
            Err(failure) => Err(error_of(&web, failure)),
        }
    }
}

const EXPIRED: &str = "the code has expired. Start again: peacrab login github-copilot";

/// What an answer without a token means (RFC 8628, section 3.5).
fn judge(answer: &Answer, pause: Duration) -> Polled {
    let members = answer.members();
    match code_of(&members).as_str() {
        "authorization_pending" => Polled::Wait(pause),
        "slow_down" => {
            let named = members.number("interval").map(Duration::from_secs);
            Polled::Wait(bounded(
                named.unwrap_or_default().max(pause + DEVICE_PAUSE_USUAL),
            ))
        }
        "expired_token" => Polled::Ended(EXPIRED),
        "access_denied" => Polled::Ended("it was declined on GitHub's page"),
        // A server that is overloaded for a moment.
        "" if answer.status >= 500 || answer.status == 429 => {
            Polled::Wait(bounded(pause + DEVICE_PAUSE_USUAL))
        }
        _ => Polled::Unclear,
    }
}

fn bounded(pause: Duration) -> Duration {
    pause.clamp(DEVICE_PAUSE.0, DEVICE_PAUSE.1)
}

fn error_of(web: &Web, failure: Failure) -> Error {
    match failure {
        Failure::SignedOut(text) => web.fault(&text),
        Failure::Failed(error) => error,
    }
}

/// Gets a token for Copilot with GitHub's.
pub(super) fn exchange(sign_in: &SignIn, web: &Web, token: &Secret) -> Result<Stored, Failure> {
    let url = format!("{}/copilot_internal/v2/token", sign_in.addresses.exchange);
    let authorization = format!("token {}", token.expose());
    let mut headers = vec![("authorization", authorization.as_str())];
    headers.extend(EDITOR);
    let answer = web.ask(Method::GET, &url, &headers, None)?;
    let members = answer.members();
    if matches!(answer.status, 403 | 404) && !members.is_empty() {
        let said = web.said(&answer);
        let text = format!("GitHub gives this account no access to Copilot ({said})");
        return Err(web.fault(&text).into());
    }
    if !answer.is_good() {
        return Err(web.refusal(&answer));
    }
    let api = members.members("endpoints").text_or_empty("api");
    let api = api.trim_end_matches('/');
    // The token's end by the server's clock says nothing on a board whose clock is wrong.
    let lasts = members.number("refresh_in");
    Ok(Stored {
        token: web.token(&members, "token")?,
        refresh: token.clone(),
        expires: sign_in.expiry(lasts),
        account: String::new(),
        api: if sign_in.addresses.may_be_api(api) {
            api.to_owned()
        } else {
            String::new()
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::web::Answer;
    use super::*;

    #[test]
    fn github_is_asked_again_as_it_wants() {
        let five = Duration::from_secs(5);
        let judged = |status, body: &str| judge(&Answer::of(status, body), five);
        let wait = |seconds| Polled::Wait(Duration::from_secs(seconds));
        for (body, expected) in [
            (r#"{"error":"authorization_pending"}"#, wait(5)),
            (r#"{"error":"slow_down"}"#, wait(10)),
            (r#"{"error":"slow_down","interval":12}"#, wait(12)),
            (r#"{"error":"slow_down","interval":99999999}"#, wait(60)),
            (r#"{"error":"expired_token"}"#, Polled::Ended(EXPIRED)),
            (
                r#"{"error":"incorrect_client_credentials"}"#,
                Polled::Unclear,
            ),
            ("{}", Polled::Unclear),
            ("<html>", Polled::Unclear),
        ] {
            assert_eq!(judged(200, body), expected, "{body}");
        }
        assert_eq!(judged(502, "<html>"), wait(10));
        let denied = judged(400, r#"{"error":"access_denied"}"#);
        assert!(matches!(denied, Polled::Ended(why) if why.contains("declined")));
    }
}
