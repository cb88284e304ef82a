//! The parts of the Bot API's objects that are used. Unknown members are ignored and missing ones are
//! empty: versions and local servers differ.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::json;
use crate::limits::channels::JSON_LEVELS_MAX;

/// An update. One of the members is set.
#[derive(Debug, Default, Deserialize)]
pub struct Update {
    /// The update's number; later ones have higher numbers.
    pub update_id: i64,
    /// A new message.
    pub message: Option<Box<Message>>,
    /// The new version of a message.
    pub edited_message: Option<Box<Message>>,
    /// A button was pressed.
    pub callback_query: Option<Callback>,
}

/// A message, of any kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message {
    /// Its number within the chat.
    pub message_id: i64,
    /// The topic or thread that it belongs to.
    pub message_thread_id: Option<i64>,
    /// Whether the thread is a forum's topic.
    pub is_topic_message: bool,
    /// Who wrote it.
    pub from: Option<Peer>,
    /// Set when it was written in the name of a chat, which hides the person.
    pub sender_chat: Option<IgnoredAny>,
    /// Where it was written.
    pub chat: Peer,
    /// Where it comes from, when it was forwarded.
    pub forward_origin: Option<Origin>,
    /// Set when it was forwarded, by servers of versions before 7.0, which have no `forward_origin`.
    pub forward_date: Option<IgnoredAny>,
    /// The inline bot whose text it has: the person chose it from a list.
    pub via_bot: Option<Peer>,
    /// The bot that writes in the person's name, if they allow one.
    pub sender_business_bot: Option<Peer>,
    /// The message that it replies to: not parsed yet, because a message within a message needs much stack.
    pub reply_to_message: Option<Box<RawValue>>,
    /// The part of it that the person selected.
    pub quote: Option<Part>,
    /// The same for all messages of an album.
    pub media_group_id: Option<String>,
    /// The words.
    pub text: String,
    /// What is special within the words.
    pub entities: Vec<Entity>,
    /// The words below a file.
    pub caption: String,
    /// What is special within those.
    pub caption_entities: Vec<Entity>,
    /// A picture, the smallest size first.
    pub photo: Vec<File>,
    /// Something spoken.
    pub voice: Option<File>,
    /// Music.
    pub audio: Option<File>,
    /// A film.
    pub video: Option<File>,
    /// A round film.
    pub video_note: Option<File>,
    /// A film without sound. It is there as a document, too.
    pub animation: Option<File>,
    /// Any other file.
    pub document: Option<File>,
    /// A sticker.
    pub sticker: Option<Part>,
    /// Somebody's telephone number.
    pub contact: Option<Part>,
    /// A point on the map.
    pub location: Option<Part>,
    /// A place with a name. It is there as a location, too.
    pub venue: Option<Part>,
    /// A poll.
    pub poll: Option<Part>,
}

/// A person, a bot or a chat.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Peer {
    /// It never changes, except when a group becomes a supergroup.
    pub id: i64,
    /// For a chat: `private`, `group`, `supergroup` or `channel`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For a user: whether it is a bot.
    pub is_bot: bool,
    /// A person's or bot's name.
    pub first_name: String,
    /// A person's second name.
    pub last_name: String,
    /// The name without the `@`.
    pub username: String,
    /// The IETF tag of the language of a user's app, such as `zh-hans`; empty where it is not known.
    pub language_code: String,
    /// A chat's name.
    pub title: String,
}

/// Where a forwarded message comes from. One of the members is there.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// A person.
    pub sender_user: Option<Peer>,
    /// The name of a person who does not want to be linked to.
    pub sender_user_name: String,
    /// A group, which wrote by itself.
    pub sender_chat: Option<Peer>,
    /// A channel.
    pub chat: Option<Peer>,
}

/// A part of a text that is more than text.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Entity {
    /// Such as `mention`, `text_mention` or `bot_command`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it begins, in UTF-16 units.
    pub offset: usize,
    /// How long it is, in UTF-16 units.
    pub length: usize,
    /// Whom a `text_mention` means.
    pub user: Option<Peer>,
}

/// A file of any kind, or one size of a picture.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct File {
    /// What it is asked for by.
    pub file_id: String,
    /// Bytes.
    pub file_size: Option<u64>,
    /// What the sender calls it.
    pub file_name: String,
    /// In the answer of `getFile`: where it can be had, for an hour at least.
    pub file_path: String,
}

