//! What the lines of an inbox come to. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use crate::append_log::{shorten, to_line};
use crate::limits::inbox::SEEN;
use crate::message::Envelope;

/// One line. Which member is there says what happened.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    /// A message was accepted.
    Accepted {
        /// The message.
        accepted: Envelope,
        /// When, RFC 3339.
        at: String,
    },
    /// Something that must not be done twice was begun with the message of this id.
    Begun {
        /// The id.
        begun: String,
    },
    /// A session has the message of this id.
    Taken {
        /// The id.
        taken: String,
    },
    /// The file was written anew: what all lines have said, those that are gone too.
    Seen {
        /// The ids of messages that were accepted, oldest first.
        seen: Vec<String>,
        /// Of each channel the id that was accepted last, and when.
        last: BTreeMap<String, String>,
    },
}

impl Fact {
    /// The fact that a message was accepted. A text that is too long for a line is cut.
    pub fn accepted(mut message: Envelope, at: DateTime<FixedOffset>) -> Self {
        message.text = shorten(Cow::Owned(message.text)).into_owned();
        Self::Accepted {
            accepted: message,
            at: at.to_rfc3339(),
        }
    }

    /// The message, of one that was accepted.
    pub fn message(&self) -> Option<&Envelope> {
        match self {
            Self::Accepted { accepted, .. } => Some(accepted),
            _ => None,
        }
    }
}

/// What is known after some lines.
#[derive(Debug, Default)]
pub struct State {
    /// Ids that are known again, oldest first.
    seen: VecDeque<String>,
    waiting: Vec<Waiting>,
    /// By channel: the number that was accepted last, and when.
    last: BTreeMap<String, (i64, String)>,
}

/// A message that no session has.
#[derive(Debug)]
struct Waiting {
    message: Envelope,
    at: String,
    is_begun: bool,
    /// Bytes of its line.
    bytes: usize,
}

impl State {
    /// Takes a line of so many bytes into account.
    pub fn apply(&mut self, fact: Fact, bytes: usize) {
        match fact {
            Fact::Accepted { accepted, at } => {
                self.note_last(&accepted.id, &at);
                self.seen.push_back(accepted.id.clone());
                let over = self.seen.len().saturating_sub(SEEN);
                self.seen.drain(..over);
                self.waiting.push(Waiting {
                    message: accepted,
                    at,
                    is_begun: false,
                    bytes,
                });
            }
            Fact::Begun { begun } => {
                let mut waiting = self.waiting.iter_mut();
                if let Some(found) = waiting.find(|waiting| waiting.message.id == begun) {
                    found.is_begun = true;
                }
            }
            Fact::Taken { taken } => self.waiting.retain(|waiting| waiting.message.id != taken),
            Fact::Seen { seen, last } => {
                self.seen = seen.into();
                self.last.clear();
                last.iter().for_each(|(id, at)| self.note_last(id, at));
            }
        }
    }

    /// Those messages that have not been accepted before, each once.
    pub fn new_ones(&self, messages: Vec<Envelope>) -> Vec<Envelope> {
        let mut new: Vec<Envelope> = Vec::new();
        for message in messages {
            let id = &message.id;
            let is_among = |list: &[Envelope]| list.iter().any(|other| other.id == *id);
            let is_known = self.seen.contains(id) || self.holds(id) || is_among(&new);
            if id.is_empty() || !is_known {
                new.push(message);
            }
        }
        new
    }

    /// Whether the message of this id waits, begun or not.
    pub fn holds(&self, id: &str) -> bool {
        self.waiting.iter().any(|waiting| waiting.message.id == id)
    }

    /// The messages that no session has, those that were begun or the others.
    pub fn messages(&self, are_begun: bool) -> Vec<Envelope> {
        let chosen = self
            .waiting
            .iter()
            .filter(|waiting| waiting.is_begun == are_begun);
        chosen.map(|waiting| waiting.message.clone()).collect()
    }

    /// How many messages no session has.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the lines that still count.
    pub fn live_bytes(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.bytes).sum()
    }

    /// The number that a channel gave last, and when it was accepted.
    pub fn last_update(&self, channel: &str) -> Option<(i64, DateTime<FixedOffset>)> {
        let (number, at) = self.last.get(channel)?;
        // A time that cannot be read is long ago.
        let at = DateTime::parse_from_rfc3339(at).unwrap_or_default();
        Some((*number, at))
    }

    /// The lines of a file that says the same and nothing that is over.
    pub fn compacted(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        for waiting in &self.waiting {
            lines.extend(to_line(&Fact::Accepted {
                accepted: waiting.message.clone(),
                at: waiting.at.clone(),
            }));
            if waiting.is_begun {
                let begun = waiting.message.id.clone();
                lines.extend(to_line(&Fact::Begun { begun }));
            }
        }
        let id_and_time = |(channel, (number, at)): (&String, &(i64, String))| {
            (format!("{channel}:{number}"), at.clone())
        };
        // Behind the others: those that wait are older than what was accepted last.
        lines.extend(to_line(&Fact::Seen {
            seen: self.seen.iter().cloned().collect(),
            last: self.last.iter().map(id_and_time).collect(),
        }));
        lines
    }

    fn note_last(&mut self, id: &str, at: &str) {
        let parts = id.split_once(':');
        let numbered =
            parts.and_then(|(channel, number)| Some((channel, number.parse::<i64>().ok()?)));
        if let Some((channel, number)) = numbered {
            self.last
                .insert(channel.to_owned(), (number, at.to_owned()));
        }
    }
}
