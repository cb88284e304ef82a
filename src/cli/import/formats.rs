//! Reads the settings of other programs as a JSON value: JSON with comments, `.env`, and those parts of YAML and TOML
//! that such files use. Pure. What is not understood is left out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::base::json::{self, loose_from_str};
use crate::tools::skills::front_matter;

/// Levels of the tables of a TOML file.
const LEVELS: usize = 16;
/// Bytes of a list in a TOML file that has several lines.
const LIST_BYTES: usize = 16 * 1024;
/// Variables of a `.env` file.
const VARIABLES: usize = 500;

/// Reads JSON, also with comments, trailing commas and bare names, as OpenClaw allows. `None` when it is unreadable.
pub fn read_json(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Ok(value) = json::from_str(text) {
        return Some(value);
    }
    json::from_str(&loose_from_str(text).ok()?).ok()
}

/// The line at which JSON that is unreadable is wrong; `None` where that is uncertain, as behind comments.
pub fn wrong_line_of_json(text: &str) -> Option<usize> {
    let is_comment = |line: &str| {
        ["//", "/*"]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark))
    };
    if text.lines().any(is_comment) {
        return None;
    }
    let error = json::from_str::<Value>(text.trim_start_matches('\u{feff}')).err()?;
    Some(error.line()).filter(|line| *line > 0)
}

/// The same for YAML.
pub fn wrong_line_of_yaml(text: &str) -> Option<usize> {
    let faults = front_matter::parse(&fenced(text)).faults;
    let line = faults.first()?.line;
    // The fence is a line more, where it is not there already.
    let added = usize::from(!text.starts_with("---\n"));
    line.checked_sub(added).filter(|line| *line > 0)
}

/// YAML as a document that consists of it.
fn fenced(text: &str) -> String {
    format!("---\n{}\n---\n", text.trim_start_matches("---\n"))
}

/// Reads YAML. All scalars are strings.
pub fn read_yaml(text: &str) -> Option<Value> {
    fn plain(value: front_matter::Value) -> Value {
        match value {
            front_matter::Value::Text(text) => text.into(),
            front_matter::Value::List(values) => values.into_iter().map(plain).collect(),
            front_matter::Value::Map(members) => members
                .into_iter()
                .map(|member| (member.key, plain(member.value)))
                .collect(),
        }
    }
    let read = plain(front_matter::parse(&fenced(text)).front);
    read.as_object()
        .is_some_and(|map| !map.is_empty())
        .then_some(read)
}

/// Reads a `.env` file.
pub fn read_env(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| {
        let line = line.trim();
        let (name, value) = line
            .strip_prefix("export ")
            .unwrap_or(line)
            .split_once('=')?;
        let value = value.trim();
        let quoted = ['"', '\''].into_iter().find_map(|mark| {
            let inside = value.strip_prefix(mark)?;
            Some(inside.split_once(mark)?.0)
        });
        let value = quoted.unwrap_or_else(|| value.split(" #").next().unwrap_or_default().trim());
        let is_name = |name: &str| !name.is_empty() && !name.contains(['#', ' ']);
        is_name(name.trim()).then(|| (name.trim().to_owned(), value.to_owned()))
    });
    lines.take(VARIABLES).collect()
}

/// Reads TOML: tables, strings on one line, numbers, booleans, and lists of them.
pub fn read_toml(text: &str) -> Value {
    let mut root = Value::Object(Map::new());
    let mut table: Vec<String> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            // A list of tables is read as one table: nothing of such a list is taken.
            let name = rest.trim_start_matches('[').split(']').next();
            table = names(name.unwrap_or_default());
            continue;
        }
        let Some((key, value)) = split_member(line) else {
            continue;
        };
        let mut value = value.trim().to_owned();
        while value.starts_with('[') && !is_closed(&value) && value.len() < LIST_BYTES {
            let Some(more) = lines.next() else { break };
            value.push('\n');
            value.push_str(more);
        }
        let path: Vec<String> = table.iter().cloned().chain(names(key)).collect();
        if let Some(value) = scalar(&value).filter(|_| path.len() <= LEVELS) {
            put(&mut root, &path, value);
        }
    }
    root
}

