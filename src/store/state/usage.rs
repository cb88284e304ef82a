//! Tokens and their cost, by day and by model: today's in `state/usage.json`, those of earlier days in
//! `state/usage_days.json`.
//!
//! A turn writes the first file only, which stays small. The second one is written once a day. The
//! cost is what a request cost when it was made: a later table of prices changes nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::base::access::Role;
use crate::base::chat::Usage;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Result;
use crate::base::limits::state::USAGE_DAYS;
use crate::base::sync::Mutex;
use crate::text::truncate_bytes;

use super::chats::AgentPrefix;
use super::file::{Damaged, Policy, StateFile};
use std::time::Duration;

/// Models counted apart within a day; a turn writes this file, so it stays small.
const USAGE_MODELS: usize = 6;
/// Bytes of a model's name there.
const USAGE_NAME_BYTES: usize = 80;
/// Ended days that wait in the file of today while that of earlier days cannot be written.
const USAGE_PENDING_DAYS: usize = 14;
/// Conversations whose last turn is remembered; a turn writes this, too.
const LAST_TURNS: usize = 8;
/// Bytes of the file of earlier days that are read; what we write is at most half of it.
const USAGE_DAYS_FILE_BYTES: usize = 256 * 1024;
/// How long counted tokens may be in memory only while a turn runs; its end saves them.
const USAGE_SAVE_INTERVAL: Duration = Duration::from_secs(10);
/// Bytes of the file of counts that are read; what we write is a tenth of it.
const USAGE_FILE_BYTES: usize = 64 * 1024;

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
    /// The part of it for people below owner.
    pub others: Usage,
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
        self.others = Usage::default();
        // A clock that was set back comes to a day that is known.
        if let Some(at) = self.past.iter().position(|known| known.day == day) {
            self.models = self.past.remove(at).models;
        }
    }

    /// Adds the counts of another record, of the same day or a later one.
    fn absorb(&mut self, other: &Self) {
        self.turn_to(&other.day);
        merge(&mut self.past, &other.past);
        keep_last(&mut self.past, USAGE_PENDING_DAYS);
        for (model, usage) in &other.models {
            add(&mut self.models, model, *usage);
        }
        self.others.add(other.others);
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
    /// The newest day with any usage when it was first asked for; may be empty.
    newest: OnceLock<String>,
    /// What the file of earlier days has of one day, as long as it is that day.
    known: Mutex<Option<Day>>,
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
            newest: OnceLock::new(),
            known: Mutex::default(),
        }
    }

    /// The same, with the conversations of an agent, by its id. All agents share the counts.
    pub fn of_agent(mut self, agent: &str) -> Self {
        self.prefix = AgentPrefix::new(agent);
        self
    }

    /// The counts as of today, with those of before the clock left this day.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts_of_file();
        for (model, usage) in self.known(&counts.day) {
            add(&mut counts.models, &model, usage);
        }
        counts
    }

    /// What the file of earlier days has of a day.
    fn known(&self, day: &str) -> ByModel {
        let mut known = self.known.lock();
        if known.as_ref().is_none_or(|known| known.day != day) {
            let earlier = self.earlier.read().unwrap_or_default().into_iter();
            let found = earlier.into_iter().find(|one| one.day == day);
            *known = Some(found.unwrap_or_else(|| Day {
                day: day.to_owned(),
                ..Day::default()
            }));
        }
        known
            .as_ref()
            .map_or_else(ByModel::new, |known| known.models.clone())
    }

    fn counts_of_file(&self) -> Counts {
        let mut unsaved = self.unsaved.lock();
        unsaved.counts.turn_to(&self.today());
        let mut counts = self.file.read().unwrap_or_default();
        counts.absorb(&unsaved.counts);
        counts
    }

    /// The days with any usage, the newest first; the first one may be today.
    pub fn days(&self) -> Vec<Day> {
        let counts = self.counts_of_file();
        let mut days = self.earlier.read().unwrap_or_default();
        merge(&mut days, &counts.past);
        if !counts.models.is_empty() {
            let Counts { day, models, .. } = counts;
            merge(&mut days, &[Day { day, models }]);
        }
        days.reverse();
        days
    }

    /// Counts one request for someone, at once and whatever happens to the disk.
    pub fn add(&self, model: &str, usage: Usage, role: Role) {
        let mut unsaved = self.unsaved.lock();
        unsaved.counts.turn_to(&self.today());
        add(&mut unsaved.counts.models, model, usage);
        if role < Role::Owner {
            unsaved.counts.others.add(usage);
        }
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
    /// of the last `USAGE_SAVE_INTERVAL`.
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
        self.known.lock().take();
        self.file.update(|counts| {
            counts.past.retain(|day| !ended.contains(day));
            Ok(())
        })
    }

    /// The day that is counted: while the clock may be wrong, none before the newest that is known, because each start
    /// would have the limits of a day to itself.
    fn today(&self) -> String {
        let day = self.clock.now().format("%Y-%m-%d").to_string();
        if !self.clock.is_doubted() {
            return day;
        }
        let newest = self.newest.get_or_init(|| {
            let counts = self.file.read().unwrap_or_default();
            let earlier = self.earlier.read().unwrap_or_default();
            let past = counts.past.into_iter().chain(earlier).map(|one| one.day);
            past.chain([counts.day]).max().unwrap_or_default()
        });
        day.max(newest.clone())
    }
}

#[cfg(test)]
mod tests;
