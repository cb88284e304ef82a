//! Lengths and offsets as Telegram and JavaScript count them: in UTF-16 units. A char beyond the basic
//! plane, such as most emoji, has two.

use std::ops::Range;

/// The bytes of the part that begins at `offset` and is `length` long, both in UTF-16 units. `None`
/// when it extends beyond the text, or begins or ends within a char.
pub fn range(text: &str, offset: usize, length: usize) -> Option<Range<usize>> {
    let start = position(text, offset)?;
    let rest = text.get(start..)?;
    Some(start..start + position(rest, length)?)
}

/// The byte offset after `units` UTF-16 units; `None` when that is not between two chars.
fn position(text: &str, units: usize) -> Option<usize> {
    let mut passed = 0;
    for (at, char) in text.char_indices() {
        if passed >= units {
            return (passed == units).then_some(at);
        }
        passed += char.len_utf16();
    }
    (passed == units).then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_char_beyond_the_basic_plane_counts_twice() {
        let text = "a👍🏽é漢";
        assert_eq!(text.encode_utf16().count(), 7);
        assert_eq!(range(text, 0, 1), Some(0..1));
        assert_eq!(range(text, 1, 4), Some(1..9));
        assert_eq!(range(text, 5, 2), Some(9..text.len()));
        assert_eq!(range(text, 7, 0), Some(text.len()..text.len()));
    }

    #[test]
    fn what_is_no_part_of_the_text_is_none() {
        for (offset, length) in [
            (2, 1),
            (1, 1),
            (0, 8),
            (8, 0),
            (usize::MAX, 1),
            (1, usize::MAX),
        ] {
            assert_eq!(range("a👍🏽é漢", offset, length), None, "{offset} {length}");
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_standard_library(text in ".{0,20}", offset in 0_usize..30, units in 0_usize..30) {
            let all: Vec<u16> = text.encode_utf16().collect();
            let expected = all.get(offset..offset + units).and_then(|part| String::from_utf16(part).ok());
            let found = range(&text, offset, units).map(|range| text[range].to_owned());
            // A pair that is cut at both ends is no text either way.
            if found.is_some() || units > 0 {
                prop_assert_eq!(found, expected);
            }
        }
    }
}
