//! OpenAI's chat completions, answered by the agent.

use std::io::{Read, Write};

use serde_json::{Value, json};

use super::{Door, Reply, home, request, token};
use crate::harness::gate::Gate;
use crate::harness::home::Home;
use crate::harness::model::{Model, call, say};
use crate::harness::program::Program;
use crate::harness::telegram::Telegram;
use crate::harness::wait_until;

const CHAT: &str = "/v1/chat/completions";

fn question(text: &str) -> Value {
    json!({"model": "main", "messages": [{"role": "user", "content": text}]})
}

/// The text of a stream.
fn told(body: &str) -> String {
    let events = body
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: {"));
    let text = |event: &str| {
        let event: Value = serde_json::from_str(&format!("{{{event}")).unwrap();
        event["choices"][0]["delta"]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    events.map(text).collect()
}

#[test]
fn a_binding_gives_a_token_its_agent() {
    let model = Model::answering(|request| say(request.body["model"].as_str().unwrap()));
    let mut home = home(&model);
    let agents = json!([{"id": "work", "model": "work-model"}]);
    home.set("/agents/list", agents);
    let binding = json!({"agent": "work", "channel": "http", "chat": "bob"});
    home.set("/agents/bindings", json!([binding]));
    let [ana, bob] = ["ana", "bob"].map(|name| token(&home, name, "user"));
    let door = Door::start(&home);
    let mut session = question("hello");
    session["user"] = json!("desk");
    for (token, body, answers) in [
        (&ana, question("hello"), "fake-model"),
        (&bob, question("hello"), "work-model"),
        (&bob, session, "work-model"),
    ] {
        let reply = door.post(CHAT, token, &body).json();
        assert_eq!(reply["choices"][0]["message"]["content"], answers);
    }
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_question_is_answered_whole_in_its_own_conversation() {
    let model = Model::playing([
        call("list_dir", json!({"path": "."})),
        say("Nothing here."),
        say("Again nothing."),
        say("Who are you?"),
    ]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let reply = door.post(CHAT, &token, &question("/status what is here?"));
    let answer = reply.json();
    assert_eq!(
        answer["choices"][0]["message"]["content"], "Nothing here.",
        "{}",
        reply.body
    );
    assert_eq!(
        (&answer["object"], &answer["model"]),
        (&json!("chat.completion"), &json!("main"))
    );
    let again = json!({"messages": [
        {"role": "user", "content": "/status what is here?"}, {"role": "assistant", "content": "Nothing here."},
        {"role": "user", "content": "sure?"},
    ]});
    door.post(CHAT, &token, &again);
    let mut other = question("hello");
    other["user"] = json!("ben");
    let reply = door.post(CHAT, &token, &other);
    assert!(reply.body.contains("Who are you?"), "{}", reply.body);
    let requests = model.requests();
    let said = |index: usize| requests[index].body["messages"].to_string();
    assert_eq!(
        said(2).matches("what is here?").count(),
        1,
        "its own history counts"
    );
    assert!(said(2).contains("sure?") && !said(3).contains("sure?"));
    for (body, status) in [
        ("{", 400),
        ("[]", 400),
        (r#"{"messages":[]}"#, 400),
        ("\u{e9}", 400),
    ] {
        let reply = door.raw(&request("POST", CHAT, &token, "", body));
        assert_eq!(reply.status, status, "{body}");
        assert_eq!(reply.json()["error"]["type"], "invalid_request_error");
    }
    door.gateway.stop().ends_with(0);
    let listed = Program::new(&home)
        .args(["sessions", "list"])
        .run()
        .ends_with(0)
        .stdout;
    assert!(
        listed.contains("http:ana") && listed.contains("http:ana:ben"),
        "{listed}"
    );
}

#[test]
fn a_stream_shows_the_growth_of_the_answer() {
    let gate = Gate::default();
    let text = "one two three four five six seven eight nine ten";
    let model = Model::playing([say(text).in_pieces(10).pausing_at(&gate)]);
    let home = home(&model);
    let token = token(&home, "ana", "guest");
    let door = Door::start(&home);
    let mut body = question("count");
    body["stream"] = json!(true);
    let mut stream = door.connect();
    let asked = request("POST", CHAT, &token, "", &body.to_string());
    stream.write_all(asked.as_bytes()).unwrap();
    let mut got = String::new();
    let mut buffer = [0; 512];
    while !told(got.split_once("\r\n\r\n").map_or("", |(_, body)| {
        body.rsplit_once("\n\n").map_or("", |(whole, _)| whole)
    }))
    .contains("one")
    {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "{got}");
        got.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    assert!(!got.contains("nine"), "{got}");
    gate.open();
    stream.read_to_string(&mut got).unwrap();
    let reply = Reply::read(&got);
    assert!(
        reply.head.contains("Content-Type: text/event-stream"),
        "{}",
        reply.head
    );
    assert_eq!(told(&reply.body), text);
    assert!(reply.body.ends_with("data: [DONE]\n\n"));
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_client_that_goes_away_loses_nothing() {
    let gate = Gate::default();
    let model = Model::playing([say("It is done.").after(&gate), say("second")]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let asked = request(
        "POST",
        CHAT,
        &token,
        "Idempotency-Key: 7\r\n",
        &question("do it").to_string(),
    );
    let mut stream = door.connect();
    stream.write_all(asked.as_bytes()).unwrap();
    model.wait_for_requests(1);
    drop(stream);
    gate.open();
    wait_until("the end of the turn", || {
        door.gateway.log().contains("turn answered")
    });
    // The reply may be lost on its way, so that it is asked for once more.
    for _ in 0..2 {
        let reply = door.raw(&asked);
        assert!(reply.body.contains("It is done."), "{}", reply.body);
    }
    assert_eq!(model.requests().len(), 1, "asked once");
    door.gateway.stop().ends_with(0);
}

#[test]
fn one_token_does_not_take_all_connections_from_the_others() {
    let gate = Gate::default();
    let model = Model::playing([say("first").after(&gate), say("the others")]);
    let home = home(&model);
    let (busy, other) = (token(&home, "busy", "user"), token(&home, "other", "user"));
    let door = Door::start(&home);
    let asked = request("POST", CHAT, &busy, "", &question("hello").to_string());
    let streams: Vec<_> = (0..16)
        .map(|_| {
            let mut stream = door.connect();
            stream.write_all(asked.as_bytes()).unwrap();
            stream
        })
        .collect();
    let inbox = home.path().join("inbox.jsonl");
    wait_until("all to be accepted", || {
        std::fs::read_to_string(&inbox).is_ok_and(|text| text.matches("hello").count() >= 16)
    });
    assert_eq!(door.raw(&asked).status, 429);
    assert_eq!(door.get("/v1/models", &busy).status, 200);
    assert_eq!(door.get("/v1/models", &other).status, 200);
    gate.open();
    for mut stream in streams {
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let is_answered = reply.contains("first") || reply.contains("the others");
        assert!(is_answered, "{reply}");
    }
    door.gateway.stop().ends_with(0);
}

#[test]
fn an_accepted_question_survives_a_kill() {
    let gate = Gate::default();
    let model = Model::playing([say("never").after(&gate), say("After all.")]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let mut stream = door.connect();
    let asked = request(
        "POST",
        CHAT,
        &token,
        "",
        &question("remember the milk").to_string(),
    );
    stream.write_all(asked.as_bytes()).unwrap();
    model.wait_for_requests(1);
    door.gateway.kill();
    gate.open();
    let door = Door::start(&home);
    model.wait_for_requests(2);
    wait_until("the end of the turn", || {
        door.gateway.log().contains("turn answered")
    });
    door.gateway.stop().ends_with(0);
    let shown = Program::new(&home)
        .args(["sessions", "show", "http:ana"])
        .run()
        .ends_with(0)
        .stdout;
    assert!(
        shown.contains("remember the milk") && shown.contains("After all."),
        "{shown}"
    );
}

#[test]
fn what_needs_an_approval_is_refused_and_the_agent_says_so() {
    let escalated = json!({"command": "id", "escalate": true, "reason": "a test"});
    let model = Model::playing([call("exec", escalated), say("I may not.")]);
    let home = home(&model);
    let token = token(&home, "ana", "owner");
    let door = Door::start(&home);
    let reply = door.post(CHAT, &token, &question("run id"));
    assert!(reply.body.contains("I may not."), "{}", reply.body);
    let results = model.tool_results().join("\n");
    assert!(results.contains("no one"), "{results}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_picture_comes_along() {
    let model = Model::playing([say("A picture.")]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let body = json!({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "look"},
        {"type": "file", "file": {"filename": "notes.txt", "file_data": "data:text/plain;base64,bWlsaw=="}},
    ]}]});
    let reply = door.post(CHAT, &token, &body);
    assert!(reply.body.contains("A picture."), "{}", reply.body);
    let said = model.requests()[0].body["messages"].to_string();
    assert!(said.contains("notes.txt"), "{said}");
    let fetched = json!({"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest"}},
    ]}]});
    assert_eq!(door.post(CHAT, &token, &fetched).status, 400);
    door.gateway.stop().ends_with(0);
}

#[test]
fn an_owner_is_asked_in_their_chat_where_the_setting_says_so() {
    let escalated = json!({"command": "id", "escalate": true, "reason": "a test"});
    let model = Model::playing([say("Hello."), call("exec", escalated), say("Refused.")]);
    let telegram = Telegram::start();
    let ana = telegram.person(1001, "Ana", None);
    let mut home = Home::with_telegram(&model, &telegram);
    let http = json!({"enabled": true, "listen": "127.0.0.1:0", "approvals": "owner"});
    home.set("/http", http);
    let token = token(&home, "kuma", "owner");
    let door = Door::start(&home);
    ana.says("hello");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("Hello."));
    let reply = std::thread::scope(|scope| {
        let asked = scope.spawn(|| door.post(CHAT, &token, &question("run id")));
        let asking = telegram.wait_for_message(ana.chat(), |message| message.markup.is_some());
        assert!(asking.text.contains("kuma"), "{}", asking.text);
        ana.presses("Deny");
        asked.join().unwrap()
    });
    assert!(reply.body.contains("Refused."), "{}", reply.body);
    // The client of HTTP is not where an owner has written last.
    let sent = Program::new(&home)
        .args(["send", "news"])
        .run()
        .ends_with(0)
        .stdout;
    assert!(sent.contains("telegram:1001"), "{sent}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn what_the_agent_sends_beside_its_answer_is_part_of_it() {
    let model = Model::playing([
        call("message", json!({"content": "Half of it."})),
        say("All of it."),
        call("message", json!({"content": "The same."})),
        say("The same."),
    ]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let content = |text: &str| {
        let answer = door.post(CHAT, &token, &question(text)).json();
        answer["choices"][0]["message"]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(content("tell me"), "Half of it.\n\nAll of it.");
    assert_eq!(
        content("and again"),
        "The same.",
        "no answer besides the message"
    );
    door.gateway.stop().ends_with(0);
}
