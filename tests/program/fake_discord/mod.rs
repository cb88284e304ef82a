//! The fake Discord itself: it says what the real one says, and refuses what that refuses.

mod gateway;
mod interactions;
mod messages;
mod standalone;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};

use crate::harness::discord::{Discord, Place, TOKEN};

/// A bot that does as the story says.
#[derive(Clone)]
struct Bot {
    address: String,
    /// The lines of the head that each request has.
    head: String,
}

/// An answer: its status, its head, and its body as JSON or, where it is none, as a string.
type Answer = io::Result<(u16, String, Value)>;

impl Bot {
    fn of(discord: &Discord) -> Self {
        let base = discord.api_base();
        let address = base.split('/').nth(2).unwrap().to_owned();
        Self {
            address,
            head: format!(
                "user-agent: DiscordBot (https://example.org, 1)\r\nauthorization: Bot {TOKEN}\r\n"
            ),
        }
    }

    /// The same without a line of its head.
    fn without(&self, name: &str) -> Self {
        let lines = self.head.split_inclusive("\r\n");
        Self {
            head: lines.filter(|line| !line.starts_with(name)).collect(),
            ..self.clone()
        }
    }

    /// Asks the API; the path is behind the base.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let text = body.to_string();
        let kind = "application/json";
        self.exchange(method, &format!("/api/v10{path}"), (kind, text.as_bytes()))
    }

    fn exchange(&self, method: &str, path: &str, (kind, body): (&str, &[u8])) -> Answer {
        let mut connection = BufReader::new(TcpStream::connect(&self.address)?);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: fake\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{}\r\n",
            body.len(),
            self.head
        );
        connection.get_mut().write_all(head.as_bytes())?;
        connection.get_mut().write_all(body)?;
        read_answer(&mut connection)
    }

    /// Asks for something that works, and returns its body.
    #[track_caller]
    fn does(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, _, answer) = self.ask(method, path, &body).unwrap();
        assert!(status < 300, "{status} {answer}");
        answer
    }

    /// Asks for something that fails, and returns the status and the code.
    #[track_caller]
    fn refused(&self, method: &str, path: &str, body: Value) -> (u16, u64) {
        let (status, _, answer) = self.ask(method, path, &body).unwrap();
        assert!(status >= 400, "{status} {answer}");
        (status, answer["code"].as_u64().unwrap_or_default())
    }

    /// Sends a text; returns the answer.
    fn sends(&self, place: Place, text: &str) -> Answer {
        self.ask("POST", &messages(place), &json!({"content": text}))
    }
}

fn messages(place: Place) -> String {
    format!("/channels/{}/messages", place.0)
}

fn read_answer(connection: &mut BufReader<TcpStream>) -> Answer {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if connection.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let json = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((status.unwrap(), head, json))
}

/// A connection to the gateway.
struct Link(BufReader<TcpStream>);

/// What the gateway says.
#[derive(Debug, PartialEq)]
enum Said {
    Message(Value),
    Closed(u16),
    Gone,
}

impl Link {
    fn open(bot: &Bot, path: &str) -> Self {
        let mut connection = BufReader::new(TcpStream::connect(&bot.address).unwrap());
        let head = format!(
            "GET {path}?v=10&encoding=json HTTP/1.1\r\nhost: fake\r\nupgrade: websocket\r\n\
             connection: Upgrade\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        connection.get_mut().write_all(head.as_bytes()).unwrap();
        let (status, head, _) = read_answer(&mut connection).unwrap();
        assert_eq!(status, 101);
        // The example of RFC 6455.
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        let mut link = Self(connection);
        assert_eq!(link.op(10)["d"]["heartbeat_interval"], 41_250);
        link
    }

    fn says(&mut self, message: &Value) {
        self.frame(1, message.to_string().as_bytes());
    }

    fn closes(&mut self, code: u16) {
        self.frame(8, &code.to_be_bytes());
    }

    fn frame(&mut self, kind: u8, body: &[u8]) {
        let mut frame = vec![0x80 | kind];
        match body.len() {
            length if length < 126 => frame.push(0x80 | length as u8),
            length => {
                frame.push(0x80 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
        }
        frame.extend([1, 2, 3, 4]);
        let masked = body
            .iter()
            .enumerate()
            .map(|(place, byte)| byte ^ (place % 4 + 1) as u8);
        frame.extend(masked);
        self.0.get_mut().write_all(&frame).unwrap();
    }

    fn next(&mut self) -> Said {
        let mut head = [0; 2];
        if self.0.read_exact(&mut head).is_err() {
            return Said::Gone;
        }
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.0.read_exact(&mut length).unwrap();
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.0.read_exact(&mut length).unwrap();
                u64::from_be_bytes(length)
            }
            length => u64::from(length),
        };
        let mut body = vec![0; length as usize];
        self.0.read_exact(&mut body).unwrap();
        match head[0] & 0x0f {
            8 => Said::Closed(u16::from_be_bytes([body[0], body[1]])),
            _ => Said::Message(serde_json::from_slice(&body).unwrap()),
        }
    }

    /// The next message, which has this opcode.
    #[track_caller]
    fn op(&mut self, op: u64) -> Value {
        match self.next() {
            Said::Message(message) if message["op"] == op => message,
            other => panic!("{other:?} where opcode {op} was to come"),
        }
    }

    /// The next message, which is an event of this kind; its data.
    #[track_caller]
    fn event(&mut self, kind: &str) -> Value {
        let mut message = self.op(0);
        assert_eq!(message["t"], kind, "{message}");
        message["d"].take()
    }

    /// Begins a session with these intents; returns the answer to that.
    fn identify(&mut self, intents: u64) -> Said {
        self.says(&json!({"op": 2, "d": {"token": TOKEN, "intents": intents, "properties": {}}}));
        self.next()
    }

    /// A connection with a new session, whose id comes with it.
    fn with_session(bot: &Bot, intents: u64) -> (Self, String) {
        let mut link = Self::open(bot, "/gateway");
        let Said::Message(ready) = link.identify(intents) else {
            panic!("no READY");
        };
        assert_eq!(ready["t"], "READY");
        let id = ready["d"]["session_id"].as_str().unwrap().to_owned();
        (link, id)
    }

    fn resume(&mut self, session: &str, newest: u64) -> Said {
        self.says(&json!({"op": 6, "d": {"token": TOKEN, "session_id": session, "seq": newest}}));
        self.next()
    }
}

/// Whether the end of the fake fails the test.
fn fails(discord: Discord) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(discord))).is_err()
}
