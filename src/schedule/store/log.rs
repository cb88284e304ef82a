//! The lines of `runs.jsonl`: a run begins, a run ends. Pure.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::file::Contents;
use super::{RUNS_KEPT, RUNS_KEPT_MIN};
use crate::base::json;
use crate::schedule::job::{Run, State, Status, is_true};
use crate::store::append_log::to_line;

/// Runs that are remembered for all jobs: with many jobs each keeps fewer.
const RUNS_KEPT_IN_ALL: usize = 5000;

/// A line: that a run has begun ([`Status::Running`]), or how it ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RunEvent {
    /// Each line has a higher number than the one before, also over the foldings of the log.
    #[serde(default)]
    pub n: u64,
    /// The job's.
    pub id: String,
    /// When the run should have begun.
    pub planned: i64,
    /// When this happened.
    pub at: i64,
    pub status: Status,
    /// How long the run took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(
        default,
        deserialize_with = "is_true",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub unshown: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl RunEvent {
    /// Reads a line. One that a crash has torn is `None`.
    pub fn parse(line: &[u8]) -> Option<Self> {
        json::from_slice(line).ok()
    }
}

/// The log after its lines went into the file of jobs: the newest line of each job, at most `count` of them.
/// An older copy of that file, which an editor or a backup brings back, does not know these runs; its own
/// number tells that the lines are news to it. So no run is repeated, also of a job that was removed meanwhile.
pub(super) fn newest_of_each(log: &[u8], count: usize) -> Vec<u8> {
    let mut newest: BTreeMap<String, RunEvent> = BTreeMap::new();
    for event in log.split(|byte| *byte == b'\n').filter_map(RunEvent::parse) {
        newest.insert(event.id.clone(), event);
    }
    let mut newest: Vec<RunEvent> = newest.into_values().collect();
    newest.sort_by_key(|event| event.n);
    let over = newest.len().saturating_sub(count);
    newest.iter().skip(over).flat_map(to_line).collect()
}

/// Brings the states of the jobs up to the log's lines. Those of removed jobs are ignored.
pub(super) fn replay(log: &[u8], contents: &mut Contents) {
    let folded_to = contents.folded_to;
    let events = log.split(|byte| *byte == b'\n').filter_map(RunEvent::parse);
    let events = events.filter(|event| event.n > folded_to);
    let jobs = contents.jobs.iter_mut();
    let mut states: HashMap<String, &mut State> =
        jobs.map(|job| (job.id.clone(), &mut job.state)).collect();
    for event in events {
        contents.folded_to = contents.folded_to.max(event.n);
        if let Some(state) = states.get_mut(&event.id) {
            apply(event, state);
        }
    }
    let kept = (RUNS_KEPT_IN_ALL / states.len().max(1)).clamp(RUNS_KEPT_MIN, RUNS_KEPT);
    for state in states.into_values() {
        let over = state.runs.len().saturating_sub(kept);
        state.runs.drain(..over);
    }
}

fn apply(event: RunEvent, state: &mut State) {
    if event.status == Status::Running {
        state.note_planned(event.planned);
        state.last_run_at_ms = Some(event.at);
        state.runs.push(Run {
            planned_ms: event.planned,
            begun_ms: event.at,
            status: Status::Running,
            ..Run::default()
        });
    } else {
        let is_meant =
            |run: &&mut Run| run.planned_ms == event.planned && run.status == Status::Running;
        let run = match state.runs.iter_mut().rev().find(is_meant) {
            Some(run) => run,
            None => {
                // It was never begun, such as one that is skipped.
                state.note_planned(event.planned);
                state.runs.push(Run {
                    planned_ms: event.planned,
                    begun_ms: event.at,
                    ..Run::default()
                });
                let Some(run) = state.runs.last_mut() else {
                    return;
                };
                run
            }
        };
        run.duration_ms = event.ms;
        run.unshown = event.unshown;
        if run.undelivered {
            // Something that it said while it ran.
            run.status = Status::Failed;
        } else {
            run.status = event.status;
            // A message of it may have been refused while it ran.
            run.error = event.error.or_else(|| run.error.take());
        }
        state.last_error.clone_from(&run.error);
        state.last_status = Some(run.status);
        return trim(state);
    }
    state.last_status = Some(event.status);
    trim(state);
}

fn trim(state: &mut State) {
    // A log that was never folded has many.
    if state.runs.len() > 2 * RUNS_KEPT {
        state.runs.drain(..RUNS_KEPT);
    }
}
