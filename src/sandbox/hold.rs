//! Holding the agent still while a command runs outside the sandbox: what such a command reads, the agent must not
//! change meanwhile. Its processes are frozen where the system gives us a group for them; otherwise they have to have
//! ended. Nothing new begins.

use std::cell::Cell;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::base::limits::confine::SETTLE_TIME;
use crate::base::sync::{Condvar, Mutex};
use crate::sys::freezer::Freezer;
use crate::sys::process;

/// How long something that would change files waits for a command outside the sandbox to end.
const CHANGE_WAIT: Duration = Duration::from_secs(5);
/// Looks, 2 ms apart, after which freezing has failed: a process may hang in the kernel.
const FREEZE_LOOKS: u32 = 1500;

/// Who changes files for the agents of this process, and who needs them unchanged.
#[derive(Default)]
pub struct Hold {
    state: Mutex<State>,
    changed: Condvar,
    /// The group of what runs in the sandbox; `None` within where there can be none.
    group: OnceLock<Option<Freezer>>,
}

#[derive(Default)]
struct State {
    /// Commands outside the sandbox that need the files unchanged.
    holders: usize,
    is_frozen: bool,
    /// Since when there are holders, and for how long there were some before.
    since: Option<Stopwatch>,
    before: Duration,
    /// Changes at work that cannot be frozen.
    free: usize,
    /// The supervisors of programs among them that start again when they are needed.
    restartable: Vec<Pid>,
}

/// Something that may change files: a process in the sandbox, or a tool at work.
pub struct Change {
    hold: Arc<Hold>,
    is_free: bool,
    restartable: Option<Pid>,
}

/// As long as this is there nothing changes files for the agent.
pub struct Held(Arc<Hold>);

/// A change that this thread makes. What it does meanwhile, however deep, is a part of it.
pub struct Writing {
    change: Option<Change>,
    /// It is counted for its thread.
    of_thread: PhantomData<*const ()>,
}

thread_local! {
    /// How many of these the thread has.
    static WRITING: Cell<usize> = const { Cell::new(0) };
}

impl Hold {
    /// The one for all agents of this process.
    pub fn of_process() -> Arc<Self> {
        static HOLD: OnceLock<Arc<Hold>> = OnceLock::new();
        Arc::clone(HOLD.get_or_init(Arc::default))
    }

    /// The folder of the control group in which commands of the sandbox begin.
    pub(in crate::sandbox) fn group(&self) -> Option<&Path> {
        let group = self.group.get_or_init(|| {
            #[cfg(feature = "test-hooks")]
            if std::env::var_os("PEACRAB_TEST_NO_FREEZER").is_some() {
                return None;
            }
            Freezer::make().ok()
        });
        group.as_ref().map(Freezer::path)
    }

    /// Begins a change. Waits a little while a command outside the sandbox needs the files unchanged.
    pub fn change(self: &Arc<Self>) -> Result<Change> {
        self.change_within(CHANGE_WAIT)
    }

    /// Begins a change of the program's own, which is over when this is dropped. Waits a little, as [`Hold::change`] does.
    pub fn write(self: &Arc<Self>) -> Result<Writing> {
        self.write_within(CHANGE_WAIT)
    }

    /// The same without a wait, for threads on which others wait.
    pub fn try_write(self: &Arc<Self>) -> Result<Writing> {
        self.write_within(Duration::ZERO)
    }

    /// The same with a wait that is as long as it takes. [`Error::Stopped`] when the token is raised.
    pub fn write_later(self: &Arc<Self>, cancel: &Cancel) -> Result<Writing> {
        loop {
            match self.write() {
                Err(_) if cancel.is_cancelled() => return Err(Error::Stopped),
                Err(_) => {}
                begun => return begun,
            }
        }
    }

    fn write_within(self: &Arc<Self>, most: Duration) -> Result<Writing> {
        let is_first = WRITING.get() == 0;
        let change = is_first.then(|| self.change_within(most)).transpose()?;
        WRITING.set(WRITING.get() + 1);
        Ok(Writing {
            change,
            of_thread: PhantomData,
        })
    }

    fn change_within(self: &Arc<Self>, most: Duration) -> Result<Change> {
        let watch = Stopwatch::start();
        let mut state = self.state.lock();
        while state.holders > 0 {
            let left = most.saturating_sub(watch.elapsed());
            if left.is_zero() {
                return Err(Error::Failed(
                    "not done: a command is running outside the sandbox, and until it ends nothing may change what it \
                     reads; try again then"
                        .to_owned(),
                ));
            }
            state = self.changed.wait_timeout(state, left);
        }
        state.free += 1;
        Ok(Change {
            hold: Arc::clone(self),
            is_free: true,
            restartable: None,
        })
    }

