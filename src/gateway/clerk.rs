//! The clerk does what has to wait for the disk: in order, on one thread that ends when nothing is left. On a worn card
//! a write can take seconds; the loop hands it over, so that everybody's `/stop` still counts at once.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Gateway;
use crate::agent::commands::CommandAnswer;
use crate::base::message::{Address, Envelope, OutgoingMessage};
use crate::base::sync::{Condvar, Mutex, wait_for_disk};

/// Pieces of work that wait for the disk; the loop waits for room beyond that. Each arrived as a message, of which the
/// inbox holds no more than that.
const CLERK_WAITING_MAX: usize = 500;

type Work<G> = Box<dyn FnOnce(&Arc<G>) + Send>;

/// What was handed over, and who is at it.
pub struct Clerk<G = Gateway> {
    waiting: Mutex<Waiting<G>>,
    /// Some work was taken, or nobody is at work any more.
    changed: Condvar,
}

struct Waiting<G> {
    works: VecDeque<Work<G>>,
    /// Whether a thread was asked for, which serves until nothing is left.
    is_served: bool,
    /// Whether somebody is at it: that thread once it could be started, or until then who found no room.
    is_at_work: bool,
}

impl<G> Default for Clerk<G> {
    fn default() -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                works: VecDeque::new(),
                is_served: false,
                is_at_work: false,
            }),
            changed: Condvar::default(),
        }
    }
}

impl<G> Clerk<G> {
    /// Whether some work waits or is being done.
    pub fn is_busy(&self) -> bool {
        self.waiting.lock().is_served
    }

    /// Adds some work. Where there is no room it waits for the thread, and while none can be started, it does the
    /// first work itself: the timer that tries again may be the caller's. Returns whether a thread has to serve.
    fn hand_over(&self, gateway: &Arc<G>, work: Work<G>) -> bool {
        let mut waiting = self.waiting.lock();
        while waiting.works.len() >= CLERK_WAITING_MAX {
            if waiting.is_at_work {
                waiting = self.changed.wait(waiting);
                continue;
            }
            let first = waiting.works.pop_front();
            waiting.is_at_work = true;
            drop(waiting);
            if let Some(first) = first {
                wait_for_disk(|| first(gateway));
            }
            waiting = self.waiting.lock();
            waiting.is_at_work = false;
            self.changed.notify_all();
        }
        waiting.works.push_back(work);
        !std::mem::replace(&mut waiting.is_served, true)
    }

    /// Works until nothing is left.
    fn serve(&self, gateway: &Arc<G>) {
        let mut waiting = self.waiting.lock();
        while waiting.is_at_work {
            waiting = self.changed.wait(waiting);
        }
        while let Some(work) = waiting.works.pop_front() {
            waiting.is_at_work = true;
            self.changed.notify_all();
            drop(waiting);
            work(gateway);
            waiting = self.waiting.lock();
        }
        (waiting.is_served, waiting.is_at_work) = (false, false);
        self.changed.notify_all();
    }
}

impl Gateway {
    /// Has some work done after everything that was handed over before. Waits only while too much is waiting.
    pub(super) fn later(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        if self.clerk.hand_over(self, Box::new(work)) {
            let gateway = Arc::clone(self);
            self.spawn_when_possible("clerk", move || gateway.clerk.serve(&gateway));
        }
    }

    /// [`Gateway::tell_with`] for the loop.
    pub(super) fn tell_later(self: &Arc<Self>, message: OutgoingMessage) {
        self.later(move |gateway| gateway.tell_with(message));
    }

    /// [`Gateway::tell`] for the loop.
    pub(super) fn say_later(self: &Arc<Self>, to: &Address, text: &str) {
        self.tell_later(OutgoingMessage::text(to, text));
    }

    /// [`Gateway::finish_command`] for the loop.
    pub(super) fn finish_later(
        self: &Arc<Self>,
        message: &Envelope,
        answer: impl Into<CommandAnswer>,
    ) {
        let (message, answer) = (message.clone(), answer.into());
        self.later(move |gateway| gateway.finish_command(&message, answer));
    }

    /// Notes that a message is done with.
    pub(super) fn forget(self: &Arc<Self>, message: &Envelope) {
        let id = message.id.clone();
        self.later(move |gateway| gateway.parts.inbox.taken(&id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Done = Mutex<Vec<usize>>;

    fn hand_over(clerk: &Clerk<Done>, done: &Arc<Done>, number: usize) -> bool {
        clerk.hand_over(done, Box::new(move |done| done.lock().push(number)))
    }

    #[test]
    fn work_is_done_in_order_also_while_no_thread_can_be_started() {
        const COUNT: usize = CLERK_WAITING_MAX + 100;
        let (clerk, done) = (Arc::new(Clerk::default()), Arc::new(Done::default()));
        for number in 0..COUNT {
            assert_eq!(hand_over(&clerk, &done, number), number == 0);
        }
        assert_eq!(done.lock().len(), 100);
        let thread = std::thread::spawn({
            let (clerk, done) = (Arc::clone(&clerk), Arc::clone(&done));
            move || clerk.serve(&done)
        });
        let mut expected = COUNT;
        while clerk.is_busy() && expected < 10 * COUNT {
            if hand_over(&clerk, &done, expected) {
                clerk.serve(&done);
            }
            expected += 1;
        }
        thread.join().unwrap();
        assert!(!clerk.is_busy());
        assert_eq!(*done.lock(), (0..expected).collect::<Vec<_>>());
    }
}
