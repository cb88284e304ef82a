//! The head of a reply, as a client may take it (RFC 9110 and 9112), written as ureq takes it. PURE.

use std::fmt;

use crate::net::http::{BUFFER_BYTES, HEAD_BYTES};
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

/// Beginnings of the names of fields that the program reads. Others are left out, so that the policies and cookies
/// of a large site need no room.
const NAMES: [&str; 15] = [
    "connection",
    "content-disposition",
    "content-encoding",
    "content-length",
    "content-type",
    "handshake-msg",
    "location",
    "mcp-session-id",
    "retry-after",
    "sec-websocket",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-ogw-ratelimit",
    "x-ratelimit",
];

/// Bytes of what is written besides the fields that are kept.
const OWN_BYTES: usize = 512;

/// Whether a field is kept.
pub fn is_kept(name: &str) -> bool {
    NAMES.iter().any(|known| name.starts_with(known))
}

/// Why a head cannot be used.
#[derive(Debug, PartialEq)]
pub enum HeadError {
    /// It has more than `HEAD_BYTES`, or too many of those are in fields that are kept.
    TooLong,
    /// It is not HTTP: what is wrong.
    Invalid(&'static str),
}

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the header of its reply is too long"),
            Self::Invalid(what) => write!(f, "its reply is not HTTP ({what})"),
        }
    }
}

impl std::error::Error for HeadError {}

/// The head of a reply.
#[derive(Debug, Default)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// The fields that are kept.
    pub headers: HeaderMap,
    is_old: bool,
    is_chunked: bool,
}

impl Head {
    /// Whether a body in chunks follows.
    pub fn has_chunks(&self) -> bool {
        self.is_chunked && !matches!(self.status, 100..=199 | 204 | 304)
    }

    /// The head as it is usually sent.
    pub fn write(&self) -> Vec<u8> {
        let minor = if self.is_old { 0 } else { 1 };
        let mut out = format!("HTTP/1.{minor} {} -\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out
    }
}

/// Reads a head byte by byte, because what follows it may not be HTTP.
#[derive(Debug, Default)]
pub struct HeadReader {
    bytes: usize,
    kept: usize,
    line: Vec<u8>,
    /// The line has ended, unless the next one goes on with it (RFC 9112, section 5.2).
    is_ended: bool,
    head: Option<Head>,
    codings: Vec<String>,
    encodings: Vec<String>,
}

impl HeadReader {
    /// Takes the next byte, and gives the head when that was its last one. Interim replies (1xx) are skipped.
    pub fn push(&mut self, byte: u8) -> Result<Option<Head>, HeadError> {
        self.bytes += 1;
        if self.bytes > HEAD_BYTES {
            return Err(HeadError::TooLong);
        }
        if std::mem::take(&mut self.is_ended) && !matches!(byte, b' ' | b'\t') {
            let line = std::mem::take(&mut self.line);
            self.end_line(&line)?;
        }
        if byte != b'\n' {
            self.line.push(byte);
            return if self.head.is_some() || is_start(&self.line) {
                Ok(None)
            } else {
                Err(HeadError::Invalid("it does not begin with HTTP/1"))
            };
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        match self.line.is_empty() {
            // An empty line before the head is left over from an earlier reply (RFC 9112, section 2.2).
            true if self.head.is_some() => self.end(),
            is_empty => {
                self.is_ended = !is_empty;
                Ok(None)
            }
        }
    }

    fn end_line(&mut self, line: &[u8]) -> Result<(), HeadError> {
        match &mut self.head {
            Some(_) => self.field(line),
            None => {
                self.head = Some(status_line(line)?);
                Ok(())
            }
        }
    }

    fn field(&mut self, line: &[u8]) -> Result<(), HeadError> {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
            return Err(HeadError::Invalid("a line of its header has no colon"));
        };
        let name = name.trim_ascii().to_ascii_lowercase();
        let name = String::from_utf8(name).unwrap_or_default();
        if !is_kept(&name) {
            return Ok(());
        }
        // Control characters are invalid and may be replaced (RFC 9110, section 5.5).
        let shown = |byte: &u8| match byte {
            b'\t' | b' '..=b'~' | 0x80.. => *byte,
            _ => b' ',
        };
        let value: Vec<u8> = value.iter().map(shown).collect();
        let value = value.trim_ascii();
        let list = match name.as_str() {
            "content-length" => return self.length(value),
            "transfer-encoding" => &mut self.codings,
            "content-encoding" => &mut self.encodings,
            _ => return self.keep(&name, value),
        };
        let value = String::from_utf8_lossy(value).to_ascii_lowercase();
        // Names from HTTP/1.0 that are still understood (RFC 9110, section 8.4.1).
        let words = value.split(',').map(|word| match word.trim() {
            "x-gzip" => "gzip",
            "x-compress" => "compress",
            word => word,
        });
        let used = words.filter(|word| !matches!(*word, "" | "identity"));
        list.extend(used.map(str::to_owned));
        Ok(())
    }

