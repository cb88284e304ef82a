//! People: what they write, send and change.

use std::sync::Arc;

use serde_json::{Value, json};

use super::server::Server;
use super::store::File;
use super::{BOT_ID, BOT_NAME};

/// A person who has a private room with the bot.
#[derive(Clone)]
pub struct Person {
    pub(super) server: Arc<Server>,
    pub(super) id: String,
    pub(super) room: String,
}

impl Person {
    /// The private room.
    pub fn chat(&self) -> &str {
        &self.room
    }

    /// The person's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Writes to the bot; returns the message's id, as all of these do.
    pub fn says(&self, text: &str) -> String {
        self.says_in(&self.room, text)
    }

    /// Writes in a room.
    pub fn says_in(&self, room: &str, text: &str) -> String {
        self.posts(room, text_of(text))
    }

    /// The same, with a mention of the bot as current clients send it.
    pub fn mentions_in(&self, room: &str, text: &str) -> String {
        let mut content = text_of(&format!("{BOT_NAME}: {text}"));
        content["m.mentions"] = json!({"user_ids": [BOT_ID]});
        content["format"] = json!("org.matrix.custom.html");
        content["formatted_body"] = json!(format!(
            "<a href=\"https://matrix.to/#/{BOT_ID}\">{BOT_NAME}</a>: {text}"
        ));
        self.posts(room, content)
    }

    /// Writes in a thread.
    pub fn says_in_thread(&self, room: &str, root: &str, text: &str) -> String {
        let mut content = text_of(text);
        content["m.relates_to"] = json!({
            "rel_type": "m.thread", "event_id": root, "is_falling_back": true,
            "m.in_reply_to": {"event_id": root},
        });
        self.posts(room, content)
    }

    /// Forwards what somebody else has written, as MSC2723 marks it.
    pub fn forwards_in(&self, room: &str, text: &str) -> String {
        let mut content = text_of(text);
        content["m.forwarded"] = json!({"event_id": "$other", "room_id": "!other:example.org", "sender": "@eve:example.org"});
        self.posts(room, content)
    }

    /// Replies to a message, which the client mentions as well.
    pub fn replies(&self, room: &str, to: &str, text: &str) -> String {
        let mut content = text_of(text);
        content["m.relates_to"] = json!({"m.in_reply_to": {"event_id": to}});
        let author = self.server.change(|state| {
            let replied = state.store.room(room).event(to);
            replied.map(|event| event.sender.clone())
        });
        content["m.mentions"] = json!({"user_ids": [author]});
        self.posts(room, content)
    }

    /// Edits a message.
    pub fn edits(&self, room: &str, message: &str, text: &str) -> String {
        let mut content = text_of(&format!("* {text}"));
        content["m.new_content"] = text_of(text);
        content["m.relates_to"] = json!({"rel_type": "m.replace", "event_id": message});
        self.posts(room, content)
    }

    /// Sends a file to a room; its text may be empty.
    pub fn sends(
        &self,
        room: &str,
        text: &str,
        (name, mime): (&str, &str),
        bytes: impl Into<Vec<u8>>,
    ) -> String {
        let bytes: Vec<u8> = bytes.into();
        let size = bytes.len();
        let uri = self.server.change(|state| {
            state.store.keep(File {
                name: name.to_owned(),
                mime: mime.to_owned(),
                bytes: bytes.into(),
            })
        });
        let kind = mime.split('/').next();
        let known = ["image", "audio", "video"];
        let kind = kind.filter(|kind| known.contains(kind)).unwrap_or("file");
        let mut content = json!({
            "msgtype": format!("m.{kind}"), "body": name, "url": uri, "m.mentions": {},
            "info": {"mimetype": mime, "size": size},
        });
        if !text.is_empty() {
            content["filename"] = json!(name);
            content["body"] = json!(text);
        }
        self.posts(room, content)
    }

    /// Sends any message.
    pub fn posts(&self, room: &str, content: Value) -> String {
        self.server.change(|state| {
            state
                .store
                .add(room, &self.id, ("m.room.message", None), content)
        })
    }

    /// Writes what the bot cannot read.
    pub fn encrypts(&self, room: &str) -> String {
        self.server.change(|state| {
            let algorithm = json!({"algorithm": "m.megolm.v1.aes-sha2"});
            let store = &mut state.store;
            if store
                .room(room)
                .state("m.room.encryption", "", u64::MAX)
                .is_none()
            {
                store.add(room, &self.id, ("m.room.encryption", Some("")), algorithm);
            }
            let content = json!({
                "algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgAEnAC",
                "device_id": "ADEVICE", "sender_key": "key", "session_id": "session",
            });
            store.add(room, &self.id, ("m.room.encrypted", None), content)
        })
    }

    /// Makes a room and invites the bot; returns its id.
    pub fn invites(&self, name: &str, is_direct: bool) -> String {
        self.server.change(|state| {
            let room = state.store.new_room(&self.id, name);
            let content = json!({"membership": "invite", "is_direct": is_direct});
            state
                .store
                .add(&room, &self.id, ("m.room.member", Some(BOT_ID)), content);
            room
        })
    }

    /// Joins a room.
    pub fn joins(&self, room: &str) {
        self.server
            .change(|state| state.store.set_member(room, &self.id, &self.id, "join"));
    }

    /// Removes the bot from a room.
    pub fn kicks(&self, room: &str) {
        self.server
            .change(|state| state.store.set_member(room, &self.id, BOT_ID, "leave"));
    }

    /// Replaces a room by a new one, which everyone may join; returns its id. The bot may no longer write in the old
    /// one.
    pub fn replaces(&self, room: &str) -> String {
        self.server.change(|state| {
            let store = &mut state.store;
            let new = store.new_room(&self.id, "");
            let open = json!({"join_rule": "public"});
            store.add(&new, &self.id, ("m.room.join_rules", Some("")), open);
            let tombstone = json!({"body": "moved", "replacement_room": new});
            store.add(room, &self.id, ("m.room.tombstone", Some("")), tombstone);
            store.room(room).is_silenced = true;
            new
        })
    }
}

/// A text as clients send it.
fn text_of(text: &str) -> Value {
    json!({"msgtype": "m.text", "body": text, "m.mentions": {}})
}
