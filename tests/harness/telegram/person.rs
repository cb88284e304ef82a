//! People: what they write, press and delete.

use std::ops::Range;
use std::sync::Arc;

use serde_json::json;

use super::server::{Server, State};
use super::store::{Gone, Message, Version};

/// A chat, or a topic of a forum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chat's id: the person's id for a private chat.
    pub chat: i64,
    /// The topic.
    pub thread: Option<i64>,
}

/// A message that a person has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The number of its update.
    pub update: i64,
    /// The message's id.
    pub message: i64,
    /// Its place.
    pub place: Place,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// A picture.
    Photo,
    /// Any file.
    Document,
    /// A voice message.
    Voice,
    /// A sticker.
    Sticker,
    /// Music.
    Audio,
    /// A video.
    Video,
    /// A round video, in place of a voice message.
    VideoNote,
}

impl Media {
    /// The name of its member in a message.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Photo => "photo",
            Self::Document => "document",
            Self::Voice => "voice",
            Self::Sticker => "sticker",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::VideoNote => "video_note",
        }
    }

    fn mime(self) -> &'static str {
        match self {
            Self::Photo => "image/jpeg",
            Self::Document => "application/octet-stream",
            Self::Voice => "audio/ogg",
            Self::Sticker => "image/webp",
            Self::Audio => "audio/mpeg",
            Self::Video | Self::VideoNote => "video/mp4",
        }
    }
}

/// A file that a person sends.
#[derive(Clone, Debug)]
pub struct Upload {
    media: Media,
    name: String,
    bytes: Vec<u8>,
    caption: String,
}

impl Upload {
    /// A file with this name. The bot does not get the names of photos and voice messages.
    pub fn new(media: Media, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            media,
            name: name.to_owned(),
            bytes: bytes.into(),
            caption: String::new(),
        }
    }

    /// Its caption.
    pub fn caption(mut self, words: &str) -> Self {
        self.caption = words.to_owned();
        self
    }
}

/// A person who has a private chat with the bot.
#[derive(Clone)]
pub struct Person {
    pub(super) server: Arc<Server>,
    pub(super) id: i64,
}

impl Person {
    /// Sets the language of the person's app, such as `zh-hans`: the bot is told it with each message.
    pub fn speaking(self, tag: &str) -> Self {
        self.server.change(|state| {
            if let Some(person) = state.store.people.get_mut(&self.id) {
                person["language_code"] = json!(tag);
            }
        });
        self
    }

    /// The private chat.
    pub fn chat(&self) -> Place {
        Place {
            chat: self.id,
            thread: None,
        }
    }

    /// Writes to the bot.
    pub fn says(&self, text: &str) -> Said {
        self.says_in(self.chat(), text)
    }

    /// Writes in a group.
    pub fn says_in(&self, place: Place, text: &str) -> Said {
        self.post(place, |_, message| text.clone_into(&mut message.text))
    }

    /// Forwards what somebody else has written.
    pub fn forwards_in(&self, place: Place, text: &str) -> Said {
        self.post(place, |_, message| {
            text.clone_into(&mut message.text);
            message.is_forwarded = true;
        })
    }

    /// Replies to a message.
    pub fn replies(&self, place: Place, to: i64, text: &str) -> Said {
        self.post(place, |_, message| {
            text.clone_into(&mut message.text);
            message.reply_to = Some(to);
        })
    }

    /// Sends a file to the bot.
    pub fn sends(&self, upload: Upload) -> Said {
        self.sends_in(self.chat(), upload)
    }

    /// Sends a file to a group.
    pub fn sends_in(&self, place: Place, upload: Upload) -> Said {
        self.upload(place, upload, None)
    }

    /// Sends several files to the bot at once: one message each.
    pub fn sends_album(&self, uploads: impl IntoIterator<Item = Upload>) -> Vec<Said> {
        let album = format!("album-{}", self.server.state().queue.next());
        let uploads = uploads.into_iter();
        uploads
            .map(|upload| self.upload(self.chat(), upload, Some(album.clone())))
            .collect()
    }

    /// Sends one file of an album with this name; other messages may come between its files.
    pub fn sends_of_album(&self, album: &str, upload: Upload) -> Said {
        self.upload(self.chat(), upload, Some(album.to_owned()))
    }

    /// Sends a location to the bot.
    pub fn shares_location(&self, latitude: f64, longitude: f64) -> Said {
        self.post(self.chat(), |_, message| {
            message.location = Some((latitude, longitude));
        })
    }

    /// Writes this many messages to the bot at once; returns their updates.
    pub fn floods(&self, count: usize) -> Range<i64> {
        let first = self.server.state().queue.next();
        for number in 1..=count {
            self.says(&format!("flood {number}"));
        }
        first..self.server.state().queue.next()
    }

