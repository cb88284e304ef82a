//! From a URL to a connection: around or through a proxy, with TLS where the scheme asks for it.
//!
//! [`Reach`] opens connections for ureq, whose connector trait it implements, and for websockets.

use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Proxy, ProxyProtocol, Timeout};

use super::address;
use super::client::{Bound, Settings};
use super::reply::frames::Frames;
use super::reply::head::{Head, HeadError, HeadReader};
use super::{BUFFER_BYTES, CONNECT_TIMEOUT, HEAD_BYTES, RESOLVE_TIMEOUT};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::http::WRITE_TIMEOUT;
use crate::base::sync::Mutex;
use crate::net::{Dialer, Failure, Guard, Stream, Tls, is_loopback, known_addresses, owner};

/// What a client and its connections share.
#[derive(Default)]
pub struct Line {
    /// Milliseconds that a connection may be silent within a body.
    idle_timeout: AtomicU64,
    /// Whether a connection was ever dialled.
    is_used: AtomicBool,
    /// Whether one was dialled in this call, so that it is not one that was kept.
    dialled: AtomicBool,
    /// Whether the whole request of this call went out.
    sent: AtomicBool,
    /// Whether any of the reply has come in this call.
    received: AtomicBool,
    /// What all calls may take together.
    bound: Option<Bound>,
    /// What the reply that is read now may take, from when on.
    reply_time: Mutex<Option<(Stopwatch, Duration)>>,
    /// Bytes that all calls received.
    received_bytes: AtomicU64,
}

impl Line {
    /// The line of a client with this bound.
    pub fn new(bound: Option<Bound>) -> Self {
        Self {
            bound,
            ..Self::default()
        }
    }

    /// The time that is left for all calls; `None`: there is no bound.
    fn time_left(&self) -> Result<Option<Duration>, ureq::Error> {
        if let Some(bound) = self.bound
            && self.received_bytes.load(Ordering::Relaxed) > bound.bytes
        {
            return Err(ureq::Error::BodyExceedsLimit(bound.bytes));
        }
        let of_all = self.bound.map(|bound| (bound.watch, bound.time));
        let times = of_all.into_iter().chain(*self.reply_time.lock());
        let left = times.map(|(watch, time)| time.saturating_sub(watch.elapsed()));
        match left.min() {
            Some(Duration::ZERO) => Err(ureq::Error::Timeout(Timeout::Global)),
            left => Ok(left),
        }
    }

    /// Sets how long the reply may take from now on, however little of it comes at a time.
    pub fn set_reply_time(&self, time: Option<Duration>) {
        *self.reply_time.lock() = time.map(|time| (Stopwatch::start(), time));
    }

    /// The shorter of the times that a reply has.
    pub fn total_time(&self) -> Duration {
        let of_all = self.bound.map(|bound| bound.time);
        let of_reply = self.reply_time.lock().map(|(_, time)| time);
        of_all.into_iter().chain(of_reply).min().unwrap_or_default()
    }

    /// Sets how long a connection may be silent within a body.
    pub fn set_idle_timeout(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.idle_timeout.store(millis, Ordering::Relaxed);
    }

    /// Notes that a call begins.
    pub fn begin_call(&self) {
        self.dialled.store(false, Ordering::Relaxed);
        self.sent.store(false, Ordering::Relaxed);
        self.received.store(false, Ordering::Relaxed);
    }

    /// Whether the whole request of the call went out.
    pub fn was_sent(&self) -> bool {
        self.sent.load(Ordering::Relaxed)
    }

    /// Whether the call went over a kept connection and none of its reply came.
    pub fn was_stale(&self) -> bool {
        self.is_used()
            && !self.dialled.load(Ordering::Relaxed)
            && !self.received.load(Ordering::Relaxed)
    }

    /// Whether there was a connection at all.
    pub fn is_used(&self) -> bool {
        self.is_used.load(Ordering::Relaxed)
    }

    fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout.load(Ordering::Relaxed))
    }
}

