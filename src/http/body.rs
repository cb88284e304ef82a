//! A response's body, read with a cap, an idle time and a way to break it.

use std::io::{self, Read};

use ureq::BodyReader;

use super::explain::Context;
use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::limits;

/// A body that is being read.
///
/// Its `io::Error`s carry the crate's error; [`error_of`] takes it out: [`Error::TooLarge`] when
/// more comes than was allowed (counted after decompression), [`Error::Timeout`] when it falls
/// silent, [`Error::Network`] when it ends too early, [`Error::Stopped`].
pub struct Body {
    reader: BodyReader<'static>,
    left: usize,
    limit: usize,
    context: Context,
}

impl Body {
    pub(super) fn new(reader: BodyReader<'static>, limit: usize, context: Context) -> Self {
        Self {
            reader,
            left: limit,
            limit,
            context,
        }
    }

    /// Says that the part that matters is read. When the end of the body is near, in bytes and in
    /// time, the connection stays open for the next call.
    pub fn finish(mut self) {
        let patience = &self.context.shared.patience;
        patience.set(limits::http::TAIL_TIMEOUT);
        let mut tail = [0; limits::http::TAIL_BYTES];
        let mut filled = 0;
        let watch = Stopwatch::start();
        while filled < tail.len() && watch.elapsed() < limits::http::TAIL_TIMEOUT {
            match self.reader.read(&mut tail[filled..]) {
                Ok(0) | Err(_) => break,
                Ok(count) => filled += count,
            }
        }
        patience.set(self.context.shared.settings.idle);
    }

    fn take(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let read = self.reader.read(buffer);
        let count = read.map_err(|error| self.context.explain(error.into()))?;
        // A connection that was shut down looks like the end of a body without a length.
        if self.context.shared.cancel.is_cancelled() {
            return Err(Error::Stopped);
        }
        self.left = self
            .left
            .checked_sub(count)
            .ok_or_else(|| Error::TooLarge {
                what: format!("the answer of {}", self.context.host),
                limit: self.limit,
            })?;
        Ok(count)
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.take(buffer).map_err(io::Error::other)
    }
}

/// The crate's error that an `io::Error` of a [`Body`] carries.
pub fn error_of(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::Failed(error.to_string()),
    }
}
