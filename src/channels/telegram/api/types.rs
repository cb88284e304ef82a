//! The parts of the Bot API's objects that are used. Unknown members are ignored and missing ones are
//! empty: versions and local servers differ.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::base::json::{self, Members};
use crate::base::limits::channels::{JSON_LEVELS_MAX, NAME_CHARS};
use crate::text::truncate_chars;

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
    /// The button of a draft was pressed.
    pub stopped_message_generation: Option<Stopped>,
}

/// A message, of any kind.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Message {
    /// Its number within the chat.
    pub message_id: i64,
    /// Its number when only one person sees it: then the other one is 0.
    pub ephemeral_message_id: Option<i64>,
    /// The topic or thread that it belongs to.
    pub message_thread_id: Option<i64>,
    /// Whether the thread is a forum's topic.
    pub is_topic_message: bool,
    /// Who wrote it.
    pub from: Option<Peer>,
    /// Set when it was written in the name of a chat, which hides the person.
    pub sender_chat: Option<IgnoredAny>,
    /// When it was written, in seconds since 1970.
    pub date: Option<i64>,
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
    /// The message of another chat that it replies to.
    pub external_reply: Option<Box<RawValue>>,
    /// The story that it replies to.
    pub reply_to_story: Option<Box<Part>>,
    /// Within an `external_reply`: where that message comes from.
    pub origin: Option<Origin>,
    /// The part of it that the person selected.
    pub quote: Option<Box<Part>>,
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
    /// The buttons below it.
    pub reply_markup: Keyboard,
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
    pub sticker: Option<Box<Part>>,
    /// Somebody's telephone number.
    pub contact: Option<Box<Part>>,
    /// A point on the map.
    pub location: Option<Box<Part>>,
    /// A place with a name. It is there as a location, too.
    pub venue: Option<Box<Part>>,
    /// A poll.
    pub poll: Option<Box<Part>>,
    /// A list of tasks.
    pub checklist: Option<Box<Part>>,
    /// A throw of a dice, or another game of chance.
    pub dice: Option<Box<Part>>,
    /// A game.
    pub game: Option<Box<Part>>,
    /// Set when it opens a topic.
    pub forum_topic_created: Option<TopicCreated>,
    /// A story that was forwarded.
    pub story: Option<Box<Part>>,
    /// A giveaway, and one that is over.
    pub giveaway: Option<Box<Part>>,
    /// A giveaway that is over.
    pub giveaway_winners: Option<Box<Part>>,
    /// An invoice.
    pub invoice: Option<Box<Part>>,
    /// Pictures and videos that have to be paid for.
    pub paid_media: Option<Box<Part>>,
    /// The member with its content, when no other one has any and its kind is not known.
    #[serde(skip)]
    pub unknown: String,
    /// Whether it has more than could be read.
    #[serde(skip)]
    pub is_partial: bool,
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
    /// Where a `text_link` leads.
    pub url: String,
    /// The language of a `pre`.
    pub language: String,
}

/// The buttons below a message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Keyboard {
    /// Rows of buttons.
    pub inline_keyboard: Vec<Vec<ShownButton>>,
}

/// A button as it is shown.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ShownButton {
    /// Its label.
    pub text: String,
    /// Its data; empty for a link.
    pub callback_data: String,
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
    /// Of a quote, an option of a poll, or a task.
    pub text: String,
    /// What is special within it.
    pub entities: Vec<Entity>,
    /// Of a sticker: what it shows. Of a dice: which it is.
    pub emoji: String,
    /// Of a sticker: the set that it is from.
    pub set_name: String,
    /// Of a dice.
    pub value: i64,
    /// Of a contact.
    pub first_name: String,
    /// Of a contact.
    pub last_name: String,
    /// Of a contact.
    pub phone_number: String,
    /// Of a poll.
    pub question: String,
    /// Of a poll.
    pub options: Vec<Part>,
    /// Of a poll: how many have voted.
    pub total_voter_count: i64,
    /// Of a poll: whether no one can vote any more.
    pub is_closed: bool,
    /// Of an option of a poll.
    pub voter_count: i64,
    /// Of a checklist.
    pub tasks: Vec<Part>,
    /// Of a task: when it was done; 0 when it was not.
    pub completion_date: i64,
    /// Of a story: whose it is.
    pub chat: Option<Peer>,
    /// Of a giveaway.
    pub winner_count: i64,
    /// Of a giveaway.
    pub prize_description: String,
    /// Of a game or an invoice.
    pub description: String,
    /// Of paid media: the price.
    pub star_count: i64,
    /// Of a venue, a checklist, a game or an invoice.
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

