//! Whether a job is due, and when it will be: PURE.

use crate::zone::Zone;

use super::schedule::{Phase, Schedule};

/// What of a job decides whether it is due. All times are milliseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    /// When it runs.
    pub schedule: &'a Schedule,
    /// Its id.
    pub id: &'a str,
    /// Whether a run whose time passed while nothing ran is made up for.
    pub catch_up: bool,
    /// When it was created.
    pub created_ms: i64,
    /// The planned time of the last run that was begun, or the time up to which missed runs were dealt
    /// with.
    pub last_planned_ms: Option<i64>,
    /// The planned time of a run that was begun and never ended.
    pub interrupted_ms: Option<i64>,
}

/// What is to be done about a job now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The run to begin now.
    pub run: Option<Planned>,
    /// Missed runs up to this time are skipped; it becomes the job's `last_planned_ms`.
    pub skipped_to_ms: Option<i64>,
    /// When to look again; `None` when there is no further run.
    pub next_ms: Option<i64>,
}

/// A run that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it should have begun: the latest planned time that has passed.
    pub planned_ms: i64,
    /// How late it is, in milliseconds.
    pub late_ms: i64,
    /// How many earlier planned times passed without a run.
    pub missed: u32,
}

/// Decides whether a job is due at `now_ms`. `zone` is the owner's.
pub fn look(job: &Times, now_ms: i64, zone: &Zone) -> Due {
    let phase = Phase {
        created_ms: job.created_ms,
        id: job.id,
    };
    Due {
        next_ms: job.schedule.next_after(now_ms, &phase, zone),
        ..Due::default()
    }
}
