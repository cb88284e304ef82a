//! The bridge's state, and its connections.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::{Fault, Message};
use crate::harness::discord::websocket::{Received, WebSocket};
use crate::harness::shared::{self, Recent, last};
use crate::harness::wire::{self, Connection};

/// Characters of a message that WhatsApp takes.
const LONGEST: usize = 65_536;

pub(super) type Server = shared::Server<State>;

/// The state of the bridge.
#[derive(Default)]
pub(super) struct State {
    pub token: Option<String>,
    /// Whether it is connected to WhatsApp.
    pub is_connected: bool,
    pub clients: Vec<Client>,
    /// How many clients were let in.
    pub let_in: usize,
    /// How many messages of people there were.
    pub told: usize,
    pub messages: Vec<Message>,
    /// Messages of people that the bridge has not got yet.
    pub kept: Vec<Value>,
    /// The types of all commands.
    pub commands: Vec<String>,
    pub faults: Vec<Fault>,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
}

/// A client that was let in.
pub(super) struct Client {
    socket: Arc<WebSocket>,
    /// Whether it has sent a message. The bot's connections that send do not read what people write.
    has_sent: bool,
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

impl Recent for State {
    fn recent(&self) -> Vec<String> {
        let messages = self.messages.iter();
        last(messages.map(|message| format!("{message:?}")))
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
        let Some(request) = wire::read(&mut connection)? else {
            return Ok(());
        };
        match WebSocket::accept(&mut connection, &request, socket)? {
            Ok(client) => self.greet(&mut connection, &Arc::new(client)),
            Err(why) => {
                self.change(|state| state.complain(why));
                wire::respond(&mut connection, 426, &[], "Upgrade Required")
            }
        }
    }

    /// The first message has to be the token, if there is one. What is right is not answered.
    fn greet(&self, connection: &mut Connection, client: &Arc<WebSocket>) -> io::Result<()> {
        let token = self.state().token.clone();
        if let Some(token) = token {
            let text = match client.read(connection)? {
                Received::Text(text) => text,
                _ => return Ok(()),
            };
            let why = match serde_json::from_str::<Value>(&text) {
                Ok(first) if first["type"] == "auth" && first["token"] == token.as_str() => None,
                Ok(_) => Some("Invalid token"),
                Err(_) => Some("Invalid auth message"),
            };
            if let Some(why) = why {
                client.close(4003, why);
                // The client's close frame.
                return client.read(connection).map(drop);
            }
        }
        self.change(|state| {
            state.let_in += 1;
            state.clients.push(Client {
                socket: Arc::clone(client),
                has_sent: false,
            });
        });
        let end = self.listen_to(connection, client);
        self.change(|state| {
            state
                .clients
                .retain(|other| !Arc::ptr_eq(&other.socket, client));
        });
        end
    }

    fn listen_to(&self, connection: &mut Connection, client: &Arc<WebSocket>) -> io::Result<()> {
        loop {
            match client.read(connection)? {
                Received::Text(text) => {
                    let Some(answer) = self.change(|state| state.command(client, &text)) else {
                        client.cut();
                        return Ok(());
                    };
                    client.say(&answer.to_string());
                }
                Received::Close(code) => {
                    client.close(code.unwrap_or(1000), "");
                    return Ok(());
                }
                Received::Binary(_) => {
                    self.change(|state| state.complain("a binary message".to_owned()));
                    return Ok(());
                }
                Received::Breach(breach) => {
                    self.change(|state| state.complain(breach));
                    return Ok(());
                }
            }
        }
    }
}

impl State {
    /// Carries out a command; `None` when the connection breaks instead of an answer.
    fn command(&mut self, client: &Arc<WebSocket>, text: &str) -> Option<Value> {
        let error = |said: &str| Some(json!({"type": "error", "error": said}));
        let Ok(command) = serde_json::from_str::<Value>(text) else {
            self.complain(format!("no JSON: {text}"));
            return error("SyntaxError: Unexpected token in JSON");
        };
        let kind = command["type"].as_str().unwrap_or_default();
        self.commands.push(kind.to_owned());
        if kind == "send" {
            let mut clients = self.clients.iter_mut();
            if let Some(client) = clients.find(|it| Arc::ptr_eq(&it.socket, client)) {
                client.has_sent = true;
            }
            let fault = (!self.faults.is_empty()).then(|| self.faults.remove(0));
            match fault {
                Some(Fault::TooMuch) => return error("Error: rate-overlimit"),
                Some(Fault::Odd) => return error("Error: internal-server-error"),
                Some(Fault::Cut) => return None,
                Some(Fault::LostAnswer) | None => {}
            }
            if let Err(said) = self.send(&command) {
                return error(&said);
            }
            if fault == Some(Fault::LostAnswer) {
                return None;
            }
        }
        // Without a `to`, JavaScript leaves it out.
        let mut answer = json!({"type": "sent"});
        if let Some(to) = command.get("to") {
            answer["to"] = to.clone();
        }
        Some(answer)
    }

    fn send(&mut self, command: &Value) -> Result<(), String> {
        if !self.is_connected {
            return Err("Error: Connection Closed".to_owned());
        }
        let (Some(to), Some(text)) = (command["to"].as_str(), command["text"].as_str()) else {
            self.complain(format!("a message without its parts: {command}"));
            return Err("TypeError: Cannot read properties of undefined".to_owned());
        };
        let servers = ["@s.whatsapp.net", "@lid", "@g.us"];
        let user = servers.iter().find_map(|server| to.strip_suffix(server));
        let is_user = |user: &str| {
            !user.is_empty()
                && user
                    .chars()
                    .all(|c| c.is_ascii_digit() || c == '-' || c == ':')
        };
        if !user.is_some_and(is_user) {
            self.complain(format!("no address of WhatsApp: {to}"));
            return Err(
                "TypeError: Cannot destructure property 'user' of 'jidDecode(...)'".to_owned(),
            );
        }
        if text.trim().is_empty() || text.chars().count() > LONGEST {
            self.complain(format!("a message of {} characters", text.chars().count()));
        }
        self.messages.push(Message {
            id: self.messages.len() + 1,
            chat: to.to_owned(),
            text: text.to_owned(),
        });
        Ok(())
    }

    pub(super) fn broadcast(&mut self, frame: &Value) {
        let text = frame.to_string();
        self.clients
            .iter()
            .for_each(|client| client.socket.say(&text));
    }

    /// Whether somebody is connected who reads what people write.
    pub(super) fn is_heard(&self) -> bool {
        self.clients.iter().any(|client| !client.has_sent)
    }

    pub(super) fn cut(&mut self) {
        self.clients
            .drain(..)
            .for_each(|client| client.socket.cut());
    }

    pub(super) fn count(&self, kind: &str) -> usize {
        self.commands
            .iter()
            .filter(|command| *command == kind)
            .count()
    }

    pub(super) fn complain(&mut self, complaint: String) {
        if !self.forgiven.iter().any(|words| complaint.contains(words)) {
            self.complaints.push(complaint);
        }
    }
}
