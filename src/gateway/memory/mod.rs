//! Consolidation beside the turns: one conversation at a time, on a thread that exists only meanwhile.
//!
//! `plan` decides what is next. The thread asks the model and gives the result to the memory; the scheduler
//! then lets the result be noted in the session's journal, between two turns.

mod plan;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};

use super::agents::Hosted;
use super::commands::Call;
use super::commands::texts::{self, format_error};
use super::host::Work;
use super::{Gateway, sleep, spawn};
use crate::agent::Agent;
use crate::agent::commands::{describe_compacted, nothing_to_compact};
use crate::agent::consolidate::{self, Consolidation, Why};
use crate::base::bus::Event;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::memory::IDLE_TIME;
use crate::base::message::{Address, Envelope, SessionKey};
use crate::base::sync::Mutex;
use crate::store::session::{Session, store};
use crate::text::{count_of, format_tokens};

use plan::{Job, Plan, Target};

/// Journals that are looked at after a start, the newest ones.
const JOURNALS_MAX: usize = 64;
/// Conversations of which `/status` knows how their last consolidation went.
const NOTED_MAX: usize = 32;

/// What is to be consolidated, and how it went.
#[derive(Default)]
pub struct Upkeep {
    plan: Mutex<Plan>,
    /// Raised when the gateway stops.
    cancel: Cancel,
    /// When the timer wakes, since the gateway's start.
    timer: Mutex<Option<Duration>>,
    /// Who waits for the end of a `/compact`.
    askers: Mutex<BTreeMap<SessionKey, Asker>>,
    /// How the last consolidations went, the newest last, one for each conversation.
    last: Mutex<Vec<Last>>,
}

/// Where the end of a `/compact` is reported, and in which language.
type Asker = (Address, Language);

/// How the last consolidation went.
struct Last {
    key: SessionKey,
    at: DateTime<FixedOffset>,
    result: Result<Consolidation>,
}

impl Upkeep {
    /// Stops what is running, and begins nothing more.
    pub fn stop(&self) {
        self.cancel.cancel();
    }

    /// Whether a conversation is being consolidated.
    pub fn is_running(&self) -> bool {
        self.plan.lock().is_running()
    }

    /// How the last consolidation of a conversation went, as a line for people; `None` before the first one.
    pub fn describe_last(&self, key: &SessionKey, language: Language) -> Option<String> {
        let last = self.last.lock();
        let Last { at, result, .. } = last.iter().find(|last| last.key == *key)?;
        let at = at.format("%H:%M");
        Some(match result {
            Ok(done) => texts::memory_done(language, &done.turns, &at),
            Err(error) => texts::memory_failed(language, &at, &format_error(error, language)),
        })
    }

    fn note(&self, key: &SessionKey, result: Result<Consolidation>) {
        let mut last = self.last.lock();
        last.retain(|last| last.key != *key);
        if last.len() >= NOTED_MAX {
            last.remove(0);
        }
        last.push(Last {
            key: key.clone(),
            at: Clock::System.now(),
            result,
        });
    }
}

impl Gateway {
    /// Plans the consolidation of a session whose turn has ended, if it is due.
    pub(super) fn plan_consolidation(
        self: &Arc<Self>,
        (id, agent): (&str, &Agent),
        session: &Session,
    ) {
        if let Some(why) = agent.consolidation_due(session) {
            self.plan_for(id, session.chat(), why);
        }
    }

    /// Plans the consolidation of the conversation in which a `/new` was typed.
    pub(super) fn plan_after_new(self: &Arc<Self>, message: &Envelope) {
        let live = self.live();
        let id = &live.agents.serving(message).profile.id;
        self.plan_for(id, &message.session, Why::New);
    }

    fn plan_for(self: &Arc<Self>, agent: &str, key: &SessionKey, why: Why) {
        let now = self.since.elapsed();
        let at = match why {
            Why::Idle => now + IDLE_TIME,
            _ => now,
        };
        self.memory.plan.lock().add(&target(agent, key), why, at);
        self.tend_memory();
    }

