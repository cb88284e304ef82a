//! Where browsers find the page. PURE but for the machine's name.

use std::net::{IpAddr, SocketAddr};

use crate::config::schema::Http;
use crate::sys::host;

/// The port of https, which addresses leave out.
const HTTPS_PORT: u16 = 443;

/// Bytes of a host's name (RFC 1035).
const NAME_BYTES: usize = 253;

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

/// How others in the network reach this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reach {
    /// Whether a service answers to the machine's name with `.local` (mDNS).
    pub has_local_name: bool,
    /// Its address there.
    pub address: Option<IpAddr>,
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

    /// The addresses of the page, the one to try first before the other. `port`: the one that the system gave. None at a
    /// socket's path without a name, or where neither the machine's name nor its address leads there.
    pub fn addresses(&self, port: Option<u16>, reach: Reach) -> Vec<String> {
        // What listens on this machine alone and has a name is behind a proxy, and those have certificates.
        let is_direct = self.listen.filter(|listen| !listen.ip().is_loopback());
        let scheme = match self.has_tls || (!self.host.is_empty() && is_direct.is_none()) {
            true => "https",
            false => "http",
        };
        let has_port = self.host.contains(':') && !self.host.ends_with(']');
        if !self.host.is_empty() && (has_port || is_direct.is_none()) {
            return vec![format!("{scheme}://{}", self.host)];
        }
        let Some(listen) = self.listen else {
            return Vec::new();
        };
        let names = match (self.host.as_str(), listen.ip()) {
            ("", ip) if !ip.is_unspecified() => vec![in_url(ip)],
            ("", _) => self.names(reach),
            (host, _) => vec![host.to_owned()],
        };
        let address = |name: String| match port.unwrap_or(listen.port()) {
            HTTPS_PORT if self.has_tls => format!("{scheme}://{name}"),
            port => format!("{scheme}://{name}:{port}"),
        };
        names.into_iter().map(address).collect()
    }

    /// The names of a machine that listens everywhere, for others. Phones know its bare name only where a router tells it.
    fn names(&self, reach: Reach) -> Vec<String> {
        let name = Some(self.machine.as_str()).filter(|name| is_name(name));
        // mDNS takes the first part of a longer name.
        let local = name.and_then(|name| name.split('.').next());
        let local = local.filter(|_| reach.has_local_name);
        let mut names: Vec<String> = local
            .map(|name| format!("{name}.local"))
            .into_iter()
            .collect();
        names.extend(reach.address.map(in_url));
        // A longer name may lead anywhere, so the address comes before it.
        if let Some(name) = name
            && (names.is_empty() || name.contains('.') && !names.iter().any(|other| other == name))
        {
            names.push(name.to_owned());
        }
        names
    }
}

/// Whether others may find a machine by this name, and it means nothing else in an address.
fn is_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    let first = name.split('.').next().unwrap_or_default();
    name.len() <= NAME_BYTES
        && name.bytes().all(is_plain)
        && !first.is_empty()
        && !first.eq_ignore_ascii_case("localhost")
}

fn in_url(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
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
            let addresses = site.addresses(None, Reach::default());
            assert_eq!(addresses, [address], "{listen}");
        }
        let none = site("unix", false, "").addresses(None, Reach::default());
        assert!(none.is_empty(), "{none:?}");
        let any = site("127.0.0.1:0", false, "");
        let reach = Reach {
            has_local_name: true,
            address: "192.168.1.5".parse().ok(),
        };
        assert_eq!(any.addresses(Some(77), reach), ["http://127.0.0.1:77"]);
        assert!(any.is_local() && !site("127.0.0.1:1", false, "a").is_local());
        assert!(!site("0.0.0.0:1", false, "").is_local());
    }

    #[test]
    fn a_phone_gets_addresses_that_it_can_reach() {
        let everywhere = site("0.0.0.0:8420", false, "");
        let addresses = |site: &Site, has_local_name, address: &str| {
            let address = address.parse().ok();
            let reach = Reach {
                has_local_name,
                address,
            };
            site.addresses(None, reach)
        };
        assert_eq!(
            addresses(&everywhere, true, "192.168.1.5"),
            ["http://crab.local:8420", "http://192.168.1.5:8420"]
        );
        assert_eq!(
            addresses(&everywhere, false, "192.168.1.5"),
            ["http://192.168.1.5:8420"]
        );
        assert_eq!(
            addresses(&everywhere, false, "2001:db8::5"),
            ["http://[2001:db8::5]:8420"]
        );
        assert_eq!(addresses(&everywhere, true, ""), ["http://crab.local:8420"]);
        assert_eq!(addresses(&everywhere, false, ""), ["http://crab:8420"]);
        let named = |name: &str| Site {
            machine: name.to_owned(),
            ..everywhere.clone()
        };
        let long = named("crab.example.org");
        assert_eq!(
            addresses(&long, true, "192.168.1.5"),
            [
                "http://crab.local:8420",
                "http://192.168.1.5:8420",
                "http://crab.example.org:8420"
            ]
        );
        assert_eq!(
            addresses(&long, false, "192.168.1.5"),
            ["http://192.168.1.5:8420", "http://crab.example.org:8420"]
        );
        let local = named("crab.local");
        assert_eq!(
            addresses(&local, true, "192.168.1.5"),
            ["http://crab.local:8420", "http://192.168.1.5:8420"]
        );
        assert_eq!(
            addresses(&local, false, "192.168.1.5"),
            ["http://192.168.1.5:8420", "http://crab.local:8420"]
        );
    }

    #[test]
    fn a_name_by_which_no_phone_finds_the_board_is_in_no_link() {
        let long = format!("{}a", "a.".repeat(126));
        assert!(is_name("crab-2.example.org") && is_name("localhost2") && is_name(&long));
        let too_long = format!("{long}a");
        for name in [
            "",
            "(none)",
            "localhost",
            "Localhost.localdomain",
            ".local",
            "crab/x",
            "crab@example.org",
            "krabbé",
            too_long.as_str(),
        ] {
            let site = Site {
                machine: name.to_owned(),
                ..site("0.0.0.0:8420", false, "")
            };
            let reach = Reach {
                has_local_name: true,
                address: "192.168.1.5".parse().ok(),
            };
            let addresses = site.addresses(None, reach);
            assert_eq!(addresses, ["http://192.168.1.5:8420"], "{name}");
            let none = site.addresses(None, Reach::default());
            assert!(none.is_empty(), "{name}: {none:?}");
        }
    }
}
