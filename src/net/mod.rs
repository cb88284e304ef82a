//! Floor 3: connections. Names, TCP, TLS and HTTP, with deadlines that hold and a token that breaks every wait.
//!
//! A [`Dialer`] turns a host and a port into a [`Stream`], which reads and writes as any other and
//! can be [secured](Stream::secure) with TLS. Its [`Guard`] is asked about every address before it is
//! dialled: what a name resolves to is known only then, and may be another address the next time.

pub mod guard;
pub mod http;
pub mod owner;
mod resolve;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use resolve::{Lookup, is_local_name, is_loopback, known_addresses, system_lookup};
pub use stream::Stream;
pub use tls::Tls;

use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;

type Check = dyn Fn(SocketAddr) -> Result<(), &'static str> + Send + Sync;

/// Decides which addresses may be dialled. The default allows all.
#[derive(Clone, Default)]
pub struct Guard(Option<Arc<Check>>);

impl Guard {
    /// A guard that asks `check` about each address. An error says why the address is refused.
    pub fn new(
        check: impl Fn(SocketAddr) -> Result<(), &'static str> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(check)))
    }

    /// Asks about an address.
    pub fn check(&self, address: SocketAddr) -> Result<(), Failure> {
        match &self.0 {
            None => Ok(()),
            Some(check) => check(address).map_err(|why| Failure::Refused { address, why }),
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            None => "Guard(none)",
            Some(_) => "Guard",
        })
    }
}

/// Why there is no connection.
#[derive(Debug)]
pub enum Failure {
    /// The name has no address, or the resolver cannot be reached.
    UnknownHost,
    /// The name was not resolved in time.
    ResolveTimeout,
    /// No connection was made in time, or no TLS over it.
    ConnectTimeout,
    /// The [`Guard`] does not allow the address.
    Refused {
        /// The address.
        address: SocketAddr,
        /// What the guard says.
        why: &'static str,
    },
    /// A secret would go to an untrusted user's server on this machine. Says why.
    Untrusted(String),
    /// The system or the other side refused. An error of TLS is within.
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
            _ => Self::Io(error),
        }
    }
}

/// Opens connections until its token is raised, which also breaks those that are open.
#[derive(Clone)]
pub struct Dialer {
    /// Breaks every wait.
    pub cancel: Cancel,
    /// Is asked about every address before it is dialled.
    pub guard: Guard,
    /// How names are looked up.
    pub lookup: Lookup,
}

impl Dialer {
    /// A dialer that uses the system's resolver and may dial anything.
    pub fn new(cancel: &Cancel) -> Self {
        Self {
            cancel: cancel.clone(),
            guard: Guard::default(),
            lookup: system_lookup,
        }
    }

    /// Connects to the first address that answers; each gets a fair share of the time that is left.
    ///
    /// The first failure is the one that is returned: the system puts the likeliest address first,
    /// and what follows often fails only because the machine has no IPv6.
    pub fn connect(&self, addresses: &[SocketAddr], time: Duration) -> Result<Stream, Failure> {
        let watch = Stopwatch::start();
        let mut failure = None;
        for (address, waiting) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
            let share = time.saturating_sub(watch.elapsed()) / waiting;
            let dialled = self
                .guard
                .check(*address)
                .and_then(|()| Stream::dial(*address, share, &self.cancel));
            match dialled {
                Ok(stream) => return Ok(stream),
                Err(error) => drop(failure.get_or_insert(error)),
            }
            if self.cancel.is_cancelled() {
                break;
            }
        }
        Err(failure.unwrap_or(Failure::UnknownHost))
    }
}
