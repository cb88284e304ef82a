//! The socket: lines out, lines in, and a wait that another thread can end.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::channels::irc::settings::Settings;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::net::{Dialer, Failure as Unreachable, Stream, Tls, owner};

/// Bytes of a line that is read: 8191 of tags (IRCv3 message-tags) and what follows.
const LINE_BYTES: usize = 16 * 1024;
/// Bytes that are read at once.
const CHUNK_BYTES: usize = 4096;
/// Bytes of a buffer that is kept when it is empty.
const KEPT_BUFFER_BYTES: usize = 8 * 1024;
/// Time for name, connection and TLS.
const CONNECT_TIME: Duration = Duration::from_secs(30);
/// Time in which a line has to be written.
const LINE_TIME: Duration = Duration::from_secs(20);
/// How long a read waits when something has come that may be no text, such as a ticket of TLS.
const READ_TIME: Duration = Duration::from_millis(250);

/// An open connection.
pub struct Wire {
    stream: Stream,
    server: String,
    cancel: Cancel,
    wake: Arc<OwnedFd>,
    /// What has been received of a line.
    received: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
}

impl Wire {
    /// Connects. Without TLS, passwords go only to this machine.
    pub fn dial(
        settings: &Settings,
        tls: &Tls,
        cancel: &Cancel,
        wake: &Arc<OwnedFd>,
    ) -> Sent<Self> {
        let server = settings.server_name();
        let fail = |failure| unreachable(&server, cancel, failure);
        let dialer = Dialer::new(cancel);
        let watch = Stopwatch::start();
        let left = || CONNECT_TIME.saturating_sub(watch.elapsed());
        let resolved = dialer.resolve(&settings.server, settings.port, left());
        let addresses = resolved.map_err(fail)?;
        let mut stream = dialer.connect(&addresses, left()).map_err(fail)?;
        if settings.tls {
            stream = stream.secure(tls, &settings.server, left()).map_err(fail)?;
        } else if settings.has_secrets() {
            check_secrecy(&stream, &server, tls, cancel)?;
        }
        Ok(Self {
            stream,
            server,
            cancel: cancel.clone(),
            wake: Arc::clone(wake),
            received: Vec::new(),
            lines: VecDeque::new(),
        })
    }

    /// Waits for something to come, for a wake, or for the time. Whether something came.
    pub fn wait(&self, time: Duration) -> Sent<bool> {
        let waited = self.stream.wait(self.wake.as_fd(), time);
        let mut count = [0; 8];
        // Nothing is there unless it was woken.
        let _ = rustix::io::read(&*self.wake, &mut count);
        if self.cancel.is_cancelled() {
            Err(Failure::Stopped)
        } else {
            waited.map_err(|error| self.broken(&error))
        }
    }

    /// Receives what is there.
    pub fn receive(&mut self) -> Sent {
        let mut chunk = [0; CHUNK_BYTES];
        self.stream.set_read_deadline(READ_TIME);
        // TLS may have to write first, such as an alert.
        self.stream.set_write_deadline(READ_TIME);
        let count = match self.stream.read(&mut chunk) {
            Ok(0) => return Err(self.broken(&io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => count,
            // It was a part of TLS's own, or half of a record; the rest comes.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(()),
            Err(error) => return Err(self.broken(&error)),
        };
        for byte in chunk.iter().take(count) {
            match byte {
                b'\n' => self.lines.push_back(std::mem::take(&mut self.received)),
                byte => self.received.push(*byte),
            }
        }
        if self.received.len() > LINE_BYTES {
            Err(Failure::Down(format!(
                "{} sent a line that is too long",
                self.server
            )))
        } else {
            Ok(())
        }
    }

    /// The next line that was received.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        let line = self.lines.pop_front();
        if self.lines.is_empty() && self.lines.capacity() > KEPT_BUFFER_BYTES / size_of::<Vec<u8>>()
        {
            self.lines = VecDeque::new();
        }
        line
    }

    /// Sends a line.
    pub fn write(&mut self, line: &str) -> Sent {
        self.write_within(line, LINE_TIME)
    }

    fn write_within(&mut self, line: &str, time: Duration) -> Sent {
        self.stream.set_write_deadline(time);
        let line = format!("{line}\r\n");
        let written = self.stream.write_all(line.as_bytes());
        let written = written.and_then(|()| self.stream.flush());
        written.map_err(|error| self.broken(&error))
    }

    /// Says the last words, if the server still takes them.
    pub fn say_farewell(&mut self, line: &str, time: Duration) {
        let _ = self.write_within(line, time);
    }

    fn broken(&self, error: &io::Error) -> Failure {
        let name = &self.server;
        if self.cancel.is_cancelled() {
            return Failure::Stopped;
        }
        Failure::Down(match error.kind() {
            io::ErrorKind::TimedOut => format!("{name} did not answer in time"),
            io::ErrorKind::UnexpectedEof => format!("{name} closed the connection"),
            _ => format!("the connection to {name} broke: {error}"),
        })
    }
}

/// Fails where a password would be sent in the clear to another machine, or to another user's server on this one.
fn check_secrecy(stream: &Stream, server: &str, tls: &Tls, cancel: &Cancel) -> Sent {
    let ends = stream.ends();
    let (theirs, ours) =
        ends.map_err(|error| Failure::Down(format!("the connection to {server} broke: {error}")))?;
    if !theirs.ip().to_canonical().is_loopback() {
        return Err(Failure::Refused(format!(
            "passwords are sent to {server} with TLS only: set channels.irc.tls to true"
        )));
    }
    let checked = owner::check(theirs, ours, tls.local_users());
    checked.map_err(|failure| unreachable(server, cancel, failure))
}

/// Why a server cannot be reached.
fn unreachable(name: &str, cancel: &Cancel, failure: Unreachable) -> Failure {
    if cancel.is_cancelled() {
        return Failure::Stopped;
    }
    Failure::Down(match failure {
        Unreachable::UnknownHost => {
            format!("cannot resolve the name of {name}; check the name and your network")
        }
        Unreachable::ResolveTimeout => format!("the name of {name} was not resolved in time"),
        Unreachable::ConnectTimeout => format!("{name} did not answer in time"),
        Unreachable::Refused { address, why } => format!("{address} may not be dialled: {why}"),
        Unreachable::Untrusted(why) => format!("{name}: {why}"),
        Unreachable::Io(error) => format!("cannot connect to {name}: {error}"),
    })
}
