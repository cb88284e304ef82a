//! Names of files that strangers choose.

use crate::limits::channels::{FILE_ENDING_BYTES, FILE_NAME_BYTES};

/// A name that is safe on every file system and in a header: one component, not hidden, without
/// control and formatting characters, at most [`FILE_NAME_BYTES`] long with its ending kept. A name
/// of which nothing is left becomes `file`.
pub fn clean(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let cleaned: String = last.chars().map(harmless).collect();
    let cleaned = shorten(cleaned.trim_start_matches(['.', ' ']));
    match cleaned.trim_end_matches(['.', ' ']) {
        "" => "file".to_owned(),
        name => name.to_owned(),
    }
}

/// The letter, or what stands for it.
fn harmless(letter: char) -> char {
    match letter {
        // FAT takes none of these, and the quote would end the name within a header.
        '"' | '*' | ':' | '<' | '>' | '?' | '|' => '_',
        // They hide letters or turn their order around: `xcod.exe` shown as `xexe.doc`.
        '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '_',
        letter if letter.is_control() => '_',
        letter if letter.is_whitespace() => ' ',
        letter => letter,
    }
}

fn shorten(name: &str) -> String {
    if name.len() <= FILE_NAME_BYTES {
        return name.to_owned();
    }
    let from = name.ceil_char_boundary(name.len() - FILE_ENDING_BYTES);
    let ending = name[from..].find('.').map_or("", |at| &name[from + at..]);
    let kept = name.floor_char_boundary(FILE_NAME_BYTES - ending.len());
    [&name[..kept], ending].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_one_component_that_shows_itself() {
        for (given, expected) in [
            ("Invoice 3.pdf", "Invoice 3.pdf"),
            ("Zürich 漢字.tar.gz", "Zürich 漢字.tar.gz"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\me\\a.txt", "a.txt"),
            ("...bashrc", "bashrc"),
            (". ..", "file"),
            ("", "file"),
            ("folder/", "file"),
            ("a\nb\0c\u{1b}[31m", "a_b_c_[31m"),
            ("photo\u{202e}gpj.exe", "photo_gpj.exe"),
            ("a\"; name=\"b", "a_; name=_b"),
            ("a.txt. .", "a.txt"),
        ] {
            assert_eq!(clean(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_ending() {
        let name = clean(&format!("{}.tar.gz", "ü".repeat(200)));
        assert!(
            name.len() <= FILE_NAME_BYTES && name.len() > FILE_NAME_BYTES - 4,
            "{name}"
        );
        assert!(
            name.starts_with("üü") && name.ends_with("ü.tar.gz"),
            "{name}"
        );
        assert_eq!(clean(&"x".repeat(500)).len(), FILE_NAME_BYTES);
        assert_eq!(clean(&format!("{} y", "x".repeat(99))), "x".repeat(99));
    }

    proptest! {
        #[test]
        fn whatever_was_chosen_is_a_name_in_its_folder(name in any::<String>(), more in ".{0,300}") {
            let cleaned = clean(&(name + &more));
            prop_assert!(!cleaned.is_empty() && cleaned.len() <= FILE_NAME_BYTES);
            prop_assert!(!cleaned.starts_with('.') && !cleaned.contains(['/', '\\', '"']));
            prop_assert!(!cleaned.contains(char::is_control));
            prop_assert_eq!(clean(&cleaned), cleaned);
        }
    }
}
