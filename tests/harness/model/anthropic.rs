//! Answers and errors in the format of Anthropic messages, and the checks of such requests.
//! <https://docs.anthropic.com/en/api/messages>

use serde_json::{Value, json};

use super::openai::halves;
use super::script::Answer;
use super::{INPUT_TOKENS, OUTPUT_TOKENS};

/// The answer as one object.
pub(super) fn whole(answer: &Answer, model: &Value, turn: usize) -> Value {
    let mut content = Vec::new();
    if !answer.thinking.is_empty() {
        content.push(json!({
            "type": "thinking", "thinking": answer.thinking, "signature": "signed",
        }));
    }
    if !answer.text.is_empty() {
        content.push(json!({"type": "text", "text": answer.text}));
    }
    for (index, (name, arguments)) in answer.calls.iter().enumerate() {
        content.push(json!({
            "type": "tool_use", "id": id(turn, index), "name": name, "input": arguments,
        }));
    }
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model,
        "content": content, "stop_reason": stop(answer), "stop_sequence": null,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    })
}

/// The answer as server-sent events.
pub(super) fn events(answer: &Answer, model: &Value, turn: usize) -> Vec<String> {
    let mut events = vec![event(json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": 1},
    }}))];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        let mut place = |mut data: Value| {
            data["index"] = json!(index);
            events.push(event(data));
        };
        place(json!({"type": "content_block_start", "content_block": start}));
        for delta in deltas {
            place(json!({"type": "content_block_delta", "delta": delta}));
        }
        place(json!({"type": "content_block_stop"}));
        index += 1;
    };
    if !answer.thinking.is_empty() {
        let thought = json!({"type": "thinking_delta", "thinking": answer.thinking});
        let signature = json!({"type": "signature_delta", "signature": "signed"});
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        block(start, vec![thought, signature]);
    }
    if !answer.text.is_empty() {
        let delta = |piece: String| json!({"type": "text_delta", "text": piece});
        let deltas = answer.text_pieces().into_iter().map(delta).collect();
        block(json!({"type": "text", "text": ""}), deltas);
    }
    for (number, (name, arguments)) in answer.calls.iter().enumerate() {
        let arguments = arguments.to_string();
        let (head, tail) = halves(&arguments);
        let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
        let start = json!({"type": "tool_use", "id": id(turn, number), "name": name, "input": {}});
        block(start, vec![delta(head), delta(tail)]);
    }
    events.push(event(json!({
        "type": "message_delta", "delta": {"stop_reason": stop(answer), "stop_sequence": null},
        "usage": {"output_tokens": OUTPUT_TOKENS},
    })));
    events.push(event(json!({"type": "message_stop"})));
    events
}

/// An error's body.
pub(super) fn error(message: &str) -> Value {
    json!({"type": "error", "error": {"type": "error", "message": message}})
}

/// The body of the error for a conversation that is too long.
pub(super) fn overflow() -> Value {
    json!({"type": "error", "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 213000 tokens > 200000 maximum",
    }})
}

/// Why the API would refuse the request: roles alternate, each call has its result right after it.
pub(super) fn complaint(body: &Value) -> Option<String> {
    if !body["max_tokens"].is_u64() {
        return Some("max_tokens is missing".to_owned());
    }
    if body.to_string().matches(r#""cache_control":"#).count() > 4 {
        return Some("a maximum of 4 blocks with cache_control may be provided".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    for (place, message) in messages.iter().enumerate() {
        let expected = if place % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            return Some(format!("message {place} is not {expected}'s"));
        }
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        for block in blocks.iter().filter(|block| block["type"] == "tool_result") {
            let id = block["tool_use_id"].as_str().unwrap_or_default();
            let Some(found) = open.iter().position(|call| *call == id) else {
                return Some(format!("message {place} answers no open call"));
            };
            open.swap_remove(found);
        }
        if !open.is_empty() {
            return Some(format!("message {place} lacks a call's result"));
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        open.extend(calls.map(|block| block["id"].as_str().unwrap_or_default()));
    }
    messages
        .len()
        .is_multiple_of(2)
        .then(|| "the last message is not the user's".to_owned())
}

fn id(turn: usize, index: usize) -> String {
    format!("toolu_{turn}_{index}")
}

fn stop(answer: &Answer) -> &'static str {
    match answer {
        Answer { too_long: true, .. } => "max_tokens",
        Answer { calls, .. } if !calls.is_empty() => "tool_use",
        _ => "end_turn",
    }
}

fn event(data: Value) -> String {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap()
    )
}
