//! A Feishu that remembers chats, messages and files as the real one does, is as strict as it, and goes wrong when
//! the test says so: the open platform's API and the long connection. lark-oapi is content with it: see
//! tests/feishu/check.py. <https://open.feishu.cn/document/home/index>

mod card;
mod fault;
mod frame;
mod link;
mod person;
mod rest;
mod server;
mod store;

use std::sync::Arc;
use std::thread;

use serde_json::Value;

use crate::harness::network::Network;

pub use fault::Fault;
pub use link::Event;
pub use person::{Person, Upload};
pub use server::Call;
use server::{Server, State};
use store::Room;
pub use store::{APP_ID, Chat, Message};

/// The app's secret in every test; it must never appear in the program's output.
pub const APP_SECRET: &str = "Canary0123456789abcdefghijklmnop";

/// As often as it happens.
pub const FOREVER: usize = usize::MAX;

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a
/// real one would refuse, or if something that was to go wrong was never asked.
pub struct Feishu {
    server: Arc<Server>,
}

impl Feishu {
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

    /// A person with a private chat with the bot.
    pub fn person(&self, id: &str, name: &str) -> Person {
        let chat = self.server.change(|state| {
            state.store.people.insert(id.to_owned(), name.to_owned());
            state.new_chat(Some(id.to_owned()))
        });
        Person {
            server: Arc::clone(&self.server),
            id: id.to_owned(),
            chat,
        }
    }

    /// A group that the bot is in.
    pub fn group(&self) -> Chat {
        self.server.change(|state| state.new_chat(None))
    }

