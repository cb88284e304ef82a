//! Receives events by long polling and passes them on to the intake.
//!
//! The place in the stream of events moves on when the intake has the messages before it on the disk. It is kept in a
//! file, so that after a restart what was written meanwhile is received; what comes a second time is recognised by the
//! intake. Messages from before the first start are not answered.

mod guests;
mod missed;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::account::Account;
use super::api::Api;
use super::connection::Matrix;
use super::event::{self, Reader};
use super::kept::KeptFile;
use super::sync::{self, Batch, Event, Room};
use crate::base::bus::Heartbeat;
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::Error;
use crate::base::limits::channels::{
    CALL_TIME, INBOX_BACKOFF, LONGEST_BACKOFF, PATIENCE, POLL_INTERVAL, UPDATES_AT_ONCE,
};
use crate::channels::kit::adapter::Failure;
use crate::channels::kit::health::Task;
use crate::channels::kit::sink::{Incoming, SharedSink};
use crate::channels::kit::stream::backoff::Backoff;
use crate::sys::memory;
use guests::follow;

/// How long a sync waits for something to happen. Proxies before a homeserver often allow 60 s.
const SYNC_WAIT: Duration = Duration::from_secs(30);
/// How long a call may take that is only for show, such as a read receipt: meanwhile nothing is received.
const SHOW_PATIENCE: Duration = Duration::from_secs(5);
/// Rooms of which the number of members is remembered. Of others it is asked for again.
const ROOMS: usize = 256;
/// The longest time until the place in the stream is saved although nothing in it was for us: the most that is read
/// again after a crash.
const SAVE_INTERVAL: Duration = Duration::from_mins(30);

/// What a receiver is made of.
pub(super) struct ReceiverParts<'a> {
    pub matrix: &'a Matrix,
    pub account: &'a Account,
    /// The folder for what has to be remembered.
    pub state: &'a Path,
    pub clock: &'a Clock,
    pub intake: SharedSink,
    pub heartbeat: Heartbeat,
    pub cancel: Cancel,
}

/// Receives until the token is raised.
pub(super) fn run(parts: ReceiverParts<'_>) {
    match Receiver::new(parts) {
        Ok(receiver) => receiver.run(),
        Err(error) => tracing::error!("failed to receive from Matrix: {error}"),
    }
}

struct Receiver<'a> {
    parts: ReceiverParts<'a>,
    api: Api,
    watch: Stopwatch,
    /// Who the account is, once that is known.
    me: Option<Me>,
    /// Whether there are more than two in a room, as far as that is known.
    groups: BTreeMap<String, bool>,
    /// Failures of the homeserver, and of the inbox.
    backoff: Backoff,
    full: Backoff,
    /// Whether the next sync only checks that the homeserver can be reached.
    is_probe: bool,
    /// Whether the last sync was too long, so that the next one asks for less.
    is_narrow: bool,
    /// When the place in the stream was saved.
    saved_at: Duration,
    /// When strangers have brought the bot into rooms.
    strangers: Vec<Duration>,
}

/// Who the account is.
struct Me {
    user: String,
    name: String,
    kept: KeptFile,
}

/// Why nothing was received.
enum Fault {
    Matrix(Failure),
    /// The inbox cannot store the messages.
    Inbox(Error),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Matrix(failure)
    }
}

/// What a sync brings for the intake.
#[derive(Default)]
struct News {
    incoming: Vec<Incoming>,
    /// The last message of each room, which is marked as read once it is accepted.
    read: Vec<(String, String)>,
}

impl<'a> Receiver<'a> {
    fn new(parts: ReceiverParts<'a>) -> Result<Self, Error> {
        let health = parts.intake.health();
        let backoff = |task, name| Backoff::new(task, name, parts.clock.clone(), health.clone());
        Ok(Self {
            api: parts.matrix.api(SYNC_WAIT + PATIENCE, &parts.cancel)?,
            watch: Stopwatch::start(),
            me: None,
            groups: BTreeMap::new(),
            backoff: backoff(Task::Receive, "receive from Matrix"),
            full: backoff(Task::Accept, "accept messages from Matrix"),
            is_probe: false,
            is_narrow: false,
            saved_at: Duration::ZERO,
            strangers: Vec::new(),
            parts,
        })
    }

    fn run(mut self) {
        let cancel = self.parts.cancel.clone();
        while !cancel.is_cancelled() {
            self.parts.heartbeat.beat(SYNC_WAIT + 2 * PATIENCE);
            memory::give_back_stack();
            let wait = match self.poll() {
                Ok(()) => {
                    self.reached();
                    self.full.succeeded();
                    continue;
                }
                Err(Fault::Matrix(Failure::Stopped)) => continue,
                Err(Fault::Matrix(failure)) => self.failed(&failure),
                Err(Fault::Inbox(error)) => {
                    self.reached();
                    self.full.failed(&error, None).min(INBOX_BACKOFF)
                }
            };
            self.parts.heartbeat.beat(wait + PATIENCE);
            cancel.wait(wait);
        }
        if let Some(me) = &mut self.me {
            me.kept.save();
        }
    }

