//! One long connection with Feishu, as a state machine. Pure: frames and the time go in, actions come out.
//!
//! We send pings; the server's replies show that the connection lives, and may change how often pings are due. An
//! event may come in several frames, in any order, and is acknowledged once. What is not acknowledged within three
//! seconds comes again later. Times are measured from any fixed moment.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};

use super::frame::{CONTROL, DATA, Frame};
use crate::base::json;
use crate::base::limits::channels::feishu::EVENT_BYTES;

/// Frames of one event; Feishu sends about 100 kB in each.
const EVENT_PARTS: usize = 64;
/// Events of which parts are missing.
const PARTED_EVENTS: usize = 4;
/// How long the parts of an event are waited for; the vendor's own libraries wait as long.
const PARTS_TIME: Duration = Duration::from_secs(5);
/// Time between two pings until the server says something else.
const PING_INTERVAL: Duration = Duration::from_mins(2);
/// The least and the longest time between two pings that the server may ask for.
const PING_INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(10));
/// Time for the server to answer a ping.
const PONG_TIME: Duration = Duration::from_secs(10);
/// The longest wait until the receiver shows that it is alive.
const LOOK: Duration = Duration::from_secs(60);

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Bytes are to be sent.
    Send(Vec<u8>),
    /// The connection works: the server has answered.
    Works,
    /// An event, which [`acknowledge`] answers.
    Event {
        /// The frame that made it complete.
        frame: Frame,
        /// What it says, as JSON.
        payload: Vec<u8>,
    },
    /// Something that cannot be read, which is acknowledged so that it does not come again.
    Ignore(Frame),
    /// The connection is to be closed, and a new one made.
    Reconnect(&'static str),
}

/// See the module.
#[derive(Debug)]
pub struct Session {
    service: i32,
    ping_interval: Duration,
    next_ping: Duration,
    /// When the ping was sent that has not been answered.
    unanswered: Option<Duration>,
    parted: VecDeque<Parted>,
}

/// An event of which some parts are missing.
#[derive(Debug)]
struct Parted {
    id: String,
    since: Duration,
    parts: Vec<Option<Vec<u8>>>,
}

impl Parted {
    fn bytes(&self) -> usize {
        self.parts.iter().flatten().map(Vec::len).sum()
    }
}

impl Session {
    /// A new connection to this service of the server's. A ping is due at once.
    pub fn new(service: i32, now: Duration) -> Self {
        Self {
            service,
            ping_interval: PING_INTERVAL,
            next_ping: now,
            unanswered: None,
            parted: VecDeque::new(),
        }
    }

    /// Takes the settings that the server gives, as JSON.
    pub fn configure(&mut self, settings: &Value) {
        if let Some(seconds) = json::to_number(&settings["PingInterval"]) {
            let (least, most) = PING_INTERVALS;
            self.ping_interval = Duration::from_secs(seconds).clamp(least, most);
        }
    }

    /// Takes a frame. One that cannot be understood means nothing.
    pub fn receive(&mut self, bytes: &[u8], now: Duration) -> Option<Action> {
        let Some(frame) = Frame::decode(bytes) else {
            tracing::debug!(
                bytes = bytes.len(),
                "ignored a frame that is not understood"
            );
            return None;
        };
        // Whatever comes shows that the connection lives.
        self.unanswered = None;
        match (frame.method, frame.header("type")) {
            (CONTROL, "pong") => {
                let settings = str::from_utf8(&frame.payload).unwrap_or_default();
                if let Ok(settings) = json::from_str(settings) {
                    self.configure(&settings);
                    self.next_ping = self.next_ping.min(now + self.ping_interval);
                }
                Some(Action::Works)
            }
            (DATA, _) => self.event(frame, now),
            _ => None,
        }
    }

