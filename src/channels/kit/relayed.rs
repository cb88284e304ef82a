//! Whose words a message has. PURE.
//!
//! What a person passes on is for the model to read, and never their own word: no command, no answer, no pairing code
//! ([`Envelope::is_relayed`](crate::base::message::Envelope::is_relayed)). Services mark it under many names, and add others
//! later. So a mark is found by what its name says, wherever it is in a message.

use serde_json::Value;

/// What names of members say that are about a forward.
const MARKS: [&str; 2] = ["forward", "relayed"];
/// How names begin that say what may be done with a message, not what was.
const PERMISSIONS: [&str; 5] = ["can", "allow", "no", "not", "disable"];
/// The word that says so wherever it is in a name.
const PERMISSION: &str = "forwardable";
/// What names say that hold another message, which this one only answers.
const OTHERS: [&str; 4] = ["quot", "repl", "reference", "parent"];

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
}
