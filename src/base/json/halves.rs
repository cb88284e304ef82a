//! Strings that come in pieces, cut between the halves of a surrogate pair: `"\ud83d"` and then `"\ude00"`.

use super::flaws::surrogate;
use super::from_str;

/// Bytes of an escape such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;

/// Reads the pieces of one text.
#[derive(Clone, Debug, Default)]
pub struct Halves {
    /// The first half of a pair, as it is escaped, with which the last piece has ended; or nothing.
    high: String,
}

impl Halves {
    /// Reads a piece, which is written as a JSON string; `None` when it is none.
    pub fn read(&mut self, piece: &str) -> Option<String> {
        let inner = piece.strip_prefix('"')?.strip_suffix('"')?;
        if self.high.is_empty() && high_of(inner).is_empty() {
            return from_str(piece).ok();
        }
        let joined = std::mem::take(&mut self.high) + inner;
        let high = high_of(&joined);
        let text = from_str(&format!("\"{}\"", &joined[..joined.len() - high.len()])).ok();
        high.clone_into(&mut self.high);
        text
    }

    /// The text is over, or goes on elsewhere: a half without the other one is U+FFFD.
    pub fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.high).is_empty() {
            ""
        } else {
            "\u{fffd}"
        }
    }
}

/// The first half of a pair at the end of an escaped text; or nothing.
fn high_of(escaped: &str) -> &str {
    let start = escaped.len().saturating_sub(ESCAPE_BYTES);
    let Some(end) = escaped.get(start..) else {
        return "";
    };
    let is_high = surrogate(end.as_bytes()).is_some_and(|unit| unit < 0xDC00);
    let before = escaped[..start].bytes().rev();
    let backslashes = before.take_while(|byte| *byte == b'\\').count();
    if is_high && backslashes % 2 == 0 {
        end
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn joined(pieces: &[&str]) -> String {
        let mut halves = Halves::default();
        let texts = pieces
            .iter()
            .map(|piece| halves.read(&format!("\"{piece}\"")).unwrap());
        let text: String = texts.collect();
        text + halves.finish()
    }

    #[test]
    fn what_is_no_string_leaves_a_half_waiting() {
        let mut halves = Halves::default();
        assert_eq!(halves.read(r#""a\ud83d""#).unwrap(), "a");
        for other in ["null", "7", "{}", ""] {
            assert_eq!(halves.read(other), None);
        }
        assert_eq!(halves.read(r#""\uDE00""#).unwrap(), "😀");
        assert_eq!(halves.finish(), "");
    }

    proptest! {
        #[test]
        fn a_text_that_is_cut_between_escapes_is_the_same(
            parts in prop::collection::vec(
                prop_oneof![
                    Just(r"\ud83d"), Just(r"\uDE00"), Just("a"), Just("é"), Just(r"\\"), Just("ud83d"),
                    Just(r"\n"), Just(r"\u00e9"),
                ],
                0..10,
            ),
            cut in 0_usize..11,
        ) {
            let (left, right) = parts.split_at(cut.min(parts.len()));
            let whole = joined(&[&parts.concat()]);
            prop_assert_eq!(joined(&[&left.concat(), &right.concat()]), whole.clone());
            prop_assert_eq!(joined(&parts), whole);
        }
    }
}
