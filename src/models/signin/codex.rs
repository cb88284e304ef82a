//! ChatGPT's subscription, as the Codex command line uses it (<https://github.com/openai/codex>, `codex-rs/login`):
//! OAuth with PKCE, at a public client whose only redirect is an address on the person's own machine.

use serde_json::json;

use super::EXPLANATION_CHARS;
use super::store::Stored;
use super::web::{Answer, Web, claims, code_of, is_sendable};
use super::{Failure, Service, SignIn};
use crate::base::cancel::Cancel;
use crate::base::error::Result;
use crate::base::json::Members;
use crate::base::secret::Secret;
use crate::net::http::Method;
use crate::net::http::oauth::{Binding, form};
use crate::text::one_line;
use std::time::Duration;

/// Time for a token to be revoked: `peacrab logout` removes it here in any case.
const REVOKE_TIME: Duration = Duration::from_secs(10);
/// Bytes of an account's id.
const ACCOUNT_BYTES: usize = 200;

/// The public client of the Codex command line.
const CLIENT: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
/// The only address at which that client's logins end.
pub const REDIRECT: &str = "http://localhost:1455/auth/callback";
/// The port of [`REDIRECT`].
pub const PORT: u16 = 1455;
const SCOPE: &str = "openid profile email offline_access";
/// Who we say we are.
const ORIGINATOR: &str = "peacrab";
/// The claim with the account.
const CLAIM: &str = "https://api.openai.com/auth";

/// The version of the Codex command line whose list of models is asked for: a newer one lists newer models.
pub const CLIENT_VERSION: &str = "0.153.4";

/// The headers that the endpoint needs besides the token.
pub fn headers(account: String) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("originator", ORIGINATOR.to_owned()),
        ("openai-beta", "responses=experimental".to_owned()),
    ];
    if !account.is_empty() {
        headers.push(("chatgpt-account-id", account));
    }
    headers
}

/// A login that waits for a person at a browser.
pub struct Login {
    sign_in: SignIn,
    binding: Binding,
    url: String,
}

/// Why an address does not end a login.
#[derive(Debug, PartialEq, Eq)]
pub enum NotEnded {
    /// Another address may: this one is not whole, or not of this login.
    Again(&'static str),
    /// The server has refused.
    Refused(String),
}

impl Login {
    /// Makes the link. Nothing is asked yet.
    pub fn begin(sign_in: &SignIn) -> Result<Self> {
        let binding = Binding::new()?;
        let challenge = binding.challenge();
        let pairs = [
            ("response_type", "code"),
            ("client_id", CLIENT),
            ("redirect_uri", REDIRECT),
            ("scope", SCOPE),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", &binding.state),
            ("id_token_add_organizations", "true"),
            ("codex_cli_simplified_flow", "true"),
            ("originator", ORIGINATOR),
        ];
        let url = format!("{}/oauth/authorize", sign_in.addresses.issuer);
        Ok(Self {
            url: form::extend(&url, &pairs),
            sign_in: sign_in.clone(),
            binding,
        })
    }

    /// The page that the person opens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What the address at which the browser ends has as its `state`: letters, digits, `-` and `_`.
    pub fn state(&self) -> &str {
        &self.binding.state
    }

    /// The code in the address at which the browser ended, however it was pasted.
    pub fn code(&self, pasted: &str) -> std::result::Result<Secret, NotEnded> {
        let address: String = pasted.split_whitespace().collect();
        if !address.starts_with("http") {
            return Err(NotEnded::Again(
                "That is not the whole address. Copy all of it from the browser, with code= and state=.",
            ));
        }
        let names = ["state", "error", "code"];
        if names.iter().any(|name| form::count_of(&address, name) > 1) {
            return Err(NotEnded::Again("The address contains a value twice."));
        }
        let value = |name: &str| form::value_of(&address, name).filter(|value| !value.is_empty());
        if value("state").as_deref() != Some(self.state()) {
            return Err(NotEnded::Again(
                "This address is not whole, or of another sign-in. Copy all of it from the page that this link led to.",
            ));
        }
        if let Some(error) = value("error") {
            let said = value("error_description").unwrap_or_default();
            let text = one_line(format!("{error} {said}").trim(), EXPLANATION_CHARS);
            return Err(NotEnded::Refused(text));
        }
        let code = value("code").filter(|code| is_sendable(code));
        code.map(|code| Secret::new(&code))
            .ok_or(NotEnded::Again("The address contains no code."))
    }

