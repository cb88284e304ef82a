//! A connection that reads and writes with deadlines, over TCP or over TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_keepalive, set_socket_send_buffer_size, set_tcp_keepidle, set_tcp_keepintvl,
};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::{Failure, Tls};
use crate::base::cancel::{Cancel, Registration};
use crate::base::clock::Stopwatch;
use crate::base::limits;

/// A connection. Its token shuts it down, which ends every wait on it.
///
/// A read or write that is not done by its deadline fails with [`io::ErrorKind::TimedOut`]. What a
/// read had received by then is not lost: the next one goes on from there. After a failed write the
/// connection can only be dropped.
pub struct Stream(Layer);

enum Layer {
    Tcp(Tcp),
    Tls(Box<StreamOwned<ClientConnection, Stream>>),
}

struct Tcp {
    stream: Arc<TcpStream>,
    read: Deadline,
    write: Deadline,
    _hook: Registration,
}

/// A time that runs out.
#[derive(Clone, Copy)]
struct Deadline {
    watch: Stopwatch,
    time: Duration,
    /// The timeout that the socket has.
    set: Option<Duration>,
}

impl Deadline {
    fn after(time: Duration) -> Self {
        Self {
            watch: Stopwatch::start(),
            time,
            set: None,
        }
    }

    /// The time of another deadline on the same socket, which keeps its timeout.
    fn renewed(self, time: Duration) -> Self {
        Self {
            set: self.set,
            ..Self::after(time)
        }
    }

    /// The timeout to give to the socket, where the one that it has is not near enough: a system call
    /// is spared for nearly every read and write, and a deadline is kept to within a quarter.
    fn timeout(&mut self) -> io::Result<Option<Duration>> {
        let left = self.left()?;
        if self
            .set
            .is_some_and(|set| left <= set && set - left <= left / 4)
        {
            return Ok(None);
        }
        self.set = Some(left);
        Ok(self.set)
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.time.saturating_sub(self.watch.elapsed());
        if left.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(left)
        }
    }
}

impl Stream {
    /// Connects to one address. The deadlines are `time` until others are set.
    pub(super) fn dial(
        address: SocketAddr,
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Self, Failure> {
        let stream = Arc::new(dial(address, time, cancel)?);
        let shared = stream.clone();
        let hook = cancel.on_cancel(move || {
            // It fails when the other side was quicker, which is just as good.
            let _ = shared.shutdown(Shutdown::Both);
        });
        Ok(Self(Layer::Tcp(Tcp {
            stream,
            read: Deadline::after(time),
            write: Deadline::after(time),
            _hook: hook,
        })))
    }

    /// Agrees on TLS with the host, whose name its certificate has to be for. Over a stream that has
    /// TLS already this is a second layer, as within a proxy's tunnel.
    pub fn secure(mut self, tls: &Tls, host: &str, time: Duration) -> Result<Self, Failure> {
        self.set_read_deadline(time);
        self.set_write_deadline(time);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| io::Error::other("no certificate can be for this name"))?;
        let config = tls.config().map_err(io::Error::other)?;
        let mut connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        connection.complete_io(&mut self)?;
        let secured = StreamOwned::new(connection, self);
        Ok(Self(Layer::Tls(Box::new(secured))))
    }

    /// Sets how long reads from now on may take together, until this is called again.
    pub fn set_read_deadline(&mut self, time: Duration) {
        let tcp = self.tcp_mut();
        tcp.read = tcp.read.renewed(time);
    }

    /// Sets how long writes from now on may take together, until this is called again.
    pub fn set_write_deadline(&mut self, time: Duration) {
        let tcp = self.tcp_mut();
        tcp.write = tcp.write.renewed(time);
    }

    /// Whether the connection is open and silent: nothing has come that was not read.
    pub fn is_open(&self) -> bool {
        // TLS may have received the end, or data, along with what was read.
        if let Layer::Tls(tls) = &self.0
            && !tls.conn.wants_read()
        {
            return false;
        }
        let mut byte = [0];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let peeked = rustix::net::recv(&*self.tcp().stream, &mut byte, flags);
        matches!(peeked, Err(Errno::AGAIN))
    }

