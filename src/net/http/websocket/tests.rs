//! The protocol by itself, then against small servers on this machine.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;

use proptest::prelude::*;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::*;
use crate::base::secret::Secret;
use crate::net::http::server::Authority;
use crate::net::http::tests::proxied::tunnel_to;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

/// A frame as a server sends it.
fn frame(flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = encode(flags & 0x0f, payload, [0; 4]);
    let length = frame.len() - payload.len() - 4;
    frame.drain(length..length + 4);
    frame[0] = flags;
    frame[1] &= 0x7f;
    frame
}

/// Everything that some pieces decode to, up to the first violation.
fn decode(pieces: &[&[u8]]) -> (Vec<Received>, Option<Violation>) {
    let (mut decoder, mut all) = (Decoder::default(), Vec::new());
    for mut piece in pieces.iter().copied() {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(received)) => all.push(received),
                Ok(None) => break,
                Err(violation) => return (all, Some(violation)),
            }
        }
    }
    (all, None)
}

fn text(text: &str) -> Received {
    Received::Text(text.to_owned())
}

#[test]
fn fragments_are_joined_around_control_frames() {
    let long = "x".repeat(70_000);
    let stream = [
        frame(0x01, b"Hel"),
        frame(0x89, b"?"),
        frame(0x80, b"lo"),
        frame(0x82, &[7; 200]),
        frame(0x81, long.as_bytes()),
        frame(0x81, b""),
        frame(0x8a, b"!"),
        frame(0x88, b"\x0f\xa4reconnect"),
    ];
    let expected = vec![
        Received::Ping(b"?".to_vec()),
        text("Hello"),
        Received::Binary(vec![7; 200]),
        text(&long),
        text(""),
        Received::Pong(b"!".to_vec()),
        Received::Closed {
            code: 4004,
            reason: "reconnect".to_owned(),
        },
    ];
    assert_eq!(decode(&[&stream.concat()]), (expected, None));
}

#[test]
fn what_is_against_the_protocol_ends_it_with_the_right_code() {
    let huge = [&[0x82, 127][..], &u64::MAX.to_be_bytes()].concat();
    let too_large = [
        &[0x82, 127][..],
        &(WEBSOCKET_MESSAGE_BYTES as u64 + 1).to_be_bytes(),
    ]
    .concat();
    let most = WEBSOCKET_MESSAGE_BYTES;
    let sum = [frame(0x02, &vec![0; most]), frame(0x80, b"x")].concat();
    for (bytes, code) in [
        (frame(0xc1, b"compressed"), 1002),
        (encode(TEXT, b"masked", [1; 4]), 1002),
        (frame(0x80, b"continued"), 1002),
        ([frame(0x01, b"a"), frame(0x81, b"b")].concat(), 1002),
        (frame(0x83, b"unknown"), 1002),
        (frame(0x8b, b"unknown"), 1002),
        (frame(0x89, &[0; 126]), 1002),
        (frame(0x09, b"in parts"), 1002),
        (frame(0x88, b"x"), 1002),
        (frame(0x81, b"\xff"), 1007),
        (huge, 1009),
        (too_large, 1009),
        (sum, 1009),
    ] {
        let (received, violation) = decode(&[&bytes]);
        assert!(received.is_empty(), "{received:?}");
        assert_eq!(violation.map(|violation| violation.code), Some(code));
    }
}

#[test]
fn the_key_is_accepted_as_in_the_standard() {
    assert_eq!(
        accept_of("dGhlIHNhbXBsZSBub25jZQ=="),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    );
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_messages(
        messages in prop::collection::vec((0_usize..8, prop::collection::vec(any::<u8>(), 0..300)), 0..8),
        cuts in prop::collection::vec(0_usize..3000, 0..12),
    ) {
        let flags = [0x81, 0x82, 0x01, 0x02, 0x80, 0x00, 0x89, 0x88];
        let stream: Vec<u8> = messages
            .iter()
            .flat_map(|(kind, payload)| frame(flags[*kind], payload))
            .collect();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (stream.len() + 1)).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(&pieces), decode(&[&stream]));
    }

    #[test]
    fn any_bytes_are_messages_or_a_violation(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        decode(&[&bytes]);
    }
}

