//! The lines of an inbox, and the state that results from them. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use super::SEEN;
use crate::base::access::Role;
use crate::base::message::{Attachment, Envelope, SessionKey};
use crate::store::append_log::{shorten, to_line};

/// One line of the file. Its first member says what happened.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Record {
    /// A message was accepted.
    Accepted {
        /// The message.
        accepted: Box<Envelope>,
        /// When, RFC 3339.
        at: String,
    },
    /// A waiting message has another text now.
    Edited {
        /// The message's id.
        edited: String,
        /// The new text.
        text: String,
    },
    /// The files of a message have been fetched, or given up.
    Fetched {
        /// The message's id.
        fetched: String,
        /// Those that are in the workspace now.
        attachments: Vec<Attachment>,
        /// Notes about the others, a line each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// Work that must not be done twice was begun on the message with this id.
    Begun {
        /// The id.
        begun: String,
    },
    /// Work that was begun on the message with this id waits for an approval: nothing of it was done.
    Asked {
        /// The id.
        asked: String,
    },
    /// The message with this id is in its session's journal.
    Taken {
        /// The id.
        taken: String,
    },
    /// The file was compacted: what is still needed from the lines that are gone.
    Seen {
        /// The ids of messages that were accepted, oldest first.
        seen: Vec<String>,
        /// The same of owners' messages.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        owners: Vec<String>,
        /// The newest id of each channel, and when it was accepted.
        last: BTreeMap<String, String>,
    },
}

impl Record {
    /// The record of an accepted message. A text that is too long for a line is cut.
    pub fn accepted(mut message: Envelope, at: DateTime<FixedOffset>) -> Self {
        message.text = shorten(Cow::Owned(message.text)).into_owned();
        Self::Accepted {
            accepted: Box::new(message),
            at: at.to_rfc3339(),
        }
    }

    /// The message, if this is the record of an accepted one.
    pub fn message(&self) -> Option<&Envelope> {
        match self {
            Self::Accepted { accepted, .. } => Some(accepted),
            _ => None,
        }
    }
}

/// The state after some lines.
#[derive(Debug, Default)]
pub struct State {
    /// Ids that are recognised when they arrive again, oldest first, and whether each is of an owner's message.
    seen: VecDeque<(String, bool)>,
    waiting: Vec<Waiting>,
    /// By channel: its newest number, and when it was accepted.
    last: BTreeMap<String, (i64, String)>,
}

/// A message that is in no session's journal yet.
#[derive(Debug)]
struct Waiting {
    /// The message as it is now, but for the notes.
    message: Envelope,
    /// Shown below the text. They are kept apart so that an edit of the text does not lose them.
    notes: Vec<String>,
    at: String,
    is_begun: bool,
    /// Bytes of the lines that it needs.
    bytes: usize,
}

impl Waiting {
    fn text(&self) -> String {
        let text = Some(self.message.text.as_str()).filter(|text| !text.is_empty());
        let lines: Vec<&str> = text
            .into_iter()
            .chain(self.notes.iter().map(String::as_str))
            .collect();
        lines.join("\n")
    }

    fn envelope(&self) -> Envelope {
        Envelope {
            text: self.text(),
            ..self.message.clone()
        }
    }

    /// The lines that record it.
    fn lines(&self) -> Vec<u8> {
        let id = &self.message.id;
        let mut lines = to_line(&Record::Accepted {
            accepted: Box::new(self.message.clone()),
            at: self.at.clone(),
        });
        if !self.notes.is_empty() {
            lines.extend(to_line(&Record::Fetched {
                fetched: id.clone(),
                attachments: Vec::new(),
                notes: self.notes.clone(),
            }));
        }
        if self.is_begun {
            lines.extend(to_line(&Record::Begun { begun: id.clone() }));
        }
        lines
    }
}

impl State {
    /// Takes a line of so many bytes into account.
    pub fn apply(&mut self, record: Record, bytes: usize) {
        match record {
            Record::Accepted { accepted, at } => {
                self.note_last(&accepted.id, &at);
                self.note_seen(accepted.id.clone(), accepted.role == Role::Owner);
                self.waiting.push(Waiting {
                    message: *accepted,
                    notes: Vec::new(),
                    at,
                    is_begun: false,
                    bytes,
                });
            }
            Record::Edited { edited, text } => {
                if let Some(waiting) = self.find(&edited) {
                    waiting.message.text = text;
                    waiting.message.unmarked.clear();
                    waiting.bytes = waiting.lines().len();
                }
            }
            Record::Fetched {
                fetched,
                attachments,
                notes,
            } => {
                if let Some(waiting) = self.find(&fetched) {
                    waiting.message.attachments.extend(attachments);
                    waiting.message.remote_files.clear();
                    waiting.notes.extend(notes);
                    waiting.bytes = waiting.lines().len();
                }
            }
            Record::Begun { begun } => {
                if let Some(waiting) = self.find(&begun) {
                    waiting.is_begun = true;
                }
            }
            Record::Asked { asked } => {
                if let Some(waiting) = self.find(&asked) {
                    waiting.is_begun = false;
                }
            }
            Record::Taken { taken } => self.waiting.retain(|waiting| waiting.message.id != taken),
            Record::Seen { seen, owners, last } => {
                let owners = owners.into_iter().map(|id| (id, true));
                let others = seen.into_iter().map(|id| (id, false));
                self.seen = owners.chain(others).collect();
                self.last.clear();
                last.iter().for_each(|(id, at)| self.note_last(id, at));
            }
        }
    }

