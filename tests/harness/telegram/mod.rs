//! A Bot API server that stores chats, messages and updates like Telegram, is as strict as
//! Telegram, and fails when a test asks for it. <https://core.telegram.org/bots/api>

mod check;
mod fault;
mod methods;
mod person;
mod poll;
mod request;
mod rich;
mod server;
mod store;
mod text;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::harness::line::{Rate, Rates};
use crate::harness::network::Network;
use crate::harness::shared::Shared;
use crate::harness::tls::Authority;

pub use fault::Fault;
pub use person::{Media, Person, Place, Said, Upload};
pub use request::Call;
use server::Server;
use store::Chat;
pub use store::{BOT_NAME, Draft, File, Message};

/// The bot's token in every test; it must never appear in the program's output.
pub const TOKEN: &str = "4812345678:AAcanary-0123456789abcdefghijklmnop";

/// As often as it happens.
pub const FOREVER: usize = usize::MAX;

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a
/// real one would refuse, or if something that was to go wrong was never asked.
pub struct Telegram {
    server: Arc<Server>,
    authority: Option<Authority>,
}

impl Telegram {
    /// A server without any messages.
    pub fn start() -> Self {
        Self::start_as(false)
    }

    /// The same, with TLS.
    pub fn start_with_tls() -> Self {
        Self::start_as(true)
    }

    fn start_as(with_tls: bool) -> Self {
        let (authority, tls) = with_tls.then(Authority::with_server).unzip();
        let server = Arc::new(Server {
            network: Network::new(),
            tls,
            shared: Shared::default(),
        });
        server.listen();
        Self { server, authority }
    }