/// Why a host could not be reached.
#[derive(Debug)]
pub struct Unreachable {
    /// Host and port of the proxy, when the way to it or through it is at fault.
    pub proxy: Option<String>,
    /// What happened.
    pub failure: Failure,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.failure)
    }
}

impl std::error::Error for Unreachable {}

impl From<Failure> for Unreachable {
    fn from(failure: Failure) -> Self {
        Self {
            proxy: None,
            failure,
        }
    }
}

/// Reaches hosts, through the proxy where there is one.
pub struct Reach {
    /// Whom to trust.
    pub tls: Tls,
    /// Opens the connections.
    pub dialer: Dialer,
    /// The proxy.
    pub proxy: Option<Proxy>,
    /// See [`Settings::carries_secret`].
    carries_secret: bool,
}

impl Reach {
    /// Fails with [`Error::Config`] when the proxy's URL cannot be understood.
    pub fn new(tls: &Tls, settings: &Settings, dialer: Dialer) -> Result<Self> {
        let proxy = match &settings.proxy {
            Some(url) => Some(Proxy::new(url.expose()).map_err(|_| {
                Error::Config(
                    "Cannot understand the proxy. It must look like http://host:port or \
                     http://user:password@host:port"
                        .to_owned(),
                )
            })?),
            None if settings.proxy_from_environment => Proxy::try_from_env(),
            None => None,
        };
        Ok(Self {
            tls: tls.clone(),
            dialer,
            proxy,
            carries_secret: settings.carries_secret,
        })
    }

    /// Fails when a call would have to go through a kind of proxy that is not supported.
    pub fn check(&self, uri: &Uri) -> Result<()> {
        match self.proxy_of(uri).map(Proxy::protocol) {
            None | Some(ProxyProtocol::Http | ProxyProtocol::Https) => Ok(()),
            Some(_) => Err(Error::Config(
                "SOCKS proxies are not supported. Use an HTTP proxy (http://host:port), in the \
                 configuration or in ALL_PROXY, HTTPS_PROXY or HTTP_PROXY"
                    .to_owned(),
            )),
        }
    }

    /// The proxy that a call goes through: not to this machine, nor to a host in `NO_PROXY`.
    fn proxy_of(&self, uri: &Uri) -> Option<&Proxy> {
        let (host, _) = address::host_and_port(uri)?;
        let proxy = self.proxy.as_ref()?;
        (!is_loopback(host) && !proxy.is_no_proxy(uri)).then_some(proxy)
    }

    /// Opens a connection to the host of an `http` or `https` URL.
    pub fn open(&self, uri: &Uri) -> Result<Stream, Unreachable> {
        let (host, port) = address::host_and_port(uri).ok_or(Failure::UnknownHost)?;
        let (stream, watch) = match self.proxy_of(uri) {
            None => dial(&self.dialer, host, port)?,
            Some(proxy) => self.tunnel(proxy, uri).map_err(|failure| Unreachable {
                proxy: Some(format!("{}:{}", proxy.host(), proxy.port())),
                failure,
            })?,
        };
        if uri.scheme_str() == Some("https") {
            return Ok(stream.secure(&self.tls, host, left(watch))?);
        }
        if self.carries_secret {
            self.check_owner(&stream)?;
        }
        Ok(stream)
    }

    /// Fails when a stream without TLS ends at an untrusted user's server on this machine.
    fn check_owner(&self, stream: &Stream) -> Result<(), Failure> {
        let (theirs, ours) = stream.ends()?;
        owner::check(theirs, ours, self.tls.local_users())
    }

