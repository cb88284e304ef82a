//! A Discord that remembers channels, messages and sessions as the real one does, is as strict as
//! it, and goes wrong when the test says so: the gateway's websocket, the REST API and the CDN.
//! discord.py is content with it: see tests/discord/check.py.
//! <https://discord.com/developers/docs/reference>

mod fault;
mod gateway;
mod interactions;
mod limits;
mod person;
mod request;
mod rest;
mod server;
mod store;
pub(in crate::harness) mod websocket;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::line::{Rate, Rates};
use crate::harness::network::Network;

pub use fault::Fault;
use fault::missing_permissions;
pub use person::{Person, Said, Upload};
pub use request::Call;
use server::{Server, State};
pub use store::{APPLICATION_ID, BOT_ID, Message, Place};
use store::{DM, TEXT, THREAD};

/// The bot's token in every test; it must never appear in the program's output.
pub const TOKEN: &str = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.Canary.0123456789-abcdefghijklmnopqrstuvwxyz";

/// As often as it happens.
pub const FOREVER: usize = usize::MAX;

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a
/// real one would refuse, or if something that was to go wrong was never asked.
pub struct Discord {
    server: Arc<Server>,
}

/// A message of a client to the gateway.
#[derive(Clone, Debug)]
pub struct Frame {
    /// When it arrived.
    pub at: Instant,
    /// With `op` and `d`.
    pub message: Value,
}

impl Discord {
    /// A server without any messages.
    pub fn start() -> Self {
        let network = Network::new();
        let address = network.address().to_string();
        let mut state = State {
            address: address.clone(),
            ..State::default()
        };
        state.store.cdn = format!("http://{address}");
        let server = Server::new(network, state);
        server.listen();
        Self { server }
    }

