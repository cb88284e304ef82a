//! The data of the fake Telegram: people, chats, messages and files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::person::{Media, Place};
use super::text::entities;

/// The bot's id, which its token begins with.
pub(super) const BOT_ID: i64 = 4_812_345_678;
/// The bot's name, for mentions.
pub const BOT_NAME: &str = "peacrab_bot";

/// A message in a chat.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id within the chat.
    pub id: i64,
    /// The chat, and the topic where there is one.
    pub place: Place,
    /// The visible text: the text, or a file's caption, without tags.
    pub text: String,
    /// The formatted parts of the text, as `MessageEntity`.
    pub entities: Vec<Value>,
    /// The text as it was sent.
    pub html: String,
    /// Its parse mode; `None` for plain text.
    pub parse_mode: Option<String>,
    /// The buttons.
    pub markup: Option<Value>,
    /// The message that it replies to.
    pub reply_to: Option<i64>,
    /// All versions of its text, oldest first.
    pub versions: Vec<Version>,
    /// A photo, a document or the like.
    pub file: Option<File>,
    /// The blocks of a rich message, in the format of updates.
    pub rich: Option<Value>,
    /// Who alone sees it.
    pub only_for: Option<i64>,
    /// The bot's reactions to it.
    pub reactions: Vec<String>,
    /// Its author; `None` for the bot.
    pub(super) from: Option<i64>,
    pub(super) location: Option<(f64, f64)>,
    /// Whether somebody else has written it.
    pub(super) is_forwarded: bool,
    /// The same for all messages of an album.
    pub album: Option<String>,
    /// A service message that opened a topic of this name.
    pub(super) opened_topic: Option<String>,
    pub(super) gone: Option<Gone>,
}

/// A version of a message.
#[derive(Clone, Debug)]
pub struct Version {
    /// The number of the call that made it, from 1; 0 for a person.
    pub call: usize,
    /// The text without tags.
    pub text: String,
}

/// A file that was sent in a chat.
#[derive(Clone, Debug)]
pub struct File {
    /// Its kind.
    pub media: Media,
    /// Its name.
    pub name: String,
    /// Its type.
    pub mime: String,
    /// Its content.
    pub bytes: Arc<[u8]>,
    pub(super) id: String,
}

/// Who deleted a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    ByBot,
    ByPerson,
}

/// A text that is shown while it is written, without a message.
/// <https://core.telegram.org/bots/api#sendmessagedraft>
#[derive(Clone, Debug)]
pub struct Draft {
    /// The topic, or the chat.
    pub place: Place,
    /// The number that the bot has given it.
    pub id: i64,
    /// The text without tags.
    pub text: String,
    /// Whether it has a button that stops it.
    pub can_stop: bool,
    /// Whether nothing has taken its place.
    pub is_shown: bool,
}

/// A private chat or a group.
pub(super) struct Chat {
    /// The chat in the format of updates.
    pub json: Value,
    /// The forum's topics by their threads.
    pub topics: BTreeMap<i64, String>,
    pub messages: BTreeMap<i64, Message>,
    /// All drafts so far, the newest last.
    pub drafts: Vec<Draft>,
    /// Whether its person has blocked the bot.
    pub blocked: bool,
    /// The supergroup that it has become.
    pub upgraded_to: Option<i64>,
}

impl Chat {
    pub(super) fn new(json: Value) -> Self {
        Self {
            json,
            topics: BTreeMap::new(),
            messages: BTreeMap::new(),
            drafts: Vec::new(),
            blocked: false,
            upgraded_to: None,
        }
    }

    /// Each chat has its own numbers, so the same number occurs in several chats.
    pub(super) fn next_id(&self) -> i64 {
        self.messages.last_key_value().map_or(1, |(id, _)| id + 1)
    }
}

#[derive(Default)]
pub(super) struct Store {
    /// People as updates show them.
    pub people: BTreeMap<i64, Value>,
    pub chats: BTreeMap<i64, Chat>,
    pub files: Vec<File>,
}

impl Store {
    /// A chat of the test; panics if it does not exist.
    pub(super) fn chat(&mut self, id: i64) -> &mut Chat {
        match self.chats.get_mut(&id) {
            Some(chat) => chat,
            None => panic!("there is no chat {id}"),
        }
    }

    /// A message; panics if it does not exist.
    pub(super) fn message(&mut self, chat: i64, id: i64) -> &mut Message {
        match self.chat(chat).messages.get_mut(&id) {
            Some(message) => message,
            None => panic!("there is no message {id} in the chat {chat}"),
        }
    }

    /// The bot's messages in a place, oldest first.
    pub(super) fn messages(&self, place: Place) -> impl DoubleEndedIterator<Item = &Message> {
        let chat = self.chats.get(&place.chat);
        let all = chat.into_iter().flat_map(|chat| chat.messages.values());
        all.filter(move |message| {
            message.from.is_none()
                && message.opened_topic.is_none()
                && message.gone.is_none()
                && message.place == place
        })
    }

