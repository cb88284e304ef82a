//! The addresses of the services.

use super::Service;
#[cfg(feature = "test-hooks")]
use crate::net::http::address::is_same_origin;
use crate::net::http::address::{host_and_port, parse};

/// Where a service is. Constant, but for a build for tests.
#[derive(Clone)]
pub struct Addresses {
    /// Who gives out tokens.
    pub issuer: String,
    /// GitHub's API, where a token for Copilot comes from.
    pub exchange: String,
    /// The usual endpoint of the models.
    pub api: String,
}

/// The variable from which a build for tests takes where tokens come from and, after a space, where models are.
#[cfg(feature = "test-hooks")]
const TEST_VARIABLE: &str = "PEACRAB_TEST_SIGN_IN";

impl Addresses {
    /// Those of a service.
    pub fn of(service: Service) -> Self {
        #[cfg(feature = "test-hooks")]
        if let Ok(base) = std::env::var(TEST_VARIABLE) {
            return Self::at(&base);
        }
        let (issuer, exchange, api) = match service {
            Service::Codex => (
                "https://auth.openai.com",
                "",
                "https://chatgpt.com/backend-api/codex",
            ),
            Service::Copilot => (
                "https://github.com",
                "https://api.github.com",
                "https://api.githubcopilot.com",
            ),
        };
        Self {
            issuer: issuer.to_owned(),
            exchange: exchange.to_owned(),
            api: api.to_owned(),
        }
    }

    /// Those in the variable.
    #[cfg(feature = "test-hooks")]
    pub fn at(both: &str) -> Self {
        let (issuer, api) = both.split_once(' ').unwrap_or((both, both));
        Self {
            issuer: issuer.to_owned(),
            exchange: issuer.to_owned(),
            api: api.to_owned(),
        }
    }

    /// Whether Copilot's tokens may go to an endpoint that the answer with a token names.
    pub fn may_be_api(&self, url: &str) -> bool {
        #[cfg(feature = "test-hooks")]
        if is_same_origin(url, &self.api) {
            return true;
        }
        let Ok(uri) = parse(url) else {
            return false;
        };
        let host = host_and_port(&uri).map_or("", |(host, _)| host);
        let is_theirs = host == "githubcopilot.com" || host.ends_with(".githubcopilot.com");
        let is_plain = !url.contains(['@', '?', '#', '\\']);
        uri.scheme_str() == Some("https") && is_theirs && is_plain
    }
}
