//! The one bounded queue into the gateway, and the heartbeats of threads.
//!
//! Senders wait while the queue is full: receiving stops, and no message is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::base::approval::Answer;
use crate::base::clock::Stopwatch;
use crate::base::limits::bus::ENTRIES;
use crate::base::message::{Address, Envelope, PressedMessage, Sender as Person, SessionKey};
use crate::base::sync::Mutex;

/// Everything that enters the gateway, on one queue.
#[derive(Debug)]
pub enum Event {
    /// A message arrived. It is in the inbox by now. Its session waits while it has
    /// [`remote_files`](Envelope::remote_files).
    Arrived(Envelope),
    /// The files of a message have been fetched, or given up: `envelope` is the message as it is now.
    Fetched(Envelope),
    /// A message was edited, which counts only while it is waiting.
    Edited {
        /// Whose conversation.
        session: SessionKey,
        /// The message's id within its chat.
        reference: String,
        /// The new text.
        text: String,
    },
    /// A message was edited that does not wait any more, or never did.
    EditedLate {
        /// The conversation.
        session: SessionKey,
        /// The message's id within its chat.
        reference: String,
    },
    /// A question was answered with a button.
    Answered {
        /// Where.
        address: Address,
        /// Who answered.
        sender: Person,
        /// The message with the button.
        message: PressedMessage,
        /// The question's number.
        question: u64,
        /// The answer.
        answer: Answer,
    },
    /// A consolidation's result waits for the session's journal.
    Consolidated(SessionKey),
    /// A turn is between two steps and waits for what has arrived meanwhile.
    Step(u64),
    /// A turn begins to wait for a person's answer.
    Waits(u64),
    /// A turn has its answer and waits until it may continue.
    GoesOn(u64),
    /// The command with this message's id begins to wait for a person's answer, or has it.
    Asks {
        /// The message.
        message: String,
        /// Whether the question is open.
        is_open: bool,
    },
    /// A command has run for so long that others need not wait for it.
    Long(u64),
    /// The gateway must end.
    End(Ending),
    /// A piece of work has ended.
    Finished {
        /// Which one.
        work: u64,
        /// Messages that were handed to it and that it has not put into its journal.
        unread: Vec<Envelope>,
    },
}

/// Why the gateway ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A signal.
    Stopped,
    /// A person asked for a restart.
    Restart,
}

/// The queue into the gateway.
pub fn events() -> (EventSender, Receiver<Event>) {
    let (sender, receiver) = channel(ENTRIES);
    (EventSender(sender), receiver)
}

/// The end of the queue that threads send to.
#[derive(Clone, Debug)]
pub struct EventSender(Sender<Event>);

impl EventSender {
    /// Waits for room and sends; false when the gateway has ended. Must not be called on the runtime's
    /// own thread.
    pub fn send(&self, event: Event) -> bool {
        self.0.blocking_send(event).is_ok()
    }

    /// The same for tasks of the runtime.
    pub async fn send_async(&self, event: Event) -> bool {
        self.0.send(event).await.is_ok()
    }

    /// Sends, and calls `wait` repeatedly while the queue is full. False when the gateway has ended, or
    /// when `wait` returned false. May be called on any thread.
    pub fn send_while(&self, mut event: Event, wait: &mut dyn FnMut() -> bool) -> bool {
        loop {
            event = match self.0.try_send(event) {
                Ok(()) => return true,
                Err(TrySendError::Closed(_)) => return false,
                Err(TrySendError::Full(event)) => event,
            };
            if !wait() {
                return false;
            }
        }
    }
}

/// The threads that have to show that they are alive. Clones share the list.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats(Arc<Mutex<Vec<Weak<Beats>>>>);

impl Heartbeats {
    /// Adds a thread, until the last clone of what is returned has been dropped.
    pub fn register(&self, name: &'static str) -> Heartbeat {
        let beats = Arc::new(Beats {
            name,
            watch: Stopwatch::start(),
            until: AtomicU64::new(0),
        });
        let mut list = self.0.lock();
        list.retain(|beats| beats.strong_count() > 0);
        list.push(Arc::downgrade(&beats));
        Heartbeat(beats)
    }

    /// Whether every thread has sent its first heartbeat.
    pub fn have_begun(&self) -> bool {
        let list = self.0.lock();
        let mut threads = list.iter().filter_map(Weak::upgrade);
        threads.all(|beats| beats.until.load(Ordering::Relaxed) > 0)
    }

    /// The name of a thread whose heartbeat is overdue.
    pub fn late(&self) -> Option<&'static str> {
        let list = self.0.lock();
        let mut threads = list.iter().filter_map(Weak::upgrade);
        threads
            .find(|beats| beats.is_late())
            .map(|beats| beats.name)
    }
}

/// The heartbeat of a thread, which announces when the next one is due. Clones share it.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<Beats>);

impl Heartbeat {
    /// The thread is alive, and the next beat comes within this time.
    pub fn beat(&self, within: Duration) {
        let until = (self.0.watch.elapsed() + within).as_millis() as u64;
        self.0.until.store(until.max(1), Ordering::Relaxed);
    }

    /// The name of the thread.
    pub fn name(&self) -> &'static str {
        self.0.name
    }
}

impl Beats {
    /// Whether the next beat is overdue; false before the first one.
    fn is_late(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until > 0 && self.watch.elapsed().as_millis() as u64 > until
    }
}

/// When the next beat of a [`Heartbeat`] is due.
#[derive(Debug)]
struct Beats {
    name: &'static str,
    watch: Stopwatch,
    /// Milliseconds on the stopwatch until the next beat is due; 0 before the first one.
    until: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_late_when_its_next_beat_is_overdue() {
        let heartbeats = Heartbeats::default();
        let heartbeat = heartbeats.register("receive");
        assert!(!heartbeats.have_begun() && heartbeats.late().is_none());
        heartbeat.beat(Duration::from_secs(600));
        assert!(heartbeats.have_begun() && heartbeats.late().is_none());
        heartbeat.beat(Duration::ZERO);
        let watch = Stopwatch::start();
        while watch.elapsed() < Duration::from_millis(2) {
            std::thread::yield_now();
        }
        assert_eq!(heartbeats.late(), Some("receive"));
        drop(heartbeat);
        assert_eq!(
            heartbeats.late(),
            None,
            "a thread that has ended is not late"
        );
    }

    #[test]
    fn a_full_queue_makes_the_sender_wait_and_loses_nothing() {
        let (sender, mut events) = events();
        let count = 3 * ENTRIES as u64;
        let thread = std::thread::spawn(move || {
            (0..count)
                .filter(|work| sender.send(Event::Step(*work)))
                .count()
        });
        let works: Vec<u64> = std::iter::from_fn(|| match events.blocking_recv()? {
            Event::Step(work) => Some(work),
            _ => None,
        })
        .collect();
        assert_eq!(works, (0..count).collect::<Vec<_>>());
        assert_eq!(thread.join().unwrap() as u64, count);
    }
}
