//! Commands for someone who is not an owner: they leave the files of the prompt as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Commands;
use crate::access::Role;
use crate::cancel::Cancel;
use crate::confine::Exec;
use crate::error::{Error, Result};
use crate::files::PromptPlaces;
use crate::sync::Mutex;
use crate::tools::Caller;

/// What runs for someone who is not an owner.
#[derive(Default)]
pub(super) struct Lesser(Mutex<Running>);

#[derive(Default)]
struct Running {
    /// Commands in the background, by their numbers.
    sessions: BTreeSet<u32>,
    /// What ends those in the foreground, by numbers of their own.
    others: BTreeMap<u64, Cancel>,
    next: u64,
}

impl Commands {
    /// What runs a command for someone with a role, and what has to be held until it has ended.
    pub(super) fn runner(
        &self,
        role: Role,
        unsandboxed: bool,
    ) -> Result<(&Exec, Option<Arc<PromptPlaces>>)> {
        if role == Role::Owner || unsandboxed || !self.sandboxed {
            return Ok((&self.exec, None));
        }
        let kept = PromptPlaces::hold(&self.workspace)?;
        Ok((&self.keeping, Some(kept)))
    }

    /// Runs a command in the foreground for a caller. What `run` gets ends it.
    pub(super) fn run_for<T>(
        &self,
        caller: &Caller<'_>,
        unsandboxed: bool,
        run: impl FnOnce(&Exec, &Cancel) -> Result<T>,
    ) -> Result<T> {
        let (exec, kept) = self.runner(caller.role, unsandboxed)?;
        if kept.is_none() {
            return run(exec, caller.cancel);
        }
        let cancel = Cancel::new();
        let registration = caller.cancel.on_cancel({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        let number = {
            let mut running = self.lesser.0.lock();
            running.next += 1;
            let number = running.next;
            running.others.insert(number, cancel.clone());
            number
        };
        let outcome = run(exec, &cancel);
        self.lesser.0.lock().others.remove(&number);
        drop(registration);
        if cancel.is_cancelled() && !caller.cancel.is_cancelled() {
            return Err(Error::Failed(
                "the command was ended, because an owner has changed files of the prompt meanwhile. It can be run again"
                    .to_owned(),
            ));
        }
        outcome
    }

    /// Has a command in the background started for someone with a role. Returns its number.
    pub(super) fn start_for(&self, role: Role, start: impl FnOnce() -> Result<u32>) -> Result<u32> {
        if role == Role::Owner {
            return start();
        }
        // While it starts none is ended: it would be missed.
        let mut running = self.lesser.0.lock();
        let alive: BTreeSet<u32> = self.sessions.ids().collect();
        running.sessions.retain(|id| alive.contains(id));
        let id = start()?;
        running.sessions.insert(id);
        Ok(id)
    }

    /// Ends the commands that are not an owner's. A file that was replaced is a new one to them, which the kernel does
    /// not protect. Blocks until those in the background are gone.
    pub(in crate::tools) fn end_lesser(&self) {
        let (sessions, others) = {
            let mut running = self.lesser.0.lock();
            let others: Vec<Cancel> = running.others.values().cloned().collect();
            (std::mem::take(&mut running.sessions), others)
        };
        for cancel in others {
            cancel.cancel();
        }
        self.sessions.end_these(&sessions);
    }

    /// Whether someone with a role may write to a command in the background: one of an owner may do more than
    /// they may.
    pub(super) fn may_write(&self, id: u32, role: Role) -> bool {
        role == Role::Owner || self.lesser.0.lock().sessions.contains(&id)
    }
}