    /// Opens a tunnel through a proxy (RFC 9110, section 9.3.6).
    ///
    /// The guard is not asked about the proxy, which the configuration names, but about the host
    /// when that is an address. A name is resolved by the proxy, out of our sight.
    fn tunnel(&self, proxy: &Proxy, uri: &Uri) -> Result<(Stream, Stopwatch), Failure> {
        let (host, port) = address::host_and_port(uri).ok_or(Failure::UnknownHost)?;
        for address in known_addresses(host, port).unwrap_or_default() {
            self.dialer.guard.check(address)?;
        }
        let to_proxy = Dialer {
            guard: Guard::default(),
            ..self.dialer.clone()
        };
        let (proxy_host, proxy_port) =
            address::host_and_port(proxy.uri()).ok_or(Failure::UnknownHost)?;
        let (mut stream, watch) = dial(&to_proxy, proxy_host, proxy_port)?;
        if proxy.protocol() == ProxyProtocol::Https {
            stream = stream.secure(&self.tls, proxy_host, left(watch))?;
        } else if proxy.password().is_some()
            || self.carries_secret && uri.scheme_str() != Some("https")
        {
            self.check_owner(&stream)?;
        }
        stream.set_read_deadline(left(watch));
        stream.set_write_deadline(left(watch));
        stream.write_all(tunnel_request(proxy, &address::name(uri)).as_bytes())?;
        stream.flush()?;
        match read_head(&mut stream)?.status {
            200..=299 => Ok((stream, watch)),
            status => Err(Failure::Io(io::Error::other(format!(
                "it refused the tunnel with status {status}"
            )))),
        }
    }
}

/// Connects, and measures the time from when the addresses are known.
fn dial(dialer: &Dialer, host: &str, port: u16) -> Result<(Stream, Stopwatch), Failure> {
    let addresses = dialer.resolve(host, port, RESOLVE_TIMEOUT)?;
    let watch = Stopwatch::start();
    Ok((dialer.connect(&addresses, CONNECT_TIMEOUT)?, watch))
}

/// What is left of the time to connect, which TCP, tunnel and TLS share.
fn left(watch: Stopwatch) -> Duration {
    CONNECT_TIMEOUT.saturating_sub(watch.elapsed())
}

fn tunnel_request(proxy: &Proxy, target: &str) -> String {
    let mut request = format!(
        "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nUser-Agent: {USER_AGENT}\r\n\
         Proxy-Connection: Keep-Alive\r\n"
    );
    if proxy.username().is_some() || proxy.password().is_some() {
        let user = proxy.username().unwrap_or_default();
        let password = proxy.password().unwrap_or_default();
        let credentials = BASE64_STANDARD.encode(format!("{user}:{password}"));
        request += &format!("Proxy-Authorization: Basic {credentials}\r\n");
    }
    request + "\r\n"
}

/// What a request says about its sender.
pub const USER_AGENT: &str = concat!("peacrab/", env!("CARGO_PKG_VERSION"));

/// Reads a head up to its empty line and nothing beyond it, because what follows is not HTTP.
pub fn read_head(stream: &mut impl Read) -> io::Result<Head> {
    let mut reader = HeadReader::default();
    let mut byte = [0];
    loop {
        if stream.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(head) = reader.push(byte[0]).map_err(io::Error::other)? {
            return Ok(head);
        }
    }
}

/// Connects for ureq.
pub struct ReachConnector {
    pub reach: Arc<Reach>,
    pub line: Arc<Line>,
}

impl Connector for ReachConnector {
    type Out = Connection;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _chained: Option<()>,
    ) -> Result<Option<Connection>, ureq::Error> {
        self.line.dialled.store(true, Ordering::Relaxed);
        let stream = self
            .reach
            .open(details.uri)
            .map_err(|error| ureq::Error::Other(Box::new(error)))?;
        self.line.is_used.store(true, Ordering::Relaxed);
        Ok(Some(Connection {
            stream,
            buffers: LazyBuffers::new(BUFFER_BYTES, BUFFER_BYTES),
            line: self.line.clone(),
            frames: Frames::default(),
            ahead: Vec::new(),
        }))
    }
}

impl fmt::Debug for ReachConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReachConnector")
    }
}

/// Resolves nothing for ureq: the connector does, which knows what a proxy resolves.
#[derive(Debug)]
pub struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(
        &self,
        _uri: &Uri,
        _config: &Config,
        _timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}

