//! Tokens and their cost, by day and by model: today's in `state/usage.json`, those of earlier days in
//! `state/usage_days.json`.
//!
//! A turn writes the first file only, which stays small. The second one is written once a day. The
//! cost is what a request cost when it was made: a later table of prices changes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::chat::Usage;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Result;
use crate::base::limits::state::{
    LAST_TURNS, USAGE_DAYS, USAGE_DAYS_FILE_BYTES, USAGE_FILE_BYTES, USAGE_MODELS,
    USAGE_NAME_BYTES, USAGE_PENDING_DAYS, USAGE_SAVE_INTERVAL,
};
use crate::base::sync::Mutex;
use crate::text::truncate_bytes;

use super::chats::AgentPrefix;
use super::file::{Damaged, Policy, StateFile};

/// Where the tokens of models beyond [`USAGE_MODELS`] are counted.
const OTHER_MODELS: &str = "others";

/// Usage by model.
pub type ByModel = BTreeMap<String, Usage>;

/// The content of the file of today.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// The present day, `2026-11-21`, in the local zone.
    pub day: String,
    /// The day's usage by model.
    pub models: ByModel,
    /// Days that have ended and are not in the file of earlier days yet, oldest first.
    past: Vec<Day>,
    /// The last turns of the conversations that were active last, the newest at the end.
    turns: Vec<LastTurn>,
}

/// One day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredDay")]
pub struct Day {
    /// Such as `2026-11-20`.
    pub day: String,
    /// Its usage by model.
    pub models: ByModel,
}

impl Day {
    /// All models together.
    pub fn usage(&self) -> Usage {
        sum(&self.models)
    }
}

/// A day as it was or is stored: earlier versions kept only its sum.
#[derive(Deserialize)]
struct StoredDay {
    day: String,
    #[serde(default)]
    models: ByModel,
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cached: u64,
}

impl From<StoredDay> for Day {
    fn from(stored: StoredDay) -> Self {
        let StoredDay {
            day, mut models, ..
        } = stored;
        let usage = Usage {
            input: stored.input,
            output: stored.output,
            cached: stored.cached,
            ..Usage::default()
        };
        if usage != Usage::default() {
            models.insert(OTHER_MODELS.to_owned(), usage);
        }
        Self { day, models }
    }
}

/// The last turn of a conversation, as the model's server reported it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LastTurn {
    /// The conversation's key, such as `telegram:12`.
    pub session: String,
    /// Tokens of the last request and its answer: what the conversation takes of the model's window.
    /// 0: nothing is known.
    pub context: u64,
    /// Tokens of all its requests.
    pub input: u64,
    /// Of these, those from the provider's cache.
    pub cached: u64,
}

/// The sum over all models.
pub fn sum(models: &ByModel) -> Usage {
    let mut sum = Usage::default();
    models.values().for_each(|usage| sum.add(*usage));
    sum
}

fn add(models: &mut ByModel, model: &str, usage: Usage) {
    let model = truncate_bytes(model, USAGE_NAME_BYTES);
    let known = models.contains_key(model) || models.len() < USAGE_MODELS;
    let name = if known { model } else { OTHER_MODELS };
    models.entry(name.to_owned()).or_default().add(usage);
}

/// Adds days to others. One that is there already, with the same counts, was added before a kill.
fn merge(days: &mut Vec<Day>, more: &[Day]) {
    for day in more {
        match days.iter_mut().find(|known| known.day == day.day) {
            Some(known) if known == day => {}
            Some(known) => {
                for (model, usage) in &day.models {
                    add(&mut known.models, model, *usage);
                }
            }
            None => days.push(day.clone()),
        }
    }
    days.sort_by(|one, other| one.day.cmp(&other.day));
}

/// Drops the first ones beyond so many.
fn keep_last<T>(list: &mut Vec<T>, most: usize) {
    let over = list.len().saturating_sub(most);
    list.drain(..over);
}

impl Counts {
    /// All of the present day's usage.
    pub fn today(&self) -> Usage {
        sum(&self.models)
    }

    /// Moves to another day. A clock that was set back repeats a day rather than losing one.
    fn turn_to(&mut self, day: &str) {
        if self.day == day {
            return;
        }
        if !self.models.is_empty() {
            let ended = Day {
                day: std::mem::take(&mut self.day),
                models: std::mem::take(&mut self.models),
            };
            merge(&mut self.past, &[ended]);
            keep_last(&mut self.past, USAGE_PENDING_DAYS);
        }
        day.clone_into(&mut self.day);
    }

