//! The conversation that both formats' golden tests encode.

use crate::base::chat::{Entry, EntryKind, Image, Reasoning, Request, ToolCall, ToolSpec};

/// Two tools.
pub static TOOLS: [ToolSpec; 2] = [
    ToolSpec::fixed(
        "read_file",
        "Reads a file.",
        r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#,
    ),
    ToolSpec::fixed(
        "list_dir",
        "Lists a folder.",
        r#"{"type":"object","properties":{}}"#,
    ),
];

/// A call with everything that may go with it.
pub fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        signature: None,
    }
}

/// An old turn; then a question, two calls, their results (one with an image), and a word more.
pub fn conversation(reasoning: Vec<Reasoning>) -> Vec<Entry> {
    let calls = vec![
        call("call_1", "read_file", r#"{"path":"cat.png"}"#),
        call("call:2", "list_dir", ""),
    ];
    let image = Image {
        media_type: "image/png".to_owned(),
        base64: "AAAA".to_owned(),
        path: "cat.png".to_owned(),
    };
    vec![
        Entry::new(EntryKind::Person, "hello"),
        Entry::new(EntryKind::Assistant, "Hello!"),
        Entry::new(EntryKind::Note, "[facts]"),
        Entry::new(EntryKind::Person, "what is \"cat.png\"?"),
        Entry {
            tool_calls: calls,
            reasoning,
            ..Entry::new(EntryKind::Assistant, "I look.")
        },
        Entry {
            tool_call_id: Some("call_1".to_owned()),
            images: vec![image],
            ..Entry::new(EntryKind::Tool, "an image")
        },
        Entry {
            tool_call_id: Some("call:2".to_owned()),
            ..Entry::new(EntryKind::Tool, "")
        },
        Entry::new(EntryKind::Person, "quickly"),
    ]
}

/// A request with all of it.
pub fn request(entries: &[Entry]) -> Request<'_> {
    Request {
        system: "Be brief.",
        entries: entries.iter().collect::<Vec<_>>().leak(),
        stable: 2,
        tools: &TOOLS,
        max_tokens: 100,
        thoughts_max: u32::MAX,
        temperature: Some(0.5),
        reasoning_effort: None,
        stream: true,
        cache_key: None,
    }
}
