//! What a message of MoChat means. Pure; the intake decides who has access.

use chrono::DateTime;
use serde_json::Value;

use super::NAME;
use crate::base::json;
use crate::base::language::Language;
use crate::base::message::{Address, Envelope, Sender};
use crate::channels::kit::names;
use crate::channels::kit::relayed;
use crate::channels::kit::sink::Incoming;
use crate::config::schema::GroupPolicy;
use crate::text::truncate_bytes;

/// Bytes of an id.
const ID_BYTES: usize = 128;
/// Bytes of a person's text.
const CONTENT_BYTES: usize = 256 * 1024;

/// How the ids of sessions begin; all others are panels.
const SESSION: &str = "session_";

/// Reads messages for the agent with this user id.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The agent.
    pub me: &'a str,
    /// Which messages in panels are for it.
    pub policy: GroupPolicy,
    /// Whether texts of a person, by their id, are awaited in a chat.
    pub awaits: &'a dyn Fn(&Address, &str) -> bool,
}

impl Reader<'_> {
    /// The message of a session or a panel for the intake; `None` when it is not for us. `group` is the group of
    /// the panel, where the message does not name it.
    pub fn read(&self, target: &str, message: &Value, group: &str) -> Option<Incoming> {
        let text_of = |name: &str| message[name].as_str().unwrap_or_default().trim();
        // Without its spaces it would be another one's.
        let author = message["author"].as_str().filter(|id| is_id(id))?;
        let id = Some(text_of("messageId")).filter(|id| is_id(id))?;
        if author == self.me {
            return None;
        }
        let has_group = match &message["groupId"] {
            Value::Null => false,
            Value::String(own) => !own.trim().is_empty(),
            // What is no id does not say that only one person reads it.
            _ => true,
        };
        let is_group = has_group || !group.is_empty() || !is_session(target);
        let address = Address::new(NAME, target);
        let content = match &message["content"] {
            Value::String(content) => content.trim().to_owned(),
            Value::Null => String::new(),
            // A picture, a card: the model sees what it is.
            other => other.to_string(),
        };
        let content = truncate_bytes(&content, CONTENT_BYTES);
        let is_relayed =
            relayed::has_mark(message) || !matches!(message["content"], Value::String(_));
        let is_for_us = match self.policy {
            GroupPolicy::Off => false,
            GroupPolicy::Open => true,
            GroupPolicy::Mention => {
                self.is_mentioned(message, content)
                    || !is_relayed && (self.awaits)(&address, author)
            }
        };
        if is_group && !is_for_us {
            return None;
        }
        let text = match self.without_us(content) {
            "" => content,
            text => text,
        };
        if text.is_empty() {
            return None;
        }
        let text = if is_relayed {
            relayed::describe(text)
        } else {
            text.to_owned()
        };
        let info = &message["authorInfo"];
        let name = [&info["nickname"], &info["email"]];
        let mut names = name.iter().filter_map(|name| name.as_str());
        let sender = Sender {
            id: author.to_owned(),
            name: names.next().map(names::clean_name).unwrap_or_default(),
            language: Language::of_text(content),
            thread_of: None,
        };
        Some(Incoming::Message {
            envelope: Envelope {
                id: format!("{NAME}:{target}/{id}"),
                is_group,
                is_relayed,
                reference: id.to_owned(),
                replies_to: relayed::answered(&[&message["replyTo"]], message),
                sent_at: time(&message["createdAt"]).map(|millis| millis.div_euclid(1000)),
                ..Envelope::written(&address, sender, &text)
            },
            username: String::new(),
        })
    }

    fn is_mentioned(&self, message: &Value, content: &str) -> bool {
        let meta = &message["meta"];
        let says = |name: &str| json::to_flag(&meta[name]) == Some(true);
        let lists = [
            "mentions",
            "mentionIds",
            "mentionedUserIds",
            "mentionedUsers",
        ];
        let names_us = |entry: &Value| {
            let ids = [entry, &entry["id"], &entry["userId"], &entry["_id"]];
            ids.iter().any(|id| id.as_str() == Some(self.me))
        };
        says("mentioned")
            || says("wasMentioned")
            || !self.me.is_empty()
                && (lists.iter().any(|list| {
                    meta[list]
                        .as_array()
                        .is_some_and(|list| list.iter().any(names_us))
                }) || self
                    .marks()
                    .iter()
                    .any(|mark| content.contains(mark.as_str())))
    }

    fn marks(&self) -> [String; 2] {
        [format!("<@{}>", self.me), format!("@{}", self.me)]
    }

    /// The text without a mention at its beginning, which only addresses us.
    fn without_us<'t>(&self, content: &'t str) -> &'t str {
        let rest = self.marks().iter().find_map(|mark| {
            let rest = content.strip_prefix(mark.as_str())?;
            Some(rest.trim_start_matches([',', ':', ' ']))
        });
        rest.filter(|_| !self.me.is_empty()).unwrap_or(content)
    }
}

/// Whether the id of a chat is a session's.
pub fn is_session(chat: &str) -> bool {
    chat.starts_with(SESSION)
}

/// Whether a text can be an id, and a chat in an address.
pub fn is_id(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    !text.is_empty() && text.len() <= ID_BYTES && text.bytes().all(is_plain)
}

