use super::*;
use crate::base::chat::Reasoning;
use proptest::prelude::*;

fn entry_of(line: &[u8]) -> Entry {
    match decode(line.strip_suffix(b"\n").unwrap()) {
        Some(Line::Entry(entry)) => entry,
        other => panic!("not an entry: {other:?}"),
    }
}

#[test]
fn an_entry_is_the_line_that_nanobot_reads() {
    let mut entry = Entry::new(EntryKind::Assistant, "I look.");
    entry.timestamp = DateTime::parse_from_rfc3339("2026-11-21T10:00:00+01:00").ok();
    entry.tool_calls.push(ToolCall {
        id: "call_1".into(),
        name: "read_file".into(),
        arguments: r#"{"path":"a"}"#.into(),
        signature: Some("opaque".into()),
    });
    entry.reasoning.push(Reasoning::Text("hidden".into()));
    let line = encode_entry(&entry);
    assert_eq!(
        std::str::from_utf8(&line).unwrap(),
        "{\"role\":\"assistant\",\"content\":\"I look.\",\"tool_calls\":[{\"id\":\"call_1\",\"type\":\"function\",\
         \"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"a\\\"}\"}}],\
         \"timestamp\":\"2026-11-21T10:00:00+01:00\"}\n"
    );
    let back = entry_of(&line);
    assert_eq!(back.tool_calls[0].arguments, entry.tool_calls[0].arguments);
    assert_eq!(back.timestamp, entry.timestamp);
    assert!(
        back.reasoning.is_empty() && back.tool_calls[0].signature.is_none(),
        "never saved"
    );
}

#[test]
fn sealed_reasoning_is_saved_with_its_calls_and_never_makes_a_line_too_long() {
    let sealed = |bytes: usize| {
        let mut entry = Entry::new(EntryKind::Assistant, "");
        entry.tool_calls = vec![ToolCall {
            id: "call_1".into(),
            name: "read_file".into(),
            arguments: "{}".into(),
            signature: None,
        }];
        entry.reasoning = vec![
            Reasoning::Text("hidden".into()),
            Reasoning::Sealed(Sealed {
                model: "openai/gpt-6.1-sol".into(),
                place: 0,
                item: format!(
                    r#"{{"type":"reasoning","encrypted_content":"{}"}}"#,
                    "x".repeat(bytes)
                ),
            }),
        ];
        entry
    };
    let entry = sealed(5_000);
    let back = entry_of(&encode_entry(&entry));
    assert_eq!(back.reasoning, entry.reasoning[1..]);
    assert!(
        !String::from_utf8(encode_entry(&entry))
            .unwrap()
            .contains("hidden")
    );
    let long = encode_entry(&sealed(CONTENT_BYTES));
    assert!(long.len() < CONTENT_BYTES && entry_of(&long).reasoning.is_empty());
    // Nothing goes on with a closing reply.
    let mut closing = sealed(10);
    closing.tool_calls.clear();
    assert!(entry_of(&encode_entry(&closing)).reasoning.is_empty());
}

#[test]
fn an_image_is_saved_by_its_path() {
    let mut entry = Entry::new(EntryKind::Tool, "a picture");
    entry.images.push(Image {
        media_type: "image/png".into(),
        base64: "AAAA".into(),
        path: "a.png".into(),
    });
    assert_eq!(
        entry_of(&encode_entry(&entry)).content,
        "a picture\n[image] a.png"
    );
}

#[test]
fn what_nanobot_wrote_is_read() {
    let first = br#"{"_type": "metadata", "key": "telegram:1", "created_at": "2026-02-01T10:00:00", "metadata": {}, "last_consolidated": 3}"#;
    let Some(Line::State(state)) = decode(first) else {
        panic!()
    };
    assert_eq!(state.key.as_deref(), Some("telegram:1"));
    let parts = br#"{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]}"#;
    let Some(Line::Entry(entry)) = decode(parts) else {
        panic!()
    };
    assert_eq!(entry.content, "look\n[image]");
    let empty = br#"{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "x", "arguments": "{}"}}]}"#;
    assert!(matches!(decode(empty), Some(Line::Entry(entry)) if entry.tool_calls.len() == 1));
}

