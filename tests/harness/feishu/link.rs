//! The long connection: events go out, and come again until they are acknowledged.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::discord::websocket::{Received, WebSocket};
use crate::harness::wire::{self, Connection, RawRequest};

use super::frame::Frame;
use super::server::{SOCKET, Server, State};
use super::store::APP_ID;

/// The service that pings are for.
const SERVICE: u64 = 33_554_678;

/// The connections and events.
pub(super) struct Link {
    tickets: Vec<String>,
    sockets: Vec<(usize, Arc<WebSocket>)>,
    pub events: Vec<Event>,
    /// How many connections there were.
    pub opened: usize,
    /// The codes with which clients have closed; `None`: without a close frame.
    pub closes: Vec<Option<u16>>,
    pub pings: usize,
    /// Seconds between pings, for new connections.
    pub ping_interval: u64,
    /// Whether pings are not answered.
    pub is_deaf: bool,
    /// In how many frames an event comes.
    pub parts: usize,
    /// Connections that are refused, with the code in `handshake-autherrcode`.
    pub refusals: Vec<i64>,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            tickets: Vec::new(),
            sockets: Vec::new(),
            events: Vec::new(),
            opened: 0,
            closes: Vec::new(),
            pings: 0,
            ping_interval: 120,
            is_deaf: false,
            parts: 1,
            refusals: Vec::new(),
        }
    }
}

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its id.
    pub id: String,
    /// How often it was sent.
    pub sent: usize,
    /// When it was sent last.
    pub at: Instant,
    /// What acknowledged it, and how long that took.
    pub answer: Option<(Value, Duration)>,
    payload: String,
}

impl State {
    /// The address for one long connection.
    pub(super) fn new_endpoint(&mut self) -> Value {
        let ticket = self.store.new_id("ticket");
        let device = self.store.next();
        let url = format!(
            "ws://{}{SOCKET}?fpid=493&aid=552564&device_id={device}&service_id={SERVICE}&access_key=7&ticket={ticket}",
            self.address
        );
        self.link.tickets.push(ticket);
        json!({
            "code": 0, "msg": "", "data": {
                "URL": url,
                "ClientConfig": {
                    "ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30,
                    "PingInterval": self.link.ping_interval,
                },
            },
        })
    }

    /// Sends an event, if a client is connected; returns its id.
    pub(super) fn emit(&mut self, kind: &str, event: &Value) -> String {
        let id = self.store.new_id("event");
        let payload = json!({
            "schema": "2.0",
            "header": {
                "event_id": id, "event_type": kind, "create_time": super::store::now_ms(),
                "token": "", "app_id": APP_ID, "tenant_key": "t1",
            },
            "event": event,
        });
        self.link.events.push(Event {
            id: id.clone(),
            sent: 0,
            at: Instant::now(),
            answer: None,
            payload: payload.to_string(),
        });
        self.send_event(self.link.events.len() - 1);
        id
    }

    /// Sends the events again that were not acknowledged.
    pub(super) fn send_again(&mut self) {
        for index in 0..self.link.events.len() {
            if self.link.events[index].answer.is_none() {
                self.send_event(index);
            }
        }
    }

    fn send_event(&mut self, index: usize) {
        // Of several clients one gets an event.
        let Some((_, socket)) = self.link.sockets.last().cloned() else {
            return;
        };
        let parts = self.link.parts;
        let event = &mut self.link.events[index];
        event.sent += 1;
        event.at = Instant::now();
        let bytes = event.payload.as_bytes();
        let pieces: Vec<&[u8]> = bytes.chunks(bytes.len().div_ceil(parts)).collect();
        // The last one first: they come in any order.
        for (seq, piece) in pieces.iter().enumerate().rev() {
            let headers = [
                ("type", "event".to_owned()),
                ("message_id", format!("m-{}", event.id)),
                ("sum", pieces.len().to_string()),
                ("seq", seq.to_string()),
                ("trace_id", format!("trace-{index}")),
            ];
            let headers = headers.map(|(name, value)| (name.to_owned(), value));
            let frame = Frame {
                sequence: index as u64 + 1,
                log: u64::MAX - index as u64,
                service: SERVICE,
                method: 1,
                headers: headers.to_vec(),
                payload: piece.to_vec(),
            };
            socket.say_bytes(&frame.write());
        }
    }

