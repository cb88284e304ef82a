//! The translations that are compiled in: a block of bytes for each language, which `po` packs when the program is
//! built. Nothing is read of them until a text is looked up, and nothing is allocated for that.

use std::fmt::Display;

use super::Language;
use super::template::fill as fill_in;

/// The translations of a language; empty for those whose texts are in the source.
fn bytes_of(language: Language) -> &'static [u8] {
    macro_rules! packed {
        ($code:literal) => {
            include_bytes!(concat!(env!("OUT_DIR"), "/", $code, ".texts"))
        };
    }
    match language {
        Language::English | Language::Chinese => &[],
        Language::German => packed!("de"),
        Language::French => packed!("fr"),
        Language::Spanish => packed!("es"),
        Language::Portuguese => packed!("pt"),
        Language::Japanese => packed!("ja"),
    }
}

/// The translation of the text with this [`key`](super::template::key); `None` where there is none.
pub fn find(language: Language, key: u32) -> Option<&'static str> {
    find_in(bytes_of(language), key)
}

/// The same with its values, as [`fill`](super::template::fill) takes them.
pub fn fill(language: Language, key: u32, names: &str, values: &[&dyn Display]) -> Option<String> {
    Some(fill_in(find(language, key)?, names, values))
}

/// Finds a text in packed bytes: the number of texts, their keys in order, where each ends behind all of these, and the
/// texts. Numbers have 32 bits, the lowest byte first.
fn find_in(bytes: &[u8], key: u32) -> Option<&str> {
    let number = |index: usize| {
        let four = bytes.get(index * 4..)?.first_chunk()?;
        Some(u32::from_le_bytes(*four))
    };
    let count = number(0)? as usize;
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = usize::midpoint(low, high);
        match number(1 + middle)? < key {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    if low == count || number(1 + low)? != key {
        return None;
    }
    let begin = match low {
        0 => 0,
        _ => number(count + low)? as usize,
    };
    let end = number(1 + count + low)? as usize;
    let texts = bytes.get((1 + 2 * count) * 4..)?;
    std::str::from_utf8(texts.get(begin..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::po::{pack, read};
    use super::super::template::key;
    use super::*;
    use proptest::prelude::*;

    fn packed(po: &str) -> Vec<u8> {
        pack(&read(po).unwrap()).unwrap().bytes
    }

    #[test]
    fn a_text_that_is_missing_is_not_found() {
        let po = "msgid \"Yes\"\nmsgstr \"Ja\"\n\nmsgid \"No\"\nmsgstr \"\"\n\n\
                  msgid \"{count} days\"\nmsgstr \"{zahl} Tage\"\n\n\
                  #, fuzzy\nmsgid \"Stop\"\nmsgstr \"Halt\"\n\nmsgid \"a\"\nmsgstr \"ä\"\n";
        let bytes = packed(po);
        let find = |text: &str| find_in(&bytes, key(text));
        assert_eq!((find("Yes"), find("a")), (Some("Ja"), Some("ä")));
        for missing in ["No", "{count} days", "Stop", "Other", ""] {
            assert_eq!(find(missing), None, "{missing}");
        }
        assert_eq!(find_in(&packed(""), key("Yes")), None);
        assert_eq!(find_in(&[], key("Yes")), None);
    }

    #[test]
    fn each_language_has_its_catalog() {
        for language in Language::ALL {
            let is_packed = !bytes_of(language).is_empty();
            let is_in_source = matches!(language, Language::English | Language::Chinese);
            assert_ne!(is_packed, is_in_source, "{language:?}");
        }
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), key: u32) {
            find_in(&bytes, key);
        }

        #[test]
        fn what_is_packed_is_found(texts in prop::collection::btree_map("[a-z]{1,8}", "[äöüa-z]{1,8}", 0..30)) {
            let po: String = texts.iter().map(|(id, text)| format!("msgid \"{id}\"\nmsgstr \"{text}\"\n\n")).collect();
            let bytes = packed(&po);
            for (id, text) in &texts {
                prop_assert_eq!(find_in(&bytes, key(id)), Some(text.as_str()));
            }
        }
    }
}