    /// Adds the counts of another record, of the same day or a later one.
    fn absorb(&mut self, other: &Self) {
        self.turn_to(&other.day);
        merge(&mut self.past, &other.past);
        keep_last(&mut self.past, USAGE_PENDING_DAYS);
        for (model, usage) in &other.models {
            add(&mut self.models, model, *usage);
        }
        for turn in &other.turns {
            self.note(turn.clone());
        }
    }

    fn note(&mut self, turn: LastTurn) {
        self.turns.retain(|known| known.session != turn.session);
        self.turns.push(turn);
        keep_last(&mut self.turns, LAST_TURNS);
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
    earlier: StateFile<Vec<Day>>,
    /// Of the agent whose conversations are meant.
    prefix: AgentPrefix,
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
        let policy = Policy {
            bytes_max: USAGE_DAYS_FILE_BYTES,
            ..POLICY
        };
        Self {
            file: StateFile::new(state.join("usage.json"), POLICY),
            earlier: StateFile::new(state.join("usage_days.json"), policy),
            prefix: AgentPrefix::default(),
            clock,
            unsaved: Mutex::default(),
        }
    }

    /// The same, with the conversations of an agent, by its id. All agents share the counts.
    pub fn of_agent(mut self, agent: &str) -> Self {
        self.prefix = AgentPrefix::new(agent);
        self
    }

    /// The counts as of today.
    pub fn counts(&self) -> Counts {
        let mut unsaved = self.unsaved.lock();
        unsaved.counts.turn_to(&self.today());
        let mut counts = self.file.read().unwrap_or_default();
        counts.absorb(&unsaved.counts);
        counts
    }

    /// The days with any usage, the newest first; the first one may be today.
    pub fn days(&self) -> Vec<Day> {
        let counts = self.counts();
        let mut days = self.earlier.read().unwrap_or_default();
        merge(&mut days, &counts.past);
        if !counts.models.is_empty() {
            let Counts { day, models, .. } = counts;
            merge(&mut days, &[Day { day, models }]);
        }
        days.reverse();
        days
    }

    /// Counts one request, at once and whatever happens to the disk.
    pub fn add(&self, model: &str, usage: Usage) {
        let mut unsaved = self.unsaved.lock();
        unsaved.counts.turn_to(&self.today());
        add(&mut unsaved.counts.models, model, usage);
        let since = unsaved.since.get_or_insert_with(Stopwatch::start);
        if since.elapsed() >= USAGE_SAVE_INTERVAL {
            self.save(&mut unsaved);
        }
    }

    /// Remembers the last turn of a conversation, together with the next request or
    /// [`TokenUsage::sync`].
    pub fn note_turn(&self, mut turn: LastTurn) {
        turn.session = self.prefix.key(&turn.session);
        let mut unsaved = self.unsaved.lock();
        unsaved.counts.turn_to(&self.today());
        unsaved.counts.note(turn);
        unsaved.since.get_or_insert_with(Stopwatch::start);
    }

    /// The last turn of a conversation; `None` when it is not known.
    pub fn last_turn(&self, session: &str) -> Option<LastTurn> {
        let key = self.prefix.key(session);
        let mut turns = self.counts().turns.into_iter();
        turns.find(|turn| turn.session == key && turn.context > 0)
    }

