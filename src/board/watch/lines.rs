//! PURE: complete lines from pieces of a growing file.

/// Bytes of a line of a watched file; a longer one is cut.
const LINE_BYTES: usize = 4096;

/// Cuts what a file has grown by into lines. A line without its end waits for it; a long one is cut, and its rest
/// dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    unfinished: Vec<u8>,
}

impl Lines {
    /// Forgets a line that has no end: another file begins.
    pub fn reset(&mut self) {
        self.unfinished = Vec::new();
    }

    /// The bytes of the line that has no end yet, as far as they are kept.
    pub fn unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// Takes a piece, and hands on each line that it completes.
    pub fn push(&mut self, mut piece: &[u8], line: &mut dyn FnMut(&str)) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = piece.split_at(end);
            self.keep(head);
            line(String::from_utf8_lossy(&self.unfinished).trim_end_matches('\r'));
            self.unfinished.clear();
            piece = rest.get(1..).unwrap_or_default();
        }
        self.keep(piece);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = LINE_BYTES.saturating_sub(self.unfinished.len());
        self.unfinished
            .extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut found) = (Lines::default(), Vec::new());
        for piece in pieces {
            lines.push(piece, &mut |line| found.push(line.to_owned()));
        }
        found
    }

    #[test]
    fn only_complete_lines_are_handed_on() {
        assert_eq!(lines(&[b"one\ntw", b"o\r\n\nthr"]), ["one", "two", ""]);
        assert_eq!(lines(&[b"", b"no end"]), [""; 0]);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        let long = vec![b'x'; 3 * LINE_BYTES];
        let found = lines(&[&long, &long, b"tail\nnext\n"]);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].len(), LINE_BYTES);
        assert_eq!(found[1], "next");
    }

    proptest! {
        #[test]
        fn how_a_file_grows_does_not_matter(
            text in "[a-c\n]{0,200}",
            cuts in prop::collection::vec(0..200_usize, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            let whole: Vec<&str> = text.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
            let whole: Vec<&str> = whole.iter().map(|line| line.trim_end_matches('\n')).collect();
            prop_assert_eq!(lines(&pieces), whole);
        }
    }
}
