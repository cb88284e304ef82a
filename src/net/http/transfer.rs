//! Bodies on their way: a request's while it is sent, a response's while it is received.
//!
//! Two bounds keep a transfer from hanging: a connection that moves nothing is given up after an
//! idle timeout, and one that only trickles when its average speed stays too low. Neither depends on
//! how large the file is.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::TAIL_TIMEOUT;
use super::explain::Context;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::http::{COPY_BYTES, TRANSFER_RATE};

/// Time that a transfer has in addition, so that a pause at its beginning does not end it.
const TRANSFER_GRACE: Duration = Duration::from_secs(60);
/// Bytes read behind the part of a body that mattered, to reach its end and keep the connection.
const TAIL_BYTES: usize = 4 * 1024;

/// Counts the bytes of one transfer, and tells when it is too slow to go on.
pub struct Pace {
    watch: Stopwatch,
    moved: u64,
    grace: Duration,
}

impl Pace {
    /// A transfer that begins now.
    pub fn start() -> Self {
        Self::with_grace(TRANSFER_GRACE)
    }

    fn with_grace(grace: Duration) -> Self {
        Self {
            watch: Stopwatch::start(),
            moved: 0,
            grace,
        }
    }

    /// Adds bytes that were moved and gives their sum so far.
    fn add(&mut self, count: usize) -> u64 {
        self.moved += count as u64;
        self.moved
    }

    /// Whether the average speed has fallen below [`TRANSFER_RATE`], after [`TRANSFER_GRACE`].
    fn is_too_slow(&self) -> bool {
        let earned = Duration::from_secs(self.moved / TRANSFER_RATE);
        self.watch.elapsed() > self.grace + earned
    }

    /// How far a transfer got that was too slow.
    pub fn describe(&self) -> String {
        let seconds = self.watch.elapsed().as_secs();
        format!(
            "the transfer is too slow: {} bytes in {seconds} s",
            self.moved
        )
    }
}

/// Why a request's body was not sent to its end, when that is not the connection's fault.
pub enum UploadFailure {
    /// It cannot be read.
    Reader(io::Error),
    /// The other side takes too little of it.
    TooSlow(Pace),
}

/// A request's body that has to give a known number of bytes. It remembers its own failure, which
/// the sender would take for the connection's.
pub struct Upload<'a> {
    body: &'a mut dyn Read,
    left: u64,
    pace: Pace,
    progress: &'a dyn Fn(u64),
    failure: Option<io::Error>,
}

impl<'a> Upload<'a> {
    /// The first `length` bytes of a reader. What it has beyond them is not sent.
    pub fn new(body: &'a mut dyn Read, length: u64) -> Self {
        Self {
            body,
            left: length,
            pace: Pace::start(),
            progress: &|_| (),
            failure: None,
        }
    }

    /// Calls `progress` with the number of bytes taken so far, each time the connection takes some.
    /// Only a small buffer lies between it and the line, so a watchdog can be fed from it.
    #[must_use]
    pub fn with_progress(mut self, progress: &'a dyn Fn(u64)) -> Self {
        self.progress = progress;
        self
    }

    /// Bytes that are still to be read.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Why it stopped early, if it was the one to stop.
    pub(super) fn into_failure(self) -> Option<UploadFailure> {
        let failure = self.failure?;
        Some(match failure.kind() {
            io::ErrorKind::TimedOut => UploadFailure::TooSlow(self.pace),
            _ => UploadFailure::Reader(failure),
        })
    }

    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.pace.is_too_slow() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        loop {
            match self.body.read(&mut buffer[..most]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io::Error::other(error)),
                Ok(0) if most > 0 => return Err(io::Error::other("it became shorter")),
                read => return read,
            }
        }
    }
}

impl Read for Upload<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.fill(buffer) {
            Ok(count) => {
                self.left -= count as u64;
                (self.progress)(self.pace.add(count));
                Ok(count)
            }
            Err(error) => {
                self.failure = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }
}

