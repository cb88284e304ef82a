//! A login, from the link for the browser to the stored token.

use serde_json::json;

use super::store::{self, Registered, Stored};
use super::web::{Found, Web};
use super::{Challenge, metadata, refusal, token};
use super::{HEADER_BYTES, SCOPE_BYTES};
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::secret::Secret;
use crate::net::http::address::{is_same_origin, origin};
use crate::net::http::oauth::{Binding, form};
use crate::text::one_line;
use crate::tools::mcp::client::http::HttpParts;

/// Where the browser returns to when no program listens for it: the person takes the address from there. A
/// client that is registered by hand has this address.
pub const REDIRECT: &str = "http://127.0.0.1:38389/callback";

/// A login that waits for a person at a browser.
pub struct Login {
    parts: HttpParts,
    /// What is stored when it ends.
    stored: Stored,
    /// Whether the authorization server says who it is when the browser returns.
    says_issuer: bool,
    binding: Binding,
    url: String,
    /// Whether the code was sent, which can be done once.
    is_used: bool,
}

impl Login {
    /// Finds out how one logs in at the server, and registers there where that is needed.
    ///
    /// `redirect` is the address of a listener on loopback; `None`: the person copies the address at which
    /// the browser ended.
    pub fn begin(parts: &HttpParts, redirect: Option<&str>, cancel: &Cancel) -> Result<Self> {
        let redirect = redirect.unwrap_or(REDIRECT);
        let web = Web::new(parts, cancel)?;
        let before = store::read(parts);
        let challenge = if before.challenge.is_empty() {
            web.probe(parts)?
        } else {
            before.challenge.clone()
        };
        let found = web.discover(&challenge)?;
        if found.issuer.needs_no_person() {
            return Err(web.fault(&format!(
                "its authorization server gives tokens to programs only (client_credentials), so there is no \
                 login in a browser: set tools.mcpServers.{0}.clientId and tools.mcpServers.{0}.clientSecret",
                parts.name
            )));
        }
        let methods = found.issuer.code_challenge_methods_supported.as_deref();
        if !methods.is_some_and(|methods| methods.iter().any(|method| method == "S256")) {
            return Err(web.fault("its authorization server does not support PKCE with S256"));
        }
        web.check(&found.issuer.authorization_endpoint)?;
        web.check(&found.issuer.token_endpoint)?;
        let client = client(&web, parts, &before, &found, redirect)?;
        if client.is_configured(parts) {
            check_page(&web, parts, &found)?;
        }
        let is_known = before.issuer == found.issuer.issuer;
        let asked = if is_known { before.scope.as_str() } else { "" };
        let scope = scope(asked, &challenge, &found);
        let binding = Binding::new()?;
        let bound = binding.challenge();
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", client.id.as_str()),
            ("redirect_uri", redirect),
            ("code_challenge", &bound),
            ("code_challenge_method", "S256"),
            ("state", &binding.state),
            ("resource", &found.resource),
        ];
        if !scope.is_empty() {
            pairs.push(("scope", &scope));
        }
        // OpenID Connect gives a token for renewals only after a question (Core 1.0, section 11).
        if scope.split(' ').any(|one| one == OFFLINE) {
            pairs.push(("prompt", "consent"));
        }
        let url = form::extend(&form::tame(&found.issuer.authorization_endpoint), &pairs);
        let says_issuer = found.issuer.authorization_response_iss_parameter_supported;
        Ok(Self {
            parts: parts.clone(),
            says_issuer,
            binding,
            url,
            is_used: false,
            stored: Stored {
                client,
                scope,
                refusals: before.refusals,
                refused_at: before.refused_at,
                ..stored(found)
            },
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

    /// Whether it cannot be finished with another address any more.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// Ends the login with the address at which the browser ended, and stores it.
    pub fn finish(&mut self, address: &str, cancel: &Cancel) -> Result<()> {
        let address = address.trim();
        let value = |name: &str| form::value_of(address, name);
        let hidden = [value("code"), Some(self.binding.verifier.clone())];
        let hidden = hidden.into_iter().flatten().map(|one| Secret::new(&one));
        let web = Web::new(&self.parts, cancel)?.hiding(hidden);
        // Of two values, the browser and the servers on its way may each have meant another one (RFC 6749, section 3.1).
        let names = ["state", "iss", "error", "code"];
        if names.iter().any(|name| form::count_of(address, name) > 1) {
            return Err(web.fault("the address contains a value twice"));
        }
        if value("state").as_deref() != Some(&self.binding.state) {
            return Err(web.fault(
                "this is not the address at which this login ended. It begins with the address of this \
                 computer and contains state= and code=",
            ));
        }
        // Before anything else that the address says (RFC 9207, section 2.4).
        let is_same = match value("iss") {
            Some(issuer) => issuer == self.stored.issuer,
            None => !self.says_issuer,
        };
        if !is_same {
            return Err(web.fault("the answer comes from another authorization server"));
        }
        if let Some(error) = value("error") {
            let said = refusal(&error, &value("error_description").unwrap_or_default(), 0);
            return Err(web.fault(&format!("its authorization server says {said}")));
        }
        let code = value("code").filter(|code| !code.is_empty() && code.len() <= HEADER_BYTES);
        let code = code.ok_or_else(|| web.fault("the address contains no code"))?;
        let redirect = self.stored.client.redirect.clone();
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", redirect.as_str()),
            ("code_verifier", self.binding.verifier.as_str()),
        ];
        self.is_used = true;
        match token::request(&web, &self.parts, &mut self.stored, &grant)? {
            Ok(()) => store::update(&self.parts, |stored| *stored = self.stored.clone()),
            Err(refusal) => {
                if refusal.starts_with("invalid_client") {
                    store::update(&self.parts, |stored| stored.client = Registered::default())?;
                }
                Err(web.fault(&format!("its authorization server says {refusal}")))
            }
        }
    }
}

/// Characters of an authorization server's name in an error.
const ISSUER_CHARS: usize = 200;

/// A right that gives a token for renewals.
const OFFLINE: &str = "offline_access";

/// A token that is given to the program itself, where the configuration has a client with a secret and the
/// authorization server has no way for people. False: it is not like that.
pub fn without_person(parts: &HttpParts, stored: &mut Stored, cancel: &Cancel) -> Result<bool> {
    if parts.server.client_id.is_empty() || parts.server.client_secret.is_empty() {
        return Ok(false);
    }
    let web = Web::new(parts, cancel)?;
    let challenge = web.probe(parts)?;
    let found = web.discover(&challenge)?;
    if !found.issuer.needs_no_person() {
        return Ok(false);
    }
    // Nobody sees where the secret goes.
    if parts.server.issuer.is_empty() && !stored.client.is_configured(parts) {
        return Err(unvouched(&web, parts, &found));
    }
    let client = client(&web, parts, stored, &found, "")?;
    let scope = scope("", &challenge, &found);
    *stored = Stored {
        client,
        is_own: true,
        ..self::stored(found)
    };
    let mut grant = vec![("grant_type", "client_credentials")];
    if !scope.is_empty() {
        grant.push(("scope", &scope));
    }
    let outcome = token::request(&web, parts, stored, &grant)?;
    outcome
        .map(|()| true)
        .map_err(|refusal| web.fault(&format!("its authorization server says {refusal}")))
}

/// The refusal to use the configured client at an authorization server that nothing but the MCP server vouches for.
fn unvouched(web: &Web, parts: &HttpParts, found: &Found) -> Error {
    web.fault(&format!(
        "its authorization server is {}: if the configured clientId is for that one, set \
         tools.mcpServers.{}.issuer to it",
        one_line(&found.issuer.issuer, ISSUER_CHARS),
        parts.name
    ))
}

/// Fails where the page that the person sees says nothing about who gets the code and the secret, and the
/// configuration does not name the issuer: the page may be a genuine one of somebody else's.
fn check_page(web: &Web, parts: &HttpParts, found: &Found) -> Result<()> {
    let (page, tokens) = (
        &found.issuer.authorization_endpoint,
        &found.issuer.token_endpoint,
    );
    if !parts.server.issuer.is_empty() || is_same_origin(page, tokens) {
        return Ok(());
    }
    let shown = |url: &str| one_line(&origin(url).unwrap_or_default(), ISSUER_CHARS);
    Err(web.fault(&format!(
        "its authorization server is {0}, where you would log in at {1}, but the code would go to {2}. If that is \
         right, set tools.mcpServers.{3}.issuer to {0}",
        one_line(&found.issuer.issuer, ISSUER_CHARS),
        shown(page),
        shown(tokens),
        parts.name
    )))
}

fn stored(found: Found) -> Stored {
    Stored {
        resource: found.resource,
        issuer: found.issuer.issuer,
        token_endpoint: found.issuer.token_endpoint,
        ..Stored::default()
    }
}

/// The rights to ask for: those that were asked for before, and what the server wants, or says it has.
fn scope(asked: &str, challenge: &Challenge, found: &Found) -> String {
    let all = found.scopes.as_deref().unwrap_or_default();
    let wanted: Vec<&str> = if challenge.scope.is_empty() {
        all.iter().map(String::as_str).collect()
    } else {
        challenge.scope.split(' ').collect()
    };
    let mut scope: Vec<&str> = Vec::new();
    let mut length = OFFLINE.len();
    let offered = found.issuer.scopes_supported.as_deref().unwrap_or_default();
    let offline = offered.iter().any(|one| one == OFFLINE).then_some(OFFLINE);
    for one in asked.split(' ').chain(wanted) {
        let is_new = !one.is_empty() && !scope.contains(&one);
        if is_new && length + 1 + one.len() <= SCOPE_BYTES {
            length += 1 + one.len();
            scope.push(one);
        }
    }
    if !scope.is_empty() && !scope.contains(&OFFLINE) {
        scope.extend(offline);
    }
    scope.join(" ")
}

/// Who we are at the authorization server: as the configuration says, else by the address of a document,
/// else as registered there before, else as registered now.
fn client(
    web: &Web,
    parts: &HttpParts,
    before: &Stored,
    found: &Found,
    redirect: &str,
) -> Result<Registered> {
    let (id, issuer) = (&parts.server.client_id, &found.issuer);
    let is_document = id.starts_with("https://");
    if !parts.server.issuer.is_empty() && parts.server.issuer != issuer.issuer {
        return Err(web.fault(&format!(
            "its authorization server is {}, and tools.mcpServers.{}.issuer is another one",
            one_line(&issuer.issuer, ISSUER_CHARS),
            parts.name
        )));
    }
    // A secret goes to no other server than the one that it was meant for, even if the issuer names another now.
    let is_moved = !before.issuer.is_empty()
        && (before.issuer != issuer.issuer
            || origin(&before.token_endpoint) != origin(&issuer.token_endpoint));
    let named = |method: &str| Registered {
        id: id.clone(),
        method: method.to_owned(),
        redirect: redirect.to_owned(),
        ..Registered::default()
    };
    if is_document && issuer.client_id_metadata_document_supported {
        return Ok(named("none"));
    }
    if !id.is_empty() && !is_document {
        let is_other = !before.client.id.is_empty() && !before.client.is_configured(parts);
        if is_moved && is_other && parts.server.issuer.is_empty() {
            return Err(unvouched(web, parts, found));
        }
        if is_moved && !is_other {
            return Err(web.fault(
                "its authorization server, or where that gives out tokens, is another one than before, where the \
                 configured clientId may not be known. Log out, and set a clientId of the new one",
            ));
        }
        let secret = &parts.server.client_secret;
        let method = match secret.is_empty() {
            true => "none",
            false if secret.expose().starts_with("-----BEGIN") => "private_key_jwt",
            false => method_for(issuer),
        };
        return Ok(named(method));
    }
    let known = &before.client;
    if !is_moved && known.redirect == redirect && !known.id.is_empty() {
        return Ok(known.clone());
    }
    register(web, found, redirect)
}

/// How a client with a secret says who it is.
fn method_for(issuer: &metadata::Issuer) -> &'static str {
    let methods = ["client_secret_basic", "client_secret_post"];
    let taken = methods.into_iter().find(|method| issuer.takes(method));
    taken.unwrap_or("none")
}

