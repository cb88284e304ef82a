use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use super::*;
use crate::base::secret::Secret;
use crate::net::http::server::{Answer, Server, answer, close, self_signed, silence};
use crate::tools::mcp::client::transport::Incoming;

const LONG: Duration = Duration::from_secs(60);

fn parts(url: &str) -> (tempfile::TempDir, HttpParts) {
    let folder = tempfile::tempdir().unwrap();
    let server = McpServer {
        url: url.to_owned(),
        headers: [("X-Team".to_owned(), Secret::new("crabs"))].into(),
        ..McpServer::default()
    };
    let parts = HttpParts {
        name: "lamp".to_owned(),
        server,
        tls: Tls::new(None).unwrap(),
        logins: folder.path().join("mcp"),
        clock: Clock::System,
    };
    (folder, parts)
}

fn message(method: &'static str, version: &'static str) -> Outgoing<'static> {
    Outgoing {
        json: r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#,
        method,
        name: None,
        parameters: &[],
        version,
    }
}

fn ask(http: &Http, method: &'static str, version: &'static str) -> Result<String> {
    let cancel = Cancel::new();
    let mut replies = http.request(1, &message(method, version), &cancel)?;
    match replies.next(LONG, &cancel)? {
        Incoming::Message(text) => Ok(text),
        Incoming::Nothing => panic!("nothing came"),
    }
}

const NEW: &str = "2026-07-28";
const OLD: &str = "2025-11-25";
const RESPONSE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

fn json(status: &str, body: &str) -> Answer {
    answer(
        status,
        "content-type: application/json\r\n",
        body.as_bytes(),
    )
}

fn events(text: &str) -> Answer {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    close([head, text].concat())
}

