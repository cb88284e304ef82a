//! Socket mode: tickets, connections, and envelopes until they are acknowledged.
//! <https://docs.slack.dev/apis/events-api/using-socket-mode>

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::discord::websocket::{Received, WebSocket};
use crate::harness::wire::{self, Connection, RawRequest};

use super::fault::Reply;
use super::server::{Server, State};

/// The path of connections.
pub(super) const LINK: &str = "/link/";

/// The connections and what they carry.
#[derive(Default)]
pub(super) struct Sockets {
    /// Tickets that have not been used.
    tickets: Vec<String>,
    links: BTreeMap<usize, Arc<WebSocket>>,
    /// Envelopes that no connection has acknowledged.
    waiting: VecDeque<Envelope>,
    last_event: Option<Value>,
    envelopes: usize,
    issued: usize,
    /// How many connections were opened.
    pub opened: usize,
    /// What acknowledgements of slash commands showed.
    pub answers: Vec<String>,
}

struct Envelope {
    id: String,
    kind: &'static str,
    payload: Value,
    attempt: usize,
    /// The connection that it was sent to.
    link: Option<usize>,
}

impl Envelope {
    fn frame(&self) -> String {
        json!({
            "envelope_id": self.id, "type": self.kind, "payload": self.payload,
            "accepts_response_payload": self.kind != "events_api", "retry_attempt": self.attempt,
            "retry_reason": if self.attempt > 0 { "timeout" } else { "" },
        })
        .to_string()
    }
}

impl Sockets {
    /// A ticket for one connection.
    pub(super) fn ticket(&mut self) -> String {
        self.issued += 1;
        let ticket = format!("ticket-{}-canary", self.issued);
        self.tickets.push(ticket.clone());
        ticket
    }

    /// Sends an envelope, or keeps it until there is a connection. What people do needs one at once.
    pub(super) fn push(&mut self, kind: &'static str, payload: Value) {
        if kind == "events_api" {
            self.last_event = Some(payload.clone());
        } else if self.links.is_empty() {
            return;
        }
        self.envelopes += 1;
        self.waiting.push_back(Envelope {
            id: format!("envelope-{}", self.envelopes),
            kind,
            payload,
            attempt: 0,
            link: None,
        });
        self.send();
    }

    /// Sends what was not sent, to one of the connections.
    fn send(&mut self) {
        let links: Vec<usize> = self.links.keys().copied().collect();
        if links.is_empty() {
            return;
        }
        for (turn, envelope) in self.waiting.iter_mut().enumerate() {
            if envelope.link.is_none() {
                // With several connections each gets its share.
                let link = links[(turn + self.envelopes) % links.len()];
                envelope.link = Some(link);
                self.links[&link].say(&envelope.frame());
            }
        }
    }

    /// Sends the newest event once more.
    pub(super) fn repeat(&mut self) {
        let Some(payload) = self.last_event.clone() else {
            panic!("there was no event");
        };
        self.push("events_api", payload);
        if let Some(envelope) = self.waiting.back_mut() {
            envelope.attempt = 1;
        }
    }

    fn enter(&mut self, socket: &Arc<WebSocket>) -> usize {
        self.opened += 1;
        let number = self.opened;
        let hello = json!({
            "type": "hello", "num_connections": self.links.len() + 1,
            "connection_info": {"app_id": "A0CRAB"},
            "debug_info": {"host": "fake", "build_number": 1, "approximate_connection_time": 18060},
        });
        socket.say(&hello.to_string());
        self.links.insert(number, Arc::clone(socket));
        self.send();
        number
    }

    fn leave(&mut self, number: usize) {
        self.links.remove(&number);
        // Presses and commands are sent once.
        self.waiting
            .retain(|envelope| envelope.kind == "events_api" || envelope.link != Some(number));
        for envelope in &mut self.waiting {
            if envelope.link == Some(number) {
                envelope.link = None;
                envelope.attempt += 1;
            }
        }
        self.send();
    }

    /// Takes an acknowledgement; the error says what is wrong with it.
    fn acknowledge(&mut self, text: &str) -> Result<(), String> {
        let message: Value = serde_json::from_str(text).unwrap_or_default();
        let id = message["envelope_id"].as_str().unwrap_or_default();
        let place = self.waiting.iter().position(|envelope| envelope.id == id);
        let envelope = place.and_then(|place| self.waiting.remove(place));
        let Some(envelope) = envelope else {
            return Err(format!("an acknowledgement of nothing: {text}"));
        };
        if let Some(text) = message["payload"]["text"].as_str() {
            if envelope.kind != "slash_commands" {
                return Err(format!("a payload for {}", envelope.kind));
            }
            self.answers.push(text.to_owned());
        }
        Ok(())
    }

    pub(super) fn give_up(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn open(&self) -> usize {
        self.links.len()
    }

    pub(super) fn cut(&self) {
        self.links.values().for_each(|link| link.cut());
    }

    pub(super) fn warn(&self, reason: &str) {
        let message =
            json!({"type": "disconnect", "reason": reason, "debug_info": {"host": "fake"}});
        let message = message.to_string();
        self.links.values().for_each(|link| link.say(&message));
    }

    pub(super) fn close_the_old(&self) {
        let newest = self.links.keys().next_back().copied();
        let old = self
            .links
            .iter()
            .filter(|(number, _)| Some(**number) != newest);
        old.for_each(|(_, link)| link.close(1000, ""));
    }
}

impl Server {
    /// Serves a websocket until it closes.
    pub(super) fn open_socket(
        &self,
        connection: &mut Connection,
        raw: &RawRequest,
        socket: &TcpStream,
    ) -> io::Result<()> {
        let query = raw.path.split_once('?').map_or("", |(_, query)| query);
        let ticket = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("ticket="));
        let is_valid = self.change(|state| {
            let tickets = &mut state.sockets.tickets;
            let place = tickets
                .iter()
                .position(|known| Some(known.as_str()) == ticket);
            place.map(|place| tickets.remove(place)).is_some()
        });
        if !is_valid {
            self.change(|state| state.complain("a ticket that is unknown or used".to_owned()));
            return Reply::page(403, "403 Forbidden").send(connection);
        }
        let websocket = match WebSocket::accept(connection, raw, socket)? {
            Ok(websocket) => Arc::new(websocket),
            Err(why) => {
                self.change(|state| state.complain(why.clone()));
                return Reply::page(400, &why).send(connection);
            }
        };
        let number = self.change(|state| state.sockets.enter(&websocket));
        loop {
            match websocket.read(connection) {
                Ok(Received::Text(text)) => self.change(|state| {
                    if let Err(why) = state.sockets.acknowledge(&text) {
                        state.complain(why);
                    }
                }),
                Ok(Received::Close(code)) => {
                    websocket.close(code.unwrap_or(1000), "");
                    break;
                }
                Ok(Received::Binary(_)) => {
                    self.change(|state| state.complain("a binary message".to_owned()));
                    break;
                }
                Ok(Received::Breach(why)) => {
                    self.change(|state| state.complain(why));
                    break;
                }
                Err(_) => break,
            }
        }
        self.change(|state| {
            state.sockets.leave(number);
            if state.sockets.open() == 0 {
                state.limits.forget_waits();
            }
        });
        // After a close frame, the real server leaves the connection open for a while.
        wire::wait_for_the_end(connection);
        Ok(())
    }
}

impl State {
    /// The address of a new connection.
    pub(super) fn open_connection(&mut self) -> Value {
        let ticket = self.sockets.ticket();
        let address = &self.store.address;
        json!({"url": format!("ws://{address}{LINK}?ticket={ticket}&app_id=A0CRAB")})
    }
}
