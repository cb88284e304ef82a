//! An IRC network in one server, with people who are not connected to it: capabilities, SASL, services accounts, channels.
//! It is as strict as the strictest: lines that are too long, floods, and commands that make no sense fail the test. The
//! library `irc` is content with it, see tests/irc/check.py.

mod client;
mod pipe;
mod server;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use rustls::ServerConfig;
use serde_json::{Value, json};

use crate::harness::network::Network;
use crate::harness::shared::Shared;
use crate::harness::tls::Authority;
use server::{Holder, Server, State};

/// The passwords in every test; they must never appear in the program's output.
pub const PASSWORD: &str = "canary-of-services-51c0";
/// The services account of the bot.
pub const ACCOUNT: &str = "crabby";
/// The bot's nick.
pub const NICK: &str = "crab";
/// The channel that the bot is in.
pub const CHANNEL: &str = "#Garden";

/// The running server. It stops when it is dropped, and fails the test then if a client did what it must not do, or if
/// something that was to go wrong was never met.
pub struct Irc {
    server: Arc<Server>,
    authority: Option<Authority>,
}

/// Messages that a client has sent to one target, up to the PING behind them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The nick of the client.
    pub from: String,
    /// The nick or the channel.
    pub target: String,
    /// The lines, with formatting.
    pub lines: Vec<String>,
    /// Whether they are notices.
    pub is_notice: bool,
}

/// What is to go wrong with the next message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The target changes too fast: 439, and nothing is delivered.
    TooFast,
    /// Nothing is delivered, and a number with words says so.
    Refused(u16),
    /// The message is delivered, and the connection breaks before the PONG.
    LostPong,
}

/// A person who is on the network.
#[derive(Clone)]
pub struct Person {
    server: Arc<Server>,
    /// The nick at the beginning.
    pub nick: String,
}

impl Irc {
    /// A server with TLS, services and all capabilities.
    pub fn start() -> Self {
        let (authority, config) = Authority::self_signed();
        Self::with(Some((authority, config)))
    }

    /// The same without TLS.
    pub fn plain() -> Self {
        Self::with(None)
    }

    fn with(tls: Option<(Authority, Arc<ServerConfig>)>) -> Self {
        let (authority, config) = tls.unzip();
        let server = Arc::new(Server {
            network: Network::new(),
            tls: config,
            shared: Shared::new(State::new()),
        });
        server.listen();
        Self { server, authority }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.server.network.address().port()
    }

    /// The section of the configuration: logged in by SASL, in the channel, with Ana in allowFrom.
    pub fn section(&self) -> Value {
        json!({
            "enabled": true, "server": "127.0.0.1", "port": self.port(), "tls": self.authority.is_some(), "nick": NICK,
            "saslUser": ACCOUNT, "saslPassword": PASSWORD, "channels": [CHANNEL], "allowFrom": ["ana"],
            "sendIntervalMs": 20,
        })
    }

    /// The file with the authority of its certificate.
    pub fn authority(&self) -> Option<PathBuf> {
        self.authority.as_ref().map(Authority::file)
    }

    /// Somebody with a nick and, if logged in, an account.
    pub fn person(&self, nick: &str, account: Option<&str>) -> Person {
        self.server.change(|state| state.add_holder(nick, account));
        Person {
            server: Arc::clone(&self.server),
            nick: nick.to_owned(),
        }
    }

    /// Somebody takes a nick that someone else had.
    pub fn takes(&self, nick: &str, account: Option<&str>) -> Person {
        self.server
            .change(|state| state.holders.retain(|holder| holder.nick != nick));
        self.person(nick, account)
    }

    /// Changes the capabilities that the server offers, separated by spaces.
    pub fn offers(&self, capabilities: &str) {
        self.server
            .change(|state| capabilities.clone_into(&mut state.capabilities));
    }

    /// The password that services want of the bot.
    pub fn wants_password(&self, password: &str) {
        self.server
            .change(|state| password.clone_into(&mut state.password));
    }

    /// Clients may send a line each so many milliseconds, after the first few.
    pub fn allows_line_each(&self, millis: u64) {
        self.server.change(|state| state.line_millis = millis);
    }

    /// Whether what people write to the bot while it is away is told later, as a bouncer does.
    pub fn keeps(&self, is_kept: bool) {
        self.server.change(|state| state.keeps = is_kept);
    }

    /// Whether it does that.
    pub fn is_bouncer(&self) -> bool {
        self.server.state().keeps
    }

    /// Tells the bot again what it was told in the past, as a bouncer does.
    pub fn replays(&self) {
        self.server.change(|state| {
            let told = state.told.clone();
            state.replay(&told);
        });
    }

