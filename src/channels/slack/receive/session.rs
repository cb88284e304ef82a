//! What a connection in socket mode says, and when it counts as dead. PURE.
//!
//! Each envelope is acknowledged by its id. A connection ends after some hours: Slack announces it, and another one
//! is opened before, so that nothing is missed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::base::json::Members;
use crate::channels::slack::TOKEN_BYTES;

/// Time in which a connection has to say hello.
const HELLO_TIME: Duration = Duration::from_secs(20);
/// Silence after which a connection is asked whether it is alive. Slack's own pings come more often.
const SILENCE: Duration = Duration::from_secs(45);
/// Time in which it has to answer that.
const PONG_TIME: Duration = Duration::from_secs(15);

/// What is in an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An event, such as a message. Slack repeats it when it is not acknowledged.
    Event,
    /// A pressed button.
    Press,
    /// A slash command.
    Command,
    /// Anything else.
    Other,
}

/// What a connection said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// It works. `connections` are those of the app, this one among them.
    Hello {
        /// Their number.
        connections: u64,
    },
    /// It is about to end.
    Disconnect {
        /// Why, in a word of Slack's.
        reason: String,
    },
    /// Something for the app.
    Envelope {
        /// What acknowledges it.
        id: String,
        /// What it has.
        kind: Kind,
        /// That as JSON.
        payload: String,
    },
    /// Nothing that is understood.
    Unknown,
}

/// Reads a frame.
pub fn read(text: &str) -> Frame {
    let Some(members) = Members::read(text) else {
        return Frame::Unknown;
    };
    let kind = match members.text_or_empty("type").as_str() {
        "hello" => {
            let connections = members.value("num_connections").as_u64().unwrap_or(1);
            return Frame::Hello { connections };
        }
        "disconnect" => {
            let mut reason = members.text_or_empty("reason");
            reason.truncate(reason.floor_char_boundary(TOKEN_BYTES));
            return Frame::Disconnect { reason };
        }
        "events_api" => Kind::Event,
        "interactive" => Kind::Press,
        "slash_commands" => Kind::Command,
        _ => Kind::Other,
    };
    let id = members.text("envelope_id");
    match id.filter(|id| !id.is_empty() && id.len() <= TOKEN_BYTES) {
        Some(id) => Frame::Envelope {
            id,
            kind,
            payload: members
                .raw("payload")
                .map_or("{}", |raw| raw.get())
                .to_owned(),
        },
        None => Frame::Unknown,
    }
}

/// What acknowledges an envelope. `text` is shown to the person who has used a slash command, and to no other.
pub fn acknowledgement(id: &str, text: Option<&str>) -> String {
    let mut message = json!({"envelope_id": id});
    if let Some(text) = text {
        message["payload"] = json!({"response_type": "ephemeral", "text": text});
    }
    Value::to_string(&message)
}

/// What a connection needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing but patience.
    Nothing,
    /// To be asked whether it is alive.
    Ping,
    /// To be given up, for this reason.
    End(&'static str),
}

/// The life of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Life {
    opened: Duration,
    heard: Duration,
    is_ready: bool,
    asked: Option<Duration>,
}

impl Life {
    /// A connection that has just been opened.
    pub fn begin(now: Duration) -> Self {
        Self {
            opened: now,
            heard: now,
            is_ready: false,
            asked: None,
        }
    }

    /// Something came.
    pub fn heard(&mut self, now: Duration) {
        self.heard = now;
        self.asked = None;
    }

    /// It said hello.
    pub fn ready(&mut self) {
        self.is_ready = true;
    }

    /// Whether it said hello.
    pub fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// What it needs, after a wait in which nothing came.
    pub fn need(&mut self, now: Duration) -> Need {
        if !self.is_ready {
            let is_late = now >= self.opened + HELLO_TIME;
            return if is_late {
                Need::End("it did not say hello")
            } else {
                Need::Nothing
            };
        }
        match self.asked {
            Some(asked) if now >= asked + PONG_TIME => Need::End("it stopped answering"),
            None if now >= self.heard + SILENCE => {
                self.asked = Some(now);
                Need::Ping
            }
            _ => Need::Nothing,
        }
    }

    /// How long nothing is to be done, unless something comes.
    pub fn idle(&self, now: Duration) -> Duration {
        let due = match (self.is_ready, self.asked) {
            (false, _) => self.opened + HELLO_TIME,
            (true, Some(asked)) => asked + PONG_TIME,
            (true, None) => self.heard + SILENCE,
        };
        due.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_are_told_apart() {
        let hello = r#"{"type":"hello","num_connections":2,"connection_info":{"app_id":"A1"}}"#;
        assert_eq!(read(hello), Frame::Hello { connections: 2 });
        let end = r#"{"type":"disconnect","reason":"refresh_requested","debug_info":{}}"#;
        let reason = "refresh_requested".to_owned();
        assert_eq!(read(end), Frame::Disconnect { reason });
        for (name, kind) in [
            ("events_api", Kind::Event),
            ("interactive", Kind::Press),
            ("slash_commands", Kind::Command),
            ("something_new", Kind::Other),
        ] {
            let frame = format!(r#"{{"envelope_id":"e1","type":"{name}","payload":{{"a": [1]}}}}"#);
            let expected = Frame::Envelope {
                id: "e1".to_owned(),
                kind,
                payload: r#"{"a": [1]}"#.to_owned(),
            };
            assert_eq!(read(&frame), expected);
        }
    }

    #[test]
    fn what_is_no_frame_means_nothing() {
        for text in [
            "",
            "[]",
            "{}",
            "null",
            r#"{"type":"events_api"}"#,
            r#"{"envelope_id":{},"type":"events_api"}"#,
            r#"{"envelope_id":"","type":"events_api"}"#,
        ] {
            assert_eq!(read(text), Frame::Unknown, "{text}");
        }
        let long = format!(r#"{{"envelope_id":"{}","type":"x"}}"#, "e".repeat(9999));
        assert_eq!(read(&long), Frame::Unknown);
    }

    #[test]
    fn an_acknowledgement_names_its_envelope() {
        assert_eq!(acknowledgement("e\"1", None), r#"{"envelope_id":"e\"1"}"#);
        let with_text: Value =
            crate::base::json::from_str(&acknowledgement("e", Some("ok"))).unwrap();
        assert_eq!(with_text["payload"]["text"], "ok");
        assert_eq!(with_text["payload"]["response_type"], "ephemeral");
    }

    #[test]
    fn a_silent_connection_is_asked_once_and_then_given_up() {
        let second = Duration::from_secs;
        let mut life = Life::begin(second(100));
        assert_eq!(life.idle(second(100)), HELLO_TIME);
        assert_eq!(life.need(second(119)), Need::Nothing);
        life.heard(second(110));
        life.ready();
        assert_eq!(life.idle(second(110)), SILENCE);
        assert_eq!(life.need(second(154)), Need::Nothing);
        assert_eq!(life.need(second(155)), Need::Ping);
        assert_eq!(life.need(second(156)), Need::Nothing);
        assert_eq!(life.idle(second(156)), second(14));
        life.heard(second(157));
        assert_eq!(life.need(second(200)), Need::Nothing);
        assert_eq!(life.need(second(202)), Need::Ping);
        assert!(matches!(life.need(second(217)), Need::End(_)));
        let mut mute = Life::begin(second(0));
        assert!(matches!(mute.need(HELLO_TIME), Need::End(_)));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let _ = read(&text);
        }
    }
}
