//! From a URL's host to a connection: names, proxy, TCP, TLS, each of which the token breaks.
//!
//! ureq drives these parts through its connector traits; the chain is put together in
//! [`client`](super::client).

mod proxy;
mod resolve;
mod stream;
mod tls;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use ureq::Timeout;
use ureq::unversioned::transport::time::Instant;
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout, Transport};

pub use proxy::{AtProxy, ProxyConnector, check_proxy};
pub use resolve::{Lookup, Resolver, look_up, system};
pub use stream::IdleTimeout;
pub use tls::{Tls, TlsConnector};

use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::limits;

/// What is left of the time to connect, which TCP and the handshakes over it share.
pub fn time_left(details: &ConnectionDetails) -> NextTimeout {
    let spent = match ((details.current_time)(), details.now) {
        (Instant::Exact(now), Instant::Exact(start)) => now.saturating_duration_since(start),
        _ => Duration::ZERO,
    };
    NextTimeout {
        after: details.timeout.after.saturating_sub(spent).into(),
        ..details.timeout
    }
}

/// Opens TCP connections.
pub struct TcpConnector {
    pub cancel: Cancel,
    pub idle_timeout: IdleTimeout,
}

impl Connector<Box<dyn Transport>> for TcpConnector {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<Box<dyn Transport>>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        if chained.is_some() {
            return Ok(chained);
        }
        // With a proxy set, ureq leaves the names to it, also those that we do not ask it for.
        let addresses = if details.addrs.is_empty() {
            &details
                .resolver
                .resolve(details.uri, details.config, time_left(details))?
        } else {
            &details.addrs
        };
        let stream = reach(addresses, *time_left(details).after, &self.cancel)?;
        let buffer = if details.needs_tls() {
            limits::http::ENCRYPTED_BUFFER_BYTES
        } else {
            limits::http::BUFFER_BYTES
        };
        let stream = stream::Stream::new(stream, buffer, self.idle_timeout.clone(), &self.cancel);
        Ok(Some(Box::new(stream)))
    }
}

impl fmt::Debug for TcpConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TcpConnector")
    }
}

/// Connects to the first address that answers; each gets a fair share of the time that is left.
///
/// The first failure is the one that is told: the system puts the likeliest address first, and what
/// follows often fails only because the machine has no IPv6.
fn reach(
    addresses: &[SocketAddr],
    time: Duration,
    cancel: &Cancel,
) -> Result<TcpStream, ureq::Error> {
    let watch = Stopwatch::start();
    let mut failure = None;
    for (address, waiting) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
        let share = time.saturating_sub(watch.elapsed()) / waiting;
        match dial(*address, share, cancel) {
            Ok(stream) => return Ok(stream),
            Err(error) => drop(failure.get_or_insert(error)),
        }
        if cancel.is_cancelled() {
            break;
        }
    }
    Err(failure.unwrap_or(ureq::Error::HostNotFound))
}

/// Connects without blocking, so that the token can be looked at; the stream then blocks as usual.
fn dial(address: SocketAddr, time: Duration, cancel: &Cancel) -> Result<TcpStream, ureq::Error> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)
        .map_err(io::Error::from)?;
    set_socket_send_buffer_size(&socket, limits::http::SEND_BUFFER_BYTES)
        .map_err(io::Error::from)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) => {}
        // An interrupted connect goes on by itself (connect(2), EINTR).
        Err(Errno::INPROGRESS | Errno::INTR) => wait_connected(socket.as_fd(), time, cancel)?,
        Err(error) => return Err(io::Error::from(error).into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    // A request goes out in a few writes that must not wait for each other's acknowledgement.
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn wait_connected(
    socket: BorrowedFd<'_>,
    time: Duration,
    cancel: &Cancel,
) -> Result<(), ureq::Error> {
    let watch = Stopwatch::start();
    while !cancel.is_cancelled() {
        let left = time.saturating_sub(watch.elapsed());
        if left.is_zero() {
            return Err(ureq::Error::Timeout(Timeout::Connect));
        }
        let slice = left.min(limits::cancel::POLL);
        let slice = Timespec {
            tv_sec: 0,
            tv_nsec: slice.subsec_nanos().into(),
        };
        match rustix::event::poll(
            &mut [PollFd::from_borrowed_fd(socket, PollFlags::OUT)],
            Some(&slice),
        ) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => {
                let outcome =
                    rustix::net::sockopt::socket_error(socket).map_err(io::Error::from)?;
                return Ok(outcome.map_err(io::Error::from)?);
            }
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    Err(io::Error::from(io::ErrorKind::Interrupted).into())
}
