//! The conversation that both formats' golden tests encode.

use crate::chat::{Entry, Image, Reasoning, Request, Role, ToolCall, ToolSpec};

/// Two tools.
pub const TOOLS: [ToolSpec; 2] = [
    ToolSpec {
        name: "read_file",
        description: "Reads a file.",
        parameters: r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#,
        read_only: true,
    },
    ToolSpec {
        name: "list_dir",
        description: "Lists a folder.",
        parameters: r#"{"type":"object","properties":{}}"#,
        read_only: true,
    },
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
        Entry::new(Role::User, "hello"),
        Entry::new(Role::Assistant, "Hello!"),
        Entry::new(Role::User, "[facts]"),
        Entry::new(Role::User, "what is \"cat.png\"?"),
        Entry {
            tool_calls: calls,
            reasoning,
            ..Entry::new(Role::Assistant, "I look.")
        },
        Entry {
            tool_call_id: Some("call_1".to_owned()),
            images: vec![image],
            ..Entry::new(Role::Tool, "an image")
        },
        Entry {
            tool_call_id: Some("call:2".to_owned()),
            ..Entry::new(Role::Tool, "")
        },
        Entry::new(Role::User, "quickly"),
    ]
}

/// A request with all of it.
pub fn request(entries: &[Entry]) -> Request<'_> {
    Request {
        system: "Be brief.",
        entries,
        stable: 2,
        tools: &TOOLS,
        max_tokens: 100,
        temperature: Some(0.5),
        reasoning_effort: None,
        stream: true,
    }
}