    /// The homeserver has answered.
    fn reached(&mut self) {
        self.is_probe = false;
        if self.backoff.succeeded() {
            self.parts.intake.reachable();
        }
    }

    /// How long to wait after a failure.
    fn failed(&mut self, failure: &Failure) -> Duration {
        self.is_probe = matches!(failure, Failure::Down(_) | Failure::Trouble(_));
        let asked = match failure {
            Failure::RetryAfter(wait) => Some(*wait),
            Failure::Refused(_) | Failure::TooLong => Some(LONGEST_BACKOFF),
            _ => None,
        };
        self.backoff.failed(failure, asked)
    }

    /// One sync, from the request until its messages are accepted and the place in the stream has moved on.
    fn poll(&mut self) -> Result<(), Fault> {
        let mut me = match self.me.take() {
            Some(me) => me,
            None => self.find_me()?,
        };
        let outcome = self.poll_as(&mut me);
        self.me = Some(me);
        outcome
    }

    fn find_me(&self) -> Result<Me, Failure> {
        let user = self.api.me()?;
        Ok(Me {
            name: self.api.display_name(&user)?,
            kept: KeptFile::open(self.parts.state, &user),
            user,
        })
    }

    fn poll_as(&mut self, me: &mut Me) -> Result<(), Fault> {
        let watch = Stopwatch::start();
        let is_first = me.kept.since().is_none();
        let wait = if self.is_probe || is_first {
            Duration::ZERO
        } else {
            SYNC_WAIT
        };
        let synced = self.api.sync(me.kept.since(), wait, self.is_narrow);
        let text = match synced {
            Err(Failure::TooLong) if !self.is_narrow => {
                self.is_narrow = true;
                return Ok(());
            }
            Err(Failure::Refused(why)) if !is_first => {
                tracing::warn!(
                    "the place in Matrix's events is lost, so some may stay unanswered: {why}"
                );
                me.kept.now.since.clear();
                return Ok(());
            }
            synced => synced?,
        };
        self.is_narrow = false;
        let unexpected = || Failure::Trouble("unexpected reply from the homeserver".to_owned());
        let batch = sync::read(&text, &me.user).ok_or_else(unexpected)?;
        let next = batch.next.clone();
        let has_news = me.kept.now.since != next;
        let is_taken = self.take(batch, is_first, me)?;
        me.kept.now.since = next;
        let is_taken = self.answer_invitations(me)? || is_taken;
        let now = self.watch.elapsed();
        if is_taken || is_first || now >= self.saved_at + SAVE_INTERVAL {
            me.kept.save();
            self.saved_at = now;
        }
        // A server that replies at once with nothing new must not be asked thousands of times a second.
        if !has_news && !self.is_probe && watch.elapsed() < POLL_INTERVAL {
            self.parts.cancel.wait(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Deals with what a sync brought; returns whether any of it was for us.
    fn take(&mut self, batch: Batch<'_>, is_first: bool, me: &mut Me) -> Result<bool, Fault> {
        for room in &batch.left {
            self.groups.remove(room);
        }
        let has_invitations = !batch.invitations.is_empty();
        for invitation in batch.invitations {
            me.kept.add_invitation(invitation);
        }
        let mut news = News::default();
        for room in &batch.rooms {
            self.read_room(room, is_first, me, &mut news)?;
        }
        let has_messages = !news.incoming.is_empty();
        let mut incoming = news.incoming.into_iter().peekable();
        while incoming.peek().is_some() {
            let part: Vec<Incoming> = incoming.by_ref().take(UPDATES_AT_ONCE).collect();
            let taken = self.parts.intake.take(part, &self.parts.heartbeat);
            taken.map_err(Fault::Inbox)?;
        }
        self.mark_as_read(&news.read);
        Ok(has_messages || has_invitations)
    }

    /// Reads the news of a room.
    fn read_room(
        &mut self,
        room: &Room<'_>,
        is_first: bool,
        me: &mut Me,
        news: &mut News,
    ) -> Result<(), Fault> {
        let mut names = BTreeMap::new();
        for raw in &room.state {
            Event::read(raw.get())
                .iter()
                .for_each(|event| note_name(&mut names, event));
        }
        let timeline: Vec<Event<'_>> = room
            .timeline
            .iter()
            .filter_map(|raw| Event::read(raw.get()))
            .collect();
        self.note_members(room, &timeline);
        if is_first {
            return Ok(());
        }
        let joined = sync::joined_at(&timeline, &me.user);
        let before = room.before.as_deref().filter(|_| joined.is_none());
        let missed = match before {
            Some(before) => self.missed(&room.id, before, me, &mut names)?,
            None => Vec::new(),
        };
        let missed = missed.iter().filter_map(|text| Event::read(text));
        let events = missed.chain(timeline.into_iter().skip(joined.unwrap_or(0)));
        for event in events {
            note_name(&mut names, &event);
            self.read_event((&room.id, &names), &event, me, news)?;
        }
        Ok(())
    }

    fn read_event(
        &mut self,
        (room, names): (&str, &BTreeMap<String, String>),
        event: &Event<'_>,
        me: &mut Me,
        news: &mut News,
    ) -> Result<(), Fault> {
        if event.sender == me.user {
            return Ok(());
        }
        match event.kind.as_str() {
            "m.room.encrypted" => return self.tell_of_encryption(room, event, names, me),
            "m.room.tombstone" => {
                follow(event, me);
                return Ok(());
            }
            "m.room.message" | "m.sticker" => {}
            _ => return Ok(()),
        }
        let is_group = self.is_group(room)?;
        if is_group && !self.parts.account.reads_group(room) {
            return Ok(());
        }
        let intake = self.parts.intake.clone();
        let name_of = |user: &str| names.get(user).cloned().unwrap_or_default();
        let reader = Reader {
            me: &me.user,
            my_name: &me.name,
            room,
            is_group,
            policy: self.parts.account.policy,
            name_of: &name_of,
            awaits: &|chat, person| intake.is_awaited(chat, person),
        };
        // What a stranger replies to or edits need not be fetched.
        let has_access = self
            .parts
            .intake
            .has_access(&reader.sender(&event.sender), "");
        let needed = event::needed(event).filter(|_| has_access);
        let needed = match needed {
            Some(id) => self.needed(room, &id)?,
            None => None,
        };
        let needed = needed.as_deref().and_then(Event::read);
        let Some(incoming) = reader.read(event, needed.as_ref()) else {
            return Ok(());
        };
        if has_access && matches!(incoming, Incoming::Message { .. }) {
            news.read.retain(|(known, _)| known != room);
            news.read.push((room.to_owned(), event.id.clone()));
        }
        news.incoming.push(incoming);
        Ok(())
    }

    /// The event that another one replies to or replaces; `None` when it cannot be had.
    fn needed(&self, room: &str, id: &str) -> Result<Option<String>, Fault> {
        self.parts.heartbeat.beat(CALL_TIME);
        match self.api.event(room, id) {
            Ok(text) => Ok(Some(text)),
            Err(failure @ (Failure::Stopped | Failure::Down(_) | Failure::RetryAfter(_))) => {
                Err(failure.into())
            }
            Err(failure) => {
                tracing::debug!("failed to fetch a message that another one names: {failure}");
                Ok(None)
            }
        }
    }

    /// Whether a room has more than two members. It is asked for once, and again when someone joins or leaves.
    fn is_group(&mut self, room: &str) -> Result<bool, Fault> {
        if let Some(is_group) = self.groups.get(room) {
            return Ok(*is_group);
        }
        self.parts.heartbeat.beat(CALL_TIME);
        let is_group = match self.api.joined_members(room) {
            Ok(count) => count.is_none_or(|count| count > 2),
            Err(failure @ (Failure::Gone { .. } | Failure::Refused(_) | Failure::MessageGone)) => {
                tracing::debug!("failed to list the members of a room: {failure}");
                return Ok(true);
            }
            Err(failure) => return Err(failure.into()),
        };
        self.note_group(room, is_group);
        Ok(is_group)
    }

    fn note_group(&mut self, room: &str, is_group: bool) {
        if self.groups.len() >= ROOMS {
            self.groups.clear();
        }
        self.groups.insert(room.to_owned(), is_group);
    }

    /// Notes how many are in a room, as far as a sync says.
    fn note_members(&mut self, room: &Room<'_>, timeline: &[Event<'_>]) {
        match room.joined {
            Some(joined) => self.note_group(&room.id, joined > 2),
            None if timeline.iter().any(|event| event.member().is_some()) => {
                self.groups.remove(&room.id);
            }
            None => {}
        }
    }

    /// Shows people that what they wrote was received. Nothing depends on it.
    fn mark_as_read(&self, read: &[(String, String)]) {
        self.api.set_patience(Some(SHOW_PATIENCE));
        for (room, event) in read {
            self.parts.heartbeat.beat(CALL_TIME);
            if let Err(failure) = self.api.read(room, event) {
                tracing::debug!("failed to mark a message as read: {failure}");
                break;
            }
        }
        self.api.set_patience(None);
    }
}

/// Notes the name that a person shows, if an event says it.
fn note_name(names: &mut BTreeMap<String, String>, event: &Event<'_>) {
    if let Some((user, member)) = event.member() {
        names.insert(user.to_owned(), member.name);
    }
}