    /// Waits until there is something to read, or until `wake` can be read, or for the time. Whether there is something to
    /// read, which may be the end.
    pub fn wait(&self, wake: BorrowedFd<'_>, time: Duration) -> io::Result<bool> {
        // TLS may have received it along with what was read.
        if let Layer::Tls(tls) = &self.0
            && !tls.conn.wants_read()
        {
            return Ok(true);
        }
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let socket = self.tcp().stream.as_fd();
        let mut fds = [socket, wake].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        match rustix::event::poll(&mut fds, Some(&time)) {
            Ok(_) => Ok(fds.first().is_some_and(|fd| !fd.revents().is_empty())),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the system ask the other side whether it is still there, after so long a silence and as often from then
    /// on. Where that is not possible the connection is as good as before.
    pub fn keep_alive(&self, silence: Duration) {
        let stream = &*self.tcp().stream;
        let set = set_tcp_keepidle(stream, silence)
            .and_then(|()| set_tcp_keepintvl(stream, silence / 4))
            .and_then(|()| set_socket_keepalive(stream, true));
        if let Err(error) = set {
            tracing::debug!("failed to keep a connection alive: {error}");
        }
    }

    /// The addresses of the other side and of ours.
    pub fn ends(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        let stream = &self.tcp().stream;
        Ok((stream.peer_addr()?, stream.local_addr()?))
    }

    /// Whether there is TLS on it.
    pub fn is_tls(&self) -> bool {
        matches!(self.0, Layer::Tls(_))
    }

    fn tcp(&self) -> &Tcp {
        match &self.0 {
            Layer::Tcp(tcp) => tcp,
            Layer::Tls(tls) => tls.sock.tcp(),
        }
    }

    fn tcp_mut(&mut self) -> &mut Tcp {
        match &mut self.0 {
            Layer::Tcp(tcp) => tcp,
            Layer::Tls(tls) => tls.sock.tcp_mut(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Layer::Tcp(tcp) => tcp.read(buffer),
            Layer::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Layer::Tcp(tcp) => tcp.write(buffer),
            Layer::Tls(tls) => tls.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Layer::Tcp(_) => Ok(()),
            Layer::Tls(tls) => tls.flush(),
        }
    }
}

impl Tcp {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(timeout) = self.read.timeout()? {
                self.stream.set_read_timeout(Some(timeout))?;
            }
            match (&*self.stream).read(buffer) {
                // A read with a timeout is never restarted after a signal (signal(7)).
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map_err(timed_out),
            }
        }
    }

    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        loop {
            if let Some(timeout) = self.write.timeout()? {
                self.stream.set_write_timeout(Some(timeout))?;
            }
            match (&*self.stream).write(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map_err(timed_out),
            }
        }
    }
}

/// A socket's timeout shows as `EAGAIN` (socket(7), SO_RCVTIMEO).
fn timed_out(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    }
}

/// Connects without blocking, so that the token can be looked at; the stream then blocks as usual.
fn dial(address: SocketAddr, time: Duration, cancel: &Cancel) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    set_socket_send_buffer_size(&socket, limits::net::SEND_BUFFER_BYTES)?;
    match rustix::net::connect(&socket, &address) {
        Ok(()) => {}
        // An interrupted connect goes on by itself (connect(2), EINTR).
        Err(Errno::INPROGRESS | Errno::INTR) => wait_connected(socket.as_fd(), time, cancel)?,
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    // A request goes out in a few writes that must not wait for each other's acknowledgement.
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn wait_connected(socket: BorrowedFd<'_>, time: Duration, cancel: &Cancel) -> io::Result<()> {
    let deadline = Deadline::after(time);
    while !cancel.is_cancelled() {
        let slice = deadline.left()?.min(limits::cancel::POLL);
        let slice = Timespec {
            tv_sec: 0,
            tv_nsec: slice.subsec_nanos().into(),
        };
        let mut fds = [PollFd::from_borrowed_fd(socket, PollFlags::OUT)];
        match rustix::event::poll(&mut fds, Some(&slice)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(rustix::net::sockopt::socket_error(socket)??),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}
