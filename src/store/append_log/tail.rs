//! Reads the lines of a file from its end, in blocks, so that the cost is that of the lines wanted
//! and not of the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::base::limits::append_log::LINE_BYTES;

/// Bytes read at a time when a log is read from its end.
const BLOCK_BYTES: usize = 16 * 1024;

/// The lines of a file, the last one first.
pub struct Tail<'a> {
    file: &'a File,
    /// Bytes before this one have not been read.
    position: u64,
    /// What has been read and not given out: always the bytes right after `position`.
    pending: Vec<u8>,
}

/// A line and where it is.
#[derive(Debug, PartialEq, Eq)]
pub struct TailLine {
    /// The byte of the file at which it begins.
    pub offset: u64,
    /// Its bytes without the line end. Empty for one that is longer than a line may be.
    pub bytes: Vec<u8>,
}

impl<'a> Tail<'a> {
    /// Starts at `end`, which is the length of the file or the byte after a line end.
    pub fn new(file: &'a File, end: u64) -> Self {
        Self {
            file,
            position: end,
            pending: Vec::new(),
        }
    }

    /// The line before the ones that were given out; none at the beginning of the file.
    pub fn previous(&mut self) -> io::Result<Option<TailLine>> {
        // The line end that closes the line looked for, not the one before it.
        if self.pending.last() == Some(&b'\n') {
            self.pending.pop();
        } else if self.pending.is_empty() && self.position > 0 {
            self.read_block()?;
            if self.pending.last() == Some(&b'\n') {
                self.pending.pop();
            }
        } else if self.pending.is_empty() {
            return Ok(None);
        }
        let mut overlong = false;
        loop {
            if let Some(index) = self.pending.iter().rposition(|byte| *byte == b'\n') {
                let bytes = self.pending.split_off(index + 1);
                return Ok(Some(self.line(index as u64 + 1, bytes, overlong)));
            }
            if self.position == 0 {
                let bytes = std::mem::take(&mut self.pending);
                return Ok(Some(self.line(0, bytes, overlong)));
            }
            if self.pending.len() > LINE_BYTES {
                overlong = true;
                self.pending.clear();
            }
            self.read_block()?;
        }
    }

    /// The line at a place where one begins, without its line end, wherever the reading from the end
    /// is; `None` at other places and for a line that is longer than a line may be.
    pub fn line_at(&self, offset: u64) -> io::Result<Option<Vec<u8>>> {
        if !starts_line(self.file, offset)? {
            return Ok(None);
        }
        let mut line = Vec::new();
        let mut block = [0; 1024];
        while line.len() <= LINE_BYTES {
            let read = self.file.read_at(&mut block, offset + line.len() as u64)?;
            let read = &block[..read];
            if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                line.extend_from_slice(&read[..end]);
                return Ok(Some(line));
            }
            if read.is_empty() {
                return Ok(None);
            }
            line.extend_from_slice(read);
        }
        Ok(None)
    }

    fn line(&self, index: u64, bytes: Vec<u8>, overlong: bool) -> TailLine {
        let bytes = if overlong { Vec::new() } else { bytes };
        TailLine {
            offset: self.position + index,
            bytes,
        }
    }

    /// Puts the block before `position` in front of what is pending.
    fn read_block(&mut self) -> io::Result<()> {
        let length = self.position.min(BLOCK_BYTES as u64) as usize;
        let mut block = vec![0; length];
        self.file
            .read_exact_at(&mut block, self.position - length as u64)?;
        self.position -= length as u64;
        block.append(&mut self.pending);
        self.pending = block;
        Ok(())
    }
}

/// Whether a line may begin at a place of a file: at its beginning, or after a line end.
pub fn starts_line(file: &File, offset: u64) -> io::Result<bool> {
    let Some(before) = offset.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    Ok(file.read_at(&mut byte, before)? == 1 && byte == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn read(content: &[u8]) -> Vec<TailLine> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let mut tail = Tail::new(&file, content.len() as u64);
        std::iter::from_fn(|| tail.previous().unwrap()).collect()
    }

    #[test]
    fn lines_come_from_the_end_with_their_places() {
        let lines = read(b"one\n\nthree\n");
        let seen: Vec<(u64, &[u8])> = lines
            .iter()
            .map(|line| (line.offset, line.bytes.as_slice()))
            .collect();
        assert_eq!(seen, [(5, b"three".as_slice()), (4, b""), (0, b"one")]);
        assert!(read(b"").is_empty());
    }

    #[test]
    fn a_line_longer_than_a_line_may_be_is_passed_over_in_bounded_memory() {
        let mut content = b"first\n".to_vec();
        content.resize(content.len() + 3 * LINE_BYTES, b'x');
        content.extend_from_slice(b"\nlast\n");
        let lines = read(&content);
        assert_eq!(lines.len(), 3);
        assert_eq!((lines[1].offset, lines[1].bytes.len()), (6, 0));
        assert_eq!(lines[2].bytes, b"first");
    }

    proptest! {
        #[test]
        fn they_are_the_lines_read_forwards(lines in proptest::collection::vec("[a-z]{0,9000}", 0..12)) {
            let content: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let mut backwards: Vec<String> =
                read(content.as_bytes()).into_iter().map(|line| String::from_utf8(line.bytes).unwrap()).collect();
            backwards.reverse();
            prop_assert_eq!(backwards, lines);
        }
    }
}