    /// Keeps a file, under a new id.
    pub(super) fn keep(&mut self, media: Media, name: &str, mime: &str, bytes: Arc<[u8]>) -> File {
        let file = File {
            media,
            name: name.to_owned(),
            mime: mime.to_owned(),
            bytes,
            id: format!("file-{}", self.files.len()),
        };
        self.files.push(file.clone());
        file
    }

    /// A message as updates and answers show it.
    /// <https://core.telegram.org/bots/api#message>
    pub(super) fn json(&self, message: &Message) -> Value {
        let chat = &self.chats[&message.place.chat];
        let mut json = json!({
            "message_id": message.id, "date": unix_time(), "chat": chat.json,
            "from": message.from.map_or_else(bot, |person| self.people[&person].clone()),
        });
        if let Some(person) = message.only_for {
            json["message_id"] = json!(0);
            json["ephemeral_message_id"] = json!(message.id);
            json["receiver_user"] = self.people[&person].clone();
        }
        if let Some(thread) = message.place.thread {
            json["message_thread_id"] = json!(thread);
            json["is_topic_message"] = json!(true);
        }
        if let Some(replied) = message.reply_to.and_then(|id| chat.messages.get(&id)) {
            let mut replied = replied.clone();
            replied.reply_to = None;
            json["reply_to_message"] = self.json(&replied);
        }
        if message.is_forwarded {
            json["forward_origin"] =
                json!({"type": "hidden_user", "sender_user_name": "Eve", "date": unix_time()});
        }
        if let Some(file) = &message.file {
            json[file.media.name()] = file.json();
        }
        if let Some(rich) = &message.rich {
            json["rich_message"] = rich.clone();
        } else if !message.text.is_empty() {
            let (text, entities) = match message.file {
                Some(_) => ("caption", "caption_entities"),
                None => ("text", "entities"),
            };
            json[text] = json!(message.text);
            let found = entities::of(&message.text);
            if message.from.is_some() && !found.is_empty() {
                json[entities] = json!(found);
            }
        }
        if let Some((latitude, longitude)) = message.location {
            json["location"] = json!({"latitude": latitude, "longitude": longitude});
        }
        if let Some(album) = &message.album {
            json["media_group_id"] = json!(album);
        }
        if let Some(name) = &message.opened_topic {
            json["forum_topic_created"] = json!({"name": name, "icon_color": 7_322_096});
        }
        if let Some(markup) = &message.markup {
            json["reply_markup"] = markup.clone();
        }
        if message.versions.len() > 1 {
            json["edit_date"] = json!(unix_time());
        }
        json
    }
}

impl Message {
    /// An empty message.
    pub(super) fn new(id: i64, place: Place, from: Option<i64>) -> Self {
        Self {
            id,
            place,
            text: String::new(),
            entities: Vec::new(),
            html: String::new(),
            parse_mode: None,
            markup: None,
            reply_to: None,
            versions: Vec::new(),
            file: None,
            rich: None,
            only_for: None,
            reactions: Vec::new(),
            from,
            is_forwarded: false,
            location: None,
            album: None,
            opened_topic: None,
            gone: None,
        }
    }

    /// The data of the button with this name.
    pub fn button(&self, label: &str) -> Option<&str> {
        let rows = self.markup.as_ref()?["inline_keyboard"].as_array()?;
        let mut buttons = rows.iter().filter_map(Value::as_array).flatten();
        buttons.find(|button| button["text"] == label)?["callback_data"].as_str()
    }
}

impl File {
    /// Its path for downloads.
    pub(super) fn path(&self) -> String {
        format!("{}s/{}", self.media.name(), self.id)
    }

    fn json(&self) -> Value {
        let sized = |id: &str, size: usize| json!({"file_id": id, "file_unique_id": format!("unique-{}", self.id), "file_size": size});
        let mut json = sized(&self.id, self.bytes.len());
        match self.media {
            Media::Photo => {
                json["width"] = json!(1280);
                json["height"] = json!(960);
                // A photo has several sizes; the last is the original.
                let mut thumbnail = sized("thumbnail", 1000);
                thumbnail["width"] = json!(90);
                thumbnail["height"] = json!(67);
                return json!([thumbnail, json]);
            }
            Media::Document => {}
            Media::Sticker => {
                json["type"] = json!("regular");
                json["is_animated"] = json!(false);
                json["is_video"] = json!(false);
                json["width"] = json!(512);
                json["height"] = json!(512);
                return json;
            }
            Media::VideoNote => {
                json["duration"] = json!(3);
                json["length"] = json!(240);
                return json;
            }
            Media::Voice | Media::Audio | Media::Video => json["duration"] = json!(3),
        }
        json["mime_type"] = json!(self.mime);
        if self.media != Media::Voice {
            json["file_name"] = json!(self.name);
        }
        json
    }
}

/// The bot, as messages show it.
pub(super) fn bot() -> Value {
    json!({"id": BOT_ID, "is_bot": true, "first_name": "Peacrab", "username": BOT_NAME})
}

fn unix_time() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
