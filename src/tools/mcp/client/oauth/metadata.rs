//! The documents that say how to log in: of the protected server (RFC 9728) and of its authorization server
//! (RFC 8414, OpenID Connect Discovery). Pure.

use crate::base::json::Members;
use crate::net::http::address;
use crate::tools::mcp::client::ADDRESS_BYTES;

/// What a protected server says.
#[derive(Debug, Default, PartialEq)]
pub struct Resource {
    /// Its own identifier.
    pub resource: String,
    /// The issuers of tokens for it.
    pub authorization_servers: Vec<String>,
    /// The rights that there are.
    pub scopes_supported: Option<Vec<String>>,
}

/// What an authorization server says.
#[derive(Debug, Default, PartialEq)]
pub struct Issuer {
    /// Its own identifier.
    pub issuer: String,
    /// The page for people.
    pub authorization_endpoint: String,
    /// Where tokens are given out.
    pub token_endpoint: String,
    /// Where clients register.
    pub registration_endpoint: Option<String>,
    /// The rights that there are.
    pub scopes_supported: Option<Vec<String>>,
    /// The ways in which a code is bound to the client that asked for it.
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// The ways in which clients say who they are.
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// The ways to a token.
    pub grant_types_supported: Option<Vec<String>>,
    /// Whether the id of a client may be the address of a document about it.
    pub client_id_metadata_document_supported: bool,
    /// Whether it says who it is when the browser returns (RFC 9207).
    pub authorization_response_iss_parameter_supported: bool,
}

impl Issuer {
    /// Reads a document; `None` when it is none.
    pub fn read(document: &[u8]) -> Option<Self> {
        let said = members(document)?;
        Some(Self {
            issuer: said.text_or_empty("issuer"),
            authorization_endpoint: said.text_or_empty("authorization_endpoint"),
            token_endpoint: said.text_or_empty("token_endpoint"),
            registration_endpoint: said.text("registration_endpoint"),
            scopes_supported: said.texts("scopes_supported"),
            code_challenge_methods_supported: said.texts("code_challenge_methods_supported"),
            token_endpoint_auth_methods_supported: said
                .texts("token_endpoint_auth_methods_supported"),
            grant_types_supported: said.texts("grant_types_supported"),
            client_id_metadata_document_supported: said
                .is_true("client_id_metadata_document_supported"),
            authorization_response_iss_parameter_supported: said
                .is_true("authorization_response_iss_parameter_supported"),
        })
    }

    /// Whether tokens are only given to programs, without a person: there is no page for people (RFC 8414,
    /// section 2), or no grant for them.
    pub fn needs_no_person(&self) -> bool {
        let grants = self.grant_types_supported.as_deref().unwrap_or_default();
        let has = |name: &str| grants.iter().any(|grant| grant == name);
        has("client_credentials")
            && (!has("authorization_code") || self.authorization_endpoint.is_empty())
    }

    /// Whether a way for clients to say who they are is supported.
    pub fn takes(&self, method: &str) -> bool {
        match &self.token_endpoint_auth_methods_supported {
            Some(methods) => methods.iter().any(|one| one == method),
            // RFC 8414, section 2.
            None => method == "client_secret_basic",
        }
    }
}

impl Resource {
    /// Reads a document; `None` when it is none.
    pub fn read(document: &[u8]) -> Option<Self> {
        let said = members(document)?;
        Some(Self {
            resource: said.text_or_empty("resource"),
            authorization_servers: said.texts("authorization_servers").unwrap_or_default(),
            scopes_supported: said.texts("scopes_supported"),
        })
    }
}

/// Reads the members of a document; `None` when it is none.
pub fn members(document: &[u8]) -> Option<Members<'_>> {
    Members::read(str::from_utf8(document).ok()?)
}

/// Whether an address that a server names may be used: https, or http on this machine when the configured
/// server is there too.
pub fn is_usable(url: &str, is_local: bool) -> bool {
    let Ok(uri) = address::parse(url) else {
        return false;
    };
    let host = address::host_and_port(&uri).map_or("", |(host, _)| host);
    let is_secure = match uri.scheme_str() {
        Some("https") => true,
        _ => is_local && crate::net::is_loopback(host),
    };
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    is_secure
        && !authority.contains('@')
        && !url.contains('#')
        && url.len() <= ADDRESS_BYTES
        && url.bytes().all(|byte| byte.is_ascii_graphic())
}

/// An address as origin, path and query; the path is empty where it is only `/`.
fn split(url: &str) -> (String, &str, &str) {
    let origin = address::origin(url).unwrap_or_default();
    let plain = url.split('#').next().unwrap_or_default();
    let after = plain.split_once("://").map_or("", |(_, rest)| rest);
    let after = after.find(['/', '?']).map_or("", |at| &after[at..]);
    let (path, query) = after.split_at(after.find('?').unwrap_or(after.len()));
    (origin, path.trim_end_matches('/'), query)
}

