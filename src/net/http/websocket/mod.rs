//! Websockets, the client's side (RFC 6455): a channel's gateway that pushes events to us.
//!
//! One thread owns a [`Websocket`] and alternates between [`receive`](Websocket::receive), which
//! comes back as [`Received::Idle`] when its time is over, and sending. Pings are answered and a
//! close is confirmed on the way. Extensions such as compression are not offered, so none is used.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ureq::http::Uri;
use ureq::http::header::{CONNECTION, CONTENT_LENGTH, SEC_WEBSOCKET_ACCEPT, UPGRADE};

use super::TAIL_TIMEOUT;
use super::client::{Settings, header, printable};
use super::connect::{Line, Reach, USER_AGENT, read_head};
use super::explain::{Context, Shared};
use super::reply::head::Head;
use super::retry_after::retry_after;
use super::{Tls, address};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::http::{ERROR_BODY_BYTES, WEBSOCKET_MESSAGE_BYTES, WRITE_TIMEOUT};
use crate::net::{Dialer, Stream};
use crate::sys::random;

/// Bytes read from a websocket at once. It is held as long as the connection is.
const WEBSOCKET_BUFFER_BYTES: usize = 4 * 1024;
/// Time for the other side to confirm that a websocket is closed.
const WEBSOCKET_CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// Where a server without a body says why it refuses a handshake; Feishu does.
const REASON: &str = "handshake-msg";

/// Bytes of a control frame's payload (RFC 6455, section 5.5).
const CONTROL_BYTES: usize = 125;

/// What came over a websocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A message of text.
    Text(String),
    /// A message of bytes.
    Binary(Vec<u8>),
    /// A ping. It has been answered.
    Ping(Vec<u8>),
    /// The answer to a ping.
    Pong(Vec<u8>),
    /// The other side closed the connection. The close has been confirmed; nothing follows.
    Closed {
        /// Why, as a number; [`NO_CODE`] when the other side gives none.
        code: u16,
        /// Why, in its words.
        reason: String,
    },
    /// Nothing came in time.
    Idle,
}

/// Stands for a close without a code (RFC 6455, section 7.4.1).
pub const NO_CODE: u16 = 1005;

/// What the other side did against the protocol, or beyond our bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The code with which the connection is closed.
    pub code: u16,
    /// What it did.
    pub what: &'static str,
}

const fn violation(what: &'static str) -> Violation {
    Violation { code: 1002, what }
}

const TOO_LARGE: Violation = Violation {
    code: 1009,
    what: "it sent a message that is too large",
};

/// The frame whose payload is being received.
#[derive(Clone, Copy, Debug)]
struct Frame {
    opcode: u8,
    is_last: bool,
    left: usize,
}

/// Puts messages together from bytes that arrive in pieces of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a frame's header.
    header: Vec<u8>,
    frame: Option<Frame>,
    control: Vec<u8>,
    message: Vec<u8>,
    /// The kind of the message that is not complete.
    kind: Option<u8>,
}

impl Decoder {
    /// Takes bytes off the front of `input` until something is complete, or all are taken.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Received>, Violation> {
        loop {
            let Some(frame) = &mut self.frame else {
                let Some((first, rest)) = input.split_first() else {
                    return Ok(None);
                };
                *input = rest;
                self.header.push(*first);
                if let Some(frame) = parse_header(&self.header)? {
                    self.header.clear();
                    self.begin(frame)?;
                }
                continue;
            };
            let count = frame.left.min(input.len());
            let (payload, rest) = input.split_at(count);
            *input = rest;
            frame.left -= count;
            let frame = *frame;
            let is_control = frame.opcode >= CLOSE;
            let target = if is_control {
                &mut self.control
            } else {
                &mut self.message
            };
            target.extend_from_slice(payload);
            if frame.left > 0 {
                return Ok(None);
            }
            self.frame = None;
            if is_control {
                return control(frame.opcode, std::mem::take(&mut self.control)).map(Some);
            }
            if frame.is_last {
                let message = std::mem::take(&mut self.message);
                return complete(self.kind.take(), message).map(Some);
            }
        }
    }

    fn begin(&mut self, frame: Frame) -> Result<(), Violation> {
        match frame.opcode {
            CONTINUATION if self.kind.is_none() => {
                return Err(violation("it continued a message that it had not begun"));
            }
            TEXT | BINARY if self.kind.is_some() => {
                return Err(violation("it began a message within another"));
            }
            TEXT | BINARY => self.kind = Some(frame.opcode),
            CONTINUATION => {}
            CLOSE | PING | PONG => {
                if frame.left > CONTROL_BYTES || !frame.is_last {
                    return Err(violation("it sent a control frame that is too long"));
                }
            }
            _ => return Err(violation("it sent a frame of an unknown kind")),
        }
        if frame.opcode < CLOSE && frame.left > WEBSOCKET_MESSAGE_BYTES - self.message.len() {
            return Err(TOO_LARGE);
        }
        self.frame = Some(frame);
        Ok(())
    }
}

