//! Floor 4: the two bounded queues between channels and the gateway. It calls nobody.
//!
//! Inbound: a channel sends and waits while the queue is full, so that polling stops and nothing is
//! lost. Outbound: one queue to each channel's worker; what it holds may be merged or dropped, because
//! what has to arrive lies in the outbox. Beside them the pulses by which the gateway sees that a
//! channel's threads are alive.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::approval::Answer;
use crate::clock::Stopwatch;
use crate::limits::bus::ENTRIES;
use crate::message::{Address, Envelope, Inbound, Outbound, Sender as Person, SessionKey};

/// A queue from the channels to the gateway.
pub fn inbound() -> (InboundSender, Receiver<Inbound>) {
    let (sender, receiver) = channel(ENTRIES);
    (InboundSender(sender), receiver)
}

/// A queue from the gateway to one channel's worker. The handle is of the runtime whose timers the
/// worker waits on.
pub fn outbound(handle: Handle) -> (OutboundSender, OutboundReceiver) {
    let (sender, receiver) = channel(ENTRIES);
    (
        OutboundSender(sender),
        OutboundReceiver { receiver, handle },
    )
}

/// The channels' end of the inbound queue.
#[derive(Clone)]
pub struct InboundSender(Sender<Inbound>);

impl InboundSender {
    /// Waits for a place and puts it there; false when the gateway has gone. Not for use within the
    /// runtime's own thread.
    pub fn send(&self, inbound: Inbound) -> bool {
        self.0.blocking_send(inbound).is_ok()
    }
}

/// The gateway's end of an outbound queue.
#[derive(Clone)]
pub struct OutboundSender(Sender<Outbound>);

impl OutboundSender {
    /// Puts it in the queue, or drops it where that is full; false when it was dropped. What the next
    /// one replaces anyway leaves half of the queue to what comes only once, such as the end of work.
    pub fn send(&self, outbound: Outbound) -> bool {
        let is_fleeting = matches!(outbound, Outbound::Draft { .. } | Outbound::Taken { .. });
        if is_fleeting && self.0.capacity() <= ENTRIES / 2 {
            return false;
        }
        !matches!(self.0.try_send(outbound), Err(TrySendError::Full(_)))
    }
}

/// What a worker heard.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    /// Something to show.
    Outbound(Outbound),
    /// Nothing within the time.
    Nothing,
    /// The gateway has gone.
    Closed,
}

/// A worker's end of its outbound queue.
pub struct OutboundReceiver {
    receiver: Receiver<Outbound>,
    handle: Handle,
}

impl OutboundReceiver {
    /// Waits for the next entry, at most so long. Blocks the thread, which must not be the runtime's.
    pub fn receive(&mut self, time: Duration) -> Heard {
        let next = async { tokio::time::timeout(time, self.receiver.recv()).await };
        match self.handle.block_on(next) {
            Ok(Some(outbound)) => Heard::Outbound(outbound),
            Ok(None) => Heard::Closed,
            Err(_) => Heard::Nothing,
        }
    }
}

/// A thread's promise to show itself again within a time. Clones share it.
#[derive(Clone, Debug)]
pub struct Pulse(Arc<Beats>);

#[derive(Debug)]
struct Beats {
    name: &'static str,
    watch: Stopwatch,
    /// Milliseconds on the stopwatch until which the thread is taken for alive; 0: not begun.
    until: AtomicU64,
}

impl Pulse {
    /// A thread that has not begun.
    pub fn new(name: &'static str) -> Self {
        Self(Arc::new(Beats {
            name,
            watch: Stopwatch::start(),
            until: AtomicU64::new(0),
        }))
    }

    /// What it is called in the log.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// I am alive, and the next beat comes within this time.
    pub fn beat(&self, within: Duration) {
        let until = (self.0.watch.elapsed() + within).as_millis() as u64;
        self.0.until.store(until.max(1), Ordering::Relaxed);
    }

    /// Whether the thread has begun.
    pub fn has_begun(&self) -> bool {
        self.0.until.load(Ordering::Relaxed) > 0
    }

    /// Whether the thread has kept its promise; true before it has begun.
    pub fn is_alive(&self) -> bool {
        let until = self.0.until.load(Ordering::Relaxed);
        until == 0 || self.0.watch.elapsed().as_millis() as u64 <= until
    }
}

