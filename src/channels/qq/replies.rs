//! Which message of a person a message of the bot replies to. Pure.
//!
//! QQ lets a bot write only in reply, five times to each message and for some time. So the last messages of each chat
//! are remembered, on the disk too. What finds none is tried without a reply, which QQ allows some bots. If it does
//! not, the message stays in the outbox until the person writes again.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::place::Place;

/// Replies to one message of a person: QQ takes five.
const REPLIES: u32 = 5;
/// Messages of a chat that are remembered to reply to. Four take 20 replies.
const CHAT_MESSAGES: usize = 4;
/// Chats whose messages are remembered to reply to; the one that was silent the longest is forgotten.
const CHATS: usize = 64;
/// Sent pieces of which it is remembered what they replied to, so that a repetition is recognised by QQ.
const KEYS: usize = 32;
/// Sent messages whose indices are remembered, by which QQ names what a person answers.
const INDICES: usize = 64;
/// Bytes of an index.
const INDEX_BYTES: usize = 256;
/// How long no message is tried that replies to nothing, once QQ has refused one in a chat.
const NO_ACTIVE_MS: i64 = 60 * 60 * 1000;

/// A message of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Message {
    id: String,
    /// When it came, in milliseconds since 1970.
    at: i64,
    /// How often it was replied to.
    #[serde(default)]
    used: u32,
}

/// A chat, and what can be replied to there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chat {
    chat: String,
    messages: VecDeque<Message>,
    /// Until when only replies are tried, in milliseconds since 1970.
    #[serde(skip)]
    only_replies_until: i64,
    /// Whether something waits for the next message.
    #[serde(skip)]
    is_awaited: bool,
}

/// What a message of the bot is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A reply to the message with this id.
    Reply(String),
    /// A message of its own.
    Active,
    /// Nothing yet. `is_new` for the first message that waits.
    Wait {
        /// Whether nothing has waited in the chat before.
        is_new: bool,
    },
}

/// The chats, the one that was active last at the end.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    chats: VecDeque<Chat>,
    /// The pieces that were sent last, by their keys, and what they replied to.
    keys: VecDeque<(u64, String)>,
    /// The messages that were sent last: their indices and their ids.
    indices: VecDeque<(String, String)>,
}

impl Replies {
    /// What the disk remembers.
    pub fn new(mut chats: VecDeque<Chat>) -> Self {
        let over = chats.len().saturating_sub(CHATS);
        chats.drain(..over);
        Self {
            chats,
            keys: VecDeque::new(),
            indices: VecDeque::new(),
        }
    }

    /// What the disk is to remember.
    pub fn chats(&self) -> &VecDeque<Chat> {
        &self.chats
    }

    /// A person has written. Returns whether something waits for it.
    pub fn heard(&mut self, place: Place<'_>, id: &str, now: i64) -> bool {
        let name = place.chat();
        let known = self.chats.iter().position(|chat| chat.chat == name);
        let mut chat = known
            .and_then(|at| self.chats.remove(at))
            .unwrap_or_default();
        chat.chat = name;
        chat.messages.retain(|message| {
            (0..place.reply_ms()).contains(&now.saturating_sub(message.at)) && message.id != id
        });
        if chat.messages.len() >= CHAT_MESSAGES {
            chat.messages.pop_front();
        }
        chat.messages.push_back(Message {
            id: id.to_owned(),
            at: now,
            used: 0,
        });
        let was_awaited = std::mem::take(&mut chat.is_awaited);
        if self.chats.len() >= CHATS {
            self.chats.pop_front();
        }
        self.chats.push_back(chat);
        was_awaited
    }

