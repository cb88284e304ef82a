//! Whether a job is due, and when it will be: PURE.
//!
//! The clock of a board jumps, and what is known about a job may be from before a jump. A run that was
//! planned for a time is begun once, whatever the clock does, with one exception: the clock was set back so
//! far that the job would be silent for longer than a day, or for more than two of its runs. Then the time of
//! the last run was wrong, or does not matter, as with a job that runs every ten minutes. The job goes on from
//! now, instead of waiting until that time comes again. So a daily job is not repeated when the clock is set
//! back by hours, and one that runs often is not silent for hours.

use crate::base::zone::Zone;

use super::times::{Passed, Phase, Plan, Schedule};

/// How late a run may begin that is not made up for: a busy board, a restart.
const GRACE_MS: i64 = 60_000;
/// How far the clock may be set back before a run beyond it is taken for an error of the clock. Within
/// it, no run is repeated.
const SET_BACK_MS: i64 = 86_400_000;
/// Runs that a job leaves out, within that time, because their times come again. With more the job would
/// be silent for too long, and it repeats them instead.
const SET_BACK_RUNS_MAX: usize = 2;
/// 2020: a job that was created before it was created by a clock that was not set.
const CREATED_MS_MIN: i64 = 1_577_836_800_000;

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
    /// The planned time of a run that was begun and never ended, and that has not been tried again yet.
    pub interrupted_ms: Option<i64>,
}

/// What is to be done about a job now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// The run to begin now.
    pub run: Option<Planned>,
    /// The job's new `last_planned_ms`, although no run is begun: missed runs up to here are skipped. It
    /// may be earlier than the old one, after the clock was set back.
    pub skipped_to_ms: Option<i64>,
    /// When to look again, after the two above are noted; `None` when there is no further run.
    pub next_ms: Option<i64>,
}

/// A run that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// When it should have begun: the latest planned time that has passed.
    pub planned_ms: i64,
    /// How late it is, in milliseconds.
    pub late_ms: i64,
    /// How many earlier planned times passed without a run, counted up to a bound.
    pub missed: u32,
}

/// Decides whether a job is due at `now_ms`. `zone` is the owner's.
pub fn look(job: &Times, now_ms: i64, zone: &Zone) -> Due {
    let phase = Phase {
        created_ms: job.created_ms,
        id: job.id,
    };
    match job.schedule.plan(&phase, zone) {
        Some(Plan::At(at_ms)) => look_once(job, at_ms, now_ms),
        Some(plan) => look_again(job, &plan, now_ms),
        None => Due::default(),
    }
}

/// For a job that runs once.
fn look_once(job: &Times, at_ms: i64, now_ms: i64) -> Due {
    let is_begun = job
        .last_planned_ms
        .is_some_and(|last| last == at_ms || last > at_ms && !is_far_ahead(last, now_ms));
    if is_begun {
        return Due {
            run: interrupted(job, now_ms),
            ..Due::default()
        };
    }
    if at_ms <= now_ms {
        decide(
            job,
            Passed {
                latest_ms: at_ms,
                earlier: 0,
            },
            now_ms,
        )
    } else {
        Due {
            next_ms: Some(at_ms),
            ..Due::default()
        }
    }
}

/// For a job that repeats.
fn look_again(job: &Times, plan: &Plan, now_ms: i64) -> Due {
    let known_ms = match job.last_planned_ms {
        Some(last) => Some(last).filter(|last| !is_beyond(plan, *last, now_ms)),
        None => Some(job.created_ms).filter(|created| (CREATED_MS_MIN..=now_ms).contains(created)),
    };
    let Some(known_ms) = known_ms else {
        // What is known is from a clock that was wrong. A run that was cut off then comes first.
        let run = interrupted(job, now_ms);
        return Due {
            run,
            skipped_to_ms: Some(now_ms).filter(|_| run.is_none()),
            next_ms: plan.next_after(now_ms),
        };
    };
    let due = match plan.passed(known_ms, now_ms) {
        Some(passed) => decide(job, passed, now_ms),
        None => Due {
            run: interrupted(job, now_ms),
            ..Due::default()
        },
    };
    Due {
        next_ms: plan.next_after(now_ms.max(known_ms)),
        ..due
    }
}

/// For planned times that have passed: one run makes up for them all, or none.
fn decide(job: &Times, passed: Passed, now_ms: i64) -> Due {
    let late_ms = now_ms.saturating_sub(passed.latest_ms);
    if job.catch_up || late_ms <= GRACE_MS {
        Due {
            run: Some(Planned {
                planned_ms: passed.latest_ms,
                late_ms,
                missed: passed.earlier,
            }),
            ..Due::default()
        }
    } else {
        Due {
            skipped_to_ms: Some(passed.latest_ms),
            ..Due::default()
        }
    }
}

/// A run that was begun and never ended is made up for as one that was missed.
fn interrupted(job: &Times, now_ms: i64) -> Option<Planned> {
    let planned_ms = job.interrupted_ms.filter(|_| job.catch_up)?;
    Some(Planned {
        planned_ms,
        late_ms: now_ms.saturating_sub(planned_ms).max(0),
        missed: 0,
    })
}

/// Whether the last run was planned for a time so far ahead that the job goes on from now.
fn is_beyond(plan: &Plan, last_ms: i64, now_ms: i64) -> bool {
    let mut silent = (0..=SET_BACK_RUNS_MAX).scan(now_ms, |at_ms, _| {
        *at_ms = plan.next_after(*at_ms)?;
        Some(*at_ms)
    });
    is_far_ahead(last_ms, now_ms)
        || last_ms > now_ms
            && silent
                .nth(SET_BACK_RUNS_MAX)
                .is_some_and(|at_ms| at_ms <= last_ms)
}

/// Whether a planned time is so far ahead that the clock was wrong when its run began.
fn is_far_ahead(planned_ms: i64, now_ms: i64) -> bool {
    planned_ms > now_ms.saturating_add(SET_BACK_MS)
}
