//! nanobot's WhatsApp bridge (v0.1.4) with a WhatsApp behind it: as forgetful and as silent as the real one. It tells
//! a message to those who are connected, and to nobody later; answers every command by `sent`, known or not; and its
//! errors say nothing but a text. nanobot's own channel is content with it, and the real bridge's server gives the
//! same answers: see tests/whatsapp/check.py.

mod server;

use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::harness::network::Network;
use server::{Server, State};

/// The bridge's token in every test; it must never appear in the program's output.
pub const TOKEN: &str = "canary-of-the-bridge-7c41";

/// The running bridge. It stops when it is dropped, and fails the test then if it was asked what WhatsApp would
/// refuse, or if something that was to go wrong was never asked.
pub struct WhatsApp {
    server: Arc<Server>,
}

/// A message that the bot has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its number, from 1.
    pub id: usize,
    /// The chat.
    pub chat: String,
    /// The text.
    pub text: String,
}

/// What is to go wrong with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// WhatsApp wants less to be sent.
    TooMuch,
    /// The message is sent, and the connection breaks before the answer.
    LostAnswer,
    /// The connection breaks, and nothing was sent.
    Cut,
    /// An error that nothing is known of.
    Odd,
}

/// A person, or a group, of WhatsApp's.
#[derive(Clone)]
pub struct Person {
    server: Arc<Server>,
    /// The address that the bridge gives to clients.
    pub jid: String,
    /// The address with the phone number, where the other one does not have it.
    pub phone: String,
}

impl WhatsApp {
    /// A bridge with a token, which is linked to an account and connected.
    pub fn start() -> Self {
        Self::with_token(Some(TOKEN))
    }

    /// A bridge that was started with this token, or without one.
    pub fn with_token(token: Option<&str>) -> Self {
        let server = Server::new(
            Network::new(),
            State {
                token: token.map(str::to_owned),
                is_connected: true,
                ..State::default()
            },
        );
        server.listen();
        Self { server }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("ws://{}", self.server.network.address())
    }

    /// The section of the configuration, for Ana with the number 4179111.
    pub fn section(&self) -> Value {
        json!({"enabled": true, "bridgeUrl": self.url(), "bridgeToken": TOKEN, "allowFrom": ["4179111"]})
    }

    /// A person with this phone number.
    pub fn person(&self, number: &str) -> Person {
        self.at(&format!("{number}@s.whatsapp.net"), "")
    }

    /// A person whom WhatsApp names by a number of its own.
    pub fn hidden_person(&self, number: &str, phone: &str) -> Person {
        let phone = match phone {
            "" => String::new(),
            phone => format!("{phone}@s.whatsapp.net"),
        };
        self.at(&format!("{number}@lid"), &phone)
    }

    /// A group. Whoever speaks in it, the bridge names only the group.
    pub fn group(&self, id: &str) -> Person {
        self.at(&format!("{id}@g.us"), "")
    }

    fn at(&self, jid: &str, phone: &str) -> Person {
        Person {
            server: Arc::clone(&self.server),
            jid: jid.to_owned(),
            phone: phone.to_owned(),
        }
    }

    /// Waits until this many clients, in all, were let in, and one of them is connected that does more than send.
    pub fn wait_for_clients(&self, count: usize) {
        self.server.wait_until(&format!("client {count}"), |state| {
            (state.let_in >= count && state.is_heard()).then_some(())
        });
    }

    /// The clients that were let in so far.
    pub fn clients(&self) -> usize {
        self.server.state().let_in
    }

    /// Waits for this many commands of a type.
    pub fn wait_for_command(&self, kind: &str, count: usize) {
        self.server.wait_until(&format!("{kind} {count}"), |state| {
            (state.count(kind) >= count).then_some(())
        });
    }

    /// The bot's messages in a chat, oldest first.
    pub fn messages(&self, chat: &Person) -> Vec<Message> {
        let state = self.server.state();
        let messages = state.messages.iter();
        messages
            .filter(|message| message.chat == chat.jid)
            .cloned()
            .collect()
    }

