//! What the threads of a fake server share: its state, and a notice of each change.

use std::ops::Deref;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::PATIENCE;
use super::network::Network;

/// A state that threads change and wait for.
#[derive(Default)]
pub struct Shared<S> {
    state: Mutex<S>,
    changed: Condvar,
}

/// How many things of a kind a test prints that has waited in vain.
const PRINTED: usize = 12;

/// What came last, such as requests, oldest first: for the message of a test that has waited in vain.
pub trait Recent {
    fn recent(&self) -> Vec<String>;
}

/// The last few.
pub fn last(things: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let passed = things.len().saturating_sub(PRINTED);
    things.skip(passed).collect()
}

impl<S> Shared<S> {
    pub fn new(state: S) -> Self {
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// The state, locked.
    pub fn state(&self) -> MutexGuard<'_, S> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the threads that wait.
    pub fn change<T>(&self, change: impl FnOnce(&mut S) -> T) -> T {
        let outcome = change(&mut self.state());
        self.wake();
        outcome
    }

    /// Wakes the threads that wait, after a change by means of [`Shared::state`].
    pub fn wake(&self) {
        self.changed.notify_all();
    }

    /// Releases the state until it changes, or for this time.
    pub fn wait_for_change<'a>(
        &self,
        state: MutexGuard<'a, S>,
        time: Duration,
    ) -> MutexGuard<'a, S> {
        let waited = self.changed.wait_timeout(state, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until `look` returns something, or for this time.
    pub fn wait<T>(&self, time: Duration, mut look: impl FnMut(&S) -> Option<T>) -> Option<T> {
        let mut found = None;
        let missing = |state: &mut S| {
            found = look(state);
            found.is_none()
        };
        let waited = self.changed.wait_timeout_while(self.state(), time, missing);
        drop(waited);
        found
    }
}

impl<S: Recent> Shared<S> {
    /// Waits until `look` returns something, which is expected to be at once.
    #[track_caller]
    pub fn wait_until<T>(&self, what: &str, look: impl FnMut(&S) -> Option<T>) -> T {
        let Some(found) = self.wait(PATIENCE, look) else {
            // The lock is released before the panic: stopping the server needs it.
            let recent = self.state().recent().join("\n");
            panic!("{what} did not come. What came last:\n{recent}")
        };
        found
    }
}

/// A fake server of one network. What it does is in the impl of the fake for its state.
pub struct Server<S> {
    pub network: Arc<Network>,
    shared: Shared<S>,
}

impl<S> Server<S> {
    pub fn new(network: Arc<Network>, state: S) -> Arc<Self> {
        let shared = Shared::new(state);
        Arc::new(Self { network, shared })
    }
}

impl<S> Deref for Server<S> {
    type Target = Shared<S>;

    fn deref(&self) -> &Self::Target {
        &self.shared
    }
}