/// The server's side of the handshake, then `talk`.
fn serve(mut stream: impl Read + Write, talk: impl FnOnce(&mut dyn ReadWrite, String)) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    let head = String::from_utf8(head).unwrap();
    let key = head
        .lines()
        .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "));
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        accept_of(key.unwrap())
    );
    stream.write_all(answer.as_bytes()).unwrap();
    talk(&mut stream, head);
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

fn listen(
    tls: Option<ServerConfig>,
    talk: impl FnOnce(&mut dyn ReadWrite, String) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        match tls {
            None => serve(stream, talk),
            Some(config) => {
                let connection = ServerConnection::new(config.into()).unwrap();
                serve(StreamOwned::new(connection, stream), talk);
            }
        }
    });
    address
}

fn settings() -> Settings {
    Settings::new(LONG, LONG)
}

fn connect(url: &str, cancel: &Cancel) -> Result<Websocket> {
    let headers = [("authorization", "Bot canary")];
    Websocket::connect(&Tls::new(None).unwrap(), settings(), url, &headers, cancel)
}

/// The next frame that a client sent: opcode and payload.
fn next_frame(stream: &mut dyn ReadWrite) -> (u8, Vec<u8>) {
    let mut head = [0; 6];
    stream.read_exact(&mut head).unwrap();
    assert!(head[0] & 0x80 != 0 && head[1] & 0x80 != 0, "{head:x?}");
    let mut payload = vec![0; usize::from(head[1] & 0x7f)];
    stream.read_exact(&mut payload).unwrap();
    for (byte, mask) in payload.iter_mut().zip(head[2..].iter().cycle()) {
        *byte ^= mask;
    }
    (head[0] & 0x0f, payload)
}

