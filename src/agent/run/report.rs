//! How a turn came out.

use std::borrow::Cow;

use super::Run;
use crate::agent::texts;
use crate::agent::turn::{Decision, Ending};
use crate::base::access::Role;
use crate::base::chat::{Entry, EntryKind, Reply, ToolResult, Usage};
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::store::session::conversation::{STOPPED_NOTE, STOPPED_OUTCOME};
use crate::store::session::line::TurnEnd;
use crate::store::session::{Retry, Session};

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
    /// Why a turn that was neither stopped nor failed has no whole answer, or what speaks against it; else empty.
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

impl Run<'_> {
    /// Journals a reply. The closing one waits, to be written together with the turn's end.
    pub(super) fn keep(&mut self, reply: &Reply, decision: &Decision) -> Result<()> {
        if *decision == Decision::Use {
            // Text beside calls is not part of the answer.
            self.report.text.clear();
            return self.append(Entry::of_reply(reply));
        }
        if reply.text.trim().is_empty() {
            return Ok(());
        }
        // Half a call is dropped; a cut-off text is the beginning of the answer.
        let entry = Entry {
            tool_calls: Vec::new(),
            ..Entry::of_reply(reply)
        };
        self.report.text.push_str(&reply.text);
        match decision {
            Decision::End(_) => self.closing = Some(entry),
            _ => self.append(entry)?,
        }
        Ok(())
    }

    /// Counts what the requests took that were made last.
    pub(super) fn count_spent(&mut self) {
        let spent = self.agent.count(&mut self.models, self.payer);
        self.report.usage.add(spent);
        if !self.host.spent(spent) {
            self.tokens_max = 0;
        }
    }

    /// Ends a turn that the person has stopped, with what the model had said by then.
    pub(super) fn stop(&mut self) -> Result<Outcome> {
        let mut partial = std::mem::take(&mut self.partial);
        self.host.stopped(&partial);
        if self.session.conversation().proposed().is_some() {
            // The journal has it.
            partial.clear();
        }
        self.write(|session, retry| end_stopped(session, partial, retry))?;
        Ok(Outcome::Stopped)
    }

    /// A failure for the person for whom the turn is.
    pub(super) fn describe(&self, error: &Error) -> String {
        describe_failure(error, self.role, self.language)
    }
}

/// Journals that the person has stopped the unfinished turn.
pub(in crate::agent) fn end_stopped(
    session: &mut Session,
    mut partial: String,
    retry: &mut Retry<'_>,
) -> Result<()> {
    for call in session.unanswered() {
        let stopped = ToolResult::failed(STOPPED_OUTCOME);
        session.append_with(Entry::of_result(&call, stopped), retry)?;
    }
    if !partial.trim().is_empty() {
        partial.push('\n');
    }
    // Even if the model had not said anything: else the next turn would do what was stopped.
    partial.push_str(STOPPED_NOTE);
    let last = Entry::new(EntryKind::Assistant, partial);
    session.end_turn_with(Some(last), TurnEnd::Stopped, retry)
}

/// A failure for a person, in their language. People other than owners hear what to do, without details.
pub fn describe_failure(error: &Error, role: Role, language: Language) -> String {
    match error {
        Error::Model(error) => error.describe_for(role, language),
        Error::Usage(_) | Error::TooLarge { .. } | Error::Stopped => error.to_string(),
        _ if role == Role::Owner => error.to_string(),
        _ => texts::failed_for_others(language).to_owned(),
    }
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
