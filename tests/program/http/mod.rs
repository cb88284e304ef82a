//! The HTTP server for programs and browsers: who may, what it answers, and what hostile clients cannot do.

mod chat;
mod fair;
mod hooks;
mod hostile;
mod page;
mod responses;
mod stage;
mod tls;
mod waiting;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use crate::harness::PATIENCE;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::Model;
use crate::harness::program::Program;

pub use hooks::signed;

/// A home whose gateway listens at any port.
fn home(model: &Model) -> Home {
    let mut home = Home::with_model(model);
    home.set("/http/enabled", json!(true));
    home.set("/http/listen", json!("127.0.0.1:0"));
    home
}

/// Makes a token.
fn token(home: &Home, name: &str, role: &str) -> String {
    let program = Program::new(home).args(["http", "token", "add", name, "--role", role]);
    let printed = program.run().ends_with(0).stdout;
    printed.trim().to_owned()
}

/// A gateway that listens.
struct Door {
    gateway: Gateway,
    address: SocketAddr,
}

/// The address at which a gateway listens.
pub fn address_of(gateway: &Gateway) -> SocketAddr {
    gateway.wait_for_log("HTTP: listening on ");
    let log = gateway.log();
    let rest = log.split("HTTP: listening on ").nth(1).unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// Asks something there; returns the status and the body.
pub fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let asked = request(method, path, "", headers, body);
    stream.write_all(asked.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let reply = Reply::read(&text);
    (reply.status, reply.body)
}

/// A reply: its status, its headers, and its body.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Self {
            status: status.unwrap_or_default(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Door {
    fn start(home: &Home) -> Self {
        let gateway = Gateway::start(home);
        let address = address_of(&gateway);
        Self { gateway, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Writes bytes, and reads all until the end.
    fn raw(&self, bytes: &str) -> Reply {
        let mut stream = self.connect();
        // A refusal may come, and the connection end, before all is written.
        let _ = stream.write_all(bytes.as_bytes());
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        Reply::read(&String::from_utf8_lossy(&text))
    }

    fn get(&self, path: &str, token: &str) -> Reply {
        self.raw(&request("GET", path, token, "", ""))
    }

    fn post(&self, path: &str, token: &str, body: &Value) -> Reply {
        self.raw(&request("POST", path, token, "", &body.to_string()))
    }
}

/// A request with headers, each with its line end.
fn request(method: &str, path: &str, token: &str, headers: &str, body: &str) -> String {
    let token = match token {
        "" => String::new(),
        token => format!("Authorization: Bearer {token}\r\n"),
    };
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{token}{headers}Content-Length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn a_token_opens_what_its_role_may_until_it_is_revoked() {
    let model = Model::playing([]);
    let home = home(&model);
    let (kuma, ana) = (token(&home, "kuma", "guest"), token(&home, "ana", "user"));
    let door = Door::start(&home);
    let health = door.get("/health", "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    for path in ["/metrics", "/status.json", "/v1/models", "/nothing"] {
        let reply = door.get(path, "");
        assert_eq!(reply.status, 401, "{path}");
        assert!(reply.head.contains("WWW-Authenticate: Bearer"));
    }
    assert_eq!(door.get("/metrics", &kuma).status, 403);
    assert_eq!(
        door.get("/v1/models", &kuma).json()["data"][0]["id"],
        "main"
    );
    assert_eq!(door.get("/nothing", &kuma).status, 404);
    assert_eq!(
        door.raw(&request("DELETE", "/metrics", &ana, "", ""))
            .status,
        405
    );

    let metrics = door.get("/metrics", &ana);
    assert_eq!(metrics.status, 200);
    for line in [
        "# TYPE peacrab_turns_running gauge",
        "peacrab_turns_running 0",
        "peacrab_messages_unsent 0",
        "peacrab_channel_up{channel=\"http\"} 1",
        "peacrab_board_memory_total_bytes ",
        "peacrab_resident_bytes ",
    ] {
        assert!(metrics.body.contains(line), "{line}: {}", metrics.body);
    }
    let status = door.get("/status.json", &ana).json();
    assert_eq!(status["agents"], json!(["main"]));
    assert_eq!(status["trouble"], Value::Null);
    assert_eq!(status["figures"]["turns_waiting"], 0.0);

    let run = |words: &[&str]| Program::new(&home).args(words).run().ends_with(0).stdout;
    let listed = run(&["http", "token", "list"]);
    assert!(
        listed.contains("kuma") && listed.contains("guest"),
        "{listed}"
    );
    run(&["http", "token", "revoke", "ana"]);
    assert_eq!(door.get("/metrics", &ana).status, 401);
    let output = door.gateway.stop().ends_with(0);
    let state = std::fs::read_to_string(home.path().join("state/pairing.json")).unwrap();
    for told in [&output.stderr, &listed, &state] {
        assert!(!told.contains(&kuma) && !told.contains(&ana));
    }
}

#[test]
fn nothing_listens_while_it_is_off_and_a_wrong_address_is_an_error() {
    let model = Model::playing([]);
    let mut home = home(&model);
    home.set("/http/listen", json!("nowhere"));
    let output = Program::new(&home).arg("gateway").run();
    assert_eq!(output.code, Some(78));
    assert!(output.stderr.contains("http.listen"), "{}", output.stderr);
    home.set("/http/enabled", json!(false));
    let output = Program::new(&home).arg("gateway").run();
    assert!(output.stderr.contains("nothing to do"), "{}", output.stderr);
}

#[test]
fn a_socket_is_a_place_to_listen_too() {
    let model = Model::playing([]);
    let mut home = home(&model);
    let path = home.path().join("http.sock");
    home.set("/http/listen", json!(format!("unix:{}", path.display())));
    let gateway = Gateway::start(&home);
    gateway.wait_for_log("HTTP: listening on unix:");
    let mut stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
    stream
        .write_all(request("GET", "/health", "", "", "").as_bytes())
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("ok\n"), "{text}");
    gateway.stop().ends_with(0);
    assert!(!path.exists());
}
