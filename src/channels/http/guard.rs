//! Who may ask, and how often. PURE but for the token file, which `routes` reads.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// Requests of one token within a minute: two a second, which no dashboard needs.
pub const REQUESTS: u32 = 120;
/// Calls of one hook within a minute: an alarm that flaps is not to fill a chat, nor use up a day's tokens.
pub const HOOK_CALLS: u32 = 20;
/// The span in which requests are counted.
pub const REQUESTS_SPAN: Duration = Duration::from_mins(1);
/// Wait before the answer to a wrong token, doubled with each further one from the same address.
pub const FAILED_FIRST: Duration = Duration::from_millis(250);
/// The longest of these waits.
pub const FAILED_MAX: Duration = Duration::from_secs(8);
/// Wrong tokens are forgotten after this time without one.
pub const FAILED_SPAN: Duration = Duration::from_mins(10);
/// Addresses whose wrong tokens are remembered; with more, the oldest is forgotten, and all wait longer.
pub const FAILED_PEERS: usize = 64;
/// Names of tokens and hooks whose requests are counted, twice as many as there are tokens.
const COUNTED: usize = 128;

/// The name of a host without its port; `None` for what is no host.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at_checked(end)?;
    let port = match port {
        "" => "",
        port => port.strip_prefix(':')?,
    };
    let is_port = port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_port && !name.is_empty()).then_some(name)
}

/// Whether a request that names this host is meant for us. An address is no name that somebody else could have
/// pointed here, so that every address is fine; of names only those of this machine and those that were listed.
pub fn is_our_host(host: &str, ours: &str, listed: &[String]) -> bool {
    let Some(name) = without_port(host) else {
        return false;
    };
    let is = |known: &str| !known.is_empty() && name.eq_ignore_ascii_case(known);
    if let Some(inner) = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return inner.parse::<Ipv6Addr>().is_ok();
    }
    let is_address = name.parse::<std::net::Ipv4Addr>().is_ok();
    let is_listed = |known: &String| is(known) || host.eq_ignore_ascii_case(known);
    is_address
        || is("localhost")
        || is(ours)
        || (!ours.is_empty() && is(&format!("{ours}.local")))
        || listed.iter().any(is_listed)
}

/// Whether a page from this origin may ask: one of our own, or one that was listed.
pub fn is_fine_origin(origin: &str, host: &str, listed: &[String]) -> bool {
    is_listed_origin(origin, listed)
        || ["http", "https"].iter().any(|scheme| {
            let rest = origin.strip_prefix(scheme);
            let rest = rest.and_then(|rest| rest.strip_prefix("://"));
            rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        })
}

/// Whether pages from this origin may read our answers.
pub fn is_listed_origin(origin: &str, listed: &[String]) -> bool {
    let origin = origin.trim_end_matches('/');
    listed
        .iter()
        .any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin))
}

/// Counts requests and wrong tokens. Times are those of one stopwatch.
#[derive(Debug, Default)]
pub struct Guard {
    /// By the token's name: when the span began, and the requests in it.
    counted: Vec<(String, Duration, u32)>,
    failures: Vec<Failures>,
}

#[derive(Debug)]
struct Failures {
    peer: Option<IpAddr>,
    last: Duration,
    count: u32,
}

/// What counts as one address: of IPv6 the network of a customer, who has all of it.
fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => IpAddr::V4(address),
            None => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        },
    }
}

impl Guard {
    /// Counts a request; false when it is one too many.
    pub fn may_ask(&mut self, name: &str, most: u32, now: Duration) -> bool {
        self.counted
            .retain(|(_, begun, _)| now.saturating_sub(*begun) < REQUESTS_SPAN);
        let is_full = self.counted.len() >= COUNTED;
        match self.counted.iter_mut().find(|(known, ..)| known == name) {
            Some((_, _, count)) => {
                *count = count.saturating_add(1);
                *count <= most
            }
            None if is_full => false,
            None => {
                self.counted.push((name.to_owned(), now, 1));
                true
            }
        }
    }

