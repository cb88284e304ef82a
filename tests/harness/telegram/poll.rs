//! The queue of updates, and how a bot gets them. <https://core.telegram.org/bots/api#getupdates>

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::check::Refusal;
use super::request::Call;
use super::server::{Server, State};

/// The number of the first update. Real numbers are as large.
const FIRST: i64 = 512_000_001;
/// Maximum number of updates in an answer.
const MOST: i64 = 100;
/// Maximum time that the server waits for an update, in seconds.
const LONGEST: i64 = 50;
/// The kinds of updates that are used here.
const KINDS: [&str; 4] = [
    "message",
    "edited_message",
    "callback_query",
    "stopped_message_generation",
];

/// The updates that the bot has not confirmed.
pub(super) struct Queue {
    waiting: VecDeque<Update>,
    /// All updates so far, by their numbers.
    all: BTreeMap<i64, Value>,
    /// Updates that are held back.
    held: Option<Vec<Update>>,
    /// Maximum number of updates in an answer, whatever the bot asks for.
    batch: Option<usize>,
    next: i64,
    delivered: i64,
    confirmed: i64,
    allowed: Option<Vec<String>>,
    poller: Option<Poller>,
    polls: usize,
}

#[derive(Clone)]
struct Update {
    id: i64,
    json: Value,
    /// It is sent again, even if it was confirmed.
    again: bool,
}

/// A poller that waits for updates.
struct Poller {
    poll: usize,
    /// One byte, or closing the other end, wakes it.
    bell: UnixStream,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            all: BTreeMap::new(),
            held: None,
            batch: None,
            next: FIRST,
            delivered: 0,
            confirmed: 0,
            allowed: None,
            poller: None,
            polls: 0,
        }
    }
}

impl Queue {
    /// Queues an update; returns its number.
    pub(super) fn push(&mut self, kind: &str, what: Value) -> i64 {
        let id = self.next;
        self.next += 1;
        let json = json!({"update_id": id, kind: what});
        self.all.insert(id, json.clone());
        // The bot gets only the kinds of updates that it asked for.
        let wanted = |allowed: &Vec<String>| allowed.iter().any(|allowed| allowed == kind);
        if self.allowed.as_ref().is_none_or(wanted) {
            self.add(Update {
                id,
                json,
                again: false,
            });
        }
        id
    }

    /// Sends an update again, whether it was confirmed or not.
    pub(super) fn repeat(&mut self, id: i64) {
        let json = self.all[&id].clone();
        self.add(Update {
            id,
            json,
            again: true,
        });
    }

    fn add(&mut self, update: Update) {
        match &mut self.held {
            Some(held) => held.push(update),
            None => self.waiting.push_back(update),
        }
        self.ring();
    }

    /// Holds updates back until they are released.
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Releases the held ones, the newest first.
    pub(super) fn release_reversed(&mut self) {
        let held = self.held.take().unwrap_or_default();
        self.waiting.extend(held.into_iter().rev());
        self.ring();
    }

    /// Releases the held ones in this order, and the others after them.
    pub(super) fn release_as(&mut self, order: &[i64]) {
        let mut held = self.held.take().unwrap_or_default();
        let place = |update: &Update| order.iter().position(|id| *id == update.id);
        held.sort_by_key(|update| place(update).unwrap_or(usize::MAX));
        self.waiting.extend(held);
        self.ring();
    }

    /// Sets the maximum number of updates in an answer.
    pub(super) fn set_batch(&mut self, most: usize) {
        self.batch = Some(most);
    }

    /// The number of the next update.
    pub(super) fn next(&self) -> i64 {
        self.next
    }

    /// The number of the newest update that the bot has confirmed; 0 when there is none.
    pub(super) fn confirmed(&self) -> i64 {
        self.confirmed
    }

    /// Whether a poller waits for updates at this moment.
    pub(super) fn is_polled(&self) -> bool {
        self.poller.is_some()
    }

    fn ring(&mut self) {
        if let Some(poller) = &mut self.poller {
            // A poller that is gone is not woken.
            let _ = poller.bell.write_all(b"!");
        }
    }

