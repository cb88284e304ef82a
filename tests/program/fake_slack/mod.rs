//! The fake Slack itself: it says what the real one says, and refuses what that refuses.

mod standalone;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use crate::harness::slack::{APP_TOKEN, BOT_TOKEN, Slack};

/// Calls a method with a form; returns the status and the reply.
fn call(slack: &Slack, method: &str, token: &str, form: &str) -> (u16, Value) {
    exchange(
        slack,
        method,
        token,
        ("application/x-www-form-urlencoded", form),
    )
}

fn exchange(slack: &Slack, method: &str, token: &str, (kind, body): (&str, &str)) -> (u16, Value) {
    let base = slack.api_base();
    let address = base.split('/').nth(2).unwrap();
    let mut connection = BufReader::new(TcpStream::connect(address).unwrap());
    let head = format!(
        "POST /api/{method} HTTP/1.1\r\nhost: fake\r\nauthorization: Bearer {token}\r\ncontent-type: {kind}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.get_mut().write_all(head.as_bytes()).unwrap();
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(connection.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.unwrap().parse().unwrap()];
    connection.read_exact(&mut body).unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

#[track_caller]
fn refused(slack: &Slack, method: &str, form: &str) -> String {
    let (status, reply) = call(slack, method, BOT_TOKEN, form);
    assert_eq!((status, &reply["ok"]), (200, &json!(false)), "{reply}");
    reply["error"].as_str().unwrap().to_owned()
}

/// Whether the end of the fake fails the test.
fn fails(slack: Slack) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(slack))).is_err()
}

#[test]
fn what_the_real_one_refuses_is_refused_with_status_200() {
    let slack = Slack::start();
    slack.forgives("");
    slack.person("U0ANA", "Ana");
    let long = format!("channel=D0U0ANA&ts=1.000001&text={}", "x".repeat(4001));
    let section = |length: usize| {
        let text = "x".repeat(length);
        let blocks = json!([{"type": "section", "text": {"type": "mrkdwn", "text": text}}]);
        format!("channel=D0U0ANA&text=x&blocks={blocks}")
    };
    for (method, form, error) in [
        ("chat.postMessage", "channel=C9&text=x", "channel_not_found"),
        ("chat.postMessage", "channel=D0U0ANA&text=", "no_text"),
        ("chat.postMessage", &section(3001), "invalid_blocks"),
        (
            "chat.postMessage",
            "channel=D0U0ANA&text=x&thread_ts=1.000001",
            "thread_not_found",
        ),
        (
            "chat.postMessage",
            "channel=D0U0ANA&text=x&metadata={}",
            "invalid_metadata_format",
        ),
        ("chat.update", &long, "msg_too_long"),
        (
            "chat.update",
            "channel=D0U0ANA&ts=1.000001&text=x",
            "message_not_found",
        ),
        (
            "reactions.add",
            "channel=D0U0ANA&timestamp=1.000001&name=%F0%9F%91%80",
            "invalid_name",
        ),
        (
            "files.getUploadURLExternal",
            "filename=a&length=0",
            "invalid_arguments",
        ),
        ("users.info", "user=U9", "user_not_found"),
        ("chat.meMessage", "", "unknown_method"),
        ("apps.connections.open", "", "not_allowed_token_type"),
    ] {
        assert_eq!(refused(&slack, method, form), error, "{method} {form}");
    }
    let (_, reply) = call(&slack, "auth.test", "xoxb-wrong", "");
    assert_eq!(reply["error"], "invalid_auth");
    let (_, reply) = call(&slack, "chat.postMessage", BOT_TOKEN, &section(3000));
    assert_eq!(reply["ok"], true, "{reply}");
}

#[test]
fn methods_that_read_ignore_json() {
    let slack = Slack::start();
    slack.forgives("user_not_found");
    slack.person("U0ANA", "Ana");
    let body = json!({"user": "U0ANA"}).to_string();
    let (_, reply) = exchange(&slack, "users.info", BOT_TOKEN, ("application/json", &body));
    assert_eq!(reply["error"], "user_not_found");
    let (_, reply) = call(&slack, "users.info", BOT_TOKEN, "user=U0ANA");
    assert_eq!(reply["user"]["name"], "ana");
}

#[test]
fn who_calls_too_often_has_to_wait() {
    let slack = Slack::start();
    slack.person("U0ANA", "Ana");
    for number in 0..6 {
        let form = format!("channel=D0U0ANA&text={number}");
        assert_eq!(call(&slack, "chat.postMessage", BOT_TOKEN, &form).0, 200);
    }
    let (status, reply) = call(
        &slack,
        "chat.postMessage",
        BOT_TOKEN,
        "channel=D0U0ANA&text=7",
    );
    assert_eq!(
        (status, reply["error"].as_str()),
        (429, Some("ratelimited"))
    );
    call(
        &slack,
        "chat.postMessage",
        BOT_TOKEN,
        "channel=D0U0ANA&text=8",
    );
    assert!(fails(slack), "it did not wait");
}

#[test]
fn a_ticket_opens_one_connection() {
    let slack = Slack::start();
    let (_, reply) = call(&slack, "apps.connections.open", APP_TOKEN, "");
    let url = reply["url"].as_str().unwrap();
    let (address, path) = url.strip_prefix("ws://").unwrap().split_once('/').unwrap();
    let open = || {
        let mut connection = BufReader::new(TcpStream::connect(address).unwrap());
        let head = format!(
            "GET /{path} HTTP/1.1\r\nhost: fake\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        connection.get_mut().write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        connection.read_line(&mut line).unwrap();
        (line, connection)
    };
    let (first, _connection) = open();
    assert!(first.contains("101"), "{first}");
    assert!(open().0.contains("403"));
    assert!(fails(slack), "a ticket was used twice");
}