    /// The API's base, without a path.
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.server.network.address())
    }

    /// Its authority's certificate, when it speaks TLS.
    pub fn authority_file(&self) -> Option<PathBuf> {
        self.authority.as_ref().map(Authority::file)
    }

    /// A person who has pressed Start in a private chat with the bot; the chat has the person's id.
    pub fn person(&self, id: i64, first_name: &str, username: Option<&str>) -> Person {
        let mut json = json!({"id": id, "first_name": first_name});
        if let Some(username) = username {
            json["username"] = json!(username);
        }
        let mut chat = json.clone();
        chat["type"] = json!("private");
        json["is_bot"] = json!(false);
        self.server.change(|state| {
            state.store.people.insert(id, json);
            state.store.chats.insert(id, Chat::new(chat));
        });
        Person {
            server: Arc::clone(&self.server),
            id,
        }
    }

    /// A group that the bot is in.
    pub fn group(&self, id: i64, title: &str) -> Place {
        let json = json!({"id": id, "title": title, "type": "supergroup"});
        self.server
            .change(|state| state.store.chats.insert(id, Chat::new(json)));
        Place {
            chat: id,
            thread: None,
        }
    }

    /// A group becomes a supergroup with another id.
    pub fn upgrades(&self, group: Place, id: i64) -> Place {
        self.server
            .change(|state| state.store.chat(group.chat).upgraded_to = Some(id));
        self.group(id, "Upgraded")
    }

    /// A topic of a group, which makes it a forum.
    pub fn topic(&self, group: Place, name: &str) -> Place {
        self.server.change(|state| {
            let chat = state.store.chat(group.chat);
            chat.json["is_forum"] = json!(true);
            // A topic's number is the number of the message that opened it.
            let thread = chat.next_id();
            let place = Place {
                thread: Some(thread),
                ..group
            };
            let mut opening = store::Message::new(thread, place, None);
            opening.opened_topic = Some(name.to_owned());
            chat.messages.insert(thread, opening);
            chat.topics.insert(thread, name.to_owned());
            place
        })
    }

    /// The name of a topic.
    pub fn topic_name(&self, topic: Place) -> String {
        let mut state = self.server.state();
        let topics = &state.store.chat(topic.chat).topics;
        topic
            .thread
            .map_or_else(String::new, |thread| topics[&thread].clone())
    }

    /// Makes the next call of a method fail.
    pub fn fail_next(&self, method: &str, fault: Fault) {
        self.fail_times(method, 1, fault);
    }

    /// Makes this many calls of a method fail. Downloads are calls of `file`.
    pub fn fail_times(&self, method: &str, times: usize, fault: Fault) {
        let method = method.to_owned();
        self.fail_when(times, fault, move |call| call.method == method);
    }

    /// Makes this many calls fail that fulfil a condition.
    pub fn fail_when(
        &self,
        times: usize,
        fault: Fault,
        holds: impl Fn(&Call) -> bool + Send + 'static,
    ) {
        self.server
            .change(|state| state.faults.add(times, fault, holds));
    }

    /// Makes this many calls of any method that name this chat fail; [`FOREVER`] until
    /// [`Telegram::heal_in`].
    pub fn fail_in(&self, place: Place, times: usize, fault: Fault) {
        let holds = move |call: &Call| call.is_in(place);
        self.server
            .change(|state| state.faults.add_in(place, times, fault, holds));
    }

    /// Makes this many downloads of a person's file fail. `getFile` works.
    pub fn fail_download(&self, said: &Said, times: usize, fault: Fault) {
        let message = self.message(said.place, said.message);
        let path = message.file.unwrap().path();
        self.fail_when(times, fault, move |call| {
            call.method == "file" && call.parameters["file_path"] == path.as_str()
        });
    }

    /// Removes the faults of [`Telegram::fail_in`] from a chat.
    pub fn heal_in(&self, place: Place) {
        self.server.change(|state| state.faults.heal_in(place));
    }

    /// Sets how fast the connections are. Those that are open already keep large buffers, so it is
    /// best set before there are any.
    pub fn set_rate(&self, rate: Rate) {
        self.server.network.change_rates(|rates| rates.set(rate));
    }

    /// Sets how fast a connection is while it carries a call of this method; downloads are calls of
    /// `file`. The rest keep the rate that they have.
    pub fn set_rate_of(&self, method: &str, rate: Rate) {
        self.server
            .network
            .change_rates(|rates| rates.set_of(method, rate));
    }

    /// Removes the speed limits of all connections.
    pub fn set_full_speed(&self) {
        self.server.network.change_rates(Rates::clear);
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.server.change(|state| state.faults.heal());
    }

    /// A refusal with these words does not fail the test.
    pub fn forgives(&self, words: &str) {
        self.server
            .change(|state| state.forgiven.push(words.to_owned()));
    }

    /// Cuts the network: connections break, and new ones are refused.
    pub fn go_offline(&self) {
        self.server.network.close();
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// Sends an update with any content; returns its number.
    pub fn pushes(&self, kind: &str, content: Value) -> i64 {
        self.server.change(|state| state.queue.push(kind, content))
    }

    /// Sends an update again, even if it was confirmed.
    pub fn repeat(&self, update: i64) {
        self.server.change(|state| state.queue.repeat(update));
    }

    /// Holds new updates back until [`Telegram::release_reversed`] or
    /// [`Telegram::release_as`].
    pub fn hold_updates(&self) {
        self.server.change(|state| state.queue.hold());
    }

    /// Releases the held updates, the newest first.
    pub fn release_reversed(&self) {
        self.server.change(|state| state.queue.release_reversed());
    }

    /// Releases the held updates in this order, and the others after them.
    pub fn release_as(&self, order: &[i64]) {
        self.server.change(|state| state.queue.release_as(order));
    }

    /// Gives the bot at most this many updates at once.
    pub fn set_batch(&self, most: usize) {
        self.server.change(|state| state.queue.set_batch(most));
    }

    /// The number of the newest update that the bot has confirmed; 0 when there is none.
    pub fn offset(&self) -> i64 {
        self.server.state().queue.confirmed()
    }

    /// Waits until the bot has confirmed an update.
    pub fn wait_for_offset(&self, update: i64) {
        self.server
            .wait_until(&format!("the confirmation of {update}"), |state| {
                (state.queue.confirmed() >= update).then_some(())
            });
    }

    /// Waits until the bot polls for updates.
    pub fn wait_for_poll(&self) {
        self.server
            .wait_until("a poll", |state| state.queue.is_polled().then_some(()));
    }

    /// The bot's messages in a place, oldest first.
    pub fn messages(&self, place: Place) -> Vec<Message> {
        self.server.state().store.messages(place).cloned().collect()
    }

    /// Waits until a place shows a draft with these words.
    pub fn wait_for_draft(&self, place: Place, words: &str) -> Draft {
        self.server
            .wait_until(&format!("a draft with {words:?}"), |state| {
                let drafts = &state.store.chats.get(&place.chat)?.drafts;
                let shown = drafts.last().filter(|draft| draft.is_shown)?;
                let is_it = shown.place == place && shown.text.contains(words);
                is_it.then(|| shown.clone())
            })
    }

    /// Any message, including those of people.
    pub fn message(&self, place: Place, id: i64) -> Message {
        self.server.state().store.message(place.chat, id).clone()
    }

    /// Waits for a message of the bot that fulfils a condition; returns the oldest. Its earlier
    /// texts are in its versions.
    pub fn wait_for_message(&self, place: Place, holds: impl Fn(&Message) -> bool) -> Message {
        self.server.wait_until("a message", |state| {
            state
                .store
                .messages(place)
                .find(|message| holds(message))
                .cloned()
        })
    }

    /// The parameters of all calls of a method so far, including failed ones.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        self.server.state().calls_of(method)
    }

    /// Waits for this many calls of a method; returns their parameters.
    pub fn wait_for_calls(&self, method: &str, count: usize) -> Vec<Value> {
        self.server
            .wait_until(&format!("call {count} of {method}"), |state| {
                Some(state.calls_of(method)).filter(|calls| calls.len() >= count)
            })
    }

    /// All calls of the bot about a chat so far, in order, including failed ones.
    pub fn record(&self, place: Place) -> Vec<Call> {
        let state = self.server.state();
        let calls = state.calls.iter().filter(|call| call.is_in(place));
        calls.cloned().collect()
    }

    /// Waits for the heads of this many calls of a method.
    pub fn wait_for_beginning(&self, method: &str, count: usize) {
        self.server
            .wait_until(&format!("the beginning of {method}"), |state| {
                let begun = state.begun.iter().filter(|begun| *begun == method);
                (begun.count() >= count).then_some(())
            });
    }

    /// When the bot tried to send something to a chat, including failures.
    pub fn times(&self, place: Place) -> Vec<Instant> {
        let sends = [
            "sendMessage",
            "sendPhoto",
            "sendDocument",
            "sendVoice",
            "sendSticker",
            "sendMediaGroup",
        ];
        self.server.state().times(place, &sends)
    }

    /// When the bot tried to edit a text in a chat.
    pub fn edit_times(&self, place: Place) -> Vec<Instant> {
        self.server.state().times(place, &["editMessageText"])
    }

    /// What was answered to calls that succeeded so far: the method, its parameters and its result.
    pub fn exchanges(&self) -> Vec<(String, Value, Value)> {
        self.server.state().exchanges.clone()
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.server.network.connections()
    }
}

impl Drop for Telegram {
    fn drop(&mut self) {
        self.server.network.close();
        if thread::panicking() {
            return;
        }
        let state = self.server.state();
        let unmet: Vec<String> = state
            .faults
            .unmet()
            .map(|fault| format!("nobody met {fault:?}"))
            .collect();
        let complaints = [state.complaints.clone(), unmet].concat();
        // The lock is released before a panic: threads may still need it.
        drop(state);
        assert!(complaints.is_empty(), "the Bot API server: {complaints:#?}");
    }
}