/// A body that is being read.
///
/// Its `io::Error`s carry the crate's error; [`error_of`] takes it out: [`Error::TooLarge`] when
/// more comes than was allowed (counted after decompression), [`Error::Timeout`] when it falls
/// silent, [`Error::Network`] when it ends too early, [`Error::Stopped`].
pub struct Body {
    reader: Box<dyn Read + Send>,
    left: usize,
    limit: usize,
    context: Context,
}

impl Body {
    pub(super) fn new(reader: Box<dyn Read + Send>, limit: usize, context: Context) -> Self {
        Self {
            reader,
            left: limit,
            limit,
            context,
        }
    }

    /// Copies the whole body to `to`; see [`Response::download`](super::Response::download).
    pub(super) fn copy(mut self, to: &mut dyn Write, progress: &dyn Fn(u64)) -> Result<u64> {
        let mut pace = Pace::start();
        let mut buffer = [0; COPY_BYTES];
        loop {
            let count = self.receive(&mut buffer)?;
            if count == 0 {
                return Ok(pace.moved);
            }
            to.write_all(&buffer[..count])
                .map_err(Error::io("write", "a download"))?;
            progress(pace.add(count));
            if pace.is_too_slow() {
                return Err(self.context.timeout(pace.describe()));
            }
        }
    }

    /// Skips the rest of a body whose relevant part has been read. When its end is near, in bytes and
    /// in time, the connection stays open for the next call.
    pub fn finish(mut self) {
        let line = &self.context.shared.line;
        line.set_idle_timeout(TAIL_TIMEOUT);
        let mut tail = [0; TAIL_BYTES];
        let mut filled = 0;
        let watch = Stopwatch::start();
        while filled < tail.len() && watch.elapsed() < TAIL_TIMEOUT {
            match self.reader.read(&mut tail[filled..]) {
                Ok(0) | Err(_) => break,
                Ok(count) => filled += count,
            }
        }
        line.set_idle_timeout(self.context.shared.settings.idle);
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize> {
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
                what: format!("the reply from {}", self.context.host),
                limit: self.limit,
            })?;
        Ok(count)
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer).map_err(io::Error::other)
    }
}

/// The crate's error that an `io::Error` of a [`Body`] carries.
pub fn error_of(error: io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => Error::Failed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;

    #[test]
    fn a_fast_transfer_earns_time_and_a_slow_one_runs_out_of_it() {
        let mut pace = Pace::with_grace(Duration::ZERO);
        Cancel::new().wait(Duration::from_millis(2));
        assert!(pace.is_too_slow());
        pace.add(60 * TRANSFER_RATE as usize);
        assert!(!pace.is_too_slow());
        assert!(!Pace::start().is_too_slow());
    }

    #[test]
    fn an_upload_that_is_too_slow_says_how_far_it_got() {
        let mut body = io::repeat(b'x');
        let mut upload = Upload::new(&mut body, 100);
        upload.read_exact(&mut [0; 10]).unwrap();
        upload.pace.grace = Duration::ZERO;
        Cancel::new().wait(Duration::from_millis(2));
        upload.read_exact(&mut [0; 10]).unwrap_err();
        match upload.into_failure() {
            Some(UploadFailure::TooSlow(pace)) => {
                assert!(pace.describe().contains("10 bytes"), "{}", pace.describe());
            }
            _ => panic!("it was not too slow"),
        }
    }

    #[test]
    fn a_timeout_of_the_reader_is_the_readers_failure() {
        struct Slow;
        impl Read for Slow {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::TimedOut.into())
            }
        }
        let mut reader = Slow;
        let mut upload = Upload::new(&mut reader, 1);
        upload.read_exact(&mut [0]).unwrap_err();
        let failure = upload.into_failure();
        assert!(matches!(failure, Some(UploadFailure::Reader(_))));
    }
}
