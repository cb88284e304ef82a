//! A request's body that is read while it is sent.

use std::io::{self, Read};

/// A reader that has to give a known number of bytes, and the failure if it does not: whoever sends
/// it would take that for the connection's.
pub struct Upload<'a> {
    body: &'a mut dyn Read,
    left: u64,
    failure: Option<io::Error>,
}

impl<'a> Upload<'a> {
    /// The first `length` bytes of a reader.
    pub fn new(body: &'a mut dyn Read, length: u64) -> Self {
        Self {
            body,
            left: length,
            failure: None,
        }
    }

    /// Bytes that are still to be read.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Why the reader did not give what it had to.
    pub fn into_failure(self) -> Option<io::Error> {
        self.failure
    }
}

impl Read for Upload<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        let read = loop {
            match self.body.read(&mut buffer[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) if most > 0 => break Err(io::Error::other("it has become shorter")),
                read => break read,
            }
        };
        match read {
            Ok(count) => {
                self.left -= count as u64;
                Ok(count)
            }
            Err(error) => {
                self.failure = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }
}