/// Everything that enters the gateway, on one queue.
#[derive(Debug)]
pub enum Event {
    /// A message arrived. It is in the inbox by now. Its session waits while it has
    /// [`remote_files`](Envelope::remote_files).
    Arrived(Envelope),
    /// The files of a message have been fetched, or given up: `envelope` is the message as it is now.
    Fetched(Envelope),
    /// A message was edited, which counts only while it waits.
    Edited {
        /// Whose conversation.
        session: SessionKey,
        /// The message's id within its chat.
        reference: String,
        /// The new text.
        text: String,
    },
    /// A question was answered with a button.
    Answered {
        /// Where.
        address: Address,
        /// Who answered.
        sender: Person,
        /// The question's number.
        question: u64,
        /// The answer.
        answer: Answer,
    },
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
    /// Waits for room and sends; false when the gateway has gone. Must not be called on the runtime's
    /// own thread.
    pub fn send(&self, event: Event) -> bool {
        self.0.blocking_send(event).is_ok()
    }
}

/// The threads that have promised to show that they are alive. Clones share the list.
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
        let mut list = self.lock();
        list.retain(|beats| beats.strong_count() > 0);
        list.push(Arc::downgrade(&beats));
        Heartbeat(beats)
    }

    /// Whether every thread has shown itself once.
    pub fn have_begun(&self) -> bool {
        let list = self.lock();
        let mut threads = list.iter().filter_map(Weak::upgrade);
        threads.all(|beats| beats.until.load(Ordering::Relaxed) > 0)
    }

    /// The name of a thread that has broken its promise.
    pub fn late(&self) -> Option<&'static str> {
        let list = self.lock();
        let mut threads = list.iter().filter_map(Weak::upgrade);
        threads
            .find(|beats| beats.is_late())
            .map(|beats| beats.name)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Beats>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread's promise to show itself again within a time. Clones share it.
#[derive(Clone, Debug)]
pub struct Heartbeat(Arc<Beats>);

impl Heartbeat {
    /// The thread is alive, and the next beat comes within this time.
    pub fn beat(&self, within: Duration) {
        let until = (self.0.watch.elapsed() + within).as_millis() as u64;
        self.0.until.store(until.max(1), Ordering::Relaxed);
    }

    /// What the thread is called.
    pub fn name(&self) -> &'static str {
        self.0.name
    }
}

impl Beats {
    /// Whether the promise is broken; false before the first beat.
    fn is_late(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until > 0 && self.watch.elapsed().as_millis() as u64 > until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Address;

    #[test]
    fn a_pulse_is_dead_when_its_promise_is_broken() {
        let pulse = Pulse::new("poll");
        assert!(pulse.is_alive() && !pulse.has_begun());
        pulse.beat(Duration::from_secs(600));
        assert!(pulse.is_alive() && pulse.has_begun());
        pulse.beat(Duration::ZERO);
        let watch = Stopwatch::start();
        while watch.elapsed() < Duration::from_millis(2) {
            std::thread::yield_now();
        }
        assert!(!pulse.is_alive());
    }

    #[test]
    fn drafts_leave_room_for_the_end_of_the_work_that_they_show() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let (sender, _receiver) = outbound(runtime.unwrap().handle().clone());
        let chat = Address::new("telegram", "1");
        let draft = |number: usize| Outbound::Draft {
            chat: chat.clone(),
            text: number.to_string(),
            reply_to: String::new(),
        };
        let kept = (0..ENTRIES).filter(|number| sender.send(draft(*number)));
        assert_eq!(kept.count(), ENTRIES / 2);
        assert!(sender.send(Outbound::Resting(chat)));
    }

    #[test]
    fn a_full_outbound_queue_drops_what_comes_and_keeps_what_is_there() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let (sender, mut receiver) = outbound(runtime.handle().clone());
        let working = Outbound::Working(Address::new("telegram", "1"));
        assert!((0..ENTRIES).all(|_| sender.send(working.clone())));
        assert!(!sender.send(Outbound::Owed));
        let keeper = std::thread::spawn(move || {
            let heard = receiver.receive(Duration::from_secs(60));
            (heard, receiver)
        });
        runtime.block_on(async {
            while !keeper.is_finished() {
                tokio::task::yield_now().await
            }
        });
        let (heard, _receiver) = keeper.join().unwrap();
        assert_eq!(heard, Heard::Outbound(working));
        assert!(sender.send(Outbound::Owed));
    }
}
