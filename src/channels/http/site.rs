//! Where browsers find the page. PURE but for the machine's name.

use std::net::SocketAddr;

use crate::config::schema::Http;
use crate::sys::host;

/// The port of https, which addresses leave out.
const HTTPS_PORT: u16 = 443;

/// Where the page is, by the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Where the server listens; `None` at a socket's path.
    listen: Option<SocketAddr>,
    has_tls: bool,
    /// The first of `http.hosts`; may be empty.
    host: String,
    /// The name of this machine.
    machine: String,
}

impl Site {
    /// For a server that will listen there; `None` at a socket's path.
    pub fn new(config: &Http, listen: Option<SocketAddr>, has_tls: bool) -> Self {
        Self {
            listen,
            has_tls,
            host: config.hosts.first().cloned().unwrap_or_default(),
            machine: host::name(),
        }
    }

    /// Whether only this machine can reach it: no other name is set, and it listens on this machine alone.
    pub fn is_local(&self) -> bool {
        let is_loopback = self.listen.is_some_and(|listen| listen.ip().is_loopback());
        is_loopback && self.host.is_empty()
    }

    /// The address of the page. `port`: the one that the system gave. `None` at a socket's path without a name.
    pub fn address(&self, port: Option<u16>) -> Option<String> {
        // What listens on this machine alone and has a name is behind a proxy, and those have certificates.
        let is_direct = self.listen.filter(|listen| !listen.ip().is_loopback());
        let scheme = match self.has_tls || (!self.host.is_empty() && is_direct.is_none()) {
            true => "https",
            false => "http",
        };
        let has_port = self.host.contains(':') && !self.host.ends_with(']');
        if !self.host.is_empty() && (has_port || is_direct.is_none()) {
            return Some(format!("{scheme}://{}", self.host));
        }
        let listen = self.listen?;
        let name = match (self.host.as_str(), listen.ip()) {
            ("", ip) if !ip.is_unspecified() => SocketAddr::new(ip, 0).to_string(),
            ("", _) => format!("{}:0", self.machine),
            (host, _) => format!("{host}:0"),
        };
        let name = name.trim_end_matches(":0");
        Some(match port.unwrap_or(listen.port()) {
            HTTPS_PORT if self.has_tls => format!("{scheme}://{name}"),
            port => format!("{scheme}://{name}:{port}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(listen: &str, has_tls: bool, host: &str) -> Site {
        Site {
            listen: listen.parse().ok(),
            has_tls,
            host: host.to_owned(),
            machine: "crab".to_owned(),
        }
    }

    #[test]
    fn the_address_is_where_a_browser_finds_it() {
        for (listen, has_tls, host, address) in [
            ("127.0.0.1:8420", false, "", "http://127.0.0.1:8420"),
            ("0.0.0.0:8420", false, "", "http://crab:8420"),
            ("[::]:8420", true, "", "https://crab:8420"),
            ("192.168.1.5:443", true, "", "https://192.168.1.5"),
            ("[fe80::1]:80", false, "", "http://[fe80::1]:80"),
            (
                "0.0.0.0:8420",
                true,
                "crab.example",
                "https://crab.example:8420",
            ),
            (
                "0.0.0.0:1",
                true,
                "crab.example:8",
                "https://crab.example:8",
            ),
            (
                "127.0.0.1:8420",
                false,
                "crab.example",
                "https://crab.example",
            ),
            ("unix", false, "crab.example", "https://crab.example"),
        ] {
            let site = site(listen, has_tls, host);
            assert_eq!(site.address(None).as_deref(), Some(address), "{listen}");
        }
        assert_eq!(site("unix", false, "").address(None), None);
        let any = site("127.0.0.1:0", false, "");
        assert_eq!(
            any.address(Some(77)).as_deref(),
            Some("http://127.0.0.1:77")
        );
        assert!(any.is_local() && !site("127.0.0.1:1", false, "a").is_local());
        assert!(!site("0.0.0.0:1", false, "").is_local());
    }
}