/// Registers a client (RFC 7591).
fn register(web: &Web, found: &Found, redirect: &str) -> Result<Registered> {
    let Some(endpoint) = &found.issuer.registration_endpoint else {
        return Err(web.fault(
            "its authorization server registers no clients. Register one there by hand, and set clientId \
             and clientSecret",
        ));
    };
    let method = if found.issuer.takes("none") {
        "none"
    } else {
        method_for(&found.issuer)
    };
    let body = json!({
        "client_name": "Peacrab",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native",
    });
    let headers = [("content-type", "application/json")];
    let answer = web
        .post(endpoint, &headers, &body.to_string(), &[])?
        .map_err(|refusal| web.fault(&format!("its registration says {refusal}")))?;
    let answer = metadata::members(&answer).unwrap_or_default();
    let (id, secret) = (
        answer.text_or_empty("client_id"),
        answer.text_or_empty("client_secret"),
    );
    let is_usable =
        |text: &str| text.len() <= HEADER_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic());
    if id.is_empty() || !is_usable(&id) || !is_usable(&secret) {
        return Err(web.fault("its registration did not answer with a client that can be used"));
    }
    let given = answer.text_or_empty("token_endpoint_auth_method");
    let method = match (secret.is_empty(), given.as_str()) {
        (true, _) | (_, "none") => "none",
        (_, "client_secret_basic") => "client_secret_basic",
        (_, "client_secret_post") => "client_secret_post",
        (false, _) => method_for(&found.issuer),
    };
    Ok(Registered {
        id,
        secret,
        method: method.to_owned(),
        redirect: redirect.to_owned(),
        is_registered: true,
    })
}
