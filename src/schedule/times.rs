//! When a job runs: PURE.

use serde::{Deserialize, Serialize};

use crate::base::limits::schedule::AHEAD_MS_MAX;
use crate::base::zone::{Zone, suggest};

use super::line::Line;
use super::times_texts as texts;

/// Shortest time between two runs of a job that is planned, in milliseconds: each run is some synced writes.
const PLANNED_EVERY_MS_MIN: i64 = 60 * 1000;
/// Shortest interval: a second.
const EVERY_MS_MIN: i64 = 1000;
/// Missed runs that are counted one by one.
const MISSED_MAX: u32 = 200;

/// When a job runs. In a file: `{"kind": "at", "atMs": 1795305600000}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "lowercase",
    rename_all_fields = "camelCase"
)]
pub enum Schedule {
    /// Once.
    At {
        /// The time, in milliseconds since 1970.
        #[serde(alias = "at_ms")]
        at_ms: i64,
    },
    /// At an interval, counted from the job's creation.
    Every {
        /// The interval in milliseconds.
        #[serde(alias = "every_ms")]
        every_ms: i64,
    },
    /// At the times that a line of crontab(5) matches.
    Cron {
        /// Five fields, or six with the seconds first.
        expr: String,
        /// An IANA time zone; `None` for the owner's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tz: Option<String>,
    },
}

/// What of a job decides when its repeating schedule comes round.
#[derive(Clone, Copy, Debug)]
pub struct Phase<'a> {
    /// When the job was created, in milliseconds since 1970: an interval counts from here.
    pub created_ms: i64,
    /// The job's id, from which `H` in a cron line takes its stable value.
    pub id: &'a str,
}

impl Schedule {
    /// Whether the schedule can be used; otherwise what is wrong with it, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::At { at_ms } if !(0..=2 * AHEAD_MS_MAX).contains(at_ms) => {
                Err(texts::time_out_of_range(*at_ms))
            }
            Self::Every { every_ms } if !(EVERY_MS_MIN..=AHEAD_MS_MAX).contains(every_ms) => {
                Err(texts::interval_out_of_range(*every_ms))
            }
            Self::Cron { expr, tz } => {
                Line::parse(expr, "")?;
                match tz.as_deref().filter(|tz| Zone::find(tz).is_none()) {
                    Some(tz) => Err(texts::unknown_zone(tz, suggest(tz).as_deref())),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether a job with this schedule would run more often than one may be planned. The number of runs
    /// decides what they cost: each is some synced writes.
    pub fn is_too_frequent(&self) -> bool {
        match self {
            Self::At { .. } => false,
            Self::Every { every_ms } => *every_ms < PLANNED_EVERY_MS_MIN,
            Self::Cron { expr, .. } => {
                Line::parse(expr, "").is_ok_and(|line| line.is_within_minutes())
            }
        }
    }

    /// The first planned time after `after_ms`, in milliseconds since 1970. `zone` is the owner's, for a
    /// schedule without its own. `None` when there is no further one, or the schedule cannot be used.
    pub fn next_after(&self, after_ms: i64, job: &Phase, zone: &Zone) -> Option<i64> {
        self.plan(job, zone)?.next_after(after_ms)
    }

    /// The schedule with everything read that it needs, for several questions; `None` when it cannot be
    /// used.
    pub fn plan(&self, job: &Phase, zone: &Zone) -> Option<Plan> {
        Some(match self {
            Self::At { at_ms } => Plan::At(*at_ms),
            Self::Every { every_ms } => {
                let every_ms = Some(*every_ms).filter(|every_ms| *every_ms >= EVERY_MS_MIN)?;
                Plan::Every {
                    every_ms,
                    from_ms: job.created_ms,
                }
            }
            Self::Cron { expr, tz } => Plan::Cron {
                line: Line::parse(expr, job.id).ok()?,
                zone: match tz {
                    Some(tz) => Zone::find(tz)?,
                    None => zone.clone(),
                },
            },
        })
    }
}

/// A schedule that is ready to be asked for its times, which are milliseconds since 1970.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Once.
    At(i64),
    /// At an interval.
    Every {
        /// The interval in milliseconds.
        every_ms: i64,
        /// The time from which it counts, in both directions: the clock was perhaps wrong then.
        from_ms: i64,
    },
    /// At the times that a cron line matches.
    Cron {
        /// The line.
        line: Line,
        /// In which zone.
        zone: Zone,
    },
}

/// The planned times within a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The last one.
    pub latest_ms: i64,
    /// How many are before it, counted up to a bound.
    pub earlier: u32,
}

impl Plan {
    /// The first planned time after another.
    pub fn next_after(&self, after_ms: i64) -> Option<i64> {
        match self {
            Self::At(at_ms) => Some(*at_ms).filter(|at_ms| *at_ms > after_ms),
            Self::Every { every_ms, from_ms } => {
                let passed = after_ms
                    .checked_sub(*from_ms)?
                    .checked_div_euclid(*every_ms)?;
                from_ms.checked_add(passed.checked_add(1)?.checked_mul(*every_ms)?)
            }
            Self::Cron { line, zone } => {
                let next = line.next_after(after_ms.div_euclid(1000), zone)?;
                next.checked_mul(1000)
            }
        }
    }

    /// The planned times after `after_ms` and up to `now_ms`; `None` when there is none.
    pub fn passed(&self, after_ms: i64, now_ms: i64) -> Option<Passed> {
        let until_now = |after_ms| self.next_after(after_ms).filter(|next| *next <= now_ms);
        let mut latest_ms = until_now(after_ms)?;
        for earlier in 0..MISSED_MAX {
            match until_now(latest_ms) {
                Some(next_ms) => latest_ms = next_ms,
                None => return Some(Passed { latest_ms, earlier }),
            }
        }
        // Very many: the last one is found by halving the time in which it is.
        let mut end_ms = now_ms;
        while let Some(next_ms) = until_now(latest_ms) {
            let middle_ms = latest_ms.saturating_add(end_ms.saturating_sub(latest_ms) / 2);
            latest_ms = match until_now(middle_ms) {
                Some(later_ms) => later_ms,
                None => {
                    end_ms = middle_ms;
                    next_ms
                }
            };
        }
        Some(Passed {
            latest_ms,
            earlier: MISSED_MAX,
        })
    }
}