    /// Edits a message; returns the update's number.
    pub fn edits(&self, said: &Said, text: &str) -> i64 {
        self.server.change(|state| {
            let message = state.store.message(said.place.chat, said.message);
            text.clone_into(&mut message.text);
            message.versions.push(Version::by_person(text));
            let message = message.clone();
            let json = state.store.json(&message);
            state.queue.push("edited_message", json)
        })
    }

    /// Presses a button in the private chat as soon as it is there; returns the update's number.
    pub fn presses(&self, label: &str) -> i64 {
        self.presses_in(self.chat(), label)
    }

    /// Presses the newest button of that name as soon as it is there.
    pub fn presses_in(&self, place: Place, label: &str) -> i64 {
        let (message, data) = self
            .server
            .wait_until(&format!("a button {label:?}"), |state| {
                let mut newest_first = state.store.messages(place).rev();
                newest_first
                    .find_map(|message| Some((message.clone(), message.button(label)?.to_owned())))
            });
        self.press(&message, data)
    }

    /// Presses a button of this message.
    pub fn presses_on(&self, message: &Message, label: &str) -> i64 {
        self.press(message, message.button(label).unwrap().to_owned())
    }

    /// Opens a topic of the private chat, with a name or without one: then the app shows one of its own.
    pub fn opens_topic(&self, name: Option<&str>) -> Place {
        self.server.change(|state| {
            let chat = state.store.chat(self.id);
            let thread = chat.next_id();
            let place = Place {
                chat: self.id,
                thread: Some(thread),
            };
            let mut opening = Message::new(thread, place, Some(self.id));
            opening.opened_topic = Some(name.unwrap_or("New chat").to_owned());
            chat.messages.insert(thread, opening.clone());
            chat.topics
                .insert(thread, name.unwrap_or("New chat").to_owned());
            let mut json = state.store.json(&opening);
            if name.is_none() {
                json["forum_topic_created"]["is_name_implicit"] = json!(true);
            }
            state.queue.push("message", json);
            place
        })
    }

    /// Presses the button of the draft that a chat shows.
    pub fn stops(&self, place: Place) -> i64 {
        self.server.change(|state| {
            let chat = state.store.chat(place.chat);
            let shown = chat.drafts.iter().rfind(|draft| draft.is_shown);
            let Some(draft) = shown.filter(|draft| draft.can_stop) else {
                panic!("no draft can be stopped: {:?}", chat.drafts);
            };
            let mut json = json!({"chat": chat.json, "draft_id": draft.id});
            if let Some(thread) = draft.place.thread {
                json["message_thread_id"] = json!(thread);
            }
            state.queue.push("stopped_message_generation", json)
        })
    }

    fn press(&self, message: &Message, data: String) -> i64 {
        self.server.change(|state| {
            let id = format!("query-{}", state.queries.len());
            state.queries.insert(id.clone(), false);
            let mut shown = state.store.json(message);
            let entities = match message.file {
                Some(_) => "caption_entities",
                None => "entities",
            };
            if !message.entities.is_empty() {
                shown[entities] = json!(message.entities);
            }
            let json = json!({
                "id": id, "from": state.store.people[&self.id], "data": data,
                "message": shown, "chat_instance": "1",
            });
            state.queue.push("callback_query", json)
        })
    }

    /// Deletes a message for everyone. The bot gets no update.
    pub fn deletes(&self, place: Place, message: i64) {
        self.server.change(|state| {
            state.store.message(place.chat, message).gone = Some(Gone::ByPerson);
        });
    }

    /// Blocks the bot.
    pub fn blocks(&self) {
        self.server
            .change(|state| state.store.chat(self.id).blocked = true);
    }

    /// Unblocks the bot.
    pub fn unblocks(&self) {
        self.server
            .change(|state| state.store.chat(self.id).blocked = false);
    }

    fn upload(&self, place: Place, upload: Upload, album: Option<String>) -> Said {
        self.post(place, |state, message| {
            let mime = upload.media.mime();
            let bytes = upload.bytes.into();
            message.file = Some(state.store.keep(upload.media, &upload.name, mime, bytes));
            message.text = upload.caption;
            message.album = album;
        })
    }

    /// Writes a message that `write` fills.
    fn post(&self, place: Place, write: impl FnOnce(&mut State, &mut Message)) -> Said {
        self.server.change(|state| {
            let id = state.store.chat(place.chat).next_id();
            let mut message = Message::new(id, place, Some(self.id));
            // In a topic, a message that is not a reply counts as a reply to the message that opened the topic.
            message.reply_to = place.thread;
            write(state, &mut message);
            message.versions.push(Version::by_person(&message.text));
            state
                .store
                .chat(place.chat)
                .messages
                .insert(id, message.clone());
            let json = state.store.json(&message);
            Said {
                update: state.queue.push("message", json),
                message: id,
                place,
            }
        })
    }
}

impl Version {
    fn by_person(text: &str) -> Self {
        Self {
            call: 0,
            text: text.to_owned(),
        }
    }
}
