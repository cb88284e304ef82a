//! Answers in the format of OpenAI's Responses API, and the checks of such requests; and what OpenAI's two
//! APIs refuse to its newer models. <https://developers.openai.com/api/reference/resources/responses>

use serde_json::{Value, json};

use super::openai::halves;
use super::script::{Answer, Step, error};
use super::{Format, INPUT_TOKENS, OUTPUT_TOKENS, Request};

/// What the fake has thought, encrypted; the first model to see it is the only one that may have it back.
const SEALED: &str = "sealed for ";

/// The answer as one object.
pub(super) fn whole(answer: &Answer, model: &Value, turn: usize) -> Value {
    let status = match answer.too_long {
        true => "incomplete",
        false => "completed",
    };
    response(model, status, answer, output(answer, model, turn))
}

/// The answer as server-sent events.
pub(super) fn events(answer: &Answer, model: &Value, turn: usize) -> Vec<String> {
    let output = output(answer, model, turn);
    let mut events = Vec::new();
    let mut tell = |kind: &str, mut data: Value| {
        data["type"] = json!(format!("response.{kind}"));
        data["sequence_number"] = json!(events.len());
        events.push(format!("event: response.{kind}\ndata: {data}\n\n"));
    };
    for kind in ["created", "in_progress"] {
        tell(
            kind,
            json!({"response": response(model, "in_progress", &Answer::default(), Vec::new())}),
        );
    }
    for (index, item) in output.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = json!("in_progress");
        for (name, nothing) in [
            ("content", json!([])),
            ("arguments", json!("")),
            ("encrypted_content", json!("half")),
        ] {
            if begun.get(name).is_some_and(|value| !value.is_null()) {
                begun[name] = nothing;
            }
        }
        let place = |mut data: Value| {
            (data["output_index"], data["item_id"]) = (json!(index), item["id"].clone());
            data
        };
        tell(
            "output_item.added",
            json!({"output_index": index, "item": begun}),
        );
        match item["type"].as_str().unwrap() {
            "message" => {
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                tell(
                    "content_part.added",
                    place(json!({"content_index": 0, "part": part})),
                );
                for piece in answer.text_pieces() {
                    let delta = json!({"content_index": 0, "delta": piece, "logprobs": []});
                    tell("output_text.delta", place(delta));
                }
                let done = json!({"content_index": 0, "text": answer.text, "logprobs": []});
                tell("output_text.done", place(done));
                let part = &item["content"][0];
                tell(
                    "content_part.done",
                    place(json!({"content_index": 0, "part": part})),
                );
            }
            "function_call" => {
                let (head, tail) = halves(item["arguments"].as_str().unwrap());
                for piece in [head, tail] {
                    tell(
                        "function_call_arguments.delta",
                        place(json!({"delta": piece})),
                    );
                }
                let done = json!({"arguments": item["arguments"], "name": item["name"]});
                tell("function_call_arguments.done", place(done));
            }
            _ => {}
        }
        tell(
            "output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }
    let whole = whole(answer, model, turn);
    let kind = whole["status"].as_str().unwrap().to_owned();
    tell(&kind, json!({ "response": whole }));
    events
}

fn output(answer: &Answer, model: &Value, turn: usize) -> Vec<Value> {
    let mut output = Vec::new();
    if !answer.thinking.is_empty() {
        output.push(json!({
            "type": "reasoning", "id": format!("rs_{turn}"), "summary": [],
            "encrypted_content": format!("{SEALED}{}: {}", model.as_str().unwrap_or_default(), answer.thinking),
        }));
    }
    if !answer.text.is_empty() {
        output.push(json!({
            "type": "message", "id": format!("msg_{turn}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}],
        }));
    }
    let calls = answer.calls.iter().enumerate();
    output.extend(calls.map(|(index, (name, arguments))| {
        json!({
            "type": "function_call", "id": format!("fc_{turn}_{index}"), "status": "completed",
            "call_id": format!("call_{turn}_{index}"), "name": name, "arguments": arguments.to_string(),
        })
    }));
    output
}

fn response(model: &Value, status: &str, answer: &Answer, output: Vec<Value>) -> Value {
    let reason = answer
        .too_long
        .then(|| json!({"reason": "max_output_tokens"}));
    let usage = json!({
        "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    });
    json!({
        "id": "resp_1", "object": "response", "created_at": 0, "model": model, "status": status,
        "error": null, "incomplete_details": reason, "instructions": null, "metadata": {},
        "output": output, "parallel_tool_calls": true, "temperature": null, "tool_choice": "auto",
        "tools": [], "top_p": null, "usage": (status != "in_progress").then_some(usage),
    })
}

/// Why the API would refuse the request: calls and results match, something follows each reasoning, and
/// reasoning comes back unchanged to the model it is sealed for.
pub(super) fn complaint(body: &Value) -> Option<String> {
    if body["store"] != false {
        return Some("the conversation would be stored".to_owned());
    }
    let items = body["input"].as_array().filter(|all| !all.is_empty());
    let Some(items) = items else {
        return Some("no input".to_owned());
    };
    for tool in body["tools"].as_array().into_iter().flatten() {
        if tool["type"] != "function" || !tool["name"].is_string() || !tool["strict"].is_boolean() {
            return Some(format!("tools: {tool}"));
        }
    }
    let mut open: Vec<&str> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let call = item["call_id"].as_str().unwrap_or_default();
        let kind = item["type"].as_str().unwrap_or("message");
        if !open.is_empty() && kind == "message" {
            return Some(format!(
                "No tool output found for function call {}.",
                open[0]
            ));
        }
        match kind {
            "function_call" if item["arguments"].is_string() => open.push(call),
            "function_call_output" => {
                let Some(found) = open.iter().position(|id| *id == call) else {
                    return Some(format!(
                        "No tool call found for function call output with call_id {call}."
                    ));
                };
                open.swap_remove(found);
            }
            "reasoning" => {
                let id = &item["id"];
                let next = items.get(place + 1).unwrap_or(&Value::Null);
                if next["type"] != "function_call" && next["role"] != "assistant" {
                    return Some(format!(
                        "Item {id} of type 'reasoning' was provided without its required following item."
                    ));
                }
                let own = format!("{SEALED}{}:", body["model"].as_str().unwrap_or_default());
                let sealed = item["encrypted_content"].as_str().unwrap_or_default();
                if !item["summary"].is_array()
                    || item.get("status").is_some()
                    || !sealed.starts_with(&own)
                {
                    return Some(format!(
                        "The encrypted content for item {id} could not be verified."
                    ));
                }
            }
            "message" if item["content"].is_string() || item["content"].is_array() => {}
            kind => return Some(format!("input[{place}]: {kind}")),
        }
    }
    open.first()
        .map(|id| format!("No tool output found for function call {id}."))
}

/// What OpenAI refuses to the newer models, as its error.
pub(super) fn refusal(request: &Request) -> Option<Step> {
    let body = &request.body;
    let model = body["model"].as_str().unwrap_or_default();
    let version: f64 = model
        .strip_prefix("gpt-")?
        .split('-')
        .next()?
        .parse()
        .ok()?;
    let effort = match request.format {
        Format::Responses => &body["reasoning"]["effort"],
        _ => &body["reasoning_effort"],
    };
    let is_astra = model.contains("astra");
    if is_astra && effort == "none" {
        return Some(error(
            400,
            &format!(
                "Unsupported value: 'none' is not supported with the '{model}' model. Supported values are: 'low', \
             'medium', 'high', 'xhigh', and 'max'."
            ),
        ));
    }
    if body.get("temperature").is_some() {
        return Some(error(
            400,
            "Unsupported parameter: 'temperature' is not supported with this model.",
        ));
    }
    let has_tools = body["tools"]
        .as_array()
        .is_some_and(|tools| !tools.is_empty());
    let is_refused = is_astra || effort != "none" && (version >= 5.6 || effort.is_string());
    (request.format == Format::OpenAi && has_tools && version >= 5.4 && is_refused).then(|| {
        error(400, &format!(
            "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. \
             Please use /v1/responses instead."
        ))
    })
}
