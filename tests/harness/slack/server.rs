//! The server's state, and the handling of requests.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::shared::{self, Recent, last};
use crate::harness::wire::{self, Connection, RawRequest};

use super::fault::{Fault, Faults, Reply};
use super::limits::Limits;
use super::request::Call;
use super::socket::{LINK, Sockets};
use super::store::{BOT_ID, Store, TEAM};
use super::{APP_TOKEN, BOT_TOKEN};

pub(super) type Server = shared::Server<State>;

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    pub store: Store,
    pub sockets: Sockets,
    pub limits: Limits,
    pub calls: Vec<Call>,
    pub faults: Faults,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
    pub whispers: Vec<(String, String)>,
    pub missing_scopes: Vec<&'static str>,
    events: usize,
}

/// The scopes that methods need.
const SCOPES: [(&str, &str); 4] = [
    ("users.info", "users:read"),
    ("users.conversations", "channels:read"),
    ("reactions.add", "reactions:write"),
    ("files.getUploadURLExternal", "files:write"),
];

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

    fn serve(&self, socket: &TcpStream) -> io::Result<()> {
        let line = self.network.line();
        let mut connection = wire::open(socket.try_clone()?, &line, None)?;
        while let Some(raw) = wire::read(&mut connection)? {
            if raw.path.starts_with(LINK) {
                return self.open_socket(&mut connection, &raw, socket);
            }
            if !self.handle(&mut connection, &raw)? {
                break;
            }
        }
        Ok(())
    }

    /// Answers a request; returns whether the connection stays open.
    fn handle(&self, connection: &mut Connection, raw: &RawRequest) -> io::Result<bool> {
        let Some(call) = Call::read(raw) else {
            let line = format!("no such path: {} {}", raw.method, raw.path);
            self.change(|state| state.complain(line));
            Reply::page(404, "404 Not Found").send(connection)?;
            return Ok(true);
        };
        let fault = self.change(|state| {
            state.calls.push(call.clone());
            state.faults.meet(&call)
        });
        let act = || self.change(|state| state.answer(&call, &raw.method));
        match fault {
            Some(fault) => {
                if let Fault::TooMany(seconds) = fault {
                    self.change(|state| state.limits.hold(&call.bucket(), seconds));
                }
                fault.play(connection, act)
            }
            None => act().send(connection).map(|()| true),
        }
    }
}

impl State {
    /// Carries out a call.
    fn answer(&mut self, call: &Call, http_method: &str) -> Reply {
        match call.method.as_str() {
            "upload" => return self.upload(call),
            "download" => return self.download(call),
            _ => {}
        }
        let wanted = match call.method.as_str() {
            "apps.connections.open" => APP_TOKEN,
            _ => BOT_TOKEN,
        };
        match call.token.as_deref() {
            Some(token) if token == wanted => {}
            Some(APP_TOKEN | BOT_TOKEN) => return self.refuse(call, "not_allowed_token_type"),
            Some(_) => return self.refuse(call, "invalid_auth"),
            None => return self.refuse(call, "not_authed"),
        }
        if http_method != "POST" && http_method != "GET" {
            return self.refuse(call, "invalid_post_type");
        }
        let verdict = self.limits.count(call);
        if verdict.is_impatient {
            let line = format!(
                "called again before the time to wait was over: {}",
                call.line()
            );
            self.complain(line);
        }
        if let Some(seconds) = verdict.wait {
            return Reply::too_many(seconds);
        }
        let needed = SCOPES.iter().find(|(method, _)| *method == call.method);
        if let Some((_, scope)) = needed.filter(|(_, scope)| self.missing_scopes.contains(scope)) {
            let error = json!({"ok": false, "error": "missing_scope", "needed": scope, "provided": "chat:write"});
            return Reply::json(&error);
        }
        match self.act(call) {
            Ok(mut body) => {
                body["ok"] = json!(true);
                Reply::json(&body)
            }
            Err(error) => match error.strip_prefix('?') {
                // A correct client may get it too.
                Some(error) => Reply::error(error),
                None => self.refuse(call, error),
            },
        }
    }

    fn refuse(&mut self, call: &Call, error: &str) -> Reply {
        self.complain(format!("{error}: {}", call.line()));
        Reply::error(error)
    }

    /// Sends an event to the app.
    pub(super) fn event(&mut self, event: Value) {
        self.events += 1;
        let payload = json!({
            "token": "verification", "team_id": TEAM, "api_app_id": "A0CRAB", "event": event,
            "type": "event_callback", "event_id": format!("Ev{:08}", self.events), "event_time": 1,
            "authorizations": [{"team_id": TEAM, "user_id": BOT_ID, "is_bot": true}],
            "is_ext_shared_channel": false,
        });
        self.sockets.push("events_api", payload);
    }

    pub(super) fn complain(&mut self, complaint: String) {
        if !self.forgiven.iter().any(|words| complaint.contains(words)) {
            self.complaints.push(complaint);
        }
    }

    pub(super) fn calls_of(&self, method: &str) -> Vec<Call> {
        let calls = self.calls.iter().filter(|call| call.method == method);
        calls.cloned().collect()
    }
}
