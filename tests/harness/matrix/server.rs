//! The server's state, and the handling of requests.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ServerConfig;

use crate::harness::shared::{self, Recent, last};
use crate::harness::wire::{self, Connection, RawRequest};

use super::TOKEN;
use super::fault::{Fault, Faults, Refusal, Reply};
use super::request::Call;
use super::store::Store;

pub(super) type Server = shared::Server<State>;

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    /// Its URL.
    pub url: String,
    /// Its side of TLS.
    pub tls: Option<Arc<ServerConfig>>,
    pub store: Store,
    pub calls: Vec<Call>,
    pub faults: Faults,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
    /// Messages that may be sent in a time; `None` for no limit.
    pub limit: Option<(usize, Duration)>,
    pub sent: Vec<Instant>,
    /// Since when and until when no message may be sent.
    pub held: Option<(Instant, Instant)>,
    /// How many messages were refused because of the limit.
    pub limited: usize,
    /// Whether places in the stream from before are unknown.
    pub oldest: u64,
    /// Whether files have to be fetched the old way.
    pub is_old: bool,
    /// Whether files are on another host.
    pub redirects: bool,
    pub is_closing: bool,
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
        let tls = self.change(|state| state.tls.clone());
        let mut connection = wire::open(socket.try_clone()?, &line, tls.as_ref())?;
        while let Some(mut raw) = wire::read_head(&mut connection)? {
            let call = Call::route(&raw);
            wire::read_body(&mut connection, &mut raw)?;
            if !self.handle(&mut connection, &raw, call)? {
                break;
            }
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
        let Some(mut call) = call else {
            let line = format!("no such route: {} {}", raw.method, raw.path);
            self.change(|state| state.complain(line));
            let refusal = Refusal::new(404, "M_UNRECOGNIZED", "Unrecognized request");
            Reply::refusal(&refusal).send(connection)?;
            return Ok(true);
        };
        let body = call.take_body(raw);
        let (call, fault) = self.change(|state| state.record(call));
        let act = || self.answer(raw, &call, body);
        match fault {
            Some(fault) => {
                if let Fault::TooManyRequests(millis) = fault {
                    let now = Instant::now();
                    let until = now + Duration::from_millis(millis);
                    let is_send = call.route == "send";
                    self.change(|state| state.held = Some((now, until)).filter(|_| is_send));
                }
                fault.play(connection, act)
            }
            None => act().send(connection).map(|()| true),
        }
    }

    /// Carries out a call.
    fn answer(&self, raw: &RawRequest, call: &Call, body: Result<(), Refusal>) -> Reply {
        let authorization = wire::header(&raw.headers, "authorization");
        let is_ours = authorization == Some(&format!("Bearer {TOKEN}"));
        let is_open = ["login", "versions", "oldDownload", "moved"].contains(&call.route);
        if call.route == "moved" && authorization.is_some() {
            let line = format!("another host got the token: {}", call.line());
            self.change(|state| state.complain(line));
        }
        if !is_open && !is_ours {
            let words = "Invalid access token passed.";
            return self.refuse(call, &Refusal::new(401, "M_UNKNOWN_TOKEN", words));
        }
        if let Err(refusal) = body {
            return self.refuse(call, &refusal);
        }
        if call.route == "sync" {
            return match self.sync(call) {
                Ok(body) => Reply::json(200, &body),
                Err(refusal) => self.refuse(call, &refusal),
            };
        }
        if ["download", "oldDownload", "moved"].contains(&call.route) {
            return self.download(call);
        }
        if ["send", "redact"].contains(&call.route)
            && let Some(millis) = self.change(|state| state.count_message(call))
        {
            return Reply::too_many(millis);
        }
        match self.change(|state| state.act(call, raw)) {
            Ok(body) => Reply::json(200, &body),
            Err(refusal) => self.refuse(call, &refusal),
        }
    }

    fn refuse(&self, call: &Call, refusal: &Refusal) -> Reply {
        if !refusal.is_innocent {
            let line = format!("{}: {}", refusal.line(), call.line());
            self.change(|state| state.complain(line));
        }
        Reply::refusal(refusal)
    }

    /// A file: by the path that needs the token, and by no other, as Synapse does.
    fn download(&self, call: &Call) -> Reply {
        let state = self.state();
        let is_current = call.route != "oldDownload";
        if is_current == state.is_old && call.route != "moved" {
            let refusal = match state.is_old {
                true => Refusal::new(404, "M_UNRECOGNIZED", "Unrecognized request").innocent(),
                false => Refusal::not_found("Media requires authentication"),
            };
            drop(state);
            return self.refuse(call, &refusal);
        }
        let uri = match call.route {
            "moved" => format!("mxc://{}/{}", super::store::SERVER, call.argument(0)),
            _ => format!("mxc://{}/{}", call.argument(0), call.argument(1)),
        };
        let Some(file) = state.store.file(&uri).cloned() else {
            drop(state);
            return self.refuse(call, &Refusal::not_found("Not found").innocent());
        };
        if state.redirects && call.route == "download" {
            let target = format!("{}/moved/{}", state.url, call.argument(1));
            let mut reply = Reply::json(307, &serde_json::json!({}));
            reply.headers.push(("location", target));
            return reply;
        }
        Reply {
            status: 200,
            headers: vec![("content-type", file.mime)],
            body: file.bytes.to_vec(),
        }
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

    /// Counts a message; returns the wait in milliseconds when there are too many.
    fn count_message(&mut self, call: &Call) -> Option<u64> {
        let now = Instant::now();
        // Clocks differ a little, and a request may be on its way when another one is refused.
        let (tolerance, under_way) = (Duration::from_millis(20), Duration::from_millis(150));
        let is_early = |(since, until)| since + under_way < call.at && call.at + tolerance < until;
        if self.held.is_some_and(is_early) {
            let line = format!(
                "asked again before the time that it was told to wait: {}",
                call.line()
            );
            self.complain(line);
        }
        let (most, time) = self.limit?;
        self.sent.retain(|at| now < *at + time);
        if self.sent.len() < most {
            self.sent.push(now);
            return None;
        }
        let wait = (self.sent[0] + time).saturating_duration_since(now);
        self.held = Some((now, now + wait));
        self.limited += 1;
        Some(wait.as_millis() as u64 + 1)
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
