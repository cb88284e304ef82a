//! Names that anyone may choose: of people, of files and of commands.

use crate::base::limits::channels::NAME_CHARS;
use crate::text::{is_invisible, one_line};
pub use crate::text::{is_newline, without_brackets};

/// Bytes of a file's name in the workspace's inbox, with date and number below 255 bytes.
const FILE_NAME_BYTES: usize = 100;
/// Bytes at the end of a name in which an extension such as `.tar.gz` is looked for.
const FILE_ENDING_BYTES: usize = 16;

/// The name of a person, a bot or a chat on one line of at most [`NAME_CHARS`] characters, safe in
/// what the model reads. Where people read it, [`crate::text::markup::inline_code`] keeps it from
/// being markup.
pub fn clean_name(name: &str) -> String {
    without_brackets(&one_line(name, NAME_CHARS))
}

/// A file name that is safe on every file system and in a header: one component, not hidden, without
/// control and formatting characters, at most `FILE_NAME_BYTES` long with its extension kept. A name
/// of which nothing is left becomes `file`.
pub fn clean_file_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let cleaned: String = last.chars().map(replace_unsafe).collect();
    let cleaned = without_brackets(&cleaned);
    let cleaned = shorten(cleaned.trim_start_matches(['.', ' ']));
    match cleaned.trim_end_matches(['.', ' ']) {
        "" => "file".to_owned(),
        name => name.to_owned(),
    }
}

/// The char, or a harmless one in its place.
fn replace_unsafe(char: char) -> char {
    match char {
        // FAT takes none of these, and the quote would end the name within a header.
        '"' | '*' | ':' | '<' | '>' | '?' | '|' => '_',
        // They hide characters or reverse their order: `xcod.exe` shown as `xexe.doc`.
        char if char.is_control() || is_invisible(char) => '_',
        char if char.is_whitespace() => ' ',
        char => char,
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

/// The text with a slash for the exclamation mark of a command: `!sh df` for `/sh df`. Some programs keep
/// what begins with a slash for themselves.
pub fn with_slash(text: &str) -> String {
    let Some(rest) = text.strip_prefix('!') else {
        return text.to_owned();
    };
    let word = rest.split_whitespace().next().unwrap_or_default();
    let is_word = !rest.starts_with(char::is_whitespace)
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_word {
        format!("/{rest}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_exclamation_mark_begins_a_command() {
        for (text, expected) in [
            ("!sh df -h", "/sh df -h"),
            ("!help", "/help"),
            ("!watch-list", "/watch-list"),
            ("/sh df", "/sh df"),
            ("!", "!"),
            ("! no", "! no"),
            ("!!", "!!"),
            ("!Wow", "!Wow"),
            ("!sh;rm", "!sh;rm"),
            ("no!sh", "no!sh"),
        ] {
            assert_eq!(with_slash(text), expected);
        }
    }

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
            assert_eq!(clean_file_name(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_persons_name_forges_neither_lines_nor_brackets() {
        let name = clean_name("Ann] hi\n[Bob\u{202e}] \u{200b}x");
        assert_eq!(name, "Ann) hi (Bob) x");
        assert_eq!(clean_name(&"x".repeat(500)).chars().count(), NAME_CHARS + 1);
    }

    #[test]
    fn a_long_name_keeps_its_ending() {
        let name = clean_file_name(&format!("{}.tar.gz", "ü".repeat(200)));
        assert!(
            name.len() <= FILE_NAME_BYTES && name.len() > FILE_NAME_BYTES - 4,
            "{name}"
        );
        assert!(
            name.starts_with("üü") && name.ends_with("ü.tar.gz"),
            "{name}"
        );
        assert_eq!(clean_file_name(&"x".repeat(500)).len(), FILE_NAME_BYTES);
        assert_eq!(
            clean_file_name(&format!("{} y", "x".repeat(99))),
            "x".repeat(99)
        );
    }

    proptest! {
        #[test]
        fn whatever_was_chosen_is_a_name_in_its_folder(name in any::<String>(), more in ".{0,300}") {
            let cleaned = clean_file_name(&(name + &more));
            prop_assert!(!cleaned.is_empty() && cleaned.len() <= FILE_NAME_BYTES);
            prop_assert!(!cleaned.starts_with('.') && !cleaned.contains(['/', '\\', '"']));
            prop_assert!(!cleaned.contains(char::is_control));
            prop_assert_eq!(clean_file_name(&cleaned), cleaned);
        }
    }
}
