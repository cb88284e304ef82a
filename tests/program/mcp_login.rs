//! Logins that a call of a server elsewhere begins.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::gateway::scene::Scene;
use crate::harness::model::{call, say};

/// A server with the tool `who`, which wants a login for each call, and the paths that it was asked for.
#[derive(Clone)]
struct Server {
    origin: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            asked: Arc::default(),
        };
        let own = server.clone();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|one| own.serve(one)));
        server
    }

    /// Answers one request. A client that goes away has asked for nothing.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(&stream);
        let (mut first, mut length) = (String::new(), 0);
        let _ = reader.read_line(&mut first);
        for line in reader.by_ref().lines().map_while(Result::ok) {
            let line = line.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(bytes) = line.strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        let path = first.split(' ').nth(1).unwrap_or_default();
        self.asked.lock().unwrap().push(path.to_owned());
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, answer) = self.answer(path, &request);
        let answer = answer.to_string();
        let _ = write!(
            &stream,
            "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nWWW-Authenticate: Bearer\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{answer}",
            answer.len()
        );
    }

    fn answer(&self, path: &str, request: &Value) -> (u16, Value) {
        let origin = &self.origin;
        let result = |value: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": value});
        match (path, request["method"].as_str()) {
            (_, Some("initialize")) => {
                let about = json!({"name": "pay", "version": "1"});
                let can = json!({"tools": {}});
                let hello = json!({"protocolVersion": "2025-06-18", "capabilities": can, "serverInfo": about});
                (200, result(hello))
            }
            (_, Some("tools/list")) => {
                let who =
                    json!({"name": "who", "description": "Who", "inputSchema": {"type": "object"}});
                (200, result(json!({"tools": [who]})))
            }
            (_, Some("tools/call")) => (401, json!({})),
            (_, Some(method)) if method.starts_with("notifications/") => (202, json!({})),
            (path, None) if path.contains("oauth-protected-resource") => {
                let resource = format!("{origin}/mcp");
                (
                    200,
                    json!({"resource": resource, "authorization_servers": [origin]}),
                )
            }
            (path, None) if path.contains("oauth-authorization-server") => {
                let at = |path: &str| format!("{origin}/{path}");
                let document = json!({
                    "issuer": origin, "authorization_endpoint": at("authorize"), "token_endpoint": at("token"),
                    "registration_endpoint": at("register"), "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                });
                (200, document)
            }
            ("/register", None) => (201, json!({"client_id": "ours"})),
            _ => (404, json!({})),
        }
    }
}

#[test]
fn a_call_of_who_is_no_owner_begins_no_login() {
    let server = Server::start();
    let mut scene = Scene::answering(|request| match request.last_message() {
        last if last.contains("\"tool\"") => say(&last),
        _ => call("mcp_pay_who", json!({})),
    })
    .set("roles", json!({"2002": "user"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let url = format!("{}/mcp", server.origin);
    scene.home.set("/tools/mcpServers/pay", json!({"url": url}));
    let gateway = scene.start();
    bob.says("who?");
    scene.wait_in(bob.chat(), "needs a login");
    let asked = server.asked.lock().unwrap().clone();
    assert!(asked.iter().all(|path| path == "/mcp"), "{asked:?}");
    scene.ana.says("who?");
    scene.wait_for("/authorize?");
    scene.ana.says("/stop");
    gateway.stop().ends_with(0);
}
