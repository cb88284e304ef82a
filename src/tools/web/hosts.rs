//! Which hosts may be read: the public Internet, and what the configuration adds.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::net::Guard;
use crate::net::guard::special_purpose;
use crate::text::html::link::name_in_ascii;

/// An entry of `tools.web.allowHosts`.
#[derive(Debug, PartialEq)]
enum Allowed {
    Name(String, Option<u16>),
    Address(IpAddr, Option<u16>),
}

impl Allowed {
    fn parse(entry: &str) -> Self {
        let entry = entry.trim();
        if let Ok(address) = entry.parse::<SocketAddr>() {
            return Self::Address(address.ip().to_canonical(), Some(address.port()));
        }
        let bare = entry.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Self::Address(address.to_canonical(), None);
        }
        match entry.split_once(':') {
            // What is no port allows none: no one connects to port 0.
            Some((name, port)) => Self::Name(plain_name(name), Some(port.parse().unwrap_or(0))),
            None => Self::Name(plain_name(entry), None),
        }
    }

    fn has_name(&self, host: &str, port: u16) -> bool {
        match self {
            Self::Name(name, only) => {
                *name == plain_name(host) && only.is_none_or(|only| only == port)
            }
            Self::Address(..) => false,
        }
    }

    fn has_address(&self, address: SocketAddr) -> bool {
        match self {
            Self::Address(own, only) => {
                *own == address.ip().to_canonical()
                    && only.is_none_or(|only| only == address.port())
            }
            Self::Name(..) => false,
        }
    }
}

fn plain_name(name: &str) -> String {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name_in_ascii(&name).unwrap_or(name)
}

/// The guard for one host, which is asked about the address that is really dialled, and whether it has
/// refused any.
pub fn guard_for(allow_hosts: &[String], host: &str, port: u16) -> (Guard, Arc<AtomicBool>) {
    let refused = Arc::new(AtomicBool::new(false));
    let allowed: Vec<Allowed> = allow_hosts
        .iter()
        .map(|entry| Allowed::parse(entry))
        .collect();
    // Where a name of one's own network leads is for that network to say.
    if allowed.iter().any(|one| one.has_name(host, port)) {
        return (Guard::default(), refused);
    }
    let noted = Arc::clone(&refused);
    let guard = Guard::new(move |address| match special_purpose(address.ip()) {
        Some(why) if !allowed.iter().any(|one| one.has_address(address)) => {
            noted.store(true, Ordering::Relaxed);
            Err(why)
        }
        _ => Ok(()),
    });
    (guard, refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(entries: &[&str], host: &str, address: &str) -> bool {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let address: SocketAddr = address.parse().unwrap();
        let (guard, refused) = guard_for(&entries, host, address.port());
        let is_allowed = guard.check(address).is_ok();
        assert_eq!(refused.load(Ordering::Relaxed), !is_allowed);
        is_allowed
    }

    #[test]
    fn an_exception_is_a_name_or_an_address_with_or_without_a_port() {
        let entries = [
            "nas.local",
            "Wiki:8080",
            "192.168.1.5",
            "10.0.0.1:80",
            "[fd00::5]:80",
            "::1",
            "odd:99999",
        ];
        for (host, address) in [
            ("example.org", "1.1.1.1:443"),
            ("NAS.local.", "192.168.1.9:1234"),
            ("wiki", "192.168.1.9:8080"),
            ("192.168.1.5", "192.168.1.5:9"),
            ("other.org", "192.168.1.5:9"),
            ("x", "[::ffff:192.168.1.5]:9"),
            ("10.0.0.1", "10.0.0.1:80"),
            ("fd00::5", "[fd00::5]:80"),
            ("::1", "[::1]:5"),
        ] {
            assert!(is_allowed(&entries, host, address), "{host} {address}");
        }
        for (host, address) in [
            ("wiki", "192.168.1.9:80"),
            ("odd", "192.168.1.9:80"),
            ("nas.local.example.org", "192.168.1.9:80"),
            ("10.0.0.1", "10.0.0.1:81"),
            ("fd00::5", "[fd00::5]:81"),
            ("localhost", "127.0.0.1:80"),
        ] {
            assert!(!is_allowed(&entries, host, address), "{host} {address}");
        }
    }
}
