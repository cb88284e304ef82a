//! What servers send: dovecot, Gmail and Exchange, and everything else.

use proptest::prelude::*;

use super::structure::{Content, content};
use super::value::{Response, Status, Value, literal};
use crate::base::message::Media;

fn parse(text: &str) -> Response {
    Response::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn answers_are_told_apart() {
    assert_eq!(parse("+ OK"), Response::Continue);
    let status = parse("a1 OK [READ-WRITE] Select completed (0.001 secs).");
    let Response::Status {
        tag, status, code, ..
    } = status
    else {
        panic!("{status:?}")
    };
    assert_eq!(
        (tag.as_str(), status, code.as_str()),
        ("a1", Status::Ok, "READ-WRITE")
    );
    assert!(
        matches!(parse("* BYE see you"), Response::Status { status: Status::Bye, tag, .. } if tag.is_empty())
    );
    assert!(
        matches!(parse("* 3 EXISTS"), Response::Numbered { number: 3, kind, value: None } if kind == "EXISTS")
    );
    let Response::Data { kind, values } = parse("* SEARCH 4 8 15") else {
        panic!()
    };
    assert_eq!(kind, "SEARCH");
    assert_eq!(
        values.iter().filter_map(Value::number).collect::<Vec<_>>(),
        [4, 8, 15]
    );
    assert!(matches!(parse("* SEARCH"), Response::Data { values, .. } if values.is_empty()));
    for text in [
        "",
        "*",
        "* 3 FETCH (",
        "* 3 FETCH (\"a",
        "x y z",
        "* 3 FETCH (BODY[1] {9}\r\nabc)",
    ] {
        assert_eq!(Response::parse(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn a_fetched_mail_has_its_literals_within() {
    let text = "* 12 FETCH (UID 7 RFC822.SIZE 100 BODY[HEADER]<0> {10}\r\nA: b (c)\r\n BODY[1] \"x \\\"y\\\"\" FLAGS (\\Seen))";
    let Response::Numbered {
        number: 12,
        value: Some(value),
        ..
    } = parse(text)
    else {
        panic!()
    };
    assert_eq!(value.named("uid").and_then(Value::number), Some(7));
    let header = value.named("BODY[HEADER]").and_then(Value::bytes);
    assert_eq!(header, Some(&b"A: b (c)\r\n"[..]));
    assert_eq!(
        value.named("BODY[1]").and_then(Value::text).as_deref(),
        Some("x \"y\"")
    );
    assert_eq!(value.named("BODY[2]"), None);
}

#[test]
fn a_line_announces_its_literal() {
    assert_eq!(literal(b"* 1 FETCH (BODY[1] {12}"), Some(12));
    for line in [
        "",
        "{}",
        "{a}",
        "{12",
        "12}",
        "{-1}",
        "{+1}",
        "{99999999999999999999}",
    ] {
        assert_eq!(literal(line.as_bytes()), None, "{line}");
    }
}

fn structure(text: &str) -> Content {
    let whole = format!("* 1 FETCH (BODYSTRUCTURE {text})");
    let Response::Numbered {
        value: Some(value), ..
    } = parse(&whole)
    else {
        panic!("{whole}")
    };
    content(value.named("BODYSTRUCTURE").unwrap())
}

fn sections(content: &Content) -> (Vec<&str>, Vec<&str>) {
    (
        content
            .texts
            .iter()
            .map(|part| part.section.as_str())
            .collect(),
        content
            .files
            .iter()
            .map(|part| part.section.as_str())
            .collect(),
    )
}

const PLAIN: &str = r#"("text" "plain" ("charset" "utf-8" "format" "flowed") NIL NIL "quoted-printable" 120 3 NIL NIL NIL NIL)"#;
const HTML: &str = r#"("TEXT" "HTML" ("CHARSET" "UTF-8") NIL NIL "BASE64" 800 10 NIL NIL NIL NIL)"#;
const PNG: &str = r#"("image" "png" ("name" "a.png") "<i@x>" NIL "base64" 7800 NIL ("inline" ("filename" "a.png")) NIL NIL)"#;

#[test]
fn the_text_is_found_in_every_usual_structure() {
    for (text, texts, files) in [
        (PLAIN.to_owned(), vec!["1"], vec![]),
        (HTML.to_owned(), vec!["1"], vec![]),
        (PNG.to_owned(), vec![], vec!["1"]),
        (
            format!(r#"({PLAIN}{HTML} "alternative" ("boundary" "x") NIL NIL)"#),
            vec!["1"],
            vec![],
        ),
        (
            format!(r#"({HTML}{PLAIN} "ALTERNATIVE")"#),
            vec!["2"],
            vec![],
        ),
        (format!(r#"({PLAIN}{PNG} "mixed")"#), vec!["1"], vec!["2"]),
        (
            format!(r#"(({PLAIN}{HTML} "alternative"){PNG}{PNG} "mixed")"#),
            vec!["1.1"],
            vec!["2", "3"],
        ),
        (
            format!(r#"(({PLAIN}({HTML}{PNG} "related") "alternative"){PNG} "mixed")"#),
            vec!["1.1"],
            vec!["1.2.2", "2"],
        ),
        (format!(r#"({HTML}{PNG} "related")"#), vec!["1"], vec!["2"]),
        // Apple's mail program cuts the text at each picture.
        (
            format!(r#"({PLAIN}{PNG}{PLAIN} "mixed")"#),
            vec!["1", "3"],
            vec!["2"],
        ),
        (
            format!(
                r#"({PLAIN}("application" "pgp-signature" ("name" "s.asc") NIL NIL "7bit" 300 NIL NIL NIL NIL) "signed")"#
            ),
            vec!["1"],
            vec![],
        ),
        ("()".to_owned(), vec![], vec![]),
        ("NIL".to_owned(), vec![], vec![]),
    ] {
        let content = structure(&text);
        assert_eq!(sections(&content), (texts, files), "{text}");
    }
}

#[test]
fn a_part_knows_its_name_kind_and_size() {
    let content = structure(PNG);
    let file = &content.files[0];
    assert_eq!(
        (file.name().as_str(), file.media()),
        ("a.png", Media::Photo)
    );
    assert_eq!(file.decoded_bytes(), 5700);
    let text = &structure(PLAIN).texts[0];
    assert_eq!(
        (text.charset().as_str(), text.flow()),
        ("utf-8", Some(false))
    );
    let forwarded = r#"("message" "rfc822" NIL NIL NIL "7bit" 500 ("d" "s" NIL NIL NIL NIL NIL NIL NIL NIL) ("text" "plain" NIL NIL NIL "7bit" 5 1) 9 NIL ("attachment" NIL) NIL NIL)"#;
    let content = structure(forwarded);
    assert_eq!(content.files[0].name(), "mail.eml");
    let attached = r#"("text" "plain" NIL NIL NIL "7bit" 5 1 NIL ("attachment" ("filename*" "utf-8''%C3%BC.txt")) NIL NIL)"#;
    let content = structure(attached);
    assert_eq!(content.files[0].name(), "ü.txt");
    assert!(content.texts.is_empty());
}

#[test]
fn deep_and_wide_structures_are_bounded() {
    let deep = format!("{}{}", "(".repeat(1000), ")".repeat(1000));
    let whole = format!("* 1 FETCH (BODYSTRUCTURE {deep})");
    assert_eq!(Response::parse(whole.as_bytes()), None);
    let wide = format!(r#"({} "mixed")"#, PNG.repeat(200));
    assert!(structure(&wide).files.len() < 100);
}

proptest! {
    #[test]
    fn anything_is_an_answer_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Response::parse(&bytes);
        let _ = Response::parse(&[b"* 1 FETCH (", bytes.as_slice()].concat());
        let _ = literal(&bytes);
    }

    #[test]
    fn any_structure_has_parts_or_none(text in r#"([()]|NIL|"[a-z]{0,4}"|[0-9]{1,3}| |\{3\}\r\nabc){0,60}"#) {
        let whole = format!("* 1 FETCH (BODYSTRUCTURE ({text}))");
        if let Some(Response::Numbered { value: Some(value), .. }) = Response::parse(whole.as_bytes())
            && let Some(found) = value.named("BODYSTRUCTURE")
        {
            for part in content(found).files {
                prop_assert!(!part.name().is_empty());
            }
        }
    }
}

#[test]
fn the_texts_of_an_attached_mail_are_found() {
    let envelope = r#"("Mon, 2 Nov 2026 08:00:00 +0100" "=?utf-8?Q?W=C3=A4sche?=" (("Ana" NIL "ana" "example.net")) NIL NIL NIL NIL NIL NIL NIL)"#;
    let mail = |body: &str| {
        format!(
            r#"("message" "rfc822" NIL NIL NIL "7bit" 900 {envelope} {body} 30 NIL ("attachment" ("filename" "x.eml")) NIL NIL)"#
        )
    };
    let line = "[Attached mail: Ana, ana@example.net, Mon, 2 Nov 2026 08:00:00 +0100, Wäsche]";
    for (body, expected) in [
        (PLAIN.to_owned(), "2.1"),
        (
            format!(r#"({PLAIN}{HTML} "alternative" NIL NIL NIL)"#),
            "2.1",
        ),
        (format!(r#"({PNG}{PLAIN} "mixed" NIL NIL NIL)"#), "2.2"),
    ] {
        let whole = format!(r#"({PLAIN}{} "mixed" NIL NIL NIL)"#, mail(&body));
        let content = structure(&whole);
        let attached: Vec<_> = content
            .attached
            .iter()
            .map(|(line, part)| (&**line, &*part.section))
            .collect();
        assert_eq!(attached, [(line, expected)]);
        assert_eq!(sections(&content), (vec!["1"], vec!["2"]));
    }
    let nested = mail(&format!(r#"({PLAIN}{} "mixed" NIL NIL NIL)"#, mail(PLAIN)));
    let content = structure(&nested);
    let attached: Vec<_> = content
        .attached
        .iter()
        .map(|(_, part)| &*part.section)
        .collect();
    assert_eq!(attached, ["1.1", "1.2.1"]);
    assert_eq!(sections(&content), (vec![], vec!["1"]));
}
