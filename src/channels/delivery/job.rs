//! What the plan and the workers exchange: jobs, outcomes and reports.

use std::time::Duration;

use super::question::{ChatQuestion, Settled};
use super::work::DraftText;
use crate::base::message::{Address, DraftKey};
use crate::channels::kit::adapter::Failure;

/// What a worker does with one or a few calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Send the next piece of a message of the outbox.
    Deliver {
        to: Address,
        id: u64,
        /// The draft that the message replaces, and the message that shows it.
        replaces: Option<DraftKey>,
        edits: Option<String>,
        has_files: bool,
    },
    /// Set aside a message of the outbox that has always failed.
    SetAside { to: Address, id: u64, why: String },
    /// Delete a draft.
    Delete {
        to: Address,
        key: DraftKey,
        message: String,
        /// Whether it is to be shown again, below what comes now.
        again: bool,
    },
    /// Show a draft: edit its message, or send one.
    Show {
        to: Address,
        key: DraftKey,
        text: DraftText,
        message: Option<String>,
        /// The number of the preview that may show it.
        preview: Option<u32>,
    },
    /// Delete a message of a person's.
    Remove { to: Address, message: String },
    /// Send the next piece of a notice.
    Notify {
        to: Address,
        serial: u64,
        content: Content,
        piece: usize,
    },
    /// Write the outcome below a question.
    Settle {
        to: Address,
        serial: u64,
        content: Content,
        message: String,
        settled: Settled,
    },
    /// React to a message.
    React { to: Address, message: String },
    /// Show "typing".
    Type { to: Address },
    /// Register the slash commands.
    SetMenu,
}

/// A job that was taken, until [`Plan::finish`](super::plan::Plan::finish).
#[derive(Debug)]
pub(super) struct Ticket {
    pub job: Job,
    /// Whether it may take long.
    pub is_slow: bool,
    /// When it was taken.
    pub begun: Duration,
}

/// How a job ended.
#[derive(Debug)]
pub(super) enum Outcome {
    Done {
        /// The id of the message that was sent, if one was.
        message: Option<String>,
        /// Whether that was the last piece.
        is_last: bool,
    },
    /// It is shown, and is no message.
    Previewed,
    /// It will never succeed, or is no longer needed.
    Dropped,
    /// The chat has become another one, and its messages follow.
    Moved,
    RetryAfter(Duration),
    Trouble(String),
    Down(String),
    Stopped,
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::RetryAfter(time) => Self::RetryAfter(time),
            Failure::Trouble(why) => Self::Trouble(why),
            Failure::Local(error) => Self::Trouble(error.to_string()),
            Failure::Down(why) => Self::Down(why),
            Failure::Stopped => Self::Stopped,
            Failure::Markup(_)
            | Failure::NotModified
            | Failure::MessageGone
            | Failure::TooLong
            | Failure::Gone { .. }
            | Failure::Refused(_) => Self::Dropped,
        }
    }
}

/// An event for the log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The channel cannot be reached.
    Down { why: String },
    /// The channel is reached again.
    Back,
    /// The channel rate-limits a chat.
    RateLimited { to: Address, wait: Duration },
    /// A message could not be sent, for the first time in a row or again.
    Trouble {
        to: Address,
        why: String,
        is_first: bool,
        /// A message of the outbox of which is to be noted for how long it has failed.
        failing: Option<(u64, Duration)>,
    },
    /// A draft, a reaction or "typing" was not shown.
    NotShown { to: Address, why: String },
    /// The menu of commands was not set.
    NoMenu { why: String },
}

/// What there is to do.
#[derive(Debug)]
pub(super) enum Next<T> {
    Do(T),
    /// Nothing before then.
    At(Duration),
    /// Nothing before something happens.
    Nothing,
}

/// What a notice says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A question that asks for approval.
    Question(Box<ChatQuestion>),
    /// A text that could not be put into the outbox, as Markdown.
    Text(String),
}