    /// Answers `/compact`. The end is reported when it comes.
    pub(super) fn compact(self: &Arc<Self>, call: &Call<'_>) {
        let (message, language) = (call.message, call.language);
        let key = message.session.clone();
        let asker = (message.address(), language);
        self.finish_command(message, texts::compacting(language).to_owned());
        self.memory.askers.lock().insert(key.clone(), asker);
        let live = self.live();
        let id = &live.agents.serving(message).profile.id;
        self.plan_for(id, &key, Why::Asked);
    }

    /// Looks for conversations that the last run has left to be consolidated, on a thread.
    pub(super) fn find_unconsolidated(self: &Arc<Self>) {
        let gateway = Arc::clone(self);
        let spawned = spawn("memory", move || {
            if let Err(error) = gateway.try_find() {
                tracing::warn!("failed to look for conversations to consolidate: {error}");
            }
            gateway.tend_memory();
        });
        if let Err(error) = spawned {
            tracing::warn!("failed to look for conversations to consolidate: {error}");
        }
    }

    fn try_find(self: &Arc<Self>) -> Result<()> {
        let now = Clock::System.now().timestamp();
        for hosted in self.live().agents.all() {
            let is_served = |key: &SessionKey| self.deliveries.contains_key(key.parts().0);
            for key in consolidate::list_staged(&hosted.sessions) {
                if is_served(&key) {
                    self.events.send(Event::Consolidated(key));
                }
            }
            for (key, changed) in store::newest(&hosted.sessions, JOURNALS_MAX)? {
                if self.is_stopping() || !is_served(&key) {
                    continue;
                }
                let Some(why) = consolidate::find_pending(&hosted.sessions, &key)? else {
                    continue;
                };
                let rested = Duration::from_secs((now - changed).max(0) as u64);
                let wait = match why {
                    Why::Idle => IDLE_TIME.saturating_sub(rested),
                    _ => Duration::ZERO,
                };
                let at = self.since.elapsed() + wait;
                let target = target(&hosted.profile.id, &key);
                self.memory.plan.lock().add(&target, why, at);
            }
        }
        Ok(())
    }

    /// Starts what is due, or sets a timer for it.
    fn tend_memory(self: &Arc<Self>) {
        if self.is_stopping() {
            return;
        }
        let now = self.since.elapsed();
        let (job, next) = {
            let mut plan = self.memory.plan.lock();
            (plan.next(now), plan.next_at())
        };
        if let Some(job) = job {
            let (gateway, taken) = (Arc::clone(self), job.clone());
            if let Err(error) = spawn("memory", move || gateway.consolidate(&taken)) {
                self.fail_consolidation(&job, Error::Failed(error.to_string()));
            }
        } else if let Some(at) = next {
            self.wake_memory(at);
        }
    }

    /// Tends the memory at a time, unless that happens earlier anyway.
    fn wake_memory(self: &Arc<Self>, at: Duration) {
        {
            let mut timer = self.memory.timer.lock();
            if timer.is_some_and(|set| set <= at) {
                return;
            }
            *timer = Some(at);
        }
        let gateway = Arc::clone(self);
        self.timers.spawn(async move {
            sleep(at.saturating_sub(gateway.since.elapsed())).await;
            let is_current = {
                let mut timer = gateway.memory.timer.lock();
                timer.take_if(|set| *set == at).is_some()
            };
            if is_current {
                gateway.tend_memory();
            }
        });
    }

    /// Consolidates a part of a conversation. Blocks while the model thinks; the chat goes on.
    fn consolidate(self: &Arc<Self>, job: &Job) {
        let key = &job.target.key;
        match self.try_consolidate(job) {
            Ok(Some(done)) => {
                self.log_consolidation(key, done);
                self.memory.plan.lock().done();
                self.events.send(Event::Consolidated(key.clone()));
            }
            Ok(None) => {
                self.memory.plan.lock().done();
                if job.why == Why::Asked {
                    self.report(key, nothing_to_compact);
                }
            }
            Err(_) if self.is_stopping() => self.memory.plan.lock().done(),
            Err(error) => self.fail_consolidation(job, error),
        }
        self.close_connections_later();
        self.tend_memory();
    }

