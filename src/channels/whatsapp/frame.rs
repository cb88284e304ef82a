//! The frames of nanobot's bridge, v0.1.4: JSON objects with a `type`, over a websocket. Pure.
//!
//! What follows from the bridge's program:
//! - A correct token gets no answer. A wrong one, and a missing one, closes the connection with 4003.
//! - Each command is answered by `sent`, in order, even one of an unknown type, or by `error`, which names neither
//!   the command nor the chat.
//! - Messages, states and QR codes go to every client. A client that connects later is not told the state.
//! - Later bridges add `media` and `wasMentioned` to a message. They are read where they are there.

use serde_json::{Value, json};

use super::QR_BYTES;
use crate::base::json;
use crate::base::limits::channels::JSON_LEVELS_MAX;
use crate::base::secret::Secret;
use crate::channels::kit::relayed::{answered, has_mark};
use crate::text::{one_line, truncate_bytes};

/// Bytes of an id, an address or a status that the bridge sends; none is longer than a hundred.
const ID_BYTES: usize = 256;
/// Bytes of a person's text; WhatsApp takes 65,536 characters of up to four bytes.
const CONTENT_BYTES: usize = 256 * 1024;
/// Files of one message; the bridge delivers one.
const FILES: usize = 8;

/// The code with which the bridge closes when the token is wrong or missing.
pub const WRONG_TOKEN: u16 = 4003;
/// The code with which it closes when no token came in time.
pub const NO_TOKEN: u16 = 4001;

/// A frame of the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A message of a person.
    Message(Message),
    /// Whether the bridge is connected to WhatsApp now.
    Status {
        /// `connected`, as opposed to `disconnected`.
        is_connected: bool,
    },
    /// What a QR code has to say, to link the bridge to an account.
    Qr(String),
    /// A command with this `to` was carried out, or not known. Empty for a command without one.
    Sent(String),
    /// A command failed.
    Error(String),
    /// Nothing that is known.
    Other,
}

/// A message of a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// Its id, unique within the chat.
    pub id: String,
    /// The chat: a person's or a group's address at WhatsApp.
    pub chat: String,
    /// The person's address with the phone number, where the chat's address does not have it.
    pub phone: String,
    /// The text, with a mark in brackets where a file came with it.
    pub content: String,
    /// When it was written, in seconds since 1970; `None` if the bridge does not say.
    pub time: Option<i64>,
    /// Whether the chat is a group.
    pub is_group: bool,
    /// Whether the bot was mentioned; `None` if the bridge does not say.
    pub was_mentioned: Option<bool>,
    /// Paths of files that the bridge has stored.
    pub media: Vec<String>,
    /// Whether it was forwarded, as far as the bridge tells.
    pub is_forwarded: bool,
    /// The message that it answers, as far as the bridge tells; empty for none.
    pub answered: String,
}

/// Reads a frame. What cannot be understood is [`Frame::Other`].
pub fn read(text: &str) -> Frame {
    let Ok(frame) = json::with_texts_from_str(text, JSON_LEVELS_MAX) else {
        return Frame::Other;
    };
    let string = |name: &str| frame[name].as_str().unwrap_or_default();
    match string("type") {
        "message" => message(&frame).map_or(Frame::Other, Frame::Message),
        "status" => match string("status") {
            "connected" => Frame::Status { is_connected: true },
            "disconnected" => Frame::Status {
                is_connected: false,
            },
            _ => Frame::Other,
        },
        "qr" => match string("qr") {
            "" => Frame::Other,
            code if code.len() > QR_BYTES => Frame::Other,
            code => Frame::Qr(code.to_owned()),
        },
        "sent" => Frame::Sent(truncate_bytes(string("to"), ID_BYTES).to_owned()),
        "error" => Frame::Error(one_line(string("error"), ID_BYTES)),
        _ => Frame::Other,
    }
}

fn message(frame: &Value) -> Option<Message> {
    let short = |name: &str| {
        let text = frame[name].as_str().unwrap_or_default();
        // Cut, it would be another one's.
        (text.len() <= ID_BYTES && text.trim() == text).then(|| text.to_owned())
    };
    let chat = short("sender").filter(|chat| !chat.is_empty())?;
    let content = frame["content"].as_str().unwrap_or_default();
    let end = content.floor_char_boundary(CONTENT_BYTES);
    let media = frame["media"].as_array().into_iter().flatten();
    let media = media.filter_map(Value::as_str).take(FILES);
    Some(Message {
        id: short("id").filter(|id| !id.is_empty())?,
        phone: short("pn")?,
        content: content[..end].to_owned(),
        time: time(&frame["timestamp"]),
        is_group: json::to_flag(&frame["isGroup"]) == Some(true) || chat.ends_with(GROUP),
        was_mentioned: json::to_flag(&frame["wasMentioned"]),
        media: media.map(str::to_owned).collect(),
        is_forwarded: has_mark(frame),
        answered: answered(&[], frame),
        chat,
    })
}

/// How the addresses of groups end.
pub const GROUP: &str = "@g.us";

