//! A DingTalk that remembers chats, messages and files as the real one does, is as strict as it, and goes wrong when
//! the test says so: its API, the older one, which takes uploads, and the stream. dingtalk-stream is content with it:
//! see tests/dingtalk/check.py. <https://open.dingtalk.com/document/orgapp/robot-overview>

mod person;
mod rest;
mod server;
mod stream;

use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::harness::network::Network;

pub use person::Person;
pub use server::{Call, Message};
use server::{Server, State};

/// The app's client id, which is the robot's code, too.
pub const CLIENT_ID: &str = "dingcrab0001";
/// The app's secret in every test; it must never appear in the program's output.
pub const SECRET: &str = "canary-dingtalk-secret";
/// The robot's id, by which replies name it.
pub const ROBOT: &str = "$:LWCP_v1:$robot";

/// What is to go wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Too many calls of this API in a second.
    TooMany,
    /// Too many messages to this person: told in the reply of a success.
    FlowControlled,
    /// The token is not valid any more.
    TokenExpired,
    /// The robot was removed from the group, or the person from the organisation.
    NotThere,
    /// The API itself fails.
    InternalError,
    /// An HTML page of a proxy.
    BadGateway,
    /// The server does it, and the connection breaks before the answer.
    LostReply,
}

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a real one would
/// refuse, or if something that was to go wrong was never asked.
pub struct DingTalk {
    server: Arc<Server>,
}

impl DingTalk {
    /// A server without any messages.
    pub fn start() -> Self {
        let network = Network::new();
        let state = State {
            address: network.address().to_string(),
            ..State::default()
        };
        let server = Server::new(network, state);
        server.listen();
        Self { server }
    }

