//! Requests to the addresses that a server names: each is checked, and so is where it really leads.

use std::net::IpAddr;

use super::metadata::{self, Issuer, Resource};
use super::{Challenge, explain, without};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::secret::{Eraser, Secret};
use crate::net::guard::special_purpose;
use crate::net::http::{Bound, Client, Method, Settings, address};
use crate::net::{Guard, is_loopback};
use crate::text::one_line;
use crate::tools::mcp::client::ADDRESS_BYTES;
use crate::tools::mcp::client::http::HttpParts;
use std::time::Duration;

/// Time for one step of a login: a document, a registration, a token.
const LOGIN_TIME: Duration = Duration::from_secs(30);
/// Bytes of a document about a login.
const DOCUMENT_BYTES: usize = 256 * 1024;
/// Characters of an error of a login: what we say has addresses in it.
const FAULT_CHARS: usize = 1000;

/// Makes the requests of one login.
pub struct Web {
    client: Client,
    /// Whether the configured server is on this machine.
    is_local: bool,
    url: String,
    name: String,
    /// What the configuration and the login have.
    secrets: Vec<Secret>,
    eraser: Eraser,
}

/// How one logs in at a server.
pub struct Found {
    /// The server's identifier.
    pub resource: String,
    /// The rights that it says there are.
    pub scopes: Option<Vec<String>>,
    /// The authorization server.
    pub issuer: Issuer,
}

impl Web {
    /// Prepares requests.
    pub fn new(parts: &HttpParts, cancel: &Cancel) -> Result<Self> {
        let uri = address::parse(&parts.server.url)?;
        let (host, _) = address::host_and_port(&uri).unwrap_or_default();
        let is_private = is_private(host);
        let settings = Settings {
            guard: Guard::new(move |address| match is_private {
                // One's own network, without the services that clouds have at such addresses.
                true if is_link_local(address.ip()) => Err("it is on the local network (RFC 3927)"),
                true => Ok(()),
                false => special_purpose(address.ip()).map_or(Ok(()), Err),
            }),
            bound: Some(Bound {
                watch: Stopwatch::start(),
                time: LOGIN_TIME * 4,
                bytes: DOCUMENT_BYTES as u64 * 8,
            }),
            clock: parts.clock.clone(),
            ..Settings::new(LOGIN_TIME, LOGIN_TIME)
        };
        let web = Self {
            client: Client::new(&parts.tls, settings, cancel)?,
            is_local: is_loopback(host),
            url: parts.server.url.clone(),
            name: parts.name.clone(),
            secrets: super::secrets(parts),
            eraser: Eraser::default(),
        };
        Ok(web.hiding([]))
    }

    /// The same, whose errors show none of these either.
    pub fn hiding(mut self, secrets: impl IntoIterator<Item = Secret>) -> Self {
        self.secrets.extend(secrets);
        self.eraser = Eraser::new(self.secrets.iter().cloned());
        self
    }

    /// An error of this login: one line, without secrets.
    pub fn fault(&self, what: &str) -> Error {
        let what = one_line(&self.eraser.clean(what), FAULT_CHARS);
        Error::Failed(format!(
            "cannot log in to the MCP server {}: {what}",
            self.name
        ))
    }

    /// Fails unless an address that the server names may be used.
    pub fn check(&self, url: &str) -> Result<()> {
        if metadata::is_usable(url, self.is_local) {
            Ok(())
        } else {
            let origin = address::origin(url).unwrap_or_default();
            Err(self.fault(&format!(
                "it names the address {origin:.80?}, which is not used: only https is"
            )))
        }
    }

    /// Finds out how one logs in.
    pub fn discover(&self, challenge: &Challenge) -> Result<Found> {
        let Some(resource) = self.resource(challenge)? else {
            return self.discover_older();
        };
        let is_ours = metadata::covers(&resource.resource, &self.url);
        if !is_ours || resource.resource.len() > ADDRESS_BYTES {
            return Err(self.fault("its metadata are about another server"));
        }
        let mut named = resource.authorization_servers.iter();
        let Some(issuer) = named.next() else {
            return Err(self.fault("it names no authorization server"));
        };
        self.check(issuer)?;
        let found = self
            .issuer(issuer)?
            .ok_or_else(|| self.fault("its authorization server has no metadata"))?;
        Ok(Found {
            resource: resource.resource,
            scopes: resource.scopes_supported,
            issuer: found,
        })
    }

