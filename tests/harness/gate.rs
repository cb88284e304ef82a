//! A door in what a server plays, which the test opens when it is time.

use std::sync::{Arc, Condvar, Mutex};

use crate::harness::PATIENCE;

/// A door in an answer that the test opens when it is time.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Lets everything through from now on.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(super) fn wait(&self) {
        let open = self.0.0.lock().unwrap();
        drop(self.0.1.wait_timeout_while(open, PATIENCE, |open| !*open));
    }
}
