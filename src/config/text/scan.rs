//! Finds each member of a JSON text.

use std::ops::Range;

use crate::base::json;

/// A member of an object in a JSON text. Members of objects in lists are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The names in its path, as they are written.
    pub path: Vec<String>,
    /// The line of its name, from 1.
    pub line: usize,
    /// Where its name begins, in bytes.
    pub start: usize,
    /// The range of its value, in bytes.
    pub value: Range<usize>,
}

/// Every member of a valid JSON text, in the order of the text; each comes before those within it.
pub fn members(text: &str) -> Vec<Member> {
    let mut scanner = Scanner {
        text,
        at: 0,
        line: 1,
        path: Vec::new(),
        members: Vec::new(),
    };
    scanner.value(true);
    scanner.members
}

/// Walks a text that serde_json has accepted, so the depth is bounded, and anything but the characters
/// that are looked for belongs to a number or a word.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    path: Vec<String>,
    members: Vec<Member>,
}

impl Scanner<'_> {
    /// Skips one value and returns its range.
    fn value(&mut self, recorded: bool) -> Range<usize> {
        self.space();
        let start = self.at;
        match self.next() {
            Some(b'{') => self.elements(b'}', |scanner| scanner.member(recorded)),
            Some(b'[') => self.elements(b']', |scanner| {
                scanner.value(false);
            }),
            Some(b'"') => self.rest_of_string(),
            _ => {
                let rest = &self.text.as_bytes()[self.at..];
                let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}') || is_space(*byte);
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
            }
        }
        start..self.at
    }

    /// Skips the elements of a list or an object, and its closing bracket.
    fn elements(&mut self, close: u8, mut element: impl FnMut(&mut Self)) {
        loop {
            self.space();
            match self.peek() {
                Some(byte) if byte == close => break,
                Some(b',') => self.at += 1,
                Some(_) => element(self),
                None => return,
            }
        }
        self.at += 1;
    }

    fn member(&mut self, recorded: bool) {
        let (start, line) = (self.at, self.line);
        self.next();
        self.rest_of_string();
        let name = json::from_str(&self.text[start..self.at]).unwrap_or_default();
        self.space();
        self.next();
        if !recorded {
            self.value(false);
            return;
        }
        self.path.push(name);
        let place = self.members.len();
        self.members.push(Member {
            path: self.path.clone(),
            line,
            start,
            value: 0..0,
        });
        let value = self.value(true);
        self.members[place].value = value;
        self.path.pop();
    }

    /// Skips a string, of which the opening quote has been read.
    fn rest_of_string(&mut self) {
        while let Some(byte) = self.next() {
            match byte {
                b'"' => return,
                b'\\' => drop(self.next()),
                _ => {}
            }
        }
    }

    /// Skips white space, the only part of a valid text with newlines.
    fn space(&mut self) {
        while let Some(byte) = self.peek().filter(|byte| is_space(*byte)) {
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn each_member_is_found_with_its_line_and_its_value() {
        let text =
            "{\n  \"a\": {\"b\\u0063\": [1, {\"no\": 2}], \"d\": \"}\\\"{\"},\n\n  \"e\" : null }";
        let found: Vec<_> = members(text)
            .into_iter()
            .map(|member| (member.path.join("/"), member.line, &text[member.value]))
            .collect();
        assert_eq!(
            found,
            [
                (
                    "a".to_owned(),
                    2,
                    "{\"b\\u0063\": [1, {\"no\": 2}], \"d\": \"}\\\"{\"}"
                ),
                ("a/bc".to_owned(), 2, "[1, {\"no\": 2}]"),
                ("a/d".to_owned(), 2, "\"}\\\"{\""),
                ("e".to_owned(), 4, "null"),
            ]
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],: \n]{0,6}".prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\"\\\\.]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_value_of_each_member_is_the_value_that_its_path_leads_to(value in json()) {
            let text = serde_json::to_string_pretty(&value).unwrap();
            for member in members(&text) {
                let found = member.path.iter().try_fold(&value, |value, name| value.get(name));
                let read: Value = serde_json::from_str(&text[member.value]).unwrap();
                prop_assert_eq!(found, Some(&read));
                prop_assert_eq!(text[..member.start].lines().count().max(1), member.line);
            }
        }
    }
}