/// A small thing in a message. Each kind has its own few members.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Part {
    /// Of a quote.
    pub text: String,
    /// Of a sticker: what it shows.
    pub emoji: String,
    /// Of a contact.
    pub first_name: String,
    /// Of a contact.
    pub last_name: String,
    /// Of a contact.
    pub phone_number: String,
    /// Of a poll.
    pub question: String,
    /// Of a venue.
    pub title: String,
    /// Of a venue.
    pub address: String,
    /// Of a location, in degrees.
    pub latitude: f64,
    /// Of a location, in degrees.
    pub longitude: f64,
}

/// A button was pressed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Callback {
    /// What the answer has to name.
    pub id: String,
    /// Who pressed it.
    pub from: Peer,
    /// The message with the button; only its chat and number when it is old.
    pub message: Option<Box<Message>>,
    /// What the button stands for.
    pub data: String,
}

/// Decides whether an update, by its number and its JSON, is read.
pub type Admission<'a> = &'a mut dyn FnMut(i64, &str) -> bool;

impl Message {
    /// What it answers, if that can be understood.
    pub fn answered(&self) -> Option<Self> {
        let json = self.reply_to_message.as_ref()?.get();
        json::from_str_within(json, JSON_LEVELS_MAX).ok()
    }
}

/// Reads the updates of an answer. One that is not admitted, is nested too deeply or cannot be
/// understood is reduced to its number, so that it is passed over and does not come again and again.
pub fn updates(result: &RawValue, admits: Admission<'_>) -> serde_json::Result<Vec<Update>> {
    let updates: Vec<&RawValue> = json::envelope_from_str(result.get())?;
    let read = |json: &RawValue| update(json.get(), admits);
    updates.into_iter().map(read).collect()
}

fn update(json: &str, admits: Admission<'_>) -> serde_json::Result<Update> {
    #[derive(Deserialize)]
    struct Number {
        update_id: i64,
    }
    let Number { update_id } = json::envelope_from_str(json)?;
    let passed_over = Update {
        update_id,
        ..Update::default()
    };
    if !admits(update_id, json) {
        return Ok(passed_over);
    }
    #[cfg(feature = "test-hooks")]
    if json.contains(ABORTING) {
        std::process::abort();
    }
    Ok(
        json::from_str_within(json, JSON_LEVELS_MAX).unwrap_or_else(|error| {
            // The error's words may hold those of a person.
            let byte = error.column();
            tracing::warn!(
                update_id,
                byte,
                "an update of Telegram's is not understood and passed over"
            );
            passed_over
        }),
    )
}

/// A text that ends the program when it comes in an update, as a fault of ours would.
#[cfg(feature = "test-hooks")]
const ABORTING: &str = "test-hooks: abort";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_that_nobody_understands_does_not_stop_the_others() {
        let json = r#"[
            {"update_id": 7, "message": {"message_id": "seven", "chat": {"id": 1}}},
            {"update_id": 8, "message": {"message_id": 8, "chat": {"id": 1}, "new_thing": [{}]}},
            {"update_id": 9, "something_new": 1}
        ]"#;
        let read = updates(serde_json::from_str(json).unwrap(), &mut |_, _| true).unwrap();
        let numbers: Vec<i64> = read.iter().map(|update| update.update_id).collect();
        assert_eq!(numbers, [7, 8, 9]);
        assert!(read[0].message.is_none() && read[1].message.is_some());
        let numberless = serde_json::from_str(r#"[{"message": {}}, 3]"#).unwrap();
        assert!(updates(numberless, &mut |_, _| true).is_err());
    }

    /// The loop needs some of it too.
    const STACK: usize = crate::limits::channels::STACK_BYTES * 3 / 4;

    #[test]
    fn an_update_that_is_nested_deeply_is_passed_over_and_the_others_are_read() {
        let nested = |levels: usize| {
            format!(
                r#"{{"update_id": 7, "message": {}{{"message_id": 1}}{}}}"#,
                r#"{"message_id": 1, "reply_to_message":"#.repeat(levels),
                "}".repeat(levels)
            )
        };
        for (levels, is_read) in [(14, true), (15, false), (126, false), (100_000, false)] {
            let json = format!(r#"[{}, {{"update_id": 8}}]"#, nested(levels));
            let thread = std::thread::Builder::new().stack_size(STACK);
            let read = thread.spawn(move || {
                let result = serde_json::from_str(&json).unwrap();
                let read = updates(result, &mut |_, _| true).unwrap();
                (read[0].message.is_some(), read[1].update_id)
            });
            assert_eq!(read.unwrap().join().unwrap(), (is_read, 8), "{levels}");
        }
    }
}