/// A connection as ureq uses it.
pub struct Connection {
    stream: Stream,
    buffers: LazyBuffers,
    line: Arc<Line>,
    /// The reply that is read.
    frames: Frames,
    /// What was read of it and not passed on yet.
    ahead: Vec<u8>,
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.frames = Frames::default();
        let timeout = timeout.for_write();
        self.stream
            .set_write_deadline((*timeout.after).min(WRITE_TIMEOUT));
        let written = self.stream.write_all(&self.buffers.output()[..amount]);
        written
            .and_then(|()| self.stream.flush())
            .map_err(|error| timed(error, timeout.reason))
    }

    fn await_input(&mut self, mut timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.line.sent.store(true, Ordering::Relaxed);
        let room = self.buffers.input_append_buf();
        if room.is_empty() {
            // ureq would take a read of no bytes for the end of the connection.
            let filled = self.buffers.input().len();
            return Err(ureq::Error::LargeResponseHeader(filled, filled));
        }
        // Only a body has no time of its own: it may take long, but it may not be silent for long.
        if timeout.after.is_not_happening() {
            timeout.after = self.line.idle_timeout().into();
            timeout.reason = Timeout::PerRead;
        }
        // An idle time begins again with every byte, also with those that are no content.
        let left = self.line.time_left()?;
        if let Some(left) = left.filter(|left| *left < *timeout.after) {
            timeout.after = left.into();
            timeout.reason = Timeout::Global;
        }
        self.stream.set_read_deadline(*timeout.after);
        loop {
            let room = self.buffers.input_append_buf();
            let (taken, written) = self.frames.pass(&self.ahead, room).map_err(invalid)?;
            self.ahead.drain(..taken);
            if written > 0 {
                self.buffers.input_appended(written);
                return Ok(true);
            }
            let is_plain = self.frames.is_plain();
            self.ahead = Vec::new();
            if !is_plain {
                self.ahead = vec![0; BUFFER_BYTES];
            }
            let to = if is_plain { room } else { &mut self.ahead };
            let read = self.stream.read(to);
            let amount = read.map_err(|error| timed(error, timeout.reason));
            self.ahead.truncate(*amount.as_ref().unwrap_or(&0));
            let amount = amount?;
            let received = &self.line.received_bytes;
            received.fetch_add(amount as u64, Ordering::Relaxed);
            if amount == 0 {
                return Ok(false);
            }
            self.line.received.store(true, Ordering::Relaxed);
            if is_plain {
                self.buffers.input_appended(amount);
                return Ok(true);
            }
            self.line.time_left()?;
        }
    }

    /// Open and silent: what comes between two answers belongs to none of them.
    fn is_open(&mut self) -> bool {
        self.stream.is_open() && self.buffers.input().is_empty() && self.ahead.is_empty()
    }

    fn is_tls(&self) -> bool {
        self.stream.is_tls()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}

fn invalid(error: HeadError) -> ureq::Error {
    match error {
        HeadError::TooLong => ureq::Error::LargeResponseHeader(HEAD_BYTES, HEAD_BYTES),
        HeadError::Invalid(_) => ureq::Error::Other(Box::new(error)),
    }
}

fn timed(error: io::Error, reason: Timeout) -> ureq::Error {
    match error.kind() {
        io::ErrorKind::TimedOut => ureq::Error::Timeout(reason),
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_its_empty_line_and_what_follows_is_left() {
        let mut stream =
            &b"HTTP/1.1 101 Switching Protocols\r\nUpgrade:  websocket \r\n\r\nrest"[..];
        let head = read_head(&mut stream).unwrap();
        assert_eq!(head.status, 101);
        assert_eq!(head.headers["upgrade"], "websocket");
        assert_eq!(stream, b"rest");
    }

    #[test]
    fn what_is_not_a_head_is_refused() {
        for text in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "SSH-2.0 x y\r\n\r\n",
            "HTTP/1.1 20 O\r\n\r\n",
        ] {
            assert!(read_head(&mut text.as_bytes()).is_err(), "{text}");
        }
        assert!(read_head(&mut io::repeat(b'x')).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_head_or_none(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80)) {
            let _ = read_head(&mut [&b"HTTP/1.1 200 "[..], &bytes, b"\r\n\r\n"].concat().as_slice());
        }
    }
}
