//! The records of an outbox, and the state that results from them. Pure.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::limits::outbox::ONCE_IDS_MAX;
use crate::base::message::{Address, DraftKey, OutgoingMessage, SessionKey};
use crate::store::append_log::{shorten, to_line};

use super::DRAFTS_MAX;
use super::{Backlog, ClosesTurn, Draft, Failing, Head, Pending};

/// One line. Its first member says what happened.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Record {
    /// A message was added.
    Queued {
        /// The message.
        message: Box<OutgoingMessage>,
        /// Its number.
        id: u64,
        /// See [`Pending::key`].
        key: u64,
        /// The turn that it closes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        closes: Option<ClosesTurn>,
        /// Pieces that were confirmed before the file was compacted.
        #[serde(default, skip_serializing_if = "is_zero")]
        pieces: usize,
        /// Whether it was set aside before the file was compacted.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        aside: bool,
        /// How it had failed before the file was compacted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failing: Option<Box<Failing>>,
    },
    /// The message with this number has failed.
    Failing {
        /// The number.
        failing: u64,
        /// How.
        how: Failing,
    },
    /// The message with this number is not tried before somebody asks for that, or is tried again.
    Aside {
        /// The number.
        aside: u64,
        /// Whether it is tried again.
        again: bool,
    },
    /// Pieces of the message with this number were confirmed.
    Sent {
        /// The number.
        sent: u64,
        /// How many, since the beginning.
        pieces: usize,
    },
    /// The message with this number is delivered or given up.
    Done {
        /// The number.
        done: u64,
    },
    /// A chat has become another one.
    Moved {
        /// The old address.
        moved: Address,
        /// The new one.
        to: Address,
    },
    /// Messages with these ids were added, and are delivered or given up.
    Once {
        /// See [`OutgoingMessage::once`].
        once: Vec<String>,
    },
    /// A message shows the progress of some work. It comes last: both of its other members may be
    /// missing.
    Draft {
        /// The work.
        draft: DraftKey,
        /// The chat.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Address>,
        /// The message; `None` when none shows the work any longer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

impl Record {
    /// The record of a new message. A text that is too long for a line is cut.
    pub fn queued(
        id: u64,
        key: u64,
        message: &OutgoingMessage,
        closes: Option<ClosesTurn>,
    ) -> Self {
        let text = shorten(Cow::Borrowed(&message.text)).into_owned();
        Self::Queued {
            message: Box::new(OutgoingMessage {
                text,
                ..message.clone()
            }),
            id,
            key,
            closes,
            pieces: 0,
            aside: false,
            failing: None,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Debug)]
struct Item {
    pending: Pending,
    /// Bytes of its line.
    bytes: usize,
    /// Whether the turn that it closes may not have ended: then it is not sent yet.
    is_held: bool,
    /// Whether it always failed, and delays no other message any longer.
    is_aside: bool,
    /// How it has failed.
    failing: Option<Box<Failing>>,
}

/// The state after some records.
#[derive(Debug, Default)]
pub struct State {
    /// The pending messages, oldest first.
    items: VecDeque<Item>,
    /// Which message shows which work, the newest last.
    drafts: Vec<Draft>,
    /// The ids of the last messages that may be added once only, the newest last.
    once: VecDeque<String>,
    /// The largest number so far.
    last_id: u64,
}

impl State {
    /// Takes a record into account whose line has that many bytes.
    pub fn apply(&mut self, record: Record, bytes: usize) {
        match record {
            Record::Queued {
                message,
                id,
                key,
                closes,
                pieces,
                aside,
                failing,
            } => {
                self.last_id = self.last_id.max(id);
                self.note_once(&message.once);
                self.items.push_back(Item {
                    is_held: closes.is_some(),
                    pending: Pending {
                        id,
                        key,
                        message: *message,
                        closes,
                        pieces,
                    },
                    bytes,
                    is_aside: aside,
                    failing,
                });
            }
            Record::Aside { aside, again } => {
                let mut items = self.items.iter_mut();
                if let Some(item) = items.find(|item| item.pending.id == aside) {
                    item.is_aside = !again;
                    item.failing.take_if(|_| again);
                }
            }
            Record::Failing { failing, how } => {
                let mut items = self.items.iter_mut();
                if let Some(item) = items.find(|item| item.pending.id == failing) {
                    item.failing = Some(Box::new(how));
                }
            }
            Record::Sent { sent, pieces } => {
                self.replace_draft(sent);
                let mut items = self.items.iter_mut();
                if let Some(item) = items.find(|item| item.pending.id == sent) {
                    item.pending.pieces = item.pending.pieces.max(pieces);
                    item.failing = None;
                }
            }
            Record::Done { done } => {
                self.replace_draft(done);
                self.items.retain(|item| item.pending.id != done);
            }
            Record::Moved { moved, to } => {
                let messages = self.items.iter_mut().map(|item| &mut item.pending.message);
                messages
                    .filter(|message| message.to == moved)
                    .for_each(|message| {
                        message.to.clone_from(&to);
                        message.edits.clear();
                    });
                // The messages of the old chat have no ids in the new one.
                self.drafts.retain(|draft| draft.to != moved);
            }
            Record::Once { once } => once.iter().for_each(|id| self.note_once(id)),
            Record::Draft { draft, to, message } => {
                self.drafts.retain(|other| other.key != draft);
                let shown = to.zip(message);
                self.drafts.extend(shown.map(|(to, message)| Draft {
                    key: draft,
                    to,
                    message,
                }));
                let over = self.drafts.len().saturating_sub(DRAFTS_MAX);
                self.drafts.drain(..over);
            }
        }
    }

    /// Whether a confirmation adds anything to the state.
    pub fn is_news(&self, record: &Record) -> bool {
        let is_pending = |id: u64, pieces: usize| {
            self.pending()
                .any(|pending| pending.id == id && pending.pieces < pieces)
        };
        match record {
            Record::Sent { sent, pieces } => is_pending(*sent, *pieces),
            Record::Done { done } => is_pending(*done, usize::MAX),
            Record::Failing { failing, .. } => is_pending(*failing, usize::MAX),
            Record::Aside { aside, again } => {
                let mut items = self.items.iter();
                items.any(|item| item.pending.id == *aside && item.is_aside == *again)
            }
            Record::Moved { moved, to } => {
                moved != to && self.pending().any(|pending| pending.message.to == *moved)
            }
            Record::Queued { .. } | Record::Once { .. } | Record::Draft { .. } => true,
        }
    }

    /// The pending messages, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.items.iter().map(|item| &item.pending)
    }

    /// The pending messages that are not set aside, oldest first.
    pub fn waiting(&self) -> impl Iterator<Item = &Pending> {
        let waiting = self.items.iter().filter(|item| !item.is_aside);
        waiting.map(|item| &item.pending)
    }

    /// The messages that are set aside, oldest first.
    pub fn aside(&self) -> impl Iterator<Item = &Pending> {
        let aside = self.items.iter().filter(|item| item.is_aside);
        aside.map(|item| &item.pending)
    }

    /// What a channel has to deliver.
    pub fn backlog(&self, channel: &str) -> Backlog {
        let mut backlog = Backlog::default();
        let mut seen: Vec<&Address> = Vec::new();
        let waiting = || self.items.iter().filter(|item| !item.is_aside);
        let is_urgent = |item: &&Item| item.pending.message.urgent;
        let others = waiting().filter(|item| !is_urgent(item));
        for Item {
            pending,
            is_held,
            failing,
            ..
        } in waiting().filter(is_urgent).chain(others)
        {
            let message = &pending.message;
            if message.to.channel != channel {
                continue;
            }
            let replaces = message.replaces.clone().filter(|_| pending.pieces == 0);
            backlog.replaces.extend(replaces.clone());
            if seen.contains(&&message.to) {
                continue;
            }
            seen.push(&message.to);
            if !is_held {
                let edits = Some(&message.edits).filter(|id| !id.is_empty() && pending.pieces == 0);
                backlog.heads.push(Head {
                    id: pending.id,
                    to: message.to.clone(),
                    replaces,
                    edits: edits.cloned(),
                    has_files: !message.files.is_empty(),
                    is_silent: message.silent,
                    failed: Duration::from_secs(failing.as_ref().map_or(0, |it| it.secs)),
                });
            }
        }
        backlog
    }

    /// Releases the messages that close turns which a session began before its journal had this length:
    /// these turns have ended.
    pub fn release(&mut self, session: &SessionKey, journal: u64) {
        let of_session = |item: &&mut Item| {
            let closes = item.pending.closes.as_ref();
            closes.is_some_and(|closes| closes.session == *session && closes.journal < journal)
        };
        let items = self.items.iter_mut().filter(of_session);
        items.for_each(|item| item.is_held = false);
    }

    /// The numbers of the messages that are held for the end of a session's turn.
    pub fn held(&self, session: &SessionKey) -> impl Iterator<Item = u64> {
        let is_held = |item: &&Item| {
            let closes = item.pending.closes.as_ref();
            item.is_held && closes.is_some_and(|closes| closes.session == *session)
        };
        self.items
            .iter()
            .filter(is_held)
            .map(|item| item.pending.id)
    }

    /// How a message has failed, if it has.
    pub fn failing(&self, id: u64) -> Option<&Failing> {
        let item = self.items.iter().find(|item| item.pending.id == id)?;
        item.failing.as_deref()
    }

    /// The number of the next message.
    pub fn next_id(&self) -> u64 {
        self.last_id.saturating_add(1)
    }

    /// The number of the message with an id that is known, 0 when it is no longer pending; `None` for an
    /// id that is new.
    pub fn find_once(&self, id: &str) -> Option<u64> {
        let pending = self.pending().find(|pending| pending.message.once == id);
        match pending {
            Some(pending) => Some(pending.id),
            None => self.once.iter().any(|known| known == id).then_some(0),
        }
    }

    /// Whether there are ids of messages that may be added once only.
    pub fn has_once(&self) -> bool {
        !self.once.is_empty()
    }

    fn note_once(&mut self, id: &str) {
        if id.is_empty() || self.once.iter().any(|known| known == id) {
            return;
        }
        if self.once.len() >= ONCE_IDS_MAX {
            self.once.pop_front();
        }
        self.once.push_back(id.to_owned());
    }

    /// The message that shows a piece of work.
    pub fn draft(&self, key: &DraftKey) -> Option<&str> {
        let draft = self.drafts.iter().find(|draft| draft.key == *key)?;
        Some(&draft.message)
    }

    /// The drafts, the newest last.
    pub fn drafts(&self) -> impl Iterator<Item = &Draft> {
        self.drafts.iter()
    }

    /// How many messages wait for a chat, but for those that are set aside, and the bytes of their lines.
    pub fn waiting_for(&self, chat: &Address) -> (usize, usize) {
        let waiting = self.items.iter().filter(|item| !item.is_aside);
        let here = waiting.filter(|item| item.pending.message.to == *chat);
        here.fold((0, 0), |(count, bytes), item| {
            (count + 1, bytes + item.bytes)
        })
    }

    /// Bytes of the lines of pending messages.
    pub fn live_bytes(&self) -> usize {
        self.items.iter().map(|item| item.bytes).sum()
    }

    /// The lines of a file with this state only.
    pub fn compacted(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        if !self.once.is_empty() {
            let once = self.once.iter().cloned().collect();
            lines.extend(to_line(&Record::Once { once }));
        }
        for Item {
            pending,
            is_aside,
            failing,
            ..
        } in &self.items
        {
            lines.extend(to_line(&Record::Queued {
                message: Box::new(pending.message.clone()),
                id: pending.id,
                key: pending.key,
                closes: pending.closes.clone(),
                pieces: pending.pieces,
                aside: *is_aside,
                failing: failing.clone(),
            }));
        }
        for draft in &self.drafts {
            lines.extend(to_line(&Record::Draft {
                draft: draft.key.clone(),
                to: Some(draft.to.clone()),
                message: Some(draft.message.clone()),
            }));
        }
        lines
    }

    /// With its first piece, a message that replaces a draft has taken its place.
    fn replace_draft(&mut self, id: u64) {
        let mut pending = self.items.iter().map(|item| &item.pending);
        let confirmed = pending.find(|pending| pending.id == id && pending.pieces == 0);
        if let Some(key) = confirmed.and_then(|pending| pending.message.replaces.as_ref()) {
            self.drafts.retain(|draft| draft.key != *key);
        }
    }
}
