//! Plans: the steps of a task that several agents work on, and the board that they share. One file for each, in
//! `state/plans`; every change is forced to the disk.

mod agent;
mod board;
mod plan;
mod step;

use std::fs;
use std::path::{Path, PathBuf};

use super::state::{Damaged, Policy, StateFile};
use crate::base::error::{Error, Result};
use crate::base::message::SessionKey;

pub use agent::{Agent, CHANNEL, Part};
pub use board::{Note, TELLS, Tell};
pub use plan::{Client, Limit, Plan, STEPS, State, Why};
pub use step::{Draft, Report, Step, StepState, verdict};

/// Bytes of a plan's file: its steps with their results, its notes and its messages, each of which is bounded. JSON may
/// take two bytes for each of their 300 kB.
const FILE_BYTES: usize = 2 * 1024 * 1024;
/// Plans that have ended and are kept to look at, the newest ones.
const ENDED_KEPT: usize = 20;
/// The failure of an agent whose report cannot be stored.
const UNKEPT: &str = "its report could not be stored: the plan has become too large";

/// The plans of one home folder. Each change locks the folder.
#[derive(Clone, Debug)]
pub struct Plans {
    folder: PathBuf,
}

impl Plans {
    /// Below the folder `state`.
    pub fn new(state: &Path) -> Self {
        Self {
            folder: state.join("plans"),
        }
    }

    /// The plan with this id. Fails when there is none, or its file is damaged.
    pub fn get(&self, id: &str) -> Result<Plan> {
        self.file(id)?.read()?.ok_or_else(|| missing(id))
    }

    /// Adds a plan as the newest one, unless there is one with its id. Returns whether it is new. One at a time.
    pub fn add(&self, mut plan: Plan) -> Result<bool> {
        let newest = self.list().first().map_or(0, |plan| plan.number);
        plan.number = newest.saturating_add(1);
        self.file(&plan.id)?.update(|kept| {
            let is_new = kept.is_none();
            kept.get_or_insert(plan);
            Ok(is_new)
        })
    }

    /// Changes a plan: once this returns, the change is on the disk. Nothing is written when `change` fails.
    pub fn change<R>(
        &self,
        id: &str,
        change: impl FnOnce(&mut Plan) -> Result<R>,
    ) -> Result<(Plan, R)> {
        self.file(id)?.update(|kept| {
            let plan = kept.as_mut().ok_or_else(|| missing(id))?;
            let result = change(plan)?;
            Ok((plan.clone(), result))
        })
    }

    /// Notes how an agent has ended; as a failure where there is no room for its report in the file.
    pub fn note_end(&self, agent: &Agent, report: Report<'_>) -> Result<()> {
        let note = |report| self.change(&agent.plan, |plan| Ok(plan.ended(agent, report)));
        match note(report) {
            Err(Error::TooLarge { .. }) => note(Err(UNKEPT)).map(drop),
            noted => noted.map(drop),
        }
    }

    /// The plans, the newest first. A damaged one is left out.
    pub fn list(&self) -> Vec<Plan> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let plans = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let id = name.strip_suffix(".json").filter(|id| agent::is_id(id))?;
            let read = self.get(id);
            read.inspect_err(|error| tracing::warn!("failed to read a plan: {error}"))
                .ok()
        });
        let mut plans: Vec<Plan> = plans.collect();
        plans.sort_by(|one, other| (other.number, &other.id).cmp(&(one.number, &one.id)));
        plans
    }

    /// The plan of a conversation with this id; without one the newest that has not ended, or else the newest.
    pub fn of(&self, session: &SessionKey, id: &str) -> Option<Plan> {
        let mut plans = self.list();
        plans.retain(|plan| plan.client.session == *session && (id.is_empty() || plan.id == id));
        let open = plans.iter().position(|plan| !plan.has_ended());
        plans.into_iter().nth(open.unwrap_or(0))
    }

    /// Deletes the oldest plans that have ended.
    pub fn prune(&self) {
        let ended = self.list().into_iter().filter(Plan::is_over);
        for plan in ended.skip(ENDED_KEPT) {
            let path = self.folder.join(format!("{}.json", plan.id));
            if let Err(error) = fs::remove_file(&path) {
                tracing::warn!("failed to delete {}: {error}", path.display());
            }
        }
    }

    fn file(&self, id: &str) -> Result<StateFile<Option<Plan>>> {
        if !agent::is_id(id) {
            return Err(missing(id));
        }
        let policy = Policy {
            bytes_max: FILE_BYTES,
            damaged: Damaged::Refuse,
            synced: true,
        };
        Ok(StateFile::new(
            self.folder.join(format!("{id}.json")),
            policy,
        ))
    }
}

fn missing(id: &str) -> Error {
    Error::Failed(format!("there is no plan {id:?}"))
}

#[cfg(test)]
mod tests;