    /// Its URL, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.network.address())
    }

    /// The REST API's base, with the version.
    pub fn api_base(&self) -> String {
        format!("{}/api/v10", self.url())
    }

    /// A person with a private chat with the bot.
    pub fn person(&self, id: u64, name: &str) -> Person {
        let dm = self.server.change(|state| {
            state.store.people.insert(id, name.to_owned());
            let dm = state.store.add_channel(DM, "", None);
            state.store.channel(Place(dm)).recipient = Some(id);
            Place(dm)
        });
        Person {
            server: Arc::clone(&self.server),
            id,
            dm,
        }
    }

    /// A server (guild) that the bot is in. Like channels and threads, create it before the bot connects.
    pub fn guild(&self, name: &str) -> u64 {
        self.server.change(|state| {
            let id = state.store.next_id();
            state.store.guilds.insert(id, name.to_owned());
            id
        })
    }

    /// A text channel of a guild.
    pub fn channel(&self, guild: u64, name: &str) -> Place {
        self.server.change(|state| {
            let id = state.store.add_channel(TEXT, name, Some(guild));
            let event = state.store.channel_json(id);
            state.dispatch("CHANNEL_CREATE", id, &event);
            Place(id)
        })
    }

    /// A thread of a channel.
    pub fn thread(&self, channel: Place, name: &str) -> Place {
        self.server.change(|state| {
            let guild = state.store.channel(channel).guild;
            let id = state.store.add_channel(THREAD, name, guild);
            state.store.channel(Place(id)).parent = Some(channel.0);
            let mut event = state.store.channel_json(id);
            event["newly_created"] = json!(true);
            state.dispatch("THREAD_CREATE", id, &event);
            Place(id)
        })
    }

    /// Takes the bot's right to write in a channel.
    pub fn forbid(&self, place: Place) {
        self.server
            .change(|state| state.close_channel(place, Some(missing_permissions())));
    }

    /// Deletes a channel.
    pub fn removes(&self, place: Place) {
        self.server.change(|state| {
            let mut event = state.store.channel_json(place.0);
            let kind = match event["type"].as_u64() {
                Some(THREAD) => "THREAD_DELETE",
                _ => "CHANNEL_DELETE",
            };
            event["id"] = json!(place.0.to_string());
            state.dispatch(kind, place.0, &event);
            state.store.channels.remove(&place.0);
            state.store.gone.push(place.0);
        });
    }

    /// Makes all links to files expire; messages that are fetched again have new ones.
    pub fn expire_links(&self) {
        self.server.change(|state| state.store.era += 1);
    }

    /// Forbids an intent, as in the portal.
    pub fn forbids_intent(&self, intent: u64) {
        self.server
            .change(|state| state.gateway.forbidden |= intent);
    }

    /// Sets the time between heartbeats, for new connections.
    pub fn set_heartbeat(&self, every: Duration) {
        self.server.change(|state| state.gateway.heartbeat = every);
    }

    /// Sets the minimum time between two IDENTIFYs; 5 s at first.
    pub fn set_identify_window(&self, window: Duration) {
        self.server
            .change(|state| state.gateway.identify_window = window);
    }

    /// Sets the rate limit of a route.
    pub fn set_limit(&self, route: &str, most: u32, time: Duration) {
        self.server
            .change(|state| state.limits.set(route, most, time));
    }

    /// How many requests were refused because of a rate limit.
    pub fn rate_limited(&self) -> usize {
        self.server.state().limits.refused
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

    /// Makes this many requests that name this channel fail; [`FOREVER`] until
    /// [`Discord::heal_in`].
    pub fn fail_in(&self, place: Place, times: usize, fault: Fault) {
        let holds = move |call: &Call| call.place == Some(place);
        self.server
            .change(|state| state.faults.add_in(place, times, fault, holds));
    }

    /// Removes the faults of [`Discord::fail_in`] from a channel.
    pub fn heal_in(&self, place: Place) {
        self.server.change(|state| state.faults.heal_in(place));
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.server.change(|state| state.faults.heal());
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

    /// Sets how fast the connections are: see [`crate::harness::telegram::Telegram::set_rate`].
    pub fn set_rate(&self, rate: Rate) {
        self.server.network.change_rates(|rates| rates.set(rate));
    }

    /// Sets how fast a connection is while it carries a request of this route. Downloads are `cdn`.
    pub fn set_rate_of(&self, route: &str, rate: Rate) {
        self.server
            .network
            .change_rates(|rates| rates.set_of(route, rate));
    }

    /// Removes the speed limits of all connections.
    pub fn set_full_speed(&self) {
        self.server.network.change_rates(Rates::clear);
    }

    /// Cuts the network: connections break, and new ones are refused. Sessions stay.
    pub fn go_offline(&self) {
        self.server.network.close();
        self.server.change(|state| state.gateway.close(None));
    }

    /// Restores the network.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// Cuts the gateway's connections without a close frame. Sessions stay.
    pub fn cut_gateway(&self) {
        self.server.change(|state| state.gateway.close(None));
    }

    /// Closes the gateway's connections with a code.
    pub fn close_gateway(&self, code: u16) {
        self.server.change(|state| state.gateway.close(Some(code)));
    }

    /// Asks clients to reconnect and resume: opcode 7.
    pub fn asks_to_reconnect(&self) {
        self.says_to_all(&json!({"op": 7, "s": null, "t": null, "d": null}));
    }

    /// Asks clients for a heartbeat at once: opcode 1.
    pub fn asks_for_heartbeat(&self) {
        self.says_to_all(&json!({"op": 1, "s": null, "t": null, "d": null}));
    }

    /// Reports an invalid session: opcode 9. The connections stay open.
    pub fn invalidates(&self, is_resumable: bool) {
        self.server
            .change(|state| state.invalidate_all(is_resumable));
    }

    /// Makes all sessions impossible to resume. Clients notice when they try.
    pub fn forgets_sessions(&self) {
        self.server.change(|state| state.gateway.forget());
    }

    /// Sets whether heartbeats are acknowledged.
    pub fn acknowledges(&self, does: bool) {
        self.server.change(|state| state.gateway.is_deaf = !does);
    }

    /// Sends an event with any content to the channel's sessions.
    pub fn dispatches(&self, kind: &str, place: Place, data: &Value) {
        self.server
            .change(|state| state.dispatch(kind, place.0, data));
    }

    /// All messages of clients to the gateway with this opcode.
    pub fn frames(&self, op: u64) -> Vec<Frame> {
        let state = self.server.state();
        let frames = state
            .gateway
            .frames
            .iter()
            .filter(|frame| frame.message["op"] == op);
        frames.cloned().collect()
    }

    /// Waits for this many messages to the gateway with this opcode.
    pub fn wait_for_frames(&self, op: u64, count: usize) {
        self.server
            .wait_until(&format!("frame {count} with opcode {op}"), |state| {
                let frames = state
                    .gateway
                    .frames
                    .iter()
                    .filter(|frame| frame.message["op"] == op);
                (frames.count() >= count).then_some(())
            });
    }

    /// Waits until this many sessions were started, and one is connected.
    pub fn wait_for_ready(&self, count: usize) {
        self.server
            .wait_until(&format!("session {count}"), |state| {
                (state.gateway.readies >= count && state.gateway.is_connected()).then_some(())
            });
    }

    /// Waits until sessions were resumed this many times.
    pub fn wait_for_resumes(&self, count: usize) {
        self.server.wait_until(&format!("resume {count}"), |state| {
            (state.gateway.resumes >= count).then_some(())
        });
    }

    /// How many sessions were started and resumed.
    pub fn sessions(&self) -> (usize, usize) {
        let state = self.server.state();
        (state.gateway.readies, state.gateway.resumes)
    }

    /// The codes with which clients have closed; `None`: without a close frame.
    pub fn closes(&self) -> Vec<Option<u16>> {
        self.server.state().gateway.closes.clone()
    }

    /// The slash commands that the bot has set.
    pub fn commands(&self) -> Vec<Value> {
        self.server.state().interactions.commands.clone()
    }

    /// The type of the bot's first answer to an interaction.
    pub fn answer(&self, token: &str) -> Option<u64> {
        self.server.state().interactions.open.get(token)?.answer
    }

    /// The bot's messages in a channel, oldest first.
    pub fn messages(&self, place: Place) -> Vec<Message> {
        self.server.state().store.messages(place).cloned().collect()
    }

    /// Any message, including those of people.
    pub fn message(&self, place: Place, id: u64) -> Message {
        self.server.state().store.message(place, id).clone()
    }

    /// Waits for a message of the bot that fulfils a condition; returns the oldest.
    pub fn wait_for_message(&self, place: Place, holds: impl Fn(&Message) -> bool) -> Message {
        self.server.wait_until("a message", |state| {
            let mut messages = state.store.messages(place);
            messages.find(|message| holds(message)).cloned()
        })
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

    /// Waits for the heads of this many requests of a route.
    pub fn wait_for_beginning(&self, route: &str, count: usize) {
        self.server
            .wait_until(&format!("the beginning of {route}"), |state| {
                let begun = state.begun.iter().filter(|begun| **begun == route);
                (begun.count() >= count).then_some(())
            });
    }

    /// All requests of the bot about a channel so far, in order, including failed ones.
    pub fn record(&self, place: Place) -> Vec<Call> {
        let state = self.server.state();
        let calls = state.calls.iter().filter(|call| call.place == Some(place));
        calls.cloned().collect()
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.server.network.connections()
    }

    fn says_to_all(&self, message: &Value) {
        self.server.change(|state| state.gateway.say(message));
    }
}

impl Drop for Discord {
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
        assert!(complaints.is_empty(), "Discord: {complaints:#?}");
    }
}