/// A header, once all its bytes are there.
fn parse_header(bytes: &[u8]) -> Result<Option<Frame>, Violation> {
    let &[flags, length, ref extended @ ..] = bytes else {
        return Ok(None);
    };
    if flags & 0x70 != 0 {
        return Err(violation("it used an extension that was not agreed on"));
    }
    if length & 0x80 != 0 {
        return Err(violation("it masked a frame, which only clients do"));
    }
    let left = match (length, extended) {
        (0..=125, _) => u64::from(length),
        (126, &[a, b]) => u64::from(u16::from_be_bytes([a, b])),
        (127, extended) => match extended.try_into() {
            Ok(extended) => u64::from_be_bytes(extended),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(Frame {
        opcode: flags & 0x0f,
        is_last: flags & 0x80 != 0,
        left: usize::try_from(left).map_err(|_| TOO_LARGE)?,
    }))
}

fn control(opcode: u8, payload: Vec<u8>) -> Result<Received, Violation> {
    Ok(match (opcode, payload.as_slice()) {
        (PING, _) => Received::Ping(payload),
        (PONG, _) => Received::Pong(payload),
        (_, []) => Received::Closed {
            code: NO_CODE,
            reason: String::new(),
        },
        (_, [high, low, reason @ ..]) => Received::Closed {
            code: u16::from_be_bytes([*high, *low]),
            reason: printable(reason),
        },
        _ => return Err(violation("it closed with half a code")),
    })
}

fn complete(kind: Option<u8>, message: Vec<u8>) -> Result<Received, Violation> {
    if kind == Some(BINARY) {
        return Ok(Received::Binary(message));
    }
    let text = String::from_utf8(message).map_err(|_| Violation {
        code: 1007,
        what: "it sent text that is not UTF-8",
    })?;
    Ok(Received::Text(text))
}

/// A whole frame as a client sends it: masked with an unpredictable key.
fn encode(opcode: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | opcode);
    match payload.len() {
        length @ 0..=125 => frame.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b));
    frame
}

/// A connection over which both sides send messages at any time. Its token breaks every wait.
pub struct Websocket {
    stream: Stream,
    context: Context,
    decoder: Decoder,
    /// What was read, and the part of it that is not decoded.
    buffer: Vec<u8>,
    unread: std::ops::Range<usize>,
    is_closed: bool,
}

impl Websocket {
    /// Connects to a `ws://` or `wss://` URL. The values of headers count as secrets.
    ///
    /// A refusal is [`Error::Status`] with the beginning of what the server says.
    pub fn connect(
        tls: &Tls,
        settings: Settings,
        url: &str,
        headers: &[(&str, &str)],
        cancel: &Cancel,
    ) -> Result<Self> {
        let uri = match url.strip_prefix("ws") {
            Some(rest) => address::parse(&format!("http{rest}"))?,
            None => address::parse(url)?,
        };
        let dialer = Dialer {
            guard: settings.guard.clone(),
            ..Dialer::new(cancel)
        };
        let reach = Reach::new(tls, &settings, dialer)?;
        reach.check(&uri)?;
        let key = BASE64_STANDARD.encode(random::bytes::<16>()?);
        let request = upgrade_request(&uri, &key, headers)?;
        let first_byte = settings.first_byte;
        let context = Context {
            host: address::name(&uri),
            shared: Arc::new(Shared {
                settings,
                cancel: cancel.clone(),
                line: Arc::new(Line::default()),
            }),
        };
        let mut stream = reach
            .open(&uri)
            .map_err(|error| context.unreachable(error))?;
        stream.set_write_deadline(WRITE_TIMEOUT);
        stream.set_read_deadline(first_byte);
        let head = stream
            .write_all(request.as_bytes())
            .and_then(|()| stream.flush())
            .and_then(|()| read_head(&mut stream))
            .map_err(|error| context.explain_io(&error))?;
        if head.status != 101 {
            return Err(refusal(&head, &mut stream, &context));
        }
        if !is_upgrade(&head, &key) {
            let what = "it does not speak the websocket protocol at this address".to_owned();
            return Err(context.network(what));
        }
        tracing::debug!(host = %context.host, "websocket");
        Ok(Self {
            stream,
            context,
            decoder: Decoder::default(),
            buffer: vec![0; WEBSOCKET_BUFFER_BYTES],
            unread: 0..0,
            is_closed: false,
        })
    }

    /// Waits up to `time` for something to come. The part of a message that came in time is kept
    /// for the next call.
    ///
    /// After an error, or [`Received::Closed`], the connection can only be dropped.
    pub fn receive(&mut self, time: Duration) -> Result<Received> {
        let watch = Stopwatch::start();
        let mut left = time.max(Duration::from_millis(1));
        loop {
            if let Some(received) = self.decode()? {
                return Ok(received);
            }
            if left.is_zero() {
                return Ok(Received::Idle);
            }
            self.check_open()?;
            self.stream.set_read_deadline(left);
            let read = self.stream.read(&mut self.buffer);
            if self.context.shared.cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            match read {
                Ok(0) => {
                    self.is_closed = true;
                    let what = "it closed the connection without saying why";
                    return Err(self.context.network(what.to_owned()));
                }
                Ok(count) => self.unread = 0..count,
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(Received::Idle),
                Err(error) => {
                    self.is_closed = true;
                    return Err(self.context.explain_io(&error));
                }
            }
            left = time.saturating_sub(watch.elapsed());
        }
    }

