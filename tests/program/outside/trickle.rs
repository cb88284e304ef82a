//! Model servers that keep the line busy without an answer.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::home::Home;
use crate::harness::program::Program;

/// A server that sends `head`, and then `drip` for ever; its address.
fn dripping(head: &'static str, drip: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let play = move |mut stream: TcpStream| {
        let sent = stream.write_all(head.as_bytes());
        let mut goes_on = sent.is_ok();
        while goes_on {
            thread::sleep(Duration::from_millis(100));
            goes_on = stream.write_all(drip.as_bytes()).is_ok();
        }
    };
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || play(stream.unwrap()));
        }
    });
    address
}

#[test]
fn a_reply_that_trickles_without_an_answer_ends() {
    let stream = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let begun = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let whole = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"choices\": ";
    let cases = [
        (stream, "\n"),
        (stream, ": thinking\n\n"),
        (begun, ": thinking\n\n"),
        (
            begun,
            "data: {\"choices\":[{\"delta\":{\"content\":\"\"}}]}\n\n",
        ),
        (whole, " "),
    ];
    let stories = cases.map(|(head, drip)| {
        thread::spawn(move || {
            let mut home = Home::with_endpoint("openai", &dripping(head, drip));
            home.set("/providers/fake/streamIdleTimeoutSecs", json!(1));
            let watch = Instant::now();
            let output = Program::new(&home).args(["agent", "-m", "hello"]).run();
            assert_ne!(output.code, Some(0), "{drip:?}");
            assert!(output.stderr.contains("does not grow"), "{}", output.stderr);
            assert!(watch.elapsed() < Duration::from_secs(60), "{drip:?}");
        })
    });
    for story in stories {
        story.join().unwrap();
    }
}
