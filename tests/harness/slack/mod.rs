//! A Slack that remembers chats, messages and files as the real one does, is as strict as it, and goes wrong when
//! the test says so: the Web API, socket mode, and the servers of files. slack_sdk is content with it: see
//! tests/slack/check.py. <https://docs.slack.dev/apis>

mod blocks;
mod fault;
mod files;
mod limits;
mod methods;
mod person;
mod request;
mod server;
mod socket;
mod store;

use std::sync::Arc;
use std::thread;

use serde_json::Value;

use crate::harness::network::Network;

pub use fault::Fault;
pub use person::{Person, Said};
pub use request::Call;
use server::{Server, State};
use store::{Channel, Kind};
pub use store::{Message, Place};

/// The bot's token in every test; it must never appear in the program's output.
pub const BOT_TOKEN: &str = "xoxb-1111111111-2222222222-CanaryOfTheBot0123456789";
/// The app's token.
pub const APP_TOKEN: &str = "xapp-1-A0CRAB-3333333333-CanaryOfTheApp0123456789";

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a real one would
/// refuse, or if something that was to go wrong was never asked.
pub struct Slack {
    server: Arc<Server>,
}

impl Slack {
    /// A workspace without any messages.
    pub fn start() -> Self {
        let network = Network::new();
        let mut state = State::default();
        state.store.address = network.address().to_string();
        let server = Server::new(network, state);
        server.listen();
        Self { server }
    }

    /// The Web API's base.
    pub fn api_base(&self) -> String {
        format!("http://{}/api", self.server.network.address())
    }

    /// A person with a private chat with the app.
    pub fn person(&self, id: &str, name: &str) -> Person {
        let dm = self.server.change(|state| {
            state.store.people.insert(id.to_owned(), name.to_owned());
            let dm = format!("D0{id}");
            let channel = Channel::new(Kind::Private(id.to_owned()), name);
            state.store.channels.insert(dm.clone(), channel);
            Place::of(&dm)
        });
        Person {
            server: Arc::clone(&self.server),
            id: id.to_owned(),
            dm,
        }
    }

    /// A channel that the app is in.
    pub fn channel(&self, name: &str) -> Place {
        self.server.change(|state| {
            let id = format!("C0{}", name.to_uppercase());
            let channel = Channel::new(Kind::Public, name);
            state.store.channels.insert(id.clone(), channel);
            Place::of(&id)
        })
    }

    /// Puts the app out of a channel.
    pub fn kicks(&self, place: &Place) {
        self.server
            .change(|state| state.store.channel(place).has_bot = false);
    }

    /// Counts no calls: a test that starts a gateway often would wait most of its time.
    pub fn counts_no_calls(&self) {
        self.server.change(|state| state.limits.is_lax = true);
    }

    /// Takes a scope from the app: the methods that need it are refused.
    pub fn takes_scope(&self, scope: &'static str) {
        self.server.change(|state| state.missing_scopes.push(scope));
    }

    /// Makes the next call of a method fail.
    pub fn fail_next(&self, method: &str, fault: Fault) {
        self.fail_times(method, 1, fault);
    }

    /// Makes this many calls of a method fail.
    pub fn fail_times(&self, method: &str, times: usize, fault: Fault) {
        let method = method.to_owned();
        self.server.change(|state| {
            state
                .faults
                .add(times, fault, move |call| call.method == method);
        });
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
        self.server.change(|state| state.sockets.cut());
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// Cuts the websockets without a close frame.
    pub fn cut(&self) {
        self.server.change(|state| state.sockets.cut());
    }

    /// Says that the connections are about to end.
    pub fn disconnects(&self, reason: &str) {
        self.server.change(|state| state.sockets.warn(reason));
    }

    /// Closes all connections but the newest with a close frame.
    pub fn closes_the_old(&self) {
        self.server.change(|state| state.sockets.close_the_old());
    }

    /// Gives up on the events that no connection has acknowledged, as after some minutes.
    pub fn gives_up_on_events(&self) {
        self.server.change(|state| state.sockets.give_up());
    }

    /// Sends the newest event again, as if it had not been acknowledged in time.
    pub fn repeats_the_last_event(&self) {
        self.server.change(|state| state.sockets.repeat());
    }

    /// Waits until this many connections have been opened, and the newest is open.
    pub fn wait_for_connections(&self, count: usize) {
        self.server
            .wait_until(&format!("connection {count}"), |state| {
                (state.sockets.opened >= count && state.sockets.open() > 0).then_some(())
            });
    }

    /// How many connections were opened, and how many are open.
    pub fn connections(&self) -> (usize, usize) {
        let state = self.server.state();
        (state.sockets.opened, state.sockets.open())
    }

    /// Waits until this many connections are open.
    pub fn wait_for_open(&self, count: usize) {
        self.server
            .wait_until(&format!("{count} open connections"), |state| {
                (state.sockets.open() == count).then_some(())
            });
    }

    /// Waits until every event has been acknowledged.
    pub fn wait_for_acknowledgements(&self) {
        self.server.wait_until("an acknowledgement", |state| {
            state.sockets.is_settled().then_some(())
        });
    }

    /// What the acknowledgements of slash commands showed to their person.
    pub fn answers(&self) -> Vec<String> {
        self.server.state().sockets.answers.clone()
    }

    /// What was shown to one person alone: their id and the text.
    pub fn whispers(&self) -> Vec<(String, String)> {
        self.server.state().whispers.clone()
    }

    /// The app's messages in a chat and its threads, oldest first.
    pub fn messages(&self, place: &Place) -> Vec<Message> {
        self.server.state().store.messages(place)
    }

    /// Any message, including those of people.
    pub fn message(&self, place: &Place, ts: &str) -> Message {
        self.server.state().store.message(place, ts).clone()
    }

    /// Waits for a message of the app that fulfils a condition; returns the oldest.
    pub fn wait_for_message(&self, place: &Place, holds: impl Fn(&Message) -> bool) -> Message {
        self.server.wait_until("a message", |state| {
            let messages = state.store.messages(place);
            messages.into_iter().find(|message| holds(message))
        })
    }

    /// All calls of a method so far, including failed ones.
    pub fn calls(&self, method: &str) -> Vec<Call> {
        self.server.state().calls_of(method)
    }

    /// Waits for this many calls of a method; returns them.
    pub fn wait_for_calls(&self, method: &str, count: usize) -> Vec<Call> {
        self.server
            .wait_until(&format!("call {count} of {method}"), |state| {
                Some(state.calls_of(method)).filter(|calls| calls.len() >= count)
            })
    }

    /// Sends an event with any content.
    pub fn says(&self, event: &Value) {
        self.server.change(|state| state.event(event.clone()));
    }
}

impl Drop for Slack {
    fn drop(&mut self) {
        self.server.network.close();
        if thread::panicking() {
            return;
        }
        let state = self.server.state();
        let unmet = state.faults.unmet();
        let unmet = unmet.map(|fault| format!("no call met {fault:?}"));
        let complaints: Vec<String> = state.complaints.iter().cloned().chain(unmet).collect();
        // The lock is released before a panic: threads may still need it.
        drop(state);
        assert!(complaints.is_empty(), "Slack: {complaints:#?}");
    }
}
