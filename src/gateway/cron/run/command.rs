//! A run that is a command: without a model, and with no more rights than `/sh` has.

use std::sync::Arc;

use super::{Claim, JobRun, STOPPED, no_chat, outcome, own_session};
use crate::base::access::Role;
use crate::base::approval::{Answer, Question};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::gateway::Gateway;
use crate::gateway::shell::format_output;
use crate::schedule::{RunOutcome, Status};
use crate::text::markup::plain;
use crate::tools::Caller;
use crate::tools::commands::{TypedCommand, ask_and_retry};

/// Why a command that needs an approval does not run.
const UNATTENDED: &str = "it would run outside the sandbox or be risky, and no one is asked about a command that \
    is planned";

impl Gateway {
    /// Runs the command of a job, confined as `/sh` does it.
    pub(super) fn run_command_job(self: &Arc<Self>, claim: &Claim) {
        let run = &claim.run;
        let watch = Stopwatch::start();
        if let Err(error) = self.begin_run(run) {
            return claim.not_begun(&error);
        }
        let ended = self
            .try_command_job(run)
            .unwrap_or_else(|error| outcome(Status::Failed, Some(error.to_string())));
        let ended = match run.cancel.is_cancelled() {
            // It was ended with the gateway: the next start decides.
            true if self.is_stopping() => return,
            true => outcome(Status::Skipped, Some(STOPPED.to_owned())),
            false => ended,
        };
        self.end_run(run, ended, &watch);
    }

    fn try_command_job(self: &Arc<Self>, run: &JobRun) -> Result<RunOutcome> {
        let hosted = self.agent_of_run(run)?;
        let (agent, session) = (hosted.agent()?, own_session(&run.job.id));
        let cancel = run.cancel.clone();
        // As with /sh; a space after it makes it the shell's own negation.
        let message = run.job.payload.message.trim();
        let outside = message.strip_prefix('!');
        let outside = outside.filter(|line| !line.starts_with(char::is_whitespace));
        let typed = TypedCommand {
            line: outside.unwrap_or(message),
            unsandboxed: outside.is_some(),
            language: run.language,
        };
        // No owner is there to whom something was allowed.
        let caller = Caller::new(session.as_str(), Role::User, "", &cancel);
        let toolbox = agent.toolbox();
        let ask = |question: &Question| Ok(question.unattended());
        let ran = ask_and_retry(&caller, typed.language, ask, |caller| {
            let ran = toolbox.shell(typed, caller, &mut |_| {});
            let is_unattended = matches!(caller.answer, Some((_, Answer::Unattended)));
            ran.map_err(|error| match is_unattended {
                true => Error::Failed(UNATTENDED.to_owned()),
                false => error,
            })
        })?;
        let ended = if ran.is_success {
            outcome(Status::Ok, None)
        } else {
            outcome(Status::Failed, Some(ran.end.clone()))
        };
        let has_output = !ran.output.trim().is_empty();
        if run.goes_to_file() && has_output {
            self.write_result(&hosted, run, &ran.output)?;
        }
        // A failure that lasts is told once.
        let is_news = if ran.is_success {
            has_output
        } else {
            !run.was_failing
        };
        if run.goes_to_chat() && is_news && !cancel.is_cancelled() {
            let to = run.to.as_ref().ok_or_else(no_chat)?;
            let mut message = format_output(to, ran, run.language);
            message.text = run.with_late(format!("**{}**\n{}", plain(run.name()), message.text));
            for file in &mut message.files {
                *file = hosted.absolute(file);
            }
            self.deliver_result(run, message)?;
        }
        Ok(ended)
    }
}
