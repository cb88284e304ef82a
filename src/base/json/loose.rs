//! Reads values as models write them: JSON, or what a person takes for it.
//!
//! Comments, trailing commas, strings in other quotation marks, bare names, Python's words and tuples, a bracket
//! too many or too few: each has one meaning. What has none is refused rather than guessed at.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::check_depth;
use super::flaws::surrogate;
use crate::base::limits::json::LEVELS_MAX;

/// A value that a text begins with.
#[derive(Debug, PartialEq, Eq)]
pub struct Loose<'a> {
    /// The value as JSON.
    pub json: Cow<'a, str>,
    /// What follows it.
    pub rest: &'a str,
}

/// Why a text begins with no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The text ends within a string or before a value.
    Cut,
    /// It has no meaning that is certain.
    Unclear,
}

/// Marks around a string: JSON's, Python's, Gemma's, and those of word processors.
const QUOTES: [(&str, &str); 8] = [
    ("\"\"\"", "\"\"\""),
    ("'''", "'''"),
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("<escape>", "<escape>"),
    ("<|\"|>", "<|\"|>"),
];

/// Reads the value that a text begins with. Brackets that are open at the end of the text are closed there.
/// Round ones are those of a call's arguments, and within these of a list.
pub fn loose_value(text: &str) -> Result<Loose<'_>, Unreadable> {
    let text = text.trim_start();
    check_depth(text.as_bytes(), LEVELS_MAX).map_err(|_| Unreadable::Unclear)?;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    if let Some(Ok(value)) = values.next() {
        return Ok(Loose {
            json: Cow::Borrowed(value.get()),
            rest: &text[values.byte_offset()..],
        });
    }
    let mut reader = Reader {
        rest: text,
        json: String::with_capacity(text.len()),
        closers: Vec::new(),
        wants: Wants::Value,
    };
    while !reader.step()? {}
    Ok(Loose {
        json: Cow::Owned(reader.json),
        rest: reader.rest,
    })
}

/// Reads a text that is one such value. Closing brackets and separators behind it are too many.
pub fn loose_from_str(text: &str) -> Result<Cow<'_, str>, Unreadable> {
    let value = loose_value(text)?;
    match without_closers(value.rest) {
        "" => Ok(value.json),
        _ => Err(Unreadable::Unclear),
    }
}

/// A text without the closing brackets and separators that it begins with.
pub fn without_closers(text: &str) -> &str {
    text.trim_start_matches(|char: char| char.is_whitespace() || ",;)]}".contains(char))
}

/// What may come next. The innermost bracket says whether an item begins with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    /// A name or a value, or the closing bracket.
    Item,
    /// What parts a name from its value.
    Colon,
    /// A value.
    Value,
    /// A comma or the closing bracket.
    Comma,
}

struct Reader<'a> {
    rest: &'a str,
    json: String,
    /// For each open bracket the one that closes it, as written and in JSON.
    closers: Vec<(char, char)>,
    wants: Wants,
}

impl<'a> Reader<'a> {
    /// Reads one part; true at the end of the value.
    fn step(&mut self) -> Result<bool, Unreadable> {
        self.skip_blank();
        let Some(first) = self.rest.chars().next() else {
            if matches!(self.wants, Wants::Colon | Wants::Value) {
                return Err(Unreadable::Cut);
            }
            while let Some((_, closer)) = self.closers.pop() {
                self.json.push(closer);
            }
            return Ok(true);
        };
        let may_begin = matches!(self.wants, Wants::Item | Wants::Value);
        let quotes = QUOTES.iter().find(|(open, _)| self.rest.starts_with(open));
        if let Some((open, close)) = quotes.filter(|_| may_begin) {
            self.begin_item();
            let inside = &self.rest[open.len()..];
            self.rest = string(inside, close, &mut self.json).ok_or(Unreadable::Cut)?;
            return Ok(self.end_item());
        }
        match first {
            '(' | '[' | '{' if self.wants == Wants::Value || may_begin && !self.is_object() => {
                self.open(first)?;
                Ok(false)
            }
            ')' | ']' | '}' if matches!(self.wants, Wants::Item | Wants::Comma) => {
                self.advance(first);
                Ok(self.close(first))
            }
            ',' | ';' if matches!(self.wants, Wants::Item | Wants::Comma) => {
                self.advance(first);
                self.wants = Wants::Item;
                Ok(false)
            }
            ':' | '=' if self.wants == Wants::Colon => {
                self.advance(first);
                self.json.push(':');
                self.wants = Wants::Value;
                Ok(false)
            }
            _ if may_begin && (first.is_alphanumeric() || "_-+.".contains(first)) => {
                let is_over = |char: char| !(char.is_alphanumeric() || "_-+.".contains(char));
                let end = self.rest.find(is_over).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                let is_name = self.wants == Wants::Item && self.is_object();
                self.begin_item();
                self.json += &if is_name { quoted(word) } else { bare(word) };
                Ok(self.end_item())
            }
            _ => Err(Unreadable::Unclear),
        }
    }

