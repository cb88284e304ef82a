//! What a message of DingTalk's stream says. Pure; the intake decides who has access.
//! <https://open.dingtalk.com/document/orgapp/receive-message>

use serde_json::Value;

use super::NAME;
use super::place::{Place, is_id};
use crate::base::json;
use crate::base::language::Language;
use crate::base::limits::channels::{JSON_LEVELS_MAX, MESSAGE_FILES, NAME_CHARS, QUOTE_CHARS};
use crate::base::message::{Envelope, Media, RemoteFile, Sender};
use crate::channels::kit::names;
use crate::channels::kit::relayed;
use crate::channels::kit::sink::Incoming;
use crate::config::schema::GroupPolicy;
use crate::text::{ellipsize_chars, one_line};

/// Bytes of what a file is fetched by; DingTalk's have some hundred.
const DOWNLOAD_CODE_BYTES: usize = 4096;
/// Parts of a message with text and pictures that are read.
const RICH_PARTS: usize = 200;

/// What a message says, apart from who says it and where.
#[derive(Debug, Default, PartialEq, Eq)]
struct Content {
    text: String,
    files: Vec<RemoteFile>,
    /// Whether it is what others have written.
    is_relayed: bool,
}

/// Reads the data of a message's callback; `None` where it is not for us. `frame` is the id of the frame, for a message
/// without an id.
pub fn read(data: &str, frame: &str, policy: GroupPolicy) -> Option<Incoming> {
    let Ok(data) = json::with_texts_from_str(data, JSON_LEVELS_MAX) else {
        tracing::warn!(
            bytes = data.len(),
            "ignored an unexpected message of DingTalk"
        );
        return None;
    };
    let id = [string(&data["msgId"]), frame];
    let id = id.into_iter().find(|id| is_id(id))?;
    let is_group = match string(&data["conversationType"]) {
        "1" => false,
        "2" => true,
        _ => return None,
    };
    let sender = string(&data["senderId"]);
    if !sender.is_empty() && sender == string(&data["chatbotUserId"]) {
        return None;
    }
    // The staff ids of another organisation are given by others.
    let staff = if is_foreign(&data) {
        ""
    } else {
        string(&data["senderStaffId"])
    };
    let person = match staff {
        // Such an id is never written like a staff id.
        "" => Some(sender).filter(|id| id.starts_with('$')),
        staff => Some(staff),
    };
    let person = person.filter(|id| is_id(id))?;
    let place = if is_group {
        Place::group(string(&data["conversationId"]))
    } else {
        Place::person(staff)
    };
    let Some(place) = place else {
        // Without it there is no way to answer.
        tracing::info!(
            "ignored a message without a staff id: publish a version of the app at https://open-dev.dingtalk.com, and \
             write from within its organisation"
        );
        return None;
    };
    if is_group && !is_for_us(&data, policy) {
        return None;
    }
    let mut content = content(&data);
    content.is_relayed |= relayed::has_mark(&data);
    if content.is_relayed {
        content.text = relayed::describe(&content.text);
    }
    if content.text.is_empty() && content.files.is_empty() {
        return None;
    }
    let sender = Sender {
        id: person.to_owned(),
        name: names::clean_name(string(&data["senderNick"])),
        language: Language::of_text(&content.text),
        thread_of: None,
    };
    Some(Incoming::Message {
        envelope: Envelope {
            id: format!("{NAME}:{id}"),
            is_group,
            is_relayed: content.is_relayed,
            reference: id.to_owned(),
            quote: quote(&data),
            // Of the robot's own messages this names the one that is answered.
            replies_to: relayed::answered(&[&data["originalProcessQueryKey"]], &data),
            remote_files: content.files,
            sent_at: json::to_number(&data["createAt"]).and_then(json::to_seconds),
            ..Envelope::written(&place.address(), sender, &content.text)
        },
        username: String::new(),
    })
}

fn is_foreign(data: &Value) -> bool {
    let organisations = [&data["senderCorpId"], &data["chatbotCorpId"]].map(string);
    matches!(organisations, [theirs, ours] if !theirs.is_empty() && !ours.is_empty() && theirs != ours)
}

fn is_for_us(data: &Value, policy: GroupPolicy) -> bool {
    match policy {
        GroupPolicy::Off => false,
        GroupPolicy::Open => true,
        // DingTalk delivers only these to most robots, and has already taken the mention out of the text.
        GroupPolicy::Mention => json::to_flag(&data["isInAtList"]).unwrap_or(true),
    }
}

