//! What an event of QQ's gateway means. Pure; the intake decides who has access.
//!
//! A person has one id in private chats and another one in each group.

use serde_json::Value;

use super::ID_BYTES;
use super::NAME;
use super::place::{Place, is_id};
use crate::base::clock::seconds_of;
use crate::base::json;
use crate::base::language::Language;
use crate::base::limits::channels::{JSON_LEVELS_MAX, MESSAGE_FILES};
use crate::base::message::{
    Address, Envelope, Media, PressedMessage, RemoteFile, Sender, UNKNOWN_MESSAGE,
};
use crate::channels::kit::names;
use crate::channels::kit::relayed;
use crate::channels::kit::sink::Incoming;
use crate::config::schema::GroupPolicy;

/// The type of a message that answers the one in it.
const ANSWER: u64 = 103;

/// The meaning of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A message, and the chat and the id that can be replied to.
    Message {
        /// For the intake.
        incoming: Incoming,
        /// The chat.
        chat: String,
        /// The message.
        id: String,
        /// The index of the message that it answers; empty for none.
        index: String,
    },
    /// A press of a button, which has to be acknowledged within three seconds.
    Pressed {
        /// For the intake; `None` for a kind that we do not make.
        incoming: Option<Incoming>,
        /// The id to acknowledge.
        id: String,
    },
    /// Nothing for us.
    Nothing,
}

/// Reads an event of a kind for the bot with this id.
pub fn read(kind: &str, data: &str, me: &str, policy: GroupPolicy) -> Meaning {
    let is_known = matches!(
        kind,
        "C2C_MESSAGE_CREATE"
            | "GROUP_AT_MESSAGE_CREATE"
            | "AT_MESSAGE_CREATE"
            | "DIRECT_MESSAGE_CREATE"
            | "INTERACTION_CREATE"
    );
    if !is_known {
        return Meaning::Nothing;
    }
    let Ok(data) = json::with_texts_from_str(data, JSON_LEVELS_MAX) else {
        tracing::warn!(kind, "ignored an unexpected event of QQ");
        return Meaning::Nothing;
    };
    let meaning = match kind {
        "INTERACTION_CREATE" => pressed(&data),
        kind => message(kind, &data, me, policy),
    };
    meaning.unwrap_or(Meaning::Nothing)
}

/// An id in an event; `None` if it is none.
fn id(value: &Value) -> Option<&str> {
    value.as_str().filter(|id| is_id(id))
}

/// The first id that is named. One that is odd is not passed over for the next.
fn first_id(values: [&Value; 2]) -> Option<&str> {
    let mut named = values.into_iter().filter(|value| !value.is_null());
    id(named.next()?)
}

fn message(kind: &str, data: &Value, me: &str, policy: GroupPolicy) -> Option<Meaning> {
    // It is sent back as it is, and is in no path.
    let message = data["id"].as_str();
    let message = message.filter(|id| !id.is_empty() && id.len() <= ID_BYTES)?;
    let author = &data["author"];
    let (place, person) = match kind {
        "C2C_MESSAGE_CREATE" => {
            let person = first_id([&author["user_openid"], &author["id"]])?;
            (Place::Person(person), person)
        }
        "GROUP_AT_MESSAGE_CREATE" => {
            let group = first_id([&data["group_openid"], &data["group_id"]])?;
            let person = first_id([&author["member_openid"], &author["id"]])?;
            (Place::Group(group), person)
        }
        "AT_MESSAGE_CREATE" => (Place::Channel(id(&data["channel_id"])?), id(&author["id"])?),
        _ => (Place::Direct(id(&data["guild_id"])?), id(&author["id"])?),
    };
    let is_us = !me.is_empty() && (person == me || author["id"].as_str() == Some(me));
    let is_own = json::to_flag(&author["bot"]) == Some(true) || is_us;
    if is_own || place.is_group() && policy == GroupPolicy::Off {
        return None;
    }
    let content = data["content"].as_str().unwrap_or_default();
    let text = without_us(content, me);
    let files: Vec<RemoteFile> = data["attachments"]
        .as_array()
        .into_iter()
        .flatten()
        .take(2 * MESSAGE_FILES)
        .filter_map(file)
        .collect();
    let text = match (text.as_str(), files.is_empty()) {
        ("", true) => content.trim().to_owned(),
        _ => text,
    };
    let is_relayed = is_relayed(data);
    let text = if is_relayed {
        relayed::describe(&text)
    } else {
        text
    };
    if text.is_empty() && files.is_empty() {
        return None;
    }
    let name = [&data["member"]["nick"], &author["username"]];
    let mut names = name.iter().filter_map(|name| name.as_str());
    let sender = Sender {
        id: person.to_owned(),
        name: names.next().map(names::clean_name).unwrap_or_default(),
        language: Language::of_text(content),
        thread_of: None,
    };
    let chat = place.chat();
    let address = Address::new(NAME, &chat);
    Some(Meaning::Message {
        incoming: Incoming::Message {
            envelope: Envelope {
                id: format!("{NAME}:{message}"),
                is_group: place.is_group(),
                is_relayed,
                reference: message.to_owned(),
                sent_at: data["timestamp"].as_str().and_then(seconds_of),
                replies_to: answered(data),
                remote_files: files,
                ..Envelope::written(&address, sender, &text)
            },
            username: String::new(),
        },
        chat,
        id: message.to_owned(),
        index: index(data).to_owned(),
    })
}

