//! The server's side of a websocket. <https://www.rfc-editor.org/rfc/rfc6455>

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest;

use crate::harness::wire::{self, Connection, RawRequest};

/// What a server appends to the client's key (RFC 6455).
const MAGIC: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Maximum size of a client's message, in bytes; Discord itself accepts 4 KiB.
const LONGEST: u64 = 1 << 20;
/// How long a client may stop reading before the server gives up.
const PATIENCE: Duration = Duration::from_secs(10);

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A message of a client.
pub(in crate::harness) enum Received {
    Text(String),
    Binary(Vec<u8>),
    /// The close code; `None` if the frame has none.
    Close(Option<u16>),
    /// Something that a client must not send, and why.
    Breach(String),
}

/// A connection to which several threads write.
pub(in crate::harness) struct WebSocket {
    socket: TcpStream,
    writing: Mutex<()>,
}

impl WebSocket {
    /// Answers the handshake. The error is the reason for a refusal.
    pub(in crate::harness) fn accept(
        connection: &mut Connection,
        request: &RawRequest,
        socket: &TcpStream,
    ) -> io::Result<Result<Self, String>> {
        let header = |name| wire::header(&request.headers, name).unwrap_or_default();
        let is_upgrade = header("upgrade").eq_ignore_ascii_case("websocket")
            && header("connection").to_lowercase().contains("upgrade");
        let key = header("sec-websocket-key");
        let is_key = STANDARD.decode(key).is_ok_and(|key| key.len() == 16);
        if request.method != "GET" || !is_upgrade || !is_key {
            return Ok(Err("no handshake of a websocket".to_owned()));
        }
        if header("sec-websocket-version") != "13" || header("host").is_empty() {
            return Ok(Err("a handshake without version 13 or a host".to_owned()));
        }
        let sum = digest::digest(
            &digest::SHA1_FOR_LEGACY_USE_ONLY,
            format!("{key}{MAGIC}").as_bytes(),
        );
        let headers = [
            ("upgrade", "websocket".to_owned()),
            ("connection", "Upgrade".to_owned()),
            ("sec-websocket-accept", STANDARD.encode(sum)),
        ];
        wire::begin(connection, 101, &headers)?;
        let socket = socket.try_clone()?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let writing = Mutex::default();
        Ok(Ok(Self { socket, writing }))
    }

    /// Sends a message, if the client is still there.
    pub(in crate::harness) fn say(&self, text: &str) {
        // A failed write means the end of the connection, which its reader sees.
        let _ = self.write(TEXT, text.as_bytes());
    }

    /// Sends a message of bytes, if the client is still there.
    pub(in crate::harness) fn say_bytes(&self, bytes: &[u8]) {
        let _ = self.write(BINARY, bytes);
    }

    /// Sends a close frame, and closes the connection for writing.
    pub(in crate::harness) fn close(&self, code: u16, why: &str) {
        let body = [&code.to_be_bytes(), why.as_bytes()].concat();
        let _ = self.write(CLOSE, &body);
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Cuts the connection without a close frame.
    pub(in crate::harness) fn cut(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Reads the next message. An error is the end of the connection.
    pub(in crate::harness) fn read(&self, connection: &mut Connection) -> io::Result<Received> {
        let mut message = Vec::new();
        let mut is_binary = false;
        loop {
            let frame = match Frame::read(connection)? {
                Ok(frame) => frame,
                Err(breach) => return Ok(Received::Breach(breach)),
            };
            match frame.kind {
                PING => self.write(PONG, &frame.body)?,
                PONG => {}
                CLOSE => {
                    let code = frame
                        .body
                        .first_chunk()
                        .map(|code| u16::from_be_bytes(*code));
                    return Ok(Received::Close(code));
                }
                TEXT | BINARY | 0 => {
                    is_binary |= frame.kind == BINARY;
                    if (frame.kind == 0) == message.is_empty() {
                        let breach = "a piece of a message out of its order";
                        return Ok(Received::Breach(breach.to_owned()));
                    }
                    message.extend(frame.body);
                    if frame.is_last && is_binary {
                        return Ok(Received::Binary(message));
                    }
                    if frame.is_last {
                        return Ok(match String::from_utf8(message) {
                            Ok(text) => Received::Text(text),
                            Err(_) => Received::Breach("a text that is not UTF-8".to_owned()),
                        });
                    }
                }
                kind => return Ok(Received::Breach(format!("a frame of the kind {kind}"))),
            }
        }
    }

    fn write(&self, kind: u8, body: &[u8]) -> io::Result<()> {
        let mut frame = vec![0x80 | kind];
        match u16::try_from(body.len()) {
            Ok(length) if length < 126 => frame.push(length as u8),
            Ok(length) => {
                frame.push(126);
                frame.extend(length.to_be_bytes());
            }
            Err(_) => {
                frame.push(127);
                frame.extend((body.len() as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(body);
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        (&self.socket).write_all(&frame)
    }
}

struct Frame {
    is_last: bool,
    kind: u8,
    body: Vec<u8>,
}

impl Frame {
    fn read(connection: &mut Connection) -> io::Result<Result<Self, String>> {
        let [first, second] = bytes(connection)?;
        if first & 0x70 != 0 {
            return Ok(Err(
                "a frame with an extension that nobody agreed on".to_owned()
            ));
        }
        if second & 0x80 == 0 {
            return Ok(Err("a frame of a client's without a mask".to_owned()));
        }
        let length = match second & 0x7f {
            126 => u64::from(u16::from_be_bytes(bytes(connection)?)),
            127 => u64::from_be_bytes(bytes(connection)?),
            length => u64::from(length),
        };
        let kind = first & 0x0f;
        if length > LONGEST || (kind >= CLOSE && length > 125) {
            return Ok(Err(format!("a frame of {length} bytes")));
        }
        let mask: [u8; 4] = bytes(connection)?;
        let mut body = vec![0; length as usize];
        connection.read_exact(&mut body)?;
        for (place, byte) in body.iter_mut().enumerate() {
            *byte ^= mask[place % 4];
        }
        Ok(Ok(Self {
            is_last: first & 0x80 != 0,
            kind,
            body,
        }))
    }
}

fn bytes<const N: usize>(connection: &mut Connection) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    connection.read_exact(&mut bytes)?;
    Ok(bytes)
}
