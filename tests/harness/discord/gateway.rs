//! The gateway: sessions, their events, and the websockets that carry them.
//! <https://discord.com/developers/docs/events/gateway>

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::wire::{self, Connection, RawRequest};

use super::fault::Reply;
use super::server::{RESUME, Server, State};
use super::store::{APPLICATION_ID, BOT_ID};
use super::websocket::{Received, WebSocket};
use super::{Frame, TOKEN};

/// Events of servers.
pub(super) const GUILDS: u64 = 1 << 0;
/// Messages in servers.
const GUILD_MESSAGES: u64 = 1 << 9;
const GUILD_REACTIONS: u64 = 1 << 10;
/// Messages in private chats.
const DIRECT_MESSAGES: u64 = 1 << 12;
const DIRECT_REACTIONS: u64 = 1 << 13;
/// The content of messages in servers.
const MESSAGE_CONTENT: u64 = 1 << 15;
/// The intents that must be allowed in the portal: members, presences, content.
const PRIVILEGED: u64 = 1 << 1 | 1 << 8 | MESSAGE_CONTENT;
/// All intents.
const KNOWN: u64 = 0x7fff_ffff;
/// Maximum messages of a client per minute.
const CHATTY: usize = 120;
/// Maximum size of a client's message, in bytes.
const LARGEST: usize = 4096;

/// The sessions and connections.
pub(super) struct Gateway {
    sessions: Vec<Session>,
    links: BTreeMap<usize, Link>,
    next: usize,
    pub heartbeat: Duration,
    /// The minimum time between two IDENTIFYs.
    pub identify_window: Duration,
    last_identify: Option<Instant>,
    /// Whether heartbeats are not acknowledged.
    pub is_deaf: bool,
    /// Intents that the portal does not allow.
    pub forbidden: u64,
    /// All that clients have sent, in order.
    pub frames: Vec<Frame>,
    /// How many sessions were started, and how many resumed.
    pub readies: usize,
    pub resumes: usize,
    /// The codes with which clients have closed; `None`: without a close frame.
    pub closes: Vec<Option<u16>>,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            sessions: Vec::new(),
            links: BTreeMap::new(),
            next: 1,
            heartbeat: Duration::from_millis(41_250),
            identify_window: Duration::from_secs(5),
            last_identify: None,
            is_deaf: false,
            forbidden: 0,
            frames: Vec::new(),
            readies: 0,
            resumes: 0,
            closes: Vec::new(),
        }
    }
}

struct Link {
    socket: Arc<WebSocket>,
    is_resume_address: bool,
    said: Vec<Instant>,
}

struct Session {
    id: String,
    intents: u64,
    /// All events so far, by their numbers from 1.
    events: Vec<Value>,
    link: Option<usize>,
    is_over: bool,
}

impl Session {
    fn dispatch(&mut self, kind: &str, data: Value, links: &BTreeMap<usize, Link>) {
        let number = self.events.len() + 1;
        let event = json!({"op": 0, "t": kind, "s": number, "d": data});
        if let Some(link) = self.link.and_then(|link| links.get(&link)) {
            link.socket.say(&event.to_string());
        }
        self.events.push(event);
    }
}

impl Gateway {
    /// Whether a session has a connection at this moment.
    pub(super) fn is_connected(&self) -> bool {
        self.sessions.iter().any(|session| session.link.is_some())
    }

    /// Sends a message on all connections.
    pub(super) fn say(&self, message: &Value) {
        self.links
            .values()
            .for_each(|link| link.socket.say(&message.to_string()));
    }

    /// Closes all connections, with a close frame or without. Sessions stay.
    pub(super) fn close(&mut self, code: Option<u16>) {
        for link in self.links.values() {
            match code {
                Some(code) => link.socket.close(code, "as the story says"),
                None => link.socket.cut(),
            }
        }
        self.sessions
            .iter_mut()
            .for_each(|session| session.link = None);
    }

