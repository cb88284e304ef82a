//! What an event means. Pure; the intake decides who has access.
//! <https://open.feishu.cn/document/server-docs/im-v1/message/events/receive>

use serde_json::Value;

use super::NAME;
use super::content::{self, Mention, is_id};
use crate::base::json;
use crate::base::language::Language;
use crate::base::limits::channels::QUOTE_CHARS;
use crate::base::limits::json::LEVELS_MAX;
use crate::base::message::{Address, Envelope, Origin, PressedMessage, Sender, UNKNOWN_MESSAGE};
use crate::channels::kit::names;
use crate::channels::kit::relayed;
use crate::channels::kit::sink::Incoming;
use crate::config::channels::GroupPolicy;
use crate::text::ellipsize_chars;

/// Mentions of one message that are looked at.
const MENTIONS: usize = 50;

/// How ids of people begin.
pub const PERSON: &str = "ou_";
/// How ids of chats begin.
pub const CHAT: &str = "oc_";
/// How ids of messages begin.
pub const MESSAGE: &str = "om_";

/// The meaning of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A message.
    Message(Box<Written>),
    /// A button was pressed. The reply may say something to the person.
    Press(Box<Incoming>),
    /// Nothing for us.
    Nothing,
}

/// A message, before it is known what it replies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The message.
    pub envelope: Envelope,
    /// Whether it is for us whatever it replies to.
    pub is_for_us: bool,
    /// Whether it says that it replies to a message.
    pub is_reply: bool,
}

/// A message that another one replies to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// Whether the bot wrote it.
    pub is_ours: bool,
    /// What it says; may be empty.
    pub text: String,
}

/// Reads events for a bot.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The bot's id.
    pub me: &'a str,
    /// The id of the app.
    pub app: &'a str,
    /// Which messages in groups are for it.
    pub policy: GroupPolicy,
    /// Whether texts of a person, by their id, are awaited in a chat.
    pub awaits: &'a dyn Fn(&Address, &str) -> bool,
}

impl Reader<'_> {
    /// What an event means.
    pub fn read(&self, payload: &[u8]) -> Meaning {
        let text = str::from_utf8(payload).unwrap_or_default();
        let Ok(event) = json::with_texts_from_str(text, LEVELS_MAX) else {
            tracing::warn!(bytes = payload.len(), "ignored an unexpected event");
            return Meaning::Nothing;
        };
        let app = string(&event["header"]["app_id"]);
        if !app.is_empty() && app != self.app {
            tracing::warn!("ignored an event of another app");
            return Meaning::Nothing;
        }
        let id = string(&event["header"]["event_id"]);
        let meaning = match string(&event["header"]["event_type"]) {
            "im.message.receive_v1" => self.message(&event["event"]),
            "card.action.trigger" => press(&event["event"], id),
            _ => None,
        };
        meaning.unwrap_or(Meaning::Nothing)
    }

    fn message(&self, event: &Value) -> Option<Meaning> {
        let message = &event["message"];
        let part = |name: &str| string(&message[name]);
        let person = string(&event["sender"]["sender_id"]["open_id"]);
        if string(&event["sender"]["sender_type"]) != "user" || !is_person(person) {
            return None;
        }
        let id = part("message_id");
        let is_group = part("chat_type") != "p2p";
        let chat = if is_group { part("chat_id") } else { person };
        let is_chat = !is_group || chat.starts_with(CHAT);
        (is_id(id) && is_id(chat) && is_chat).then_some(())?;
        let address = Address {
            thread: thread(message, id),
            ..Address::new(NAME, chat)
        };
        let mentions = mentions(&message["mentions"]);
        let mut content = content::read(part("message_type"), part("content"), id);
        // A message out of forwarded ones names what it is a part of.
        let is_marked = relayed::has_mark(message) || !part("upper_message_id").is_empty();
        // What is forwarded by its kind says so itself.
        let describes = is_marked && !content.is_forwarded;
        content.is_forwarded |= is_marked;
        let own = content::without_bot(&content.text, &mentions, self.me);
        let text = match own {
            // A message may be nothing but our name.
            "" if content.files.is_empty() => content::with_names(&content.text, &mentions),
            // In a command, a name could be taken for a part of it.
            command if command.starts_with('/') => command.to_owned(),
            own => content::with_names(own, &mentions),
        };
        if text.is_empty() && content.files.is_empty() {
            return None;
        }
        let text = match describes {
            true => relayed::describe(&text),
            false => text,
        };
        let is_text = content.files.is_empty() && !content.is_forwarded;
        let is_for_us = match self.policy {
            _ if !is_group => true,
            GroupPolicy::Off => return None,
            GroupPolicy::Open => true,
            GroupPolicy::Mention => {
                mentions.iter().any(|mention| mention.id == self.me)
                    || is_text && (self.awaits)(&address, person)
            }
        };
        let parent = Some(part("parent_id")).filter(|parent| is_id(parent));
        let root = part("root_id");
        let is_reply = relayed::is_answer(message) || !root.is_empty() && address.thread.is_none();
        if !is_for_us && parent.is_none() {
            return None;
        }
        let sender = Sender {
            id: person.to_owned(),
            // Events do not say how people are called.
            name: String::new(),
            language: Language::of_text(&content.text),
            thread_of: None,
        };
        Some(Meaning::Message(Box::new(Written {
            is_for_us,
            is_reply,
            envelope: Envelope {
                id: format!("{NAME}:{id}"),
                is_group,
                is_relayed: content.is_forwarded,
                reference: id.to_owned(),
                sent_at: json::to_number(&message["create_time"]).and_then(json::to_seconds),
                replies_to: parent.unwrap_or_default().to_owned(),
                remote_files: content.files,
                ..Envelope::written(&address, sender, &text)
            },
        })))
    }
}