    /// Forgets the last turn of a conversation that starts over.
    pub fn forget_turn(&self, session: &str) {
        if self.last_turn(session).is_some() {
            self.note_turn(LastTurn {
                session: session.to_owned(),
                ..LastTurn::default()
            });
            self.sync();
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
            Ok(counts.past.clone())
        });
        match saved {
            Ok(ended) => {
                *unsaved = Unsaved {
                    is_unsynced: true,
                    ..Unsaved::default()
                };
                if !ended.is_empty()
                    && let Err(error) = self.move_ended(&ended)
                {
                    tracing::debug!("failed to save the token usage of earlier days: {error}");
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut unsaved.has_failed, true) {
                    tracing::warn!("failed to save the token usage, keeping it in memory: {error}");
                }
            }
        }
    }

    /// Moves ended days to their own file. Between the two steps they are in both, which
    /// [`merge`] recognises.
    fn move_ended(&self, ended: &[Day]) -> Result<()> {
        self.earlier.update(|days| {
            merge(days, ended);
            keep_last(days, USAGE_DAYS);
            Ok(())
        })?;
        self.earlier.sync()?;
        self.file.update(|counts| {
            counts.past.retain(|day| !ended.contains(day));
            Ok(())
        })
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
            ..Usage::default()
        };
        tokens.add("a", usage);
        tokens.add("b", usage);
        tokens.add("a", usage);
        assert_eq!(tokens.counts().models["a"].input, 20);
        assert_eq!(tokens.counts().today().output, 6);
        millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        tokens.add("a", usage);
        assert_eq!(tokens.counts().today(), usage);
        assert_eq!(tokens.days()[1].usage().input, 30);
        assert_eq!(tokens.days()[1].models["a"].input, 20);
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
        assert_eq!(counts.day, tokens.today());
        let days = tokens.days();
        let all: u64 = days.iter().map(|day| day.usage().input).sum();
        assert_eq!(all, 80);
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
            requests: 1234,
            cost: 123_456_789_123,
            ..Usage::default()
        };
        for day in 0..3 * USAGE_DAYS {
            for model in 0..3 * USAGE_MODELS {
                tokens.add(&format!("vendor/model-{model}-{day}"), usage);
            }
            tokens.note_turn(LastTurn {
                session: format!("telegram:{day}"),
                context: 123_456,
                input: 1_234_567,
                cached: 1_234_567,
            });
            tokens.sync();
            millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        }
        let path = folder.path().join("usage.json");
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length < 2500, "{length} bytes written by every turn");
        let earlier = std::fs::metadata(folder.path().join("usage_days.json")).unwrap();
        let length = earlier.len();
        let most = USAGE_DAYS_FILE_BYTES as u64 / 2;
        assert!(length < most, "{length} bytes written once a day");
        assert_eq!(tokens.days().len(), USAGE_DAYS + 1);
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
            ..Usage::default()
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
        assert_eq!(tokens.days()[1].usage().input, 30);
        tokens.add("a", usage);
        tokens.sync();
        let written = TokenUsage::new(&state, Clock::Hand(millis));
        assert_eq!(written.counts(), tokens.counts());
        assert_eq!(written.counts().today().input, 20);
        assert_eq!(written.days().len(), 2);
        assert_eq!(written.days()[1].usage().input, 30);
    }

    #[test]
    fn a_kill_between_the_two_files_counts_no_day_twice() {
        let folder = tempfile::tempdir().unwrap();
        let millis = Arc::new(AtomicI64::new(1_800_000_000_000));
        let usage = Usage {
            input: 10,
            cost: 7,
            requests: 1,
            ..Usage::default()
        };
        let tokens = TokenUsage::new(folder.path(), Clock::Hand(millis.clone()));
        tokens.add("a", usage);
        tokens.sync();
        millis.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        tokens.add("a", usage);
        // The day that has ended is in the first file, then in both, then in the second one.
        let before = std::fs::read(folder.path().join("usage.json")).unwrap();
        tokens.sync();
        let expected = tokens.days();
        assert_eq!(expected.len(), 2);
        std::fs::write(folder.path().join("usage.json"), before).unwrap();
        let again = TokenUsage::new(folder.path(), Clock::Hand(millis));
        again.add("a", usage);
        assert_eq!(again.days(), expected);
        again.sync();
        assert_eq!(again.days(), expected);
        assert_eq!(again.days()[1].usage(), usage);
    }

    #[test]
    fn the_sums_of_an_earlier_version_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let old = r#"{"day":"2020-01-02","models":{"m":{"input":3,"output":1,"cached":0}},
            "past":[{"day":"2020-01-01","input":5,"output":2,"cached":1}]}"#;
        std::fs::write(folder.path().join("usage.json"), old).unwrap();
        let tokens = TokenUsage::new(folder.path(), Clock::System);
        tokens.add("m", Usage::default());
        tokens.sync();
        let days = tokens.days();
        let inputs: Vec<u64> = days.iter().map(|day| day.usage().input).collect();
        assert_eq!(inputs, [0, 3, 5]);
        assert_eq!(days[2].usage().dollars(), None);
    }

    #[test]
    fn the_last_turn_of_a_conversation_is_remembered_until_it_starts_over() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenUsage::new(folder.path(), Clock::System);
        let turn = LastTurn {
            session: "cli:a".to_owned(),
            context: 1200,
            input: 2000,
            cached: 900,
        };
        tokens.note_turn(turn.clone());
        assert_eq!(tokens.last_turn("cli:a"), Some(turn.clone()));
        tokens.sync();
        let again = TokenUsage::new(folder.path(), Clock::System);
        assert_eq!(again.last_turn("cli:a"), Some(turn));
        assert_eq!(again.last_turn("cli:b"), None);
        let other = TokenUsage::new(folder.path(), Clock::System).of_agent("work");
        assert_eq!(
            other.last_turn("cli:a"),
            None,
            "another agent's conversation"
        );
        again.forget_turn("cli:a");
        assert_eq!(tokens.last_turn("cli:a"), None);
    }
}
