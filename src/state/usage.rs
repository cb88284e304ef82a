//! Tokens by day and by model: `state/usage.json`.
//!
//! The file is bounded: today by model, and a sum for each earlier day, so that a turn writes no more
//! in an old installation.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::chat::Usage;
use crate::clock::{Clock, Stopwatch};
use crate::limits::state::{USAGE_DAYS, USAGE_FILE_BYTES, USAGE_MODELS, USAGE_SAVE_INTERVAL};
use crate::sync::Mutex;

use super::file::{Damaged, Policy, StateFile};

/// Where the tokens of models beyond [`USAGE_MODELS`] are counted.
const OTHER_MODELS: &str = "others";

/// The content of the file.
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

    /// Moves to another day. A clock that was set back repeats a day rather than losing one.
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

    /// Adds the counts of another record, of the same day or a later one.
    fn absorb(&mut self, other: &Self) {
        self.turn_to(&other.day);
        for day in &other.past {
            match self.past.iter_mut().find(|known| known.day == day.day) {
                Some(known) => known.usage.add(day.usage),
                None => self.past.push(day.clone()),
            }
        }
        let over = self.past.len().saturating_sub(USAGE_DAYS);
        self.past.drain(..over);
        other
            .models
            .iter()
            .for_each(|(model, usage)| self.add(model, *usage));
    }

    fn add(&mut self, model: &str, usage: Usage) {
        let known = self.models.contains_key(model) || self.models.len() < USAGE_MODELS;
        let name = if known { model } else { OTHER_MODELS };
        self.models.entry(name.to_owned()).or_default().add(usage);
    }
}

/// A damaged file counts as empty: counting tokens must not prevent an answer.
const POLICY: Policy = Policy {
    bytes_max: USAGE_FILE_BYTES,
    damaged: Damaged::StartFresh,
    synced: false,
};

/// The counts of one home. What cannot be written, because the disk is full or read-only, counts in
/// memory; the next request writes it.
#[derive(Debug)]
pub struct TokenUsage {
    file: StateFile<Counts>,
    clock: Clock,
    unsaved: Mutex<Unsaved>,
}

/// The counts that are not in the file yet.
#[derive(Debug, Default)]
struct Unsaved {
    counts: Counts,
    /// Runs since the first of them was counted.
    since: Option<Stopwatch>,
    /// Whether the last attempt failed, which is logged once.
    has_failed: bool,
    /// Whether the file has changes that may not have reached the disk.
    is_unsynced: bool,
}

impl TokenUsage {
    /// The counts below the folder `state`.
    pub fn new(state: &Path, clock: Clock) -> Self {
        Self {
            file: StateFile::new(state.join("usage.json"), POLICY),
            clock,
            unsaved: Mutex::default(),
        }
    }

    /// The counts as of today.
    pub fn counts(&self) -> Counts {
        let mut unsaved = self.unsaved.lock();
        unsaved.counts.turn_to(&self.today());
        let mut counts = self.file.read().unwrap_or_default();
        counts.absorb(&unsaved.counts);
        counts
    }

    /// Counts the tokens of one request, at once and whatever happens to the disk.
    pub fn add(&self, model: &str, usage: Usage) {
        let mut unsaved = self.unsaved.lock();
        unsaved.counts.turn_to(&self.today());
        unsaved.counts.add(model, usage);
        let since = unsaved.since.get_or_insert_with(Stopwatch::start);
        if since.elapsed() >= USAGE_SAVE_INTERVAL {
            self.save(&mut unsaved);
        }
    }

    /// Forces the counts to the disk, which is enough once per turn: without it, a kill may lose those
    /// of the last [`USAGE_SAVE_INTERVAL`].
    pub fn sync(&self) {
        let mut unsaved = self.unsaved.lock();
        if unsaved.since.is_some() {
            self.save(&mut unsaved);
        }
        if std::mem::take(&mut unsaved.is_unsynced)
            && let Err(error) = self.file.sync()
        {
            tracing::debug!("failed to sync the token usage: {error}");
        }
    }

    fn save(&self, unsaved: &mut Unsaved) {
        let saved = self.file.update(|counts| {
            counts.absorb(&unsaved.counts);
            Ok(())
        });
        match saved {
            Ok(()) => {
                *unsaved = Unsaved {
                    is_unsynced: true,
                    ..Unsaved::default()
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut unsaved.has_failed, true) {
                    tracing::warn!("failed to save the token usage, keeping it in memory: {error}");
                }
            }
        }
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
        let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
        let usage = Usage {
            input: 10,
            output: 2,
            cached: 4,
        };
        tokens.add("a", usage);
        tokens.add("b", usage);
        tokens.add("a", usage);
        assert_eq!(tokens.counts().models["a"].input, 20);
        assert_eq!(tokens.counts().today().output, 6);
        millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        tokens.add("a", usage);
        assert_eq!(tokens.counts().today(), usage);
        assert_eq!(tokens.counts().past[0].usage.input, 30);
    }

    #[test]
    fn turns_that_end_at_the_same_time_are_all_counted() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenUsage::new(folder.path(), Clock::System);
        let usage = Usage {
            input: 1,
            ..Usage::default()
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..10).for_each(|_| tokens.add("a", usage)));
            }
        });
        let counts = tokens.counts();
        let past: u64 = counts.past.iter().map(|day| day.usage.input).sum();
        assert_eq!(counts.today().input + past, 80);
    }

    #[test]
    fn the_file_stays_small_and_a_broken_one_counts_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
        let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
        let usage = Usage {
            input: 123_456_789,
            output: 123_456_789,
            cached: 123_456_789,
        };
        for day in 0..3 * USAGE_DAYS {
            for model in 0..3 * USAGE_MODELS {
                tokens.add(&format!("vendor/model-{model}-{day}"), usage);
            }
            tokens.sync();
            millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        }
        let path = folder.path().join("usage.json");
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length < 2500, "{length} bytes written by every turn");
        assert_eq!(tokens.counts().past.len(), USAGE_DAYS);
        std::fs::write(&path, "{\"day\":").unwrap();
        assert_eq!(tokens.counts().today(), Usage::default());
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_written_later() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
        let tokens = TokenUsage::new(&state, Clock::Hand(millis.clone()));
        let usage = Usage {
            input: 10,
            output: 2,
            cached: 4,
        };
        tokens.add("a", usage);
        tokens.sync();
        let kept = folder.path().join("kept");
        std::fs::rename(&state, &kept).unwrap();
        std::fs::write(&state, "no folder").unwrap();
        tokens.add("a", usage);
        tokens.add("b", usage);
        tokens.sync();
        assert_eq!(tokens.counts().today().input, 20, "all but what is hidden");

        millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        tokens.add("a", usage);
        std::fs::remove_file(&state).unwrap();
        std::fs::rename(&kept, &state).unwrap();
        assert_eq!(tokens.counts().past[0].usage.input, 30);
        tokens.add("a", usage);
        tokens.sync();
        let written = TokenUsage::new(&state, Clock::Hand(millis));
        assert_eq!(written.counts(), tokens.counts());
        assert_eq!(written.counts().today().input, 20);
        assert_eq!(written.counts().past.len(), 1);
        assert_eq!(written.counts().past[0].usage.input, 30);
    }
}