    /// Takes the app's permission to know how people are called.
    pub fn hides_names(&self) {
        self.server.change(|state| state.hides_names = true);
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
    pub fn fail_next(&self, route: &str, fault: Fault) {
        self.fail_times(route, 1, fault);
    }

    /// Makes this many requests of a route fail.
    pub fn fail_times(&self, route: &str, times: usize, fault: Fault) {
        let route = route.to_owned();
        self.fail_when(times, fault, move |call| call.route == route);
    }

    /// Makes this many requests fail that fulfil a condition.
    pub fn fail_when(
        &self,
        times: usize,
        fault: Fault,
        holds: impl Fn(&Call) -> bool + Send + 'static,
    ) {
        self.server
            .change(|state| state.faults.add(times, fault, holds));
    }

    /// A complaint with these words does not fail the test; with an empty text, no complaint does.
    pub fn forgives(&self, words: &str) {
        self.server
            .change(|state| state.forgiven.push(words.to_owned()));
    }

    /// What clients have done that the real server would refuse.
    pub fn complaints(&self) -> Vec<String> {
        self.server.state().complaints.clone()
    }

    /// How many requests were refused because of a rate limit.
    pub fn rate_limited(&self) -> usize {
        self.server.state().limited
    }

    /// Cuts the network: connections break, and new ones are refused.
    pub fn go_offline(&self) {
        self.server.network.close();
        self.server.change(|state| state.close_links(None));
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// Cuts the long connections without a close frame.
    pub fn cut_links(&self) {
        self.server.change(|state| state.close_links(None));
    }

    /// Closes the long connections with a code.
    pub fn close_links(&self, code: u16) {
        self.server.change(|state| state.close_links(Some(code)));
    }

    /// Refuses the next long connection with this code.
    pub fn refuse_link(&self, code: i64) {
        self.server.change(|state| state.link.refusals.push(code));
    }

    /// Sets the seconds between two pings, for new connections and in replies to pings.
    pub fn set_ping_interval(&self, seconds: u64) {
        self.server
            .change(|state| state.link.ping_interval = seconds);
    }

    /// Sets whether pings are answered.
    pub fn answers_pings(&self, does: bool) {
        self.server.change(|state| state.link.is_deaf = !does);
    }

    /// Sets in how many frames an event comes, the last one first.
    pub fn set_parts(&self, parts: usize) {
        self.server.change(|state| state.link.parts = parts);
    }

    /// Sends an event with any content; returns its id.
    pub fn emits(&self, kind: &str, event: &Value) -> String {
        self.server.change(|state| state.emit(kind, event))
    }

    /// Sends the events again that were not acknowledged.
    pub fn sends_again(&self) {
        self.server.change(State::send_again);
    }

    /// Sends an event again although it was acknowledged.
    pub fn repeats(&self, id: &str) {
        self.server.change(|state| {
            for event in &mut state.link.events {
                if event.id == id || id.is_empty() {
                    event.answer = None;
                }
            }
            state.send_again();
        });
    }

    /// All events so far.
    pub fn events(&self) -> Vec<Event> {
        self.server.state().link.events.clone()
    }

    /// Waits until an event was acknowledged; returns the acknowledgement.
    pub fn wait_for_answer(&self, id: &str) -> Value {
        self.server.wait_until("an acknowledgement", |state| {
            let event = state.link.events.iter().find(|event| event.id == id)?;
            event.answer.as_ref().map(|(answer, _)| answer.clone())
        })
    }

    /// Waits until all events were acknowledged.
    pub fn wait_for_all_answers(&self) {
        self.server.wait_until("all acknowledgements", |state| {
            let mut events = state.link.events.iter();
            events.all(|event| event.answer.is_some()).then_some(())
        });
    }

    /// Waits until there were this many long connections, and one is open.
    pub fn wait_for_link(&self, count: usize) {
        self.server
            .wait_until(&format!("connection {count}"), |state| {
                (state.link.opened >= count && state.is_connected()).then_some(())
            });
    }

    /// Waits for this many pings.
    pub fn wait_for_pings(&self, count: usize) {
        self.server.wait_until(&format!("ping {count}"), |state| {
            (state.link.pings >= count).then_some(())
        });
    }

    /// How many long connections there were.
    pub fn links(&self) -> usize {
        self.server.state().link.opened
    }

    /// How many pings there were.
    pub fn pings(&self) -> usize {
        self.server.state().link.pings
    }

    /// The codes with which clients have closed; `None`: without a close frame.
    pub fn closes(&self) -> Vec<Option<u16>> {
        self.server.state().link.closes.clone()
    }

    /// The bot's messages in a chat, oldest first.
    pub fn messages(&self, chat: &Chat) -> Vec<Message> {
        self.server.state().store.of_bot(chat).cloned().collect()
    }

    /// Any message, including those of people.
    pub fn message(&self, id: &str) -> Message {
        let found = self.server.state().store.message(id).cloned();
        found.unwrap_or_else(|| panic!("there is no message {id}"))
    }

    /// Waits for a message of the bot that fulfils a condition; returns the oldest.
    #[track_caller]
    pub fn wait_for_message(&self, chat: &Chat, holds: impl Fn(&Message) -> bool) -> Message {
        self.server.wait_until("a message", |state| {
            let mut messages = state.store.of_bot(chat);
            messages.find(|message| holds(message)).cloned()
        })
    }

    /// All requests of a route so far, including failed ones.
    pub fn calls(&self, route: &str) -> Vec<Call> {
        self.server.state().calls_of(route)
    }

    /// Waits for this many requests of a route; returns them.
    #[track_caller]
    pub fn wait_for_calls(&self, route: &str, count: usize) -> Vec<Call> {
        self.server
            .wait_until(&format!("request {count} of {route}"), |state| {
                Some(state.calls_of(route)).filter(|calls| calls.len() >= count)
            })
    }
}

impl State {
    fn new_chat(&mut self, person: Option<String>) -> Chat {
        let chat = Chat(self.store.new_id("oc"));
        let room = Room { person };
        self.store.rooms.insert(chat.clone(), room);
        chat
    }
}

impl Drop for Feishu {
    fn drop(&mut self) {
        self.server.network.close();
        if thread::panicking() {
            return;
        }
        let state = self.server.state();
        let unmet = state
            .faults
            .unmet()
            .map(|fault| format!("nobody met {fault:?}"));
        let complaints: Vec<String> = state.complaints.iter().cloned().chain(unmet).collect();
        // The lock is released before a panic: threads may still need it.
        drop(state);
        assert!(complaints.is_empty(), "Feishu: {complaints:#?}");
    }
}
