//! The server's state, and the handling of requests.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::form::{self, Part};
use crate::harness::shared::{self, Recent, last};
use crate::harness::wire::{self, Connection, RawRequest};

use super::fault::{Fault, Faults, Refusal, Reply, token_refused};
use super::link::Link;
use super::store::Store;

/// The path of the long connection.
pub(super) const SOCKET: &str = "/ws/v2";

/// The routes: their names, methods and paths.
pub(super) const ROUTES: [(&str, &str, &str); 14] = [
    (
        "getToken",
        "POST",
        "/open-apis/auth/v3/tenant_access_token/internal",
    ),
    ("getEndpoint", "POST", "/callback/ws/endpoint"),
    ("getMe", "GET", "/open-apis/bot/v3/info"),
    ("getUser", "GET", "/open-apis/contact/v3/users/*"),
    ("createMessage", "POST", "/open-apis/im/v1/messages"),
    ("reply", "POST", "/open-apis/im/v1/messages/*/reply"),
    ("editMessage", "PATCH", "/open-apis/im/v1/messages/*"),
    ("deleteMessage", "DELETE", "/open-apis/im/v1/messages/*"),
    ("getMessage", "GET", "/open-apis/im/v1/messages/*"),
    ("react", "POST", "/open-apis/im/v1/messages/*/reactions"),
    ("download", "GET", "/open-apis/im/v1/messages/*/resources/*"),
    ("uploadImage", "POST", "/open-apis/im/v1/images"),
    ("uploadFile", "POST", "/open-apis/im/v1/files"),
    ("getChat", "GET", "/open-apis/im/v1/chats/*"),
];

/// One request.
#[derive(Clone, Debug)]
pub struct Call {
    /// The route, such as `createMessage`.
    pub route: &'static str,
    /// The path.
    pub path: String,
    /// The body's JSON, or the fields of its form.
    pub parameters: Value,
    /// When it was complete.
    pub at: Instant,
    /// When the server had done it; `None` if it failed or is not finished.
    pub done: Option<Instant>,
    pub(super) query: String,
    pub(super) arguments: Vec<String>,
    pub(super) parts: Vec<Part>,
    pub(super) bytes: usize,
    pub(super) number: usize,
}

impl Call {
    pub(super) fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }

    pub(super) fn asked(&self, name: &str) -> &str {
        let pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let mut found = pairs.filter(|(key, _)| *key == name);
        found.next().map_or("", |(_, value)| value)
    }

    pub(super) fn line(&self) -> String {
        format!(
            "{} {} {} {}",
            self.number, self.route, self.path, self.parameters
        )
    }

    /// Reads a request; `None` if there is no such route.
    fn read(raw: &RawRequest) -> Option<Self> {
        let (path, query) = raw.path.split_once('?').unwrap_or((&raw.path, ""));
        let (route, arguments) = ROUTES.iter().find_map(|(name, method, pattern)| {
            let arguments = arguments(pattern, path).filter(|_| *method == raw.method);
            Some((*name, arguments?))
        })?;
        Some(Self {
            route,
            path: path.to_owned(),
            parameters: json!({}),
            at: Instant::now(),
            done: None,
            query: query.to_owned(),
            arguments,
            parts: Vec::new(),
            bytes: raw.body.len(),
            number: 0,
        })
    }

    /// Reads the body. The error is the reason for a refusal.
    fn take_body(&mut self, raw: &RawRequest) -> Result<(), Refusal> {
        let invalid = |words| Refusal::new(9_499, words);
        if raw.body.is_empty() {
            return Ok(());
        }
        let kind = wire::header(&raw.headers, "content-type").unwrap_or_default();
        // lark-oapi asks for its token without saying what its body is.
        if kind.is_empty() || kind.starts_with("application/json") {
            self.parameters =
                serde_json::from_slice(&raw.body).map_err(|_| invalid("Bad Request"))?;
            return Ok(());
        }
        let boundary = kind.strip_prefix("multipart/form-data");
        let boundary = boundary.and_then(|rest| rest.split_once("boundary="));
        let (_, boundary) = boundary.ok_or_else(|| invalid("unsupported content type"))?;
        let parts = form::parts(&raw.body, boundary.trim_matches('"'));
        for part in parts.map_err(|_| invalid("broken form"))? {
            if part.file_name.is_none() {
                self.parameters[&part.name] = json!(String::from_utf8_lossy(&part.bytes));
            }
            self.parts.push(part);
        }
        Ok(())
    }
}