/// Splits a line at its `=`, which may not be in a quoted name.
fn split_member(line: &str) -> Option<(&str, &str)> {
    let from = match line.strip_prefix('"') {
        Some(rest) => rest.find('"')? + 2,
        None => 0,
    };
    let at = from + line.get(from..)?.find('=')?;
    (!line.starts_with('#')).then_some((line.get(..at)?, line.get(at + 1..)?))
}

/// The names of a dotted path, some of which may be quoted.
fn names(path: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut is_quoted = false;
    for char in path.trim().chars() {
        match (char, names.last_mut()) {
            ('"' | '\'', _) => is_quoted = !is_quoted,
            ('.', _) if !is_quoted => names.push(String::new()),
            (char, Some(name)) if is_quoted || !char.is_whitespace() => name.push(char),
            _ => {}
        }
    }
    names
}

fn put(root: &mut Value, path: &[String], value: Value) {
    let mut at = root;
    for name in path {
        let Value::Object(members) = at else { return };
        at = members
            .entry(name.clone())
            .or_insert_with(|| Value::Object(Map::new()));
    }
    *at = value;
}

fn scalar(text: &str) -> Option<Value> {
    if let Some(rest) = text.strip_prefix('\'') {
        return Some(rest.split('\'').next()?.into());
    }
    if text.starts_with('{') {
        return None;
    }
    // Strings and lists are as in JSON, but for a comma at the end of a list and comments.
    let is_list = text.starts_with('[');
    let plain: Cow<'_, str> = if is_list {
        let lines = text.lines().map(without_comment);
        lines.collect::<Vec<_>>().join("\n").into()
    } else {
        text.into()
    };
    json::from_str(&json::loose_value(&plain).ok()?.json).ok()
}

/// A line without the comment at its end.
fn without_comment(line: &str) -> &str {
    let mut is_quoted = false;
    let at = line.find(|char| {
        is_quoted ^= char == '"';
        char == '#' && !is_quoted
    });
    at.map_or(line, |at| line.get(..at).unwrap_or(line))
}

/// Whether the list that a text begins with ends in it.
fn is_closed(text: &str) -> bool {
    text.lines().any(|line| {
        let mut outside = without_comment(line).split('"').step_by(2);
        outside.any(|part| part.contains(']'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_such_files_have_is_read() {
        let toml = "a = 1 # one\nlist = [\n  \"x\", # a ] in a comment\n  'y',\n]\n[t.\"a.b\"]\ns = \"it's # fine\"\nno = false\nin = {x = 1}\n";
        let expected = serde_json::json!({"a": 1, "list": ["x", "y"], "t": {"a.b": {"s": "it's # fine", "no": false}}});
        assert_eq!(read_toml(toml), expected);
        let env = read_env("# x\nexport A='one two' # c\nB=three # c\nC=\"\"\nnot a line\n");
        let read = |name: &str| env.get(name).map(String::as_str);
        assert_eq!(
            [read("A"), read("B"), read("C"), read("not a line")],
            [Some("one two"), Some("three"), Some(""), None]
        );
        let json = read_json("{a: 'b', // c\n \"d\": [1, 2,],}");
        assert_eq!(json, Some(serde_json::json!({"a": "b", "d": [1, 2]})));
        let yaml = read_yaml("a:\n  b: c # d\n  e:\n    - f\n");
        assert_eq!(yaml, Some(serde_json::json!({"a": {"b": "c", "e": ["f"]}})));
    }

    #[test]
    fn the_line_with_a_mistake_is_found() {
        let json = "{\n \"a\": {\"b\": 1},\n \"c\": {\"d\": true \"e\": 2}\n}\n";
        assert_eq!(read_json(json), None);
        assert_eq!(wrong_line_of_json(json), Some(3));
        assert_eq!(wrong_line_of_json(&format!("// mine\n{json}")), None);
        assert_eq!(wrong_line_of_json(&"[".repeat(1_000)), None, "too deep");
        assert_eq!(read_yaml("- a\n- b\n"), None);
        assert_eq!(wrong_line_of_yaml("- a\n- b\n"), Some(1));
        assert_eq!(wrong_line_of_yaml("---\n- a\n"), Some(2));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[\\[\\]{}\"'=#.:\\-\n a-c0-9é]{0,60}") {
            read_toml(&text);
            read_env(&text);
            let _ = (read_json(&text), read_yaml(&text));
            let _ = (wrong_line_of_json(&text), wrong_line_of_yaml(&text));
        }
    }
}
