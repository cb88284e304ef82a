//! Names to addresses, without a wait that cannot be broken.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver as Resolve};
use ureq::unversioned::transport::NextTimeout;

use crate::cancel::Cancel;
use crate::error::Error;
use crate::http::address;
use crate::limits;

/// How a name is looked up; a test puts its own here.
pub type Lookup = fn(&str, u16) -> io::Result<Vec<SocketAddr>>;

/// The system's resolver: /etc/hosts, then DNS.
pub fn system(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// Resolves names for ureq.
pub struct Resolver {
    pub cancel: Cancel,
    pub lookup: Lookup,
}

impl Resolver {
    /// Looks the name up in a thread of its own: getaddrinfo(3) cannot be interrupted. When nobody
    /// waits any longer, the thread ends by itself with the system's own time limit.
    fn in_thread(
        &self,
        host: &str,
        port: u16,
        time: Duration,
    ) -> Result<Vec<SocketAddr>, ureq::Error> {
        let (sender, receiver) = mpsc::channel();
        let waker = sender.clone();
        let _breaker = self.cancel.on_cancel(move || {
            let _ = waker.send(None);
        });
        let (lookup, host) = (self.lookup, host.to_owned());
        thread::Builder::new()
            .name("resolver".to_owned())
            .stack_size(limits::http::RESOLVER_STACK_BYTES)
            .spawn(move || {
                let _ = sender.send(lookup(&host, port).ok());
            })?;
        match receiver.recv_timeout(time) {
            Ok(Some(addresses)) => Ok(addresses),
            Ok(None) | Err(RecvTimeoutError::Disconnected) => Err(ureq::Error::HostNotFound),
            Err(RecvTimeoutError::Timeout) => Err(ureq::Error::Timeout(ureq::Timeout::Resolve)),
        }
    }
}

impl Resolve for Resolver {
    fn resolve(
        &self,
        uri: &Uri,
        _config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let (host, port) = address::host_and_port(uri).ok_or(ureq::Error::HostNotFound)?;
        let addresses = match known(host, port) {
            Some(addresses) => addresses,
            None => {
                let time = (*timeout.after).min(limits::http::RESOLVE_TIMEOUT);
                self.in_thread(host, port, time)?
            }
        };
        if addresses.is_empty() {
            return Err(ureq::Error::HostNotFound);
        }
        let mut resolved = self.empty();
        for address in addresses.into_iter().take(limits::http::ADDRESSES) {
            resolved.push(address);
        }
        Ok(resolved)
    }
}

/// Looks the host of a URL up as a call would, and gives how many addresses it has; none where
/// nothing has to be looked up.
pub fn look_up(url: &str, time: Duration, cancel: &Cancel) -> Result<Option<usize>, Error> {
    let uri = address::parse(url)?;
    let (host, port) = address::host_and_port(&uri).unwrap_or_default();
    if known(host, port).is_some() {
        return Ok(None);
    }
    let resolver = Resolver {
        cancel: cancel.clone(),
        lookup: system,
    };
    match resolver.in_thread(host, port, time) {
        Ok(addresses) => Ok(Some(addresses.len())),
        Err(_) if cancel.is_cancelled() => Err(Error::Stopped),
        Err(ureq::Error::Timeout(_)) => Err(Error::Timeout {
            host: host.to_owned(),
            what: format!("its name was not resolved within {} s", time.as_secs()),
        }),
        Err(_) => Err(Error::Network {
            host: host.to_owned(),
            what: "the name cannot be resolved; is it right, and is there a network?".to_owned(),
        }),
    }
}

/// What needs no looking up: addresses, and the names of this machine.
fn known(host: &str, port: u16) -> Option<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(vec![SocketAddr::new(address, port)]);
    }
    address::is_localhost(host).then(|| {
        vec![
            (Ipv4Addr::LOCALHOST, port).into(),
            (Ipv6Addr::LOCALHOST, port).into(),
        ]
    })
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
