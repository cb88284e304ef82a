//! A gate at which a fake server waits until the test opens it.

use std::sync::{Arc, Condvar, Mutex};

use crate::harness::PATIENCE;

/// A gate at which an answer waits until the test opens it.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Opens the gate.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(super) fn wait(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_timeout_while(open, PATIENCE, |open| !*open));
    }
}
