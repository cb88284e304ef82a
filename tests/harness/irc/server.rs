//! The server's state, and what happens in it.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

use rustls::ServerConfig;

use super::pipe::Pipe;
use super::{ACCOUNT, CHANNEL, Fault, PASSWORD, Piece};
use crate::harness::network::Network;
use crate::harness::shared::{Recent, Shared, last};

/// The server's name.
pub(super) const SERVER: &str = "irc.garden.example";
/// Bytes of a line, with CR and LF.
pub(super) const LINE_BYTES: usize = 512;

/// What all connections share.
pub(super) struct Server {
    pub network: Arc<Network>,
    pub tls: Option<Arc<ServerConfig>>,
    pub shared: Shared<State>,
}

/// Somebody who has a nick without a connection.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    pub nick: String,
    pub account: Option<String>,
}

impl Holder {
    pub(super) fn mask(&self) -> String {
        // What the server shows of somebody does not change with their nick.
        let user = self.account.as_deref().unwrap_or(&self.nick);
        format!(
            "{}!~{user}@{}.people.example",
            self.nick,
            user.to_lowercase()
        )
    }
}

/// A client's connection.
pub(super) struct Client {
    pub number: usize,
    pub pipe: Arc<Pipe>,
    pub nick: String,
    pub user: String,
    pub account: Option<String>,
    pub capabilities: Vec<String>,
    pub is_negotiating: bool,
    pub is_in: bool,
    pub has_joined: bool,
    /// What has come of a SASL response.
    pub response: Option<String>,
    /// When all lines are paid for, as RFC 1459 counts them.
    pub paid_at: Instant,
    /// The lines since the last PING, by target.
    pub open: Vec<Piece>,
}

impl Client {
    pub(super) fn mask(&self) -> String {
        format!("{}!~{}@bot.garden.example", self.nick, self.user)
    }

    pub(super) fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|known| known == capability)
    }

    /// A line of the server's for this client.
    pub(super) fn number(&self, number: u16, words: &str) {
        let nick = if self.nick.is_empty() {
            "*"
        } else {
            &self.nick
        };
        self.pipe
            .send(&format!(":{SERVER} {number:03} {nick} {words}"));
    }
}

/// A line that somebody has sent to the bot.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub id: String,
    pub time: String,
    pub mask: String,
    pub account: Option<String>,
    pub command: String,
    /// `None`: in private.
    pub target: Option<String>,
    pub text: String,
}

