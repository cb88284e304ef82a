//! Servers that are reached over HTTP and lose their sessions.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use super::*;
use crate::base::sync::Mutex;

type Log = Arc<Mutex<Vec<String>>>;

/// A server of 2025-11-25 whose sessions are s-1, s-2 and so on. `answer` gets each request that is not part
/// of the beginning, as its head and body together, and gives the whole reply.
fn served(answer: impl Fn(&str) -> String + Send + 'static) -> (World, Log) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let log = Log::default();
    let of_thread = Arc::clone(&log);
    std::thread::spawn(move || {
        let mut sessions = 0;
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut text, mut length) = (String::new(), 0);
            while !text.ends_with("\r\n\r\n") {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() == 0 {
                    break;
                }
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                text += &lower;
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            text += &String::from_utf8(body).unwrap();
            let reply = if text.contains("\"server/discover\"") {
                reply("400 Bad Request", "", "")
            } else if text.contains("\"initialize\"") {
                sessions += 1;
                let result = r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}"#;
                reply(
                    "200 OK",
                    &format!("mcp-session-id: s-{sessions}\r\n"),
                    result,
                )
            } else if text.contains("notifications/") {
                reply("202 Accepted", "", "")
            } else if text.starts_with("get ") && !text.contains("last-event-id") {
                reply("405 Method Not Allowed", "", "")
            } else {
                of_thread.lock().push(text.clone());
                answer(&text)
            };
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    let server = McpServer {
        url,
        ..McpServer::default()
    };
    (World::new(server), log)
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn events(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n{text}")
}

/// The id of a call, and its result.
fn result(request: &str) -> String {
    let (_, id) = request.rsplit_once("\"id\":").unwrap();
    let id: String = id.chars().take_while(char::is_ascii_digit).collect();
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"on"}}]}}}}"#
    )
}

fn calls(log: &Log) -> usize {
    let log = log.lock();
    log.iter()
        .filter(|one| one.contains("\"tools/call\""))
        .count()
}

#[test]
fn a_server_that_has_forgotten_the_session_gets_the_call_in_a_new_one() {
    for (status, body) in [
        ("404 Not Found", ""),
        (
            "400 Bad Request",
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}"#,
        ),
    ] {
        let (world, log) = served(
            move |request| match request.contains("mcp-session-id: s-1") {
                true => reply(status, "", body),
                false => reply("200 OK", "", &result(request)),
            },
        );
        assert!(world.text("switch", json!({})).contains("on"), "{status}");
        assert_eq!(calls(&log), 2);
        assert!(world.text("switch", json!({})).contains("on"));
        assert_eq!(calls(&log), 3, "the new session is kept");
    }
}

#[test]
fn a_call_is_not_made_twice_when_its_reply_is_lost() {
    let (world, log) = served(|request| match request.starts_with("get ") {
        true => reply("404 Not Found", "", ""),
        false => events("id: 7\nretry: 1\ndata:\n\n"),
    });
    let error = world.fault("switch", json!({}));
    assert!(error.contains("the rest of the reply"), "{error}");
    assert_eq!(calls(&log), 1);
}

#[test]
fn a_call_goes_on_when_the_server_does_not_take_an_answer() {
    let (world, log) = served(|request| match request.contains("\"tools/call\"") {
        true => events(&format!(
            "data: {{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}}\n\ndata: {}\n\n",
            result(request)
        )),
        false => reply("404 Not Found", "", ""),
    });
    assert!(world.text("switch", json!({})).contains("on"));
    assert_eq!(calls(&log), 1);
}