/// Seconds: a number, a number in a string, or the two halves of a 64-bit number, as the bridge's library writes it.
fn time(value: &Value) -> Option<i64> {
    let number = |value: &Value| value.as_i64().or_else(|| value.as_str()?.parse().ok());
    let half = |name: &str| number(&value[name]);
    let long = || {
        let low = half("low")? & 0xffff_ffff;
        half("high")?.checked_mul(1 << 32)?.checked_add(low)
    };
    let seconds = number(value).or_else(long)?;
    (seconds > 0).then_some(seconds)
}

/// The frame that shows the token, which has to be the first one.
pub fn auth(token: &Secret) -> String {
    json!({"type": "auth", "token": token.expose()}).to_string()
}

/// The frame that sends a message.
pub fn send(to: &str, text: &str) -> String {
    json!({"type": "send", "to": to, "text": text}).to_string()
}

/// The `to` of a [`probe`].
pub const PROBE: &str = "probe";

/// A frame that no bridge knows. It is answered all the same, which shows that the token was accepted.
pub fn probe() -> String {
    json!({"type": "peacrab-probe", "to": PROBE}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_kind_of_frame_is_read() {
        for (text, expected) in [
            (
                r#"{"type":"sent","to":"1@lid"}"#,
                Frame::Sent("1@lid".to_owned()),
            ),
            (r#"{"type":"sent"}"#, Frame::Sent(String::new())),
            (
                r#"{"type":"error","error":"Error: Not\nconnected"}"#,
                Frame::Error("Error: Not connected".to_owned()),
            ),
            (
                r#"{"type":"status","status":"connected"}"#,
                Frame::Status { is_connected: true },
            ),
            (r#"{"type":"status","status":"sleepy"}"#, Frame::Other),
            (
                r#"{"type":"qr","qr":"2@a,b,c"}"#,
                Frame::Qr("2@a,b,c".to_owned()),
            ),
            (r#"{"type":"qr"}"#, Frame::Other),
            (r#"{"type":"message","id":"A"}"#, Frame::Other),
            (
                r#"{"type":"message","sender":"1@lid","id":""}"#,
                Frame::Other,
            ),
            ("[]", Frame::Other),
            ("nonsense", Frame::Other),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        let long = format!(r#"{{"type":"qr","qr":"{}"}}"#, "x".repeat(QR_BYTES + 1));
        assert_eq!(read(&long), Frame::Other);
    }

    #[test]
    fn a_message_is_read_with_what_later_bridges_add() {
        let text = r#"{"type":"message","id":"3EB0","sender":"77@lid","pn":"4179@s.whatsapp.net","content":"hi",
            "timestamp":1732390000,"isGroup":false}"#;
        let Frame::Message(message) = read(text) else {
            panic!("no message");
        };
        assert_eq!(message.chat, "77@lid");
        assert_eq!(message.phone, "4179@s.whatsapp.net");
        assert_eq!(
            (message.content.as_str(), message.time),
            ("hi", Some(1_732_390_000))
        );
        assert_eq!((message.is_group, message.was_mentioned), (false, None));
        let text = r#"{"type":"message","id":"B","sender":"1-2@g.us","content":"x","wasMentioned":true,
            "media":["/m/a.png",null],"timestamp":{"low":-1,"high":0,"unsigned":true}}"#;
        let Frame::Message(message) = read(text) else {
            panic!("no message");
        };
        assert!(message.is_group && message.was_mentioned == Some(true));
        assert_eq!(message.media, ["/m/a.png"]);
        assert_eq!(message.time, Some(0xffff_ffff));
    }

    #[test]
    fn numbers_and_strings_stand_for_each_other() {
        let frame = json!({"type": "message", "id": 7, "sender": 491711234567_u64, "content": 42,
            "timestamp": {"low": "5", "high": 0}, "isGroup": "true", "wasMentioned": 1});
        let Frame::Message(it) = read(&frame.to_string()) else {
            panic!("{frame}");
        };
        assert_eq!(
            (&*it.id, &*it.chat, &*it.content),
            ("7", "491711234567", "42")
        );
        assert_eq!(
            (it.time, it.is_group, it.was_mentioned),
            (Some(5), true, Some(true))
        );
    }

    #[test]
    fn times_come_as_numbers_strings_and_halves() {
        for (text, expected) in [
            ("1732390000", Some(1_732_390_000)),
            ("\"1732390000\"", Some(1_732_390_000)),
            (r#"{"low":1732390000,"high":0}"#, Some(1_732_390_000)),
            (r#"{"low":5,"high":1}"#, Some(4_294_967_301)),
            (r#"{"low":5,"high":9223372036854775807}"#, None),
            ("0", None),
            ("-3", None),
            ("null", None),
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(time(&value), expected, "{text}");
        }
    }

    #[test]
    fn commands_are_what_the_bridge_expects() {
        let token = Secret::new("s\"ecret");
        assert_eq!(auth(&token), r#"{"token":"s\"ecret","type":"auth"}"#);
        assert_eq!(
            send("1@lid", "a\nb"),
            r#"{"text":"a\nb","to":"1@lid","type":"send"}"#
        );
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_fail(text in ".{0,200}", kind in "message|qr|status|error|sent") {
            read(&text);
            let frame = json!({"type": kind, "id": text, "sender": text, "content": text, "qr": text, "error": text});
            if let Frame::Message(message) = read(&frame.to_string()) {
                prop_assert!(!message.id.is_empty() && !message.chat.is_empty());
            }
        }
    }
}
