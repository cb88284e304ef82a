//! A command's output: as much as fits, from both ends, and the rest to wherever it is kept.

/// What is told of an output while it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// What came just now; empty when nothing has come for a while.
    Fresh(&'a [u8]),
    /// The output is longer than what is kept: this belongs to the whole of it, which is told from
    /// its first byte on.
    Whole(&'a [u8]),
}

/// Whoever is told of an output while it comes.
pub type Output<'a> = &'a mut dyn FnMut(Piece<'_>);

/// Takes output as it comes. What is kept is the beginning and the end; once there is more than that,
/// all of it is told, what was there before included.
pub struct Collector<'a> {
    kept: Captured,
    limit: usize,
    output: Output<'a>,
    spilling: bool,
}

/// What is kept of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
}

impl<'a> Collector<'a> {
    /// Keeps `limit` bytes, half of them from the end.
    pub fn new(limit: usize, output: Output<'a>) -> Self {
        Self {
            kept: Captured::default(),
            limit: limit.max(2),
            output,
            spilling: false,
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        let kept = &mut self.kept;
        kept.total += piece.len() as u64;
        let half = self.limit / 2;
        if !self.spilling && kept.total > self.limit as u64 {
            self.spilling = true;
            (self.output)(Piece::Whole(&kept.head));
            (self.output)(Piece::Whole(&kept.tail));
        }
        if self.spilling {
            (self.output)(Piece::Whole(piece));
        }
        (self.output)(Piece::Fresh(piece));
        let (first, rest) = piece.split_at(piece.len().min(half.saturating_sub(kept.head.len())));
        kept.head.extend_from_slice(first);
        kept.tail.extend_from_slice(rest);
        // Not at every piece, for each time moves what stays.
        if kept.tail.len() > 2 * self.limit {
            kept.shorten(self.limit - half);
        }
    }

    /// How many bytes there were.
    pub fn total(&self) -> u64 {
        self.kept.total
    }

    /// What is kept.
    pub fn finish(mut self) -> Captured {
        if self.spilling {
            self.kept.shorten(self.limit - self.limit / 2);
        }
        self.kept
    }
}

impl Captured {
    fn shorten(&mut self, tail: usize) {
        let over = self.tail.len().saturating_sub(tail);
        self.tail.drain(..over);
    }

    /// How many bytes there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes between the beginning and the end are not here.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Whether it is no text: it has a NUL byte, or more broken characters than an odd one.
    pub fn is_binary(&self) -> bool {
        let broken = |bytes: &[u8]| {
            let letters = String::from_utf8_lossy(bytes);
            letters.matches('\u{fffd}').count()
        };
        let seen = self.head.len() + self.tail.len();
        self.head.contains(&0)
            || self.tail.contains(&0)
            || (broken(&self.head) + broken(&self.tail)) * 10 > seen
    }

    /// The text, with a line in place of what is left out; binary output is named as such.
    pub fn text(&self) -> String {
        if self.is_binary() {
            return format!("(binary output, {} bytes)", self.total);
        }
        if self.omitted() == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &self.tail].concat()).into_owned();
        }
        format!(
            "{}\n… {} bytes left out …\n{}",
            String::from_utf8_lossy(whole_letters_before(&self.head)),
            self.omitted(),
            String::from_utf8_lossy(whole_letters_after(&self.tail)),
        )
    }
}

/// Without a letter that is cut at the end.
fn whole_letters_before(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
    }
}

/// Without the rest of a letter at the beginning.
fn whole_letters_after(bytes: &[u8]) -> &[u8] {
    let cut = bytes
        .iter()
        .take(3)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collected(pieces: &[&[u8]], limit: usize) -> (Captured, Vec<u8>) {
        let mut spilled = Vec::new();
        let mut fresh = Vec::new();
        let mut spill = |piece: Piece<'_>| match piece {
            Piece::Whole(bytes) => spilled.extend_from_slice(bytes),
            Piece::Fresh(bytes) => fresh.extend_from_slice(bytes),
        };
        let mut collector = Collector::new(limit, &mut spill);
        pieces.iter().for_each(|piece| collector.push(piece));
        let captured = collector.finish();
        assert_eq!(fresh, pieces.concat(), "all of it is told as it comes");
        (captured, spilled)
    }

    #[test]
    fn what_fits_is_kept_whole_and_not_spilled() {
        let (captured, spilled) = collected(&[b"abc", b"defgh"], 8);
        assert_eq!(captured.text(), "abcdefgh");
        assert!(spilled.is_empty());
    }

    #[test]
    fn what_does_not_fit_keeps_its_ends_and_is_spilled_whole() {
        let (captured, spilled) = collected(&[b"abcdef", b"ghijklm", b"nopq"], 8);
        assert_eq!(captured.text(), "abcd\n… 9 bytes left out …\nnopq");
        assert_eq!(spilled, b"abcdefghijklmnopq");
    }

    #[test]
    fn binary_output_is_named() {
        assert_eq!(
            collected(&[b"\x7fELF\0\x01"], 100).0.text(),
            "(binary output, 6 bytes)"
        );
        assert!(!collected(&["grüß\n".as_bytes()], 100).0.is_binary());
        assert!(
            !collected(&[b"latin: gr\xfc\xdf and much more text behind it"], 100)
                .0
                .is_binary()
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_whatever_the_pieces(
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
            limit in 2_usize..64,
        ) {
            let whole = pieces.concat();
            let slices: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let (captured, spilled) = collected(&slices, limit);
            prop_assert_eq!(captured.total(), whole.len() as u64);
            if whole.len() > limit {
                prop_assert_eq!(&spilled, &whole);
                prop_assert!(whole.starts_with(&captured.head) && whole.ends_with(&captured.tail));
                prop_assert_eq!(captured.head.len() + captured.tail.len(), limit);
            } else {
                prop_assert!(spilled.is_empty());
                prop_assert_eq!(captured.omitted(), 0);
            }
            let _ = captured.text();
        }
    }
}
