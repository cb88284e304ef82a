//! Commands for someone who is not an owner: they leave the files of the prompt as they are.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Commands;
use crate::access::Role;
use crate::confine::Exec;
use crate::error::Result;
use crate::files::PromptPlaces;
use crate::limits::confine::SESSIONS;
use crate::sync::Mutex;

/// Numbers that are remembered: of those that have ended too.
const KEPT: usize = 8 * SESSIONS;

/// The numbers of commands in the background that were started for someone who is not an owner.
#[derive(Default)]
pub(super) struct Lesser(Mutex<BTreeSet<u32>>);

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

    /// Takes note that a command in the background is not an owner's.
    pub(super) fn note_lesser(&self, id: u32, role: Role) {
        if role < Role::Owner {
            let mut lesser = self.lesser.0.lock();
            lesser.insert(id);
            while lesser.len() > KEPT {
                lesser.pop_first();
            }
        }
    }

    /// Ends the commands in the background that are not an owner's. A file that was replaced is a new one to them,
    /// which the kernel does not protect.
    pub(in crate::tools) fn end_lesser(&self) {
        let ids = std::mem::take(&mut *self.lesser.0.lock());
        self.sessions.end_these(&ids);
    }

    /// Whether someone with a role may write to a command in the background: one of an owner may do more than
    /// they may.
    pub(super) fn may_write(&self, id: u32, role: Role) -> bool {
        role == Role::Owner || self.lesser.0.lock().contains(&id)
    }
}
