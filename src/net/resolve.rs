//! Names to addresses, without a wait that cannot be broken.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::{Dialer, Failure};

/// Addresses of a name that are tried. They share the time to connect, so that more of them
/// would leave each too little.
const ADDRESSES: usize = 8;
/// Stack of the thread that resolves a name. getaddrinfo of musl needs about 10 kB.
const RESOLVER_STACK_BYTES: usize = 128 * 1024;

/// How a name is looked up; a test puts its own here.
pub type Lookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// The system's resolver: /etc/hosts, then DNS.
pub fn system_lookup(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// The addresses of what needs no lookup: an address, or a name of this machine.
pub fn known_addresses(host: &str, port: u16) -> Option<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(vec![SocketAddr::new(address, port)]);
    }
    // One family: with both, a program that takes the port of the other one would be dialled while the server
    // is down.
    is_local_name(host).then(|| vec![(Ipv4Addr::LOCALHOST, port).into()])
}

/// Whether a host is this machine, which no proxy can reach for us.
pub fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => is_local_name(host),
    }
}

/// Whether a name is one of those that always mean this machine (RFC 6761, section 6.3).
pub fn is_local_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

impl Dialer {
    /// The addresses of a host, the likeliest first. At least one, and at most `ADDRESSES`.
    pub fn resolve(
        &self,
        host: &str,
        port: u16,
        time: Duration,
    ) -> Result<Vec<SocketAddr>, Failure> {
        let mut addresses = match known_addresses(host, port) {
            Some(addresses) => addresses,
            None => self.look_up(host, port, time)?,
        };
        addresses.truncate(ADDRESSES);
        if addresses.is_empty() {
            Err(Failure::UnknownHost)
        } else {
            Ok(addresses)
        }
    }

    /// Looks a name up on a thread of its own, because getaddrinfo(3) cannot be interrupted. An
    /// abandoned thread ends by itself, when the system's own time limit is over.
    fn look_up(&self, host: &str, port: u16, time: Duration) -> Result<Vec<SocketAddr>, Failure> {
        let (sender, receiver) = mpsc::channel();
        let waker = sender.clone();
        let _hook = self.cancel.on_cancel(move || {
            let _ = waker.send(None);
        });
        let (lookup, host) = (self.lookup, host.to_owned());
        thread::Builder::new()
            .name("resolver".to_owned())
            .stack_size(RESOLVER_STACK_BYTES)
            .spawn(move || {
                let _ = sender.send(lookup(&host, port).ok());
            })?;
        match receiver.recv_timeout(time) {
            Ok(Some(addresses)) => Ok(addresses),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => Err(Failure::UnknownHost),
            Err(RecvTimeoutError::Timeout) => Err(Failure::ResolveTimeout),
        }
    }
}