    fn try_consolidate(&self, job: &Job) -> Result<Option<Consolidation>> {
        let (live, Target { agent, key }) = (self.live(), &job.target);
        // A reload may have removed the agent.
        let Some(hosted) = live.agents.named(agent) else {
            return Ok(None);
        };
        let cancel = &self.memory.cancel;
        hosted
            .agent()?
            .consolidate(&hosted.sessions, key, job.why, cancel)
    }

    fn log_consolidation(&self, key: &SessionKey, done: Consolidation) {
        let tokens = done.usage.input + done.usage.output;
        if tokens > 0 {
            let turns = count_of(done.turns, "turn", "turns");
            let tokens = format_tokens(tokens);
            tracing::info!("memory: consolidated {turns} of {key} ({tokens} tokens)");
        }
        self.memory.note(key, Ok(done));
    }

    fn fail_consolidation(&self, job: &Job, error: Error) {
        let key = &job.target.key;
        let wait = self.memory.plan.lock().failed(job, self.since.elapsed());
        match wait {
            Some(wait) => {
                let minutes = wait.as_secs() / 60;
                tracing::warn!(session = %key, "failed to consolidate, next attempt in {minutes} min: {error}");
            }
            None => tracing::warn!(session = %key, "failed to consolidate: {error}"),
        }
        if job.why == Why::Asked {
            self.report(key, |language| {
                texts::not_compacted(language, &format_error(&error, language))
            });
        }
        self.memory.note(key, Err(error));
    }

    /// Tells the person who has asked for it how a `/compact` went.
    fn report<T: Into<String>>(&self, key: &SessionKey, text: impl FnOnce(Language) -> T) {
        let asker = self.memory.askers.lock().remove(key);
        if let Some((to, language)) = asker {
            self.tell(&to, &text(language).into());
        }
    }

    /// Notes a consolidation's result in the session's journal. No other work has the session open.
    pub(super) fn apply_consolidation(self: &Arc<Self>, work: &Work, key: &SessionKey) {
        if let Err(error) = self.try_apply(key) {
            tracing::warn!(session = %key, "failed to note a consolidation in the journal: {error}");
        }
        let unread = Vec::new();
        self.events.send(Event::Finished {
            work: work.id,
            unread,
        });
    }

    fn try_apply(self: &Arc<Self>, key: &SessionKey) -> Result<()> {
        let live = self.live();
        let all = live.agents.all().iter();
        for hosted in all.filter(|hosted| consolidate::is_staged(&hosted.sessions, key)) {
            self.apply_of(hosted, key)?;
        }
        Ok(())
    }

    fn apply_of(self: &Arc<Self>, hosted: &Hosted, key: &SessionKey) -> Result<()> {
        let (agent, sessions) = (hosted.agent()?, &hosted.sessions);
        let opened = Session::open_if_free(sessions, key, hosted.journals.clone())?;
        let Some(mut session) = opened else {
            return Ok(());
        };
        let before = agent.window_tokens(&session);
        let applied = agent.apply_consolidation(sessions, &mut session)?;
        let after = agent.window_tokens(&session);
        if let Some(turns) = applied {
            tracing::debug!(session = %key, turns, "memory: noted in the journal");
            if before != after {
                self.report(key, |language| {
                    describe_compacted(turns, (before, after), language)
                });
            } else if self.memory.askers.lock().contains_key(key) {
                // That was an earlier part, which the window did not have: who has asked waits on.
                self.plan_for(&hosted.profile.id, key, Why::Asked);
            }
        }
        self.plan_consolidation((&hosted.profile.id, &agent), &session);
        Ok(())
    }
}

fn target(agent: &str, key: &SessionKey) -> Target {
    Target {
        agent: agent.to_owned(),
        key: key.clone(),
    }
}