/// The state.
pub(super) struct State {
    pub capabilities: String,
    pub password: String,
    pub line_millis: u64,
    pub keeps: bool,
    pub clients: Vec<Client>,
    pub connections: usize,
    pub let_in: usize,
    pub holders: Vec<Holder>,
    /// All lines of clients.
    pub lines: Vec<String>,
    pub pieces: Vec<Piece>,
    /// What people have written to the bot.
    pub told: Vec<Told>,
    /// What has not been told because no client was there.
    pub kept: Vec<Told>,
    pub faults: Vec<Fault>,
    pub complaints: Vec<String>,
    pub forgiven: Vec<String>,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            capabilities: "account-tag batch cap-notify echo-message message-tags multi-prefix \
                           sasl=PLAIN,EXTERNAL server-time"
                .to_owned(),
            password: PASSWORD.to_owned(),
            line_millis: 20,
            keeps: false,
            clients: Vec::new(),
            connections: 0,
            let_in: 0,
            holders: Vec::new(),
            lines: Vec::new(),
            pieces: Vec::new(),
            told: Vec::new(),
            kept: Vec::new(),
            faults: Vec::new(),
            complaints: Vec::new(),
            forgiven: Vec::new(),
        }
    }

    pub(super) fn complain(&mut self, words: String) {
        if !self
            .forgiven
            .iter()
            .any(|forgiven| words.contains(forgiven))
        {
            self.complaints.push(words);
        }
    }

    pub(super) fn holder(&self, nick: &str) -> Option<&Holder> {
        self.holders
            .iter()
            .find(|holder| holder.nick.eq_ignore_ascii_case(nick))
    }

    pub(super) fn add_holder(&mut self, nick: &str, account: Option<&str>) {
        self.holders.push(Holder {
            nick: nick.to_owned(),
            account: account.map(str::to_owned),
        });
    }

    /// Whether a client is let in, and in its channel.
    pub(super) fn is_settled(&self) -> bool {
        self.clients
            .iter()
            .any(|client| client.is_in && client.has_joined)
    }

    pub(super) fn client(&mut self, number: usize) -> Option<&mut Client> {
        self.clients
            .iter_mut()
            .find(|client| client.number == number)
    }

    pub(super) fn broadcast(&self, line: &str) {
        let clients = self.clients.iter().filter(|client| client.is_in);
        clients.for_each(|client| client.pipe.send(line));
    }

    pub(super) fn cut(&mut self) {
        self.clients.drain(..).for_each(|client| client.pipe.cut());
    }

    pub(super) fn rename(&mut self, old: &str, new: &str) {
        if let Some(mask) = self.holder(old).map(Holder::mask) {
            self.broadcast(&format!(":{mask} NICK :{new}"));
        }
        for holder in self.holders.iter_mut().filter(|holder| holder.nick == old) {
            new.clone_into(&mut holder.nick);
        }
    }

    pub(super) fn kick(&mut self) {
        for client in &mut self.clients {
            client.has_joined = false;
            let line = format!(":op!op@op.example KICK {CHANNEL} {} :no bots", client.nick);
            client.pipe.send(&line);
        }
    }

    /// Somebody writes to the bot.
    pub(super) fn tell(
        &mut self,
        nick: &str,
        command: &str,
        target: Option<&str>,
        text: &str,
    ) -> String {
        let holder = self.holder(nick).cloned();
        let holder = holder.unwrap_or_else(|| panic!("nobody has the nick {nick}"));
        let told = Told {
            id: format!("m{}", self.told.len() + 1),
            time: chrono::Utc::now()
                .format("%Y-%m-%dT%H:%M:%S%.3fZ")
                .to_string(),
            mask: holder.mask(),
            account: holder.account,
            command: command.to_owned(),
            target: target.map(str::to_owned),
            text: text.to_owned(),
        };
        let id = told.id.clone();
        let is_there = self.is_settled();
        if is_there {
            self.clients
                .iter()
                .for_each(|client| client.tell(&told, ""));
        } else if self.keeps {
            self.kept.push(told.clone());
        }
        self.told.push(told);
        id
    }

    /// Tells all clients what was written earlier.
    pub(super) fn replay(&self, told: &[Told]) {
        for client in self.clients.iter().filter(|client| client.is_in) {
            client.replay(told);
        }
    }
}

impl Client {
    pub(super) fn replay(&self, told: &[Told]) {
        let is_batched = self.has("batch");
        if is_batched {
            self.pipe
                .send(&format!(":{SERVER} BATCH +r1 chathistory {}", self.nick));
        }
        told.iter().for_each(|told| self.tell(told, "r1"));
        if is_batched {
            self.pipe.send(&format!(":{SERVER} BATCH -r1"));
        }
    }

    fn tell(&self, told: &Told, batch: &str) {
        if !self.is_in || told.target.is_some() && !self.has_joined {
            return;
        }
        let mut tags = Vec::new();
        if self.has("message-tags") {
            tags.push(format!("msgid={}", told.id));
        }
        if self.has("server-time") {
            tags.push(format!("time={}", told.time));
        }
        if let (true, Some(account)) = (self.has("account-tag"), &told.account) {
            tags.push(format!("account={account}"));
        }
        if self.has("batch") && !batch.is_empty() {
            tags.push(format!("batch={batch}"));
        }
        let tags = match tags.is_empty() {
            true => String::new(),
            false => format!("@{} ", tags.join(";")),
        };
        let target = told.target.as_ref().unwrap_or(&self.nick);
        let line = format!(":{} {} {target} :{}", told.mask, told.command, told.text);
        assert!(
            line.len() + 2 <= LINE_BYTES,
            "no server passes this on: {line}"
        );
        self.pipe.send(&format!("{tags}{line}"));
    }
}

impl Deref for Server {
    type Target = Shared<State>;

    fn deref(&self) -> &Self::Target {
        &self.shared
    }
}

impl Recent for State {
    fn recent(&self) -> Vec<String> {
        last(self.lines.iter().cloned())
    }
}

impl Server {
    /// Whether a user may log in to an account.
    pub(super) fn is_right(state: &State, response: &str) -> bool {
        use base64::Engine;
        let bytes = base64::prelude::BASE64_STANDARD
            .decode(response)
            .unwrap_or_default();
        let expected = [ACCOUNT, &state.password].join("\0");
        let text = String::from_utf8(bytes).unwrap_or_default();
        let (_, login) = text.split_once('\0').unwrap_or_default();
        login == expected
    }
}
