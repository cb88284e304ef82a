//! What hostile clients cannot do.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Door, Reply, home, request, token};
use crate::harness::gate::Gate;
use crate::harness::model::{Model, say};
use crate::harness::wait_until;

#[test]
fn a_page_that_has_pointed_its_name_here_gets_nothing() {
    let model = Model::playing([]);
    let mut home = home(&model);
    home.set("/http/hosts", json!(["crab.example"]));
    home.set("/http/origins", json!(["https://app.example"]));
    let token = token(&home, "ana", "owner");
    let door = Door::start(&home);
    let ask = |method: &str, host: &str, headers: &str| {
        let text = request(method, "/v1/models", &token, headers, "");
        door.raw(&text.replace("Host: localhost", &format!("Host: {host}")))
    };
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8420",
    ] {
        assert_eq!(ask("GET", host, "").status, 421, "{host}");
    }
    for host in ["localhost:1", "127.0.0.1", "crab.example"] {
        assert_eq!(ask("GET", host, "").status, 200, "{host}");
    }
    for origin in ["null", "http://evil.example", "https://app.example.evil"] {
        let reply = ask("GET", "localhost", &format!("Origin: {origin}\r\n"));
        assert_eq!(reply.status, 403, "{origin}");
        assert!(!reply.head.contains("Access-Control"), "{origin}");
        let reply = ask("OPTIONS", "localhost", &format!("Origin: {origin}\r\n"));
        assert_eq!(reply.status, 403, "{origin}");
    }
    let listed = "Origin: https://app.example\r\n";
    for method in ["GET", "OPTIONS"] {
        let reply = ask(method, "localhost", listed);
        let wanted = "Access-Control-Allow-Origin: https://app.example\r\n";
        assert!(
            reply.head.contains(wanted) && !reply.head.contains("Credentials"),
            "{}",
            reply.head
        );
    }
    let own = ask("GET", "crab.example", "Origin: https://crab.example\r\n");
    assert!(own.status == 200 && !own.head.contains("Access-Control"));
    door.gateway.stop().ends_with(0);
}

#[test]
fn smuggled_requests_and_bombs_end_the_connection() {
    let model = Model::playing([]);
    let home = home(&model);
    let token = token(&home, "ana", "owner");
    let door = Door::start(&home);
    let smuggled = "GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (headers, status) in [
        ("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Content-Length: 4\r\nContent-Length: 0\r\n", 400),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding : chunked\r\n", 400),
        ("X: a\r\n Content-Length: 4\r\n", 400),
        ("X: a\nContent-Length: 4\r\n", 400),
    ] {
        let text = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{headers}\r\n0\r\n\r\n{smuggled}"
        );
        let reply = door.raw(&text);
        assert_eq!(reply.status, status, "{headers:?}");
        assert!(
            !reply.body.contains("HTTP/1.1 "),
            "{headers:?}: only one reply"
        );
    }
    // Each is over one bound alone: that of bytes, and that of headers.
    let bomb = format!("X: {}\r\n", "a".repeat(60_000));
    assert_eq!(
        door.raw(&request("GET", "/health", "", &bomb, "")).status,
        431
    );
    let many = "X: a\r\n".repeat(100);
    assert_eq!(
        door.raw(&request("GET", "/health", "", &many, "")).status,
        431
    );
    let long = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n";
    let length = "Content-Length: 99999999\r\n\r\n";
    assert_eq!(
        door.raw(&format!("{long}{length}")).status,
        401,
        "before a body is read"
    );
    let reply = door.raw(&format!("{long}Authorization: Bearer {token}\r\n{length}"));
    assert_eq!(reply.status, 413);
    // Two requests at once are two replies, in order.
    let both = format!(
        "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n{}",
        request("GET", "/v1/models", &token, "", "")
    );
    let reply = door.raw(&both);
    assert!(
        reply.status == 200 && reply.body.contains("HTTP/1.1 200") && reply.body.contains("main")
    );
    door.gateway.stop().ends_with(0);
}

#[test]
fn guesses_are_answered_slowly_and_logged_and_others_are_served_meanwhile() {
    let model = Model::playing([]);
    let home = home(&model);
    let token = token(&home, "ana", "owner");
    let door = Door::start(&home);
    let begun = Instant::now();
    for _ in 0..3 {
        assert_eq!(door.get("/v1/models", "pcb_wrong").status, 401);
    }
    // 250, 500 and 1000 ms.
    assert!(
        begun.elapsed() >= Duration::from_millis(1750),
        "{:?}",
        begun.elapsed()
    );
    let mut slow = door.connect();
    let guess = request("GET", "/v1/models", "pcb_wrong2", "", "");
    slow.write_all(guess.as_bytes()).unwrap();
    assert_eq!(door.get("/v1/models", &token).status, 200);
    let mut text = String::new();
    slow.read_to_string(&mut text).unwrap();
    assert_eq!(Reply::read(&text).status, 401);
    let log = door.gateway.stop().ends_with(0).stderr;
    assert_eq!(
        log.matches("refused a wrong token of HTTP").count(),
        4,
        "{log}"
    );
    assert!(
        log.contains("127.0.0.1") && !log.contains("pcb_wrong"),
        "{log}"
    );
}

