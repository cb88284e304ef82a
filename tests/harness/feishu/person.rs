//! People of the fake Feishu, and what they do.

use std::sync::Arc;

use serde_json::{Value, json};

use super::card::Seen;
use super::server::{Server, State};
use super::store::{BOT, Chat, File, now_ms};

/// Somebody with a private chat with the bot. Clones are the same person.
#[derive(Clone)]
pub struct Person {
    pub(super) server: Arc<Server>,
    pub(super) id: String,
    pub(super) chat: Chat,
}

/// A file that a person sends.
#[derive(Clone, Debug)]
pub struct Upload {
    kind: &'static str,
    name: String,
    bytes: Vec<u8>,
}

impl Upload {
    /// A file.
    pub fn file(name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            kind: "file",
            name: name.to_owned(),
            bytes: bytes.into(),
        }
    }

    /// A picture.
    pub fn image(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            kind: "image",
            ..Self::file("", bytes)
        }
    }
}

/// Where and how a message is written.
#[derive(Default)]
struct Place {
    parent: Option<String>,
    thread: Option<String>,
    mentions: Vec<String>,
    /// Whether it is one of the messages that were forwarded.
    is_forwarded: bool,
}

impl Person {
    /// Their id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The private chat with the bot.
    pub fn chat(&self) -> Chat {
        self.chat.clone()
    }

    /// Writes in the private chat; returns the message's id.
    pub fn says(&self, text: &str) -> String {
        self.says_in(&self.chat, text)
    }

    /// Writes in a chat.
    pub fn says_in(&self, chat: &Chat, text: &str) -> String {
        self.writes(chat, text, Place::default())
    }

    /// Writes in a group, to the bot.
    pub fn mentions_in(&self, chat: &Chat, text: &str) -> String {
        let place = Place {
            mentions: vec![BOT.to_owned()],
            ..Place::default()
        };
        self.writes(chat, &format!("@_user_1 {text}"), place)
    }

    /// Writes in a group, to the bot and another person.
    pub fn mentions_both_in(&self, chat: &Chat, other: &Self, text: &str) -> String {
        let place = Place {
            mentions: vec![BOT.to_owned(), other.id.clone()],
            ..Place::default()
        };
        self.writes(chat, &format!("@_user_1 {text} @_user_2"), place)
    }

    /// Forwards what somebody else has written.
    pub fn forwards_in(&self, chat: &Chat, text: &str) -> String {
        let place = Place {
            is_forwarded: true,
            ..Place::default()
        };
        self.writes(chat, text, place)
    }

    /// Replies to a message.
    pub fn replies(&self, chat: &Chat, to: &str, text: &str) -> String {
        let place = Place {
            parent: Some(to.to_owned()),
            ..Place::default()
        };
        self.writes(chat, text, place)
    }

    /// Writes to the bot in the thread that began with a message.
    pub fn mentions_in_thread(&self, chat: &Chat, root: &str, text: &str) -> String {
        let place = Place {
            parent: Some(root.to_owned()),
            thread: Some(root.to_owned()),
            mentions: vec![BOT.to_owned()],
            is_forwarded: false,
        };
        self.writes(chat, &format!("@_user_1 {text}"), place)
    }

    /// Writes rich text in the private chat, as its content.
    pub fn posts(&self, content: &Value) -> String {
        let content = content.to_string();
        self.server.change(|state| {
            let chat = self.chat.clone();
            self.send(state, &chat, ("post", &content), Place::default())
        })
    }

    /// Sends a file in the private chat.
    pub fn sends(&self, upload: &Upload) -> String {
        self.sends_in(&self.chat, upload)
    }

    /// Sends a file.
    pub fn sends_in(&self, chat: &Chat, upload: &Upload) -> String {
        self.server.change(|state| {
            let is_image = upload.kind == "image";
            let key = state
                .store
                .new_id(if is_image { "img_v3" } else { "file_v3" });
            let content = match upload.kind {
                "image" => json!({"image_key": key}),
                "audio" => json!({"file_key": key, "duration": 2000}),
                _ => json!({"file_key": key, "file_name": upload.name}),
            };
            let file = File {
                name: upload.name.clone(),
                kind: upload.kind.to_owned(),
                bytes: upload.bytes.as_slice().into(),
            };
            state.store.files.insert(key, file);
            self.send(
                state,
                chat,
                (upload.kind, &content.to_string()),
                Place::default(),
            )
        })
    }

