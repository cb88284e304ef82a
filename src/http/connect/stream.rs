//! A TCP stream as ureq wants it, with the times that hold for it.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use ureq::Timeout;
use ureq::unversioned::transport::{Buffers, LazyBuffers, NextTimeout, Transport};

use crate::cancel::{Cancel, Guard};
use crate::clock::Stopwatch;

/// How long a connection may be silent within a body. Shared by a client and its connections, so
/// that the tail of a body can be given less.
#[derive(Clone)]
pub struct IdleTimeout(Arc<AtomicU64>);

impl IdleTimeout {
    pub fn new(time: Duration) -> Self {
        let timeout = Self(Arc::default());
        timeout.set(time);
        timeout
    }

    pub fn set(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.0.store(millis, Ordering::Relaxed);
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

/// Fails when a response's head fills the whole buffer. ureq would take the read of no bytes that
/// follows for the end of the connection.
pub fn check_room(buffers: &mut dyn Buffers) -> Result<(), ureq::Error> {
    if buffers.input_append_buf().is_empty() {
        let filled = buffers.input().len();
        return Err(ureq::Error::LargeResponseHeader(filled, filled));
    }
    Ok(())
}

/// A TCP stream that the token shuts down, which ends every wait on it.
pub struct Stream {
    stream: Arc<TcpStream>,
    buffers: LazyBuffers,
    idle_timeout: IdleTimeout,
    _breaker: Guard,
}

impl Stream {
    /// Takes over a connected stream; `buffer` is the size of its buffers, in bytes.
    pub fn new(
        stream: TcpStream,
        buffer: usize,
        idle_timeout: IdleTimeout,
        cancel: &Cancel,
    ) -> Self {
        let stream = Arc::new(stream);
        let shared = stream.clone();
        let breaker = cancel.on_cancel(move || {
            // It fails when the other side was quicker, which is as well.
            let _ = shared.shutdown(Shutdown::Both);
        });
        Self {
            stream,
            buffers: LazyBuffers::new(buffer, buffer),
            idle_timeout,
            _breaker: breaker,
        }
    }

    fn read(&mut self, timeout: NextTimeout) -> Result<usize, ureq::Error> {
        let watch = Stopwatch::start();
        loop {
            let left = timeout.after.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return Err(ureq::Error::Timeout(timeout.reason));
            }
            self.stream.set_read_timeout(Some(left))?;
            match (&*self.stream).read(self.buffers.input_append_buf()) {
                // A read with a timeout is never restarted after a signal (signal(7)).
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map_err(|error| timed(error, timeout.reason)),
            }
        }
    }
}

impl Transport for Stream {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timeout = timeout.for_write();
        if timeout.after.is_zero() {
            return Err(ureq::Error::Timeout(timeout.reason));
        }
        self.stream.set_write_timeout(Some(*timeout.after))?;
        (&*self.stream)
            .write_all(&self.buffers.output()[..amount])
            .map_err(|error| timed(error, timeout.reason))
    }

    fn await_input(&mut self, mut timeout: NextTimeout) -> Result<bool, ureq::Error> {
        check_room(&mut self.buffers)?;
        // Only a body has no time of its own: it may take long, but it may not be silent for long.
        if timeout.after.is_not_happening() {
            timeout.after = self.idle_timeout.get().into();
            timeout.reason = Timeout::PerRead;
        }
        let amount = self.read(timeout)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// Open and silent: what comes between two answers belongs to none of them.
    fn is_open(&mut self) -> bool {
        let peeked = rustix::net::recv(
            &*self.stream,
            &mut [0],
            RecvFlags::PEEK | RecvFlags::DONTWAIT,
        );
        matches!(peeked, Err(Errno::AGAIN)) && self.buffers.input().is_empty()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

/// A socket's timeout shows as `EAGAIN` (socket(7), SO_RCVTIMEO).
fn timed(error: io::Error, reason: Timeout) -> ureq::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ureq::Error::Timeout(reason),
        _ => error.into(),
    }
}