/// The message that a message answers; empty for none.
fn answered(data: &Value) -> String {
    let named = relayed::answered(&[&data["message_reference"]["message_id"]], data);
    if named.is_empty() && is_answer(data) {
        return UNKNOWN_MESSAGE.to_owned();
    }
    named
}

/// The index of the message that a message answers, which is among other things in a list; empty for none.
fn index(data: &Value) -> &str {
    let parts = data["message_scene"]["ext"].as_array();
    let mut parts = parts.into_iter().flatten().filter_map(Value::as_str);
    let found = parts.find_map(|part| part.strip_prefix("ref_msg_idx="));
    found.unwrap_or_default()
}

/// Whether it is of the type of messages that answer the one in them.
fn is_answer(data: &Value) -> bool {
    json::to_number(&data["message_type"]) == Some(ANSWER)
}

/// Whether a message brings others: it is forwarded or shared, or has messages in it that it does not answer.
fn is_relayed(data: &Value) -> bool {
    let brings = |name: &str| match &data[name] {
        Value::Array(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    relayed::has_mark(data)
        || brings("ark")
        || brings("embeds")
        || brings("msg_elements") && !is_answer(data)
}

/// The text without the mention of the bot, which is how it is addressed. In groups QQ leaves a space in its place.
fn without_us(content: &str, me: &str) -> String {
    let mut text = content.trim();
    if !me.is_empty() {
        for mark in [format!("<@!{me}>"), format!("<@{me}>")] {
            text = text
                .strip_prefix(mark.as_str())
                .unwrap_or(text)
                .trim_start();
            text = text.strip_suffix(mark.as_str()).unwrap_or(text).trim_end();
        }
    }
    text.to_owned()
}

fn file(file: &Value) -> Option<RemoteFile> {
    let url = file["url"].as_str().filter(|url| !url.is_empty())?;
    // Guilds leave the scheme out.
    let url = if url.contains("://") {
        url.to_owned()
    } else {
        format!("https://{}", url.trim_start_matches('/'))
    };
    let kind = file["content_type"].as_str().unwrap_or_default();
    let name = file["filename"].as_str().filter(|name| !name.is_empty());
    Some(RemoteFile {
        media: match kind.split('/').next().unwrap_or_default() {
            "image" => Media::Photo,
            "video" => Media::Video,
            "voice" => Media::Voice,
            "audio" => Media::Audio,
            _ => Media::Document,
        },
        id: url,
        size: json::to_number(&file["size"]),
        name: name.unwrap_or("file").to_owned(),
    })
}

fn pressed(data: &Value) -> Option<Meaning> {
    let press = id(&data["id"])?;
    let resolved = &data["data"]["resolved"];
    let incoming = || {
        let (place, person) = match json::to_number(&data["chat_type"]) {
            Some(2) => {
                let person = id(&data["user_openid"])?;
                (Place::Person(person), person)
            }
            Some(1) => {
                let person = id(&data["group_member_openid"])?;
                (Place::Group(id(&data["group_openid"])?), person)
            }
            _ => (
                Place::Channel(id(&data["channel_id"])?),
                id(&resolved["user_id"])?,
            ),
        };
        Some(Incoming::Pressed {
            id: format!("{NAME}:{press}"),
            address: Address::new(NAME, &place.chat()),
            is_group: place.is_group(),
            sender: Sender {
                id: person.to_owned(),
                ..Sender::default()
            },
            username: String::new(),
            message: PressedMessage {
                id: resolved["message_id"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                text: String::new(),
            },
            data: resolved["button_data"].as_str()?.to_owned(),
        })
    };
    Some(Meaning::Pressed {
        incoming: incoming(),
        id: press.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn envelope(kind: &str, data: &Value) -> Option<Envelope> {
        match read(kind, &data.to_string(), "99", GroupPolicy::Mention) {
            Meaning::Message {
                incoming: Incoming::Message { envelope, .. },
                ..
            } => Some(envelope),
            _ => None,
        }
    }

    #[test]
    fn numbers_and_strings_stand_for_each_other() {
        let guild = json!({"id": 7, "content": 42, "channel_id": 12, "author": {"id": 8, "bot": "false"},
            "attachments": [{"url": "a/b", "size": "9"}]});
        let it = envelope("AT_MESSAGE_CREATE", &guild).unwrap();
        assert_eq!((&*it.id, &*it.text), ("qq:7", "42"));
        assert_eq!(it.address().to_string(), "qq:channel-12");
        assert_eq!(it.sender().unwrap().id, "8");
        assert_eq!(it.remote_files[0].size, Some(9));
    }

    #[test]
    fn a_message_of_each_kind_of_chat_is_read() {
        let private = json!({"id": "ROBOT1.0_a!", "content": " hi ", "author": {"user_openid": "ANA"},
            "timestamp": "2024-11-24T03:26:40+08:00"});
        let it = envelope("C2C_MESSAGE_CREATE", &private).unwrap();
        assert_eq!(it.sent_at, Some(1_732_390_000));
        assert_eq!(it.id, "qq:ROBOT1.0_a!");
        assert_eq!(
            (it.address().to_string().as_str(), it.text.as_str()),
            ("qq:ANA", "hi")
        );
        assert!(!it.is_group && it.reference == "ROBOT1.0_a!");
        let group = json!({"id": "m", "content": " /status ", "group_openid": "G", "author": {"member_openid": "M"}});
        let it = envelope("GROUP_AT_MESSAGE_CREATE", &group).unwrap();
        assert_eq!(
            (it.address().to_string().as_str(), it.text.as_str()),
            ("qq:group-G", "/status")
        );
        assert!(it.is_group && it.sender().unwrap().id == "M");
        let guild = json!({"id": "m", "content": "<@!99> what?", "channel_id": "12", "guild_id": "1",
            "author": {"id": "7", "username": "ana", "bot": false}, "member": {"nick": "Ana"}});
        let it = envelope("AT_MESSAGE_CREATE", &guild).unwrap();
        assert_eq!(
            (it.address().to_string().as_str(), it.text.as_str()),
            ("qq:channel-12", "what?")
        );
        assert_eq!(it.sender().unwrap().name, "Ana");
        let direct = json!({"id": "m", "content": "psst", "channel_id": "12", "guild_id": "34", "author": {"id": "7"}});
        let it = envelope("DIRECT_MESSAGE_CREATE", &direct).unwrap();
        assert_eq!(it.address().to_string(), "qq:dm-34");
        assert!(!it.is_group);
    }

    #[test]
    fn a_reply_says_so_also_without_what_it_answers() {
        let elements = json!([{"msg_idx": "x", "content": "shall I?"}]);
        let scene = |ext: Value| json!({"message_scene": {"source": "default", "ext": ext}});
        for (more, target) in [
            (json!({}), ""),
            (scene(json!(["msg_idx=REFIDX_2"])), ""),
            (json!({"message_reference": {"message_id": "m1"}}), "m1"),
            (
                json!({"message_reference": {"message_id": "m".repeat(600)}}),
                UNKNOWN_MESSAGE,
            ),
            (json!({"message_type": 103}), UNKNOWN_MESSAGE),
            (
                json!({"message_type": 103, "msg_elements": elements}),
                UNKNOWN_MESSAGE,
            ),
            (
                scene(json!(["ref_msg_idx=REFIDX_1", "msg_idx=REFIDX_2"])),
                UNKNOWN_MESSAGE,
            ),
        ] {
            let mut data = json!({"id": "m", "content": "yes", "author": {"user_openid": "ANA"}});
            for (name, value) in more.as_object().unwrap() {
                data[name] = value.clone();
            }
            let it = envelope("C2C_MESSAGE_CREATE", &data).unwrap();
            assert_eq!(
                (it.replies_to.as_str(), it.is_relayed),
                (target, false),
                "{data}"
            );
        }
    }

    #[test]
    fn bots_and_odd_ids_are_ignored() {
        for data in [
            json!({"id": "m", "content": "x", "author": {"user_openid": "ANA", "bot": true}}),
            json!({"id": "m", "content": "x", "author": {"user_openid": "99"}}),
            json!({"id": "m", "content": "x", "author": {"user_openid": "../x"}}),
            json!({"id": "", "content": "x", "author": {"user_openid": "ANA"}}),
            json!({"id": "m", "content": "  ", "author": {"user_openid": "ANA"}}),
            json!({"id": 5}),
            json!([]),
        ] {
            assert_eq!(envelope("C2C_MESSAGE_CREATE", &data), None, "{data}");
        }
        assert_eq!(
            read("GUILD_CREATE", "{}", "", GroupPolicy::Open),
            Meaning::Nothing
        );
        let group = r#"{"id":"m","content":"x","group_openid":"G","author":{"member_openid":"M"}}"#;
        let kind = "GROUP_AT_MESSAGE_CREATE";
        assert_eq!(read(kind, group, "", GroupPolicy::Off), Meaning::Nothing);
        assert_ne!(
            read(kind, group, "", GroupPolicy::Mention),
            Meaning::Nothing
        );
    }

    #[test]
    fn a_forged_message_makes_no_one_of_anyone() {
        let kind = "C2C_MESSAGE_CREATE";
        for author in [
            json!(null),
            json!("ANA"),
            json!({}),
            json!({"user_openid": ["ANA"], "id": "BOB"}),
            json!({"user_openid": "../x", "id": "BOB"}),
            json!({"user_openid": "", "id": "BOB"}),
            json!({"user_openid": "*"}),
            json!({"user_openid": " ANA"}),
            json!({"user_openid": "ANA\n"}),
            json!({"user_openid": "A".repeat(900)}),
            json!({"user_openid": "ANA", "id": "99"}),
            json!({"user_openid": "ANA", "bot": 1}),
        ] {
            let data = json!({"id": "m", "content": "x", "author": author});
            assert_eq!(envelope(kind, &data), None, "{data}");
        }
        for data in [
            json!({"id": "m", "content": "x", "group_openid": {}, "group_id": "G", "author": {"member_openid": "M"}}),
            json!({"id": "m", "content": "x", "group_openid": "G", "author": {"member_openid": "a b", "id": "M"}}),
            json!({"id": "m", "content": "x", "author": {"member_openid": "M"}}),
        ] {
            assert_eq!(envelope("GROUP_AT_MESSAGE_CREATE", &data), None, "{data}");
        }
    }

    #[test]
    fn files_have_a_whole_address() {
        let data = json!({"id": "m", "content": "", "author": {"user_openid": "ANA"}, "attachments": [
            {"content_type": "image/png", "filename": "a.png", "size": 12, "url": "https://multimedia.nt.qq.com.cn/x"},
            {"content_type": "voice", "url": "//gchat.qpic.cn/y"},
            {"content_type": "file"},
        ]});
        let it = envelope("C2C_MESSAGE_CREATE", &data).unwrap();
        let files: Vec<_> = it
            .remote_files
            .iter()
            .map(|file| (file.media, file.id.as_str()))
            .collect();
        assert_eq!(
            files,
            [
                (Media::Photo, "https://multimedia.nt.qq.com.cn/x"),
                (Media::Voice, "https://gchat.qpic.cn/y"),
            ]
        );
        assert_eq!(it.remote_files[0].size, Some(12));
    }

    #[test]
    fn a_press_names_its_chat_and_is_acknowledged_even_when_it_is_odd() {
        let data = json!({"id": "p1", "chat_type": 2, "user_openid": "ANA",
            "data": {"type": 11, "resolved": {"button_data": "a:1", "message_id": "m"}}});
        let Meaning::Pressed { incoming, id } = read(
            "INTERACTION_CREATE",
            &data.to_string(),
            "",
            GroupPolicy::Off,
        ) else {
            panic!("no press");
        };
        assert_eq!(id, "p1");
        let Some(Incoming::Pressed {
            address,
            data,
            message,
            ..
        }) = incoming
        else {
            panic!("nothing for the intake");
        };
        assert_eq!(
            (
                address.to_string().as_str(),
                data.as_str(),
                message.id.as_str()
            ),
            ("qq:ANA", "a:1", "m")
        );
        let odd = read(
            "INTERACTION_CREATE",
            r#"{"id":"p2","chat_type":1}"#,
            "",
            GroupPolicy::Off,
        );
        let expected = Meaning::Pressed {
            incoming: None,
            id: "p2".to_owned(),
        };
        assert_eq!(odd, expected);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in ".{0,80}", kind in "C2C_MESSAGE_CREATE|AT_MESSAGE_CREATE|INTERACTION_CREATE") {
            read(&kind, &text, &text, GroupPolicy::Open);
            let data = json!({"id": text, "content": text, "author": {"user_openid": "A", "id": text}, "channel_id": "1"});
            read(&kind, &data.to_string(), "99", GroupPolicy::Open);
        }
    }
}
