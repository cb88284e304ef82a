//! A connection to a mail server, read by lines: dialled with TLS, or secured after the first words (STARTTLS).

use std::io::{self, Read, Write};
use std::time::Duration;

use super::CONNECT_TIME;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::limits::channels::email::ANSWER_TIME;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::net::{Dialer, Failure as Unreachable, Stream, Tls, owner};

/// Silence after which the system asks whether the other side of a waiting connection is still there: home
/// routers forget a silent connection after some minutes.
const KEEP_ALIVE: Duration = Duration::from_mins(2);
/// Bytes read from a connection at once.
const CHUNK_BYTES: usize = 4096;
/// Bytes of one line of a server, without what it announces as literals.
const LINE_BYTES: usize = 64 * 1024;
/// Bytes of an answer's buffer that is kept for the next one.
const KEPT_BUFFER_BYTES: usize = 8 * 1024;

/// How a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// With TLS from the beginning.
    Tls,
    /// With TLS after the server has said that it can; without it only on this machine.
    StartTls,
    /// Not at all, which is allowed only on this machine.
    None,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// How to reach it.
    pub security: Security,
}

impl Server {
    /// Its name and port, for people.
    pub fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// An open connection.
pub struct Wire {
    stream: Stream,
    server: Server,
    cancel: Cancel,
    /// What has been received and not been read.
    received: Vec<u8>,
}

impl Wire {
    /// Connects.
    pub fn dial(server: &Server, tls: &Tls, cancel: &Cancel) -> Sent<Self> {
        let fail = |failure| unreachable(&server.name(), cancel, failure);
        let dialer = Dialer::new(cancel);
        let watch = Stopwatch::start();
        let left = || CONNECT_TIME.saturating_sub(watch.elapsed());
        let resolved = dialer.resolve(&server.host, server.port, left());
        let addresses = resolved.map_err(fail)?;
        let mut stream = dialer.connect(&addresses, left()).map_err(fail)?;
        stream.keep_alive(KEEP_ALIVE);
        if server.security == Security::Tls {
            stream = stream.secure(tls, &server.host, left()).map_err(fail)?;
        }
        Ok(Self {
            stream,
            server: server.clone(),
            cancel: cancel.clone(),
            received: Vec::new(),
        })
    }

    /// Whether it is encrypted.
    pub fn is_secure(&self) -> bool {
        self.stream.is_tls()
    }

    /// Encrypts the connection, which both sides have agreed on.
    pub fn secure(self, tls: &Tls) -> Sent<Self> {
        let name = self.server.name();
        // Whatever came before TLS may be from someone else.
        if !self.received.is_empty() {
            return Err(Failure::Down(format!("{name} sent data before TLS began")));
        }
        let secured = self.stream.secure(tls, &self.server.host, CONNECT_TIME);
        let stream = secured.map_err(|failure| unreachable(&name, &self.cancel, failure))?;
        Ok(Self { stream, ..self })
    }

    /// Fails where a password would be sent in the clear to another machine, or to another user's server on this one.
    pub fn check_secrecy(&self, tls: &Tls) -> Sent {
        if self.is_secure() {
            return Ok(());
        }
        let name = self.server.name();
        let ends = self.stream.ends();
        let (theirs, ours) = ends.map_err(|error| self.broken(&error))?;
        if !theirs.ip().to_canonical().is_loopback() {
            return Err(Failure::Down(format!(
                "{name} does not offer TLS, so the password was not sent"
            )));
        }
        let checked = owner::check(theirs, ours, tls.local_users());
        checked.map_err(|failure| unreachable(&name, &self.cancel, failure))
    }

    /// The address of this side as SMTP names it.
    pub fn own_name(&self) -> String {
        match self.stream.ends().map(|(_, ours)| ours.ip().to_canonical()) {
            Ok(std::net::IpAddr::V6(address)) => format!("[IPv6:{address}]"),
            Ok(address) => format!("[{address}]"),
            Err(_) => "localhost".to_owned(),
        }
    }

    /// Sends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Sent {
        self.stream.set_write_deadline(ANSWER_TIME);
        let written = self.stream.write_all(bytes);
        let written = written.and_then(|()| self.stream.flush());
        written.map_err(|error| self.broken(&error))
    }

    /// The next line without its newline.
    pub fn line(&mut self) -> Sent<Vec<u8>> {
        let line = self.line_within(ANSWER_TIME)?;
        line.ok_or_else(|| self.broken(&io::ErrorKind::TimedOut.into()))
    }

    /// The same; `None` when it has not come in this time. What has come of it is kept.
    pub fn line_within(&mut self, time: Duration) -> Sent<Option<Vec<u8>>> {
        let mut searched = 0;
        self.stream.set_read_deadline(time);
        loop {
            let rest = self.received.get(searched..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let mut line = self.take(searched + at + 1);
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(line));
            }
            searched = self.received.len();
            if searched > LINE_BYTES {
                return Err(Failure::Trouble(format!(
                    "{} sent a line that is too long",
                    self.server.name()
                )));
            }
            if !self.receive()? {
                return Ok(None);
            }
        }
    }

    /// Reads exactly so many bytes.
    pub fn exactly(&mut self, count: usize, into: &mut Vec<u8>) -> Sent {
        let end = into.len() + count;
        self.stream.set_read_deadline(ANSWER_TIME);
        loop {
            let missing = end - into.len();
            let known = missing.min(self.received.len());
            into.extend(self.take(known));
            if into.len() == end {
                return Ok(());
            }
            if !self.receive()? {
                return Err(self.broken(&io::ErrorKind::TimedOut.into()));
            }
        }
    }

    /// Returns memory before a long wait.
    pub fn rest(&mut self) {
        self.received.shrink_to_fit();
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.received.drain(..count).collect();
        if self.received.is_empty() && self.received.capacity() > KEPT_BUFFER_BYTES {
            self.received = Vec::new();
        }
        taken
    }

    /// Receives more; false when nothing has come in time.
    fn receive(&mut self) -> Sent<bool> {
        let mut chunk = [0; CHUNK_BYTES];
        match self.stream.read(&mut chunk) {
            Ok(0) => Err(self.broken(&io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => {
                self.received.extend(chunk.iter().take(count));
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(false),
            Err(error) => Err(self.broken(&error)),
        }
    }

    fn broken(&self, error: &io::Error) -> Failure {
        let name = self.server.name();
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