#[test]
fn a_heartbeat_goes_out_while_a_message_is_still_coming_in() {
    let address = listen(None, |stream, head| {
        assert!(head.starts_with("GET /gateway?v=10 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("\r\nauthorization: Bot canary\r\n"), "{head}");
        let message = frame(0x81, b"in two parts");
        stream.write_all(&message[..5]).unwrap();
        assert_eq!(next_frame(stream), (TEXT, b"beat".to_vec()));
        stream.write_all(&message[5..]).unwrap();
        stream.write_all(&frame(0x89, b"there?")).unwrap();
        assert_eq!(next_frame(stream), (PONG, b"there?".to_vec()));
        stream.write_all(&frame(0x88, b"\x0f\xa9bye\x1b")).unwrap();
        assert_eq!(next_frame(stream), (CLOSE, b"\x0f\xa9".to_vec()));
    });
    let mut socket = connect(&format!("ws://{address}/gateway?v=10"), &Cancel::new()).unwrap();
    assert_eq!(socket.receive(SHORT).unwrap(), Received::Idle);
    socket.send_text("beat").unwrap();
    assert_eq!(socket.receive(LONG).unwrap(), text("in two parts"));
    assert_eq!(
        socket.receive(LONG).unwrap(),
        Received::Ping(b"there?".to_vec())
    );
    let closed = Received::Closed {
        code: 4009,
        reason: "bye".to_owned(),
    };
    assert_eq!(socket.receive(LONG).unwrap(), closed);
    assert!(
        socket
            .receive(LONG)
            .unwrap_err()
            .to_string()
            .contains("is closed")
    );
    assert!(socket.send_text("late").is_err());
}

#[test]
fn tls_carries_it_and_a_close_says_why() {
    let authority = Authority::new();
    let (sender, closed) = channel();
    let config = authority.issue("localhost", |_| ());
    let address = listen(Some(config), move |stream, _| {
        stream.write_all(&frame(0x82, &[9; 60_000])).unwrap();
        stream.flush().unwrap();
        sender.send(next_frame(stream)).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    let tls = Tls::new(Some(&file)).unwrap();
    let url = format!("wss://localhost:{}/", address.port());
    let mut socket = Websocket::connect(&tls, settings(), &url, &[], &Cancel::new()).unwrap();
    assert_eq!(
        socket.receive(LONG).unwrap(),
        Received::Binary(vec![9; 60_000])
    );
    socket.close(4000, "resuming later");
    let (opcode, payload) = closed.recv_timeout(LONG).unwrap();
    assert_eq!(
        (opcode, payload),
        (CLOSE, b"\x0f\xa0resuming later".to_vec())
    );
}

#[test]
fn a_raised_token_ends_the_wait_at_once() {
    let (sender, end) = channel::<()>();
    let address = listen(None, move |_, _| {
        let _ = end.recv();
    });
    let cancel = Cancel::new();
    let mut socket = connect(&format!("ws://{address}/"), &cancel).unwrap();
    let raiser = cancel.clone();
    let raised = thread::spawn(move || {
        Cancel::new().wait(SHORT);
        raiser.cancel();
        Stopwatch::start()
    });
    assert!(matches!(socket.receive(LONG), Err(Error::Stopped)));
    assert!(raised.join().unwrap().elapsed() < Duration::from_millis(500));
    drop(sender);
}

#[test]
fn a_connection_that_breaks_is_an_error_and_so_is_a_violation() {
    for (bytes, said) in [
        (vec![0x81, 5, b'h'], "without saying why"),
        (frame(0x81, b"\xff"), "not UTF-8"),
    ] {
        let address = listen(None, move |stream, _| stream.write_all(&bytes).unwrap());
        let mut socket = connect(&format!("ws://{address}/"), &Cancel::new()).unwrap();
        let error = socket.receive(LONG).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
        assert!(socket.receive(LONG).is_err());
    }
}

/// Answers any request with these bytes.
fn answering(answer: &'static str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _): (TcpStream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 90]).unwrap();
        stream.write_all(answer.as_bytes()).unwrap();
        let _ = io::copy(&mut stream, &mut io::sink());
    });
    format!("ws://{address}/")
}

#[test]
fn a_refusal_shows_what_the_server_says() {
    let url = answering("HTTP/1.1 429 No\r\nretry-after: 7\r\ncontent-length: 4\r\n\r\nslow");
    match connect(&url, &Cancel::new()).map(drop) {
        Err(Error::Status {
            status: 429,
            retry_after: Some(wait),
            body,
            ..
        }) => assert_eq!((wait.as_secs(), body.as_str()), (7, "slow")),
        other => panic!("{other:?}"),
    }
    let wrong_key = "HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n";
    for answer in [wrong_key, "HTTP/1.1 101 OK\r\n\r\n", "SSH-2.0-x\r\n\r\n"] {
        let error = connect(&answering(answer), &Cancel::new())
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, Error::Network { .. }), "{error}");
    }
    let smuggled = [("x", "1\r\ny: canary")];
    let tls = Tls::new(None).unwrap();
    let error = Websocket::connect(
        &tls,
        settings(),
        "ws://127.0.0.1:1/",
        &smuggled,
        &Cancel::new(),
    );
    assert!(matches!(error, Err(Error::Config(_))));
}

#[test]
fn a_proxy_tunnels_it() {
    let server = listen(None, |stream, head| {
        assert!(head.contains("\r\nHost: gateway.test\r\n"), "{head}");
        stream.write_all(&frame(0x81, b"hello")).unwrap();
        let _ = stream.read(&mut [0]);
    });
    let settings = Settings {
        proxy: Some(Secret::new(&format!("http://{}", tunnel_to(server)))),
        ..settings()
    };
    let tls = Tls::new(None).unwrap();
    let url = "ws://gateway.test/";
    let mut socket = Websocket::connect(&tls, settings, url, &[], &Cancel::new()).unwrap();
    assert_eq!(socket.receive(LONG).unwrap(), text("hello"));
}
