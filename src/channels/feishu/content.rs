//! What a message of Feishu's says: its content is JSON of its own, one shape for each kind. Pure.
//! <https://open.feishu.cn/document/server-docs/im-v1/message-content-description/message_content>

use std::fmt;

use serde_json::Value;

use crate::base::json;
use crate::base::limits::channels::{NAME_CHARS, QUOTE_CHARS};
use crate::base::limits::json::LEVELS_MAX;
use crate::base::message::{Media, RemoteFile};
use crate::channels::kit::markdown::cards::without_entities;
use crate::channels::kit::names;
use crate::text::one_line;

/// Elements of a rich text that are read.
const POST_ELEMENTS: usize = 2000;
/// Levels of a card that are looked at for words.
const CARD_LEVELS: usize = 8;

/// A person, or a bot, whom a message mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mention {
    /// What stands for them in the text, such as `@_user_1`.
    pub key: String,
    /// Their id.
    pub id: String,
    /// Their name.
    pub name: String,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// The text, in which mentions are still keys. What is neither text nor a file is described in brackets.
    pub text: String,
    /// The files.
    pub files: Vec<RemoteFile>,
    /// Whether other people's words are forwarded with it.
    pub is_forwarded: bool,
}

/// How a file of a message is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId<'a> {
    /// The message.
    pub message: &'a str,
    /// `image` or `file`; sound and videos are files.
    pub kind: &'a str,
    /// The file.
    pub key: &'a str,
}

impl fmt::Display for FileId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.message, self.kind, self.key)
    }
}

impl<'a> FileId<'a> {
    /// Reads what `Display` wrote; `None` where a part could not be put into a path.
    pub fn parse(id: &'a str) -> Option<Self> {
        let mut parts = id.splitn(3, ' ');
        let mut part = || parts.next().filter(|part| is_id(part));
        Some(Self {
            message: part()?,
            kind: part()?,
            key: part()?,
        })
    }
}

/// Whether a text can be an id of Feishu's, and so a part of a path.
pub fn is_id(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=NAME_CHARS * 2).contains(&text.len()) && text.bytes().all(fits)
}

/// Reads the content of the message with this id. What cannot be read says nothing.
pub fn read(kind: &str, content: &str, message: &str) -> Content {
    let Ok(content) = json::with_texts_from_str(content, LEVELS_MAX) else {
        return Content::default();
    };
    let text = |name: &str| content[name].as_str().unwrap_or_default();
    let file = |media, is_image: bool, key: &str, usual: &str| {
        let name = content["file_name"].as_str().filter(|it| !it.is_empty());
        remote_file(media, message, is_image, text(key), name.unwrap_or(usual))
    };
    let found = match kind {
        "text" => {
            return Content {
                text: text("text").trim().to_owned(),
                ..Content::default()
            };
        }
        "post" => return read_post(&content, message),
        "image" => file(Media::Photo, true, "image_key", "image.jpg"),
        "file" => file(Media::Document, false, "file_key", "file"),
        "audio" => file(Media::Voice, false, "file_key", "voice.opus"),
        "media" => file(Media::Video, false, "file_key", "video.mp4"),
        _ => None,
    };
    if let Some(file) = found {
        return Content {
            files: vec![file],
            ..Content::default()
        };
    }
    let named = |what: &str, name: &str| match describe(name).as_str() {
        "" => format!("[{what}]"),
        name => format!("[{what}: {name}]"),
    };
    let text = match kind {
        "sticker" => "[a sticker]".to_owned(),
        "location" => named(
            "a place",
            &format!(
                "{} {}, {}",
                text("name"),
                text("latitude"),
                text("longitude")
            ),
        ),
        "share_chat" => "[a group's card]".to_owned(),
        "share_user" => "[a contact]".to_owned(),
        "merge_forward" => "[forwarded messages, whose text Feishu does not pass on]".to_owned(),
        "video_chat" => named("a video call", text("topic")),
        "calendar" | "general_calendar" | "share_calendar_event" => {
            named("a calendar event", text("summary"))
        }
        "vote" => named("a poll", text("topic")),
        "todo" => {
            let task = content["summary"]["title"].as_str();
            named("a task", task.unwrap_or_default())
        }
        "interactive" => read_card(&content),
        "folder" => named("a folder", text("file_name")),
        // What the app does: who has joined, and the like.
        "system" => String::new(),
        kind => named("a message of an unknown kind", kind),
    };
    Content {
        text,
        // A person has no cards of their own.
        is_forwarded: matches!(kind, "merge_forward" | "interactive"),
        ..Content::default()
    }
}

/// A name or a title that anyone may have chosen, on one line and without brackets.
fn describe(name: &str) -> String {
    names::without_brackets(&one_line(name, QUOTE_CHARS))
}

fn remote_file(
    media: Media,
    message: &str,
    is_image: bool,
    key: &str,
    name: &str,
) -> Option<RemoteFile> {
    let kind = if is_image { "image" } else { "file" };
    is_id(key).then(|| RemoteFile {
        media,
        id: FileId { message, kind, key }.to_string(),
        size: None,
        name: name.to_owned(),
    })
}