    /// Makes all sessions impossible to resume.
    pub(super) fn forget(&mut self) {
        for session in &mut self.sessions {
            session.is_over = true;
            session.link = None;
        }
    }

    fn leave(&mut self, number: usize, code: Option<u16>) {
        self.links.remove(&number);
        self.closes.push(code);
        for session in &mut self.sessions {
            if session.link == Some(number) {
                session.link = None;
                // These two mean that the client will not come back.
                session.is_over |= matches!(code, Some(1000 | 1001));
            }
        }
    }

    fn session_of(&mut self, number: usize) -> Option<&mut Session> {
        let mut sessions = self.sessions.iter_mut();
        sessions.find(|session| session.link == Some(number))
    }
}

impl Server {
    /// Serves a websocket until it closes.
    pub(super) fn open_gateway(
        &self,
        connection: &mut Connection,
        raw: &RawRequest,
        socket: &TcpStream,
    ) -> io::Result<()> {
        let query = raw.path.split_once('?').map_or("", |(_, query)| query);
        let has = |pair: &str| query.split('&').any(|other| other == pair);
        if !has("v=10") || !has("encoding=json") {
            let line = format!("the gateway wants v=10 and encoding=json: {}", raw.path);
            self.change(|state| state.complain(line));
        }
        if wire::header(&raw.headers, "authorization").is_some() {
            self.change(|state| {
                state.complain("the gateway got an Authorization header".to_owned())
            });
        }
        let websocket = match WebSocket::accept(connection, raw, socket)? {
            Ok(websocket) => Arc::new(websocket),
            Err(why) => {
                self.change(|state| state.complain(why.clone()));
                return Reply::page(400, &why).send(connection);
            }
        };
        let (number, heartbeat) = self.change(|state| {
            let number = state.gateway.next;
            state.gateway.next += 1;
            let link = Link {
                socket: Arc::clone(&websocket),
                is_resume_address: raw.path.starts_with(RESUME),
                said: Vec::new(),
            };
            state.gateway.links.insert(number, link);
            (number, state.gateway.heartbeat)
        });
        let millis = heartbeat.as_millis() as u64;
        websocket.say(
            &json!({"op": 10, "s": null, "t": null, "d": {"heartbeat_interval": millis}})
                .to_string(),
        );
        // A client that misses two heartbeats is gone.
        socket.set_read_timeout(Some(heartbeat * 2))?;
        let code = self.listen_to(number, &websocket, connection);
        self.change(|state| state.gateway.leave(number, code));
        Ok(())
    }

    /// Reads a client's messages until it closes; returns its close code.
    fn listen_to(
        &self,
        number: usize,
        websocket: &WebSocket,
        connection: &mut Connection,
    ) -> Option<u16> {
        loop {
            let verdict = match websocket.read(connection) {
                Ok(Received::Text(text)) => self.change(|state| state.hear(number, &text)),
                Ok(Received::Close(code)) => {
                    websocket.close(code.unwrap_or(1000), "");
                    return code.or(Some(1005));
                }
                Ok(Received::Binary(_)) => {
                    self.change(|state| state.complain("a message of bytes".to_owned()));
                    Err(1003)
                }
                Ok(Received::Breach(why)) => {
                    self.change(|state| state.complain(why));
                    Err(1002)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(4009),
                Err(_) => return None,
            };
            if let Err(code) = verdict {
                websocket.close(code, "");
                // The client answers with a close frame, or disconnects.
                wire::wait_for_the_end(connection);
                return None;
            }
        }
    }
}

impl State {
    /// Handles one message. The error is the close code for the connection.
    fn hear(&mut self, number: usize, text: &str) -> Result<(), u16> {
        let now = Instant::now();
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        let message = parsed.filter(|message| message["op"].is_u64() && text.len() <= LARGEST);
        let Some(message) = message else {
            self.complain(format!("the gateway cannot read {text:?}"));
            return Err(4002);
        };
        self.gateway.frames.push(Frame {
            at: now,
            message: message.clone(),
        });
        if let Some(link) = self.gateway.links.get_mut(&number) {
            link.said.retain(|at| now - *at < Duration::from_secs(60));
            link.said.push(now);
            if link.said.len() > CHATTY {
                self.complain("more than 120 messages to the gateway in a minute".to_owned());
                return Err(4008);
            }
        }
        match message["op"].as_u64() {
            Some(1) => self.beat(number, &message["d"]),
            Some(2) => self.identify(number, &message["d"]),
            Some(6) => self.resume(number, &message["d"]),
            Some(3 | 4 | 8 | 14 | 31) if self.gateway.session_of(number).is_some() => Ok(()),
            Some(3 | 4 | 8 | 14 | 31) => Err(4003),
            _ => {
                self.complain(format!("the gateway does not know {message}"));
                Err(4001)
            }
        }
    }