/// The identifier of a server that says none: its address without a query.
pub fn identifier(url: &str) -> String {
    let (origin, path, _) = split(url);
    origin + path
}

/// Where the document of a protected server can be.
pub fn resource_places(url: &str) -> Vec<String> {
    const NAME: &str = "/.well-known/oauth-protected-resource";
    let (origin, path, query) = split(url);
    let mut places = vec![format!("{origin}{NAME}{path}{query}")];
    if !path.is_empty() || !query.is_empty() {
        places.push(format!("{origin}{NAME}"));
    }
    places
}

/// Where the document of an issuer can be.
pub fn issuer_places(issuer: &str) -> Vec<String> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let (origin, path, _) = split(issuer);
    let mut places = vec![
        format!("{origin}{OAUTH}{path}"),
        format!("{origin}{OPENID}{path}"),
    ];
    if !path.is_empty() {
        places.push(format!("{origin}{path}{OPENID}"));
    }
    places
}

/// The issuer of a server of 2025-03-26, which has no document about itself.
pub fn origin(url: &str) -> String {
    split(url).0
}

/// Whether tokens for `resource` are tokens for the server at this address: it is the same, or above it.
pub fn covers(resource: &str, url: &str) -> bool {
    let ((_, above, query), (_, path, url_query)) = (split(resource), split(url));
    let below = path.strip_prefix(above);
    address::is_same_origin(resource, url)
        && (query.is_empty() || query == url_query)
        && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// Whether two issuers are the same, where one may have the `/` that an address without a path has.
pub fn is_same_issuer(one: &str, other: &str) -> bool {
    let plain = |issuer: &str| match split(issuer).1 {
        "" => issuer.strip_suffix('/').unwrap_or(issuer).to_owned(),
        _ => issuer.to_owned(),
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_are_looked_for_in_the_order_of_the_specification() {
        assert_eq!(
            issuer_places("https://auth.example.com/tenant1"),
            [
                "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
                "https://auth.example.com/.well-known/openid-configuration/tenant1",
                "https://auth.example.com/tenant1/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            issuer_places("https://auth.example.com/"),
            [
                "https://auth.example.com/.well-known/oauth-authorization-server",
                "https://auth.example.com/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            resource_places("https://a.example:1/public/mcp"),
            [
                "https://a.example:1/.well-known/oauth-protected-resource/public/mcp",
                "https://a.example:1/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            resource_places("https://a.example"),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            identifier("https://a.example/mcp/?x=1#y"),
            "https://a.example/mcp"
        );
    }

    #[test]
    fn a_resource_covers_what_is_below_it_at_the_same_server() {
        let url = "https://a.example/x/mcp";
        for resource in [
            "https://a.example",
            "https://A.example/",
            "https://a.example/x",
            url,
        ] {
            assert!(covers(resource, url), "{resource}");
        }
        for resource in [
            "https://a.example/x/mc",
            "https://a.example/x/mcp/y",
            "http://a.example/x/mcp",
            "https://evil.example/x/mcp",
            "https://a.example:8443/",
            "",
        ] {
            assert!(!covers(resource, url), "{resource}");
        }
    }

    #[test]
    fn only_addresses_with_tls_or_on_this_machine_are_used() {
        for (url, local, remote) in [
            ("https://a.example/token", true, true),
            ("http://127.0.0.1:1/token", true, false),
            ("http://localhost/token", true, false),
            ("http://a.example/token", false, false),
            ("http://169.254.169.254/latest", false, false),
            ("https://user:pw@a.example/", false, false),
            ("https://a.example/#x", false, false),
            ("file:///etc/passwd", false, false),
            ("javascript:alert(1)", false, false),
            ("", false, false),
        ] {
            assert_eq!(is_usable(url, true), local, "{url}");
            assert_eq!(is_usable(url, false), remote, "{url}");
        }
    }

    #[test]
    fn an_issuer_is_compared_as_it_is_but_for_an_empty_path() {
        assert!(is_same_issuer("https://a.example", "https://a.example/"));
        for other in [
            "https://a.example/x/",
            "https://A.example/x",
            "https://a.example:443/x",
        ] {
            assert!(!is_same_issuer("https://a.example/x", other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_document_is_read_or_refused(text in "[\\[\\]{}\":,a-z_0-9 ]{0,60}", url in ".{0,60}") {
            let _ = Issuer::read(text.as_bytes());
            let known = format!("{{\"issuer\":{text}, \"authorization_servers\":[{text}]}}");
            let _ = Issuer::read(known.as_bytes());
            let _ = Resource::read(known.as_bytes());
            let _ = (issuer_places(&url), resource_places(&url), covers(&url, "https://a/b"));
            let _ = is_usable(&url, true);
        }
    }
}