    /// Takes a client's frame.
    fn hear(&mut self, socket: &WebSocket, bytes: &[u8]) -> Result<(), String> {
        let frame = Frame::read(bytes)?;
        if frame.service != SERVICE {
            return Err(format!("a frame for the service {}", frame.service));
        }
        match (frame.method, frame.header("type")) {
            (0, Some("ping")) => {
                self.link.pings += 1;
                if !self.link.is_deaf {
                    let settings = json!({
                        "ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30,
                        "PingInterval": self.link.ping_interval,
                    });
                    let pong = Frame {
                        headers: vec![("type".to_owned(), "pong".to_owned())],
                        payload: settings.to_string().into_bytes(),
                        ..frame
                    };
                    socket.say_bytes(&pong.write());
                }
                Ok(())
            }
            (1, Some("event")) => self.acknowledged(&frame),
            _ => Err(format!("an unexpected frame: {frame:?}")),
        }
    }

    fn acknowledged(&mut self, frame: &Frame) -> Result<(), String> {
        let took = frame
            .header("biz_rt")
            .and_then(|took| took.parse::<u64>().ok());
        took.ok_or("an acknowledgement without biz_rt")?;
        let index = frame.sequence as usize;
        let event = self.link.events.get_mut(index.wrapping_sub(1));
        let event = event.ok_or("an acknowledgement of nothing")?;
        let id = format!("m-{}", event.id);
        if frame.header("message_id") != Some(&id) || frame.log != u64::MAX - (index as u64 - 1) {
            return Err("an acknowledgement that is not the event's own frame".to_owned());
        }
        let answer: Value =
            serde_json::from_slice(&frame.payload).map_err(|error| error.to_string())?;
        // With another code it comes again.
        if answer["code"] == 200 {
            event.answer = Some((answer, event.at.elapsed()));
        }
        Ok(())
    }

    /// Closes the connections: with a close frame, or without one.
    pub(super) fn close_links(&mut self, code: Option<u16>) {
        for (_, socket) in self.link.sockets.drain(..) {
            match code {
                Some(code) => socket.close(code, "bye"),
                None => socket.cut(),
            }
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        !self.link.sockets.is_empty()
    }
}

impl Server {
    pub(super) fn open_link(
        self: &Arc<Self>,
        connection: &mut Connection,
        raw: &RawRequest,
        socket: &TcpStream,
    ) -> io::Result<()> {
        let query = raw.path.split_once('?').map_or("", |(_, query)| query);
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let ticket = pairs.find(|(key, _)| *key == "ticket");
        let ticket = ticket.map_or("", |(_, ticket)| ticket);
        let refusal = self.change(|state| {
            let known = state.link.tickets.iter().position(|known| known == ticket);
            let Some(index) = known else {
                state.complain("a ticket that was used before, or none".to_owned());
                return Some(1_000_040_346);
            };
            state.link.tickets.remove(index);
            state.link.refusals.pop()
        });
        if let Some(code) = refusal {
            let headers = [
                ("handshake-status", "514".to_owned()),
                (
                    "handshake-msg",
                    "the number of connections exceeded the limit".to_owned(),
                ),
                ("handshake-autherrcode", code.to_string()),
            ];
            return wire::respond(connection, 403, &headers, "");
        }
        let websocket = match WebSocket::accept(connection, raw, socket)? {
            Ok(websocket) => Arc::new(websocket),
            Err(why) => {
                self.change(|state| state.complain(why));
                return Ok(());
            }
        };
        let number = self.change(|state| {
            state.link.opened += 1;
            let number = state.link.opened;
            state.link.sockets.push((number, Arc::clone(&websocket)));
            state.send_again();
            number
        });
        let code = self.listen_to(&websocket, connection);
        self.change(|state| {
            state.link.sockets.retain(|(other, _)| *other != number);
            state.link.closes.push(code);
        });
        Ok(())
    }

    /// Reads a client's frames until it closes; returns its close code.
    fn listen_to(&self, websocket: &WebSocket, connection: &mut Connection) -> Option<u16> {
        loop {
            let breach = match websocket.read(connection) {
                Ok(Received::Binary(bytes)) => {
                    match self.change(|state| state.hear(websocket, &bytes)) {
                        Ok(()) => continue,
                        Err(why) => why,
                    }
                }
                Ok(Received::Close(code)) => {
                    websocket.close(code.unwrap_or(1000), "");
                    return code.or(Some(1005));
                }
                Ok(Received::Text(_)) => "a message of text".to_owned(),
                Ok(Received::Breach(why)) => why,
                Err(_) => return None,
            };
            self.change(|state| state.complain(breach));
            websocket.close(1002, "");
            wire::wait_for_the_end(connection);
            return None;
        }
    }
}