/// Bytes of anonymous memory of a process.
fn anonymous(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("Anonymous:"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}

#[test]
fn a_thousand_idle_connections_and_slow_ones_hold_up_nobody() {
    let model = Model::playing([]);
    let mut home = home(&model);
    let hook = json!({"to": "telegram:1", "text": "x", "secret": "s3cret-s3cret"});
    home.set("/http/hooks", json!({"signed": hook}));
    let door = Door::start(&home);
    assert_eq!(door.get("/health", "").status, 200);
    let before = anonymous(door.gateway.id());
    let idle: Vec<TcpStream> = (0..1000).map(|_| door.connect()).collect();
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = door.connect();
            let _ = stream.write_all(b"GET /health HTTP/1.1\r\nHost: local");
            stream
        })
        .collect();
    assert_eq!(door.get("/health", "").status, 200);
    let grown = anonymous(door.gateway.id()).saturating_sub(before);
    assert!(grown < 1024 * 1024, "{grown} bytes for idle connections");
    drop((idle, slow));
    // Bodies of clients that are not known yet are no more at work than heads.
    let unknown: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = door.connect();
            // A header proves nothing where the signature decides.
            let _ = stream.write_all(
                b"POST /hooks/signed HTTP/1.1\r\nHost: localhost\r\nAuthorization: x\r\n\
                  Content-Length: 4000\r\n\r\n{",
            );
            stream
        })
        .collect();
    let signing_in: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = door.connect();
            let _ = stream.write_all(
                b"POST /page/sign-in HTTP/1.1\r\nHost: localhost\r\nX-Peacrab-Page: 1\r\n\
                  Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{",
            );
            stream
        })
        .collect();
    assert_eq!(door.get("/health", "").status, 200);
    drop((unknown, signing_in));
    // Nor does a reply that one of them does not read keep its place.
    let unread: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = door.connect();
            let page = "GET /page/page.css HTTP/1.1\r\nHost: localhost\r\n\r\n";
            let _ = stream.set_nonblocking(true);
            let _ = stream.write(page.repeat(1_000).as_bytes());
            stream
        })
        .collect();
    for _ in 0..5 {
        assert_eq!(door.get("/health", "").status, 200);
    }
    drop(unread);
    let with_body = request("GET", "/health", "", "", "x");
    assert_eq!(door.raw(&with_body).status, 413);
    // One that sends a byte now and then is ended all the same.
    let mut stream = door.connect();
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let mut text = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let _ = stream.write_all(b"a");
        let mut buffer = [0; 512];
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(_) if text.is_empty() => {}
            Err(_) => break,
        }
    }
    let reply = Reply::read(&String::from_utf8_lossy(&text));
    assert_eq!(reply.status, 408, "{}", reply.head);
    door.gateway.stop().ends_with(0);
}

/// Processor time of a process so far.
/// Bytes of memory that a process had at most.
fn peak(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}

/// A board has 512 MB, and a body of 8 MB is allowed.
#[test]
fn a_large_body_of_any_shape_takes_a_few_times_its_size_of_memory() {
    const MOST: u64 = 96 * 1024 * 1024;
    let model = Model::answering(|_| say("Hello."));
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let before = peak(door.gateway.id());
    let objects = format!("[{}1]", "{\"a\":1},".repeat(900_000));
    let numbers = format!("[{}1]", "1,".repeat(3_500_000));
    let people = format!("[{}1]", r#"{"role":"user","content":""},"#.repeat(250_000));
    let name = format!("\"{}\"", "x".repeat(7_000_000));
    for (path, member) in [
        ("/v1/responses", "input"),
        ("/v1/responses", "model"),
        ("/v1/responses", "conversation"),
        ("/v1/chat/completions", "messages"),
        ("/v1/chat/completions", "user"),
        ("/v1/chat/completions", "n"),
    ] {
        for large in [&objects, &numbers, &people, &name] {
            let body = format!("{{\"{member}\":{large}}}");
            let reply = door.raw(&request("POST", path, &token, "", &body));
            assert_eq!(reply.status, 400, "{path} {member}: {}", reply.head);
        }
    }
    let small = r#"{"model":"main","messages":[{"role":"user","content":"hi"}]}"#;
    let reply = door.raw(&request("POST", "/v1/chat/completions", &token, "", small));
    assert_eq!(reply.status, 200, "{}", reply.head);
    let grown = peak(door.gateway.id()) - before;
    assert!(grown < MOST, "{grown} bytes");
    door.gateway.stop().ends_with(0);
}

fn processor_time(process: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, rest) = text.rsplit_once(") ").unwrap();
    let ticks = |index: usize| rest.split(' ').nth(index).unwrap().parse::<u64>().unwrap();
    // Of 10 ms, as everywhere on Linux (proc_pid_stat(5)).
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

#[test]
fn a_client_that_breaks_off_behind_a_second_request_costs_nothing() {
    let gate = Gate::default();
    let model = Model::playing([say("late").after(&gate)]);
    let home = home(&model);
    let token = token(&home, "ana", "user");
    let door = Door::start(&home);
    let mut stream = door.connect();
    let body = r#"{"messages": [{"role": "user", "content": "hello"}]}"#;
    let asked = request("POST", "/v1/chat/completions", &token, "", body);
    stream.write_all(asked.as_bytes()).unwrap();
    model.wait_for_requests(1);
    stream.write_all(asked.as_bytes()).unwrap();
    // It has read the second one when it answers others that came later.
    assert_eq!(door.get("/health", "").status, 200);
    socket2::SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
    drop(stream);
    assert_eq!(door.get("/health", "").status, 200);
    let (before, begun) = (processor_time(door.gateway.id()), Instant::now());
    wait_until("some time", || {
        begun.elapsed() > Duration::from_millis(1500)
    });
    let used = processor_time(door.gateway.id()) - before;
    assert!(used < Duration::from_millis(750), "{used:?}");
    gate.open();
    door.gateway.stop().ends_with(0);
}