    /// Counts a wrong token. Returns how long the answer has to wait, and how many there were.
    pub fn failed(&mut self, peer: Option<IpAddr>, now: Duration) -> (Duration, u32) {
        let peer = peer.map(network);
        self.failures
            .retain(|one| now.saturating_sub(one.last) < FAILED_SPAN);
        // A crowd of addresses is one that guesses together.
        let crowd = (self.failures.len() / 8) as u32;
        let found = self.failures.iter().position(|one| one.peer == peer);
        let mut one = match found {
            Some(index) => self.failures.remove(index),
            None => Failures {
                peer,
                last: now,
                count: 0,
            },
        };
        one.count = one.count.saturating_add(1);
        one.last = now;
        let count = one.count;
        if self.failures.len() >= FAILED_PEERS {
            self.failures.remove(0);
        }
        self.failures.push(one);
        let doublings = (count - 1 + crowd).min(5);
        (
            FAILED_FIRST.saturating_mul(1 << doublings).min(FAILED_MAX),
            count,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_somebody_else_has_pointed_here_is_not_ours() {
        let listed = vec!["crab.example.org".to_owned(), "proxy:8080".to_owned()];
        let ours = |host: &str| is_our_host(host, "crab", &listed);
        for host in [
            "localhost",
            "LOCALHOST:8420",
            "127.0.0.1:8420",
            "192.168.1.5",
            "[::1]:8420",
            "[fe80::1]",
            "crab",
            "crab.local:8420",
            "crab.example.org:443",
            "proxy:8080",
        ] {
            assert!(ours(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:8420",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "crab.evil",
            "[::1",
            "[evil]",
            "[::1]evil",
            "localhost:8420:1",
            "localhost:x",
            ":8420",
            "127.0.0.1@evil",
            "proxy:1",
        ] {
            assert!(!ours(host), "{host}");
        }
        assert!(!is_our_host(":1", "", &[]) && !is_our_host(".local", "", &[]));
    }

    #[test]
    fn a_forged_origin_is_refused_and_a_listed_one_is_not() {
        let listed = vec!["https://app.example/".to_owned()];
        let fine = |origin: &str| is_fine_origin(origin, "crab:8420", &listed);
        for origin in [
            "http://crab:8420",
            "https://CRAB:8420",
            "https://app.example",
        ] {
            assert!(fine(origin), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil",
            "http://crab",
            "http://crab:8420.evil",
            "https://app.example.evil",
            "http://app.example",
            "file://crab:8420",
            "//crab:8420",
        ] {
            assert!(!fine(origin), "{origin}");
        }
    }

    #[test]
    fn requests_are_counted_by_token_and_minute() {
        let mut guard = Guard::default();
        let asked = |guard: &mut Guard, name: &str, now: u64| {
            (0..REQUESTS + 5)
                .filter(|_| guard.may_ask(name, REQUESTS, Duration::from_secs(now)))
                .count() as u32
        };
        assert_eq!(asked(&mut guard, "a", 0), REQUESTS);
        assert_eq!(asked(&mut guard, "b", 30), REQUESTS);
        assert_eq!(asked(&mut guard, "a", 59), 0);
        assert_eq!(asked(&mut guard, "a", 60), REQUESTS);
    }

    #[test]
    fn wrong_tokens_are_answered_more_and_more_slowly() {
        let mut guard = Guard::default();
        let peer = Some(IpAddr::from([10, 0, 0, 1]));
        let now = Duration::from_secs(1);
        let waits: Vec<_> = (0..8).map(|_| guard.failed(peer, now).0).collect();
        assert_eq!(
            waits[..3],
            [FAILED_FIRST, 2 * FAILED_FIRST, 4 * FAILED_FIRST]
        );
        assert_eq!(waits[7], FAILED_MAX);
        assert_eq!(
            guard.failed(Some(IpAddr::from([10, 0, 0, 2])), now).0,
            FAILED_FIRST
        );
        assert_eq!(guard.failed(peer, now + FAILED_SPAN).0, FAILED_FIRST);
    }

    #[test]
    fn a_crowd_of_addresses_is_slowed_down_together_and_takes_no_memory() {
        let mut guard = Guard::default();
        let mut last = Duration::ZERO;
        for number in 0..1000_u32 {
            let peer = IpAddr::from(number.to_be_bytes());
            last = guard.failed(Some(peer), Duration::ZERO).0;
        }
        assert_eq!(guard.failures.len(), FAILED_PEERS);
        assert_eq!(last, FAILED_MAX);
        let mut guard = Guard::default();
        for number in 0..6_u16 {
            let peer = Ipv6Addr::new(0x2001, 0xdb8, 0, 1, number, 0, 0, 7);
            last = guard.failed(Some(IpAddr::V6(peer)), Duration::ZERO).0;
        }
        assert_eq!((guard.failures.len(), last), (1, FAILED_MAX));
    }
}
