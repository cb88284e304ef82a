//! The way through an HTTP proxy.

use std::fmt;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::transport::{
    ConnectProxyConnector, ConnectionDetails, Connector, Transport,
};
use ureq::{Proxy, ProxyProtocol};

use crate::error::{Error, Result};
use crate::http::address;

/// An error on the way to the proxy or at it.
#[derive(Debug)]
pub struct AtProxy {
    /// Host and port of the proxy.
    pub proxy: String,
    /// What happened.
    pub error: ureq::Error,
}

impl fmt::Display for AtProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.proxy)
    }
}

impl std::error::Error for AtProxy {}

/// The proxy that a call goes through: not to this machine, nor to a host in `NO_PROXY`.
fn proxy_of<'a>(config: &'a Config, uri: &Uri) -> Option<&'a Proxy> {
    let (host, _) = address::host_and_port(uri)?;
    let proxy = config.proxy()?;
    (!address::is_loopback(host) && !proxy.is_no_proxy(uri)).then_some(proxy)
}

/// Fails when a call would have to go through a kind of proxy that we do not speak to.
pub fn check_proxy(config: &Config, uri: &Uri) -> Result<()> {
    let protocol = proxy_of(config, uri).map(Proxy::protocol);
    match protocol {
        None | Some(ProxyProtocol::Http | ProxyProtocol::Https) => Ok(()),
        Some(_) => Err(Error::Config(
            "the proxy is a SOCKS proxy, which is not supported: use an HTTP proxy \
             (http://host:port), in the configuration or in ALL_PROXY, HTTPS_PROXY or HTTP_PROXY"
                .to_owned(),
        )),
    }
}

/// Opens a tunnel through the proxy of a call that has one.
#[derive(Debug, Default)]
pub struct ProxyConnector(ConnectProxyConnector);

impl Connector for ProxyConnector {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(proxy) = proxy_of(details.config, details.uri) else {
            return Ok(None);
        };
        let tunnel = self.0.connect(details, None::<()>).map_err(|error| {
            ureq::Error::Other(Box::new(AtProxy {
                proxy: format!("{}:{}", proxy.host(), proxy.port()),
                error,
            }))
        })?;
        Ok(tunnel.map(|tunnel| Box::new(tunnel) as Self::Out))
    }
}