    fn is_object(&self) -> bool {
        self.closers.last().is_some_and(|(_, json)| *json == '}')
    }

    fn advance(&mut self, first: char) {
        self.rest = &self.rest[first.len_utf8()..];
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let end = match self.rest.as_bytes() {
                [b'#', ..] | [b'/', b'/', ..] => self.rest.find('\n'),
                [b'/', b'*', ..] => self.rest.find("*/").map(|end| end + 2),
                _ => return,
            };
            self.rest = &self.rest[end.unwrap_or(self.rest.len())..];
        }
    }

    fn open(&mut self, first: char) -> Result<(), Unreadable> {
        self.advance(first);
        self.begin_item();
        let is_list = first == '[' || first == '(' && !self.closers.is_empty();
        let closer = match first {
            '(' => ')',
            '[' => ']',
            _ => '}',
        };
        if self.closers.len() >= LEVELS_MAX {
            return Err(Unreadable::Unclear);
        }
        let (open, close) = if is_list { ('[', ']') } else { ('{', '}') };
        self.json.push(open);
        self.closers.push((closer, close));
        self.wants = Wants::Item;
        Ok(())
    }

    /// Closes a bracket, and those within it that were left open; true at the end of the value.
    fn close(&mut self, first: char) -> bool {
        let place = self.closers.iter().rposition(|(one, _)| *one == first);
        // One that closes nothing is one too many.
        let Some(place) = place else { return false };
        for (_, closer) in self.closers.drain(place..).rev() {
            self.json.push(closer);
        }
        self.wants = Wants::Comma;
        self.closers.is_empty()
    }

    /// Writes the comma before an item that is not the first one.
    fn begin_item(&mut self) {
        let is_first = self.json.ends_with(['{', '[', ':']) || self.json.is_empty();
        if !is_first {
            self.json.push(',');
        }
    }

    /// A name or a value has ended; true at the end of the whole.
    fn end_item(&mut self) -> bool {
        let is_name = self.wants == Wants::Item && self.is_object();
        self.wants = if is_name { Wants::Colon } else { Wants::Comma };
        self.closers.is_empty()
    }
}

fn quoted(word: &str) -> String {
    serde_json::Value::from(word).to_string()
}

/// A bare word as JSON: one of Python's and JavaScript's, a number, or a string.
fn bare(word: &str) -> String {
    let word = word.trim_start_matches('+');
    match word {
        "true" | "True" | "TRUE" => return "true".to_owned(),
        "false" | "False" | "FALSE" => return "false".to_owned(),
        "null" | "None" | "undefined" | "NaN" | "nan" | "Infinity" | "-Infinity" | "inf"
        | "-inf" => return "null".to_owned(),
        _ => {}
    }
    let digits = word.replace('_', "");
    let hex = digits.strip_prefix("0x");
    let hex = hex.and_then(|digits| i64::from_str_radix(digits, 16).ok());
    let is_number = digits.starts_with(|char: char| char.is_ascii_digit() || "-.".contains(char));
    let number = digits.parse::<f64>().ok().filter(|_| is_number);
    match (hex, number) {
        (Some(number), _) => number.to_string(),
        _ if serde_json::from_str::<serde_json::Number>(&digits).is_ok() => digits,
        (None, Some(number)) if number.is_finite() => number.to_string(),
        _ => quoted(word),
    }
}