    /// What a piece with this key is to be. A repetition replies to the same message as before, so that QQ recognises
    /// it.
    pub fn choose(&mut self, place: Place<'_>, key: Option<u64>, now: i64) -> Choice {
        let before = key.and_then(|key| {
            let mut keys = self.keys.iter();
            keys.find_map(|(known, id)| (*known == key).then(|| id.clone()))
        });
        let Some(chat) = self.chat(place) else {
            return Choice::Active;
        };
        let is_open = |message: &&mut Message| {
            (0..place.reply_ms()).contains(&now.saturating_sub(message.at))
        };
        let mut open = chat.messages.iter_mut().rev().filter(is_open);
        let again = |message: &Message| Some(&message.id) == before.as_ref();
        let found = match before {
            // Its reply was counted.
            Some(_) => open.find(|message| again(message) && message.used <= REPLIES),
            None => None,
        };
        if let Some(message) = found {
            return Choice::Reply(message.id.clone());
        }
        let mut open = chat.messages.iter_mut().rev().filter(is_open);
        if let Some(message) = open.find(|message| message.used < REPLIES) {
            message.used += 1;
            let id = message.id.clone();
            if let Some(key) = key {
                if self.keys.len() >= KEYS {
                    self.keys.pop_front();
                }
                self.keys.push_back((key, id.clone()));
            }
            return Choice::Reply(id);
        }
        if now < chat.only_replies_until {
            let is_new = !std::mem::replace(&mut chat.is_awaited, true);
            return Choice::Wait { is_new };
        }
        Choice::Active
    }

    /// A message was sent, with this index.
    pub fn sent(&mut self, index: String, id: &str) {
        if index.is_empty() || id.is_empty() || index.len() > INDEX_BYTES {
            return;
        }
        if self.indices.len() >= INDICES {
            self.indices.pop_front();
        }
        self.indices.push_back((index, id.to_owned()));
    }

    /// The message with this index, if it was one of the last.
    pub fn sent_as(&self, index: &str) -> Option<String> {
        let mut indices = self.indices.iter();
        indices.find_map(|(known, id)| (known == index).then(|| id.clone()))
    }

    /// QQ takes no more replies to a message.
    pub fn exhausted(&mut self, place: Place<'_>, id: &str) {
        self.keys.retain(|(_, known)| known != id);
        if let Some(chat) = self.chat(place) {
            chat.messages.retain(|message| message.id != id);
        }
    }

    /// QQ takes only replies in a chat.
    pub fn only_replies(&mut self, place: Place<'_>, now: i64) {
        if self.chat(place).is_none() {
            if self.chats.len() >= CHATS {
                self.chats.pop_front();
            }
            self.chats.push_back(Chat {
                chat: place.chat(),
                ..Chat::default()
            });
        }
        if let Some(chat) = self.chat(place) {
            chat.only_replies_until = now.saturating_add(NO_ACTIVE_MS);
        }
    }