/// A topic was opened.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct TopicCreated {
    /// Whether nobody has given it a name: it is for the bot to do.
    pub is_name_implicit: bool,
}

/// Somebody wants no more of a draft.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Stopped {
    /// The private chat.
    pub chat: Peer,
    /// The topic.
    pub message_thread_id: Option<i64>,
}

/// Decides whether an update, by its number and its JSON, is read.
pub type Admission<'a> = &'a mut dyn FnMut(i64, &str) -> bool;

impl Message {
    /// What it answers, if that can be understood.
    pub fn answered(&self) -> Option<Self> {
        let json = self.reply_to_message.as_ref()?.get();
        json::lenient_from_str_within(json, JSON_LEVELS_MAX).ok()
    }

    /// The same for a message of another chat, of which there is no text.
    pub fn answered_elsewhere(&self) -> Option<Self> {
        let json = self.external_reply.as_ref()?.get();
        json::lenient_from_str_within(json, JSON_LEVELS_MAX).ok()
    }

    /// Whether it has anything that is understood, apart from the words below something else.
    fn has_content(&self) -> bool {
        let parts = [
            &self.sticker,
            &self.contact,
            &self.location,
            &self.poll,
            &self.checklist,
            &self.dice,
            &self.game,
            &self.story,
            &self.giveaway,
            &self.giveaway_winners,
            &self.invoice,
            &self.paid_media,
        ];
        let files = [
            &self.voice,
            &self.audio,
            &self.video,
            &self.video_note,
            &self.animation,
            &self.document,
        ];
        !self.text.is_empty()
            || !self.photo.is_empty()
            || parts.into_iter().any(Option::is_some)
            || files.into_iter().any(Option::is_some)
    }
}

impl Update {
    /// Whether its message has a number, without which it cannot be answered.
    fn is_numbered(&self) -> bool {
        let mut messages = self.message.iter().chain(&self.edited_message);
        messages.all(|message| message.message_id != 0)
    }
}

/// The member of a new message that has its content, of a kind that is not known here; empty for none.
fn unknown_content(json: &str) -> String {
    #[derive(Deserialize)]
    struct Names {
        message: Option<BTreeMap<String, IgnoredAny>>,
    }
    let names = json::envelope_from_str::<Names>(json).ok();
    let names = names.and_then(|names| names.message).unwrap_or_default();
    // The others are about the message, or say what happened in the chat.
    let is_content = |name: &String| {
        !NO_CONTENT.split_whitespace().any(|known| known == name)
            && !NO_CONTENT_BEGINS
                .iter()
                .any(|begin| name.starts_with(begin))
    };
    let mut found = names.into_keys().filter(is_content);
    let name = found.next().unwrap_or_default();
    truncate_chars(&name, NAME_CHARS).to_owned()
}

/// Members of a message that have no content (<https://core.telegram.org/bots/api#message>).
const NO_CONTENT: &str = "message_id message_thread_id from date chat origin quote via_bot edit_date \
    business_connection_id media_group_id author_signature paid_star_count text entities caption \
    caption_entities link_preview_options effect_id show_caption_above_media direct_messages_topic \
    external_reply left_chat_member delete_chat_photo group_chat_created supergroup_chat_created \
    channel_chat_created message_auto_delete_timer_changed pinned_message connected_website \
    write_access_allowed proximity_alert_triggered boost_added chat_background_set \
    direct_message_price_changed giveaway_created giveaway_completed paid_message_price_changed photo";
/// How the names of others begin.
const NO_CONTENT_BEGINS: [&str; 15] = [
    "chat_owner_",
    "checklist_tasks_",
    "forum_topic_",
    "forward_",
    "general_forum_topic_",
    "has_",
    "is_",
    "migrate_",
    "new_chat_",
    "poll_option_",
    "reply_",
    "sender_",
    "suggested_post_",
    "video_chat_",
    "voice_chat_",
];

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
    let read = json::lenient_from_str_within::<Update>(json, JSON_LEVELS_MAX);
    // The error's words may hold those of a person.
    let byte = read.as_ref().err().map(serde_json::Error::column);
    let read = read.ok().or_else(|| partial(json, update_id));
    let Some(mut update) = read.filter(Update::is_numbered) else {
        tracing::warn!(
            update_id,
            byte,
            "an update of Telegram's is not understood and passed over"
        );
        return Ok(passed_over);
    };
    if let Some(message) = &mut update.message
        && (message.chat.kind == "private" || message.reply_to_message.is_some())
        && !message.has_content()
    {
        message.unknown = unknown_content(json);
    }
    Ok(update)
}