    /// Waits for a message of the bot in a chat that contains these words; returns the oldest.
    pub fn wait_for(&self, chat: &Person, words: &str) -> Message {
        self.server
            .wait_until(&format!("a message with {words:?}"), |state| {
                let mut messages = state.messages.iter();
                messages
                    .find(|message| message.chat == chat.jid && message.text.contains(words))
                    .cloned()
            })
    }

    /// Makes the next sending of a message go wrong.
    pub fn fail_next(&self, fault: Fault) {
        self.server.change(|state| state.faults.push(fault));
    }

    /// Cuts the clients' connections without a close frame.
    pub fn cut(&self) {
        self.server.change(State::cut);
    }

    /// Stops the bridge: connections break, and new ones are refused.
    pub fn go_offline(&self) {
        self.server.network.close();
        self.server.change(State::cut);
    }

    /// Starts it again, at the same port.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// The bridge loses WhatsApp, or finds it again, and tells its clients.
    pub fn set_connected(&self, is_connected: bool) {
        self.server.change(|state| {
            state.is_connected = is_connected;
            let status = if is_connected {
                "connected"
            } else {
                "disconnected"
            };
            state.broadcast(&json!({"type": "status", "status": status}));
            // WhatsApp keeps for the bridge what was written meanwhile.
            if is_connected {
                let kept = std::mem::take(&mut state.kept);
                kept.iter().for_each(|frame| state.broadcast(frame));
            }
        });
    }

    /// The bridge is not linked, and tells what a QR code has to say.
    pub fn shows_code(&self, code: &str) {
        self.server
            .change(|state| state.broadcast(&json!({"type": "qr", "qr": code})));
    }

    /// Sends any frame to every client.
    pub fn tells(&self, frame: &Value) {
        self.server.change(|state| state.broadcast(frame));
    }

    /// A complaint with these words does not fail the test.
    pub fn forgives(&self, words: &str) {
        self.server
            .change(|state| state.forgiven.push(words.to_owned()));
    }

    /// What WhatsApp would have refused.
    pub fn complaints(&self) -> Vec<String> {
        self.server.state().complaints.clone()
    }
}

impl Person {
    /// Says something. Returns the message as the bridge tells it.
    pub fn says(&self, text: &str) -> Value {
        self.says_at(text, json!(server::now()))
    }

    /// Forwards what somebody else has written, as a bridge tells it that passes WhatsApp's mark on.
    pub fn forwards(&self, text: &str) -> Value {
        let mark = json!({"contextInfo": {"isForwarded": true, "forwardingScore": 1}});
        self.tells(text, json!(server::now()), mark)
    }

    /// The same, written at a time that is given as the bridge gives it.
    pub fn says_at(&self, text: &str, time: Value) -> Value {
        self.tells(text, time, json!({}))
    }

    fn tells(&self, text: &str, time: Value, more: Value) -> Value {
        self.server.change(|state| {
            state.told += 1;
            let mut frame = json!({
                "type": "message", "id": format!("3EB0{:016X}", state.told), "sender": self.jid, "pn": self.phone,
                "content": text, "timestamp": time, "isGroup": self.jid.ends_with("@g.us"),
            });
            for (name, value) in more.as_object().unwrap() {
                frame[name] = value.clone();
            }
            match state.is_connected {
                true => state.broadcast(&frame),
                false => state.kept.push(frame.clone()),
            }
            frame
        })
    }
}

impl Drop for WhatsApp {
    fn drop(&mut self) {
        self.server.network.close();
        if thread::panicking() {
            return;
        }
        let state = self.server.state();
        let unmet = state
            .faults
            .iter()
            .map(|fault| format!("nobody met {fault:?}"));
        let complaints: Vec<String> = state.complaints.iter().cloned().chain(unmet).collect();
        drop(state);
        assert!(complaints.is_empty(), "WhatsApp: {complaints:#?}");
    }
}
