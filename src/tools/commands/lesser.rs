//! Commands for someone who is not an owner: they leave the files of the prompt as they are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock, Weak};

use super::Commands;
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::error::{Error, Result};
use crate::base::sync::Mutex;
use crate::sandbox::confine::Exec;
use crate::sandbox::files::{End, PromptPlaces, PromptSurvey};
use crate::tools::Caller;

/// What runs for someone who is not an owner.
#[derive(Default)]
pub(super) struct Lesser(Mutex<Running>);

#[derive(Default)]
struct Running {
    /// Commands in the background, by their numbers.
    sessions: BTreeMap<u32, Weak<PromptPlaces>>,
    /// What ends those in the foreground, by numbers of their own.
    others: BTreeMap<u64, (Cancel, Weak<PromptPlaces>)>,
    next: u64,
}

/// What runs a command that leaves the prompt as it is, and what has to be held until it has ended.
struct Runner {
    exec: Exec,
    kept: Arc<PromptPlaces>,
}

impl Commands {
    /// What runs a command for someone with a role, and is ended by `end`; `None` for what runs all others.
    fn runner(&self, role: Role, unsandboxed: bool, end: End) -> Result<Option<Runner>> {
        if role == Role::Owner || unsandboxed || !self.sandboxed {
            return Ok(None);
        }
        let can_write = |path: &_| self.exec.is_writable(path);
        let kept = PromptPlaces::hold(&self.workspace, &can_write, end)?;
        Ok(Some(Runner {
            exec: self.exec.protecting(&kept.paths())?,
            kept: Arc::new(kept),
        }))
    }

    /// Runs a command in the foreground for a caller. What `run` gets ends it.
    pub(super) fn run_for<T>(
        &self,
        caller: &Caller<'_>,
        unsandboxed: bool,
        run: &mut dyn FnMut(&Exec, &Cancel) -> Result<T>,
    ) -> Result<T> {
        let cancel = Cancel::new();
        let to_end = cancel.clone();
        // Until it has ended, the places are kept.
        let end = Arc::new(move || {
            to_end.cancel();
            false
        });
        let Some(runner) = self.runner(caller.role, unsandboxed, end)? else {
            return run(&self.exec, caller.cancel);
        };
        let registration = caller.cancel.on_cancel({
            let cancel = cancel.clone();
            move || cancel.cancel()
        });
        let number = {
            let mut running = self.lesser.0.lock();
            running.next += 1;
            let number = running.next;
            let kept = Arc::downgrade(&runner.kept);
            running.others.insert(number, (cancel.clone(), kept));
            number
        };
        let outcome = run(&runner.exec, &cancel);
        self.lesser.0.lock().others.remove(&number);
        drop(registration);
        if cancel.is_cancelled() && !caller.cancel.is_cancelled() {
            return Err(Error::Failed(
                "the command was ended, because files of the prompt were changed meanwhile. It can be run again"
                    .to_owned(),
            ));
        }
        outcome
    }

    /// Has a command in the background started for someone with a role. Returns its number.
    pub(super) fn start_for(
        &self,
        role: Role,
        unsandboxed: bool,
        start: impl FnOnce(&Exec, Option<Arc<PromptPlaces>>) -> Result<u32>,
    ) -> Result<u32> {
        if role == Role::Owner {
            return start(&self.exec, None);
        }
        // While it starts none is ended: it would be missed.
        let mut running = self.lesser.0.lock();
        let alive: BTreeSet<u32> = self.sessions.ids().collect();
        running.sessions.retain(|id, _| alive.contains(id));
        let started = Arc::new(OnceLock::new());
        let (known, sessions) = (Arc::clone(&started), Arc::clone(&self.sessions));
        let end = Arc::new(move || {
            let id = known.get().copied();
            id.inspect(|id| sessions.end_these(&BTreeSet::from([*id])))
                .is_some()
        });
        let (id, kept) = match self.runner(role, unsandboxed, end)? {
            Some(Runner { exec, kept }) => {
                let weak = Arc::downgrade(&kept);
                (start(&exec, Some(kept))?, weak)
            }
            None => (start(&self.exec, None)?, Weak::new()),
        };
        running.sessions.insert(id, kept);
        let _ = started.set(id);
        Ok(id)
    }

    /// Ends the commands that are not an owner's and could change what the prompt has now. A file that was replaced is
    /// a new one to them, which the kernel does not protect. Blocks until those in the background are gone.
    pub(in crate::tools) fn end_lesser(&self, now: &Result<PromptSurvey>, changed: &[String]) {
        let is_open = |kept: &Weak<PromptPlaces>| {
            let kept = kept.upgrade();
            kept.is_some_and(|kept| !kept.are_still(now, changed))
        };
        let (sessions, others) = {
            let running = self.lesser.0.lock();
            let sessions = running.sessions.iter().filter(|(_, kept)| is_open(kept));
            let sessions: BTreeSet<u32> = sessions.map(|(id, _)| *id).collect();
            let others = running.others.values().filter(|(_, kept)| is_open(kept));
            let others: Vec<Cancel> = others.map(|(cancel, _)| cancel.clone()).collect();
            (sessions, others)
        };
        for cancel in others {
            cancel.cancel();
        }
        self.sessions.end_these(&sessions);
    }

    /// Ends all that runs for people who are not owners. Returns whether anything did. Blocks until those in the background
    /// are gone.
    pub(super) fn end_others(&self) -> bool {
        let (sessions, others) = {
            let running = self.lesser.0.lock();
            let alive: BTreeSet<u32> = self.sessions.in_sandbox().into_iter().collect();
            let ids = running.sessions.keys().copied();
            let sessions: BTreeSet<u32> = ids.filter(|id| alive.contains(id)).collect();
            let others: Vec<Cancel> = running.others.values().map(|(it, _)| it.clone()).collect();
            (sessions, others)
        };
        let has_any = !sessions.is_empty() || !others.is_empty();
        others.iter().for_each(Cancel::cancel);
        self.sessions.end_these(&sessions);
        if has_any {
            tracing::info!(
                "ended what ran for people who are not owners: an owner's command outside the sandbox needs it"
            );
        }
        has_any
    }

    /// Whether someone with a role may read, write to and kill a command in the background: one of an owner may do
    /// more than they may.
    pub(super) fn may_use(&self, id: u32, role: Role) -> bool {
        let is_lesser = self.lesser.0.lock().sessions.contains_key(&id);
        role.may_change(if is_lesser { Role::User } else { Role::Owner })
    }
}
