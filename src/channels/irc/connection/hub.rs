//! Where the delivering threads meet the receiving one, which has the connection.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use rustix::event::{EventfdFlags, eventfd};

use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::sync::{Condvar, Mutex};
use crate::channels::irc::link::Link;
use crate::channels::irc::person::Place;
use crate::channels::irc::session::outgoing::Request;
use crate::channels::kit::adapter::{Failure, Sent};
use std::time::Duration;

/// Time for a message to be sent and confirmed, with those that wait before it.
const SEND_TIME: Duration = Duration::from_mins(4);

/// Messages on their way to the connection, and their outcomes on the way back.
#[derive(Default)]
pub struct Hub {
    state: Mutex<State>,
    changed: Condvar,
    wake: OnceLock<Arc<OwnedFd>>,
    /// The connection after the receiver has ended: what is still to be sent goes over it.
    parked: Mutex<Option<Link>>,
}

#[derive(Default)]
struct State {
    mode: Mode,
    tickets: u64,
    new: Vec<Request>,
    withdrawn: Vec<u64>,
    /// The outcome of each message that a thread waits for.
    outcomes: BTreeMap<u64, Option<Sent<String>>>,
}

#[derive(Default)]
enum Mode {
    /// There is no receiver.
    #[default]
    Absent,
    /// There is no connection, for this reason.
    Down(String),
    Live,
    Parked,
}

/// A message that a worker has to send.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    /// Where it goes.
    pub to: &'a Place,
    /// Its text, with formatting.
    pub text: &'a str,
    /// The same for each attempt to send it.
    pub key: Option<u64>,
}

impl Message<'_> {
    fn request(self, ticket: u64) -> Request {
        Request {
            ticket,
            to: self.to.clone(),
            text: self.text.to_owned(),
            key: self.key,
        }
    }
}

/// What became of a message that was handed over.
pub enum Handed {
    /// It was sent, or was not.
    Done(Sent<String>),
    /// There is no receiver.
    Absent,
    /// The receiver has ended, and left its connection.
    Parked,
}

impl Hub {
    /// The descriptor that ends the receiver's waits.
    pub fn waker(&self) -> io::Result<Arc<OwnedFd>> {
        if let Some(wake) = self.wake.get() {
            return Ok(Arc::clone(wake));
        }
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        Ok(Arc::clone(self.wake.get_or_init(|| wake)))
    }

    /// Ends the receiver's wait.
    pub fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            // It fails when the counter is full, and then it wakes as well.
            let _ = rustix::io::write(&**wake, &1_u64.to_ne_bytes());
        }
    }

    /// The connection works.
    pub fn is_live(&self) {
        self.state.lock().mode = Mode::Live;
    }

    /// There is no connection. What was handed over is not sent.
    pub fn is_down(&self, why: &str) {
        self.close(Mode::Down(why.to_owned()), why);
    }

    fn close(&self, mode: Mode, why: &str) {
        let mut state = self.state.lock();
        state.mode = mode;
        state.new.clear();
        for outcome in state.outcomes.values_mut() {
            outcome.get_or_insert_with(|| Err(Failure::Down(why.to_owned())));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The receiver ends, and leaves its connection.
    pub fn park(&self, link: Link) {
        *self.parked.lock() = Some(link);
        self.close(Mode::Parked, "the gateway is stopping");
    }

    /// What has been handed over, and what nobody waits for any more.
    pub fn take_new(&self) -> (Vec<Request>, Vec<u64>) {
        let mut state = self.state.lock();
        (
            std::mem::take(&mut state.new),
            std::mem::take(&mut state.withdrawn),
        )
    }

    /// Tells the threads that wait for them what has become of messages.
    pub fn finish(&self, finished: Vec<(u64, Sent<String>)>) {
        if finished.is_empty() {
            return;
        }
        let mut state = self.state.lock();
        for (ticket, outcome) in finished {
            if let Some(awaited) = state.outcomes.get_mut(&ticket) {
                *awaited = Some(outcome);
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Hands a message to the receiver, and waits until it is sent.
    pub fn hand_over(self: &Arc<Self>, message: Message<'_>, cancel: &Cancel) -> Handed {
        let mut state = self.state.lock();
        match &state.mode {
            Mode::Absent => return Handed::Absent,
            Mode::Parked => return Handed::Parked,
            Mode::Down(why) => return Handed::Done(Err(Failure::Down(why.clone()))),
            Mode::Live => {}
        }
        state.tickets += 1;
        let ticket = state.tickets;
        state.outcomes.insert(ticket, None);
        state.new.push(message.request(ticket));
        drop(state);
        self.wake();
        let hub = Arc::clone(self);
        let _hook = cancel.on_cancel(move || {
            // Not between a look at the token and the wait.
            drop(hub.state.lock());
            hub.changed.notify_all();
        });
        Handed::Done(self.wait_for(ticket, cancel))
    }

    fn wait_for(&self, ticket: u64, cancel: &Cancel) -> Sent<String> {
        let is_awaited = |state: &mut State| {
            let outcome = state.outcomes.get(&ticket);
            outcome.is_some_and(Option::is_none) && !cancel.is_cancelled()
        };
        let waited = self.state.lock();
        let mut state = self
            .changed
            .wait_timeout_while(waited, SEND_TIME, is_awaited);
        match state.outcomes.remove(&ticket).flatten() {
            Some(outcome) => outcome,
            None => {
                state.withdrawn.push(ticket);
                Err(if cancel.is_cancelled() {
                    Failure::Stopped
                } else {
                    Failure::Trouble("the server did not confirm it in time".to_owned())
                })
            }
        }
    }

    /// Sends a message over the connection that the receiver has left.
    pub fn drive(self: &Arc<Self>, message: Message<'_>, cancel: &Cancel) -> Sent<String> {
        let mut parked = self.parked.lock();
        let mut link = parked
            .take()
            .ok_or_else(|| Failure::Down("the gateway is stopping".to_owned()))?;
        let sent = self.send_over(&mut link, message, cancel);
        if !matches!(sent, Err(Failure::Down(_))) {
            *parked = Some(link);
        }
        sent
    }

    /// Sends a message over a connection that nobody else uses.
    pub fn send_over(
        self: &Arc<Self>,
        link: &mut Link,
        message: Message<'_>,
        cancel: &Cancel,
    ) -> Sent<String> {
        let hub = Arc::clone(self);
        let _hook = cancel.on_cancel(move || hub.wake());
        let ticket = {
            let mut state = self.state.lock();
            state.tickets += 1;
            state.tickets
        };
        link.outgoing.push(message.request(ticket));
        let watch = Stopwatch::start();
        while watch.elapsed() < SEND_TIME && !cancel.is_cancelled() {
            link.step(SEND_TIME.saturating_sub(watch.elapsed()))?;
            let finished = link.outgoing.take_finished();
            let ours = finished.into_iter().find(|(number, _)| *number == ticket);
            if let Some((_, outcome)) = ours {
                return outcome;
            }
        }
        link.outgoing.withdraw(ticket);
        Err(if cancel.is_cancelled() {
            Failure::Stopped
        } else {
            Failure::Trouble("the server did not confirm it in time".to_owned())
        })
    }
}