    /// Sends a message of text.
    pub fn send_text(&mut self, text: &str) -> Result<()> {
        self.send(TEXT, text.as_bytes())
    }

    /// Sends a message of bytes.
    pub fn send_binary(&mut self, bytes: &[u8]) -> Result<()> {
        self.send(BINARY, bytes)
    }

    /// Sends a ping with at most 125 bytes, which come back as [`Received::Pong`].
    pub fn ping(&mut self, payload: &[u8]) -> Result<()> {
        self.send(PING, &payload[..payload.len().min(CONTROL_BYTES)])
    }

    /// Closes the connection and waits a moment for the other side to confirm that. What it had
    /// sent before is lost.
    pub fn close(mut self, code: u16, reason: &str) {
        let watch = Stopwatch::start();
        if self.send_close(code, reason).is_err() {
            return;
        }
        while watch.elapsed() < WEBSOCKET_CLOSE_TIMEOUT {
            match self.receive(WEBSOCKET_CLOSE_TIMEOUT) {
                Ok(Received::Closed { .. } | Received::Idle) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// The next message of what was read. Pings and closes are answered first, as the protocol requires.
    fn decode(&mut self) -> Result<Option<Received>> {
        let mut input = &self.buffer[self.unread.clone()];
        let decoded = self.decoder.decode(&mut input);
        self.unread.start = self.unread.end - input.len();
        let received = match decoded {
            Ok(received) => received,
            Err(violation) => {
                let _ = self.send_close(violation.code, "");
                self.is_closed = true;
                return Err(self.context.network(violation.what.to_owned()));
            }
        };
        match &received {
            Some(Received::Ping(payload)) => self.send(PONG, payload)?,
            Some(Received::Closed { code, .. }) if !self.is_closed => {
                let _ = self.send_close(*code, "");
                self.is_closed = true;
            }
            _ => {}
        }
        Ok(received)
    }

    fn send_close(&mut self, code: u16, reason: &str) -> Result<()> {
        let mut payload = Vec::new();
        if code != NO_CODE {
            let end = reason.floor_char_boundary(CONTROL_BYTES - 2);
            payload.extend(code.to_be_bytes());
            payload.extend(&reason.as_bytes()[..end]);
        }
        self.send(CLOSE, &payload)
    }

    fn send(&mut self, opcode: u8, payload: &[u8]) -> Result<()> {
        self.check_open()?;
        let frame = encode(opcode, payload, random::bytes()?);
        self.stream.set_write_deadline(WRITE_TIMEOUT);
        let sent = self
            .stream
            .write_all(&frame)
            .and_then(|()| self.stream.flush());
        sent.map_err(|error| {
            self.is_closed = true;
            self.context.explain_io(&error)
        })
    }

    fn check_open(&self) -> Result<()> {
        if self.context.shared.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        if self.is_closed {
            Err(self.context.network("it is closed".to_owned()))
        } else {
            Ok(())
        }
    }
}

fn upgrade_request(uri: &Uri, key: &str, headers: &[(&str, &str)]) -> Result<String> {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let host = authority.rsplit('@').next().unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {USER_AGENT}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
    );
    for (name, value) in headers {
        header(name, value)?;
        request += &format!("{name}: {value}\r\n");
    }
    Ok(request + "\r\n")
}

/// What the server has to answer to a key, to show that it means this protocol.
fn accept_of(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    BASE64_STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

fn is_upgrade(head: &Head, key: &str) -> bool {
    let has = |name, word: &str| {
        let value = head.headers.get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| {
            let mut words = value.split(',');
            words.any(|part| part.trim().eq_ignore_ascii_case(word))
        })
    };
    let accept = head.headers.get(SEC_WEBSOCKET_ACCEPT);
    has(UPGRADE, "websocket")
        && has(CONNECTION, "upgrade")
        && accept.is_some_and(|value| value.as_bytes() == accept_of(key).as_bytes())
}

/// The error for a server that answers with anything but a websocket.
fn refusal(head: &Head, stream: &mut Stream, context: &Context) -> Error {
    let length = head.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    let length = length.unwrap_or(ERROR_BODY_BYTES).min(ERROR_BODY_BYTES);
    stream.set_read_deadline(TAIL_TIMEOUT);
    let mut body = Vec::new();
    // What came before it broke is better than nothing.
    let _ = stream.take(length as u64).read_to_end(&mut body);
    if context.shared.cancel.is_cancelled() {
        return Error::Stopped;
    }
    if body.is_empty()
        && let Some(reason) = head.headers.get(REASON)
    {
        body.extend_from_slice(reason.as_bytes());
    }
    Error::Status {
        host: context.host.clone(),
        status: head.status,
        retry_after: retry_after(head.status, &head.headers, &context.shared.settings.clock),
        body: printable(&body),
    }
}

#[cfg(test)]
mod tests;
