//! What can be set about calls, and what is set for all of them.

use std::time::Duration;

use ureq::Proxy;
use ureq::config::Config;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::limits;
use crate::secret::Secret;

/// How one server is called.
#[derive(Clone, Debug)]
pub struct Settings {
    /// An HTTP proxy's URL; none: from `ALL_PROXY`, `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
    pub proxy: Option<Secret>,
    /// Time from the end of our request until the answer's head is there.
    pub first_byte: Duration,
    /// Longest silence within the answer's body.
    pub idle: Duration,
    /// Tells whether dates can be believed.
    pub clock: Clock,
}

impl Settings {
    /// The same for ureq, with every time and bound set.
    pub(super) fn config(&self) -> Result<Config> {
        let proxy = match &self.proxy {
            Some(url) => Some(Proxy::new(url.expose()).map_err(|_| {
                Error::Config(
                    "the proxy cannot be understood: it has to look like http://host:port or \
                 http://user:password@host:port"
                        .to_owned(),
                )
            })?),
            None => Proxy::try_from_env(),
        };
        let user_agent = concat!("peacrab/", env!("CARGO_PKG_VERSION"));
        Ok(Config::builder()
            .proxy(proxy)
            .user_agent(user_agent)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_response_header_size(limits::http::BUFFER_BYTES)
            .input_buffer_size(limits::http::BUFFER_BYTES)
            .output_buffer_size(limits::http::BUFFER_BYTES)
            .max_idle_connections(limits::http::IDLE_CONNECTIONS)
            .max_idle_connections_per_host(limits::http::IDLE_CONNECTIONS)
            .max_idle_age(limits::http::IDLE_AGE)
            .timeout_resolve(Some(limits::http::RESOLVE_TIMEOUT))
            .timeout_connect(Some(limits::http::CONNECT_TIMEOUT))
            .timeout_per_write(Some(limits::http::WRITE_TIMEOUT))
            .timeout_send_request(Some(limits::http::WRITE_TIMEOUT))
            .timeout_recv_response(Some(self.first_byte))
            .build())
    }
}
