//! Rooms: who is in them, joining and leaving them, and the private chats with people.

use serde_json::{Value, json};

use super::super::address::is_id;
use super::{Api, unexpected};
use crate::base::error::Error;
use crate::base::json::{self, Members};
use crate::base::limits::channels::JSON_LEVELS_MAX;
use crate::channels::kit::adapter::{Failure, Sent};
use crate::net::http::Method;
use crate::net::http::address::percent_encode;

/// Bytes of the list of a room's members. A room whose list is longer is a group for certain: an entry has less than
/// 2 kB.
const MEMBERS_BYTES: usize = 16 * 1024;
/// Bytes of the list of private chats that is kept with the account, `m.direct`.
const DIRECT_BYTES: usize = 256 * 1024;

impl Api {
    /// How many accounts have joined a room, the bot among them; `None` for more than can be listed.
    pub fn joined_members(&self, room: &str) -> Sent<Option<usize>> {
        let path = format!("/rooms/{}/joined_members", percent_encode(room));
        let reply = match self.ask_within(Method::GET, &path, &Value::Null, MEMBERS_BYTES) {
            Err(Failure::Local(Error::TooLarge { .. })) => return Ok(None),
            reply => reply?,
        };
        let members = Members::read(&reply).ok_or_else(unexpected)?;
        let joined: Value = members.value("joined");
        let joined = joined.as_object().ok_or_else(unexpected)?;
        Ok(Some(joined.len()))
    }

    /// Joins a room into which the bot was invited.
    pub fn join(&self, room: &str) -> Sent {
        let path = format!("/rooms/{}/join", percent_encode(room));
        self.ask(Method::POST, &path, &json!({})).map(drop)
    }

    /// Leaves a room, or declines an invitation, and says why.
    pub fn leave(&self, room: &str, why: &str) -> Sent {
        let path = format!("/rooms/{}/leave", percent_encode(room));
        self.ask(Method::POST, &path, &json!({"reason": why}))
            .map(drop)
    }

    /// The room that has replaced one.
    pub fn replacement(&self, room: &str) -> Sent<Option<String>> {
        let path = format!("/rooms/{}/state/m.room.tombstone", percent_encode(room));
        match self.ask(Method::GET, &path, &Value::Null) {
            Ok(reply) => {
                let room = Members::read(&reply).and_then(|reply| reply.text("replacement_room"));
                Ok(room.filter(|room| is_id('!', room)))
            }
            Err(Failure::MessageGone) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The private chat with a person, which is created if there is none.
    pub fn private_chat(&self, user: &str) -> Sent<String> {
        let direct = self.direct()?;
        let rooms = direct[user].as_array().into_iter().flatten();
        let known = rooms
            .filter_map(Value::as_str)
            .rfind(|room| is_id('!', room));
        if let Some(room) = known {
            return Ok(room.to_owned());
        }
        let body = json!({"preset": "trusted_private_chat", "is_direct": true, "invite": [user]});
        let reply = self.ask(Method::POST, "/createRoom", &body)?;
        let room = Members::read(&reply).and_then(|reply| reply.text("room_id"));
        let room = room
            .filter(|room| is_id('!', room))
            .ok_or_else(unexpected)?;
        self.add_private_chat(user, &room)?;
        Ok(room)
    }

    /// Notes with the account that a room is the private chat with a person, as clients do.
    pub fn add_private_chat(&self, user: &str, room: &str) -> Sent {
        let mut direct = self.direct()?;
        let mut rooms = direct[user].as_array().cloned().unwrap_or_default();
        rooms.retain(|known| known != room);
        rooms.push(json!(room));
        direct[user] = json!(rooms);
        let path = self.direct_path()?;
        self.ask(Method::PUT, &path, &direct).map(drop)
    }

    /// The private chats of the account, by person.
    fn direct(&self) -> Sent<Value> {
        let path = self.direct_path()?;
        let reply = match self.ask_within(Method::GET, &path, &Value::Null, DIRECT_BYTES) {
            Err(Failure::MessageGone) => return Ok(json!({})),
            reply => reply?,
        };
        let direct = json::from_str_within(&reply, JSON_LEVELS_MAX).ok();
        direct.filter(Value::is_object).ok_or_else(unexpected)
    }

    fn direct_path(&self) -> Sent<String> {
        let me = percent_encode(&self.me()?);
        Ok(format!("/user/{me}/account_data/m.direct"))
    }
}
