//! Tokens: what is sent for one, and what comes back.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

use super::HEADER_BYTES;
use super::metadata;
use super::store::{Registered, Stored};
use super::web::Web;
use crate::base::error::{Error, Result};
use crate::net::http::address;
use crate::net::http::oauth::form;
use crate::sys::random;
use crate::tools::mcp::client::http::HttpParts;
use std::time::Duration;

/// For how long a signed assertion holds.
const ASSERTION_TIME: Duration = Duration::from_secs(300);

/// Asks for a token, and puts it into `stored`, which has the client and the addresses. The inner error is
/// what the authorization server says about its refusal.
pub fn request(
    web: &Web,
    parts: &HttpParts,
    stored: &mut Stored,
    grant: &[(&str, &str)],
) -> Result<std::result::Result<(), String>> {
    let client = &stored.client;
    let secret = secret(parts, client);
    let mut pairs = grant.to_vec();
    pairs.push(("resource", &stored.resource));
    // What an error may quote.
    let mut sent: Vec<&str> = vec![secret];
    let hidden = ["refresh_token", "code", "code_verifier"];
    let of_grant = grant.iter().filter(|(name, _)| hidden.contains(name));
    sent.extend(of_grant.map(|(_, value)| *value));
    let (basic, assertion);
    let mut headers = vec![("content-type", "application/x-www-form-urlencoded")];
    match client.method.as_str() {
        "client_secret_basic" => {
            let plain = format!(
                "{}:{}",
                address::percent_encode(&client.id),
                address::percent_encode(secret)
            );
            basic = format!("Basic {}", BASE64_STANDARD.encode(plain));
            headers.push(("authorization", &basic));
            sent.push(&basic);
        }
        "client_secret_post" => {
            pairs.extend([("client_id", client.id.as_str()), ("client_secret", secret)]);
        }
        "private_key_jwt" => {
            assertion = sign(parts, client, &stored.issuer)?;
            sent.push(&assertion);
            pairs.extend([
                ("client_id", client.id.as_str()),
                ("client_assertion_type", ASSERTION_TYPE),
                ("client_assertion", &assertion),
            ]);
        }
        _ => pairs.push(("client_id", &client.id)),
    }
    let body = form::encode(&pairs);
    let document = match web.post(&stored.token_endpoint, &headers, &body, &sent)? {
        Ok(document) => document,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let tokens = metadata::members(&document).unwrap_or_default();
    let token = tokens.text_or_empty("access_token");
    let kind = tokens.text("token_type");
    let is_usable = !token.is_empty()
        && token.len() <= HEADER_BYTES
        && token.bytes().all(|byte| byte.is_ascii_graphic())
        && kind.is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    if !is_usable {
        return Err(
            web.fault("its authorization server did not answer with a token that can be used")
        );
    }
    let seconds = match tokens.value("expires_in") {
        Value::String(text) => text.parse().ok(),
        number => number.as_f64(),
    };
    stored.expires = match seconds {
        Some(seconds) if seconds > 0.0 => parts
            .clock
            .now_ms()
            .saturating_add((seconds * 1000.0) as i64),
        _ => 0,
    };
    stored.token = token;
    // Servers that do not replace it leave it out.
    let refresh = tokens.text("refresh_token");
    if let Some(refresh) = refresh.filter(|one| one.len() <= HEADER_BYTES) {
        stored.refresh = refresh;
    }
    Ok(Ok(()))
}

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The secret of a client: the configuration has it for a client that was registered by hand.
fn secret<'a>(parts: &'a HttpParts, client: &'a Registered) -> &'a str {
    if client.is_configured(parts) {
        parts.server.client_secret.expose()
    } else {
        &client.secret
    }
}

/// An assertion of who we are, signed with the key in the configuration (RFC 7523).
fn sign(parts: &HttpParts, client: &Registered, issuer: &str) -> Result<String> {
    let unusable = || {
        Error::Config(format!(
            "tools.mcpServers.{}.clientSecret is not a private key for ES256 in PKCS #8 (PEM)",
            parts.name
        ))
    };
    let pem = secret(parts, client);
    let lines = pem.lines().map(str::trim);
    let base64: String = lines.filter(|line| !line.starts_with("-----")).collect();
    let key = BASE64_STANDARD.decode(base64).map_err(|_| unusable())?;
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random)
        .map_err(|_| unusable())?;
    let now = parts.clock.now_ms() / 1000;
    let claims = json!({
        "iss": client.id,
        "sub": client.id,
        "aud": issuer,
        "iat": now,
        "exp": now.saturating_add(ASSERTION_TIME.as_secs() as i64),
        "jti": BASE64_URL_SAFE_NO_PAD.encode(random::bytes::<16>()?),
    });
    let header = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","typ":"JWT"}"#);
    let signed = format!(
        "{header}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(claims.to_string())
    );
    let signature = key
        .sign(&random, signed.as_bytes())
        .map_err(|_| unusable())?;
    Ok(format!(
        "{signed}.{}",
        BASE64_URL_SAFE_NO_PAD.encode(signature)
    ))
}