    /// Ends the login, and stores it.
    pub fn finish(self, code: &Secret, cancel: &Cancel) -> Result<()> {
        let sign_in = &self.sign_in;
        let verifier = Secret::new(&self.binding.verifier);
        let web = Web::new(sign_in, cancel)?.hiding([code, &verifier]);
        let _lock = sign_in.lock(cancel)?;
        let answer = web.post(
            &token_url(sign_in),
            &[
                ("grant_type", "authorization_code"),
                ("client_id", CLIENT),
                ("code", code.expose()),
                ("code_verifier", verifier.expose()),
                ("redirect_uri", REDIRECT),
            ],
        )?;
        match read(sign_in, &web, &answer, &Stored::default()) {
            Ok(stored) => sign_in.write(&stored),
            Err(Failure::SignedOut(text)) => Err(web.fault(&text)),
            Err(Failure::Failed(error)) => Err(error),
        }
    }
}

fn token_url(sign_in: &SignIn) -> String {
    format!("{}/oauth/token", sign_in.addresses.issuer)
}

/// Trades the token for renewals in.
pub(super) fn refresh(sign_in: &SignIn, web: &Web, stored: &Stored) -> Result<Stored, Failure> {
    let answer = web.post(
        &token_url(sign_in),
        &[
            ("grant_type", "refresh_token"),
            ("client_id", CLIENT),
            ("refresh_token", stored.refresh.expose()),
        ],
    )?;
    read(sign_in, web, &answer, stored)
}

/// Reads an answer with tokens. What it leaves out stays as it was before.
fn read(sign_in: &SignIn, web: &Web, answer: &Answer, before: &Stored) -> Result<Stored, Failure> {
    let members = answer.members();
    // Some servers refuse with status 200.
    if !answer.is_good() || !code_of(&members).is_empty() {
        return Err(web.refusal(answer));
    }
    let token = web.token(&members, "access_token")?;
    let refresh = members
        .text("refresh_token")
        .filter(|token| is_sendable(token));
    let of_token = claims(token.expose());
    let of_token = of_token
        .as_deref()
        .and_then(Members::read)
        .unwrap_or_default();
    let of_id = claims(&members.text_or_empty("id_token"));
    let of_id = of_id.as_deref().and_then(Members::read).unwrap_or_default();
    let account = [&of_token, &of_id].into_iter().find_map(account);
    let lasts = members.number("expires_in").or_else(|| {
        let (from, until) = (of_token.number("iat")?, of_token.number("exp")?);
        until.checked_sub(from)
    });
    Ok(Stored {
        token,
        refresh: refresh.map_or_else(|| before.refresh.clone(), |token| Secret::new(&token)),
        expires: sign_in.expiry(lasts),
        account: account.unwrap_or_else(|| before.account.clone()),
        api: String::new(),
    })
}

/// The account that claims name.
fn account(claims: &Members<'_>) -> Option<String> {
    let account = claims.members(CLAIM).text("chatgpt_account_id")?;
    let is_fit = account.len() <= ACCOUNT_BYTES && !account.is_empty() && is_sendable(&account);
    is_fit.then_some(account)
}

/// Has the server forget the tokens.
pub(super) fn revoke(sign_in: &SignIn, stored: &Stored, cancel: &Cancel) -> Result<()> {
    let (token, kind) = if stored.refresh.is_empty() {
        (&stored.token, "access_token")
    } else {
        (&stored.refresh, "refresh_token")
    };
    let web = Web::within(sign_in, REVOKE_TIME, cancel)?.hiding([&stored.token, &stored.refresh]);
    let url = format!("{}/oauth/revoke", sign_in.addresses.issuer);
    let body = json!({"token": token.expose(), "token_type_hint": kind, "client_id": CLIENT});
    let headers = [("content-type", "application/json")];
    let answer = web.ask(Method::POST, &url, &headers, Some(body.to_string()))?;
    if answer.is_good() {
        Ok(())
    } else {
        Err(web.fault(&format!("{} was not revoked", Service::Codex.name())))
    }
}