    fn chat(&mut self, place: Place<'_>) -> Option<&mut Chat> {
        let name = place.chat();
        self.chats.iter_mut().find(|chat| chat.chat == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channels::qq::{GROUP_REPLY_MS, PRIVATE_REPLY_MS};
    use proptest::prelude::*;

    const ANA: Place<'_> = Place::Person("ANA");
    const NOW: i64 = 1_732_390_000_000;

    fn reply(id: &str) -> Choice {
        Choice::Reply(id.to_owned())
    }

    #[test]
    fn the_last_messages_are_known_by_their_indices() {
        let mut replies = Replies::default();
        replies.sent(String::new(), "a");
        replies.sent("i".repeat(INDEX_BYTES + 1), "a");
        assert_eq!(replies.sent_as(""), None);
        for number in 0..=INDICES {
            replies.sent(format!("REFIDX_{number}"), &number.to_string());
        }
        assert_eq!(replies.sent_as("REFIDX_0"), None, "it was long ago");
        assert_eq!(replies.sent_as("REFIDX_7").as_deref(), Some("7"));
        assert_eq!(replies.indices.len(), INDICES);
    }

    #[test]
    fn a_message_takes_five_replies_and_then_the_one_before_it() {
        let mut replies = Replies::default();
        replies.heard(ANA, "a", NOW);
        replies.heard(ANA, "b", NOW + 1);
        for id in ["b", "b", "b", "b", "b", "a", "a", "a", "a", "a"] {
            assert_eq!(replies.choose(ANA, None, NOW + 2), reply(id));
        }
        assert_eq!(replies.choose(ANA, None, NOW + 2), Choice::Active);
        replies.only_replies(ANA, NOW + 2);
        assert_eq!(
            replies.choose(ANA, None, NOW + 3),
            Choice::Wait { is_new: true }
        );
        assert_eq!(
            replies.choose(ANA, None, NOW + 3),
            Choice::Wait { is_new: false }
        );
        assert!(replies.heard(ANA, "c", NOW + 4), "something waits for it");
        assert_eq!(replies.choose(ANA, None, NOW + 5), reply("c"));
        assert!(!replies.heard(ANA, "d", NOW + 6));
    }

    #[test]
    fn a_repeated_piece_replies_to_the_same_message_and_is_counted_once() {
        let mut replies = Replies::default();
        replies.heard(ANA, "a", NOW);
        assert_eq!(replies.choose(ANA, Some(7), NOW), reply("a"));
        replies.heard(ANA, "b", NOW + 1);
        for _ in 0..9 {
            assert_eq!(replies.choose(ANA, Some(7), NOW + 2), reply("a"));
        }
        assert_eq!(replies.choose(ANA, Some(8), NOW + 2), reply("b"));
        // A reply that QQ does not take any more goes to another one.
        replies.exhausted(ANA, "a");
        assert_eq!(replies.choose(ANA, Some(7), NOW + 3), reply("b"));
    }

    #[test]
    fn time_closes_a_message() {
        let mut replies = Replies::default();
        let group = Place::Group("G");
        replies.heard(group, "a", NOW);
        replies.heard(ANA, "b", NOW);
        assert_eq!(
            replies.choose(group, None, NOW + GROUP_REPLY_MS),
            Choice::Active
        );
        assert_eq!(replies.choose(ANA, None, NOW + GROUP_REPLY_MS), reply("b"));
        assert_eq!(
            replies.choose(ANA, None, NOW + PRIVATE_REPLY_MS),
            Choice::Active
        );
        // A clock that was set back makes nothing open that may be closed.
        assert_eq!(replies.choose(ANA, None, NOW - 1), Choice::Active);
    }

    #[test]
    fn a_chat_that_never_wrote_is_tried_once_an_hour() {
        let mut replies = Replies::default();
        assert_eq!(replies.choose(ANA, None, NOW), Choice::Active);
        replies.only_replies(ANA, NOW);
        assert_eq!(
            replies.choose(ANA, None, NOW),
            Choice::Wait { is_new: true }
        );
        assert_eq!(
            replies.choose(ANA, None, NOW + NO_ACTIVE_MS),
            Choice::Active
        );
    }

    #[test]
    fn the_disk_remembers_what_can_be_replied_to() {
        let mut replies = Replies::default();
        replies.heard(ANA, "a", NOW);
        let json = serde_json::to_string(replies.chats()).unwrap();
        let mut again = Replies::new(serde_json::from_str(&json).unwrap());
        assert_eq!(again.choose(ANA, None, NOW + 1), reply("a"));
    }

    proptest! {
        #[test]
        fn what_is_remembered_is_bounded(chats in proptest::collection::vec(0..200_u32, 0..600)) {
            let mut replies = Replies::default();
            for (number, chat) in chats.iter().enumerate() {
                let name = format!("P{chat}");
                replies.heard(Place::Person(&name), &number.to_string(), NOW + number as i64);
                replies.choose(Place::Person(&name), Some(number as u64), NOW + number as i64);
                replies.only_replies(Place::Person(&format!("Q{chat}")), NOW);
            }
            prop_assert!(replies.chats.len() <= CHATS && replies.keys.len() <= KEYS);
            prop_assert!(replies.chats.iter().all(|chat| chat.messages.len() <= CHAT_MESSAGES));
        }
    }
}