    fn keep(&mut self, name: &str, value: &[u8]) -> Result<(), HeadError> {
        self.kept += name.len() + value.len() + ": \r\n".len();
        if self.kept > BUFFER_BYTES - OWN_BYTES {
            return Err(HeadError::TooLong);
        }
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value);
        if let (Some(head), Ok(name), Ok(value)) = (&mut self.head, name, value) {
            head.headers.append(name, value);
        }
        Ok(())
    }

    /// The same length several times is one (RFC 9110, section 8.6).
    fn length(&mut self, value: &[u8]) -> Result<(), HeadError> {
        let lengths = value.split(|byte| *byte == b',').map(|text| {
            let text = std::str::from_utf8(text.trim_ascii()).ok()?;
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| is_number)
        });
        for length in lengths {
            let length = length.ok_or(HeadError::Invalid("its length is not a number"))?;
            let Some(head) = &mut self.head else { continue };
            let length = HeaderValue::from(length);
            let known = head.headers.insert("content-length", length.clone());
            if known.is_some_and(|known| known != length) {
                return Err(HeadError::Invalid("it has two different lengths"));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Option<Head>, HeadError> {
        let Some(mut head) = self.head.take() else {
            return Ok(None);
        };
        let codings = std::mem::take(&mut self.codings);
        let encodings = std::mem::take(&mut self.encodings).join(", ");
        // 101 is the last one of HTTP (RFC 9110, section 15.2).
        if matches!(head.status, 100 | 102..=199) {
            return Ok(None);
        }
        head.is_chunked = match codings.as_slice() {
            [] => false,
            [one] if one == "chunked" => true,
            _ => {
                return Err(HeadError::Invalid(
                    "it has a transfer coding that was not asked for",
                ));
            }
        };
        if head.is_chunked {
            head.headers.remove("content-length");
            let value = HeaderValue::from_static("chunked");
            head.headers.insert("transfer-encoding", value);
            // Chunks are of HTTP/1.1 (RFC 9112, section 6.1).
            if std::mem::take(&mut head.is_old) {
                let value = HeaderValue::from_static("close");
                head.headers.insert("connection", value);
            }
        }
        if let (false, Ok(value)) = (encodings.is_empty(), HeaderValue::try_from(encodings)) {
            head.headers.insert("content-encoding", value);
        }
        Ok(Some(head))
    }
}

/// Whether a line may become a status line.
fn is_start(line: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/1.";
    let length = line.len().min(START.len());
    line == b"\r" || line.get(..length) == START.get(..length)
}

/// White space separates the parts (RFC 9112, section 4), a later minor version is read as 1.1 (RFC 9110, section
/// 2.5), and the reason means nothing.
fn status_line(line: &[u8]) -> Result<Head, HeadError> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_ascii_whitespace();
    let minor = words
        .next()
        .and_then(|version| version.strip_prefix("HTTP/1."));
    let is_digit = |text: &&str| text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit());
    let minor = minor.filter(is_digit);
    let minor = minor.ok_or(HeadError::Invalid("its version is not 1.0 or 1.1"))?;
    let status = words.next().filter(|text| text.len() == 3);
    let status = status.and_then(|text| text.parse().ok());
    let status = status.filter(|status| (100..=999).contains(status));
    Ok(Head {
        status: status.ok_or(HeadError::Invalid(
            "its status is not a number of three digits",
        ))?,
        is_old: minor == "0",
        ..Head::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<(String, usize), HeadError> {
        let mut reader = HeadReader::default();
        for (index, byte) in text.iter().enumerate() {
            if let Some(head) = reader.push(*byte)? {
                let written = head.write();
                return Ok((String::from_utf8_lossy(&written).into_owned(), index + 1));
            }
        }
        Ok((String::new(), text.len()))
    }

    #[test]
    fn a_head_is_read_as_a_client_may() {
        for (text, expected) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Type:  a/b \r\nServer: x\r\n\r\n",
                "HTTP/1.1 200 -\r\ncontent-type: a/b\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\nLOCATION:/x\n\n",
                "HTTP/1.1 200 -\r\nlocation: /x\r\n\r\n",
            ),
            ("\r\n\nHTTP/1.1 200\r\n\r\n", "HTTP/1.1 200 -\r\n\r\n"),
            (
                "HTTP/1.1  204\t No  Content \r\n\r\n",
                "HTTP/1.1 204 -\r\n\r\n",
            ),
            ("HTTP/1.0 200 \r\n\r\n", "HTTP/1.0 200 -\r\n\r\n"),
            ("HTTP/1.7 200 OK\r\n\r\n", "HTTP/1.1 200 -\r\n\r\n"),
            (
                "HTTP/1.1 200 \u{e4}\r\n odd: x\r\n\r\n",
                "HTTP/1.1 200 -\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Type : a/b;\r\n  c=d\r\n\te=f\r\n \r\n\r\n",
                "HTTP/1.1 200 -\r\ncontent-type: a/b;  c=d\te=f\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nx-ratelimit: \u{e9}\0b\rc\r\n\r\n",
                "HTTP/1.1 200 -\r\nx-ratelimit: \u{e9} b c\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\ncontent-length:3\r\n\r\n",
                "HTTP/1.1 200 -\r\ncontent-length: 3\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: Chunked, \r\n\r\n",
                "HTTP/1.1 200 -\r\ntransfer-encoding: chunked\r\n\r\n",
            ),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: identity, chunked\r\n\r\n",
                "HTTP/1.1 200 -\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Encoding: identity\r\n\r\n",
                "HTTP/1.1 200 -\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Encoding: X-GZip,identity\r\nContent-Encoding:\r\n\r\n",
                "HTTP/1.1 200 -\r\ncontent-encoding: gzip\r\n\r\n",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Encoding: br\r\n\r\n",
                "HTTP/1.1 200 -\r\ncontent-encoding: gzip, br\r\n\r\n",
            ),
            (
                "HTTP/1.1 100 Continue\r\nx-ratelimit: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
                "HTTP/1.1 200 -\r\n\r\n",
            ),
            (
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
                "HTTP/1.1 101 -\r\nupgrade: websocket\r\n\r\n",
            ),
        ] {
            let found = read(format!("{text}body").as_bytes());
            assert_eq!(found, Ok((expected.to_owned(), text.len())), "{text:?}");
        }
    }

    #[test]
    fn a_head_that_is_none_is_refused_with_what_is_wrong() {
        for (text, expected) in [
            ("S", "it does not begin with HTTP/1"),
            ("HTTP/2", "it does not begin with HTTP/1"),
            ("HTTP/1.x 200\r\n\r\n", "its version is not 1.0 or 1.1"),
            (
                "HTTP/1.1 20 OK\r\n\r\n",
                "its status is not a number of three digits",
            ),
            (
                "HTTP/1.1 099 OK\r\n\r\n",
                "its status is not a number of three digits",
            ),
            (
                "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
                "a line of its header has no colon",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                "its length is not a number",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
                "its length is not a number",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n",
                "it has two different lengths",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                "it has a transfer coding that was not asked for",
            ),
        ] {
            assert_eq!(
                read(text.as_bytes()),
                Err(HeadError::Invalid(expected)),
                "{text:?}"
            );
        }
        let long = |name: &str, bytes| {
            let text = format!("HTTP/1.1 200 OK\r\n{name}: {}\r\n\r\n", "x".repeat(bytes));
            read(text.as_bytes())
        };
        assert!(long("set-cookie", HEAD_BYTES - 100).is_ok());
        assert_eq!(long("set-cookie", HEAD_BYTES), Err(HeadError::TooLong));
        assert_eq!(long("location", BUFFER_BYTES), Err(HeadError::TooLong));
        let many = format!(
            "HTTP/1.1 200 OK\r\n{}\r\n",
            "Set-Cookie: x=y\r\n".repeat(5_000)
        );
        assert!(read(many.as_bytes()).is_ok());
    }
}
