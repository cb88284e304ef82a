//! Tokens by day and by model: `state/usage.json`.
//!
//! The file is bounded: today by model, and the sums of the days before, so that what a turn writes
//! does not grow with the age of the installation.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::chat::Usage;
use crate::clock::Clock;
use crate::error::Result;
use crate::limits::state::{USAGE_DAYS, USAGE_FILE_BYTES, USAGE_MODELS};

use super::file::{Damaged, Policy, StateFile};

/// Where the tokens of models beyond [`USAGE_MODELS`] are counted.
const OTHER_MODELS: &str = "others";

/// What is in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// The present day, `2026-11-21`, in the local zone.
    pub day: String,
    /// The day's tokens by model.
    pub models: BTreeMap<String, Usage>,
    /// The sums of earlier days, oldest first.
    pub past: Vec<Day>,
}

/// One earlier day's sum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Such as `2026-11-20`.
    pub day: String,
    /// All models together.
    #[serde(flatten)]
    pub usage: Usage,
}

impl Counts {
    /// All of the present day's tokens.
    pub fn today(&self) -> Usage {
        let mut sum = Usage::default();
        self.models.values().for_each(|usage| sum.add(*usage));
        sum
    }

    /// Moves to another day. A clock that was set back begins a day anew rather than losing one.
    fn turn_to(&mut self, day: &str) {
        if self.day == day {
            return;
        }
        if !self.models.is_empty() {
            self.past.push(Day {
                day: std::mem::take(&mut self.day),
                usage: self.today(),
            });
            let over = self.past.len().saturating_sub(USAGE_DAYS);
            self.past.drain(..over);
        }
        day.clone_into(&mut self.day);
        self.models.clear();
    }

    fn add(&mut self, model: &str, usage: Usage) {
        let known = self.models.contains_key(model) || self.models.len() < USAGE_MODELS;
        let name = if known { model } else { OTHER_MODELS };
        self.models.entry(name.to_owned()).or_default().add(usage);
    }
}

/// Tokens are no reason not to answer: a damaged file counts as empty.
const POLICY: Policy = Policy {
    bytes_max: USAGE_FILE_BYTES,
    damaged: Damaged::StartFresh,
    synced: false,
};

/// The file of one home.
#[derive(Clone, Debug)]
pub struct TokenUsage {
    file: StateFile<Counts>,
    clock: Clock,
}

impl TokenUsage {
    /// The counts below the folder `state`.
    pub fn new(state: &Path, clock: Clock) -> Self {
        Self {
            file: StateFile::new(state.join("usage.json"), POLICY),
            clock,
        }
    }

    /// The counts as of today.
    pub fn counts(&self) -> Counts {
        let mut counts = self.file.read().unwrap_or_default();
        counts.turn_to(&self.today());
        counts
    }

    /// Adds a turn's tokens and writes the file.
    pub fn add(&self, used: &[(String, Usage)]) -> Result<()> {
        if used.is_empty() {
            return Ok(());
        }
        self.file.update(|counts| {
            counts.turn_to(&self.today());
            used.iter()
                .for_each(|(model, usage)| counts.add(model, *usage));
            Ok(())
        })?;
        self.file.sync()
    }

    fn today(&self) -> String {
        self.clock.now().format("%Y-%m-%d").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

    #[test]
    fn a_day_is_counted_by_model_and_later_as_a_sum() {
        let folder = tempfile::tempdir().unwrap();
        let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
        let ledger = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
        let usage = Usage {
            input: 10,
            output: 2,
            cached: 4,
        };
        ledger
            .add(&[("a".into(), usage), ("b".into(), usage)])
            .unwrap();
        ledger.add(&[("a".into(), usage)]).unwrap();
        assert_eq!(ledger.counts().models["a"].input, 20);
        assert_eq!(ledger.counts().today().output, 6);
        millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        ledger.add(&[("a".into(), usage)]).unwrap();
        assert_eq!(ledger.counts().today(), usage);
        assert_eq!(ledger.counts().past[0].usage.input, 30);
    }

    #[test]
    fn turns_that_end_at_the_same_time_are_all_counted() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = TokenUsage::new(folder.path(), Clock::System);
        let usage = Usage {
            input: 1,
            ..Usage::default()
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let ledger = ledger.clone();
                scope.spawn(move || {
                    (0..10).for_each(|_| ledger.add(&[("a".into(), usage)]).unwrap())
                });
            }
        });
        let counts = ledger.counts();
        let past: u64 = counts.past.iter().map(|day| day.usage.input).sum();
        assert_eq!(counts.today().input + past, 80);
    }

    #[test]
    fn the_file_stays_small_and_a_broken_one_counts_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
        let ledger = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
        let usage = Usage {
            input: 123_456_789,
            output: 123_456_789,
            cached: 123_456_789,
        };
        for day in 0..3 * USAGE_DAYS {
            let used: Vec<(String, Usage)> = (0..3 * USAGE_MODELS)
                .map(|model| (format!("vendor/model-{model}-{day}"), usage))
                .collect();
            ledger.add(&used).unwrap();
            millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        }
        let path = folder.path().join("usage.json");
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length < 2500, "{length} bytes written by every turn");
        assert_eq!(ledger.counts().past.len(), USAGE_DAYS);
        std::fs::write(&path, "{\"day\":").unwrap();
        assert_eq!(ledger.counts().today(), Usage::default());
    }
}
