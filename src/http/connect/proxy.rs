//! The way through an HTTP proxy.

use std::fmt;

use ureq::ProxyProtocol;
use ureq::unversioned::transport::{
    ConnectProxyConnector, ConnectionDetails, Connector, Transport,
};

use crate::error::Error;
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

/// Opens a tunnel through the proxy where one is set, except to this machine.
#[derive(Debug, Default)]
pub struct ProxyConnector(ConnectProxyConnector);

impl Connector for ProxyConnector {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(proxy) = details.config.proxy() else {
            return Ok(None);
        };
        let local =
            address::host_and_port(details.uri).is_some_and(|(host, _)| address::is_loopback(host));
        if local || proxy.is_no_proxy(details.uri) {
            return Ok(None);
        }
        if !matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) {
            return Err(ureq::Error::Other(Box::new(Error::Config(
                "the proxy is a SOCKS proxy, which is not supported: use an HTTP proxy \
                 (http://host:port), in the configuration or in ALL_PROXY, HTTPS_PROXY or HTTP_PROXY"
                    .to_owned(),
            ))));
        }
        let tunnel = self.0.connect(details, None::<()>).map_err(|error| {
            ureq::Error::Other(Box::new(AtProxy {
                proxy: format!("{}:{}", proxy.host(), proxy.port()),
                error,
            }))
        })?;
        Ok(tunnel.map(|tunnel| Box::new(tunnel) as Self::Out))
    }
}
