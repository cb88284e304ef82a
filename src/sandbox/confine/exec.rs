//! Running one command in the foreground, from its policy to its outcome.

use std::time::Duration;

use super::explain::View;
use super::run::{Outcome, Output};
use super::session::feed;
use super::{Exec, Invocation, ShellCommand, policy};
use crate::base::cancel::Cancel;
use crate::base::error::Result;

impl Exec {
    /// Runs a command and waits for it, at most `timeout`. When it ends, is cancelled or its time is
    /// over, every process that it started is killed, those in the background too. `output` gets
    /// what comes, and the whole of what is longer than `limits::confine::OUTPUT_BYTES`.
    ///
    /// An error means that the command did not run.
    pub fn run(
        &self,
        command: &ShellCommand<'_>,
        timeout: Duration,
        cancel: &Cancel,
        output: Output<'_>,
    ) -> Result<Outcome> {
        let invocation = Invocation {
            command,
            input: None,
            shown: &[],
        };
        self.run_with(&invocation, timeout, cancel, output)
    }

    /// The same for a command that gets more than the settings say.
    pub fn run_with(
        &self,
        invocation: &Invocation<'_>,
        timeout: Duration,
        cancel: &Cancel,
        output: Output<'_>,
    ) -> Result<Outcome> {
        let Invocation {
            command,
            input,
            shown,
        } = *invocation;
        let mut policy = self.policy_for(command)?;
        policy.keep_input = input.is_some();
        policy.read.extend(policy::real(shown));
        let mut running = self.start(&policy)?;
        if let (Some(input), Some(mut pipe)) = (input, running.input.take()) {
            // What is not read is the command's own business.
            let _ = feed(&mut pipe, input);
        }
        let mut outcome = running
            .follow(timeout, cancel, output)
            .inspect_err(|_| self.forget_isolation())?;
        let text = outcome.output.text();
        let view = View::new(&policy, self.settings.account_home.as_deref());
        if let Some(reason) = view.explain(command.line, &outcome.end, &text) {
            outcome.notes.push(reason.note);
            outcome.needs_more = reason.needs_more;
        }
        Ok(outcome)
    }
}
