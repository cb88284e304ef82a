//! When a job runs.

use serde::{Deserialize, Serialize};

/// When a job runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Schedule {
    /// Once.
    At {
        /// Milliseconds since 1970.
        #[serde(alias = "at_ms")]
        at_ms: i64,
    },
    /// At a fixed interval.
    Every {
        /// Milliseconds.
        #[serde(alias = "every_ms")]
        every_ms: i64,
    },
    /// At the times of a cron expression.
    Cron {
        /// Five or six fields.
        expr: String,
        /// An IANA time zone.
        #[serde(default)]
        tz: Option<String>,
    },
}

impl Schedule {
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Every { every_ms } if *every_ms < 1000 => Err("the interval is too short".into()),
            _ => Ok(()),
        }
    }
}