#[test]
fn a_state_line_says_only_what_changed() {
    let time = DateTime::parse_from_rfc3339("2026-11-21T10:00:00Z").unwrap();
    let state = State {
        turn: Some(TurnEnd::Stopped),
        ..State::default()
    };
    let line = encode_state(&state, time);
    assert_eq!(
        std::str::from_utf8(&line).unwrap(),
        "{\"_type\":\"metadata\",\"turn\":\"stopped\",\"timestamp\":\"2026-11-21T10:00:00+00:00\"}\n"
    );
    assert_eq!(decode(line.trim_ascii_end()), Some(Line::State(state)));
    assert!(matches!(
        decode(br#"{"_type":"metadata","turn":"evaporated"}"#),
        Some(Line::State(State {
            turn: Some(TurnEnd::Other),
            ..
        }))
    ));
}

#[test]
fn a_huge_content_is_cut_and_says_so() {
    let back = entry_of(&encode_entry(&Entry::new(
        EntryKind::Tool,
        "ä".repeat(CONTENT_BYTES),
    )));
    assert!(
        back.content
            .ends_with(&format!("[cut here: {} bytes in all]", 2 * CONTENT_BYTES))
    );
    assert!(back.content.len() < CONTENT_BYTES + 100);
}

#[test]
fn a_note_is_told_from_a_persons_words() {
    for (kind, word) in [
        (EntryKind::Note, r#""kind":"note""#),
        (EntryKind::Summary, r#""kind":"summary""#),
    ] {
        let line = encode_entry(&Entry::new(kind, "hm"));
        let text = std::str::from_utf8(&line).unwrap();
        assert!(text.contains(word) && text.contains(r#""role":"user""#));
        assert_eq!(entry_of(&line).kind, kind);
    }
    let later = br#"{"role":"user","kind":"something new","content":"a"}"#;
    let odd = br#"{"role":"assistant","kind":"note","content":"a"}"#;
    assert_eq!(
        entry_of(&[later, &b"\n"[..]].concat()).kind,
        EntryKind::Person
    );
    assert_eq!(
        entry_of(&[odd, &b"\n"[..]].concat()).kind,
        EntryKind::Assistant
    );
}

#[test]
fn huge_arguments_are_cut_so_that_the_line_can_be_read() {
    for (count, argument) in [(1, "\0".repeat(2_000_000)), (32, "x".repeat(100_000))] {
        let mut entry = Entry::new(EntryKind::Assistant, "\0".repeat(CONTENT_BYTES));
        entry.tool_calls = (0..count)
            .map(|number| ToolCall {
                id: format!("call_{number}"),
                name: "write_file".into(),
                arguments: argument.clone(),
                signature: None,
            })
            .collect();
        let line = encode_entry(&entry);
        assert!(line.len() <= LINE_BYTES, "{}", line.len());
        let back = entry_of(&line);
        assert_eq!(back.tool_calls.len(), count);
        let last = &back.tool_calls[count - 1];
        assert_eq!(last.id, format!("call_{}", count - 1));
        let arguments: serde_json::Value = serde_json::from_str(&last.arguments).unwrap();
        assert!(arguments["cut"].is_string());
    }
}

proptest! {
    #[test]
    fn any_text_comes_back_and_stays_one_line(content in ".*", id in ".*") {
        let mut entry = Entry::new(EntryKind::Tool, content.clone());
        entry.tool_call_id = Some(id.clone());
        let line = encode_entry(&entry);
        prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let back = entry_of(&line);
        prop_assert_eq!(back.content, content);
        prop_assert_eq!(back.tool_call_id, Some(id));
    }

    #[test]
    fn any_bytes_are_survived(line in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&line);
    }
}
