//! The server's state, and the handling of requests.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use rustls::ServerConfig;
use serde_json::Value;

use crate::harness::network::Network;
use crate::harness::shared::{Recent, Shared, last};
use crate::harness::wire::{self, Connection, RawRequest};

use super::TOKEN;
use super::check::{self, Refusal};
use super::fault::{Fault, Faults, Reply};
use super::person::Place;
use super::poll::Queue;
use super::request::{Call, DOWNLOAD, method_of};
use super::store::Store;

/// What all connections share.
pub(super) struct Server {
    pub network: Arc<Network>,
    pub tls: Option<Arc<ServerConfig>>,
    pub shared: Shared<State>,
}

/// The state of the server.
#[derive(Default)]
pub(super) struct State {
    pub store: Store,
    pub queue: Queue,
    /// The presses of buttons, and whether the bot has answered them.
    pub queries: BTreeMap<String, bool>,
    pub calls: Vec<Call>,
    /// What was answered to calls that succeeded: the method, its parameters and its result.
    pub exchanges: Vec<(String, Value, Value)>,
    /// The methods of the requests whose head has arrived.
    pub begun: Vec<String>,
    pub faults: Faults,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
}

impl Deref for Server {
    type Target = Shared<State>;

    fn deref(&self) -> &Self::Target {
        &self.shared
    }
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
        let mut connection = wire::open(socket.try_clone()?, &line, self.tls.as_ref())?;
        while let Some(mut raw) = wire::read_head(&mut connection)? {
            let method = method_of(&raw.path).to_owned();
            line.carries(&method);
            self.change(|state| state.begun.push(method));
            wire::read_body(&mut connection, &mut raw)?;
            if !self.handle(&mut connection, raw, socket)? {
                break;
            }
            line.carries("");
        }
        Ok(())
    }

    /// Answers a request; returns whether the connection stays open.
    pub(super) fn handle(
        &self,
        connection: &mut Connection,
        raw: RawRequest,
        socket: &TcpStream,
    ) -> io::Result<bool> {
        let (token, call) = match Call::read(raw) {
            Ok(read) => read,
            Err(complaint) => {
                let refusal = Refusal::new(404, "Not Found");
                self.change(|state| state.complain(complaint));
                Reply::of(Err(refusal)).send(connection)?;
                return Ok(false);
            }
        };
        let (call, fault) = self.change(|state| state.record(call));
        let act = || self.answer(&token, &call, socket);
        match fault {
            Some(fault) => fault.play(connection, act),
            None => match act() {
                Some(reply) => reply.send(connection).map(|()| true),
                None => Ok(false),
            },
        }
    }

    /// Carries out a call; `None` if the bot disconnected meanwhile.
    fn answer(&self, token: &str, call: &Call, socket: &TcpStream) -> Option<Reply> {
        let outcome = if token != TOKEN {
            Err(Refusal::new(401, "Unauthorized"))
        } else if call.method == DOWNLOAD {
            let download = self.state().download(call);
            match download {
                Ok(bytes) => {
                    self.change(|state| state.has_done(call));
                    return Some(Reply::file(&bytes));
                }
                Err(refusal) => Err(refusal),
            }
        } else if call.method == "getUpdates" {
            check::call(call).map_or_else(
                |refusal| Some(Err(refusal)),
                |()| self.get_updates(call, socket),
            )?
        } else {
            self.change(|state| state.act(call))
        };
        match &outcome {
            Ok(result) => self.change(|state| {
                state.has_done(call);
                let exchange = (call.method.clone(), call.parameters.clone(), result.clone());
                state.exchanges.push(exchange);
            }),
            Err(refusal) if !refusal.innocent => {
                let complaint = format!("{}: {}", refusal.description, call.line());
                self.change(|state| state.complain(complaint));
            }
            Err(_) => {}
        }
        Some(Reply::of(outcome))
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

    pub(super) fn calls_of(&self, method: &str) -> Vec<Value> {
        let calls = self.calls.iter().filter(|call| call.method == method);
        calls.map(|call| call.parameters.clone()).collect()
    }

    pub(super) fn times(&self, place: Place, methods: &[&str]) -> Vec<Instant> {
        let calls = self.calls.iter().filter(|call| {
            methods.contains(&call.method.as_str()) && call.integer("chat_id") == Some(place.chat)
        });
        calls.map(|call| call.at).collect()
    }
}
