//! A homeserver that remembers rooms, events and files as Synapse does, is as strict as it (and stricter about what
//! clients could not show), and goes wrong when the test says so. matrix-nio is content with it: see
//! tests/matrix/check.py. <https://spec.matrix.org/latest/client-server-api/>

mod act;
mod fault;
mod html;
mod person;
mod request;
mod server;
mod store;
mod sync;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::ServerConfig;
use serde_json::{Value, json};

use crate::harness::network::Network;
use crate::harness::tls::Authority;

pub use fault::Fault;
pub use person::Person;
pub use request::Call;
use server::{Server, State};
pub use store::File;
use store::{Event, SERVER};

/// The bot's token in every test; it must never appear in the program's output.
pub const TOKEN: &str = "syt_Y3JhYg_CanaryCanaryCanary_0123aB";
/// The bot's password.
pub const PASSWORD: &str = "canary-password";
/// The bot's id.
pub const BOT_ID: &str = "@crab:fake.test";
/// The name that the bot shows.
pub const BOT_NAME: &str = "Crabby";

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a
/// real one would refuse, or if something that was to go wrong was never asked.
pub struct Matrix {
    server: Arc<Server>,
    authority: Option<Authority>,
}

/// A message of the bot, as clients show it.
#[derive(Clone, Debug)]
pub struct Message {
    /// The id of the event that began it.
    pub id: String,
    /// Its newest text.
    pub text: String,
    /// The same as HTML; empty when it has none.
    pub html: String,
    /// All versions of its text, oldest first.
    pub versions: Vec<String>,
    /// Its kind, such as `m.text`.
    pub kind: String,
    /// The thread that it is in.
    pub thread: Option<String>,
    /// The message that it replies to.
    pub reply_to: Option<String>,
    /// Its file.
    pub file: Option<File>,
}

impl Matrix {
    /// A server without any rooms.
    pub fn start() -> Self {
        Self::with(None)
    }

    /// The same, with TLS and a certificate that only it vouches for.
    pub fn start_with_tls() -> Self {
        Self::with(Some(Authority::self_signed()))
    }

    fn with(tls: Option<(Authority, Arc<ServerConfig>)>) -> Self {
        let (authority, tls) = tls.unzip();
        let network = Network::new();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let mut state = State {
            url: format!("{scheme}://{}", network.address()),
            tls,
            ..State::default()
        };
        state.store.direct = Value::Null;
        let server = Server::new(network, state);
        server.listen();
        Self { server, authority }
    }

    /// Its URL, without a path.
    pub fn url(&self) -> String {
        self.server.change(|state| state.url.clone())
    }

    /// Its certificate, when it speaks TLS.
    pub fn authority_file(&self) -> Option<PathBuf> {
        self.authority.as_ref().map(Authority::file)
    }

    /// A person with a private room with the bot. The name is that within the server.
    pub fn person(&self, local: &str, name: &str) -> Person {
        let id = format!("@{local}:{SERVER}");
        let room = self.server.change(|state| {
            state.store.people.insert(id.clone(), name.to_owned());
            let room = state.store.new_room(&id, "");
            state.store.set_member(&room, &id, BOT_ID, "invite");
            state.store.set_member(&room, BOT_ID, BOT_ID, "join");
            room
        });
        Person {
            server: Arc::clone(&self.server),
            id,
            room,
        }
    }

    /// A room with these people and the bot.
    pub fn room(&self, name: &str, people: &[&Person]) -> String {
        self.server.change(|state| {
            let room = state.store.new_room(people[0].id(), name);
            for person in &people[1..] {
                state
                    .store
                    .set_member(&room, person.id(), person.id(), "join");
            }
            state
                .store
                .set_member(&room, people[0].id(), BOT_ID, "invite");
            state.store.set_member(&room, BOT_ID, BOT_ID, "join");
            room
        })
    }

    /// Takes the bot's right to write in a room.
    pub fn silences(&self, room: &str) {
        self.server
            .change(|state| state.store.room(room).is_silenced = true);
    }

    /// Makes all places in the stream so far unknown.
    pub fn forgets_the_stream(&self) {
        self.server.change(|state| {
            state.store.last += 1;
            state.oldest = state.store.last;
        });
    }

    /// Has files fetched as before version 1.11 of the specification.
    pub fn serves_files_the_old_way(&self) {
        self.server.change(|state| state.is_old = true);
    }

    /// Has files on another place, without encryption.
    pub fn redirects_files(&self) {
        self.server.change(|state| state.redirects = true);
    }

    /// Sets how many messages may be sent in a time.
    pub fn set_limit(&self, most: usize, time: Duration) {
        self.server.change(|state| state.limit = Some((most, time)));
    }