    fn event(&mut self, mut frame: Frame, now: Duration) -> Option<Action> {
        let payload = std::mem::take(&mut frame.payload);
        let number = |name| frame.header(name).parse::<usize>().ok();
        let payload = match number("sum") {
            None | Some(0 | 1) => payload,
            Some(sum @ 2..=EVENT_PARTS) => {
                let seq = number("seq").filter(|seq| *seq < sum);
                let Some(seq) = seq else {
                    return Some(Action::Ignore(frame));
                };
                let id = frame.header("message_id").to_owned();
                match self.join(id, (sum, seq), payload, now) {
                    Joined::Whole(payload) => payload,
                    Joined::Missing => return None,
                    Joined::TooLarge => return Some(Action::Ignore(frame)),
                }
            }
            Some(_) => return Some(Action::Ignore(frame)),
        };
        if payload.len() > EVENT_BYTES {
            Some(Action::Ignore(frame))
        } else {
            Some(Action::Event { frame, payload })
        }
    }

    /// Keeps a part of an event until all are there.
    fn join(
        &mut self,
        id: String,
        (sum, seq): (usize, usize),
        payload: Vec<u8>,
        now: Duration,
    ) -> Joined {
        self.parted
            .retain(|event| now.saturating_sub(event.since) < PARTS_TIME);
        let known = self.parted.iter().position(|event| event.id == id);
        let mut event = match known.and_then(|index| self.parted.remove(index)) {
            Some(event) if event.parts.len() == sum => event,
            _ => Parted {
                id,
                since: now,
                parts: vec![None; sum],
            },
        };
        if let Some(part) = event.parts.get_mut(seq) {
            *part = Some(payload);
        }
        if event.bytes() > EVENT_BYTES {
            return Joined::TooLarge;
        }
        if event.parts.iter().all(Option::is_some) {
            return Joined::Whole(event.parts.into_iter().flatten().flatten().collect());
        }
        self.parted.push_back(event);
        // What is given up comes again: it is not acknowledged.
        let bytes = |parted: &VecDeque<Parted>| parted.iter().map(Parted::bytes).sum::<usize>();
        while self.parted.len() > PARTED_EVENTS || bytes(&self.parted) > EVENT_BYTES {
            self.parted.pop_front();
        }
        Joined::Missing
    }

    /// Does what is due by now. `is_idle` says that nothing else has come that is still to be received.
    pub fn tick(&mut self, now: Duration, is_idle: bool) -> Option<Action> {
        let is_late = |since: Duration| now >= since + PONG_TIME;
        if is_idle && self.unanswered.is_some_and(is_late) {
            return Some(Action::Reconnect("it stopped answering"));
        }
        if now < self.next_ping {
            return None;
        }
        self.next_ping = now + self.ping_interval;
        self.unanswered = self.unanswered.or(Some(now));
        let ping = Frame {
            service: self.service,
            method: CONTROL,
            headers: vec![("type".to_owned(), "ping".to_owned())],
            ..Frame::default()
        };
        Some(Action::Send(ping.encode()))
    }

    /// How long nothing is to be done, unless a frame comes.
    pub fn idle(&self, now: Duration) -> Duration {
        let late = self.unanswered.map(|since| since + PONG_TIME);
        let due = late.map_or(self.next_ping, |late| late.min(self.next_ping));
        due.saturating_sub(now).min(LOOK)
    }
}

enum Joined {
    Whole(Vec<u8>),
    Missing,
    TooLarge,
}

/// The bytes that acknowledge an event: its own frame, with the time that it took. `reply` is what a press is
/// answered with, as JSON.
pub fn acknowledge(mut frame: Frame, took: Duration, reply: Option<&Value>) -> Vec<u8> {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    let took = took.as_millis().to_string();
    frame.headers.push(("biz_rt".to_owned(), took));
    let mut answer = json!({"code": 200});
    if let Some(reply) = reply {
        answer["data"] = json!(BASE64_STANDARD.encode(reply.to_string()));
    }
    frame.payload = answer.to_string().into_bytes();
    frame.encode()
}