    fn beat(&mut self, number: usize, newest: &Value) -> Result<(), u16> {
        let most = self
            .gateway
            .session_of(number)
            .map_or(0, |session| session.events.len() as u64);
        let is_right = newest.is_null() || newest.as_u64().is_some_and(|newest| newest <= most);
        // Before RESUME a client acknowledges the events of its last connection.
        if !is_right && most > 0 {
            self.complain(format!(
                "a heartbeat with {newest}, where {most} was sent last"
            ));
        }
        if !self.gateway.is_deaf
            && let Some(link) = self.gateway.links.get(&number)
        {
            link.socket
                .say(&json!({"op": 11, "s": null, "t": null, "d": null}).to_string());
        }
        Ok(())
    }

    fn identify(&mut self, number: usize, data: &Value) -> Result<(), u16> {
        if data["token"] != TOKEN {
            return Err(4004);
        }
        if self.gateway.session_of(number).is_some() {
            self.complain("IDENTIFY on a connection that has a session".to_owned());
            return Err(4005);
        }
        let intents = data["intents"].as_u64().filter(|intents| *intents <= KNOWN);
        let Some(intents) = intents.filter(|_| data["properties"].is_object()) else {
            self.complain(format!("IDENTIFY without intents or properties: {data}"));
            return Err(4013);
        };
        if intents & PRIVILEGED & self.gateway.forbidden != 0 {
            return Err(4014);
        }
        let now = Instant::now();
        let is_soon = |last: Instant| now - last < self.gateway.identify_window;
        if self.gateway.last_identify.is_some_and(is_soon) {
            self.invalidate(number, false);
            return Ok(());
        }
        self.gateway.last_identify = Some(now);
        let id = format!("session-{}", self.gateway.sessions.len());
        let mut session = Session {
            id: id.clone(),
            intents,
            events: Vec::new(),
            link: Some(number),
            is_over: false,
        };
        let guilds = self.store.guilds.keys();
        let unavailable: Vec<Value> = guilds
            .map(|id| json!({"id": id.to_string(), "unavailable": true}))
            .collect();
        let ready = json!({
            "v": 10, "user": self.store.user(None), "guilds": unavailable, "session_id": id,
            "session_type": "normal", "private_channels": [], "relationships": [],
            "resume_gateway_url": format!("ws://{}{RESUME}", self.address),
            "application": {"id": APPLICATION_ID.to_string(), "flags": 565_248},
        });
        session.dispatch("READY", ready, &self.gateway.links);
        if intents & GUILDS != 0 {
            for guild in self.store.guilds.keys() {
                let guild = self.store.guild_json(*guild);
                session.dispatch("GUILD_CREATE", guild, &self.gateway.links);
            }
        }
        self.gateway.sessions.push(session);
        self.gateway.readies += 1;
        Ok(())
    }