/// Writes the string that a text begins with, up to its closing mark, as JSON; returns what follows.
///
/// Escapes are JSON's and Python's
/// (<https://docs.python.org/3/reference/lexical_analysis.html#escape-sequences>). One that is none stays as it is.
fn string<'a>(text: &'a str, close: &str, json: &mut String) -> Option<&'a str> {
    let is_raw = close.starts_with('<');
    json.push('"');
    let mut rest = text;
    loop {
        if let Some(after) = rest.strip_prefix(close) {
            json.push('"');
            return Some(after);
        }
        let char = rest.chars().next()?;
        rest = &rest[char.len_utf8()..];
        match char {
            '\\' if !is_raw => rest = escape(rest, json)?,
            '"' | '\\' => json.extend(['\\', char]),
            '\0'..' ' => *json += &format!("\\u{:04x}", u32::from(char)),
            _ => json.push(char),
        }
    }
}

/// Writes what a backslash before a text stands for; returns what follows.
fn escape<'a>(text: &'a str, json: &mut String) -> Option<&'a str> {
    let char = text.chars().next()?;
    let rest = &text[char.len_utf8()..];
    let code = |digits: usize| {
        let code = u32::from_str_radix(rest.get(..digits)?, 16).ok()?;
        Some((char::from_u32(code)?, &rest[digits..]))
    };
    let one = match char {
        '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
            json.extend(['\\', char]);
            return Some(rest);
        }
        // A pair stays one; half of it is no character.
        'u' if is_surrogate(text) => {
            let is_pair =
                rest.get(4..).is_some_and(|low| low.starts_with('\\')) && is_pair(rest.as_bytes());
            let length = if is_pair { 10 } else { 4 };
            if is_pair {
                *json += &format!("\\u{}", &rest[..length])
            } else {
                json.push(char::REPLACEMENT_CHARACTER)
            }
            return Some(&rest[length..]);
        }
        '\n' => return Some(rest),
        '\'' | '`' => Some((char, rest)),
        'a' => Some(('\u{7}', rest)),
        'v' => Some(('\u{b}', rest)),
        '0' => Some(('\0', rest)),
        'x' => code(2),
        'u' => code(4),
        'U' => code(8),
        _ => None,
    };
    match one {
        Some((one, rest)) => {
            let written = quoted(one.encode_utf8(&mut [0; 4]));
            *json += &written[1..written.len() - 1];
            Some(rest)
        }
        None => {
            *json += "\\\\";
            Some(text)
        }
    }
}

/// Whether a text begins with `ud83d` or the like.
fn is_surrogate(text: &str) -> bool {
    surrogate(format!("\\{}", text.get(..5).unwrap_or_default()).as_bytes()).is_some()
}

