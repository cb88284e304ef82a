//! Reading a JSON text, and showing where its grammar is broken.

use serde_json::Value;

use crate::config::check::looks_secret;
use crate::json;
use crate::limits::config as limits;

/// Reads the text as JSON. The error has the line, the column, what is wrong and the line itself
/// with a mark below the place, after `file`.
pub fn parse(text: &str, file: &str) -> Result<Value, String> {
    json::from_str(text).map_err(|error| {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let shown = excerpt(text.lines().nth(line - 1).unwrap_or_default(), column);
        format!("{file}: this is not JSON: {error}\n{shown}")
    })
}

/// A part of the line around the column (in bytes, from 1), and a mark below the column.
fn excerpt(line: &str, column: usize) -> String {
    let before = line
        .char_indices()
        .take_while(|(at, _)| at + 1 < column)
        .count();
    let from = before.saturating_sub(limits::EXCERPT_CHARS * 3 / 4);
    let safe = without_values(line);
    let letters = safe.chars().skip(from).take(limits::EXCERPT_CHARS);
    let shown: String = letters
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let indent = " ".repeat(before - from);
    format!("  {shown}\n  {indent}^")
}

/// The line with each longer word that is not a member's name made unreadable: it may be a key, and
/// a broken line does not say where a string begins.
fn without_values(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let word_end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end.max(letter.len_utf8()));
        let is_name = after
            .strip_prefix('"')
            .is_some_and(|after| after.trim_start().starts_with(':'))
            && !looks_secret(word);
        if word_end > LONGEST_PLAIN && !is_name {
            shown.extend(word.chars().map(|_| '*'));
        } else {
            shown.push_str(word);
        }
        rest = after;
    }
    shown
}

/// Words up to this length are shown from a broken line: `false` has five letters, a key has more.
const LONGEST_PLAIN: usize = 5;

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::super::scan;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn broken_json_is_shown_with_its_place_and_without_anything_secret() {
        let text = "{\n  \"agents\": {}\n  \"apiKey\": \"sk-canary-123\" }\n";
        let error = parse(text, "config.json").unwrap_err();
        assert_eq!(
            error,
            "config.json: this is not JSON: expected `,` or `}` at line 3 column 3\n  \
               \"apiKey\": \"*************\" }\n    ^"
                .replace("\n  \"apiKey", "\n    \"apiKey")
        );
        let unopened = parse("{\"apiKey\": sk-canary-123\"}", "f").unwrap_err();
        assert!(!unopened.contains("canary"), "{unopened}");
        assert!(parse("", "f").is_err() && parse("{\n\n", "f").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_fail(text in "[{}\\[\\]\",:a1\\\\\u{e9}\n ]{0,40}") {
            scan::members(&text);
            if let Err(error) = parse(&text, "f") {
                prop_assert!(error.contains('^'));
            }
        }
    }
}