    /// Its URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.network.address())
    }

    /// The section of the configuration: the person with the id `manager1` may speak.
    pub fn section(&self) -> Value {
        json!({
            "enabled": true, "clientId": CLIENT_ID, "clientSecret": SECRET, "apiBase": self.url(),
            "oapiBase": self.url(), "allowFrom": ["manager1"],
        })
    }

    /// A person of the organisation.
    pub fn person(&self, id: &str, name: &str) -> Person {
        self.server.change(|state| state.people.push(id.to_owned()));
        Person {
            server: Arc::clone(&self.server),
            id: id.to_owned(),
            name: name.to_owned(),
            is_staff: true,
        }
    }

    /// A person of another organisation, who has no staff id.
    pub fn outsider(&self, name: &str) -> Person {
        Person {
            server: Arc::clone(&self.server),
            id: String::new(),
            name: name.to_owned(),
            is_staff: false,
        }
    }

    /// A group that the robot is in; returns its id.
    pub fn group(&self) -> String {
        self.server.change(|state| {
            let id = format!("cidGroup+{}/==", state.groups.len());
            state.groups.push(id.clone());
            id
        })
    }

    /// Makes the token that clients have invalid.
    pub fn expire_token(&self) {
        self.server.change(|state| state.token.clear());
    }

    /// How many tokens there were.
    pub fn tokens(&self) -> usize {
        self.server.state().tokens
    }

    /// Makes the next request of a route fail: see [`Call::route`].
    pub fn fail_next(&self, route: &'static str, fault: Fault) {
        self.server
            .change(|state| state.faults.push((route, fault)));
    }

    /// Refuses the next connection to the stream, whatever its ticket.
    pub fn refuse_link(&self) {
        self.server.change(|state| state.link.refusals += 1);
    }

    /// Loses the next acknowledgement, and the connection with it.
    pub fn lose_acknowledgement(&self) {
        self.server.change(|state| state.link.losses += 1);
    }

    /// A complaint with these words does not fail the test.
    pub fn forgives(&self, words: &str) {
        self.server
            .change(|state| state.forgiven.push(words.to_owned()));
    }

    /// What clients have done that the real server would refuse.
    pub fn complaints(&self) -> Vec<String> {
        self.server.state().complaints.clone()
    }

    /// Cuts the network: connections break, and new ones are refused.
    pub fn go_offline(&self) {
        self.server.network.close();
        self.server.change(State::cut_links);
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// Cuts the connections to the stream without a word.
    pub fn cut_links(&self) {
        self.server.change(State::cut_links);
    }

    /// Says that the connections end, as before each restart of a server. Nothing is sent over them any more.
    pub fn disconnects(&self) {
        self.server.change(State::disconnect);
    }

    /// Sends a ping over each connection; returns when they are answered.
    pub fn pings(&self) {
        let pongs = self.server.change(|state| {
            state.ping();
            state.link.pongs
        });
        self.server
            .wait_until("a pong", |state| (state.link.pongs > pongs).then_some(()));
    }

    /// Sends a frame that is none of a message's; returns when it is answered, with the code of the answer.
    pub fn emits(&self, kind: &str, topic: &str) -> u64 {
        let id = self.server.change(|state| state.emit(kind, topic));
        self.server.wait_until("an answer to a frame", |state| {
            state.link.others.iter().find(|(other, _)| *other == id)?.1
        })
    }

    /// Sends the messages again that were not acknowledged, as the real server does after a minute.
    pub fn sends_again(&self) {
        self.server.change(State::send_again);
    }

    /// Sends a message again although it was acknowledged.
    pub fn repeats(&self, message: &str) {
        self.server.change(|state| {
            for push in &mut state.link.pushes {
                push.is_done &= push.message != message;
            }
            state.send_again();
        });
    }

    /// Whether a message was acknowledged.
    pub fn is_acknowledged(&self, message: &str) -> bool {
        let state = self.server.state();
        let mut pushes = state.link.pushes.iter();
        pushes.any(|push| push.message == message && push.is_done)
    }

    /// How often a message was sent.
    pub fn sendings(&self, message: &str) -> usize {
        let state = self.server.state();
        let push = state
            .link
            .pushes
            .iter()
            .find(|push| push.message == message);
        push.map_or(0, |push| push.frames.len())
    }

    /// Waits until all messages were acknowledged.
    pub fn wait_for_acknowledgements(&self) {
        self.server.wait_until("all acknowledgements", |state| {
            state
                .link
                .pushes
                .iter()
                .all(|push| push.is_done)
                .then_some(())
        });
    }

    /// How many connections to the stream there were.
    pub fn links(&self) -> usize {
        self.server.state().link.opened
    }

    /// Waits until there were this many connections, and one is open.
    pub fn wait_for_link(&self, count: usize) {
        self.server
            .wait_until(&format!("connection {count}"), |state| {
                (state.link.opened >= count && state.is_connected()).then_some(())
            });
    }

    /// The robot's messages to a person or in a group, by its id, oldest first.
    pub fn messages(&self, place: &str) -> Vec<Message> {
        let state = self.server.state();
        let messages = state
            .messages
            .iter()
            .filter(|message| message.place == place);
        messages.cloned().collect()
    }

    /// Waits for a message of the robot that contains these words; returns the oldest.
    #[track_caller]
    pub fn wait_for(&self, place: &str, words: &str) -> Message {
        self.wait_for_message(place, |message| message.text.contains(words))
    }

    /// Waits for a message of the robot that fulfils a condition; returns the oldest.
    #[track_caller]
    pub fn wait_for_message(&self, place: &str, holds: impl Fn(&Message) -> bool) -> Message {
        self.server.wait_until("a message", |state| {
            let mut messages = state.messages.iter();
            messages
                .find(|message| message.place == place && holds(message))
                .cloned()
        })
    }

    /// All requests of a route so far, including failed ones.
    pub fn calls(&self, route: &str) -> Vec<Call> {
        self.server.state().calls_of(route)
    }

    /// Waits for this many requests of a route.
    #[track_caller]
    pub fn wait_for_calls(&self, route: &str, count: usize) -> Vec<Call> {
        self.server
            .wait_until(&format!("request {count} of {route}"), |state| {
                Some(state.calls_of(route)).filter(|calls| calls.len() >= count)
            })
    }
}

impl Drop for DingTalk {
    fn drop(&mut self) {
        self.server.network.close();
        if thread::panicking() {
            return;
        }
        let state = self.server.state();
        let unmet = state
            .faults
            .iter()
            .map(|fault| format!("no request met {fault:?}"));
        let complaints: Vec<String> = state.complaints.iter().cloned().chain(unmet).collect();
        // The lock is released before a panic: threads may still need it.
        drop(state);
        assert!(complaints.is_empty(), "DingTalk: {complaints:#?}");
    }
}
