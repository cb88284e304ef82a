//! The last known time, so that a board without a clock notices that it is behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::file::{Damaged, Policy, StateFile};
use crate::base::clock::{Clock, Facts, Trust, judge};
use crate::base::error::Result;
use crate::sys;

/// Bytes of the file with the last known time.
const KNOWN_BYTES: usize = 4096;

/// Files beside `clock.json` that the program writes as it works: each has been written at a time that
/// was the present then.
const WITNESSES: [&str; 5] = [
    "history.bin",
    "../inbox.jsonl",
    "../outbox.jsonl",
    "../audit.jsonl",
    "../cron/runs.jsonl",
];

/// `state/clock.json`: the latest time that was known to be right.
#[derive(Clone, Debug)]
pub struct KnownTime {
    file: StateFile<Known>,
    state: PathBuf,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Known {
    /// Milliseconds since 1970.
    known_ms: i64,
}

impl KnownTime {
    /// The one below a `state/` folder.
    pub fn new(state: &Path) -> Self {
        let policy = Policy {
            bytes_max: KNOWN_BYTES,
            damaged: Damaged::StartFresh,
            synced: true,
        };
        Self {
            file: StateFile::new(state.join("clock.json"), policy),
            state: state.to_owned(),
        }
    }

    /// Keeps a time that is trusted, in milliseconds since 1970; also an earlier one than before, which was
    /// wrong then.
    pub fn keep(&self, millis: i64) -> Result<()> {
        self.file.update(|known| {
            known.known_ms = millis;
            Ok(())
        })
    }

    /// The latest known time, in seconds since 1970: the one that was kept, or when one of our files was
    /// written. `None` in a new home.
    pub fn latest(&self, clock: &Clock) -> Option<i64> {
        let kept = self.file.read().unwrap_or_default().known_ms / 1000;
        // The file system does not follow a clock that a test turns.
        let files = WITNESSES.map(|name| match clock.turned() {
            Some(_) => None,
            None => changed(&self.state.join(name)),
        });
        let latest = files.into_iter().flatten().chain([kept]).max();
        latest.filter(|seconds| *seconds > 0)
    }

    /// Whether a clock can be trusted, for a program that has just started.
    pub fn trust(&self, clock: &Clock) -> Trust {
        judge(&Self::facts(clock, self.latest(clock), None))
    }

    /// Whether a time service keeps the clock right; `None` where that cannot be found out.
    pub fn is_synchronized(clock: &Clock) -> Option<bool> {
        match clock.turned() {
            Some(turned) => Some(turned.is_synchronized),
            None => sys::time::is_synchronized(),
        }
    }

    /// What is known about a clock. `known` is what [`latest`](Self::latest) said when the program
    /// started, before it wrote anything.
    pub fn facts(clock: &Clock, known: Option<i64>, before: Option<Trust>) -> Facts {
        let turned = clock.turned();
        let is_synchronized = Self::is_synchronized(clock);
        Facts {
            now: clock.now_ms().div_euclid(1000),
            known,
            is_synchronized,
            hardware: match turned {
                Some(_) => Vec::new(),
                None => sys::time::hardware_clocks(),
            },
            uptime: turned.map_or_else(sys::time::uptime, |turned| turned.uptime),
            was_set: false,
            was_set_far: false,
            before,
        }
    }
}

/// When a file was last written, in seconds since 1970.
fn changed(path: &Path) -> Option<i64> {
    let time = fs::symlink_metadata(path).ok()?.modified().ok()?;
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}