    /// Remembers an id. Each channel forgets its own oldest ones, and those of owners' messages apart: what others write
    /// does not have an owner's command taken for a new one when it arrives again.
    fn note_seen(&mut self, id: String, is_owners: bool) {
        let of = |(seen, owners): &(String, bool)| {
            *owners == is_owners && channel_of(seen) == channel_of(&id)
        };
        if self.seen.iter().filter(|one| of(one)).count() >= SEEN
            && let Some(oldest) = self.seen.iter().position(of)
        {
            self.seen.remove(oldest);
        }
        self.seen.push_back((id, is_owners));
    }

    /// Forgets that a message was accepted.
    pub fn forget(&mut self, id: &str) {
        self.seen.retain(|(seen, _)| seen != id);
    }

    /// The messages that have not been accepted before, each once.
    pub fn new_ones(&self, messages: Vec<Envelope>) -> Vec<Envelope> {
        let mut new: Vec<Envelope> = Vec::new();
        for message in messages {
            let id = &message.id;
            let is_among = |list: &[Envelope]| list.iter().any(|other| other.id == *id);
            let is_seen = || self.seen.iter().any(|(seen, _)| seen == id);
            let is_known = is_seen() || self.holds(id) || is_among(&new);
            if id.is_empty() || !is_known {
                new.push(message);
            }
        }
        new
    }

    /// Whether the message with this id is waiting, begun or not.
    pub fn holds(&self, id: &str) -> bool {
        self.waiting.iter().any(|waiting| waiting.message.id == id)
    }

    /// The record of an edit, if the message is waiting, has not been begun and has another text.
    pub fn edit(&self, session: &SessionKey, reference: &str, text: &str) -> Option<Record> {
        let text = shorten(Cow::Borrowed(text));
        let mut waiting = self.waiting.iter().rev();
        let edited = waiting.find(|waiting| {
            waiting.message.session == *session && waiting.message.reference == reference
        })?;
        let is_new = !edited.is_begun && edited.message.text != text;
        is_new.then(|| Record::Edited {
            edited: edited.message.id.clone(),
            text: text.into_owned(),
        })
    }

    /// Whether a message waits that nothing has been begun of.
    pub fn is_unread(&self, session: &SessionKey, reference: &str) -> bool {
        self.waiting.iter().any(|waiting| {
            let message = &waiting.message;
            !waiting.is_begun && message.session == *session && message.reference == reference
        })
    }

    /// The message with this id as it is now, if it is waiting.
    pub fn message(&self, id: &str) -> Option<Envelope> {
        let mut waiting = self.waiting.iter();
        let found = waiting.find(|waiting| waiting.message.id == id)?;
        Some(found.envelope())
    }

    /// The waiting messages: those that were begun, or the others.
    pub fn messages(&self, are_begun: bool) -> Vec<Envelope> {
        let chosen = self
            .waiting
            .iter()
            .filter(|waiting| waiting.is_begun == are_begun);
        chosen.map(Waiting::envelope).collect()
    }

    /// The paths of files that belong to waiting messages.
    pub fn files(&self) -> BTreeSet<String> {
        let attachments = self
            .waiting
            .iter()
            .flat_map(|waiting| &waiting.message.attachments);
        attachments.map(|file| file.path.clone()).collect()
    }

    /// The number of waiting messages.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the lines that still count.
    pub fn live_bytes(&self) -> usize {
        self.waiting.iter().map(|waiting| waiting.bytes).sum()
    }

    /// A channel's newest number, and when it was accepted.
    pub fn last_update(&self, channel: &str) -> Option<(i64, DateTime<FixedOffset>)> {
        let (number, at) = self.last.get(channel)?;
        // A time that cannot be read is long ago.
        let at = DateTime::parse_from_rfc3339(at).unwrap_or_default();
        Some((*number, at))
    }

    /// The lines of a file with this state only.
    pub fn compacted(&self) -> Vec<u8> {
        let mut lines: Vec<u8> = self.waiting.iter().flat_map(Waiting::lines).collect();
        let id_and_time = |(channel, (number, at)): (&String, &(i64, String))| {
            (format!("{channel}:{number}"), at.clone())
        };
        // After the others: waiting messages are older than what was accepted last.
        let seen = |owners: bool| {
            let chosen = self.seen.iter().filter(move |(_, of)| *of == owners);
            chosen.map(|(id, _)| id.clone()).collect()
        };
        lines.extend(to_line(&Record::Seen {
            seen: seen(false),
            owners: seen(true),
            last: self.last.iter().map(id_and_time).collect(),
        }));
        lines
    }

    fn find(&mut self, id: &str) -> Option<&mut Waiting> {
        let mut waiting = self.waiting.iter_mut();
        waiting.find(|waiting| waiting.message.id == id)
    }

    /// Keeps the newest number of a channel. The order within a batch, whose messages have one time,
    /// does not matter: an album is where its first part was and has the number of its last one.
    /// Across batches the later one counts, because a channel may begin at a lower number.
    fn note_last(&mut self, id: &str, at: &str) {
        let parts = id.split_once(':');
        let Some((channel, number)) =
            parts.and_then(|(channel, id)| Some((channel, number_of(id)?)))
        else {
            return;
        };
        let newest = match self.last.get(channel) {
            Some((known, when)) if when == at => number.max(*known),
            _ => number,
        };
        self.last
            .insert(channel.to_owned(), (newest, at.to_owned()));
    }
}

/// The channel in the id of a message.
fn channel_of(id: &str) -> &str {
    id.split(':').next().unwrap_or_default()
}

/// The number in a channel's id of a message: all of it, or what stands before a dot.
fn number_of(id: &str) -> Option<i64> {
    id.split('.').next()?.parse().ok()
}
