//! The frames of a reply, from what servers send to what ureq takes: heads, and bodies in chunks. PURE.

use super::head::{HeadError, HeadReader};
use crate::net::http::{BUFFER_BYTES, HEAD_BYTES};

/// Takes the bytes of one reply.
#[derive(Debug)]
pub struct Frames {
    state: State,
    /// What was read and has not been written yet.
    written: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Head(Box<HeadReader>),
    /// A body that is as it came.
    Plain,
    /// In the line with a chunk's length; what follows the digits is skipped.
    Size(Size),
    /// In a chunk of which so much is left.
    Data(u64),
    /// Behind a chunk.
    DataEnd,
    /// In the trailer, which is skipped: its bytes, and whether the line has any.
    Trailer(usize, bool),
}

#[derive(Debug, Default)]
struct Size {
    length: Option<u64>,
    bytes: usize,
    is_skipped: bool,
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            state: State::Head(Box::default()),
            written: Vec::new(),
        }
    }
}

impl Frames {
    /// Whether what comes is handed on as it is.
    pub fn is_plain(&self) -> bool {
        matches!(self.state, State::Plain) && self.written.is_empty()
    }

    /// Writes what has come to `room`, as far as it fits. Gives the bytes taken and those written.
    pub fn pass(&mut self, from: &[u8], room: &mut [u8]) -> Result<(usize, usize), HeadError> {
        let (mut taken, mut written) = (0, 0);
        loop {
            let free = room.get_mut(written..).unwrap_or_default();
            let count = free.len().min(self.written.len());
            for (to, byte) in free.iter_mut().zip(self.written.drain(..count)) {
                *to = byte;
            }
            written += count;
            let left = from.get(taken..).unwrap_or_default();
            let free = room.get_mut(written..).unwrap_or_default();
            if free.is_empty() || left.is_empty() {
                return Ok((taken, written));
            }
            taken += match &mut self.state {
                State::Plain => copy(left, free, u64::MAX, &mut written),
                State::Data(length) => {
                    let count = copy(left, free, *length, &mut written);
                    *length -= count as u64;
                    if *length == 0 {
                        self.written.extend_from_slice(b"\r\n");
                        self.state = State::DataEnd;
                    }
                    count
                }
                _ => self.take_lines(left)?,
            };
        }
    }

    /// Takes bytes up to where something has to be written.
    fn take_lines(&mut self, from: &[u8]) -> Result<usize, HeadError> {
        for (index, byte) in from.iter().enumerate() {
            self.take(*byte)?;
            if !self.written.is_empty() || matches!(self.state, State::Data(_) | State::Plain) {
                return Ok(index + 1);
            }
        }
        Ok(from.len())
    }

    fn take(&mut self, byte: u8) -> Result<(), HeadError> {
        match &mut self.state {
            State::Head(reader) => {
                if let Some(head) = reader.push(byte)? {
                    self.written = head.write();
                    self.state = if head.has_chunks() {
                        State::Size(Size::default())
                    } else {
                        State::Plain
                    };
                }
            }
            State::Size(size) => {
                if size.push(byte)? {
                    let length = size.length.unwrap_or_default();
                    let line = format!("{length:x}\r\n");
                    self.written.extend_from_slice(line.as_bytes());
                    self.state = match length {
                        0 => State::Trailer(0, false),
                        length => State::Data(length),
                    };
                }
            }
            State::DataEnd => match byte {
                b'\r' => {}
                b'\n' => self.state = State::Size(Size::default()),
                _ => return Err(HeadError::Invalid("a chunk is longer than it says")),
            },
            State::Trailer(bytes, has_text) => {
                *bytes += 1;
                match byte {
                    _ if *bytes > HEAD_BYTES => return Err(HeadError::TooLong),
                    b'\n' if !*has_text => {
                        self.written.extend_from_slice(b"\r\n");
                        self.state = State::Plain;
                    }
                    b'\n' => *has_text = false,
                    b'\r' => {}
                    _ => *has_text = true,
                }
            }
            State::Plain | State::Data(_) => {}
        }
        Ok(())
    }
}