    fn resume(&mut self, number: usize, data: &Value) -> Result<(), u16> {
        if data["token"] != TOKEN {
            return Err(4004);
        }
        if let Some(link) = self.gateway.links.get(&number)
            && !link.is_resume_address
        {
            self.complain("RESUME at another address than resume_gateway_url".to_owned());
        }
        let Gateway {
            sessions, links, ..
        } = &mut self.gateway;
        let known = sessions
            .iter_mut()
            .find(|session| data["session_id"] == session.id.as_str());
        let Some(session) = known.filter(|session| !session.is_over) else {
            self.invalidate(number, false);
            return Ok(());
        };
        let Some(newest) = data["seq"]
            .as_u64()
            .filter(|seq| *seq <= session.events.len() as u64)
        else {
            return Err(4007);
        };
        let before = session
            .link
            .replace(number)
            .filter(|before| *before != number);
        if let Some(link) = links.get(&number) {
            session.events[newest as usize..]
                .iter()
                .for_each(|event| link.socket.say(&event.to_string()));
        }
        session.dispatch("RESUMED", json!({"_trace": ["fake"]}), links);
        if let Some(old) = before.and_then(|before| links.get(&before)) {
            old.socket.close(4000, "resumed elsewhere");
        }
        self.gateway.resumes += 1;
        Ok(())
    }

    /// Reports an invalid session. The connection stays open.
    pub(super) fn invalidate(&mut self, number: usize, is_resumable: bool) {
        if let Some(session) = self.gateway.session_of(number) {
            session.is_over = !is_resumable;
            session.link = None;
        }
        if let Some(link) = self.gateway.links.get(&number) {
            link.socket
                .say(&json!({"op": 9, "s": null, "t": null, "d": is_resumable}).to_string());
        }
    }

    /// The same on all connections.
    pub(super) fn invalidate_all(&mut self, is_resumable: bool) {
        let links: Vec<usize> = self.gateway.links.keys().copied().collect();
        links
            .into_iter()
            .for_each(|number| self.invalidate(number, is_resumable));
    }

    /// Sends an event in a channel to the bot. A session that has no connection at
    /// this moment gets it when it is resumed; without any session it is lost.
    pub(super) fn dispatch(&mut self, kind: &str, channel: u64, data: &Value) {
        let is_dm = self
            .store
            .channels
            .get(&channel)
            .is_some_and(|channel| channel.guild.is_none());
        let needed = match kind {
            _ if kind.starts_with("MESSAGE_REACTION") && is_dm => DIRECT_REACTIONS,
            _ if kind.starts_with("MESSAGE_REACTION") => GUILD_REACTIONS,
            _ if kind.starts_with("MESSAGE") && is_dm => DIRECT_MESSAGES,
            _ if kind.starts_with("MESSAGE") => GUILD_MESSAGES,
            "INTERACTION_CREATE" => 0,
            _ => GUILDS,
        };
        let Gateway {
            sessions, links, ..
        } = &mut self.gateway;
        for session in sessions.iter_mut().filter(|session| !session.is_over) {
            if needed != 0 && session.intents & needed == 0 {
                continue;
            }
            let mut data = data.clone();
            let may_read = session.intents & MESSAGE_CONTENT != 0 || is_dm;
            if kind.starts_with("MESSAGE") && !may_read && !concerns_bot(&data) {
                for (member, empty) in [
                    ("content", json!("")),
                    ("attachments", json!([])),
                    ("components", json!([])),
                ] {
                    data[member] = empty;
                }
            }
            session.dispatch(kind, data, links);
        }
    }
}

/// Whether the bot may read a message without the intent: its own, or one that mentions it.
fn concerns_bot(message: &Value) -> bool {
    let bot = BOT_ID.to_string();
    let mentions = message["mentions"].as_array();
    message["author"]["id"] == bot.as_str()
        || mentions.is_some_and(|all| all.iter().any(|user| user["id"] == bot.as_str()))
}
