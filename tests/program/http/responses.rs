//! OpenAI's responses, answered by the agent, and what a client of both APIs hears of a failure.

use std::io::{Read, Write};

use serde_json::{Value, json};

use super::{Door, Reply, home, request, token};
use crate::harness::home::Home;
use crate::harness::model::{Model, call, error, say};
use crate::harness::program::Program;

const CHAT: &str = "/v1/chat/completions";
const RESPONSES: &str = "/v1/responses";

/// The events of a stream: their names, and their data.
fn events(body: &str) -> Vec<(String, Value)> {
    let event = |event: &str| {
        let (name, data) = event.strip_prefix("event: ")?.split_once("\ndata: ")?;
        Some((name.to_owned(), serde_json::from_str(data).unwrap()))
    };
    body.split("\n\n").filter_map(event).collect()
}

fn streamed(door: &Door, path: &str, token: &str, body: &Value) -> Reply {
    let mut body = body.clone();
    body["stream"] = json!(true);
    let mut stream = door.connect();
    let asked = request("POST", path, token, "", &body.to_string());
    stream.write_all(asked.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    Reply::read(&text)
}

fn text_of(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap()
}

#[test]
fn a_response_is_answered_and_the_next_one_goes_on_where_it_ended() {
    let model = Model::playing([
        say("It is warm."),
        say("As I said."),
        say("Who are you?"),
        say("A note."),
    ]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let mut door = Door::start(&home);
    let ask = |door: &Door, body: &Value| door.post(RESPONSES, &token, body);
    let first = ask(
        &door,
        &json!({"model": "main", "input": "how warm?", "conversation": "a_b c"}),
    )
    .json();
    assert_eq!(
        (&first["object"], &first["status"]),
        (&json!("response"), &json!("completed"))
    );
    assert_eq!(
        (text_of(&first), &first["model"]),
        ("It is warm.", &json!("main"))
    );
    // The id of the answer leads to its conversation, after a restart, too.
    door.gateway.stop().ends_with(0);
    door = Door::start(&home);
    let next = json!({"input": "sure?", "previous_response_id": first["id"]});
    assert_eq!(text_of(&ask(&door, &next).json()), "As I said.");
    let other =
        json!({"input": [{"role": "user", "content": "hello"}], "safety_identifier": "ben"});
    assert_eq!(text_of(&ask(&door, &other).json()), "Who are you?");
    let file = json!({"input": [
        {"role": "user", "content": "how warm?"}, {"type": "function_call_output", "call_id": "1", "output": "x"},
        {"role": "user", "content": [{"type": "input_text", "text": "look"},
            {"type": "input_file", "filename": "notes.txt", "file_data": "data:text/plain;base64,bWlsaw=="}]},
    ]});
    assert_eq!(text_of(&ask(&door, &file).json()), "A note.");
    let requests = model.requests();
    let said = |index: usize| requests[index].body["messages"].to_string();
    assert!(said(1).contains("how warm?") && said(1).contains("sure?"));
    assert!(
        !said(2).contains("warm") && !said(3).contains("warm"),
        "{}",
        said(3)
    );
    assert!(said(3).contains("notes.txt"));
    for body in [
        json!({"input": []}),
        json!({"input": "hi", "background": true}),
        json!({"input": "hi", "previous_response_id": "resp_"}),
    ] {
        let reply = ask(&door, &body);
        assert_eq!(reply.status, 400, "{body}");
        assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
    }
    assert_eq!(door.get(RESPONSES, &token).status, 405);
    door.gateway.stop().ends_with(0);
    let listed = Program::new(&home)
        .args(["sessions", "list"])
        .run()
        .ends_with(0)
        .stdout;
    for session in ["http:ana:a_b%20c", "http:ana:ben"] {
        assert!(listed.contains(session), "{listed}");
    }
}

#[test]
fn the_events_of_a_response_come_in_their_order() {
    let text = "one two three four five";
    let model = Model::playing([
        call("message", json!({"content": "Half of it."})),
        say(text).in_pieces(5),
    ]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let reply = streamed(&door, RESPONSES, &token, &json!({"input": "count"}));
    assert!(
        reply.head.contains("Content-Type: text/event-stream"),
        "{}",
        reply.head
    );
    let events = events(&reply.body);
    let mut names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    let deltas = events
        .iter()
        .filter(|(name, _)| name == "response.output_text.delta");
    let told: String = deltas
        .filter_map(|(_, data)| data["delta"].as_str())
        .collect();
    assert_eq!(told, format!("{text}\n\nHalf of it."));
    names.dedup();
    assert_eq!(
        names,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, (name, data)) in events.iter().enumerate() {
        assert_eq!(
            (&data["type"], &data["sequence_number"]),
            (&json!(name), &json!(number))
        );
    }
    assert_eq!(text_of(&events.last().unwrap().1["response"]), told);
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_failure_is_an_error_in_both_apis_and_the_next_question_is_answered() {
    let model = Model::answering(|request| match request.last_message().contains("fail") {
        true => error(401, "no such key"),
        false => say("Fine."),
    });
    let home: Home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let chat = |text: &str| json!({"messages": [{"role": "user", "content": text}]});
    let response = |text: &str| json!({"input": text});
    for (path, failing) in [(CHAT, chat("fail")), (RESPONSES, response("fail"))] {
        let reply = door.post(path, &token, &failing);
        assert_eq!(reply.status, 502, "{}", reply.body);
        assert!(
            reply.head.contains("X-Should-Retry: false"),
            "{}",
            reply.head
        );
        let error = &reply.json()["error"];
        assert_eq!(error["type"], "server_error");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    let reply = streamed(&door, CHAT, &token, &chat("fail"));
    let last = reply.body.trim_end().rsplit("\n\n").next().unwrap();
    let error: Value = serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(error["error"]["type"], "server_error", "{}", reply.body);
    assert!(!reply.body.contains("[DONE]") && !reply.body.contains("\"stop\""));
    let reply = streamed(&door, RESPONSES, &token, &response("fail"));
    let (name, data) = events(&reply.body).pop().unwrap();
    assert_eq!(name, "response.failed");
    assert_eq!(data["response"]["status"], "failed");
    assert_eq!(data["response"]["error"]["code"], "server_error");
    // A failure with a key is the same one again.
    let keyed = request(
        "POST",
        CHAT,
        &token,
        "Idempotency-Key: 1\r\n",
        &chat("fail").to_string(),
    );
    let asked = model.requests().len();
    assert_eq!(door.raw(&keyed).status, 502);
    let tried = model.requests().len();
    assert_eq!((tried > asked, door.raw(&keyed).status), (true, 502));
    assert_eq!(model.requests().len(), tried);
    let reply = door.post(CHAT, &token, &chat("again"));
    assert_eq!(
        (reply.status, reply.body.contains("Fine.")),
        (200, true),
        "{}",
        reply.body
    );
    door.gateway.stop().ends_with(0);
}