impl Written {
    /// Sets the name of the person who wrote it.
    pub fn set_name(&mut self, name: &str) {
        if let Origin::Person(sender) = &mut self.envelope.origin {
            name.clone_into(&mut sender.name);
        }
    }

    /// The message for the intake, now that it is known what it replies to; `None` when it is not for us.
    pub fn finish(mut self, answered: Option<&Answered>) -> Option<Incoming> {
        let is_ours = answered.is_some_and(|answered| answered.is_ours);
        (self.is_for_us || is_ours).then_some(())?;
        if let Some(answered) = answered {
            self.envelope.quote = quote(answered);
        }
        if self.is_reply && self.envelope.replies_to.is_empty() {
            UNKNOWN_MESSAGE.clone_into(&mut self.envelope.replies_to);
        }
        Some(Incoming::Message {
            envelope: self.envelope,
            username: String::new(),
        })
    }
}

/// The message that a message replies to, as quoted lines.
fn quote(answered: &Answered) -> String {
    let text = answered.text.trim();
    if text.is_empty() {
        return String::new();
    }
    // Names contain no brackets.
    let who = if answered.is_ours { "[you]: " } else { "" };
    let text = ellipsize_chars(text, QUOTE_CHARS);
    format!("> {who}{}", text.replace(names::is_newline, "\n> "))
}

/// A message as the API gives it, read as one that is replied to.
pub fn read_answered(message: &Value, app: &str) -> Answered {
    let id = string(&message["message_id"]);
    let sender = &message["sender"];
    let content = string(&message["body"]["content"]);
    let content = content::read(string(&message["msg_type"]), content, id);
    let mut text = content::with_names(&content.text, &mentions(&message["mentions"]));
    if text.is_empty() && !content.files.is_empty() {
        text = "[a file]".to_owned();
    }
    Answered {
        is_ours: string(&sender["sender_type"]) == "app" && string(&sender["id"]) == app,
        text: text.strip_prefix("[a card]\n").unwrap_or(&text).to_owned(),
    }
}

/// A press. Which chat it is in stands on the button, because the event does not tell private chats from groups;
/// it counts only where the event names the same person or group.
fn press(event: &Value, id: &str) -> Option<Meaning> {
    let person = string(&event["operator"]["open_id"]);
    let context = &event["context"];
    let value = &event["action"]["value"];
    let message = string(&context["open_message_id"]);
    (is_person(person) && is_id(message) && is_event_id(id)).then_some(())?;
    let address = Address::parse(&format!("{NAME}:{}", string(&value["to"])));
    let is_group = address.chat.starts_with(CHAT);
    let is_there = if is_group {
        address.chat == string(&context["open_chat_id"])
    } else {
        address.chat == person
    };
    let is_thread = address.thread.as_deref().is_none_or(is_id);
    (is_there && is_thread).then_some(())?;
    let text = string(&value["text"]).to_owned();
    Some(Meaning::Press(Box::new(Incoming::Pressed {
        id: format!("{NAME}:{id}"),
        address,
        is_group,
        sender: Sender {
            id: person.to_owned(),
            name: String::new(),
            language: Language::of_text(string(&value["label"])),
            thread_of: None,
        },
        username: String::new(),
        message: PressedMessage {
            id: message.to_owned(),
            text,
        },
        data: string(&value["data"]).to_owned(),
    })))
}

/// The thread (Feishu: topic) that a message is in, by the message that it began with: threads are written to by
/// replies to that.
fn thread(message: &Value, id: &str) -> Option<String> {
    let has_thread = !string(&message["thread_id"]).is_empty();
    let root = match string(&message["root_id"]) {
        "" => id,
        root => root,
    };
    (has_thread && is_id(root)).then(|| root.to_owned())
}

fn mentions(list: &Value) -> Vec<Mention> {
    let list = list.as_array().into_iter().flatten().take(MENTIONS);
    let mention = |mention: &Value| {
        let id = match &mention["id"] {
            // Messages that the API gives have the id alone.
            Value::String(id) => id.as_str(),
            ids => string(&ids["open_id"]),
        };
        Mention {
            key: string(&mention["key"]).to_owned(),
            id: id.to_owned(),
            name: string(&mention["name"]).to_owned(),
        }
    };
    list.map(mention).collect()
}

fn is_person(id: &str) -> bool {
    id.starts_with(PERSON) && is_id(id)
}

/// Ids of events are not parts of paths, but of our own ids.
fn is_event_id(id: &str) -> bool {
    is_id(id)
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
