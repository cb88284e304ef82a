//! One connection with DingTalk's stream, as a state machine. Pure: frames and the time go in, actions come out.
//! <https://open-dingtalk.github.io/developerpedia/docs/learn/stream/protocol>
//!
//! A frame is JSON, and its data is JSON within a string. The server sends pings, whose data comes back as it is, and
//! says before it disconnects. Every callback is acknowledged by its id; what is not comes again after a minute. Where
//! nothing comes for some time, we try the connection with a ping of the websocket. Times are measured from any fixed
//! moment.

use std::time::Duration;

use serde_json::json;

use super::ID_BYTES;
use crate::base::json;
use crate::base::limits::channels::JSON_LEVELS_MAX;

/// Bytes of a frame; a message with its quote has at most 60 kB, and is escaped twice.
const FRAME_BYTES: usize = 512 * 1024;
/// Silence after which the connection is tried with a ping.
const PING_INTERVAL: Duration = Duration::from_secs(60);
/// Time for the server to answer a ping.
const PONG_TIME: Duration = Duration::from_secs(20);

/// The callback for messages to the robot.
pub const MESSAGES: &str = "/v1.0/im/bot/messages/get";

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// A frame is to be sent.
    Send(String),
    /// A message has come, which [`acknowledge`] answers.
    Message {
        /// The id to acknowledge.
        id: String,
        /// What it says, as JSON.
        data: String,
    },
    /// The websocket is to be pinged.
    Ping,
    /// The server is about to disconnect: a new connection is to be made at once.
    Disconnect,
    /// The connection is to be closed, and a new one made.
    Reconnect(&'static str),
}

/// See the module.
#[derive(Debug)]
pub struct Session {
    /// When something came last.
    heard: Duration,
    /// When the ping was sent that has not been answered.
    unanswered: Option<Duration>,
}

impl Session {
    /// A new connection.
    pub fn new(now: Duration) -> Self {
        Self {
            heard: now,
            unanswered: None,
        }
    }

    /// Something has come, whatever it is.
    pub fn heard(&mut self, now: Duration) {
        self.heard = now;
        self.unanswered = None;
    }

