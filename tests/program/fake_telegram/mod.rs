//! The fake Telegram itself: it says what the real one says, and refuses what that refuses.

mod chats;
mod faults;
mod lines;
mod refusals;
mod updates;
mod vendors;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};

use crate::harness::telegram::{TOKEN, Telegram};

/// A bot that does as the story says.
#[derive(Clone)]
struct Bot {
    address: String,
    token: String,
}

/// An answer: its status, and its body as JSON or, where it is none, as a string.
type Answer = io::Result<(u16, Value)>;

impl Bot {
    fn of(telegram: &Telegram) -> Self {
        let url = telegram.url();
        Self {
            address: url.split_once("://").unwrap().1.to_owned(),
            token: TOKEN.to_owned(),
        }
    }

    /// Calls a method that works, and returns its result.
    #[track_caller]
    fn call(&self, method: &str, parameters: Value) -> Value {
        let (status, mut body) = self.ask(method, &parameters).unwrap();
        assert_eq!((status, &body["ok"]), (200, &json!(true)), "{body}");
        body["result"].take()
    }

    /// Calls a method that fails, and returns the error's number and words.
    #[track_caller]
    fn refused(&self, method: &str, parameters: Value) -> (u16, String) {
        let (status, body) = self.ask(method, &parameters).unwrap();
        assert_eq!(
            (&body["ok"], &body["error_code"]),
            (&json!(false), &json!(status))
        );
        (status, body["description"].as_str().unwrap().to_owned())
    }

    /// Asks something on a connection of its own.
    fn exchange(&self, method: &str, path: &str, body: (&str, &[u8])) -> Answer {
        let mut connection = BufReader::new(TcpStream::connect(&self.address)?);
        exchange(&mut connection, method, path, body)
    }

    /// Sends a document to a chat; returns the status.
    fn uploads(&self, chat: i64, bytes: &[u8]) -> u16 {
        let mut body = format!(
            "--border\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n{chat}\r\n--border\r\n\
             Content-Disposition: form-data; name=\"document\"; filename=\"a.bin\"\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n--border--\r\n");
        let path = format!("/bot{}/sendDocument", self.token);
        let kind = "multipart/form-data; boundary=border";
        self.exchange("POST", &path, (kind, &body)).unwrap().0
    }

    /// Fetches what is at a path.
    fn get(&self, path: &str) -> (u16, Value) {
        self.exchange("GET", path, ("", b"")).unwrap()
    }

    fn ask(&self, method: &str, parameters: &Value) -> Answer {
        let connection = TcpStream::connect(&self.address)?;
        self.ask_on(&mut BufReader::new(connection), method, parameters)
    }

    /// Calls a method on a connection that stays.
    fn ask_on<S: Read + Write>(
        &self,
        connection: &mut BufReader<S>,
        method: &str,
        parameters: &Value,
    ) -> Answer {
        let path = format!("/bot{}/{method}", self.token);
        let body = parameters.to_string();
        exchange(
            connection,
            "POST",
            &path,
            ("application/json", body.as_bytes()),
        )
    }

    /// Sends a text to a chat, and returns the message's id.
    #[track_caller]
    fn sends(&self, chat: i64, text: &str) -> i64 {
        let sent = self.call("sendMessage", json!({"chat_id": chat, "text": text}));
        sent["message_id"].as_i64().unwrap()
    }

    /// Asks for updates from an offset on; returns them.
    #[track_caller]
    fn polls(&self, offset: i64, timeout: u32) -> Vec<Value> {
        let updates = self.call("getUpdates", poll(offset, timeout));
        updates.as_array().unwrap().clone()
    }

    /// The same beside the story.
    fn polls_beside(&self, offset: i64) -> JoinHandle<Answer> {
        let bot = self.clone();
        thread::spawn(move || bot.ask("getUpdates", &poll(offset, 50)))
    }

    /// Sends a form with fields, and a file as the last of them.
    fn sends_form(
        &self,
        method: &str,
        fields: &[(&str, &str)],
        file: (&str, &str, &[u8]),
    ) -> Answer {
        let mut body = Vec::new();
        for (name, value) in fields {
            let part = format!(
                "--border\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
            body.extend_from_slice(part.as_bytes());
        }
        let (name, file_name, bytes) = file;
        let disposition = format!("form-data; name=\"{name}\"; filename=\"{file_name}\"");
        let head = format!(
            "--border\r\nContent-Disposition: {disposition}\r\nContent-Type: text/csv\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n--border--\r\n");
        let path = format!("/bot{}/{method}", self.token);
        let kind = "multipart/form-data; boundary=border";
        self.exchange("POST", &path, (kind, &body))
    }
}

fn poll(offset: i64, timeout: u32) -> Value {
    json!({
        "offset": offset, "timeout": timeout,
        "allowed_updates": ["message", "edited_message", "callback_query", "stopped_message_generation"],
    })
}

/// Asks and reads the answer.
fn exchange<S: Read + Write>(
    connection: &mut BufReader<S>,
    method: &str,
    path: &str,
    body: (&str, &[u8]),
) -> Answer {
    let (kind, body) = body;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: fake\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    connection.get_mut().write_all(head.as_bytes())?;
    connection.get_mut().write_all(body)?;
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let status = line
        .split(' ')
        .nth(1)
        .ok_or(io::ErrorKind::UnexpectedEof)?
        .parse();
    let mut length = 0;
    while line.trim_end() != "" {
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim_end().parse().map_err(io::Error::other)?;
        }
        line.clear();
        connection.read_line(&mut line)?;
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let json = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok((status.map_err(io::Error::other)?, json))
}

/// Whether the end of the fake fails the test.
fn fails(telegram: Telegram) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(telegram))).is_err()
}

#[test]
fn it_speaks_tls_with_an_authority_of_its_own() {
    let telegram = Telegram::start_with_tls();
    let bot = Bot::of(&telegram);
    let mut roots = rustls::RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(telegram.authority_file().unwrap()).unwrap();
    roots.add(authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(&bot.address).unwrap();
    let mut connection = BufReader::new(rustls::StreamOwned::new(client, socket));
    for _ in 0..2 {
        let (status, me) = bot.ask_on(&mut connection, "getMe", &json!({})).unwrap();
        assert_eq!((status, &me["result"]["is_bot"]), (200, &json!(true)));
    }
    assert_eq!(telegram.connections(), 1);
    let owner = telegram.person(1001, "Ana", None);
    owner.says("hi");
    let asked = bot
        .ask_on(&mut connection, "getUpdates", &poll(0, 50))
        .unwrap();
    assert_eq!(asked.1["result"][0]["message"]["text"], "hi");
}
