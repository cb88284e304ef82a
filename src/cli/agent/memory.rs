//! Consolidation beside a conversation at the terminal: quietly, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::Ready;
use crate::agent::Agent;
use crate::agent::consolidate::{Why, backoff};
use crate::cancel::Cancel;
use crate::clock::{Clock, Stopwatch};
use crate::error::Result;
use crate::limits::agent::TURN_STACK_BYTES;
use crate::limits::memory::IDLE_TIME;
use crate::message::SessionKey;
use crate::session::Session;
use crate::sync::Mutex;

/// The thread, while there is one. It is stopped when this is dropped.
#[derive(Default)]
pub struct Background {
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
    failures: Arc<Mutex<Failures>>,
}

/// Attempts that have failed since the last one that did not.
#[derive(Default)]
struct Failures {
    count: u32,
    /// Runs since the last of them.
    since: Option<Stopwatch>,
}

impl Failures {
    fn add(&mut self) {
        self.count = self.count.saturating_add(1);
        self.since = Some(Stopwatch::start());
    }

    /// Whether it is too early for another attempt: each costs tokens.
    fn is_waiting(&self) -> bool {
        let wait = backoff(self.count.saturating_sub(1));
        self.since
            .as_ref()
            .is_some_and(|since| since.elapsed() < wait)
    }
}

/// A conversation to be consolidated.
struct Job {
    agent: Arc<Agent>,
    sessions: PathBuf,
    key: SessionKey,
    why: Why,
    failures: Arc<Mutex<Failures>>,
}

impl Background {
    /// Consolidates the conversation if it is due, unless that is going on already.
    pub fn tend(&mut self, ready: &Ready) {
        let is_running = self
            .thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished());
        let due = ready.agent.consolidation_due(&ready.session);
        let due = due.filter(|why| *why != Why::Idle || has_rested(&ready.session));
        let may_run = !is_running && !self.failures.lock().is_waiting();
        let Some(why) = due.filter(|_| may_run) else {
            return;
        };
        let job = Job {
            agent: Arc::clone(&ready.agent),
            sessions: ready.sessions.clone(),
            key: ready.session.chat().clone(),
            why,
            failures: Arc::clone(&self.failures),
        };
        let cancel = self.cancel.clone();
        let spawned = thread::Builder::new()
            .name("memory".to_owned())
            .stack_size(TURN_STACK_BYTES)
            .spawn(move || job.run(&cancel));
        // Without a thread the next turn tries again.
        self.thread = spawned.ok();
    }

    /// Stops the thread. What has failed before still waits.
    pub fn stop(&mut self) {
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.cancel = Cancel::new();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Job {
    fn run(self, cancel: &Cancel) {
        let done = self
            .agent
            .consolidate(&self.sessions, &self.key, self.why, cancel);
        match done {
            Ok(_) => *self.failures.lock() = Failures::default(),
            Err(error) if !cancel.is_cancelled() => {
                self.failures.lock().add();
                tracing::warn!("failed to consolidate the conversation: {error}");
            }
            Err(_) => {}
        }
    }
}

/// Whether nothing was said for so long that a conversation counts as idle.
fn has_rested(session: &Session) -> bool {
    let mut entries = session.conversation().entries().rev();
    let last = entries.find_map(|held| held.entry.timestamp);
    last.is_some_and(|last| {
        let rested = Clock::System.now().signed_duration_since(last).to_std();
        rested.is_ok_and(|rested| rested >= IDLE_TIME)
    })
}

/// Notes the result of a consolidation in the journal, if one waits. A failure is only logged: the result
/// waits on.
pub fn apply(agent: &Agent, sessions: &Path, session: &mut Session) {
    if let Err(error) = agent.apply_consolidation(sessions, session) {
        tracing::warn!("failed to note a consolidation in the journal: {error}");
    }
}

/// Answers `/compact`: waits until the older half of the conversation is a summary. Returns the number of
/// turns; `None` when there was nothing to do.
pub fn compact(ready: &mut Ready, cancel: &Cancel) -> Result<Option<usize>> {
    let (key, sessions) = (ready.session.chat().clone(), &ready.sessions);
    let done = ready
        .agent
        .consolidate(sessions, &key, Why::Asked, cancel)?;
    if done.is_none() {
        return Ok(None);
    }
    ready
        .agent
        .apply_consolidation(sessions, &mut ready.session)
}
