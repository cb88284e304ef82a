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
mod websocket;

use std::sync::{Arc, Condvar, Mutex};
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

/// The bot's token in every story; it must never turn up in what the program says.
pub const TOKEN: &str = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.Canary.0123456789-abcdefghijklmnopqrstuvwxyz";

/// So many times that it never ends.
pub const FOREVER: usize = usize::MAX;

/// The running server. It stops when it is dropped, and fails the test then if it was asked what a
/// real one would refuse, or if something that was to go wrong was never asked.
pub struct Discord {
    server: Arc<Server>,
}

/// A message of a client's to the gateway.
#[derive(Clone, Debug)]
pub struct Frame {
    /// When it came.
    pub at: Instant,
    /// With `op` and `d`.
    pub message: Value,
}

impl Discord {
    /// A server that nobody has spoken to.
    pub fn start() -> Self {
        let network = Network::new();
        let address = network.address().to_string();
        let mut state = State {
            address: address.clone(),
            ..State::default()
        };
        state.store.cdn = format!("http://{address}");
        let server = Arc::new(Server {
            network,
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        server.listen();
        Self { server }
    }

    /// Where it listens, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.network.address())
    }

    /// The REST API's base, with the version.
    pub fn api_base(&self) -> String {
        format!("{}/api/v10", self.url())
    }

    /// Somebody with a private chat with the bot.
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

    /// A server (guild) that the bot is in. Made before the bot comes, as channels and threads are.
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

    /// The bot may not write in a channel from now on.
    pub fn forbid(&self, place: Place) {
        self.server
            .change(|state| state.close_channel(place, Some(missing_permissions())));
    }

    /// A channel is gone.
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

    /// All links to files have expired; messages that are fetched again have new ones.
    pub fn expire_links(&self) {
        self.server.change(|state| state.store.era += 1);
    }

    /// The portal does not allow an intent.
    pub fn forbids_intent(&self, intent: u64) {
        self.server
            .change(|state| state.gateway.forbidden |= intent);
    }

    /// Sets the time between heartbeats, for new connections.
    pub fn set_heartbeat(&self, every: Duration) {
        self.server.change(|state| state.gateway.heartbeat = every);
    }

    /// Sets how long after an IDENTIFY the next one is too soon; 5 s as it begins.
    pub fn set_identify_window(&self, window: Duration) {
        self.server
            .change(|state| state.gateway.identify_window = window);
    }

    /// Sets how many requests of a route go in a time.
    pub fn set_limit(&self, route: &str, most: u32, time: Duration) {
        self.server
            .change(|state| state.limits.set(route, most, time));
    }

    /// How many requests were refused because of a rate limit.
    pub fn rate_limited(&self) -> usize {
        self.server.state().limits.refused
    }

    /// Lets the next request of a route go wrong: see [`Call::route`].
    pub fn fail_next(&self, route: &str, fault: Fault) {
        self.fail_times(route, 1, fault);
    }

    /// Lets so many requests of a route go wrong.
    pub fn fail_times(&self, route: &str, times: usize, fault: Fault) {
        let route = route.to_owned();
        self.fail_when(times, fault, move |call| call.route == route);
    }

    /// Lets so many requests of which something holds go wrong.
    pub fn fail_when(
        &self,
        times: usize,
        fault: Fault,
        holds: impl Fn(&Call) -> bool + Send + 'static,
    ) {
        self.server
            .change(|state| state.faults.add(None, times, fault, holds));
    }

    /// Lets so many requests that name this channel go wrong; [`FOREVER`] until
    /// [`Discord::heal_in`].
    pub fn fail_in(&self, place: Place, times: usize, fault: Fault) {
        self.server
            .change(|state| state.faults.add(Some(place), times, fault, |_| true));
    }

    /// Nothing goes wrong any more in a channel because of [`Discord::fail_in`].
    pub fn heal_in(&self, place: Place) {
        self.server.change(|state| state.faults.heal(Some(place)));
    }

    /// Nothing goes wrong any more.
    pub fn heal(&self) {
        self.server.change(|state| state.faults.heal(None));
    }

    /// A complaint with these words does not fail the test; with none: no complaint does.
    pub fn forgives(&self, words: &str) {
        self.server
            .change(|state| state.forgiven.push(words.to_owned()));
    }

    /// What clients did so far that the real one would refuse.
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

    /// Every connection is as fast as it goes again.
    pub fn set_full_speed(&self) {
        self.server.network.change_rates(Rates::clear);
    }

    /// The network is gone: connections are cut, and new ones refused. Sessions stay.
    pub fn go_offline(&self) {
        self.server.network.close();
        self.server.change(|state| state.gateway.close(None));
    }

    /// The network is back.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// Cuts the gateway's connections without a word. Sessions stay.
    pub fn cut_gateway(&self) {
        self.server.change(|state| state.gateway.close(None));
    }

    /// Closes the gateway's connections with a code.
    pub fn close_gateway(&self, code: u16) {
        self.server.change(|state| state.gateway.close(Some(code)));
    }

    /// Asks clients to connect anew and resume: opcode 7.
    pub fn asks_to_reconnect(&self) {
        self.says_to_all(&json!({"op": 7, "s": null, "t": null, "d": null}));
    }

    /// Asks clients for a heartbeat at once: opcode 1.
    pub fn asks_for_heartbeat(&self) {
        self.says_to_all(&json!({"op": 1, "s": null, "t": null, "d": null}));
    }

    /// Says that the session is not valid: opcode 9. The connections stay open.
    pub fn invalidates(&self, is_resumable: bool) {
        self.server
            .change(|state| state.invalidate_all(is_resumable));
    }

    /// Sessions cannot be resumed any more. Nobody is told before they try.
    pub fn forgets_sessions(&self) {
        self.server.change(|state| state.gateway.forget());
    }

    /// Heartbeats are acknowledged or not: a connection that is not is a zombie.
    pub fn acknowledges(&self, does: bool) {
        self.server.change(|state| state.gateway.is_deaf = !does);
    }

    /// Sends an event of a kind with whatever content to the channel's sessions.
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

    /// Waits for so many messages to the gateway with this opcode.
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

    /// Waits until so many sessions have begun, and one is connected.
    pub fn wait_for_ready(&self, count: usize) {
        self.server
            .wait_until(&format!("session {count}"), |state| {
                (state.gateway.readies >= count && state.gateway.is_connected()).then_some(())
            });
    }

    /// Waits until a session was resumed so often.
    pub fn wait_for_resumes(&self, count: usize) {
        self.server.wait_until(&format!("resume {count}"), |state| {
            (state.gateway.resumes >= count).then_some(())
        });
    }

    /// How often sessions were begun and resumed.
    pub fn sessions(&self) -> (usize, usize) {
        let state = self.server.state();
        (state.gateway.readies, state.gateway.resumes)
    }

    /// The codes with which clients have closed; none: without a word.
    pub fn closes(&self) -> Vec<Option<u16>> {
        self.server.state().gateway.closes.clone()
    }

    /// The slash commands that the bot has set.
    pub fn commands(&self) -> Vec<Value> {
        self.server.state().interactions.commands.clone()
    }

    /// What the bot answered first to an interaction, as the type of its answer.
    pub fn answer(&self, token: &str) -> Option<u64> {
        self.server.state().interactions.open.get(token)?.answer
    }

    /// The bot's messages that stand in a channel, oldest first.
    pub fn messages(&self, place: Place) -> Vec<Message> {
        self.server.state().store.messages(place).cloned().collect()
    }

    /// Any message, also a person's.
    pub fn message(&self, place: Place, id: u64) -> Message {
        self.server.state().store.message(place, id).clone()
    }

    /// Waits for a message of the bot's of which something holds; returns the oldest.
    pub fn wait_for_message(&self, place: Place, holds: impl Fn(&Message) -> bool) -> Message {
        self.server.wait_until("a message", |state| {
            let mut messages = state.store.messages(place);
            messages.find(|message| holds(message)).cloned()
        })
    }

    /// All requests of a route so far, also those that went wrong.
    pub fn calls(&self, route: &str) -> Vec<Call> {
        self.server.state().calls_of(route)
    }

    /// Waits until a route was asked so often; returns the requests.
    pub fn wait_for_calls(&self, route: &str, count: usize) -> Vec<Call> {
        self.server
            .wait_until(&format!("request {count} of {route}"), |state| {
                Some(state.calls_of(route)).filter(|calls| calls.len() >= count)
            })
    }

    /// Waits until so many requests of a route have begun: their heads have come, perhaps no more.
    pub fn wait_for_beginning(&self, route: &str, count: usize) {
        self.server
            .wait_until(&format!("the beginning of {route}"), |state| {
                let begun = state.begun.iter().filter(|begun| **begun == route);
                (begun.count() >= count).then_some(())
            });
    }

    /// Everything that the bot asked for in a channel so far, in order, also what went wrong.
    pub fn record(&self, place: Place) -> Vec<Call> {
        let state = self.server.state();
        let calls = state.calls.iter().filter(|call| call.place == Some(place));
        calls.cloned().collect()
    }

    /// How many connections there have been.
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
        // The lock is given back before a panic: threads may still need it.
        drop(state);
        assert!(complaints.is_empty(), "Discord: {complaints:#?}");
    }
}
