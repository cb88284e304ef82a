//! Whose words a message has, and whether they are about another message. PURE.
//!
//! What a person passes on is for the model to read, and never their own word: no command, no answer, no pairing code
//! ([`Envelope::is_relayed`](crate::base::message::Envelope::is_relayed)). What replies to a message is about that one
//! ([`Envelope::replies_to`](crate::base::message::Envelope::replies_to)). Services mark both under many names, and add
//! others later. So a mark is found by what its name says, wherever it is in a message.

use serde_json::Value;

use crate::base::message::UNKNOWN_MESSAGE;

/// What names of members say that are about a forward.
const MARKS: [&str; 2] = ["forward", "relayed"];
/// How names begin that say what may be done with a message, not what was.
const PERMISSIONS: [&str; 5] = ["can", "allow", "no", "not", "disable"];
/// The word that says so wherever it is in a name.
const PERMISSION: &str = "forwardable";
/// What names say that hold another message, which this one only answers.
const OTHERS: [&str; 4] = ["quot", "repl", "reference", "parent"];
/// What names say that are about the message that is answered, beside [`OTHERS`].
const ANSWERED: [&str; 6] = [
    "refmsg",
    "refid",
    "refidx",
    "originalm",
    "originalprocess",
    "answerto",
];
/// How names end that are about the answers to a message, or about something else.
const UNRELATED: [&str; 4] = ["count", "able", "token", "quota"];
/// Bytes of the id of a message that is answered; a longer one is not known.
const TARGET_BYTES: usize = 512;

/// Whether a member of a message, or one within it, says that the message was forwarded.
pub fn is_mark(name: &str, value: &Value) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    if OTHERS.iter().any(|other| name.contains(other)) {
        return false;
    }
    let is_permission =
        PERMISSIONS.iter().any(|begin| name.starts_with(begin)) || name.contains(PERMISSION);
    let is_named = !is_permission && MARKS.iter().any(|mark| name.contains(mark));
    is_named && is_set(value) || has_mark(value)
}

/// Whether a message, or a part of it, is marked as forwarded. The message that it answers is not looked at.
pub fn has_mark(message: &Value) -> bool {
    match message {
        Value::Object(members) => members.iter().any(|(name, value)| is_mark(name, value)),
        Value::Array(values) => values.iter().any(has_mark),
        _ => false,
    }
}

/// The message that a message answers, for [`Envelope::replies_to`](crate::base::message::Envelope::replies_to): the first
/// of these ids that is one, [`UNKNOWN_MESSAGE`] where only something in it says that it answers one, else nothing.
pub fn answered(ids: &[&Value], message: &Value) -> String {
    let is_id = |id: &&str| !id.is_empty() && id.len() <= TARGET_BYTES;
    let known = ids.iter().find_map(|id| id.as_str().filter(is_id));
    let unknown = || is_answer(message).then_some(UNKNOWN_MESSAGE);
    known.or_else(unknown).unwrap_or_default().to_owned()
}

/// Whether a message, or a part of it, says that it answers another one.
pub fn is_answer(message: &Value) -> bool {
    match message {
        Value::Object(members) => (members.iter()).any(|(name, value)| is_answer_mark(name, value)),
        Value::Array(values) => values.iter().any(is_answer),
        // QQ writes `ref_msg_idx=…` in a list.
        Value::String(text) => (text.split_once('='))
            .is_some_and(|(name, id)| names_answer(name) && !name.contains('/') && !id.is_empty()),
        _ => false,
    }
}

/// Whether a member of a message, or one within it, says so. What people write is in a text, which says nothing.
pub fn is_answer_mark(name: &str, value: &Value) -> bool {
    names_answer(name) && is_set(value) || !value.is_string() && is_answer(value)
}

/// Whether a name is about a message that is answered.
fn names_answer(name: &str) -> bool {
    let is_word = |char: char| char.is_ascii_alphanumeric() || "_-./+".contains(char);
    if !name.chars().all(is_word) {
        return false;
    }
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let is_other = UNRELATED.iter().any(|end| name.ends_with(end))
        || PERMISSIONS.iter().any(|begin| name.starts_with(begin));
    !is_other && (says(&OTHERS) || says(&ANSWERED))
}