/// What can be read of an update with a message of which something cannot: first all but what is about its words and
/// others, then only the words and who says them.
fn partial(json: &str, update_id: i64) -> Option<Update> {
    const PLACE: &str =
        "message_id message_thread_id is_topic_message from chat media_group_id text caption ";
    const FILES: &str = "photo voice audio video video_note animation document";
    let update = Members::read(json)?;
    let name = ["message", "edited_message"]
        .into_iter()
        .find(|name| update.raw(name).is_some())?;
    let message = update.members(name);
    [[PLACE, FILES].concat(), PLACE.to_owned()]
        .iter()
        .find_map(|kept| {
            let members = kept
                .split_whitespace()
                .filter_map(|name| Some((name, message.raw(name)?)));
            let members: Vec<String> = members
                .map(|(name, raw)| format!("\"{name}\":{}", raw.get()))
                .collect();
            let json = format!(
                "{{\"update_id\":{update_id},\"{name}\":{{{}}}}}",
                members.join(",")
            );
            let mut read: Update = json::lenient_from_str_within(&json, JSON_LEVELS_MAX).ok()?;
            let messages = [&mut read.message, &mut read.edited_message];
            messages
                .into_iter()
                .flatten()
                .for_each(|message| message.is_partial = true);
            Some(read)
        })
}

/// A text that ends the program when it comes in an update, as a fault of ours would.
#[cfg(feature = "test-hooks")]
const ABORTING: &str = "test-hooks: abort";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_of_an_unknown_kind_is_noticed_and_what_happens_in_a_chat_is_none() {
        let unknown = |members: &str| {
            let json = format!(
                r#"[{{"update_id": 7, "message": {{"message_id": 1, "date": 1, "chat": {{"id": 1, "type": "private"}},
                    "reply_to_message": {{"message_id": 1}}, "has_protected_content": true, {members}}}}}]"#
            );
            let read = updates(serde_json::from_str(&json).unwrap(), &mut |_, _| true).unwrap();
            read.into_iter().next().unwrap().message.unwrap().unknown
        };
        for (members, expected) in [
            (r#""hologram": {"file_id": "h"}"#, "hologram"),
            (
                r#""live_photo": {"file_id": "h"}, "forward_date": 1"#,
                "live_photo",
            ),
            (r#""text": "hi", "hologram": {}"#, ""),
            (r#""dice": {"emoji": "🎲", "value": 3}"#, ""),
            (
                r#""caption": "look", "hologram": {"file_id": "h"}"#,
                "hologram",
            ),
            (r#""caption": "look", "photo": [{"file_id": "h"}]"#, ""),
            (r#""pinned_message": {"message_id": 3}"#, ""),
            (r#""new_chat_title": "x""#, ""),
            (r#""video_chat_started": {}"#, ""),
        ] {
            assert_eq!(unknown(members), expected, "{members}");
        }
    }

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
        let other_shapes = r#"[{"update_id": 7, "message": {"message_id": "8", "chat": {"id": "1"}, "text": 5,
            "from": {"id": 2.0, "first_name": {}, "language_code": 7}, "entities": {}, "location": "here"}}]"#;
        let read = updates(serde_json::from_str(other_shapes).unwrap(), &mut |_, _| {
            true
        })
        .unwrap();
        let message = read[0].message.as_ref().unwrap();
        let from = message.from.as_ref().unwrap();
        assert_eq!((message.message_id, message.chat.id, from.id), (8, 1, 2));
        assert_eq!(
            (message.text.as_str(), from.language_code.as_str()),
            ("5", "7")
        );
        let numberless = serde_json::from_str(r#"[{"message": {}}, 3]"#).unwrap();
        assert!(updates(numberless, &mut |_, _| true).is_err());
    }

    /// The loop needs some of it too.
    const STACK: usize = crate::base::limits::channels::STACK_BYTES * 3 / 4;

    #[test]
    fn an_update_that_is_nested_deeply_is_passed_over_and_the_others_are_read() {
        let nested = |levels: usize| {
            format!(
                r#"{{"update_id": 7, "message": {}{{"message_id": 1}}{}}}"#,
                r#"{"message_id": 1, "reply_to_message":"#.repeat(levels),
                "}".repeat(levels)
            )
        };
        // What is beyond the bound is left out.
        for (levels, is_read) in [(14, true), (15, true), (126, true), (100_000, true)] {
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
