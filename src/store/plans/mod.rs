//! Plans: the steps of a task that several agents work on, and the board that they share. One file for each, in
//! `state/plans`; every change is forced to the disk.

mod agent;
mod board;
mod plan;
mod step;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::state::{Damaged, Policy, StateFile};
use crate::base::error::{Error, Result};

pub use agent::{Agent, CHANNEL, Part};
pub use board::{Note, TELLS, Tell};
pub use plan::{Client, Limit, Plan, STEPS, State, Why};
pub use step::{Draft, Step, StepState};

/// Bytes of a plan's file: its steps with their results, its notes and its messages, each of which is bounded.
const FILE_BYTES: usize = 512 * 1024;
/// Plans that have ended and are kept to look at, the newest ones.
const ENDED_KEPT: usize = 20;

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

    /// Adds a plan, unless there is one with its id. Returns whether it is new.
    pub fn add(&self, plan: Plan) -> Result<bool> {
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

    /// The plans, the one that was changed last first. A damaged one is left out.
    pub fn list(&self) -> Vec<Plan> {
        let plans = self.files().into_iter().filter_map(|(_, id)| {
            let read = self.get(&id);
            read.inspect_err(|error| tracing::warn!("failed to read a plan: {error}"))
                .ok()
        });
        plans.collect()
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

    /// The files, the one that was changed last first, with the ids that they are named after.
    fn files(&self) -> Vec<(SystemTime, String)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, String)> = entries
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let id = name.strip_suffix(".json").filter(|id| agent::is_id(id))?;
                Some((entry.metadata().ok()?.modified().ok()?, id.to_owned()))
            })
            .collect();
        files.sort();
        files.reverse();
        files
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