    /// What the server says about itself; `None` for one before 2025-06-18, which says nothing.
    fn resource(&self, challenge: &Challenge) -> Result<Option<Resource>> {
        if !challenge.metadata.is_empty() {
            let read = self.document(&challenge.metadata)?;
            let read = read.and_then(|document| Resource::read(&document));
            return read
                .map(Some)
                .ok_or_else(|| self.fault("the metadata that it names cannot be read"));
        }
        for place in metadata::resource_places(&self.url) {
            let document = self.document(&place)?;
            let read = document.and_then(|document| Resource::read(&document));
            if let Some(resource) = read.filter(|resource| !resource.resource.is_empty()) {
                return Ok(Some(resource));
            }
        }
        Ok(None)
    }

    fn issuer(&self, issuer: &str) -> Result<Option<Issuer>> {
        for place in metadata::issuer_places(issuer) {
            let document = self.document(&place)?;
            let Some(found) = document.and_then(|document| Issuer::read(&document)) else {
                continue;
            };
            if !metadata::is_same_issuer(&found.issuer, issuer) {
                return Err(
                    self.fault("the metadata of its authorization server are of another one")
                );
            }
            return Ok(Some(found));
        }
        Ok(None)
    }

    /// As 2025-03-26 has it: the server is its own authorization server, at usual places.
    fn discover_older(&self) -> Result<Found> {
        let origin = metadata::origin(&self.url);
        self.check(&origin)?;
        let issuer = self.issuer(&origin)?.unwrap_or_else(|| Issuer {
            authorization_endpoint: format!("{origin}/authorize"),
            token_endpoint: format!("{origin}/token"),
            registration_endpoint: Some(format!("{origin}/register")),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            token_endpoint_auth_methods_supported: Some(vec!["none".to_owned()]),
            issuer: origin,
            ..Issuer::default()
        });
        Ok(Found {
            resource: metadata::identifier(&self.url),
            scopes: None,
            issuer,
        })
    }

    /// A document; `None` where there is none.
    fn document(&self, url: &str) -> Result<Option<Vec<u8>>> {
        self.check(url)?;
        let headers = [("accept", "application/json")];
        match self.client.get(url, &headers) {
            Ok(response) => response.read_to_end(DOCUMENT_BYTES).map(Some),
            Err(Error::Status { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends something, and gives the JSON that comes back; the inner error is what the other side says
    /// about its refusal, without the secrets: those of the login, and these that are sent now.
    pub fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
        sent: &[&str],
    ) -> Result<std::result::Result<Vec<u8>, String>> {
        self.check(url)?;
        let sent = sent.iter().map(|one| Secret::new(one));
        let eraser = Eraser::new(self.secrets.iter().cloned().chain(sent));
        let mut all = vec![("accept", "application/json")];
        all.extend(headers);
        let response = self
            .client
            .ask(Method::POST, url, &all, Some(body.as_bytes()))?;
        match response.status() {
            400..500 => Ok(Err(explain(response, &eraser))),
            _ => {
                let checked = response.checked();
                let checked = checked.map_err(|error| without(&eraser, error))?;
                checked.read_to_end(DOCUMENT_BYTES).map(Ok)
            }
        }
    }

    /// What the server itself wants, which it says when there is no token.
    pub fn probe(&self, parts: &HttpParts) -> Result<Challenge> {
        let body = r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;
        let mut headers = vec![
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ];
        let configured = parts.server.headers.iter();
        headers.extend(configured.map(|(name, value)| (name.as_str(), value.expose())));
        let url = &parts.server.url;
        let response = self
            .client
            .ask(Method::POST, url, &headers, Some(body.as_bytes()))?;
        Ok(Challenge::read(response.all("www-authenticate")))
    }
}

/// Whether the person who configured a server has said that it is on the local network. The name alone
/// counts: what a lookup says is up to the owner of the name.
fn is_private(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse() {
        Ok(ip) => special_purpose(ip).is_some(),
        Err(_) => {
            let of_network = [".local", ".lan", ".internal", ".home.arpa"];
            is_loopback(&host)
                || !host.contains('.')
                || of_network.iter().any(|end| host.ends_with(end))
        }
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_name_says_whether_a_server_is_on_the_local_network() {
        for host in [
            "127.0.0.1",
            "192.168.1.5",
            "fd00::1",
            "localhost",
            "nas",
            "Nas.Local.",
            "a.lan",
        ] {
            assert!(is_private(host), "{host}");
        }
        for host in [
            "mcp.example.com",
            "8.8.8.8",
            "local.example",
            "2606:4700::1",
        ] {
            assert!(!is_private(host), "{host}");
        }
    }
}
