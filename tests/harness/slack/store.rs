//! The data of the fake Slack: people, chats, messages and files.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// The id of the app's user.
pub(super) const BOT_ID: &str = "U0CRAB";
/// The id of the app as a bot.
pub(super) const BOT: &str = "B0CRAB";
/// The workspace.
pub(super) const TEAM: &str = "T0HARBOUR";

/// A chat, and a thread within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chat's id.
    pub chat: String,
    /// The number of the thread's first message.
    pub thread: Option<String>,
}

impl Place {
    /// A chat without a thread.
    pub(super) fn of(chat: &str) -> Self {
        Self {
            chat: chat.to_owned(),
            thread: None,
        }
    }

    /// The thread below a message.
    pub fn below(&self, ts: &str) -> Self {
        Self {
            chat: self.chat.clone(),
            thread: Some(ts.to_owned()),
        }
    }
}

/// What kind of chat it is.
pub(super) enum Kind {
    /// With this person.
    Private(String),
    Public,
}

/// A chat.
pub(super) struct Channel {
    pub kind: Kind,
    pub name: String,
    pub has_bot: bool,
    pub messages: BTreeMap<String, Message>,
}

impl Channel {
    pub(super) fn new(kind: Kind, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            has_bot: true,
            messages: BTreeMap::new(),
        }
    }

    pub(super) fn is_private(&self) -> bool {
        matches!(self.kind, Kind::Private(_))
    }
}

/// A message in a chat.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its number, which is its id within the chat.
    pub ts: String,
    /// Its text, in Slack's markup.
    pub text: String,
    /// Its blocks: a list.
    pub blocks: Value,
    /// The number of its thread's first message.
    pub thread: Option<String>,
    /// Its files.
    pub files: Vec<File>,
    /// The app's reactions to it.
    pub reactions: Vec<String>,
    /// All versions of its text, oldest first.
    pub versions: Vec<String>,
    /// Its metadata.
    pub metadata: Value,
    /// Its author; `None` for the app.
    pub(super) from: Option<String>,
    pub(super) edited: Option<String>,
    pub(super) is_gone: bool,
    /// What it shares of others.
    pub(super) shared: Option<String>,
}

impl Message {
    /// The text as people read it: that of the blocks, if there are any.
    pub fn shown(&self) -> String {
        let blocks = self.blocks.as_array().into_iter().flatten();
        let texts = blocks.filter_map(|block| block["text"]["text"].as_str());
        let texts: Vec<&str> = texts.collect();
        let text = match texts.is_empty() {
            true => self.text.clone(),
            false => texts.join("\n"),
        };
        let text = text.replace("&lt;", "<").replace("&gt;", ">");
        text.replace("&amp;", "&")
    }

    /// The labels of its buttons.
    pub fn buttons(&self) -> Vec<String> {
        let buttons = self.elements();
        let label = |button: &Value| button["text"]["text"].as_str().map(str::to_owned);
        buttons.iter().filter_map(label).collect()
    }

    pub(super) fn elements(&self) -> Vec<Value> {
        let blocks = self.blocks.as_array().into_iter().flatten();
        let elements = blocks.filter_map(|block| block["elements"].as_array());
        elements.flatten().cloned().collect()
    }

    pub(super) fn says(&mut self, text: &str) {
        self.text = text.to_owned();
        self.versions.push(text.to_owned());
    }
}

/// A file.
#[derive(Clone, Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its type.
    pub mime: String,
    /// Its content.
    pub bytes: Arc<[u8]>,
    pub(super) id: String,
}

#[derive(Default)]
pub(super) struct Store {
    /// The server's address.
    pub address: String,
    pub people: BTreeMap<String, String>,
    pub channels: BTreeMap<String, Channel>,
    /// Files by their ids, and how long those will be that are not uploaded yet.
    pub files: BTreeMap<String, (File, Option<usize>)>,
    last: u64,
    ids: usize,
}

impl Store {
    /// A number that grows with time.
    pub(super) fn next_ts(&mut self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = now.map_or(0, |now| now.as_micros() as u64);
        self.last = micros.max(self.last + 1);
        format!("{}.{:06}", self.last / 1_000_000, self.last % 1_000_000)
    }

