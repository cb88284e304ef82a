//! Reads lines from the beginning, in bounded memory.

use std::io::{self, BufRead, Read};

use crate::base::limits::append_log::LINE_BYTES;

/// The lines of a log, the first one first.
pub struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    consumed: u64,
}

impl<R: BufRead> Lines<R> {
    /// Starts at the reader's position, which must be the beginning of a line.
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            line: Vec::new(),
            consumed: 0,
        }
    }

    /// Bytes that were read, from the position at which it started to the end of the last line.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The next line without its line end, empty for one that is longer than a line may be; none at
    /// the end.
    pub fn following(&mut self) -> io::Result<Option<&[u8]>> {
        if !self.read_part()? {
            return Ok(None);
        }
        let mut is_overlong = false;
        while self.line.len() > LINE_BYTES && self.line.last() != Some(&b'\n') {
            is_overlong = true;
            if !self.read_part()? {
                break;
            }
        }
        if is_overlong {
            self.line.clear();
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Ok(Some(line))
    }

    /// Reads up to the line's end, or as much as a line may have; false at the end.
    fn read_part(&mut self) -> io::Result<bool> {
        self.line.clear();
        let mut limited = (&mut self.reader).take(LINE_BYTES as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.line)?;
        self.consumed += read as u64;
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(content);
        let mut all = Vec::new();
        while let Some(line) = lines.following().unwrap() {
            all.push(line.to_vec());
        }
        all
    }

    #[test]
    fn they_come_one_after_the_other_without_their_ends() {
        assert_eq!(read(b"one\n\nthree"), [b"one".as_slice(), b"", b"three"]);
        assert!(read(b"").is_empty());
        let longest = vec![b'x'; LINE_BYTES];
        assert_eq!(read(&[&longest[..], b"\nlast\n"].concat())[0], longest);
    }

    #[test]
    fn one_that_is_too_long_is_one_line_and_nothing_of_it_is_kept() {
        for length in [1, 2, LINE_BYTES, LINE_BYTES + 1, 3 * LINE_BYTES] {
            let long = vec![b'x'; LINE_BYTES + length];
            let lines = read(&[&b"first\n"[..], &long, b"\nlast\n"].concat());
            assert_eq!(lines, [b"first".as_slice(), b"", b"last"], "{length}");
            assert_eq!(read(&long), [b""], "{length}");
        }
    }
}
