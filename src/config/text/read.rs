//! Reads a JSON text, and shows where its grammar is broken.

use serde_json::Value;

use crate::base::json;
use crate::base::limits::config as limits;
use crate::config::check::looks_secret;
use crate::config::texts::{self, JsonFix};

/// Reads the text as JSON. The error has `file`, the line and the column, what is wrong and what to do, and
/// below that the line itself with a mark at the column.
pub fn parse(text: &str, file: &str) -> Result<Value, String> {
    json::from_str(text).map_err(|error| {
        let (line, column) = (error.line().max(1), error.column().max(1));
        let excerpt = excerpt(text.lines().nth(line - 1).unwrap_or_default(), column);
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        let fix = if error.is_eof() {
            JsonFix::Complete
        } else {
            find_fix(text, line, column, what)
        };
        texts::invalid_json(file, (line, column), what, fix, &excerpt)
    })
}

/// What is probably needed at the place of an error.
fn find_fix(text: &str, line: usize, column: usize, what: &str) -> JsonFix {
    let lines = text.split_inclusive('\n').take(line - 1);
    let start = lines.map(str::len).sum::<usize>() + column - 1;
    let start = text.floor_char_boundary(start);
    let (before, rest) = text.split_at(start);
    let last = before.trim_end();
    let last_line = 1 + last.matches('\n').count();
    for mark in ["//", "/*", "#"] {
        if rest.starts_with(mark) {
            return JsonFix::RemoveComment(mark, line);
        }
    }
    match rest.chars().next() {
        Some('}' | ']') if last.ends_with(',') => JsonFix::RemoveComma(last_line),
        Some('\'' | '‘' | '’' | '“' | '”' | '`') => JsonFix::UseDoubleQuotes,
        Some('"') if what.starts_with("expected `,`") => JsonFix::AddComma(last_line),
        _ => JsonFix::Unknown,
    }
}

/// A part of the line around the column (in bytes, from 1), and a mark below the column.
fn excerpt(line: &str, column: usize) -> String {
    let before = line
        .char_indices()
        .take_while(|(at, _)| at + 1 < column)
        .count();
    let from = before.saturating_sub(limits::EXCERPT_CHARS * 3 / 4);
    let safe = without_values(line);
    let chars = safe.chars().skip(from).take(limits::EXCERPT_CHARS);
    let shown: String = chars
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    let indent = " ".repeat(before - from);
    format!("  {shown}\n  {indent}^")
}

/// The line with asterisks instead of each longer word that is not the name of a member: it may be an API
/// key, and in a broken line it is unknown where a string begins.
fn without_values(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        let word_end = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_end.max(char.len_utf8()));
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

/// Words of a broken line are shown up to this length: `false` has five characters, a key has more.
const LONGEST_PLAIN: usize = 5;

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::super::scan;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_usual_mistakes_get_the_right_advice() {
        for (text, advice) in [
            (
                "{\n  // mine\n  \"a\": 1\n}",
                "f:2:3: JSON has no comments. Remove the // on line 2\n",
            ),
            (
                "{\"a\": 1, // b\n\"b\": 2}",
                "f:1:10: JSON has no comments. Remove the // on line 1\n",
            ),
            ("{\"a\": 1 /* b */}", "Remove the /* on line 1"),
            ("{\n# mine\n}", "Remove the # on line 2"),
            (
                "{\"a\": \"http://x\",\n}\n",
                "f:2:1: invalid JSON, trailing comma. Remove the last comma on line 1",
            ),
            ("{\"a\": [1,\n2,\n]}\n", "Remove the last comma on line 2"),
            ("{\"a\": 'x'}", "Use plain double quotes"),
            ("{“a”: 1}", "Use plain double quotes"),
            ("{\"a\": 1", "f:1:7: invalid JSON: the file ends too early."),
            (
                "\0\0",
                "f:1:1: invalid JSON, expected value. Correct this line,",
            ),
        ] {
            let error = parse(text, "f").unwrap_err();
            assert!(error.contains(advice), "{advice} is not in {error}");
        }
    }

    #[test]
    fn broken_json_is_shown_with_its_place_and_without_anything_secret() {
        let text = "{\n  \"agents\": {}\n  \"apiKey\": \"sk-canary-123\" }\n";
        let error = parse(text, "config.json").unwrap_err();
        assert_eq!(
            error,
            "config.json:3:3: invalid JSON, expected `,` or `}`. A comma seems to be missing at the end of line 2\n  \
               \"apiKey\": \"*************\" }\n    ^"
                .replace("\n  \"apiKey", "\n    \"apiKey")
        );
        let unopened = parse("{\"apiKey\": sk-canary-123\"}", "f").unwrap_err();
        assert!(!unopened.contains("canary"), "{unopened}");
        assert!(parse("", "f").is_err() && parse("{\n\n", "f").is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[{}\\[\\]\",:a1\\\\\u{e9}\n ]{0,40}") {
            scan::members(&text);
            if let Err(error) = parse(&text, "f") {
                prop_assert!(error.contains('^'));
            }
        }
    }
}
