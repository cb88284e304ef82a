//! The stream: messages go out, and come again until they are acknowledged.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Server, State};
use crate::harness::discord::websocket::{Received, WebSocket};
use crate::harness::form;
use crate::harness::wire::{self, Connection, RawRequest};

/// The path of the stream.
pub(super) const SOCKET: &str = "/connect";
/// How long a ticket is valid.
const TICKET_TIME: Duration = Duration::from_secs(90);

/// The connections, and what was sent over them.
#[derive(Default)]
pub(super) struct Link {
    pub tickets: Vec<(String, Instant)>,
    pub sockets: Vec<(usize, Arc<WebSocket>)>,
    pub pushes: Vec<Push>,
    /// How many connections there were.
    pub opened: usize,
    /// Connections that are refused, and acknowledgements that are lost.
    pub refusals: usize,
    pub losses: usize,
    /// Pings that wait for their answers: the frame, and its data.
    pub pinged: Vec<(String, Value)>,
    pub pongs: usize,
    /// Other frames, with the codes of their answers.
    pub others: Vec<(String, Option<u64>)>,
}

/// A message of a person's, on its way to the robot.
pub(super) struct Push {
    /// The message's id.
    pub message: String,
    data: String,
    /// The frames in which it was sent, each with an id of its own.
    pub frames: Vec<String>,
    pub is_done: bool,
}

fn frame(kind: &str, topic: &str, id: &str, data: &str) -> String {
    json!({
        "specVersion": "1.0", "type": kind, "headers": {
            "appId": "app", "connectionId": "connection", "contentType": "application/json",
            "messageId": id, "time": "1769851697756", "topic": topic,
        },
        "data": data,
    })
    .to_string()
}

impl State {
    /// Sends a message to the robot, if it is connected.
    pub(super) fn push(&mut self, message: &str, data: &Value) {
        self.link.pushes.push(Push {
            message: message.to_owned(),
            data: data.to_string(),
            frames: Vec::new(),
            is_done: false,
        });
        self.send_push(self.link.pushes.len() - 1);
    }

    /// Sends the messages again that were not acknowledged.
    pub(super) fn send_again(&mut self) {
        for index in 0..self.link.pushes.len() {
            if !self.link.pushes[index].is_done {
                self.send_push(index);
            }
        }
    }

    fn send_push(&mut self, index: usize) {
        let Some((_, socket)) = self.link.sockets.last().cloned() else {
            return;
        };
        let id = self.new_id("frame");
        let push = &mut self.link.pushes[index];
        socket.say(&frame(
            "CALLBACK",
            "/v1.0/im/bot/messages/get",
            &id,
            &push.data,
        ));
        push.frames.push(id);
    }

    pub(super) fn ping(&mut self) {
        for (number, socket) in self.link.sockets.clone() {
            let id = self.new_id("ping");
            let data = json!({"opaque": format!("0d00-{number}-\"{id}\"")});
            socket.say(&frame("SYSTEM", "ping", &id, &data.to_string()));
            self.link.pinged.push((id, data));
        }
    }

    /// Sends any frame; returns its id.
    pub(super) fn emit(&mut self, kind: &str, topic: &str) -> String {
        let id = self.new_id("other");
        self.link.others.push((id.clone(), None));
        if let Some((_, socket)) = self.link.sockets.last() {
            socket.say(&frame(kind, topic, &id, "{}"));
        }
        id
    }

    pub(super) fn disconnect(&mut self) {
        let id = self.new_id("disconnect");
        for (_, socket) in self.link.sockets.drain(..) {
            let data = json!({"reason": "persistent connection is stopped"}).to_string();
            socket.say(&frame("SYSTEM", "disconnect", &id, &data));
        }
        // The vendor's library answers this frame, which is allowed and not needed.
        self.link.others.push((id, None));
    }

    pub(super) fn cut_links(&mut self) {
        for (_, socket) in self.link.sockets.drain(..) {
            socket.cut();
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        !self.link.sockets.is_empty()
    }

    /// Takes a client's frame.
    fn hear(&mut self, socket: &WebSocket, text: &str) -> Result<(), String> {
        let answer: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let id = answer["headers"]["messageId"].as_str().unwrap_or_default();
        let code = answer["code"].as_u64().ok_or("an answer without a code")?;
        let data = answer["data"].as_str().ok_or("data that is no string")?;
        let data: Value = serde_json::from_str(data).map_err(|_| "data that is no JSON")?;
        if answer["headers"]["contentType"] != "application/json" {
            return Err("an answer without its content type".to_owned());
        }
        if let Some(index) = self.link.pinged.iter().position(|(ping, _)| ping == id) {
            let (_, sent) = self.link.pinged.remove(index);
            if sent != data || code != 200 {
                return Err(format!("a pong with other data: {data}"));
            }
            self.link.pongs += 1;
            return Ok(());
        }
        if let Some((_, answered)) = self.link.others.iter_mut().find(|(other, _)| other == id) {
            *answered = Some(code);
            return Ok(());
        }
        let has = |push: &&mut Push| push.frames.iter().any(|frame| frame == id);
        let push = self.link.pushes.iter_mut().find(has);
        let push = push.ok_or_else(|| format!("an answer to nothing: {text}"))?;
        if self.link.losses > 0 {
            self.link.losses -= 1;
            socket.cut();
        } else {
            // With another code it comes again.
            push.is_done |= code == 200;
        }
        Ok(())
    }
}

impl Server {
    pub(super) fn open_link(
        self: &Arc<Self>,
        connection: &mut Connection,
        raw: &RawRequest,
        socket: &TcpStream,
    ) -> io::Result<()> {
        let ticket = raw
            .path
            .split_once("?ticket=")
            .map_or("", |(_, ticket)| ticket);
        let ticket = form::decode(ticket);
        let is_refused = self.change(|state| {
            let tickets = &mut state.link.tickets;
            let known = tickets.iter().position(|(known, _)| *known == ticket);
            let known = known.map(|index| tickets.remove(index));
            let is_valid = known.is_some_and(|(_, since)| since.elapsed() < TICKET_TIME);
            if !is_valid {
                state.complain("a ticket that was used before, is too old, or none".to_owned());
            }
            let is_refused = state.link.refusals > 0;
            state.link.refusals -= usize::from(is_refused);
            is_refused || !is_valid
        });
        if is_refused {
            return wire::respond(connection, 401, &[], "");
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
        self.listen_to(&websocket, connection);
        self.change(|state| state.link.sockets.retain(|(other, _)| *other != number));
        Ok(())
    }

    /// Reads a client's frames until it closes.
    fn listen_to(&self, websocket: &WebSocket, connection: &mut Connection) {
        loop {
            let breach = match websocket.read(connection) {
                Ok(Received::Text(text)) => {
                    match self.change(|state| state.hear(websocket, &text)) {
                        Ok(()) => continue,
                        Err(why) => why,
                    }
                }
                Ok(Received::Close(code)) => {
                    websocket.close(code.unwrap_or(1000), "");
                    return;
                }
                Ok(Received::Binary(_)) => "a message of bytes".to_owned(),
                Ok(Received::Breach(why)) => why,
                Err(_) => return,
            };
            self.change(|state| state.complain(breach));
            websocket.close(1002, "");
            wire::wait_for_the_end(connection);
            return;
        }
    }
}
