//! The fake model itself: it says what a real API says, and refuses what one refuses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use crate::harness::model::{Format, Model, call, error, overflow, say};

/// Posts to the fake; returns the status and the body.
fn post(model: &Model, path: &str, body: &Value) -> (u16, String) {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .build();
    let request = ureq::Agent::new_with_config(config).post(format!("{}{path}", model.url()));
    let mut response = request.send(body.to_string()).unwrap();
    let text = response.body_mut().read_to_string().unwrap();
    (response.status().as_u16(), text)
}

const OPENAI: &str = "/v1/chat/completions";
const ANTHROPIC: &str = "/v1/messages";

fn hello() -> Value {
    json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
}

#[test]
fn a_whole_answer_has_each_apis_form() {
    let step = || call("read_file", json!({"path": "a"})).thinking("hm");
    let model = Model::playing([step(), step()]);
    let parse = |(status, text): (u16, String)| {
        assert_eq!(status, 200);
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let openai = parse(post(&model, OPENAI, &hello()));
    let message = &openai["choices"][0]["message"];
    assert_eq!(
        message["tool_calls"][0]["function"]["arguments"],
        r#"{"path":"a"}"#
    );
    assert_eq!(openai["choices"][0]["finish_reason"], "tool_calls");
    let anthropic = parse(post(&model, ANTHROPIC, &hello()));
    assert_eq!(anthropic["content"][0]["type"], "thinking");
    assert_eq!(anthropic["content"][1]["input"]["path"], "a");
    assert_eq!(anthropic["stop_reason"], "tool_use");
    assert_eq!(model.requests()[1].format, Format::Anthropic);
}

#[test]
fn a_streamed_answer_comes_in_events_that_add_up() {
    let model = Model::playing([
        say("four pieces").in_pieces(4),
        say("four pieces").in_pieces(4),
    ]);
    let mut asked = hello();
    asked["stream"] = json!(true);
    let openai = post(&model, OPENAI, &asked).1;
    let pieces: String = data(&openai)
        .filter_map(|event| Some(event["choices"][0]["delta"]["content"].as_str()?.to_owned()))
        .collect();
    assert_eq!(pieces, "four pieces");
    assert!(openai.ends_with("data: [DONE]\n\n"));
    let anthropic = post(&model, ANTHROPIC, &asked).1;
    let pieces: String = data(&anthropic)
        .filter_map(|event| Some(event["delta"]["text"].as_str()?.to_owned()))
        .collect();
    assert_eq!(pieces, "four pieces");
    assert!(anthropic.starts_with("event: message_start\n"));
}

fn data(events: &str) -> impl Iterator<Item = Value> {
    events
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
}

#[test]
fn an_error_has_its_status_and_its_words() {
    let model = Model::playing([error(429, "slow down"), overflow(), overflow()]);
    let (status, body) = post(&model, OPENAI, &hello());
    assert!(
        status == 429 && body.contains("slow down"),
        "{status} {body}"
    );
    assert!(
        post(&model, OPENAI, &hello())
            .1
            .contains("context_length_exceeded")
    );
    assert!(
        post(&model, ANTHROPIC, &hello())
            .1
            .contains("prompt is too long")
    );
}

#[test]
fn a_request_that_an_api_would_refuse_fails_the_test() {
    let user = json!({"role": "user", "content": "hi"});
    let openai_call = json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "r"});
    let anthropic_call = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "c", "name": "f", "input": {}}]});
    let cases = [
        (OPENAI, json!([])),
        (OPENAI, json!([user, openai_call])),
        (OPENAI, json!([user, openai_call, user])),
        (OPENAI, json!([user, result])),
        (OPENAI, json!([user, openai_call, result, result])),
        (ANTHROPIC, json!([])),
        (ANTHROPIC, json!([user, user])),
        (ANTHROPIC, json!([user, anthropic_call, user])),
        ("/v1/elsewhere", json!([user])),
    ];
    for (path, messages) in cases {
        let model = Model::playing([say("too kind")]);
        let body = json!({"model": "m", "max_tokens": 9, "messages": messages});
        assert_eq!(post(&model, path, &body).0, 400, "{messages}");
        assert!(fails(model), "{messages}");
    }
    let model = Model::playing([say("fine")]);
    let messages = json!([user, openai_call, result, user]);
    assert_eq!(post(&model, OPENAI, &json!({"messages": messages})).0, 200);
    assert!(!fails(model));
}

#[test]
fn a_request_beyond_the_script_fails_the_test() {
    let model = Model::playing([]);
    let (status, body) = post(&model, OPENAI, &hello());
    assert!(
        status == 400 && body.contains("no step for request 1"),
        "{status} {body}"
    );
    assert!(fails(model));
}

/// Whether the end of the fake fails the test.
fn fails(model: Model) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(model))).is_err()
}
