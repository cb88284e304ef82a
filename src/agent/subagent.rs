//! A subagent: a turn of its own for one task. It has a short prompt, sees nothing of the conversation, and its
//! last answer is the report.

use super::host::{TurnEvent, TurnHost, TurnOptions};
use super::{Agent, Outcome, Report};
use crate::base::access::Role;
use crate::base::approval::{Answer, Question};
use crate::base::cancel::Cancel;
use crate::base::chat::{InputAnswer, InputRequest, SpawnRequest, ToolResult, Usage};
use crate::base::error::{Error, Result};
use crate::base::limits::agent::subagent::{JOURNALS_KEPT, REPORT_BYTES};
use crate::base::message::{Envelope, SessionKey};
pub use crate::store::plans::CHANNEL;
use crate::store::session::{Session, store};
use crate::sys::random;
use crate::text::ellipsize_bytes;

/// Questions to the model that one subagent may take.
pub(super) const STEPS: u32 = 15;
/// Tokens that one may use, read and written together: its steps with a window of 20,000 each.
pub(super) const TOKENS: u64 = 300_000;

/// A task that is done within the call that gives it.
pub(super) struct Inline<'a> {
    /// The task.
    pub request: &'a SpawnRequest,
    /// What the person may do for whom it is done.
    pub role: Role,
    /// The conversation of the call. The task's journal is beside its own.
    pub beside: &'a Session,
}

/// The key of a new subagent's conversation, such as `subagent:1f93a0c2`.
pub fn new_key() -> Result<SessionKey> {
    let id = u32::from_ne_bytes(random::bytes()?);
    Ok(SessionKey::parse(&format!("{CHANNEL}:{id:08x}")))
}

/// The report of a turn that has ended: its last answer, or why there is none.
pub fn report_of(report: Report) -> Result<String> {
    match report.outcome {
        Outcome::Answered | Outcome::Bounded(_) => {
            Ok(ellipsize_bytes(&report.full_text(), REPORT_BYTES).into_owned())
        }
        Outcome::Stopped => Err(Error::Stopped),
        Outcome::Failed(error) => Err(error),
    }
}

impl Agent {
    /// Does a task within a call, and returns the call's result, which is its report, with what it cost. The host is asked where a
    /// person has to be, and shows what is done.
    pub(super) fn run_inline(
        &self,
        task: Inline<'_>,
        host: &mut dyn TurnHost,
        cancel: &Cancel,
    ) -> Result<(ToolResult, Usage)> {
        let key = new_key()?;
        let mut session = task.beside.open_beside(&key)?;
        let message = Envelope {
            role: task.role,
            ..Envelope::typed(&key, &task.request.task)
        };
        let mut host = InlineHost(host);
        let report = self.run(&mut session, Some(&message), &mut host, cancel);
        self.end_background(&key);
        let is_talk = session.only_said("");
        drop(session);
        let prefix = format!("{CHANNEL}_");
        if let Err(error) = store::delete_oldest(task.beside.folder(), &prefix, JOURNALS_KEPT) {
            tracing::warn!("failed to delete old journals of subagents: {error}");
        }
        let report = report?;
        let usage = report.usage;
        let result = ToolResult {
            is_talk,
            ..ToolResult::new(report_of(report)?)
        };
        Ok((result, usage))
    }
}

/// The host of a task within a call: that of the call, except for what the subagent says.
struct InlineHost<'a>(&'a mut dyn TurnHost);

impl TurnHost for InlineHost<'_> {
    fn prompt_changed(&mut self, paths: &[String]) {
        self.0.prompt_changed(paths);
    }

    fn options(&self) -> TurnOptions {
        TurnOptions {
            is_subagent: true,
            payer: self.0.options().payer,
            ..TurnOptions::default()
        }
    }

    fn on_event(&mut self, event: TurnEvent<'_>) {
        // Its words are not the answer.
        let is_said = matches!(
            event,
            TurnEvent::Delta(_) | TurnEvent::Said(_) | TurnEvent::Bounded(_)
        );
        if !is_said {
            self.0.on_event(event);
        }
    }

    fn ask(&mut self, question: &Question, cancel: &Cancel) -> Answer {
        self.0.ask(&question.of_subagent(), cancel)
    }

    fn input(&mut self, request: &InputRequest, role: Role, cancel: &Cancel) -> InputAnswer {
        self.0.input(request, role, cancel)
    }

    fn retry_write(&mut self, error: &Error, cancel: &Cancel) -> bool {
        self.0.retry_write(error, cancel)
    }
}