/// Whether a text begins with `d83d\ude00` or the like: both halves, in their order.
fn is_pair(text: &[u8]) -> bool {
    let is_high = matches!(text, [_, b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]);
    let low = text.get(4..).and_then(surrogate);
    is_high && low.is_some_and(|unit| unit >= 0xDC00)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn read(text: &str) -> Option<Value> {
        let json = loose_from_str(text).ok()?;
        Some(serde_json::from_str(&json).unwrap_or_else(|error| panic!("{text}: {json}: {error}")))
    }

    #[test]
    fn objects_are_read_as_people_read_them() {
        let plain = json!({"path": "a.md", "limit": 3});
        for nearly in [
            r#"{"path": "a.md", "limit": 3,}"#,
            r#"{"path": "a.md",, "limit": 3 , }"#,
            r#"{'path': 'a.md', 'limit': 3}"#,
            r#"{path: "a.md", limit: 3}"#,
            r#"{“path”: “a.md”, “limit”: 3}"#,
            r#"(path="a.md", limit=3)"#,
            "{path:<escape>a.md<escape>,limit:3}",
            r#"{path:<|"|>a.md<|"|>,limit:3}"#,
            r#"{"path": """a.md""", "limit": 0x3}"#,
            "{\"path\": \"a.md\", // where\n \"limit\": 3 /* lines */ # few\n}",
            r#"{"path": "a.md", "limit": 3}}"#,
            r#"{"path": "a.md", "limit": 3"#,
            r#"{"path": "a.md", "limit": 3]}"#,
            r#"{"path": "a.md", "limit": +3};"#,
        ] {
            assert_eq!(read(nearly), Some(plain.clone()), "{nearly}");
        }
        for (text, value) in [
            (r#"{"a": [1, {"b": [2}]}"#, json!({"a": [1, {"b": [2]}]})),
            (
                "{'a': True, 'b': False, 'c': None}",
                json!({"a": true, "b": false, "c": null}),
            ),
            (
                "{\"a\": NaN, \"b\": -Infinity}",
                json!({"a": null, "b": null}),
            ),
            ("(a=(1, 'x'), b=[])", json!({"a": [1, "x"], "b": []})),
            (
                "{a: .5, b: 1_000, c: 2026-01-02, d: x-1}",
                json!({"a": 0.5, "b": 1000, "c": "2026-01-02", "d": "x-1"}),
            ),
            (
                "{\"a\": \"one\ntwo\t\\d+ \\' \\q\"}",
                json!({"a": "one\ntwo\t\\d+ ' \\q"}),
            ),
            (
                "{'a': 'say \"hi\", it\\'s'}",
                json!({"a": "say \"hi\", it's"}),
            ),
            ("{\"a\": \"it's {[(\",}", json!({"a": "it's {[("})),
            ("'it'", json!("it")),
            ("True", json!(true)),
            ("[1, 2,]", json!([1, 2])),
        ] {
            assert_eq!(read(text), Some(value), "{text}");
        }
    }

    #[test]
    fn what_has_no_certain_meaning_is_refused() {
        for text in [
            r#"{"a": "say "hi" now"}"#,
            r#"{"a": 1 "b": 2}"#,
            r#"{"a"}"#,
            r#"{"a": }"#,
            "{'a': 'it's'}",
            "{a b: 1}",
            "{a: one two}",
            "(\"a\")",
            "{} {}",
            "a = b",
            "{a: ls()}",
            "",
            &"[".repeat(100_000),
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        for cut in [
            r#"{"a": "b"#,
            r#"{"a": "#,
            r#"{"a"#,
            r#"{"a""#,
            "{'a': 'b\\'}",
        ] {
            assert_eq!(loose_value(cut), Err(Unreadable::Cut), "{cut}");
        }
    }

    #[test]
    fn escapes_are_those_of_json_and_of_python() {
        for (text, meant) in [
            (r#"'a\\b\u00e9\x41'"#, "a\\béA"),
            (r#"'\U0001f600 \0 \' \" \/'"#, "😀 \0 ' \" /"),
            (r#"'\d+ \u12 \xg \é'"#, r"\d+ \u12 \xg \é"),
            (r#"'\ud83d\é'"#, "\u{fffd}\\é"),
            (r#"'\ud83d\ude00 \ude00\ud83d'"#, "😀 \u{fffd}\u{fffd}"),
            (r#"'\uD83D\uDE00'"#, "😀"),
            ("'one \\\ntwo'", "one two"),
        ] {
            assert_eq!(read(text), Some(meant.into()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_json(text in r#"[{}\[\](),:=;"'`\\ \n#/*“”0-9a-eu.+_-]{0,60}"#) {
            let _ = read(&text);
            if let Ok(value) = loose_value(&text) {
                prop_assert!(serde_json::from_str::<Value>(&value.json).is_ok(), "{}", value.json);
            }
        }

        #[test]
        fn json_stays_as_it_is(text in any::<String>(), number in any::<i64>()) {
            let written = json!({"a": text, "b": [number, null, {"c": true}]}).to_string();
            prop_assert_eq!(&*loose_from_str(&written).unwrap(), &written);
            // The same with a flaw, so that it is read letter by letter.
            let flawed = format!("{},}}", &written[..written.len() - 1]);
            prop_assert_eq!(&*loose_from_str(&flawed).unwrap(), &written);
        }
    }
}