/// Milliseconds since 1970 of a time as MoChat writes it: RFC 3339, or the number.
pub fn time(value: &Value) -> Option<i64> {
    let text = || {
        Some(
            DateTime::parse_from_rfc3339(value.as_str()?)
                .ok()?
                .timestamp_millis(),
        )
    };
    let number = json::to_number(value).and_then(|number| i64::try_from(number).ok());
    number.or_else(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::UNKNOWN_MESSAGE;
    use proptest::prelude::*;
    use serde_json::json;

    fn read(target: &str, message: &Value) -> Option<Envelope> {
        let reader = Reader {
            me: "agent9",
            policy: GroupPolicy::Mention,
            awaits: &|_, person| person == "typist",
        };
        match reader.read(target, message, "")? {
            Incoming::Message { envelope, .. } => Some(envelope),
            _ => None,
        }
    }

    #[test]
    fn a_session_is_private_and_a_panel_is_a_group() {
        let message = json!({"messageId": "m1", "author": "ana", "content": " hi ", "authorInfo": {"nickname": "Ana"},
            "createdAt": "2024-11-23T19:26:40.5Z"});
        let it = read("session_1", &message).unwrap();
        assert_eq!(it.sent_at, Some(1_732_390_000));
        assert_eq!(
            (it.id.as_str(), it.text.as_str(), it.is_group),
            ("mochat:session_1/m1", "hi", false)
        );
        assert_eq!(it.sender().unwrap().name, "Ana");
        assert_eq!(read("panel1", &message), None);
        for message in [
            json!({"messageId": "m", "author": "ana", "content": "<@agent9> /status", "groupId": "g"}),
            json!({"messageId": "m", "author": "ana", "content": "/status", "meta": {"mentioned": true}}),
            json!({"messageId": "m", "author": "ana", "content": "/status", "meta": {"mentions": [{"userId": "agent9"}]}}),
            json!({"messageId": "m", "author": "typist", "content": "/status"}),
        ] {
            let it = read("panel1", &message).unwrap();
            assert_eq!((it.text.as_str(), it.is_group), ("/status", true));
        }
    }

    #[test]
    fn a_group_that_is_not_clear_is_one() {
        for (group, is_group) in [
            (json!(null), false),
            (json!(" "), false),
            (json!("g"), true),
            (json!({"_id": "g"}), true),
            (json!(["g"]), true),
            (json!({}), true),
            (json!(false), true),
        ] {
            let message = json!({"messageId": "m", "author": "ana", "content": "@agent9 hi", "groupId": group});
            let it = read("session_1", &message).unwrap();
            assert_eq!(it.is_group, is_group, "{message}");
        }
    }

    #[test]
    fn a_reply_says_so_also_without_what_it_answers() {
        for (member, value, target) in [
            ("replyTo", json!("m1"), "m1"),
            ("replyTo", json!({"messageId": "m1"}), UNKNOWN_MESSAGE),
            (
                "meta",
                json!({"reply": {"messageId": "m1"}}),
                UNKNOWN_MESSAGE,
            ),
            ("meta", json!({"quote": "x"}), UNKNOWN_MESSAGE),
            ("meta", json!({"mentioned": true}), ""),
        ] {
            let mut message = json!({"messageId": "m", "author": "ana", "content": "yes"});
            message[member] = value;
            let it = read("session_1", &message).unwrap();
            assert_eq!(it.replies_to, target, "{message}");
        }
    }

    #[test]
    fn numbers_and_strings_stand_for_each_other() {
        let message =
            json!({"messageId": 7, "author": 8, "content": 42, "meta": {"mentioned": "true"}});
        let message = json::with_texts_from_str(&message.to_string(), 4).unwrap();
        let it = read("panel1", &message).unwrap();
        assert_eq!((&*it.id, &*it.text), ("mochat:panel1/7", "42"));
        assert_eq!(it.sender().unwrap().id, "8");
        for value in [json!(1_732_390_000_123_i64), json!("1732390000123")] {
            assert_eq!(time(&value), Some(1_732_390_000_123));
        }
    }

    #[test]
    fn own_messages_and_odd_ones_are_ignored() {
        for message in [
            json!({"messageId": "m", "author": "agent9", "content": "mine"}),
            json!({"messageId": "", "author": "ana", "content": "x"}),
            json!({"messageId": "m", "author": "a:b", "content": "x"}),
            json!({"messageId": "m", "author": "ana", "content": "  "}),
            json!({"messageId": "m", "author": "ana"}),
            json!("x"),
        ] {
            assert_eq!(read("session_1", &message), None, "{message}");
        }
        let card = json!({"messageId": "m", "author": "ana", "content": {"type": "card"}});
        let card = read("session_1", &card).unwrap();
        assert_eq!(card.text, "[forwarded]\n{\"type\":\"card\"}");
    }

    #[test]
    fn a_forged_message_makes_no_one_of_anyone() {
        for author in [
            json!(null),
            json!(""),
            json!("*"),
            json!(" ana"),
            json!("ana\n"),
            json!("ana\u{0}"),
            json!(["ana"]),
            json!({"id": "ana"}),
            json!("a/../b"),
            json!("\u{661}"),
            json!("a".repeat(900)),
            json!("agent9"),
        ] {
            let message = json!({"messageId": "m", "author": author, "content": "x"});
            assert_eq!(read("session_1", &message), None, "{message}");
        }
    }

    #[test]
    fn times_are_numbers_or_texts() {
        assert_eq!(
            time(&json!("2024-11-23T00:00:00.5Z")),
            Some(1_732_320_000_500)
        );
        assert_eq!(time(&json!(7)), Some(7));
        assert_eq!(time(&json!("yesterday")), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in ".{0,60}") {
            let message = json!({"messageId": "m", "author": "ana", "content": text, "meta": {"mentions": [text]}});
            for target in ["session_1", "panel"] {
                read(target, &message);
            }
        }
    }
}