fn arguments(pattern: &str, path: &str) -> Option<Vec<String>> {
    let (mut pattern, mut path) = (pattern.split('/'), path.split('/'));
    let mut found = Vec::new();
    loop {
        match (pattern.next(), path.next()) {
            (None, None) => return Some(found),
            (Some("*"), Some(part)) if !part.is_empty() => found.push(part.to_owned()),
            (Some(expected), Some(part)) if expected == part => {}
            _ => return None,
        }
    }
}

pub(super) type Server = shared::Server<State>;

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    /// Its address, without a scheme.
    pub address: String,
    pub store: Store,
    pub link: Link,
    /// The token that is valid, and how many there were.
    pub token: String,
    pub tokens: usize,
    /// Whether the app may not know how people are called.
    pub hides_names: bool,
    pub calls: Vec<Call>,
    pub faults: Faults,
    /// Requests that were refused because of a rate limit.
    pub limited: usize,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
}

impl Recent for State {
    fn recent(&self) -> Vec<String> {
        last(self.calls.iter().map(Call::line))
    }
}

impl Server {
    /// Accepts connections.
    pub(super) fn listen(self: &Arc<Self>) {
        let server = Arc::clone(self);
        self.network.listen(move |socket| server.serve(socket));
    }

    fn serve(self: &Arc<Self>, socket: &TcpStream) -> io::Result<()> {
        let line = self.network.line();
        let mut connection = wire::open(socket.try_clone()?, &line, None)?;
        while let Some(mut raw) = wire::read_head(&mut connection)? {
            if raw.path.starts_with(SOCKET) {
                return self.open_link(&mut connection, &raw, socket);
            }
            wire::read_body(&mut connection, &mut raw)?;
            if !self.handle(&mut connection, &raw)? {
                break;
            }
        }
        Ok(())
    }

    /// Answers a request; returns whether the connection stays open.
    fn handle(&self, connection: &mut Connection, raw: &RawRequest) -> io::Result<bool> {
        let Some(mut call) = Call::read(raw) else {
            let line = format!("no such route: {} {}", raw.method, raw.path);
            self.change(|state| state.complain(line));
            Reply {
                status: 404,
                content_type: "text/plain",
                headers: Vec::new(),
                body: b"404 page not found".to_vec(),
            }
            .send(connection)?;
            return Ok(true);
        };
        let body = call.take_body(raw);
        let (call, fault) = self.change(|state| state.record(call));
        let act = || self.answer(raw, &call, body);
        match fault {
            Some(fault) => fault.play(connection, act),
            None => act().send(connection).map(|()| true),
        }
    }

    /// Carries out a call.
    fn answer(&self, raw: &RawRequest, call: &Call, body: Result<(), Refusal>) -> Reply {
        let authorization = wire::header(&raw.headers, "authorization").unwrap_or_default();
        let outcome = self.change(|state| {
            let is_open = ["getToken", "getEndpoint"].contains(&call.route);
            let token = authorization.strip_prefix("Bearer ").unwrap_or_default();
            if !is_open && (token.is_empty() || token != state.token) {
                // A client learns only in this way that its token has expired.
                return Err(token_refused().innocent());
            }
            body?;
            let done = state.act(call)?;
            state.calls[call.number - 1].done = Some(Instant::now());
            Ok(done)
        });
        match outcome {
            Ok(Outcome::Json(body)) => Reply::json(200, &body),
            Ok(Outcome::File(bytes)) => Reply {
                status: 200,
                content_type: "application/octet-stream",
                headers: Vec::new(),
                body: bytes.to_vec(),
            },
            Err(refusal) => {
                if !refusal.is_innocent {
                    let line = format!("{} {}: {}", refusal.code, refusal.words, call.line());
                    self.change(|state| state.complain(line));
                }
                match call.route {
                    // This one says everything in its body.
                    "getEndpoint" => Reply::json(
                        200,
                        &json!({"code": refusal.code, "msg": refusal.words, "data": null}),
                    ),
                    _ => Reply::refusal(&refusal),
                }
            }
        }
    }
}

/// What a call gives.
pub(super) enum Outcome {
    Json(Value),
    File(Arc<[u8]>),
}

impl State {
    /// Records a call; returns it with its number and its fault.
    fn record(&mut self, mut call: Call) -> (Call, Option<Fault>) {
        call.number = self.calls.len() + 1;
        self.calls.push(call.clone());
        let fault = self.faults.meet(&call);
        (call, fault)
    }

    pub(super) fn complain(&mut self, complaint: String) {
        if !self.forgiven.iter().any(|words| complaint.contains(words)) {
            self.complaints.push(complaint);
        }
    }

    pub(super) fn calls_of(&self, route: &str) -> Vec<Call> {
        let calls = self.calls.iter().filter(|call| call.route == route);
        calls.cloned().collect()
    }
}
