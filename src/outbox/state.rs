//! What the lines of an outbox come to. Pure.

use std::borrow::Cow;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::append_log::{shorten, to_line};
use crate::limits::outbox::DRAFTS;
use crate::message::{Address, OutgoingMessage};

use super::Owed;

/// One line. Which member is there says what happened.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Fact {
    /// A parcel is owed.
    Owed {
        /// What is to be sent.
        owed: OutgoingMessage,
        /// Its number.
        id: u64,
        /// The length of its session's journal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// Pieces that were confirmed before the file was written anew.
        #[serde(default, skip_serializing_if = "is_zero")]
        pieces: usize,
    },
    /// So many pieces of the parcel of this number were confirmed.
    Sent {
        /// The number.
        sent: u64,
        /// How many.
        pieces: usize,
    },
    /// All of the parcel of this number was confirmed.
    Done {
        /// The number.
        done: u64,
    },
    /// A message of a chat shows the running turn.
    Draft {
        /// The chat.
        draft: Address,
        /// The message; none when it shows it no more.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

impl Fact {
    /// The fact that a parcel is owed. A text that is too long for a line is cut.
    pub fn owed(id: u64, parcel: &OutgoingMessage, turn: Option<u64>) -> Self {
        let text = shorten(Cow::Borrowed(&parcel.text)).into_owned();
        Self::Owed {
            owed: OutgoingMessage {
                text,
                ..parcel.clone()
            },
            id,
            turn,
            pieces: 0,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if hands over a reference"
)]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A parcel that is owed.
#[derive(Debug)]
struct Item {
    owed: Owed,
    /// Bytes of its line.
    bytes: usize,
    /// Whether the turn that it closes may not have ended: then it is not sent yet.
    is_held: bool,
}

/// What is known after some lines.
#[derive(Debug, Default)]
pub struct State {
    /// What is owed, oldest first.
    items: VecDeque<Item>,
    /// Which message shows the running turn of a chat, the newest last.
    drafts: Vec<(Address, String)>,
    /// The largest number so far.
    last_id: u64,
}

impl State {
    /// Takes a line of so many bytes into account.
    pub fn apply(&mut self, fact: Fact, bytes: usize) {
        match fact {
            Fact::Owed {
                owed,
                id,
                turn,
                pieces,
            } => {
                self.last_id = self.last_id.max(id);
                let owed = Owed {
                    id,
                    parcel: owed,
                    turn,
                    pieces,
                };
                self.items.push_back(Item {
                    is_held: turn.is_some(),
                    owed,
                    bytes,
                });
            }
            Fact::Sent { sent, pieces } => {
                self.replace_draft(sent);
                let mut owed = self.items.iter_mut().map(|item| &mut item.owed);
                if let Some(owed) = owed.find(|owed| owed.id == sent) {
                    owed.pieces = owed.pieces.max(pieces);
                }
            }
            Fact::Done { done } => {
                self.replace_draft(done);
                self.items.retain(|item| item.owed.id != done);
            }
            Fact::Draft { draft, message } => {
                self.drafts.retain(|(chat, _)| *chat != draft);
                self.drafts.extend(message.map(|message| (draft, message)));
                let over = self.drafts.len().saturating_sub(DRAFTS);
                self.drafts.drain(..over);
            }
        }
    }

    /// Whether a confirmation says more than what is known.
    pub fn is_news(&self, fact: &Fact) -> bool {
        let is_owed = |id: u64, pieces: usize| {
            self.owed()
                .any(|owed| owed.id == id && owed.pieces < pieces)
        };
        match fact {
            Fact::Sent { sent, pieces } => is_owed(*sent, *pieces),
            Fact::Done { done } => is_owed(*done, usize::MAX),
            Fact::Owed { .. } | Fact::Draft { .. } => true,
        }
    }

    /// What is owed, oldest first.
    pub fn owed(&self) -> impl Iterator<Item = &Owed> {
        self.items.iter().map(|item| &item.owed)
    }

    /// What may be sent, oldest first: nothing that is held, and nothing of its chat behind it.
    pub fn sendable(&self) -> impl Iterator<Item = &Owed> {
        let mut held = Vec::new();
        let sendable = self.items.iter().filter(move |item| {
            let chat = &item.owed.parcel.to;
            if item.is_held {
                held.push(chat);
            }
            !held.contains(&chat)
        });
        sendable.map(|item| &item.owed)
    }

    /// The oldest parcel that may be sent to a chat that is wanted.
    pub fn next(&self, is_wanted: impl Fn(&Address) -> bool) -> Option<&Owed> {
        self.sendable().find(|owed| is_wanted(&owed.parcel.to))
    }

    /// The turns of a chat have ended, or never will: what closes them may be sent.
    pub fn release(&mut self, chat: &Address) {
        let of_chat = |item: &&mut Item| item.owed.parcel.to == *chat;
        let items = self.items.iter_mut().filter(of_chat);
        items.for_each(|item| item.is_held = false);
    }

    /// The number of the next parcel.
    pub fn next_id(&self) -> u64 {
        self.last_id + 1
    }

    /// The message that shows the running turn of a chat.
    pub fn draft(&self, chat: &Address) -> Option<&str> {
        let mut drafts = self.drafts.iter();
        let (_, message) = drafts.find(|(other, _)| other == chat)?;
        Some(message)
    }

    /// Bytes of the lines of what is owed.
    pub fn live_bytes(&self) -> usize {
        self.items.iter().map(|item| item.bytes).sum()
    }

    /// The lines of a file that says the same and nothing that is over.
    pub fn compacted(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        for owed in self.owed() {
            lines.extend(to_line(&Fact::Owed {
                owed: owed.parcel.clone(),
                id: owed.id,
                turn: owed.turn,
                pieces: owed.pieces,
            }));
        }
        for (chat, message) in &self.drafts {
            lines.extend(to_line(&Fact::Draft {
                draft: chat.clone(),
                message: Some(message.clone()),
            }));
        }
        lines
    }

    /// With the first piece of a parcel that replaces the draft, the draft has become the answer.
    fn replace_draft(&mut self, id: u64) {
        let mut owed = self.items.iter().map(|item| &item.owed);
        let confirmed = owed.find(|owed| owed.id == id && owed.pieces == 0);
        if let Some(parcel) = confirmed.map(|owed| &owed.parcel)
            && parcel.replaces_draft
        {
            self.drafts.retain(|(chat, _)| *chat != parcel.to);
        }
    }
}