fn is_set(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(text.trim(), "" | "0" | "false"),
        Value::Array(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// The text of a forwarded message, for services that deliver it as if the person had written it.
pub fn describe(text: &str) -> String {
    format!("[forwarded]\n{text}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mark_is_found_under_each_name_and_not_in_what_is_answered() {
        for message in [
            json!({"isForwarded": true}),
            json!({"forwarded": "true"}),
            json!({"contextInfo": {"forwardingScore": 4}}),
            json!({"context": {"frequently_forwarded": true}}),
            json!({"forward_origin": {"type": "user"}}),
            json!({"forward_from": "Eve"}),
            json!({"m.forwarded": {"event_id": "$x"}}),
            json!({"com.example.forwarded": {"sender": "@eve:x"}}),
            json!({"content": {"chatRecord": [{"forwardMsg": "x"}]}}),
            json!({"is-forward": 1}),
        ] {
            assert!(has_mark(&message), "{message}");
        }
        for message in [
            json!({"isForwarded": false, "forwardingScore": 0, "forward_origin": null, "forward": {}}),
            json!({"forwarded": "0", "forwards": [], "can_forward": true, "noForwards": true}),
            json!({"forwardable": true, "isForwardable": 1, "message_forwardable": "yes"}),
            json!({"text": "forwarded", "list": ["forward"]}),
            json!({"quotedMessage": {"isForwarded": true}, "repliedMsg": {"forwarded": true}}),
            json!({"message_reference": {"forward": true}, "replyTo": {"isForwarded": true}}),
            json!("forwarded"),
        ] {
            assert!(!has_mark(&message), "{message}");
        }
    }

    #[test]
    fn a_reply_is_found_under_each_name() {
        for message in [
            json!({"text": {"content": "yes", "isReplyMsg": true}}),
            json!({"text": {"repliedMsg": {"msgId": "m"}}}),
            json!({"originalMsgId": "msgOld=="}),
            json!({"originalProcessQueryKey": "q"}),
            json!({"message_scene": {"ext": ["", "ref_msg_idx=REFIDX_1", "msg_idx=REFIDX_2"]}}),
            json!({"message_reference": {"message_id": "m"}}),
            json!({"meta": {"reply": {"author": "eve"}}}),
            json!({"meta": {"quote": "x"}}),
            json!({"replyTo": 7}),
            json!({"contextInfo": {"quotedMessage": {"conversation": "x"}}}),
            json!({"+draft/reply": "m"}),
            json!({"m.relates_to": {"m.in_reply_to": {"event_id": 5}}}),
            json!({"parent_id": "om_0"}),
            json!([[{"isReply": "1"}]]),
        ] {
            assert!(is_answer(&message), "{message}");
            assert_eq!(answered(&[], &message), UNKNOWN_MESSAGE);
            assert_eq!(answered(&[&json!("m")], &message), "m");
        }
        for message in [
            json!({"text": {"content": "reply=yes", "isReplyMsg": false, "repliedMsg": null}}),
            json!({"message_scene": {"source": "default", "ext": ["ref_msg_idx=", "msg_idx=REFIDX_2"]}}),
            json!({"originalMsgId": "", "replyTo": null, "quote": {}, "isReply": "false"}),
            json!({"replyCount": 3, "canReply": true, "replyToken": "t", "quota": 5, "replyable": true}),
            json!({"parts": ["why do you quote it? a=b"]}),
            json!("reply"),
        ] {
            assert!(!is_answer(&message), "{message}");
            assert_eq!(answered(&[], &message), "");
        }
        let long = json!("m".repeat(TARGET_BYTES + 1));
        let message = json!({"replyTo": long});
        assert_eq!(answered(&[&long], &message), UNKNOWN_MESSAGE, "too long");
    }
}
