//! Names that strangers choose: their own, and those of files.

use crate::limits::channels::{FILE_ENDING_BYTES, FILE_NAME_BYTES, NAME_CHARS};
use crate::text::{is_invisible, one_line};

/// The name of a person, a bot or a chat on one line of at most [`NAME_CHARS`] characters, as it may
/// stand in what the model reads. Where people read it, [`crate::markup::inline_code`] keeps it from
/// being markup.
pub fn of_person(name: &str) -> String {
    without_brackets(&one_line(name, NAME_CHARS))
}

/// Whether a reader may take a character for the end of a line.
pub fn is_line_end(char: char) -> bool {
    matches!(
        char,
        '\n' | '\u{b}'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The text with other brackets for those in which channels tell the model what they know.
pub fn without_brackets(text: &str) -> String {
    text.replace('[', "(").replace(']', ")")
}

/// A name that is safe on every file system and in a header: one component, not hidden, without
/// control and formatting characters, at most [`FILE_NAME_BYTES`] long with its ending kept. A name
/// of which nothing is left becomes `file`.
pub fn clean(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let cleaned: String = last.chars().map(harmless).collect();
    let cleaned = without_brackets(&cleaned);
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
        letter if letter.is_control() || is_invisible(letter) => '_',
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
            ("a\nb\0c\u{1b}[31m", "a_b_c_(31m"),
            ("photo\u{202e}gpj.exe", "photo_gpj.exe"),
            ("a\"; name=\"b", "a_; name=_b"),
            ("a.txt. .", "a.txt"),
        ] {
            assert_eq!(clean(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_persons_name_forges_neither_lines_nor_brackets() {
        let name = of_person("Ann] hi\n[Bob\u{202e}] \u{200b}x");
        assert_eq!(name, "Ann) hi (Bob) x");
        assert_eq!(of_person(&"x".repeat(500)).chars().count(), NAME_CHARS + 1);
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
