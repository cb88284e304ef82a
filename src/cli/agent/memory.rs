//! Consolidation beside a conversation at the terminal: quietly, on a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::Ready;
use crate::agent::Agent;
use crate::agent::consolidate::{Why, backoff};
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Result;
use crate::base::limits::agent::TURN_STACK_BYTES;
use crate::base::limits::memory::IDLE_TIME;
use crate::base::message::SessionKey;
use crate::store::session::Session;

/// The thread, while there is one. It is stopped when this is dropped.
#[derive(Default)]
pub struct Background {
    cancel: Cancel,
    /// Returns whether it has failed.
    thread: Option<JoinHandle<bool>>,
    /// Failures in a row, and when the last one was noticed.
    failures: u32,
    failed: Option<Stopwatch>,
}

/// A conversation to be consolidated.
struct Job {
    agent: Arc<Agent>,
    sessions: PathBuf,
    key: SessionKey,
    why: Why,
}

impl Background {
    /// Consolidates the conversation if it is due, unless that is going on already.
    pub fn tend(&mut self, ready: &Ready) {
        if let Some(ended) = self.thread.take_if(|thread| thread.is_finished()) {
            let has_failed = ended.join().unwrap_or(true);
            self.failures = if has_failed { self.failures + 1 } else { 0 };
            self.failed = has_failed.then(Stopwatch::start);
        }
        // Each attempt costs tokens, and turns follow each other fast.
        let wait = backoff(self.failures.saturating_sub(1));
        let is_waiting = self
            .failed
            .as_ref()
            .is_some_and(|failed| failed.elapsed() < wait);
        if is_waiting || self.thread.is_some() {
            return;
        }
        let due = ready.agent.consolidation_due(&ready.session);
        let due = due.filter(|why| *why != Why::Idle || has_rested(&ready.session));
        let Some(why) = due else {
            return;
        };
        let job = Job {
            agent: Arc::clone(&ready.agent),
            sessions: ready.sessions.clone(),
            key: ready.session.chat().clone(),
            why,
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
    /// Returns whether it has failed.
    fn run(self, cancel: &Cancel) -> bool {
        let done = self
            .agent
            .consolidate(&self.sessions, &self.key, self.why, cancel);
        match done {
            Err(error) if !cancel.is_cancelled() => {
                tracing::warn!("failed to consolidate the conversation: {error}");
                true
            }
            _ => false,
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
    let mut turns = None;
    loop {
        let asked = ready
            .agent
            .consolidate(sessions, &key, Why::Asked, cancel)?;
        let Some(done) = asked else {
            return Ok(turns);
        };
        let applied = ready
            .agent
            .apply_consolidation(sessions, &mut ready.session)?;
        let Some(applied) = applied else {
            return Ok(turns);
        };
        turns = Some(turns.unwrap_or(0) + applied);
        // Else this part was before the window, or only the beginning of what is to be a summary.
        if done.is_all {
            return Ok(turns);
        }
    }
}
