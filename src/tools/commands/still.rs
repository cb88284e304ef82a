//! Keeping files as they are while a command that a person allowed runs outside the sandbox: the agent must not change
//! what it reads.

use super::{Commands, Request, bound};
use crate::base::access::Role;
use crate::base::error::{Error, Result};
use crate::sandbox::confine::Writing;
use crate::tools::Caller;

impl Commands {
    /// Begins a change of files; not while a command outside the sandbox may read them.
    pub(in crate::tools) fn change_files(&self) -> Result<Writing> {
        self.exec.changes().write()
    }

    /// Stops everything that changes files for agents until the request is over: checking what a command reads comes to
    /// nothing if that can be changed behind the check. What reads nothing that they can write does without.
    pub(super) fn hold_still(&self, request: &mut Request, caller: &Caller<'_>) -> Result<()> {
        if request.is_background || bound::ignores_folder(&request.command) {
            return Ok(());
        }
        self.shells.end_idle();
        let hold = || self.exec.changes().hold(caller.cancel);
        request.held = hold();
        // Where nothing can be frozen, no one who is not an owner keeps an owner waiting.
        if request.held.is_none() && caller.role == Role::Owner && self.end_others() {
            request.held = hold();
        }
        if request.held.is_some() {
            return Ok(());
        }
        let running = self.sessions.in_sandbox();
        let what = match running.is_empty() {
            true => "another command in the sandbox could change what it reads; try again when it has ended".to_owned(),
            false => format!(
                "commands in the background could change what it reads. These sessions have to end first: {running:?}"
            ),
        };
        Err(Error::Failed(format!("the command was not run: {what}")))
    }
}
