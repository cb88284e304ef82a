//! The clerk does what has to wait for the disk: in order, on one thread that ends when nothing is left. On a worn card
//! a write can take seconds; the loop hands it over, so that everybody's `/stop` still counts at once.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Gateway;
use crate::agent::commands::CommandAnswer;
use crate::limits::gateway::CLERK_WAITING_MAX;
use crate::message::{Address, Envelope, OutgoingMessage};
use crate::sync::{Condvar, Mutex};

type Work = Box<dyn FnOnce(&Arc<Gateway>) + Send>;

/// What was handed over, and whether a thread is at it.
#[derive(Default)]
pub struct Clerk {
    waiting: Mutex<Waiting>,
    /// Some work was taken.
    taken: Condvar,
}

#[derive(Default)]
struct Waiting {
    works: VecDeque<Work>,
    is_served: bool,
}

impl Clerk {
    /// Whether some work waits or is being done.
    pub fn is_busy(&self) -> bool {
        self.waiting.lock().is_served
    }

    /// The next work; `None` ends the thread.
    fn next(&self) -> Option<Work> {
        let mut waiting = self.waiting.lock();
        let next = waiting.works.pop_front();
        waiting.is_served = next.is_some();
        self.taken.notify_all();
        next
    }
}

impl Gateway {
    /// Has some work done after everything that was handed over before. Waits only while too much is waiting.
    pub(super) fn later(self: &Arc<Self>, work: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let mut waiting = self.clerk.waiting.lock();
        while waiting.works.len() >= CLERK_WAITING_MAX && waiting.is_served {
            waiting = self.clerk.taken.wait(waiting);
        }
        waiting.works.push_back(Box::new(work));
        if std::mem::replace(&mut waiting.is_served, true) {
            return;
        }
        drop(waiting);
        let gateway = Arc::clone(self);
        self.spawn_when_possible("clerk", move || {
            while let Some(work) = gateway.clerk.next() {
                work(&gateway);
            }
        });
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
