//! The data of the fake Feishu: people, chats, messages and files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::card::Seen;

/// The app's id.
pub const APP_ID: &str = "cli_a1b2c3d4e5f60718";
/// The bot's id within the tenant.
pub const BOT: &str = "ou_bot0000000000000000000000000000";
/// The bot's name.
pub const BOT_NAME: &str = "peacrab";

/// A chat, by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chat(pub String);

/// A button of a card.
#[derive(Clone, Debug, PartialEq)]
pub struct Button {
    /// Its label.
    pub label: String,
    /// What comes back when it is pressed.
    pub value: Value,
}

/// A message in a chat.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// Its chat.
    pub chat: Chat,
    /// Its kind, such as `interactive`.
    pub kind: String,
    /// Its content as JSON.
    pub content: String,
    /// What people see of it.
    pub text: String,
    /// Its buttons.
    pub buttons: Vec<Button>,
    /// The message that it replies to.
    pub parent: Option<String>,
    /// The message that its thread began with.
    pub thread: Option<String>,
    /// Its file.
    pub file: Option<File>,
    /// The bot's reactions to it.
    pub reactions: Vec<String>,
    /// All versions of its text, oldest first.
    pub versions: Vec<String>,
    /// When it was written.
    pub at: Instant,
    /// Its author; `None` for the bot.
    pub(super) from: Option<String>,
    pub(super) mentions: Vec<String>,
    pub(super) is_withdrawn: bool,
}

/// A file that was uploaded, or sent by a person.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// `image`, or the type that it was uploaded as.
    pub kind: String,
    /// Its content.
    pub bytes: Arc<[u8]>,
}

/// A chat's data.
pub(super) struct Room {
    /// The person of a private chat.
    pub person: Option<String>,
}

#[derive(Default)]
pub(super) struct Store {
    /// Names by ids.
    pub people: BTreeMap<String, String>,
    pub rooms: BTreeMap<Chat, Room>,
    pub messages: Vec<Message>,
    pub files: BTreeMap<String, File>,
    /// The messages that were sent with a `uuid`.
    pub sent: BTreeMap<String, String>,
    last: u64,
}

impl Store {
    pub(super) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn new_id(&mut self, prefix: &str) -> String {
        let number = self.next();
        format!("{prefix}_{number:032x}")
    }

    /// The private chat with a person.
    pub(super) fn private(&self, person: &str) -> Option<Chat> {
        let mut rooms = self.rooms.iter();
        let found = rooms.find(|(_, room)| room.person.as_deref() == Some(person));
        found.map(|(chat, _)| chat.clone())
    }

    pub(super) fn message(&self, id: &str) -> Option<&Message> {
        self.messages.iter().find(|message| message.id == id)
    }

    pub(super) fn message_mut(&mut self, id: &str) -> Option<&mut Message> {
        self.messages.iter_mut().find(|message| message.id == id)
    }

    /// The bot's messages in a chat, oldest first.
    pub(super) fn of_bot<'a>(
        &'a self,
        chat: &'a Chat,
    ) -> impl DoubleEndedIterator<Item = &'a Message> {
        let messages = self.messages.iter();
        messages.filter(move |message| {
            message.chat == *chat && message.from.is_none() && !message.is_withdrawn
        })
    }

    /// Adds a message; returns its id.
    pub(super) fn add(
        &mut self,
        chat: &Chat,
        (kind, content): (&str, &str),
        seen: Seen,
        (parent, thread, from): (Option<String>, Option<String>, Option<String>),
    ) -> String {
        let id = self.new_id("om");
        let content_json: Value = serde_json::from_str(content).unwrap_or_default();
        let key = ["file_key", "image_key"]
            .iter()
            .find_map(|name| content_json[name].as_str());
        let file = key.and_then(|key| self.files.get(key)).cloned();
        self.messages.push(Message {
            id: id.clone(),
            chat: chat.clone(),
            kind: kind.to_owned(),
            content: content.to_owned(),
            versions: vec![seen.text.clone()],
            text: seen.text,
            buttons: seen.buttons,
            parent,
            thread,
            file,
            reactions: Vec::new(),
            at: Instant::now(),
            from,
            mentions: Vec::new(),
            is_withdrawn: false,
        });
        id
    }

    /// A message as the API gives it; a card is something for old apps unless it is asked for.
    pub(super) fn json(&self, message: &Message, wants_card: bool) -> Value {
        let sender = match &message.from {
            None => {
                json!({"id": APP_ID, "id_type": "app_id", "sender_type": "app", "tenant_key": "t1"})
            }
            Some(id) => {
                json!({"id": id, "id_type": "open_id", "sender_type": "user", "tenant_key": "t1"})
            }
        };
        let content = match message.kind.as_str() {
            "interactive" => {
                let old = json!([[{"tag": "text", "text": "请升级至最新版本客户端，以查看内容"}]]);
                let mut content = json!({"title": null, "elements": old});
                if wants_card {
                    content["user_dsl"] = json!(message.content);
                }
                content.to_string()
            }
            _ => message.content.clone(),
        };
        let mentions = self.mentions(message, false);
        let mut json = json!({
            "message_id": message.id, "msg_type": message.kind, "create_time": now_ms(),
            "update_time": now_ms(), "deleted": message.is_withdrawn,
            "updated": message.versions.len() > 1, "chat_id": message.chat.0, "sender": sender,
            "body": {"content": content},
        });
        if mentions.as_array().is_some_and(|list| !list.is_empty()) {
            json["mentions"] = mentions;
        }
        json
    }

    /// The mentions of a message. Events have all ids of a person, the API one.
    pub(super) fn mentions(&self, message: &Message, is_event: bool) -> Value {
        let mention = |(number, id): (usize, &String)| {
            let name = self.people.get(id).map_or(BOT_NAME, String::as_str);
            let key = format!("@_user_{}", number + 1);
            match is_event {
                true => json!({
                    "key": key, "name": name, "tenant_key": "t1",
                    "mentioned_type": if id == BOT { "bot" } else { "user" },
                    "id": {"open_id": id, "union_id": format!("on_{id}"), "user_id": ""},
                }),
                false => {
                    json!({"key": key, "name": name, "tenant_key": "t1", "id": id, "id_type": "open_id"})
                }
            }
        };
        message.mentions.iter().enumerate().map(mention).collect()
    }
}

pub(super) fn now_ms() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis()).to_string()
}
