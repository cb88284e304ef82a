use proptest::prelude::*;

use super::*;
use crate::base::clock::Stopwatch;
use crate::tools::skills::FILE_BYTES;

/// A value in a short form of its own.
fn show(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::List(items) => {
            format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
        }
        Value::Map(members) => {
            let member = |member: &Member| format!("{}={}", member.key, show(&member.value));
            format!(
                "{{{}}}",
                members.iter().map(member).collect::<Vec<_>>().join(" ")
            )
        }
    }
}

fn read(front: &str) -> (String, Vec<String>) {
    let text = format!("---\n{front}\n---\nbody");
    let document = parse(&text);
    assert_eq!(document.body, "body", "{front}");
    let faults = document
        .faults
        .iter()
        .map(|fault| format!("{}: {}", fault.line, fault.text));
    (show(&document.front), faults.collect())
}

#[test]
fn the_forms_of_yaml_that_front_matter_uses_are_read() {
    for (front, value) in [
        ("a: b", r#"{a="b"}"#),
        ("a: b # comment\n# another\n\nc: d#e", r#"{a="b" c="d#e"}"#),
        (
            "a: \"x: \\\"y\\\" \\u00fc \\ud83d\\udd27\\n\"",
            r#"{a="x: \"y\" ü 🔧\n"}"#,
        ),
        ("a: 'it''s: fine' # yes", r#"{a="it's: fine"}"#),
        ("\"a b\": c\n'd': e", r#"{a b="c" d="e"}"#),
        (
            "a: one\n  two\n\n  three\nb: x",
            r#"{a="one two\nthree" b="x"}"#,
        ),
        ("a:\n  one\n  two", r#"{a="one two"}"#),
        ("a: \"one\n  two\n\n  three\"", r#"{a="one two\nthree"}"#),
        (
            "a: |\n  one\n    two\n\n  # three\nb: x",
            r#"{a="one\n  two\n\n# three" b="x"}"#,
        ),
        (
            "a: >-\n  one\n  two\n\n  three\nb: x",
            r#"{a="one two\nthree" b="x"}"#,
        ),
        ("a: |2+ # keep\n  one", r#"{a="one"}"#),
        ("a: [b, 'c d', \"e,f\", ]", r#"{a=["b" "c d" "e,f"]}"#),
        ("a: [\n  b, # first\n  c\n]", r#"{a=["b" "c"]}"#),
        (
            "a:\n  - b\n  - c: d\n    e: f\n  -\n    - g\n    - h",
            r#"{a=["b" {c="d" e="f"} ["g" "h"]]}"#,
        ),
        ("a:\n- b\n- c\nd: e", r#"{a=["b" "c"] d="e"}"#),
        ("a:\n  b:\n    c: d\n  e: f", r#"{a={b={c="d"} e="f"}}"#),
        (
            "a: {b: {c: [d, e]}, \"f\":1, g}",
            r#"{a={b={c=["d" "e"]} f="1" g=""}}"#,
        ),
        (
            "a:\n  {\n    \"b\":\n      { \"c\": [\"d\"], },\n  }\ne: f",
            r#"{a={b={c=["d"]}} e="f"}"#,
        ),
        ("a:\n{\n\"b\": 1\n}\nc: d", r#"{a={b="1"} c="d"}"#),
        ("a: !!str b\nc: &x d", r#"{a="b" c="d"}"#),
        ("a:\nb: ~\nc: null\nd: ''", r#"{a="" b="" c="" d=""}"#),
        (
            "a: https://example.org/x?y=1#z",
            r#"{a="https://example.org/x?y=1#z"}"#,
        ),
        ("name: 天气\n描述: 好", r#"{name="天气" 描述="好"}"#),
        ("{\"a\": \"b\", \"c\": [1]}", r#"{a="b" c=["1"]}"#),
        ("a: b\r\nc: |\r\n  d\r\n  e\r", r#"{a="b" c="d\ne"}"#),
        ("", "{}"),
    ] {
        let expected = if front.is_empty() { 1 } else { 0 };
        let (found, faults) = read(front);
        assert_eq!(found, value, "{front}");
        assert_eq!(faults.len(), expected, "{front}: {faults:?}");
    }
}

#[test]
fn what_is_wrong_has_its_line_and_hides_nothing_else() {
    for (front, value, fault) in [
        (
            "a: b: c\nd: e",
            r#"{a="b: c" d="e"}"#,
            "2: put the value in quotes",
        ),
        (
            "a:b\nc: d",
            r#"{a="b" c="d"}"#,
            "2: a space is missing after `a:`",
        ),
        (
            "a: b\n\tc: d\ne: f",
            r#"{a="b c: d" e="f"}"#,
            "3: indent with spaces",
        ),
        ("a: b\na: c", r#"{a="c"}"#, "3: a is given twice"),
        (
            "a: {b: [c\nd: e",
            r#"{a={b=["c"]} d="e"}"#,
            "2: a closing bracket or quote",
        ),
        (
            "a: \"b\nc: d",
            r#"{a="b" c="d"}"#,
            "2: a closing bracket or quote",
        ),
        (
            "a: \"b\" and c\nd: e",
            r#"{a="\"b\" and c" d="e"}"#,
            "2: there is something behind",
        ),
        (
            "a: {b: c}}\nd: e",
            r#"{a={b="c"} d="e"}"#,
            "2: there is something behind",
        ),
        (
            "a: b\n- c\nd: e",
            r#"{a="b" d="e"}"#,
            "3: expected `key: value`",
        ),
        (
            "a: b\nwhat is this\nd: e",
            r#"{a="b" d="e"}"#,
            "3: expected `key: value`",
        ),
        (
            "  a: b\nd: e",
            r#"{a="b"}"#,
            "3: this line and what follows",
        ),
        ("just words", "{}", "2: expected `key: value`"),
        ("- a\n- b", "{}", "2: the front matter must consist of"),
        (
            "a: [b}, c]",
            r#"{a=["b" "c"]}"#,
            "2: this bracket or colon does not belong here",
        ),
    ] {
        let (found, faults) = read(front);
        assert_eq!(found, value, "{front}: {faults:?}");
        let named = faults.iter().any(|found| found.starts_with(fault));
        assert!(named, "{front}: {faults:?}");
    }
}

#[test]
fn the_marks_around_front_matter_may_be_untidy() {
    for text in [
        "---\na: b\n---\nbody",
        "\u{feff}---\na: b\n---\nbody",
        "---\r\na: b\r\n---\r\nbody",
        "---  \na: b\n---  \nbody",
        "---\na: b\n...\nbody",
        "\n\n---\na: b\n---\nbody",
        "<!-- by us -->\n---\na: b\n---\nbody",
        "---\na: b\n\nbody",
        "---\na: b\n# body",
    ] {
        let document = parse(text);
        assert_eq!(show(&document.front), r#"{a="b"}"#, "{text:?}");
        assert_eq!(
            document.body.trim_start_matches(['\n', '#', ' ']),
            "body",
            "{text:?}"
        );
    }
    let lines = |text| {
        let document = parse(text);
        let lines: Vec<usize> = document.faults.iter().map(|fault| fault.line).collect();
        lines
    };
    assert_eq!(lines("---\r\na: b\r\na: c\r\n---\r\n"), [3]);
    assert_eq!(lines("\n---\na: b\na: c\n---\n"), [1, 4]);
    assert_eq!(lines("---\na: b\n"), [1]);
    assert_eq!(lines("# Title"), [1]);
    assert_eq!(parse("# Title").body, "# Title");
}

#[test]
fn nesting_is_bounded() {
    for text in ["- ".repeat(500), "[".repeat(500), "{a: ".repeat(500)] {
        let (_, faults) = read(&format!("a:\n  {text}\nb: c"));
        assert!(
            faults
                .iter()
                .any(|fault| fault.contains("nested too deeply")),
            "{faults:?}"
        );
    }
    let deep: String = (0..200)
        .map(|level| format!("{}a:\n", " ".repeat(level)))
        .collect();
    assert!(read(&format!("{deep}\nb: c")).0.ends_with(r#"b="c"}"#));
}

#[test]
fn the_time_grows_with_the_length_only() {
    let units = [
        "- ",
        "- {}\n",
        "- [\n",
        "a: {\n",
        "a: 'x\n",
        "\n",
        " a: b\n",
        "\"\\u",
        "{a: ",
        "  - \"\n",
        "- - -\n",
        "a: >\n",
        ": ",
        "a: b\n b\n",
        "<!--",
        "é",
        "{a:[",
        "\t",
    ];
    let watch = Stopwatch::start();
    for unit in units {
        let text = format!("---\n{}", unit.repeat(FILE_BYTES / unit.len()));
        parse(&text);
        let text = format!("---\na:\n{}\n---\n", unit.repeat(FILE_BYTES / unit.len()));
        parse(&text);
    }
    assert!(watch.elapsed().as_secs() < 5, "{:?}", watch.elapsed());
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in r#"([a-z"'{}\[\]:,#|>&*!\\~\t\r\n -]|---\n|: |- |\n  |é|\\u|\u{feff}){0,120}"#) {
        let document = parse(&text);
        prop_assert!(matches!(document.front, Value::Map(_)));
        prop_assert!(document.faults.len() <= FAULTS);
        prop_assert!(text.ends_with(document.body));
        let inside = format!("---\n{text}\n---\n");
        parse(&inside);
        parse_value(&text);
    }

    #[test]
    fn what_json_writes_is_read_back(key in "[a-z]{1,5}", text in any::<String>(), other in "[ -~]{0,20}") {
        let json = serde_json::json!({ key.clone(): { "x": [text.clone(), other] } });
        let front = format!("metadata: {json}");
        let document = format!("---\n{front}\n---\n");
        let document = parse(&document);
        let found = document.front.get("metadata").unwrap();
        let list = &found.value.get(&key).unwrap().value.get("x").unwrap().value;
        let Value::List(items) = list else { panic!("{list:?}") };
        prop_assert_eq!(&items[0], &Value::Text(text));
    }
}