fn content(data: &Value) -> Content {
    let kind = string(&data["msgtype"]);
    let content = &data["content"];
    let alone = |media, name: &str| Content {
        text: String::new(),
        files: file(content, media, name).into_iter().collect(),
        is_relayed: false,
    };
    match kind {
        "text" => Content {
            // In a group a space is left where the robot was mentioned.
            text: string(&data["text"]["content"]).trim().to_owned(),
            ..Content::default()
        },
        // Messages that were forwarded together.
        "chatRecord" => Content {
            text: record(content),
            is_relayed: true,
            ..Content::default()
        },
        "richText" => rich(&content["richText"]),
        "picture" => alone(Media::Photo, "picture.jpg"),
        "video" => alone(Media::Video, "video.mp4"),
        "file" => alone(Media::Document, "file"),
        "audio" => {
            let words = string(&content["recognition"]).trim();
            if words.is_empty() {
                alone(Media::Voice, "voice.amr")
            } else {
                // A machine has heard it, so it is never a command, and need not be heard once more.
                let text = format!("[voice, as DingTalk has understood it] {words}");
                Content {
                    text,
                    ..alone(Media::Document, "voice.amr")
                }
            }
        }
        "unknownMsgType" | "" => Content::default(),
        kind => Content {
            text: format!(
                "[a message of an unknown kind: {}]",
                names::without_brackets(&one_line(kind, NAME_CHARS))
            ),
            ..Content::default()
        },
    }
}

/// The text of messages that were forwarded together, as far as it is there.
fn record(content: &Value) -> String {
    let parts = ["title", "summary", "chatRecord", "content", "text"];
    let parts = parts.iter().map(|name| string(&content[*name]).trim());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        "[several messages, whose text DingTalk does not pass on]".to_owned()
    } else {
        parts.join("\n")
    }
}

/// Text with pictures between its parts.
fn rich(parts: &Value) -> Content {
    let mut content = Content::default();
    for part in parts.as_array().into_iter().flatten().take(RICH_PARTS) {
        content.text.push_str(string(&part["text"]));
        if content.files.len() < 2 * MESSAGE_FILES {
            content
                .files
                .extend(file(part, Media::Photo, "picture.jpg"));
        }
    }
    content.text = content.text.trim().to_owned();
    content
}

/// The file that a part of a message refers to.
fn file(part: &Value, media: Media, usual: &str) -> Option<RemoteFile> {
    let code = string(&part["downloadCode"]);
    (1..=DOWNLOAD_CODE_BYTES).contains(&code.len()).then(|| {
        let name = string(&part["fileName"]);
        RemoteFile {
            media,
            id: code.to_owned(),
            size: json::to_number(&part["fileSize"]),
            name: if name.is_empty() { usual } else { name }.to_owned(),
        }
    })
}

