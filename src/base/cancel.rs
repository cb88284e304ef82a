//! The token that stops a turn from another thread, at once.
//!
//! Blocking code cannot be dropped like a future, so it is interrupted from outside: blocking code
//! registers a hook (shut the socket down, kill the child) and looks at the flag afterwards.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::base::sync::{Condvar, Mutex};

type Hook = Box<dyn Fn() + Send>;

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    next_id: AtomicU64,
    hooks: Mutex<Vec<(u64, Hook)>>,
    woken: Condvar,
}

/// A flag that can only be raised, and that wakes blocked code. Clones share it.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Shared>);

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel({})", self.is_cancelled())
    }
}

impl Cancel {
    /// A token that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag and runs every registered hook. Raising twice does nothing more.
    pub fn cancel(&self) {
        let hooks = self.0.hooks.lock();
        if !self.0.cancelled.swap(true, Ordering::SeqCst) {
            for (_, hook) in hooks.iter() {
                hook();
            }
        }
        self.0.woken.notify_all();
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Runs `hook` when the flag is raised, at once if it is already, until the registration is
    /// dropped. The hook must be quick and must not call back into this token.
    #[must_use = "the hook is removed when the registration is dropped"]
    pub fn on_cancel(&self, hook: impl Fn() + Send + 'static) -> Registration {
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let mut hooks = self.0.hooks.lock();
        if self.is_cancelled() {
            hook();
        } else {
            hooks.push((id, Box::new(hook)));
        }
        Registration {
            cancel: self.clone(),
            id,
        }
    }

    /// Waits for the time to pass; true when the flag was raised before that.
    pub fn wait(&self, time: Duration) -> bool {
        let guard = self.0.hooks.lock();
        let waited = self
            .0
            .woken
            .wait_timeout_while(guard, time, |_| !self.is_cancelled());
        drop(waited);
        self.is_cancelled()
    }
}

/// Keeps a hook registered while it lives.
pub struct Registration {
    cancel: Cancel,
    id: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.cancel.0.hooks.lock().retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn hooks_run_once_and_late_ones_at_once() {
        let cancel = Cancel::new();
        let (sender, receiver) = mpsc::channel();
        let early = sender.clone();
        let _early = cancel.on_cancel(move || early.send("early").unwrap());
        let dropped = sender.clone();
        drop(cancel.on_cancel(move || dropped.send("dropped").unwrap()));
        cancel.cancel();
        cancel.cancel();
        let _late = cancel.on_cancel(move || sender.send("late").unwrap());
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), ["early", "late"]);
    }

    #[test]
    fn a_wait_ends_with_the_time_or_with_the_flag() {
        let cancel = Cancel::new();
        assert!(!cancel.wait(Duration::from_millis(1)));
        let other = cancel.clone();
        let waiter = std::thread::spawn(move || other.wait(Duration::from_secs(600)));
        cancel.cancel();
        assert!(waiter.join().unwrap());
    }
}