    /// Withdraws a message.
    pub fn withdraws(&self, message: &str) {
        self.server.change(|state| {
            let Some(found) = state.store.message_mut(message) else {
                panic!("there is no message {message}");
            };
            found.is_withdrawn = true;
            let event = json!({
                "message_id": message, "chat_id": found.chat.0, "recall_time": now_ms(),
                "recall_type": "message_owner",
            });
            state.emit("im.message.recalled_v1", &event);
        });
    }

    /// Presses a button in the private chat as soon as it is there; returns the event's id.
    pub fn presses(&self, label: &str) -> String {
        self.presses_in(&self.chat, label)
    }

    /// Presses the newest button of that name as soon as it is there.
    pub fn presses_in(&self, chat: &Chat, label: &str) -> String {
        let (message, value) = self
            .server
            .wait_until(&format!("a button {label:?}"), |state| {
                let mut newest_first = state.store.of_bot(chat).rev();
                newest_first.find_map(|message| {
                    let mut buttons = message.buttons.iter();
                    let button = buttons.find(|button| button.label == label)?;
                    Some((message.id.clone(), button.value.clone()))
                })
            });
        self.presses_with(chat, &message, &value)
    }

    /// Presses a button of a message that carries a value.
    pub fn presses_with(&self, chat: &Chat, message: &str, value: &Value) -> String {
        let event = json!({
            "operator": {
                "tenant_key": "t1", "open_id": self.id, "union_id": format!("on_{}", self.id),
                "user_id": "",
            },
            "token": "c-0123456789", "host": "im_message",
            "action": {"value": value, "tag": "button", "timezone": "Europe/Zurich"},
            "context": {"open_message_id": message, "open_chat_id": chat.0},
        });
        self.server
            .change(|state| state.emit("card.action.trigger", &event))
    }

    fn writes(&self, chat: &Chat, text: &str, place: Place) -> String {
        let content = json!({ "text": text }).to_string();
        self.server
            .change(|state| self.send(state, chat, ("text", &content), place))
    }

    fn send(
        &self,
        state: &mut State,
        chat: &Chat,
        (kind, content): (&str, &str),
        place: Place,
    ) -> String {
        let is_private = state.store.rooms[chat].person.is_some();
        let from = Some(self.id.clone());
        let relations = (place.parent.clone(), place.thread.clone(), from);
        let seen = Seen::default();
        let id = state.store.add(chat, (kind, content), seen, relations);
        let mentions = match state.store.message_mut(&id) {
            Some(message) => {
                message.mentions = place.mentions;
                message.clone()
            }
            None => panic!("the message was not added"),
        };
        let mut message = json!({
            "message_id": id, "create_time": now_ms(), "update_time": now_ms(), "chat_id": chat.0,
            "chat_type": if is_private { "p2p" } else { "group" }, "message_type": kind,
            "content": content,
        });
        let list = state.store.mentions(&mentions, true);
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            message["mentions"] = list;
        }
        if place.is_forwarded {
            message["upper_message_id"] = json!("om_other");
        }
        if let Some(parent) = &place.parent {
            message["parent_id"] = json!(parent);
            message["root_id"] = json!(place.thread.as_ref().unwrap_or(parent));
        }
        if let Some(thread) = &place.thread {
            message["thread_id"] = json!(thread.replacen("om_", "omt_", 1));
        }
        let event = json!({
            "sender": {
                "sender_id": {
                    "open_id": self.id, "union_id": format!("on_{}", self.id), "user_id": "",
                },
                "sender_type": "user", "tenant_key": "t1",
            },
            "message": message,
        });
        state.emit("im.message.receive_v1", &event);
        id
    }
}
