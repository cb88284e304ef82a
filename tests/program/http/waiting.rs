//! Which client hears which answer, when several wait in one conversation and some of them go away.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use super::{Door, Reply, home, request, token};
use crate::harness::gate::Gate;
use crate::harness::model::{Model, say};
use crate::harness::wait_until;

const CHAT: &str = "/v1/chat/completions";

fn asked(token: &str, headers: &str, text: &str, session: &str) -> String {
    let messages = json!([{"role": "user", "content": text}]);
    let body = json!({"model": "main", "user": session, "messages": messages});
    request("POST", CHAT, token, headers, &body.to_string())
}

fn write(door: &Door, bytes: &str) -> TcpStream {
    let mut stream = door.connect();
    stream.write_all(bytes.as_bytes()).unwrap();
    stream
}

fn read(mut stream: TcpStream) -> Reply {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    Reply::read(&String::from_utf8_lossy(&text))
}

/// Waits until the inbox has had a text so many times.
fn wait_for_accepted(home: &crate::harness::home::Home, text: &str, count: usize) {
    let inbox = home.path().join("inbox.jsonl");
    wait_until("it to be accepted", || {
        let stored = std::fs::read_to_string(&inbox);
        stored.is_ok_and(|stored| stored.matches(text).count() >= count)
    });
}

#[test]
fn a_client_that_goes_away_takes_no_answer_from_those_before_it() {
    let gate = Gate::default();
    let model = Model::playing([say("first").after(&gate), say("the other two")]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let first = write(&door, &asked(&token, "", "one", ""));
    model.wait_for_requests(1);
    let second = write(&door, &asked(&token, "", "question two", ""));
    wait_for_accepted(&home, "question two", 1);
    let third = write(&door, &asked(&token, "", "question three", ""));
    wait_for_accepted(&home, "question three", 1);
    drop(third);
    gate.open();
    assert!(read(first).body.contains("first"));
    let body = read(second).body;
    assert!(body.contains("the other two"), "{body}");
    door.gateway.stop().ends_with(0);
}

#[test]
fn what_a_killed_gateway_left_answers_no_other_question() {
    let (gate, later) = (Gate::default(), Gate::default());
    let model = Model::playing([
        say("never").after(&gate),
        say("the old answer").after(&later),
        say("the new answer"),
    ]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let key = "Idempotency-Key: 3\r\n";
    let _old = write(&door, &asked(&token, key, "the old question", ""));
    model.wait_for_requests(1);
    door.gateway.kill();
    gate.open();
    let door = Door::start(&home);
    model.wait_for_requests(2);
    let new = write(&door, &asked(&token, "", "the new question", ""));
    wait_for_accepted(&home, "the new question", 1);
    later.open();
    let body = read(new).body;
    // It may join the turn that goes on, whose answer is then to both.
    assert!(
        body.contains("the new answer") && !body.contains("the old answer"),
        "{body}"
    );
    // The old one's answer is in the conversation: its key is not asked again, and nobody waits for it.
    let again = door.raw(&asked(&token, key, "the old question", ""));
    assert_eq!(again.status, 409, "{}", again.body);
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_question_that_finds_no_room_is_refused_and_its_key_stays_free() {
    let gate = Gate::default();
    let model = Model::answering({
        let gate = gate.clone();
        move |_| say("done").after(&gate)
    });
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    // Their clients go away, so that the bound on those that wait is never reached.
    let mut last = None;
    for number in 0..200 {
        let session = format!("s{number}");
        let key = format!("Idempotency-Key: {number}\r\n");
        let question = asked(&token, &key, "a question", &session);
        let mut stream = write(&door, &question);
        let mut reply = [0; 16];
        let time = std::time::Duration::from_millis(50);
        stream.set_read_timeout(Some(time)).unwrap();
        if stream.read(&mut reply).is_ok_and(|count| count > 0) {
            assert!(reply.starts_with(b"HTTP/1.1 429"), "{reply:?}");
            last = Some(question);
            break;
        }
    }
    let refused = last.expect("at last there is no room");
    gate.open();
    wait_until("the same to be answered", || {
        let reply = door.raw(&refused);
        reply.status == 200 && reply.body.contains("done")
    });
    door.gateway.stop().ends_with(0);
}

#[test]
fn a_token_that_is_revoked_while_its_question_comes_opens_nothing() {
    let model = Model::playing([say("hello")]);
    let home = home(&model);
    let ana = token(&home, "ana", "guest");
    let door = Door::start(&home);
    let whole = asked(&ana, "", "hello", "");
    let (head, body) = whole.split_at(whole.find("\r\n\r\n").unwrap() + 4);
    let mut stream = write(&door, head);
    // Another request shows that the head was read.
    assert_eq!(door.get("/v1/models", &ana).status, 200);
    let revoke = ["http", "token", "revoke", "ana"];
    crate::harness::program::Program::new(&home)
        .args(revoke)
        .run()
        .ends_with(0);
    token(&home, "ana", "guest");
    stream.write_all(body.as_bytes()).unwrap();
    // The new token has the same name, and is another one.
    assert_eq!(read(stream).status, 401);
    assert_eq!(model.requests().len(), 0);
    door.gateway.stop().ends_with(0);
}

#[test]
fn three_busy_tokens_leave_connections_and_a_refusal_for_the_fourth() {
    let gate = Gate::default();
    let model = Model::answering({
        let gate = gate.clone();
        move |_| say("done").after(&gate)
    });
    let home = home(&model);
    let names = ["one", "two", "three", "four"];
    let tokens = names.map(|name| token(&home, name, "user"));
    let door = Door::start(&home);
    let mut streams = Vec::new();
    for token in tokens.iter().take(3) {
        streams.extend((0..16).map(|_| write(&door, &asked(token, "", "a question", ""))));
    }
    wait_for_accepted(&home, "a question", 48);
    let refused = door.raw(&asked(&tokens[3], "", "one more", ""));
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert!(refused.head.contains("Retry-After: "), "{}", refused.head);
    assert_eq!(door.get("/v1/models", &tokens[3]).status, 200);
    gate.open();
    for stream in streams {
        let reply = read(stream);
        assert!(reply.body.contains("done"), "{}", reply.body);
    }
    let reply = door.raw(&asked(&tokens[3], "", "one more", ""));
    assert_eq!(reply.status, 200, "{}", reply.body);
    door.gateway.stop().ends_with(0);
}