    pub(super) fn next_id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}0{:06}", self.ids)
    }

    /// A chat of the test; panics if it does not exist.
    pub(super) fn channel(&mut self, place: &Place) -> &mut Channel {
        match self.channels.get_mut(&place.chat) {
            Some(channel) => channel,
            None => panic!("there is no chat {place:?}"),
        }
    }

    /// A message; panics if it does not exist.
    pub(super) fn message(&self, place: &Place, ts: &str) -> &Message {
        let found = self.channels.get(&place.chat);
        match found.and_then(|channel| channel.messages.get(ts)) {
            Some(message) => message,
            None => panic!("there is no message {ts} in {place:?}"),
        }
    }

    /// An empty message that is not in its chat yet.
    pub(super) fn new_message(&mut self, place: &Place, from: Option<&str>) -> Message {
        Message {
            ts: self.next_ts(),
            text: String::new(),
            blocks: json!([]),
            thread: place.thread.clone(),
            files: Vec::new(),
            reactions: Vec::new(),
            versions: Vec::new(),
            metadata: Value::Null,
            from: from.map(str::to_owned),
            edited: None,
            is_gone: false,
            shared: None,
        }
    }

    /// The app's messages in a chat, or in one thread.
    pub(super) fn messages(&self, place: &Place) -> Vec<Message> {
        let channel = self.channels.get(&place.chat).into_iter();
        let all = channel.flat_map(|channel| channel.messages.values());
        let ours = all.filter(|message| message.from.is_none() && !message.is_gone);
        let there = |message: &&Message| place.thread.is_none() || message.thread == place.thread;
        ours.filter(there).cloned().collect()
    }

    /// A message in the format of events and answers.
    pub(super) fn json(&self, chat: &str, message: &Message, has_metadata: bool) -> Value {
        let user = message.from.as_deref().unwrap_or(BOT_ID);
        let mut json = json!({
            "type": "message", "user": user, "text": message.text, "ts": message.ts, "team": TEAM,
            "blocks": message.blocks,
        });
        if message.from.is_none() {
            json["bot_id"] = json!(BOT);
            json["app_id"] = json!("A0CRAB");
        }
        if let Some(thread) = &message.thread {
            json["thread_ts"] = json!(thread);
            let channel = &self.channels[chat];
            if let Some(parent) = channel.messages.get(thread) {
                let parent = parent.from.as_deref().unwrap_or(BOT_ID);
                json["parent_user_id"] = json!(parent);
            }
        }
        if !message.files.is_empty() {
            json["subtype"] = json!("file_share");
            let files = message.files.iter();
            json["files"] = files.map(|file| self.file_json(file)).collect();
        }
        if let Some(edited) = &message.edited {
            json["edited"] = json!({"user": user, "ts": edited});
        }
        if let Some(text) = &message.shared {
            json["attachments"] = json!([{
                "is_share": true, "is_msg_unfurl": true, "text": text, "author_name": "Eve", "id": 1,
                "from_url": "https://harbour.slack.com/archives/C1/p1", "mrkdwn_in": ["text"],
            }]);
        }
        if has_metadata && message.metadata.is_object() {
            json["metadata"] = message.metadata.clone();
        }
        json
    }

    /// The same for a history, where a thread's first message tells of the others.
    pub(super) fn history_json(&self, chat: &str, message: &Message, has_metadata: bool) -> Value {
        let mut json = self.json(chat, message, has_metadata);
        let all = self.channels[chat].messages.values();
        let below =
            all.filter(|other| other.thread.as_ref() == Some(&message.ts) && !other.is_gone);
        let below: Vec<&String> = below.map(|other| &other.ts).collect();
        if let Some(last) = below.last() {
            json["thread_ts"] = json!(message.ts);
            json["reply_count"] = json!(below.len());
            json["latest_reply"] = json!(last);
        }
        json
    }

    pub(super) fn file_json(&self, file: &File) -> Value {
        let url = format!(
            "http://{}/files-pri/{TEAM}-{}/{}",
            self.address, file.id, file.name
        );
        let shown = self.channels.iter().filter(|(_, channel)| {
            let mut files = channel.messages.values().flat_map(|message| &message.files);
            files.any(|other| other.id == file.id)
        });
        let (ims, channels): (Vec<_>, Vec<_>) =
            shown.partition(|(_, channel)| channel.is_private());
        let ids = |list: Vec<(&String, &Channel)>| -> Vec<String> {
            list.into_iter().map(|(id, _)| id.clone()).collect()
        };
        json!({
            "id": file.id, "name": file.name, "title": file.name, "mimetype": file.mime,
            "size": file.bytes.len(), "mode": "hosted", "url_private": url, "url_private_download": url,
            "channels": ids(channels), "groups": [], "ims": ids(ims), "is_external": false,
        })
    }

    /// <https://docs.slack.dev/reference/objects/user-object>
    pub(super) fn user_json(&self, id: &str) -> Option<Value> {
        let name = self.people.get(id)?;
        Some(json!({
            "id": id, "team_id": TEAM, "name": name.to_lowercase(), "real_name": name, "deleted": false,
            "is_bot": false, "tz": "Europe/Zurich", "locale": "en-GB",
            "profile": {"display_name": name, "real_name": name},
        }))
    }
}