    /// Stops every change until this is dropped. `None` when something is at work that can neither be frozen nor ends
    /// soon.
    pub fn hold(self: &Arc<Self>, cancel: &Cancel) -> Option<Held> {
        let mut state = self.state.lock();
        state.holders += 1;
        state.since.get_or_insert_with(Stopwatch::start);
        let restartable = std::mem::take(&mut state.restartable);
        restartable
            .into_iter()
            .for_each(|supervisor| process::signal(supervisor, Signal::TERM));
        let watch = Stopwatch::start();
        while state.free > 0 && watch.elapsed() < SETTLE_TIME && !cancel.is_cancelled() {
            state = self.changed.wait_timeout(state, POLL);
        }
        let is_still = state.free == 0 && (state.is_frozen || self.freeze());
        state.is_frozen |= is_still;
        drop(state);
        let held = Held(Arc::clone(self));
        is_still.then_some(held)
    }

    fn freeze(&self) -> bool {
        match self.group.get() {
            Some(Some(group)) => match group.freeze(FREEZE_LOOKS) {
                Ok(()) => true,
                Err(error) => {
                    tracing::warn!("failed to stop what runs in the sandbox: {error}");
                    false
                }
            },
            // Nothing has begun in a group.
            _ => true,
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.holders -= 1;
        if state.holders == 0
            && let Some(since) = state.since.take()
        {
            state.before += since.elapsed();
        }
        if state.holders == 0 && std::mem::take(&mut state.is_frozen) {
            let group = self.0.group.get().and_then(Option::as_ref);
            if let Some(Err(error)) = group.map(Freezer::thaw) {
                tracing::error!("failed to let what runs in the sandbox go on: {error}");
            }
        }
        self.0.changed.notify_all();
    }
}

impl Change {
    /// How long changes have been held still in all: time in which a frozen command could do nothing.
    pub(in crate::sandbox) fn held_time(&self) -> Duration {
        let state = self.hold.state.lock();
        let now = state.since.as_ref().map(Stopwatch::elapsed);
        state.before + now.unwrap_or_default()
    }

    /// The process is in the group: it can be frozen.
    pub(in crate::sandbox) fn can_freeze(&mut self) {
        if std::mem::take(&mut self.is_free) {
            self.hold.state.lock().free -= 1;
            self.hold.changed.notify_all();
        }
    }

    /// The program with this supervisor starts again when it is needed, and may be ended.
    pub(in crate::sandbox) fn can_restart(&mut self, supervisor: Pid) {
        if self.is_free {
            self.restartable = Some(supervisor);
            self.hold.state.lock().restartable.push(supervisor);
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        WRITING.set(WRITING.get().saturating_sub(1));
        self.change = None;
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let mut state = self.hold.state.lock();
        if let Some(supervisor) = self.restartable {
            state.restartable.retain(|known| *known != supervisor);
        }
        if self.is_free {
            state.free -= 1;
            self.hold.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_and_a_hold_exclude_each_other() {
        let hold = Arc::new(Hold::default());
        let cancel = Cancel::new();
        let change = hold.change().unwrap();
        assert!(hold.hold(&cancel).is_none());
        assert_eq!(hold.state.lock().holders, 0);
        drop(change);
        let (first, second) = (hold.hold(&cancel).unwrap(), hold.hold(&cancel).unwrap());
        let error = hold.change().map(drop).unwrap_err().to_string();
        assert!(error.contains("outside the sandbox"), "{error}");
        drop(first);
        assert!(hold.state.lock().since.is_some(), "the other one holds");
        let waiting = std::thread::spawn({
            let hold = Arc::clone(&hold);
            move || hold.change().map(drop)
        });
        drop(second);
        waiting.join().unwrap().unwrap();
        let change = hold.change().unwrap();
        let held = change.held_time();
        assert!(held >= CHANGE_WAIT);
        assert_eq!(change.held_time(), held, "nothing is held any more");
    }

    #[test]
    fn what_a_thread_does_within_a_change_is_a_part_of_it() {
        let hold = Arc::new(Hold::default());
        let cancel = Cancel::new();
        let outer = hold.write().unwrap();
        let waiting = std::thread::spawn({
            let hold = Arc::clone(&hold);
            move || hold.hold(&Cancel::new()).is_some()
        });
        while hold.state.lock().holders == 0 {
            std::thread::yield_now();
        }
        // Someone waits for the change to end, which does not wait for itself.
        drop(hold.try_write().unwrap());
        drop(outer);
        assert!(waiting.join().unwrap());
        let held = hold.hold(&cancel).unwrap();
        assert!(hold.try_write().is_err());
        cancel.cancel();
        assert!(matches!(hold.write_later(&cancel), Err(Error::Stopped)));
        drop(held);
        drop(hold.try_write().unwrap());
    }

    #[test]
    fn a_cancelled_hold_does_not_wait() {
        let hold = Arc::new(Hold::default());
        let _change = hold.change().unwrap();
        let cancel = Cancel::new();
        cancel.cancel();
        assert!(hold.hold(&cancel).is_none());
    }
}
