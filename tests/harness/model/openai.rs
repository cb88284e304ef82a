//! Answers and errors in the format of OpenAI chat completions, and the checks of such requests.
//! <https://platform.openai.com/docs/api-reference/chat>

use serde_json::{Value, json};

use super::script::Answer;
use super::{INPUT_TOKENS, OUTPUT_TOKENS};

/// The answer as one object.
pub(super) fn whole(answer: &Answer, model: &Value, turn: usize) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text});
    if !answer.thinking.is_empty() {
        message["reasoning_content"] = json!(answer.thinking);
    }
    if !answer.calls.is_empty() {
        message["tool_calls"] = calls(answer, turn).into();
    }
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish(answer)}],
        "usage": usage(),
    })
}

/// The answer as server-sent events.
pub(super) fn events(answer: &Answer, model: &Value, turn: usize) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        event(&json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }))
    };
    let mut events = vec![chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    if !answer.thinking.is_empty() {
        events.push(chunk(
            json!({"reasoning_content": answer.thinking}),
            Value::Null,
        ));
    }
    for piece in answer.text_pieces() {
        events.push(chunk(json!({"content": piece}), Value::Null));
    }
    for (index, mut call) in calls(answer, turn).into_iter().enumerate() {
        let arguments = call["function"]["arguments"].take();
        let (head, tail) = halves(arguments.as_str().unwrap());
        call["index"] = json!(index);
        call["function"]["arguments"] = json!(head);
        events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        let rest = json!([{"index": index, "function": {"arguments": tail}}]);
        events.push(chunk(json!({"tool_calls": rest}), Value::Null));
    }
    events.push(chunk(json!({}), finish(answer).into()));
    events.push(event(&json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model,
        "choices": [], "usage": usage(),
    })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// An error's body.
pub(super) fn error(message: &str) -> Value {
    json!({"error": {"message": message, "type": "error", "param": null, "code": null}})
}

/// The body of the error for a conversation that is too long.
pub(super) fn overflow() -> Value {
    json!({"error": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages \
                    resulted in 9001 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded",
    }})
}

/// Why the API would refuse the request: calls and results must match.
pub(super) fn complaint(body: &Value) -> Option<String> {
    let messages = body["messages"].as_array().filter(|all| !all.is_empty());
    let Some(messages) = messages else {
        return Some("no messages".to_owned());
    };
    let mut open: Vec<&str> = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        match message["role"].as_str() {
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(found) = open.iter().position(|call| *call == id) else {
                    return Some(format!("message {place} answers no open call"));
                };
                open.swap_remove(found);
            }
            Some("system" | "developer" | "user" | "assistant") if open.is_empty() => {
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    if !call["function"]["arguments"].is_string() {
                        return Some(format!("message {place}: arguments are no string"));
                    }
                    open.push(call["id"].as_str().unwrap_or_default());
                }
            }
            Some(role) if !open.is_empty() => {
                return Some(format!(
                    "message {place} ({role}) comes before a call's result"
                ));
            }
            role => return Some(format!("message {place} has the role {role:?}")),
        }
    }
    (!open.is_empty()).then(|| "the last calls have no results".to_owned())
}

fn calls(answer: &Answer, turn: usize) -> Vec<Value> {
    let call = |(index, (name, arguments)): (usize, &(String, Value))| {
        json!({
            "id": format!("call_{turn}_{index}"), "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()},
        })
    };
    answer.calls.iter().enumerate().map(call).collect()
}

fn finish(answer: &Answer) -> &'static str {
    match answer {
        Answer { too_long: true, .. } => "length",
        Answer { calls, .. } if !calls.is_empty() => "tool_calls",
        _ => "stop",
    }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    })
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// A text in two halves, cut between characters.
pub(super) fn halves(text: &str) -> (&str, &str) {
    text.split_at(text.floor_char_boundary(text.len() / 2))
}