#[test]
fn a_call_is_answered_with_json_or_with_events() {
    let stream = format!(": hello\n\nevent: message\ndata: {RESPONSE}\n\n");
    let server = Server::plain([json("200 OK", RESPONSE), events(&stream)]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    for _ in 0..2 {
        assert_eq!(ask(&http, "tools/list", NEW).unwrap(), RESPONSE);
        let head = server.request();
        for line in [
            "post /v1/chat ",
            "mcp-protocol-version: 2026-07-28\r\n",
            "mcp-method: tools/list\r\n",
            "accept: application/json, text/event-stream\r\n",
            "x-team: crabs\r\n",
        ] {
            assert!(head.contains(line), "{head}");
        }
    }
}

#[test]
fn a_reply_is_what_it_begins_with_whatever_its_type() {
    let laid_out = RESPONSE.replace(',', ",\n  ");
    let stream = format!("event: message\ndata: {RESPONSE}\n\n");
    for (kind, body) in [
        ("application/json", format!("\u{feff}{RESPONSE}")),
        ("application/json", format!("\n\n{RESPONSE}\n")),
        ("application/json", stream.clone()),
        ("text/plain", format!("\u{feff}\n{laid_out}")),
        ("text/plain", stream.clone()),
        ("", RESPONSE.to_owned()),
        ("", laid_out),
        ("", stream),
        ("text/event-stream", RESPONSE.to_owned()),
    ] {
        let head = match kind {
            "" => String::new(),
            kind => format!("content-type: {kind}\r\n"),
        };
        let server = Server::plain([answer("200 OK", &head, body.as_bytes())]);
        let (_folder, parts) = parts(&server.http());
        let http = Http::new(parts).unwrap();
        let reply = ask(&http, "tools/list", NEW).unwrap();
        assert_eq!(reply.replace(",\n  ", ","), RESPONSE, "{kind}: {body}");
    }
    for (head, body, said) in [
        (
            "content-type: text/html\r\n",
            "<html>",
            "answered with text/html",
        ),
        ("", "", "answered with nothing"),
    ] {
        let server = Server::plain([answer("200 OK", head, body.as_bytes())]);
        let (_folder, parts) = parts(&server.http());
        let http = Http::new(parts).unwrap();
        let error = ask(&http, "tools/list", NEW).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_server_with_a_certificate_of_its_own_is_trusted_by_its_file() {
    let (config, pem) = self_signed(&["localhost"], |_| ());
    let server = Server::tls(config, [json("200 OK", RESPONSE)]);
    let (_folder, untrusting) = parts(&server.https());
    let http = Http::new(untrusting).unwrap();
    let error = ask(&http, "tools/list", NEW).unwrap_err().to_string();
    assert!(
        error.contains("from an unknown authority") && error.contains("tls.caFile"),
        "{error}"
    );
    let (folder, mut trusting) = parts(&server.https());
    let file = folder.path().join("own.pem");
    std::fs::write(&file, pem).unwrap();
    trusting.tls = Tls::new(Some(&file)).unwrap();
    let http = Http::new(trusting).unwrap();
    assert_eq!(ask(&http, "tools/list", NEW).unwrap(), RESPONSE);
}

#[test]
fn the_connection_serves_the_next_call_too() {
    let stream = format!("data: {RESPONSE}\n\n");
    let reply = || {
        answer(
            "200 OK",
            "content-type: text/event-stream\r\n",
            stream.as_bytes(),
        )
    };
    let server = Server::plain([reply(), reply(), json("200 OK", RESPONSE)]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    for _ in 0..3 {
        ask(&http, "tools/list", NEW).unwrap();
    }
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_refusal_is_a_message_only_when_it_is_json_rpc() {
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
    let server = Server::plain([
        json("404 Not Found", error),
        json("400 Bad Request", r#"{"error":"no"}"#),
        answer("200 OK", "content-type: text/html\r\n", b"<html>"),
        answer("302 Found", "location: https://evil.example/mcp\r\n", b""),
    ]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    assert_eq!(ask(&http, "server/discover", NEW).unwrap(), error);
    let outcome = ask(&http, "server/discover", NEW);
    assert!(
        matches!(outcome, Err(Error::Status { status: 400, .. })),
        "{outcome:?}"
    );
    let error = ask(&http, "tools/list", NEW).unwrap_err().to_string();
    assert!(error.contains("text/html instead of JSON"), "{error}");
    let error = ask(&http, "tools/list", NEW).unwrap_err().to_string();
    assert!(
        error.contains("a redirect to https://evil.example, which is not followed"),
        "{error}"
    );
}

#[test]
fn a_session_is_kept_and_ended_and_its_loss_is_noticed() {
    let server = Server::plain([
        answer(
            "200 OK",
            "content-type: application/json\r\nmcp-session-id: s-1\r\n",
            RESPONSE.as_bytes(),
        ),
        answer("202 Accepted", "", b""),
        json("200 OK", RESPONSE),
        json("404 Not Found", RESPONSE),
        answer(
            "200 OK",
            "content-type: application/json\r\nmcp-session-id: s-2\r\n",
            RESPONSE.as_bytes(),
        ),
        answer("200 OK", "", b""),
    ]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    ask(&http, "initialize", OLD).unwrap();
    let head = server.request();
    assert!(
        !head.contains("mcp-session-id") && !head.contains("mcp-protocol-version"),
        "{head}"
    );
    let news = message("notifications/initialized", "2025-06-18");
    http.send(&news, &Cancel::new()).unwrap();
    assert!(server.request().contains("mcp-session-id: s-1\r\n"));
    ask(&http, "tools/list", "2025-06-18").unwrap();
    let head = server.request();
    assert!(head.contains("mcp-session-id: s-1\r\n"), "{head}");
    assert!(
        head.contains("mcp-protocol-version: 2025-06-18\r\n"),
        "{head}"
    );
    let outcome = ask(&http, "tools/list", OLD);
    assert!(
        matches!(outcome, Err(Error::Status { status: 404, .. })),
        "{outcome:?}"
    );
    drop(server.request());
    ask(&http, "initialize", OLD).unwrap();
    assert!(!server.request().contains("mcp-session-id"));
    drop(http);
    let head = server.request();
    assert!(
        head.starts_with("delete /v1/chat ") && head.contains("mcp-session-id: s-2\r\n"),
        "{head}"
    );
}

#[test]
fn a_reply_that_breaks_off_is_resumed_where_it_was() {
    let rest = format!("id: 8\ndata: {RESPONSE}\n\n");
    let server = Server::plain([events("id: 7\nretry: 1\ndata:\n\n"), events(&rest)]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    assert_eq!(ask(&http, "tools/list", OLD).unwrap(), RESPONSE);
    drop(server.request());
    let head = server.request();
    assert!(
        head.starts_with("get /v1/chat ") && head.contains("last-event-id: 7\r\n"),
        "{head}"
    );
}

#[test]
fn a_broken_reply_without_an_event_or_of_the_newest_version_is_an_error() {
    let broken = || events("id: 7\nretry: 1\ndata:\n\n");
    let server = Server::plain([events("data: {\"jso"), broken()]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    for version in [OLD, NEW] {
        let error = ask(&http, "tools/list", version).unwrap_err().to_string();
        assert!(error.contains("before the reply was complete"), "{error}");
    }
}

#[test]
fn the_stream_beside_the_replies_is_closed_some_time_after_the_last_use() {
    let server = Server::plain([events(": open\n\n").after(Duration::ZERO)]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    let open = || matches!(*http.0.listener.lock(), Listener::Open(_));
    let stream = http.0.listen(&Session::default(), &Cancel::new()).unwrap();
    let used = stream.unwrap().expect(1);
    http.0.touch_for(Duration::from_millis(20));
    Cancel::new().wait(Duration::from_millis(100));
    assert!(open(), "a call waits for what comes on it");
    drop(used);
    let watch = crate::base::clock::Stopwatch::start();
    while open() {
        assert!(watch.elapsed() < LONG, "it stays open");
        Cancel::new().wait(Duration::from_millis(5));
    }
}

/// Serves connections one after the other.
fn serve(talk: impl Fn(usize, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            talk(number, stream);
        }
    });
    url
}

fn take_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return head;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    lower
}

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

#[test]
fn a_reply_without_end_is_cut_off_in_time_and_in_size() {
    let url = serve(|number, mut stream| {
        take_request(&stream);
        let event = match number {
            // 100 MB of news.
            0 => "data: {\"method\":\"x\"}\n\n".to_owned() + &": 123456789\n".repeat(1000),
            // One line without an end.
            _ => "data: ".repeat(2000),
        };
        let _ = stream.write_all(STREAM.as_bytes());
        for _ in 0..9000 {
            if stream.write_all(event.as_bytes()).is_err() {
                break;
            }
        }
    });
    let (_folder, parts) = parts(&url);
    let http = Http::new(parts).unwrap();
    for _ in 0..2 {
        let cancel = Cancel::new();
        let mut replies = http
            .request(1, &message("tools/list", NEW), &cancel)
            .unwrap();
        let error = loop {
            match replies.next(LONG, &cancel) {
                Ok(Incoming::Message(_)) => {}
                Ok(Incoming::Nothing) => panic!("it was given time enough"),
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
}

#[test]
fn silence_is_nothing_and_a_stop_is_at_once() {
    let server = Server::plain([silence()]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    let cancel = Cancel::new();
    let mut replies = http
        .request(1, &message("tools/call", NEW), &cancel)
        .unwrap();
    let brief = Duration::from_millis(30);
    assert!(matches!(
        replies.next(brief, &cancel),
        Ok(Incoming::Nothing)
    ));
    let stream = serve(|_, mut stream| {
        take_request(&stream);
        stream.write_all(STREAM.as_bytes()).unwrap();
        thread::sleep(LONG);
    });
    let (_folder, parts) = self::parts(&stream);
    let http = Http::new(parts).unwrap();
    let mut replies = http
        .request(1, &message("tools/call", NEW), &cancel)
        .unwrap();
    let brief = Duration::from_millis(500);
    for _ in 0..2 {
        assert!(
            matches!(replies.next(brief, &cancel), Ok(Incoming::Nothing)),
            "it can go on"
        );
    }
    thread::scope(|scope| {
        let waits = scope.spawn(|| replies.next(LONG, &cancel).map(drop));
        cancel.cancel();
        let outcome = waits.join().unwrap();
        assert!(matches!(outcome, Err(Error::Stopped)), "{outcome:?}");
    });
}

#[test]
fn the_older_transport_brings_responses_on_its_stream() {
    let (sender, streams) = mpsc::channel::<TcpStream>();
    let streams = Mutex::new(streams);
    let url = serve(move |number, mut stream| {
        let head = take_request(&stream);
        if number == 0 {
            assert!(
                head.starts_with("get /mcp ") && head.contains("x-team: crabs"),
                "{head}"
            );
            let first = format!("{STREAM}event: endpoint\ndata: /messages?id=1\n\n");
            stream.write_all(first.as_bytes()).unwrap();
            sender.send(stream).unwrap();
            return;
        }
        assert!(
            head.starts_with("post /messages?id=1 ") && head.contains("x-team: crabs"),
            "{head}"
        );
        stream
            .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut events = streams.lock().recv().unwrap();
        let text = format!("event: message\ndata: {RESPONSE}\n\n");
        events.write_all(text.as_bytes()).unwrap();
    });
    let (_folder, parts) = parts(&url);
    let http = Http::new(parts).unwrap();
    assert!(http.fall_back(&Cancel::new()).unwrap());
    assert_eq!(ask(&http, "initialize", OLD).unwrap(), RESPONSE);
    let outcome = ask_more(&http);
    assert!(outcome.contains("closed the connection"), "{outcome}");
    assert!(http.is_over(), "the next call needs a new stream");
}

/// A request on a stream whose server has gone.
fn ask_more(http: &Http) -> String {
    let replies = http.0.stream().unwrap().expect(2);
    let mut replies: Box<dyn Replies> = Box::new(replies);
    replies.next(LONG, &Cancel::new()).unwrap_err().to_string()
}

#[test]
fn an_older_server_cannot_have_messages_sent_to_another_one() {
    for target in [
        "http://169.254.169.254/x",
        "https://evil.example/x",
        "//evil.example/x",
        "x",
    ] {
        let server = Server::plain([events(&format!("event: endpoint\ndata: {target}\n\n"))]);
        let (_folder, parts) = parts(&server.http());
        let http = Http::new(parts).unwrap();
        assert!(!http.fall_back(&Cancel::new()).unwrap(), "{target}");
        assert_eq!(server.connections(), 1);
    }
}

#[test]
fn a_question_beside_the_reply_comes_with_it() {
    let question = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}"#;
    let (sender, waiting) = mpsc::channel::<TcpStream>();
    let waiting = Mutex::new(waiting);
    let url = serve(move |number, mut stream| {
        let head = take_request(&stream);
        match number {
            // The session, on a connection that is closed.
            0 => {
                let text = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: s\r\n\
                     connection: close\r\ncontent-length: {}\r\n\r\n{RESPONSE}",
                    RESPONSE.len()
                );
                stream.write_all(text.as_bytes()).unwrap();
            }
            1 => {
                assert!(
                    head.starts_with("get /mcp ") && head.contains("mcp-session-id: s"),
                    "{head}"
                );
                stream.write_all(STREAM.as_bytes()).unwrap();
                sender.send(stream).unwrap();
            }
            // The call, whose response waits for the answer.
            2 => {
                let mut beside = waiting.lock().recv().unwrap();
                beside
                    .write_all(format!("data: {question}\n\n").as_bytes())
                    .unwrap();
                sender.send(stream).unwrap();
                // It is closed, and that ends nothing.
            }
            // The answer.
            3 => {
                let mut call = waiting.lock().recv().unwrap();
                call.write_all(format!("{STREAM}data: {RESPONSE}\n\n").as_bytes())
                    .unwrap();
                stream
                    .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
                    .unwrap();
            }
            _ => {}
        }
    });
    let (_folder, parts) = parts(&url);
    let http = Http::new(parts).unwrap();
    ask(&http, "initialize", OLD).unwrap();
    let cancel = Cancel::new();
    let mut replies = http
        .request(1, &message("tools/call", OLD), &cancel)
        .unwrap();
    let next = |replies: &mut Box<dyn Replies>| match replies.next(LONG, &cancel).unwrap() {
        Incoming::Message(text) => text,
        Incoming::Nothing => panic!("nothing came"),
    };
    assert_eq!(next(&mut replies), question);
    http.send(&message("", OLD), &cancel).unwrap();
    assert_eq!(next(&mut replies), RESPONSE);
}

/// Waits for what comes, and gives it up after this time.
fn wait(http: &Http, method: &'static str, version: &'static str, time: Duration) -> Incoming {
    let cancel = Cancel::new();
    let mut replies = http.request(1, &message(method, version), &cancel).unwrap();
    replies.next(time, &cancel).unwrap()
}

#[test]
fn a_header_that_drips_does_not_outlive_the_time() {
    let url = serve(|_, mut stream| {
        take_request(&stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nx: ");
        for _ in 0..500 {
            if stream.write_all(b"a").is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    let (_folder, parts) = parts(&url);
    let http = Http::new(parts).unwrap();
    let came = wait(&http, "tools/call", NEW, Duration::from_millis(200));
    assert!(matches!(came, Incoming::Nothing), "{came:?}");
}

#[test]
fn a_large_event_on_a_slow_line_is_waited_for() {
    let url = serve(|_, mut stream| {
        take_request(&stream);
        stream.write_all(STREAM.as_bytes()).unwrap();
        stream
            .write_all(b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"")
            .unwrap();
        for _ in 0..40 {
            stream.write_all(&[b'x'; 16 * 1024]).unwrap();
            thread::sleep(Duration::from_millis(50));
        }
        stream.write_all(b"\"}\n\n").unwrap();
    });
    let (_folder, parts) = parts(&url);
    let http = Http::new(parts).unwrap();
    match wait(&http, "tools/call", NEW, Duration::from_secs(1)) {
        Incoming::Message(text) => assert!(text.len() > 40 * 16 * 1024),
        Incoming::Nothing => panic!("it was given up"),
    }
}

#[test]
fn a_server_that_does_not_answer_holds_no_one_up_who_has_stopped() {
    let (sender, goes_on) = mpsc::channel::<()>();
    let goes_on = Mutex::new(goes_on);
    let url = serve(move |_, stream| {
        take_request(&stream);
        let _ = goes_on.lock().recv();
    });
    let (_folder, parts) = parts(&url);
    let http = Http::new(parts).unwrap();
    http.send(&message(CANCELLED, OLD), &Cancel::new()).unwrap();
    drop(sender);
}

#[test]
fn a_reply_is_asked_for_again_after_a_failure() {
    let rest = format!("id: 8\ndata: {RESPONSE}\n\n");
    let server = Server::plain([
        events("id: 7\nretry: 1\ndata:\n\n"),
        answer("503 Service Unavailable", "", b"not yet"),
        events(": nothing yet\n\nretry: 1\n\n"),
        events(&rest),
    ]);
    let (_folder, parts) = parts(&server.http());
    let http = Http::new(parts).unwrap();
    assert_eq!(ask(&http, "tools/list", OLD).unwrap(), RESPONSE);
    drop(server.request());
    for _ in 0..3 {
        assert!(server.request().contains("last-event-id: 7\r\n"));
    }
}

#[test]
fn many_messages_at_once_wait_until_they_are_read() {
    let (_folder, parts) = parts("http://127.0.0.1:1/");
    let inbox = Arc::new(inbox::Inbox::new(&parts));
    let mut replies = inbox.expect(1, false);
    let (writes, cancel) = (Arc::clone(&inbox), Cancel::new());
    let count = 3 * WAITING_MESSAGES;
    let thread = thread::spawn(move || {
        for number in 0..count {
            let put = writes.put(Some(1), Ok(number.to_string()), &Cancel::new());
            put.unwrap();
        }
    });
    for number in 0..count {
        match replies.next(LONG, &cancel).unwrap() {
            Incoming::Message(text) => assert_eq!(text, number.to_string()),
            Incoming::Nothing => panic!("{number} is missing"),
        }
    }
    thread.join().unwrap();
}
