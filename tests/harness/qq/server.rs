//! The server's state, and its connections.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Call, Fault, Message};
use crate::harness::discord::websocket::WebSocket;
use crate::harness::shared::{self, Recent, last};
use crate::harness::wire::{self, Connection, RawRequest};

pub(super) type Server = shared::Server<State>;

/// A message of a person, as far as it can be replied to.
pub(super) struct Heard {
    pub place: String,
    pub is_open: bool,
    /// The numbers of the replies.
    pub sequences: Vec<u64>,
}

/// A session with the gateway.
#[derive(Default)]
pub(super) struct Session {
    pub events: Vec<Value>,
    pub client: Option<Arc<WebSocket>>,
}

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    pub address: String,
    /// Milliseconds between heartbeats.
    pub heartbeat: u64,
    /// The access token in use; empty for none.
    pub token: String,
    pub tokens: usize,
    pub sessions: BTreeMap<String, Session>,
    pub readies: usize,
    pub resumes: usize,
    pub heard: BTreeMap<String, Heard>,
    pub messages: Vec<Message>,
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that were handed over: what refers to them, for whom, name and bytes.
    pub handed: Vec<(String, String, String, Vec<u8>)>,
    /// Presses, when they were made, and whether they were acknowledged.
    pub presses: Vec<(String, Instant, bool)>,
    pub calls: Vec<Call>,
    pub faults: Vec<Fault>,
    pub allows_active: bool,
    pub allows_markdown: bool,
    pub forbids_guilds: bool,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
    pub ids: usize,
}

/// An answer: a status and a body; `None` when the connection breaks instead.
pub(super) type Answer = Option<(u16, Value)>;

impl Recent for State {
    fn recent(&self) -> Vec<String> {
        last(self.calls.iter().map(|call| format!("{call:?}")))
    }
}

impl Server {
    /// Accepts connections.
    pub(super) fn listen(self: &Arc<Self>) {
        let server = Arc::clone(self);
        self.network.listen(move |socket| server.serve(socket));
    }

    fn serve(&self, socket: &TcpStream) -> io::Result<()> {
        let line = self.network.line();
        let mut connection = wire::open(socket.try_clone()?, &line, None)?;
        while let Some(request) = wire::read(&mut connection)? {
            if request.path == "/websocket" {
                return match WebSocket::accept(&mut connection, &request, socket)? {
                    Ok(client) => self.gateway(&mut connection, &Arc::new(client)),
                    Err(why) => {
                        self.change(|state| state.complain(why));
                        Ok(())
                    }
                };
            }
            if let Some(path) = request.path.strip_prefix("/files/") {
                self.download(&mut connection, &request, path)?;
                continue;
            }
            let answer = self.change(|state| state.answer(&request));
            let Some((status, body)) = answer else {
                return Ok(());
            };
            let headers = [("content-type", "application/json".to_owned())];
            let text = match &body {
                Value::String(page) => page.clone(),
                Value::Null => String::new(),
                body => body.to_string(),
            };
            wire::respond(&mut connection, status, &headers, &text)?;
        }
        Ok(())
    }

    /// A file of a message. Its URL is enough, and requests must not have the bot's token.
    fn download(
        &self,
        connection: &mut Connection,
        request: &RawRequest,
        path: &str,
    ) -> io::Result<()> {
        if wire::header(&request.headers, "authorization").is_some() {
            self.change(|state| state.complain("the server of files got a token".to_owned()));
        }
        let number = path.split('/').next().unwrap_or_default().parse::<usize>();
        let file = number
            .ok()
            .and_then(|number| self.state().files.get(number).cloned());
        match file {
            Some((_, bytes)) => wire::respond(connection, 200, &[], &bytes),
            None => wire::respond(connection, 404, &[], "no such file"),
        }
    }
}

impl State {
    pub(super) fn next_id(&mut self) -> String {
        self.ids += 1;
        format!("ROBOT1.0_{:06}-aZ.9!", self.ids)
    }

    /// Keeps a file of a person; returns it as a part of a message.
    pub(super) fn add_file(&mut self, name: &str, kind: &str, bytes: &[u8]) -> Value {
        self.files.push((name.to_owned(), bytes.to_vec()));
        let url = format!(
            "http://{}/files/{}/{name}",
            self.address,
            self.files.len() - 1
        );
        json!({"content_type": kind, "filename": name, "size": bytes.len(), "url": url})
    }

    pub(super) fn is_connected(&self) -> bool {
        self.sessions
            .values()
            .any(|session| session.client.is_some())
    }

    /// Tells every session an event; those that are not connected get it when they resume.
    pub(super) fn dispatch(&mut self, kind: &str, data: &Value) {
        for session in self.sessions.values_mut() {
            let event = json!({
                "op": 0, "s": session.events.len() + 1, "t": kind, "d": data,
                "id": format!("{kind}:{}", session.events.len()),
            });
            if let Some(client) = &session.client {
                client.say(&event.to_string());
            }
            session.events.push(event);
        }
    }

    pub(super) fn tell_all(&mut self, frame: &Value) {
        let clients = self
            .sessions
            .values()
            .filter_map(|session| session.client.as_ref());
        clients.for_each(|client| client.say(&frame.to_string()));
    }

    pub(super) fn close_gateway(&mut self, code: Option<u16>) {
        for session in self.sessions.values_mut() {
            match (session.client.take(), code) {
                (Some(client), Some(code)) => client.close(code, ""),
                (Some(client), None) => client.cut(),
                (None, _) => {}
            }
        }
        // With these the session is over.
        if code.is_some_and(|code| code == 4006 || code == 4007) {
            self.sessions.clear();
        }
    }

    pub(super) fn complain(&mut self, complaint: String) {
        if !self.forgiven.iter().any(|words| complaint.contains(words)) {
            self.complaints.push(complaint);
        }
    }
}