/// The message that this one replies to, as quoted lines.
fn quote(data: &Value) -> String {
    let replied = &data["text"]["repliedMsg"];
    let text = match &replied["content"] {
        Value::String(text) => text,
        content => string(&content["text"]),
    };
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let bot = string(&data["chatbotUserId"]);
    let is_ours = !bot.is_empty() && string(&replied["senderId"]) == bot;
    let who = if is_ours { "[you]: " } else { "" };
    let text = ellipsize_chars(text, QUOTE_CHARS);
    format!("> {who}{}", text.replace(names::is_newline, "\n> "))
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::UNKNOWN_MESSAGE;
    use proptest::prelude::*;
    use serde_json::json;

    fn message(more: Value) -> Value {
        let mut data = json!({
            "conversationId": "cidAB+/==", "conversationType": "1", "msgId": "msgA+q==", "senderNick": "Ana [x]",
            "senderStaffId": "manager1", "senderId": "$:LWCP_v1:$ab", "chatbotUserId": "$:LWCP_v1:$bot",
            "msgtype": "text", "text": {"content": " hello "},
        });
        for (name, value) in more.as_object().unwrap() {
            data[name] = value.clone();
        }
        data
    }

    fn read_with(more: Value, policy: GroupPolicy) -> Option<Envelope> {
        match read(&message(more).to_string(), "frame", policy)? {
            Incoming::Message { envelope, .. } => Some(envelope),
            other => panic!("{other:?}"),
        }
    }

    fn envelope(more: Value) -> Option<Envelope> {
        read_with(more, GroupPolicy::Mention)
    }

    #[test]
    fn numbers_and_strings_stand_for_each_other() {
        let it = envelope(
            json!({"conversationType": 2, "isInAtList": "true", "conversationId": "cid9", "msgId": 7, "senderStaffId": 8,
            "senderNick": 10, "text": {"content": 42}}),
        );
        let it = it.unwrap();
        assert_eq!((&*it.id, &*it.text), ("dingtalk:7", "42"));
        assert_eq!(it.sender().unwrap().id, "8");
        let file = json!({"msgtype": "file", "content": {"downloadCode": 5, "fileSize": "12"}});
        assert_eq!(envelope(file).unwrap().remote_files[0].size, Some(12));
    }

    #[test]
    fn a_message_is_read_in_private_and_in_a_group() {
        let it = envelope(json!({})).unwrap();
        assert_eq!(
            (it.id.as_str(), it.text.as_str()),
            ("dingtalk:msgA+q==", "hello")
        );
        assert_eq!(it.address().to_string(), "dingtalk:manager1");
        let sender = it.sender().unwrap();
        assert_eq!(
            (sender.id.as_str(), sender.name.as_str()),
            ("manager1", "Ana (x)")
        );
        let group =
            json!({"conversationType": "2", "isInAtList": true, "text": {"content": " /status"}});
        let it = envelope(group).unwrap();
        assert!(it.is_group && it.text == "/status");
        assert_eq!(it.address().to_string(), "dingtalk:cidAB+/==");
        // Somebody of another organisation has no staff id.
        let outer = envelope(json!({"conversationType": "2", "senderStaffId": null})).unwrap();
        assert_eq!(outer.sender().unwrap().id, "$:LWCP_v1:$ab");
        assert_eq!(envelope(json!({"senderStaffId": ""})), None);
        assert_eq!(envelope(json!({"msgId": ""})).unwrap().id, "dingtalk:frame");
    }

    #[test]
    fn a_forged_message_makes_no_one_of_anyone() {
        let group = |more: Value| {
            let mut all = json!({"conversationType": "2", "isInAtList": true});
            for (name, value) in more.as_object().unwrap() {
                all[name] = value.clone();
            }
            envelope(all)
        };
        for forged in [
            // Our own message, as an echo.
            json!({"senderId": "$:LWCP_v1:$bot"}),
            json!({"senderStaffId": "", "senderId": "manager1"}),
            json!({"senderStaffId": "manager1\n"}),
            json!({"senderStaffId": " manager1"}),
            json!({"senderStaffId": "a".repeat(900)}),
            json!({"senderStaffId": null, "senderId": null}),
            json!({"senderStaffId": null, "senderId": ["$:x"]}),
        ] {
            assert_eq!(group(forged.clone()), None, "{forged}");
        }
        for kind in [
            json!(null),
            json!(""),
            json!("3"),
            json!("02"),
            json!([2]),
            json!(" 1"),
        ] {
            assert_eq!(envelope(json!({"conversationType": kind})), None, "{kind}");
        }
        // A staff id counts in its own organisation only.
        let foreign = json!({"senderCorpId": "ding2", "chatbotCorpId": "ding1"});
        assert_eq!(envelope(foreign.clone()), None);
        assert_eq!(
            group(foreign).unwrap().sender().unwrap().id,
            "$:LWCP_v1:$ab"
        );
        let own = json!({"senderCorpId": "ding1", "chatbotCorpId": "ding1"});
        assert_eq!(group(own).unwrap().sender().unwrap().id, "manager1");
    }

    #[test]
    fn a_reply_says_so_also_without_what_it_answers() {
        let replied = |more: Value| json!({"text": {"content": "yes", "isReplyMsg": true, "repliedMsg": more}});
        let theirs = json!({"senderId": "$:x", "msgId": "m", "content": {"text": "shall I?"}});
        let known = json!({"originalMsgId": "m", "originalProcessQueryKey": "q1"});
        for (message, target) in [
            (json!({}), ""),
            (json!({"text": {"content": "yes", "isReplyMsg": false}}), ""),
            (replied(json!(null)), UNKNOWN_MESSAGE),
            (replied(json!({"msgId": "m"})), UNKNOWN_MESSAGE),
            (replied(theirs), UNKNOWN_MESSAGE),
            (json!({"originalMsgId": "m"}), UNKNOWN_MESSAGE),
            (known, "q1"),
        ] {
            let it = envelope(message.clone()).unwrap();
            assert_eq!(it.replies_to, target, "{message}");
        }
    }

    #[test]
    fn the_policy_says_which_messages_of_groups_count() {
        let said = |at: bool| json!({"conversationType": "2", "isInAtList": at});
        assert!(read_with(said(true), GroupPolicy::Off).is_none());
        assert!(read_with(said(true), GroupPolicy::Mention).is_some());
        assert!(read_with(said(false), GroupPolicy::Mention).is_none());
        assert!(read_with(said(false), GroupPolicy::Open).is_some());
        assert!(read_with(json!({}), GroupPolicy::Off).is_some());
    }

    #[test]
    fn each_kind_says_something() {
        let of = |kind: &str, content: Value| {
            let it = envelope(json!({"msgtype": kind, "content": content})).unwrap();
            let files = it.remote_files.iter();
            let files: Vec<_> = files
                .map(|file| (file.media, file.id.clone(), file.name.clone()))
                .collect();
            (it.text, files)
        };
        let code = || json!({"downloadCode": "c1"});
        let file = |media, name: &str| vec![(media, "c1".to_owned(), name.to_owned())];
        assert_eq!(
            of("picture", code()),
            (String::new(), file(Media::Photo, "picture.jpg"))
        );
        assert_eq!(
            of("video", code()),
            (String::new(), file(Media::Video, "video.mp4"))
        );
        let named = json!({"downloadCode": "c1", "fileName": "plan.txt"});
        assert_eq!(
            of("file", named),
            (String::new(), file(Media::Document, "plan.txt"))
        );
        let (text, files) = of(
            "audio",
            json!({"downloadCode": "c1", "recognition": "/sh reboot"}),
        );
        assert!(
            text.starts_with("[voice") && text.ends_with("] /sh reboot"),
            "{text}"
        );
        assert_eq!(files, file(Media::Document, "voice.amr"));
        let (text, files) = of("audio", json!({"downloadCode": "c1", "recognition": " "}));
        assert_eq!(
            (text.as_str(), files),
            ("", file(Media::Voice, "voice.amr"))
        );
        let rich = json!({"richText": [{"text": "look"}, {"text": ": "}, {"type": "picture", "downloadCode": "c1"}]});
        assert_eq!(
            of("richText", rich),
            ("look:".to_owned(), file(Media::Photo, "picture.jpg"))
        );
        let (text, _) = of("dance", json!({}));
        assert_eq!(text, "[a message of an unknown kind: dance]");
        let (text, _) = of("chatRecord", json!({}));
        assert!(text.starts_with("[forwarded]\n[several"), "{text}");
        let (text, _) = of("chatRecord", json!({"chatRecord": "/sh reboot"}));
        assert_eq!(text, "[forwarded]\n/sh reboot");
        for nothing in [
            json!({"msgtype": "picture", "content": {}}),
            json!({"text": {"content": "  "}}),
        ] {
            assert_eq!(envelope(nothing), None);
        }
    }

    #[test]
    fn what_is_replied_to_is_quoted() {
        let replied = |sender: &str| {
            json!({"text": {"content": "why?", "isReplyMsg": true, "repliedMsg": {
            "msgType": "text", "content": {"text": "one\ntwo"}, "senderId": sender}}})
        };
        let it = envelope(replied("$:LWCP_v1:$bot")).unwrap();
        assert_eq!(
            (it.text.as_str(), it.quote.as_str()),
            ("why?", "> [you]: one\n> two")
        );
        assert_eq!(envelope(replied("x")).unwrap().quote, "> one\n> two");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in ".{0,80}", kind in "text|richText|picture|audio|file") {
            let _ = read(&text, &text, GroupPolicy::Open);
            let data = message(json!({"msgtype": kind, "content": text, "msgId": text, "conversationId": text}));
            let _ = read(&data.to_string(), &text, GroupPolicy::Open);
            let rich = message(json!({"msgtype": kind, "content": {"richText": [{"text": text}, text], "downloadCode": text}}));
            let _ = read(&rich.to_string(), &text, GroupPolicy::Open);
        }
    }
}
