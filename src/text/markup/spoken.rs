//! The words of Markdown that are read aloud.

use super::{Level, host_of, parse_grown};
use crate::text::truncate_chars;

/// Columns into which no table fits, so that its rows are read one after the other.
const NO_TABLE_COLUMNS: usize = 1;

/// The words of a text in Markdown for a voice, of which at most so many characters are read: code blocks, marks and emoji
/// are left out, a row of a table is read with the names of its columns, and of an address only the host.
pub fn spoken(markdown: &str, chars: usize) -> String {
    let document = parse_grown(markdown, NO_TABLE_COLUMNS).document;
    let mut text = String::new();
    for (range, style) in document.stretches(0..document.text().len()) {
        let part = &document.text()[range];
        if style.has(Level::Pre) {
            text.push('\n');
        } else if !style.has(Level::Aside) {
            let is_bullet = style.has(Level::Mark) && !part.contains(|c: char| c.is_alphanumeric());
            text.push_str(if is_bullet { "" } else { part });
        }
    }
    let lines = text.lines().map(sentence).filter(|line| !line.is_empty());
    cut(&lines.collect::<Vec<_>>().join("\n"), chars)
}

/// A line with an end, so that the voice pauses there; empty where nothing is read.
fn sentence(line: &str) -> String {
    let words = line.split_whitespace().map(|word| {
        let address = word.trim_matches(|c: char| "()<>[],;\"'".contains(c));
        let word = match address.contains("://") {
            true => host_of(address),
            false => word,
        };
        word.replace(is_picture, "")
    });
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    let mut line = words.join(" ");
    if line.ends_with(|c: char| c.is_alphanumeric() || ")\"'”»%".contains(c)) {
        line.push('.');
    }
    match line.contains(char::is_alphanumeric) {
        true => line,
        false => String::new(),
    }
}

/// Whether a voice would say its name.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{fe0f}' | '\u{200d}' | '\u{1f000}'..='\u{1faff}')
}

/// The sentences within so many characters; of a longer one the words.
fn cut(text: &str, chars: usize) -> String {
    let kept = truncate_chars(text, chars);
    if kept.len() == text.len() {
        return kept.to_owned();
    }
    let mut ends = kept.char_indices().filter(|(at, c)| {
        let after = kept[at + c.len_utf8()..].chars().next();
        let is_end = ".!?…".contains(*c) && after.is_some_and(char::is_whitespace);
        is_end || "。！？\n".contains(*c)
    });
    let sentence = ends.next_back().map(|(at, c)| at + c.len_utf8());
    let end = sentence.or_else(|| kept.rfind(char::is_whitespace));
    kept[..end.unwrap_or(kept.len())].trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(markdown: &str) -> String {
        spoken(markdown, 1_000)
    }

    #[test]
    fn marks_code_and_addresses_are_not_read() {
        let answer = "## Result 🎉\n\nIt **works**: see [the page](https://example.org/a?b=c) or \
                      https://www.example.net/very/long/path?x=1.\n\n- one\n- `two`\n\n1. first\n\n\
                      ```sh\nrm -rf /tmp/x\n```\n\n---\n\nDone!";
        let words = "Result.\nIt works: see the page or example.net.\none.\ntwo.\n1. first.\nDone!";
        assert_eq!(read(answer), words);
        assert_eq!(read("```\nls\n```"), "");
        assert_eq!(read("👍"), "");
        assert_eq!(read("你好！今天很好"), "你好！今天很好.");
    }

    #[test]
    fn a_row_of_a_table_is_read_with_the_names_of_its_columns() {
        let table = "| Name | Age |\n|---|---|\n| Ana | 31 |\n| Bob | |\n";
        assert_eq!(read(table), "Ana.\nAge: 31.\nBob.");
    }

    #[test]
    fn a_long_text_ends_with_a_sentence_or_a_word() {
        assert_eq!(
            spoken("One two. Three 3.5 four. Five.", 26),
            "One two. Three 3.5 four."
        );
        assert_eq!(spoken("One two three", 9), "One two");
        assert_eq!(spoken("一二三。四五六。", 6), "一二三。");
        assert_eq!(spoken("Donaudampfschiff", 5), "Donau");
        assert_eq!(spoken("a\n\nb", 2), "a.");
    }
}