    /// Waits until this many clients, in all, were let in and have joined the channel, and one of them is connected.
    pub fn wait_for_clients(&self, count: usize) {
        self.server.wait_until(&format!("client {count}"), |state| {
            (state.let_in >= count && state.is_settled()).then_some(())
        });
    }

    /// The clients that were let in so far.
    pub fn clients(&self) -> usize {
        self.server.state().let_in
    }

    /// The nicks of the clients that are connected.
    pub fn nicks(&self) -> Vec<String> {
        let state = self.server.state();
        state
            .clients
            .iter()
            .map(|client| client.nick.clone())
            .collect()
    }

    /// Waits for a client to send a line that fulfils a condition; how often such lines came is the outcome.
    pub fn wait_for_line(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        self.server.wait_until(what, |state| {
            let mut lines = state.lines.iter();
            lines.find(|line| holds(line)).cloned()
        })
    }

    /// All lines of clients.
    pub fn lines(&self) -> Vec<String> {
        self.server.state().lines.clone()
    }

    /// What clients have sent to a target, oldest first.
    pub fn pieces(&self, target: &str) -> Vec<Piece> {
        let state = self.server.state();
        let pieces = state.pieces.iter();
        pieces
            .filter(|piece| piece.target.eq_ignore_ascii_case(target))
            .cloned()
            .collect()
    }

    /// The texts that clients have sent to a target, oldest first, each with all of its lines, and without formatting.
    pub fn texts(&self, target: &str) -> Vec<String> {
        let pieces = self.pieces(target).into_iter();
        pieces.map(|piece| piece.text()).collect()
    }

    /// Waits for a message to a target that contains these words; returns the oldest.
    pub fn wait_for(&self, target: &str, words: &str) -> Piece {
        self.server
            .wait_until(&format!("a message with {words:?}"), |state| {
                let mut pieces = state.pieces.iter();
                pieces
                    .find(|piece| {
                        piece.target.eq_ignore_ascii_case(target) && piece.text().contains(words)
                    })
                    .cloned()
            })
    }

    /// Makes the next message of a client go wrong.
    pub fn fail_next(&self, fault: Fault) {
        self.server.change(|state| state.faults.push(fault));
    }

    /// Removes the bot from its channel.
    pub fn kicks(&self) {
        self.server.change(State::kick);
    }

    /// Sends a line to every client.
    pub fn tells(&self, line: &str) {
        self.server.change(|state| state.broadcast(line));
    }

    /// Cuts the clients' connections without a word.
    pub fn cut(&self) {
        self.server.change(State::cut);
    }

    /// Stops the server: connections break, and new ones are refused.
    pub fn go_offline(&self) {
        self.server.network.close();
        self.server.change(State::cut);
    }

    /// Starts it again, at the same port.
    pub fn go_online(&self) {
        self.server.listen();
    }

    /// A complaint with these words does not fail the test.
    pub fn forgives(&self, words: &str) {
        self.server
            .change(|state| state.forgiven.push(words.to_owned()));
    }

    /// What clients have done that they must not do.
    pub fn complaints(&self) -> Vec<String> {
        self.server.state().complaints.clone()
    }
}

impl Piece {
    /// Its lines without formatting.
    pub fn text(&self) -> String {
        let plain = |line: &String| line.replace(['\u{2}', '\u{1d}'], "");
        self.lines.iter().map(plain).collect::<Vec<_>>().join("\n")
    }
}

impl Person {
    /// Writes to the bot in private. Returns the message's id.
    pub fn says(&self, text: &str) -> String {
        self.tells("PRIVMSG", None, text)
    }

    /// Writes in the channel of the bot.
    pub fn says_in_channel(&self, text: &str) -> String {
        self.tells("PRIVMSG", Some(CHANNEL), text)
    }

    /// Sends a notice to the bot.
    pub fn notifies(&self, text: &str) -> String {
        self.tells("NOTICE", None, text)
    }

    fn tells(&self, command: &str, target: Option<&str>, text: &str) -> String {
        self.server
            .change(|state| state.tell(&self.nick, command, target, text))
    }

    /// Takes another nick.
    pub fn renames(&mut self, nick: &str) {
        self.server.change(|state| state.rename(&self.nick, nick));
        nick.clone_into(&mut self.nick);
    }

    /// Leaves, with a reason.
    pub fn quits(&self, reason: &str) {
        self.server.change(|state| {
            let holder = state.holder(&self.nick).map(Holder::mask);
            if let Some(mask) = holder {
                state.broadcast(&format!(":{mask} QUIT :{reason}"));
            }
            state.holders.retain(|holder| holder.nick != self.nick);
        });
    }
}

impl Drop for Irc {
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
        assert!(complaints.is_empty(), "IRC: {complaints:#?}");
    }
}
