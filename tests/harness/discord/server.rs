//! The server's state, and the handling of requests.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use crate::harness::shared::{self, Recent, last};
use crate::harness::wire::{self, Connection, RawRequest};

use super::TOKEN;
use super::fault::{Fault, Faults, Refusal, Reply};
use super::gateway::Gateway;
use super::interactions::Interactions;
use super::limits::Limits;
use super::request::Call;
use super::store::Store;

/// The paths for opening websockets and for resuming sessions.
pub(super) const GATEWAY: &str = "/gateway";
pub(super) const RESUME: &str = "/resume";

pub(super) type Server = shared::Server<State>;

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    /// Its address, without a scheme.
    pub address: String,
    pub store: Store,
    pub gateway: Gateway,
    pub interactions: Interactions,
    pub limits: Limits,
    pub calls: Vec<Call>,
    /// The routes of the requests whose head has arrived.
    pub begun: Vec<&'static str>,
    pub faults: Faults,
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

    fn serve(&self, socket: &TcpStream) -> io::Result<()> {
        let line = self.network.line();
        let mut connection = wire::open(socket.try_clone()?, &line, None)?;
        while let Some(mut raw) = wire::read_head(&mut connection)? {
            let path = raw.path.split(['?', '/']).nth(1).unwrap_or_default();
            if [GATEWAY, RESUME].iter().any(|place| place[1..] == *path) {
                return self.open_gateway(&mut connection, &raw, socket);
            }
            let call = Call::route(&raw);
            if let Some(call) = &call {
                line.carries(call.route);
                self.change(|state| state.begun.push(call.route));
            }
            wire::read_body(&mut connection, &mut raw)?;
            if !self.handle(&mut connection, &raw, call)? {
                break;
            }
            line.carries("");
        }
        Ok(())
    }

    /// Answers a request; returns whether the connection stays open.
    fn handle(
        &self,
        connection: &mut Connection,
        raw: &RawRequest,
        call: Option<Call>,
    ) -> io::Result<bool> {
        if let Err(page) = self.pass_the_edge(raw) {
            page.send(connection)?;
            return Ok(false);
        }
        let Some(mut call) = call else {
            let line = format!("no such route: {} {}", raw.method, raw.path);
            self.change(|state| state.complain(line));
            let refusal = Refusal::new(404, 0, "404: Not Found");
            Reply::refusal(&refusal).send(connection)?;
            return Ok(true);
        };
        let body = call.take_body(raw);
        let (call, fault) = self.change(|state| state.record(call));
        let act = || self.answer(raw, &call, body);
        match fault {
            Some(fault) => {
                if let Some((seconds, is_global)) = fault.wait() {
                    let bucket = call.bucket();
                    let bucket = if is_global { "" } else { &bucket };
                    self.change(|state| state.limits.hold(bucket, seconds));
                }
                fault.play(connection, act)
            }
            None => act().send(connection).map(|()| true),
        }
    }

    /// Refuses what the proxy before the API refuses, without a JSON answer.
    fn pass_the_edge(&self, raw: &RawRequest) -> Result<(), Reply> {
        let header = |name| wire::header(&raw.headers, name);
        let refuse = |status: u16, words: &str| {
            let line = format!("{words}: {} {}", raw.method, raw.path);
            self.change(|state| state.complain(line));
            Err(Reply::page(status, words))
        };
        let agent = header("user-agent").unwrap_or_default();
        let inner = agent
            .strip_prefix("DiscordBot (")
            .and_then(|rest| rest.split_once(')'));
        // discord.py sends its user agent, except when the path has a token.
        let needs_name = raw.path.starts_with("/api/v10/")
            && !raw.path.starts_with("/api/v10/interactions/")
            && !raw.path.starts_with("/api/v10/webhooks/");
        let is_named = inner.is_some_and(|(inner, _)| inner.contains([' ', ',']));
        if needs_name && !is_named {
            return refuse(403, "a User-Agent that is not: DiscordBot (url, version)");
        }
        let has_body = ["POST", "PUT", "PATCH"].contains(&raw.method.as_str());
        if has_body && header("content-length").is_none() {
            return refuse(411, "no Content-Length");
        }
        Ok(())
    }

    /// Carries out a call.
    fn answer(&self, raw: &RawRequest, call: &Call, body: Result<(), Refusal>) -> Reply {
        let authorization = wire::header(&raw.headers, "authorization");
        if call.route == "cdn" {
            return self.download(call, authorization);
        }
        let names_token = ["/interactions/", "/webhooks/"];
        let needs_none = names_token.iter().any(|path| call.path.starts_with(path));
        let is_ours = authorization == Some(&format!("Bot {TOKEN}"));
        let needs_ours = !needs_none || authorization.is_some();
        if needs_ours && !is_ours {
            return self.refuse(call, &Refusal::new(401, 0, "401: Unauthorized"));
        }
        let verdict = self.change(|state| state.limits.count(call));
        if verdict.is_impatient {
            let line = format!(
                "asked again before the time that it was told to wait: {}",
                call.line()
            );
            self.change(|state| state.complain(line));
        }
        let mut reply = if let Some((seconds, is_global)) = verdict.wait {
            Reply::too_many(seconds, is_global)
        } else {
            let outcome = body.and_then(|()| self.change(|state| state.act(call)));
            match outcome {
                Ok((status, body)) => {
                    self.change(|state| state.has_done(call));
                    Reply::json(status, &body)
                }
                Err(refusal) => self.refuse(call, &refusal),
            }
        };
        reply.headers.extend(verdict.headers);
        reply
    }

    fn refuse(&self, call: &Call, refusal: &Refusal) -> Reply {
        if !refusal.is_innocent {
            let line = format!("{}: {}", refusal.line(), call.line());
            self.change(|state| state.complain(line));
        }
        Reply::refusal(refusal)
    }

    /// A file. Its link is enough, and requests must not have the bot's token.
    fn download(&self, call: &Call, authorization: Option<&str>) -> Reply {
        if authorization.is_some() {
            let line = format!("the CDN got an Authorization header: {}", call.path);
            self.change(|state| state.complain(line));
            return Reply::page(403, "403 Forbidden");
        }
        self.change(|state| {
            let is_fresh = call.asked("ex") == Some(&state.store.era.to_string());
            let file = state
                .store
                .file(call.id(0), call.id(1))
                .filter(|_| is_fresh);
            let Some(file) = file.cloned() else {
                return Reply::page(404, "This content is no longer available.");
            };
            state.has_done(call);
            Reply {
                status: 200,
                content_type: "application/octet-stream",
                headers: Vec::new(),
                body: file.bytes.to_vec(),
            }
        })
    }
}

impl State {
    /// Records a call; returns it with its number and its fault.
    fn record(&mut self, mut call: Call) -> (Call, Option<Fault>) {
        call.number = self.calls.len() + 1;
        self.calls.push(call.clone());
        let fault = self.faults.meet(&call);
        (call, fault)
    }

    fn has_done(&mut self, call: &Call) {
        self.calls[call.number - 1].done = Some(Instant::now());
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