    /// How many requests were refused because of the limit.
    pub fn limited(&self) -> usize {
        self.server.state().limited
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

    /// Cuts the network: connections break, and new ones are refused.
    pub fn go_offline(&self) {
        self.server.network.close();
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// Cuts all connections; new ones are accepted.
    pub fn cuts(&self) {
        self.go_offline();
        self.go_online();
    }

    /// All requests of a route so far, including failed ones.
    pub fn calls(&self, route: &str) -> Vec<Call> {
        self.server.state().calls_of(route)
    }

    /// Waits for this many requests of a route; returns them.
    pub fn wait_for_calls(&self, route: &str, count: usize) -> Vec<Call> {
        self.server
            .wait_until(&format!("request {count} of {route}"), |state| {
                Some(state.calls_of(route)).filter(|calls| calls.len() >= count)
            })
    }

    /// Waits until the bot listens for events, in a sync after this many: in one that goes on from a place in the
    /// stream.
    pub fn wait_until_listening(&self, before: usize) {
        self.server.wait_until("a sync that goes on", |state| {
            let syncs = state.calls_of("sync");
            let mut new = syncs.iter().skip(before);
            new.any(|call| call.asked("since").is_some()).then_some(())
        });
    }

    /// The bot's messages in a room, oldest first.
    pub fn messages(&self, room: &str) -> Vec<Message> {
        messages(&self.server.state(), room)
    }

    /// Waits for a message of the bot that fulfils a condition; returns the oldest.
    pub fn wait_for_message(&self, room: &str, holds: impl Fn(&Message) -> bool) -> Message {
        self.server.wait_until("a message", |state| {
            messages(state, room)
                .into_iter()
                .find(|message| holds(message))
        })
    }

    /// The bot's reactions in a room: the message and the emoji.
    pub fn reactions(&self, room: &str) -> Vec<(String, String)> {
        let state = self.server.state();
        let events = state.store.rooms[room].events.iter();
        let reactions = events.filter(|event| event.kind == "m.reaction" && !event.is_redacted);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        reactions
            .map(|event| &event.content["m.relates_to"])
            .map(|relation| (text(&relation["event_id"]), text(&relation["key"])))
            .collect()
    }

    /// The newest message that the bot has read in a room.
    pub fn read(&self, room: &str) -> Option<String> {
        self.server.state().store.rooms[room].read.clone()
    }

    /// Waits until the bot has read a message.
    pub fn wait_for_read(&self, room: &str, message: &str) {
        self.server.wait_until("a receipt", |state| {
            let read = state.store.rooms[room].read.as_deref();
            (read == Some(message)).then_some(())
        });
    }

    /// Whether the bot is shown as typing in a room.
    pub fn is_typing(&self, room: &str) -> bool {
        self.server.state().store.rooms[room].is_typing
    }

    /// What the bot is in a room, such as `join`, and the reason that it gave.
    pub fn membership(&self, room: &str) -> (String, String) {
        membership(&self.server.state(), room)
    }

    /// Waits until the bot is this in a room; returns the reason that it gave.
    pub fn wait_for_membership(&self, room: &str, is: &str) -> String {
        self.server
            .wait_until(&format!("the membership {is}"), |state| {
                let (membership, reason) = membership(state, room);
                (membership == is).then_some(reason)
            })
    }

    /// The account data `m.direct`.
    pub fn direct(&self) -> Value {
        self.server.state().store.direct.clone()
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        self.server.change(|state| state.is_closing = true);
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
        assert!(complaints.is_empty(), "Matrix: {complaints:#?}");
    }
}

fn membership(state: &State, room: &str) -> (String, String) {
    let ours = state.store.rooms[room].state("m.room.member", BOT_ID, u64::MAX);
    let text = |name: &str| {
        let value = ours.map(|event| event.content[name].as_str().unwrap_or_default());
        value.unwrap_or_default().to_owned()
    };
    (text("membership"), text("reason"))
}

/// The bot's messages in a room, with their edits.
fn messages(state: &State, room: &str) -> Vec<Message> {
    let Some(room) = state.store.rooms.get(room) else {
        return Vec::new();
    };
    let ours = |event: &&Event| {
        event.sender == BOT_ID && event.kind == "m.room.message" && !event.is_redacted
    };
    let mut messages: Vec<Message> = Vec::new();
    for event in room.events.iter().filter(ours) {
        let content = &event.content;
        let relation = &content["m.relates_to"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if relation["rel_type"] == "m.replace" {
            let target = text(&relation["event_id"]);
            let edited = messages.iter_mut().find(|message| message.id == target);
            if let Some(message) = edited {
                let new = &content["m.new_content"];
                message.text = text(&new["body"]);
                message.html = text(&new["formatted_body"]);
                message.kind = text(&new["msgtype"]);
                message.versions.push(message.text.clone());
            }
            continue;
        }
        let is_thread = relation["rel_type"] == "m.thread";
        let is_fallback = relation["is_falling_back"] == true;
        let url = content["url"].as_str();
        messages.push(Message {
            id: event.id.clone(),
            text: text(&content["body"]),
            html: text(&content["formatted_body"]),
            versions: vec![text(&content["body"])],
            kind: text(&content["msgtype"]),
            thread: is_thread.then(|| text(&relation["event_id"])),
            reply_to: relation["m.in_reply_to"]["event_id"]
                .as_str()
                .filter(|_| !is_fallback)
                .map(str::to_owned),
            file: url.and_then(|url| state.store.file(url).cloned()),
        });
    }
    messages
}

/// The section `channels.matrix` for a server, with a person who has access.
pub fn section(matrix: &Matrix) -> Value {
    json!({
        "enabled": true, "homeserver": matrix.url(), "accessToken": TOKEN,
        "allowFrom": [format!("@ana:{SERVER}")],
    })
}
