//! A stream of bytes as lines. Pure.

use crate::limits::mcp::{KEPT_BYTES, MESSAGE_BYTES};

/// A line that has begun.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

/// A line that is longer than [`MESSAGE_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Lines {
    /// Takes the next bytes, and gives `each` the lines that end in them. Broken characters are replaced.
    pub fn take(&mut self, piece: &[u8], each: &mut dyn FnMut(&str)) -> Result<(), TooLong> {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.0.len() + part.len() > MESSAGE_BYTES {
                self.0 = Vec::new();
                return Err(TooLong);
            }
            let Some(end) = part.strip_suffix(b"\n") else {
                self.0.extend_from_slice(part);
                continue;
            };
            if self.0.is_empty() {
                each(&String::from_utf8_lossy(end));
                continue;
            }
            self.0.extend_from_slice(end);
            each(&String::from_utf8_lossy(&self.0));
            self.0.clear();
            // The room of a large message is given back.
            self.0.shrink_to(KEPT_BYTES);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for piece in pieces {
            lines
                .take(piece, &mut |line| found.push(line.to_owned()))
                .unwrap();
        }
        found
    }

    #[test]
    fn the_room_of_a_large_message_is_given_back() {
        let mut lines = Lines::default();
        let large = vec![b'a'; MESSAGE_BYTES - 1];
        lines.take(&large, &mut |_| ()).unwrap();
        let mut length = 0;
        lines.take(b"\n", &mut |line| length = line.len()).unwrap();
        assert_eq!(length, large.len());
        assert!(lines.0.capacity() <= KEPT_BYTES);
        assert_eq!(lines.take(&large, &mut |_| ()), Ok(()));
        assert_eq!(lines.take(b"aa", &mut |_| ()), Err(TooLong));
        assert_eq!(lines.0.capacity(), 0);
    }

    proptest! {
        #[test]
        fn lines_are_the_same_whatever_the_pieces(text in "[a-zé\n]{0,60}", cut in 0_usize..60) {
            let bytes = text.as_bytes();
            let (first, rest) = bytes.split_at(cut.min(bytes.len()));
            let expected: Vec<&str> = match text.rsplit_once('\n') {
                Some((ended, _)) => ended.split('\n').collect(),
                None => Vec::new(),
            };
            prop_assert_eq!(lines(&[first, rest]), expected);
        }
    }
}
