//! A mutex and a condition variable that cannot be poisoned, and threads.
//!
//! A mutex of the standard library remembers that a thread panicked while it held the lock. The
//! release aborts on a panic, so no thread would ever see it; in tests the lock is simply taken.

use std::io;
use std::sync::{self, PoisonError};
use std::thread::Builder;
use std::time::Duration;

pub use std::sync::MutexGuard;

/// Starts a thread that ends by itself. The work is boxed: the code that starts a thread would otherwise be
/// in the program once for each kind of work.
pub fn spawn(builder: Builder, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    builder.spawn(work).map(drop)
}

#[cfg(debug_assertions)]
thread_local! {
    static IS_LOOP: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Marks this thread as one that never waits for the disk, or no longer. See [`may_wait_for_disk`].
pub fn keep_from_disk(is_loop: bool) {
    #[cfg(debug_assertions)]
    IS_LOOP.with(|it| it.set(is_loop));
    #[cfg(not(debug_assertions))]
    let _ = is_loop;
}

/// Does something that may wait for the disk on any thread.
pub fn wait_for_disk(work: impl FnOnce()) {
    #[cfg(debug_assertions)]
    let was_loop = IS_LOOP.with(|it| it.replace(false));
    work();
    #[cfg(debug_assertions)]
    keep_from_disk(was_loop);
}

/// Ends a build for tests in which a thread is about to force something to the disk that keeps other people waiting: on
/// a worn card it can take seconds.
#[inline]
pub fn may_wait_for_disk() {
    #[cfg(debug_assertions)]
    assert!(
        !IS_LOOP.with(std::cell::Cell::get) || std::thread::panicking(),
        "the loop would wait for the disk"
    );
}

/// A [`std::sync::Mutex`] whose `lock` always succeeds.
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    /// An unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Waits for the lock and takes it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, when nothing else refers to the mutex any more.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A [`std::sync::Condvar`] for this room's [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// A new condition variable.
    pub const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    /// Releases the lock and waits for a notification. It may also return without one.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`Self::wait`], for at most that time.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> MutexGuard<'a, T> {
        let waited = self.0.wait_timeout(guard, time);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until `condition` is false, for at most that time.
    pub fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        let waited = self.0.wait_timeout_while(guard, time, condition);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Wakes one of the threads that wait.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes every thread that waits.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_lock_that_a_panicking_thread_held_is_taken() {
        let mutex = Arc::new(Mutex::new(1));
        let other = Arc::clone(&mutex);
        let panicked = std::thread::spawn(move || {
            let _guard = other.lock();
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        *mutex.lock() += 1;
        assert_eq!(Arc::into_inner(mutex).unwrap().into_inner(), 2);
    }

    #[test]
    fn a_notification_and_the_end_of_the_time_both_end_a_wait() {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        assert!(
            !*shared
                .1
                .wait_timeout(shared.0.lock(), Duration::from_millis(1))
        );
        let other = Arc::clone(&shared);
        let setter = std::thread::spawn(move || {
            *other.0.lock() = true;
            other.1.notify_all();
        });
        let long = Duration::from_secs(60);
        assert!(
            *shared
                .1
                .wait_timeout_while(shared.0.lock(), long, |set| !*set)
        );
        setter.join().unwrap();
    }
}