    /// Drops confirmed updates; the error is an invalid request.
    fn begin(&mut self, call: &Call) -> Result<usize, Refusal> {
        if let Some(offset) = call.integer("offset") {
            let newest = self.delivered.max(FIRST - 1);
            if offset < 0 || offset > newest + 1 {
                return Err(Refusal::never(format!(
                    "offset {offset} confirms what never came"
                )));
            }
            self.confirmed = self.confirmed.max(offset - 1);
            self.waiting
                .retain(|update| update.again || update.id >= offset);
        }
        let within = |name: &str, most: i64| call.integer(name).is_none_or(|n| n >= 0 && n <= most);
        if !within("timeout", LONGEST) || !within("limit", MOST) {
            return Err(Refusal::never(
                "timeout or limit is beyond its range".to_owned(),
            ));
        }
        self.allow(call)?;
        self.polls += 1;
        // Closing the pipe wakes the waiting poller.
        self.poller = None;
        Ok(self.polls)
    }

    fn allow(&mut self, call: &Call) -> Result<(), Refusal> {
        let Some(kinds) = call.parameters["allowed_updates"].as_array() else {
            return match self.allowed {
                Some(_) => Ok(()),
                None => Err(Refusal::never("allowed_updates is missing".to_owned())),
            };
        };
        let kinds: Option<Vec<String>> = kinds
            .iter()
            .map(|kind| Some(kind.as_str()?.to_owned()))
            .collect();
        match kinds {
            Some(kinds) if kinds.iter().all(|kind| KINDS.contains(&kind.as_str())) => {
                self.allowed = Some(kinds);
                Ok(())
            }
            _ => Err(Refusal::never(
                "allowed_updates has what nobody handles".to_owned(),
            )),
        }
    }

    /// The next answer; unconfirmed updates are sent again.
    fn batch(&mut self, call: &Call) -> Vec<Value> {
        let limit = call.integer("limit").map_or(MOST, |limit| limit.max(1)) as usize;
        let limit = self.batch.map_or(limit, |most| limit.min(most.max(1)));
        let batch: Vec<Update> = self.waiting.iter().take(limit).cloned().collect();
        for update in &batch {
            self.delivered = self.delivered.max(update.id);
        }
        self.waiting.retain(|update| {
            !(update.again && batch.iter().any(|sent| sent.again && sent.id == update.id))
        });
        batch.into_iter().map(|update| update.json).collect()
    }
}

impl Server {
    /// Answers `getUpdates`; `None` if the bot disconnected while it waited.
    pub(super) fn get_updates(
        &self,
        call: &Call,
        socket: &TcpStream,
    ) -> Option<Result<Value, Refusal>> {
        let patience = Duration::from_secs(call.integer("timeout").unwrap_or(0).max(0) as u64);
        let end = Instant::now() + patience;
        let mut state = self.state();
        let mine = match state.queue.begin(call) {
            Ok(poll) => poll,
            Err(refusal) => return Some(Err(refusal)),
        };
        self.wake();
        loop {
            if state.queue.polls != mine {
                return Some(Err(Refusal::conflict()));
            }
            let batch = state.queue.batch(call);
            let left = end.saturating_duration_since(Instant::now());
            if !batch.is_empty() || left.is_zero() {
                state.queue.poller = None;
                return Some(Ok(json!(batch)));
            }
            state = self.wait_for_update(state, mine, left, socket)?;
        }
    }

    /// Waits for an update, another poller or the time limit; `None` if the bot disconnects.
    fn wait_for_update<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        poll_number: usize,
        longest: Duration,
        socket: &TcpStream,
    ) -> Option<MutexGuard<'a, State>> {
        let (bell, wire) = UnixStream::pair().unwrap();
        // One that rings already needs no more: a flood would fill the socket and wait with the lock held.
        bell.set_nonblocking(true).unwrap();
        state.queue.poller = Some(Poller {
            poll: poll_number,
            bell,
        });
        drop(state);
        self.wake();
        let longest = Timespec::try_from(longest).unwrap();
        let mut watched = [
            PollFd::from_borrowed_fd(wire.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
        ];
        poll(&mut watched, Some(&longest)).unwrap();
        // A bot that waits for its answer sends nothing: readable means disconnected.
        let hung_up = !watched[1].revents().is_empty();
        let mut state = self.state();
        if hung_up {
            if state
                .queue
                .poller
                .as_ref()
                .is_some_and(|poller| poller.poll == poll_number)
            {
                state.queue.poller = None;
            }
            return None;
        }
        Some(state)
    }
}
