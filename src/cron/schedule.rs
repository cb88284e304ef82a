//! When a job runs: PURE.

use serde::{Deserialize, Serialize};

use crate::zone::Zone;

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
        Ok(())
    }

    /// The first planned time after `after_ms`, in milliseconds since 1970. `zone` is the owner's, for a
    /// schedule without its own. `None` when there is no further one, or the schedule cannot be used.
    pub fn next_after(&self, after_ms: i64, job: &Phase, zone: &Zone) -> Option<i64> {
        let _ = zone;
        match self {
            Self::At { at_ms } => Some(*at_ms).filter(|at_ms| *at_ms > after_ms),
            Self::Every { every_ms } => {
                let passed = after_ms.saturating_sub(job.created_ms).max(0);
                let count = passed.checked_div(*every_ms)?.checked_add(1)?;
                job.created_ms.checked_add(count.checked_mul(*every_ms)?)
            }
            Self::Cron { .. } => None,
        }
    }
}