/// Rich text: a title and paragraphs, each a list of elements. It may be wrapped in the name of a language.
fn read_post(content: &Value, message: &str) -> Content {
    let post = match content.get("content") {
        Some(_) => Some(content),
        None => content
            .as_object()
            .and_then(|languages| languages.values().next()),
    };
    let Some(post) = post else {
        return Content::default();
    };
    let mut read = Content::default();
    let title = post["title"].as_str().unwrap_or_default().trim();
    if !title.is_empty() {
        read.text = format!("{title}\n");
    }
    let mut left = POST_ELEMENTS;
    for paragraph in post["content"].as_array().into_iter().flatten() {
        for element in paragraph.as_array().into_iter().flatten().take(left) {
            left -= 1;
            read_element(element, message, &mut read);
        }
        read.text.push('\n');
    }
    read.text.truncate(read.text.trim_end().len());
    read
}

fn read_element(element: &Value, message: &str, read: &mut Content) {
    let part = |name: &str| element[name].as_str().unwrap_or_default();
    match part("tag") {
        "text" | "md" => read.text.push_str(part("text")),
        "a" if part("text") == part("href") => read.text.push_str(part("href")),
        "a" => {
            read.text += &format!("[{}]({})", part("text"), part("href"));
        }
        "at" => match part("user_id") {
            key if key.starts_with("@_") => read.text += key,
            _ => read.text += &format!("@{}", names::clean_name(part("user_name"))),
        },
        "emotion" => read.text += &format!(":{}:", describe(part("emoji_type"))),
        "code_block" => {
            let language = part("language").to_ascii_lowercase();
            read.text += &crate::text::markup::code_block(part("text"), &language);
        }
        "hr" => read.text.push_str("---"),
        "img" => {
            let key = part("image_key");
            let file = remote_file(Media::Photo, message, true, key, "image.jpg");
            read.files.extend(file);
        }
        "media" => {
            let key = part("file_key");
            let file = remote_file(Media::Video, message, false, key, "video.mp4");
            read.files.extend(file);
        }
        _ => {}
    }
}

/// The words on a card. A card of the second kind stands as text in `user_dsl`, and beside it something for old apps.
fn read_card(content: &Value) -> String {
    let own = content["user_dsl"].as_str();
    let own = own.and_then(|card| json::with_texts_from_str(card, LEVELS_MAX).ok());
    let card = own.as_ref().unwrap_or(content);
    let mut words = Vec::new();
    let title = match &card["title"] {
        Value::String(title) => title.as_str(),
        _ => card["header"]["title"]["content"]
            .as_str()
            .unwrap_or_default(),
    };
    words.push(title.to_owned());
    collect(&card["elements"], CARD_LEVELS, &mut words);
    collect(&card["body"]["elements"], CARD_LEVELS, &mut words);
    words.retain(|word| !word.trim().is_empty());
    if words.is_empty() {
        "[a card]".to_owned()
    } else {
        format!("[a card]\n{}", words.join("\n"))
    }
}

fn collect(value: &Value, levels: usize, words: &mut Vec<String>) {
    let Some(levels) = levels
        .checked_sub(1)
        .filter(|_| words.len() < POST_ELEMENTS)
    else {
        return;
    };
    match value {
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect(value, levels, words)),
        Value::Object(members) if members.get("tag").is_some_and(|tag| tag == "button") => {}
        Value::Object(members) => {
            for name in ["text", "content"] {
                if let Some(Value::String(text)) = members.get(name) {
                    words.push(without_entities(text));
                }
            }
            for name in ["text", "elements", "fields", "columns", "actions"] {
                if let Some(inner @ (Value::Array(_) | Value::Object(_))) = members.get(name) {
                    collect(inner, levels, words);
                }
            }
        }
        _ => {}
    }
}

/// The text with names for the keys of mentions.
pub fn with_names(text: &str, mentions: &[Mention]) -> String {
    let mut rest = text;
    let mut named = String::with_capacity(text.len());
    while let Some(at) = rest.find("@_") {
        let (before, key) = rest.split_at(at);
        named.push_str(before);
        let length = key_length(key);
        let (key, after) = key.split_at(length);
        match mentions.iter().find(|mention| mention.key == key) {
            Some(mention) => named += &format!("@{}", names::clean_name(&mention.name)),
            None if key == "@_all" => named += "@all",
            None => named += key,
        }
        rest = after;
    }
    named.push_str(rest);
    named
}

/// The bytes of the key that a text begins with: `@_user_1` or `@_all`.
fn key_length(text: &str) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    1 + text.bytes().skip(1).take_while(is_part).count()
}

/// The text without the mentions of the bot that only address it, at the beginning and at the end.
pub fn without_bot<'a>(text: &'a str, mentions: &[Mention], bot: &str) -> &'a str {
    let is_bot = |key: &str| {
        let mut mentions = mentions.iter();
        !bot.is_empty() && mentions.any(|mention| mention.key == key && mention.id == bot)
    };
    let mut kept = text.trim();
    while kept.starts_with("@_") && is_bot(&kept[..key_length(kept)]) {
        kept = kept[key_length(kept)..].trim_start_matches([',', ':', '，', '：', ' ', '\u{a0}']);
    }
    while let Some(at) = kept.rfind("@_").filter(|at| is_bot(&kept[*at..])) {
        kept = kept[..at].trim_end();
    }
    kept
}

#[cfg(test)]
mod tests;
