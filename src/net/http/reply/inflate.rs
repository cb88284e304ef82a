//! Bodies in `deflate` (RFC 9110, section 8.4.1.2), which some servers send without being asked.

use std::io::{self, Read};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use crate::base::limits::http::COPY_BYTES;

/// Unpacks what it reads.
pub struct Inflate<R> {
    from: R,
    input: Vec<u8>,
    state: Option<Box<InflateState>>,
    is_ended: bool,
}

impl<R: Read> Inflate<R> {
    /// Unpacks what `from` gives.
    pub fn new(from: R) -> Self {
        Self {
            from,
            input: Vec::new(),
            state: None,
            is_ended: false,
        }
    }

    /// Reads more, which there has to be.
    fn fill(&mut self) -> io::Result<()> {
        let mut buffer = [0; COPY_BYTES / 4];
        let count = self.from.read(&mut buffer)?;
        self.input.extend(buffer.iter().take(count));
        match count {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.is_ended {
            // What follows is nothing, and the connection can be used again.
            return self.from.read(&mut [0; 1]).map(|_| 0);
        }
        while self.input.len() < 2 && self.state.is_none() {
            self.fill()?;
        }
        // Some servers leave out the frame that the standard asks for (RFC 1950).
        let is_framed = match self.input.as_slice() {
            [first, second, ..] => {
                first & 15 == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0
            }
            _ => false,
        };
        let format = if is_framed {
            DataFormat::Zlib
        } else {
            DataFormat::Raw
        };
        loop {
            let state = self
                .state
                .get_or_insert_with(|| InflateState::new_boxed(format));
            let result = inflate(state, &self.input, to, MZFlush::None);
            self.input.drain(..result.bytes_consumed);
            match result.status {
                Ok(MZStatus::StreamEnd) => self.is_ended = true,
                Ok(_) | Err(MZError::Buf) => {}
                Err(_) => {
                    let what = "its compressed reply is damaged";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
            if result.bytes_written > 0 || self.is_ended || to.is_empty() {
                return Ok(result.bytes_written);
            }
            self.fill()?;
        }
    }
}
