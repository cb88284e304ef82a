//! How a turn came out.

use std::borrow::Cow;

use crate::agent::turn::Ending;
use crate::base::chat::Usage;
use crate::base::error::Error;

/// How a turn came out.
#[derive(Debug)]
pub enum Outcome {
    /// The model answered.
    Answered,
    /// A limit of the turn ended it; the text says which.
    Bounded(Ending),
    /// The person or a signal stopped it.
    Stopped,
    /// It failed. Nothing of the error is in the journal.
    Failed(Error),
}

/// The outcome of a turn and what led to it.
#[derive(Debug)]
pub struct Report {
    /// How it came out.
    pub outcome: Outcome,
    /// The model's answer; empty when there is none.
    pub text: String,
    /// Why a turn that was neither stopped nor failed has no whole answer; else empty.
    pub account: String,
    /// Questions that the model was asked.
    pub steps: u32,
    /// The tools that were used, in order, as hints.
    pub tools: Vec<String>,
    /// Tokens and cost.
    pub usage: Usage,
    /// Tokens of the last request and its answer: what the conversation takes of the model's window.
    pub context: u64,
    /// The provider and the model that answered last.
    pub spoke: Option<(String, String)>,
    /// Why no model answered, when the offline helper stood in for them.
    pub failure: Option<Error>,
}

impl Report {
    /// The answer as a person in a chat gets it: the model's text, and the account of a turn that was cut
    /// short below it.
    pub fn full_text(&self) -> Cow<'_, str> {
        match (self.text.as_str(), self.account.as_str()) {
            (text, "") => Cow::Borrowed(text),
            ("", account) => Cow::Borrowed(account),
            (text, account) => Cow::Owned(format!("{text}\n\n{account}")),
        }
    }
}
