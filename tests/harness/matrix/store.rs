//! The server's memory: people, rooms, events and files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::BOT_ID;
use super::fault::{Refusal, not_in_room};

/// The server's name in ids.
pub(super) const SERVER: &str = "fake.test";

/// An event of a room.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub id: String,
    pub sender: String,
    pub kind: String,
    pub state_key: Option<String>,
    pub content: Value,
    /// The content of the state that it replaces.
    pub before: Value,
    /// Its place in the stream of all events.
    pub at: u64,
    pub time: u64,
    pub is_redacted: bool,
    pub transaction: Option<String>,
}

impl Event {
    /// The event in the format of the API.
    pub(super) fn json(&self, room: &str) -> Value {
        let mut json = json!({
            "event_id": self.id, "sender": self.sender, "type": self.kind, "room_id": room,
            "content": self.content, "origin_server_ts": self.time, "unsigned": {"age": 5},
        });
        if let Some(key) = &self.state_key {
            json["state_key"] = json!(key);
            if !self.before.is_null() {
                json["unsigned"]["prev_content"] = self.before.clone();
            }
        }
        if let Some(transaction) = &self.transaction {
            json["unsigned"]["transaction_id"] = json!(transaction);
        }
        json
    }

    /// The member that it is about, and their membership.
    pub(super) fn membership(&self) -> Option<(&str, &str)> {
        let user = self.state_key.as_deref()?;
        let membership = self.content["membership"].as_str()?;
        (self.kind == "m.room.member").then_some((user, membership))
    }
}

/// A room.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub events: Vec<Event>,
    /// Whether the bot may not write in it.
    pub is_silenced: bool,
    /// The newest event that the bot has read.
    pub read: Option<String>,
    /// Whether the bot shows that it is typing.
    pub is_typing: bool,
}

impl Room {
    /// The last event of a kind of state, up to a place in the stream.
    pub(super) fn state(&self, kind: &str, key: &str, at: u64) -> Option<&Event> {
        let mut newest = self.events.iter().rev();
        newest.find(|event| {
            event.at <= at && event.kind == kind && event.state_key.as_deref() == Some(key)
        })
    }

    /// The membership of a person.
    pub(super) fn membership(&self, user: &str, at: u64) -> &str {
        let event = self.state("m.room.member", user, at);
        event
            .and_then(|event| event.content["membership"].as_str())
            .unwrap_or("leave")
    }

    /// The people who have joined.
    pub(super) fn joined(&self) -> Vec<&str> {
        let mut users: Vec<&str> = self
            .events
            .iter()
            .filter_map(|event| Some(event.membership()?.0))
            .collect();
        users.sort();
        users.dedup();
        users.retain(|user| self.membership(user, u64::MAX) == "join");
        users
    }

    pub(super) fn event(&self, id: &str) -> Option<&Event> {
        self.events.iter().find(|event| event.id == id)
    }
}

/// A file that was uploaded.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its type.
    pub mime: String,
    /// Its content.
    pub bytes: Arc<[u8]>,
}

#[derive(Default)]
pub(super) struct Store {
    /// The names of people, by their ids.
    pub people: BTreeMap<String, String>,
    pub rooms: BTreeMap<String, Room>,
    pub files: BTreeMap<String, File>,
    /// The account data `m.direct`.
    pub direct: Value,
    /// The place of the last event in the stream.
    pub last: u64,
    next: u64,
}

impl Store {
    /// A new id with this sign. Some have characters that have to be encoded in a path.
    pub(super) fn new_id(&mut self, sign: char) -> String {
        self.next += 1;
        match sign {
            '!' => format!("!room-{}/x:{SERVER}", self.next),
            '$' => format!("$event_{}-AbC", self.next),
            _ => format!("File{}", self.next),
        }
    }

    /// A room of the test; panics if it does not exist.
    pub(super) fn room(&mut self, id: &str) -> &mut Room {
        match self.rooms.get_mut(id) {
            Some(room) => room,
            None => panic!("there is no room {id}"),
        }
    }

    /// The room, if the bot has joined it.
    pub(super) fn joined(&self, id: &str) -> Result<&Room, Refusal> {
        let room = self.rooms.get(id);
        let room = room.filter(|room| room.membership(BOT_ID, u64::MAX) == "join");
        room.ok_or_else(|| not_in_room(id))
    }

    /// Adds an event to a room; returns its id.
    pub(super) fn add(
        &mut self,
        room: &str,
        sender: &str,
        (kind, state_key): (&str, Option<&str>),
        content: Value,
    ) -> String {
        let id = self.new_id('$');
        self.last += 1;
        let at = self.last;
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let room = self.room(room);
        let before = state_key.and_then(|key| room.state(kind, key, u64::MAX));
        let before = before.map_or(Value::Null, |event| event.content.clone());
        room.events.push(Event {
            id: id.clone(),
            sender: sender.to_owned(),
            kind: kind.to_owned(),
            state_key: state_key.map(str::to_owned),
            content,
            before,
            at,
            time: time.map_or(0, |time| time.as_millis() as u64),
            is_redacted: false,
            transaction: None,
        });
        id
    }

    /// Sets the membership of a person.
    pub(super) fn set_member(&mut self, room: &str, by: &str, user: &str, membership: &str) {
        let mut content = json!({"membership": membership});
        if let Some(name) = self.people.get(user) {
            content["displayname"] = json!(name);
        }
        self.add(room, by, ("m.room.member", Some(user)), content);
    }

    /// A new room of a person.
    pub(super) fn new_room(&mut self, creator: &str, name: &str) -> String {
        let id = self.new_id('!');
        self.rooms.insert(id.clone(), Room::default());
        let created = json!({"room_version": "10", "creator": creator});
        self.add(&id, creator, ("m.room.create", Some("")), created);
        self.set_member(&id, creator, creator, "join");
        let rules = json!({"join_rule": "invite"});
        self.add(&id, creator, ("m.room.join_rules", Some("")), rules);
        if !name.is_empty() {
            self.add(
                &id,
                creator,
                ("m.room.name", Some("")),
                json!({"name": name}),
            );
        }
        id
    }

    /// Stores a file; returns its address.
    pub(super) fn keep(&mut self, file: File) -> String {
        let id = self.new_id('f');
        self.files.insert(id.clone(), file);
        format!("mxc://{SERVER}/{id}")
    }

    /// The file at an address.
    pub(super) fn file(&self, uri: &str) -> Option<&File> {
        let id = uri.strip_prefix("mxc://")?.strip_prefix(SERVER)?;
        self.files.get(id.strip_prefix('/')?)
    }
}