impl Size {
    /// Takes a byte of the line. Whether it was the last one.
    fn push(&mut self, byte: u8) -> Result<bool, HeadError> {
        const ODD: HeadError = HeadError::Invalid("the length of a chunk is not a number");
        self.bytes += 1;
        if self.bytes > BUFFER_BYTES {
            return Err(HeadError::TooLong);
        }
        let digit = char::from(byte).to_digit(16).filter(|_| !self.is_skipped);
        match (digit, byte) {
            (Some(digit), _) => {
                let length = self.length.unwrap_or_default().checked_mul(16).ok_or(ODD)?;
                self.length = Some(length + u64::from(digit));
            }
            (None, b'\n') if self.length.is_some() => return Ok(true),
            // White space around it, and extensions (RFC 9112, section 7.1.1).
            (None, b'\r' | b';' | b' ' | b'\t') if self.length.is_some() => self.is_skipped = true,
            (None, b' ' | b'\t') => {}
            (None, _) if self.is_skipped && byte != b'\n' => {}
            _ => return Err(ODD),
        }
        Ok(false)
    }
}

/// Copies as much as fits, and gives how much that was.
fn copy(from: &[u8], to: &mut [u8], most: u64, written: &mut usize) -> usize {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let count = from.len().min(to.len()).min(most);
    to.iter_mut()
        .zip(from.iter().take(count))
        .for_each(|(to, byte)| *to = *byte);
    *written += count;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(text: &[u8], piece: usize, room: usize) -> Result<Vec<u8>, HeadError> {
        let mut frames = Frames::default();
        let mut out = Vec::new();
        for from in text.chunks(piece) {
            let mut from = from.to_vec();
            loop {
                let mut to = vec![0; room];
                let (taken, written) = frames.pass(&from, &mut to)?;
                out.extend_from_slice(&to[..written]);
                from.drain(..taken);
                if taken == 0 && written == 0 {
                    break;
                }
            }
            assert!(from.is_empty());
        }
        Ok(out)
    }

    #[test]
    fn chunks_are_written_without_what_only_they_have() {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let out = "HTTP/1.1 200 -\r\ntransfer-encoding: chunked\r\n\r\n";
        for (body, expected) in [
            ("5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n"),
            (
                "0005 ; name=\"a long value; of an extension\"\r\nhello\r\n0;x\r\nDigest: x\r\nB: y\r\n\r\n",
                "5\r\nhello\r\n0\r\n\r\n",
            ),
            ("5\nhello\n000\n\n", "5\r\nhello\r\n0\r\n\r\n"),
            (
                "A\r\n\r\n\r\n\r\n\r\nhi\r\n1 \r\n!\r\n0\r\n",
                "a\r\n\r\n\r\n\r\n\r\nhi\r\n1\r\n!\r\n0\r\n",
            ),
            (
                "2\r\nhi\r\n0\r\n\r\nHTTP/1.1",
                "2\r\nhi\r\n0\r\n\r\nHTTP/1.1",
            ),
        ] {
            for (piece, room) in [(1, 24), (2, 100), (7, 3), (1000, 1), (1000, 1000)] {
                let found = passed(format!("{head}{body}").as_bytes(), piece, room).unwrap();
                let found = String::from_utf8(found).unwrap();
                assert_eq!(found, format!("{out}{expected}"), "{body:?}");
            }
        }
        for body in [
            "zz\r\n",
            "\r\n",
            ";x\r\n",
            "-1\r\n",
            "1\r\nab\r\n",
            "11111111111111111\r\n",
        ] {
            let found = passed(format!("{head}{body}").as_bytes(), 100, 100);
            assert!(matches!(found, Err(HeadError::Invalid(_))), "{body:?}");
        }
    }

    #[test]
    fn other_bodies_are_as_they_came() {
        for status in ["200 OK", "204 None", "304 Same"] {
            let text = format!("HTTP/1.1 {status}\r\ncontent-length: 3\r\n\r\n5\r\n\r\n");
            let found = passed(text.as_bytes(), 9, 5).unwrap();
            assert!(found.ends_with(b"content-length: 3\r\n\r\n5\r\n\r\n"));
        }
        let text = b"HTTP/1.1 304 Same\r\ntransfer-encoding: chunked\r\n\r\n";
        assert!(passed(text, 9, 50).is_ok());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_pass_or_fail(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80), piece in 1_usize..9) {
            let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            let _ = passed(&[&head[..], &bytes].concat(), piece, 16);
            let _ = passed(&[&head[..17], &bytes, b"\r\n\r\n"].concat(), piece, 16);
        }
    }
}
