//! A stream of bytes as lines. Pure.

use crate::tools::mcp::client::MESSAGE_BYTES;
/// Bytes of room for messages that a server keeps between two of them.
const KEPT_BYTES: usize = 4 * 1024;

/// A line that has begun, and the lines of a message that is spread over several.
#[derive(Debug, Default)]
pub struct Lines {
    line: Vec<u8>,
    spread: Spread,
}

/// A line or a message that is longer than [`MESSAGE_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Lines {
    /// Takes the next bytes, and gives `each` the lines that end in them; one message that is laid out over
    /// several is one. Broken characters are replaced.
    pub fn take(&mut self, piece: &[u8], each: &mut dyn FnMut(&str)) -> Result<(), TooLong> {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.spread.text.len() + part.len() > MESSAGE_BYTES {
                *self = Self::default();
                return Err(TooLong);
            }
            let Some(end) = part.strip_suffix(b"\n") else {
                self.line.extend_from_slice(part);
                continue;
            };
            if self.line.is_empty() {
                self.spread.take(&String::from_utf8_lossy(end), each);
                continue;
            }
            self.line.extend_from_slice(end);
            let line = String::from_utf8_lossy(&self.line);
            self.spread.take(&line, each);
            self.line.clear();
            // The room of a large message is given back.
            self.line.shrink_to(KEPT_BYTES);
        }
        Ok(())
    }
}

/// A message that is laid out: its first line is a bracket alone.
#[derive(Debug, Default)]
struct Spread {
    text: String,
    depth: usize,
}

impl Spread {
    fn take(&mut self, line: &str, each: &mut dyn FnMut(&str)) {
        let bare = line.trim_matches(|char: char| char.is_whitespace() || char == '\u{feff}');
        let is_message =
            bare.starts_with('{') && bare.ends_with('}') && bare.contains("\"jsonrpc\"");
        if self.text.is_empty() && !matches!(bare, "{" | "[") || is_message {
            // What was begun was no message.
            if !self.text.is_empty() {
                each(&std::mem::take(self).text);
            }
            return each(line);
        }
        self.text.push_str(bare);
        self.text.push('\n');
        // A string never spreads over lines.
        let (mut in_string, mut is_escaped) = (false, false);
        for byte in bare.bytes() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = in_string,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => self.depth += 1,
                b'}' | b']' if !in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        if self.depth == 0 {
            each(&std::mem::take(self).text);
        }
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
        assert!(lines.line.capacity() <= KEPT_BYTES);
        assert_eq!(lines.take(&large, &mut |_| ()), Ok(()));
        assert_eq!(lines.take(b"aa", &mut |_| ()), Err(TooLong));
        assert_eq!(lines.line.capacity(), 0);
    }

    #[test]
    fn a_message_over_several_lines_is_one() {
        let laid_out = b"\xef\xbb\xbf{\n  \"jsonrpc\": \"2.0\",\n  \"x\": [\n    {},\n    \"]}\\\"{\"\n  ]\n}\r\n";
        let found = lines(&[b"[INFO] up\n", laid_out, b"{\"jsonrpc\":\"2.0\"}\n"]);
        assert_eq!(found.len(), 3, "{found:?}");
        let value: serde_json::Value = serde_json::from_str(&found[1]).unwrap();
        assert_eq!(value["x"][1], "]}\"{");
        // A log that has a bracket on a line of its own.
        let found = lines(&[b"{\n{\"jsonrpc\":\"2.0\",\"id\":1}\nx\n"]);
        assert_eq!(found, ["{\n", "{\"jsonrpc\":\"2.0\",\"id\":1}", "x"]);
    }

    #[test]
    fn a_message_over_many_lines_is_bounded() {
        let mut lines = Lines::default();
        let line = vec![b'a'; MESSAGE_BYTES / 4];
        let mut take = |piece: &[u8]| lines.take(piece, &mut |_| ());
        assert_eq!(take(b"{\n"), Ok(()));
        let mut outcomes = (0..8).map(|_| take(&[&line[..], b"\n"].concat()));
        assert!(outcomes.any(|outcome| outcome == Err(TooLong)));
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
