//! Lines of a file of any size, in constant memory, until somebody stops it.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use crate::cancel::Cancel;
use crate::error::{Error, Result};
use crate::limits::tools::{LINE_BYTES, SNIFF_BYTES};

/// Reads lines one after the other.
pub(super) struct Lines<'a, R> {
    reader: BufReader<R>,
    path: &'a Path,
    cancel: &'a Cancel,
    is_within_line: bool,
    /// Bytes taken so far.
    pub(super) taken: u64,
}

/// What is read into a line's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole line, without its end.
    Whole,
    /// The first [`LINE_BYTES`] of a line that has as many or more.
    Cut,
}

impl<'a, R: Read> Lines<'a, R> {
    /// Lines of what the reader gives; the path is for errors.
    pub(super) fn new(reader: R, path: &'a Path, cancel: &'a Cancel) -> Self {
        Self {
            reader: BufReader::with_capacity(SNIFF_BYTES, reader),
            path,
            cancel,
            is_within_line: false,
            taken: 0,
        }
    }

    /// The bytes that come next, at most [`SNIFF_BYTES`], without taking them; empty at the end.
    pub(super) fn peek(&mut self) -> Result<&[u8]> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            match self.reader.fill_buf() {
                // What was filled is borrowed anew below; here it would be borrowed for the loop.
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", self.path)(error)),
            }
        }
        Ok(self.reader.buffer())
    }

    /// Reads the next line into the buffer, which is emptied first; none at the end. The rest of a
    /// line that is cut is passed over only when the line after it is asked for.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Result<Option<Line>> {
        line.clear();
        while self.is_within_line {
            let bytes = self.peek()?.len();
            self.take_part(bytes);
        }
        if self.peek()?.is_empty() {
            return Ok(None);
        }
        self.is_within_line = true;
        while self.is_within_line && line.len() < LINE_BYTES {
            let bytes = self.peek()?;
            let part = bytes.len().min(LINE_BYTES - line.len());
            line.extend_from_slice(&bytes[..part]);
            let taken = self.take_part(part);
            line.truncate(line.len() - (part - taken));
        }
        if self.is_within_line {
            return Ok(Some(Line::Cut));
        }
        for end in [b'\n', b'\r'] {
            if line.last() == Some(&end) {
                line.pop();
            }
        }
        Ok(Some(Line::Whole))
    }

    /// Takes what was peeked, up to and with the end of the line; at the end of the file it ends,
    /// too. Returns how many bytes that were.
    fn take_part(&mut self, most: usize) -> usize {
        let bytes = &self.reader.buffer()[..most];
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(most, |end| end + 1);
        self.is_within_line = end.is_none() && most > 0;
        self.reader.consume(taken);
        self.taken += taken as u64;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<(Vec<u8>, Line)> {
        let cancel = Cancel::new();
        let mut lines = Lines::new(text, Path::new("x"), &cancel);
        let mut line = Vec::new();
        let mut found = Vec::new();
        while let Some(read) = lines.next(&mut line).unwrap() {
            found.push((line.clone(), read));
        }
        assert_eq!(lines.taken, text.len() as u64);
        found
    }

    #[test]
    fn lines_end_with_the_file_too_and_long_ones_are_cut() {
        let lines = all(b"one\n\ntwo\r\nthree");
        let texts: Vec<&[u8]> = lines.iter().map(|(line, _)| line.as_slice()).collect();
        assert_eq!(texts, [&b"one"[..], b"", b"two", b"three"]);
        assert!(all(b"").is_empty());
        let long = [vec![b'x'; LINE_BYTES + 1], b"\nshort\n".to_vec()].concat();
        let lines = all(&long);
        assert_eq!(lines[0], (vec![b'x'; LINE_BYTES], Line::Cut));
        assert_eq!(lines[1], (b"short".to_vec(), Line::Whole));
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn a_raised_flag_ends_the_reading_also_within_a_line_that_never_ends() {
        let cancel = Cancel::new();
        let mut lines = Lines::new(std::io::repeat(b'x'), Path::new("x"), &cancel);
        assert_eq!(lines.peek().unwrap().len(), SNIFF_BYTES);
        assert_eq!(lines.next(&mut Vec::new()).unwrap(), Some(Line::Cut));
        let stopper = cancel.clone();
        let stopping = std::thread::spawn(move || stopper.cancel());
        let stopped = lines.next(&mut Vec::new());
        assert!(matches!(stopped, Err(Error::Stopped)));
        stopping.join().unwrap();
    }
}