    /// Takes a frame. One that cannot be understood means nothing.
    pub fn receive(&mut self, text: &str, now: Duration) -> Option<Action> {
        self.heard(now);
        let Ok(frame) = json::with_texts_from_str(text, JSON_LEVELS_MAX) else {
            tracing::debug!(bytes = text.len(), "ignored a frame that is not understood");
            return None;
        };
        let headers = &frame["headers"];
        let id = headers["messageId"].as_str().unwrap_or_default();
        if id.len() > ID_BYTES {
            return None;
        }
        let data = frame["data"].as_str().unwrap_or_default();
        let kind = frame["type"].as_str().unwrap_or_default();
        match (kind, headers["topic"].as_str().unwrap_or_default()) {
            ("SYSTEM", "disconnect") => Some(Action::Disconnect),
            ("SYSTEM", _) => Some(Action::Send(answer(200, id, data))),
            ("CALLBACK", MESSAGES) if data.len() > FRAME_BYTES => {
                tracing::warn!("ignored a message that is too large");
                Some(Action::Send(acknowledge(id)))
            }
            ("CALLBACK", MESSAGES) => Some(Action::Message {
                id: id.to_owned(),
                data: data.to_owned(),
            }),
            // Nothing else was asked for. What is told so does not come again.
            ("CALLBACK", _) => Some(Action::Send(answer(404, id, "{}"))),
            ("EVENT", _) => Some(Action::Send(answer(200, id, r#"{"status":"SUCCESS"}"#))),
            _ => None,
        }
    }

    /// Does what is due by now. `is_idle` says that nothing else has come that is still to be received.
    pub fn tick(&mut self, now: Duration, is_idle: bool) -> Option<Action> {
        if !is_idle || now < self.due() {
            return None;
        }
        if self.unanswered.is_some() {
            return Some(Action::Reconnect("it stopped answering"));
        }
        self.unanswered = Some(now);
        Some(Action::Ping)
    }

    /// How long nothing is to be done, unless a frame comes.
    pub fn idle(&self, now: Duration) -> Duration {
        self.due().saturating_sub(now)
    }

    fn due(&self) -> Duration {
        match self.unanswered {
            Some(since) => since + PONG_TIME,
            None => self.heard + PING_INTERVAL,
        }
    }
}

/// The frame that acknowledges a message.
pub fn acknowledge(id: &str) -> String {
    answer(200, id, r#"{"response":"OK"}"#)
}

fn answer(code: u16, id: &str, data: &str) -> String {
    let message = if code == 200 { "OK" } else { "not found" };
    json!({
        "code": code,
        "headers": {"contentType": "application/json", "messageId": id},
        "message": message,
        "data": data,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use proptest::prelude::*;

    const START: Duration = Duration::from_secs(100);

    fn frame(kind: &str, topic: &str, data: &str) -> String {
        let headers = json!({"topic": topic, "messageId": "m1", "contentType": "application/json"});
        json!({"specVersion": "1.0", "type": kind, "headers": headers, "data": data}).to_string()
    }

    fn receive(text: &str) -> Option<Action> {
        Session::new(START).receive(text, START)
    }

    fn sent(action: Option<Action>) -> Value {
        match action {
            Some(Action::Send(text)) => serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_ping_gets_its_data_back() {
        let opaque = r#"{"opaque":"0d00-\"x\""}"#;
        let reply = sent(receive(&frame("SYSTEM", "ping", opaque)));
        assert_eq!(
            (&reply["code"], &reply["data"]),
            (&json!(200), &json!(opaque))
        );
        assert_eq!(reply["headers"]["messageId"], "m1");
    }

    #[test]
    fn a_message_is_passed_on_and_all_else_is_answered() {
        let message = receive(&frame("CALLBACK", MESSAGES, "{}"));
        let expected = Action::Message {
            id: "m1".to_owned(),
            data: "{}".to_owned(),
        };
        assert_eq!(message, Some(expected));
        let reply: Value = serde_json::from_str(&acknowledge("m1")).unwrap();
        // The data is a string within the JSON.
        assert_eq!(reply["data"], r#"{"response":"OK"}"#);
        assert_eq!(
            sent(receive(&frame("CALLBACK", "/v1.0/card", "{}")))["code"],
            404
        );
        assert_eq!(sent(receive(&frame("EVENT", "*", "{}")))["code"], 200);
        let large = "x".repeat(FRAME_BYTES + 1);
        assert_eq!(
            sent(receive(&frame("CALLBACK", MESSAGES, &large)))["code"],
            200
        );
        assert_eq!(
            receive(&frame("SYSTEM", "disconnect", "{}")),
            Some(Action::Disconnect)
        );
        assert_eq!(receive("[]"), None);
        assert_eq!(receive("no JSON"), None);
    }

    #[test]
    fn silence_is_ended_by_a_ping_and_then_by_a_new_connection() {
        let mut session = Session::new(START);
        assert_eq!(session.idle(START), PING_INTERVAL);
        assert_eq!(session.tick(START + PING_INTERVAL, false), None);
        let pinged = START + PING_INTERVAL;
        assert_eq!(session.tick(pinged, true), Some(Action::Ping));
        assert_eq!(session.idle(pinged), PONG_TIME);
        assert_eq!(session.tick(pinged + PONG_TIME / 2, true), None);
        session.heard(pinged + PONG_TIME / 2);
        assert_eq!(session.tick(pinged + PONG_TIME, true), None);
        let again = pinged + PONG_TIME / 2 + PING_INTERVAL;
        assert_eq!(session.tick(again, true), Some(Action::Ping));
        let over = session.tick(again + PONG_TIME, true);
        assert_eq!(over, Some(Action::Reconnect("it stopped answering")));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fail(text in ".{0,80}", kind in "SYSTEM|CALLBACK|EVENT|") {
            receive(&text);
            receive(&frame(&kind, &text, &text));
        }
    }
}
