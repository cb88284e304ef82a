//! Which jobs start now, and when to look again: PURE.
//!
//! Nothing is kept between two looks but the ids of the jobs that run: the file of jobs is the truth.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Days, Timelike};

use crate::base::limits::schedule::{CHAT_ROOM_MAX, OUTBOX_ROOM_MAX};
use crate::base::message::Address;
use crate::base::zone::{Local, Zone};
use crate::config::QuietHours;
use crate::schedule::due::{self, Planned};
use crate::schedule::{Deliver, Job, PayloadKind, Run, Status};

/// The same for a chat for which nothing waits: of many chats that each get a flood, none holds it up.
const OUTBOX_ROOM_FIRST_MAX: usize = 400;
/// Reminders of one look; each is three synced writes.
const REMINDERS_PER_LOOK_MAX: usize = 50;

/// What decides, beside the jobs themselves.
pub struct Conditions<'a> {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// The owner's zone.
    pub zone: &'a Zone,
    /// When chats are left alone.
    pub quiet: Option<QuietHours>,
    /// The ids of the jobs that run: none of them starts again.
    pub running: &'a BTreeSet<String>,
    /// How many more turns and commands may run.
    pub slots: usize,
    /// The room of the outbox for reminders; `None` while those of an earlier look are being stored, whose
    /// end is a reason to look again.
    pub room: Option<Room>,
}

/// How many messages wait in the outbox.
#[derive(Clone, Debug, Default)]
pub struct Room {
    /// By their chats.
    pub pending: BTreeMap<Address, usize>,
    /// The chat of reminders that name none, which wait while there is none.
    pub default_chat: Option<Address>,
}

impl Room {
    fn chat_of(&self, job: &Job) -> Option<Address> {
        job.payload.chat().or_else(|| self.default_chat.clone())
    }

    /// Takes room for a reminder; false if its chat has none left, or there is no chat yet. A chat for
    /// which many messages wait leaves room for the others.
    fn take(&mut self, job: &Job) -> bool {
        let all: usize = self.pending.values().sum();
        let Some(chat) = self.chat_of(job) else {
            return false;
        };
        let waiting = self.pending.entry(chat).or_default();
        let most = if *waiting == 0 {
            OUTBOX_ROOM_FIRST_MAX
        } else {
            OUTBOX_ROOM_MAX
        };
        let has_room = *waiting < CHAT_ROOM_MAX && all < most;
        *waiting += usize::from(has_room);
        has_room
    }
}

/// What is to be done now.
#[derive(Debug, Default, PartialEq)]
pub struct Look<'a> {
    /// The runs to start; those that were planned first come first.
    pub start: Vec<(&'a Job, Planned)>,
    /// Jobs, and the time up to which their missed runs are left out.
    pub skip: Vec<(&'a Job, i64)>,
    /// When to look again; `None` when nothing is planned. The end of a run is another reason.
    pub next_ms: Option<i64>,
    /// Whether reminders wait for room in the outbox, which does not say when it has some again.
    pub waits_for_room: bool,
}

/// Decides what is to be done now.
pub fn look<'a>(jobs: &'a [Job], now: &Conditions<'_>) -> Look<'a> {
    let quiet_until = now
        .quiet
        .and_then(|quiet| end_of_quiet(quiet, now.now_ms, now.zone));
    let mut look = Look::default();
    let mut ready = Vec::new();
    let is_idle = |job: &&Job| job.enabled && !now.running.contains(&job.id);
    for job in jobs.iter().filter(is_idle) {
        let due = due::look(&job.times(), now.now_ms, now.zone);
        look.skip.extend(due.skipped_to_ms.map(|to| (job, to)));
        let next = match (due.run, quiet_until) {
            (Some(_), Some(end)) if waits_for_day(job) => Some(end),
            (Some(run), _) => {
                ready.push((job, run));
                None
            }
            (None, _) => due.next_ms,
        };
        look.wake_at(next);
    }
    ready.sort_by_key(|(_, run)| run.planned_ms);
    let (mut slots, mut reminders) = (now.slots, REMINDERS_PER_LOOK_MAX);
    let mut room = now.room.clone();
    for (job, run) in ready {
        let is_reminder = job.payload.kind == PayloadKind::Reminder;
        let starts = match &mut room {
            _ if !is_reminder => take_one(&mut slots),
            Some(room) => room.take(job) && take_one(&mut reminders),
            None => false,
        };
        if starts {
            look.start.push((job, run));
        } else if is_reminder {
            // That an owner has written is a reason to look again.
            let has_chat = |room: &Room| room.chat_of(job).is_some();
            look.waits_for_room |= now.room.as_ref().is_some_and(has_chat);
        }
    }
    look
}

/// Takes one of what is left; false if there is none.
fn take_one(left: &mut usize) -> bool {
    let taken = left.checked_sub(1);
    *left = taken.unwrap_or_default();
    taken.is_some()
}

impl Look<'_> {
    fn wake_at(&mut self, at: Option<i64>) {
        self.next_ms = [self.next_ms, at].into_iter().flatten().min();
    }
}

/// Whether a run of it says something in a chat.
pub fn goes_to_chat(job: &Job) -> bool {
    job.payload.kind == PayloadKind::Reminder
        || matches!(job.payload.deliver, Deliver::Chat | Deliver::Both)
}

/// Whether it waits for the end of the quiet hours. All else runs in them, and what it says comes without a
/// sound: also a reminder that nothing makes up for, because it would be lost.
fn waits_for_day(job: &Job) -> bool {
    job.payload.kind == PayloadKind::Reminder && job.catch_up
}

/// Whether the last run failed: the chat has been told.
pub fn is_failing(job: &Job) -> bool {
    let has_ended = |run: &&Run| matches!(run.status, Status::Ok | Status::Failed);
    let last = job.state.runs.iter().rev().find(has_ended);
    // A chat that takes nothing does not know it.
    last.is_some_and(|run| run.status == Status::Failed && !run.undelivered)
}

/// When the quiet hours end that a time is in, in milliseconds since 1970; `None` outside of them.
pub fn end_of_quiet(quiet: QuietHours, now_ms: i64, zone: &Zone) -> Option<i64> {
    let local = zone.at(now_ms.div_euclid(1000)).naive_local();
    let minute = local.hour() * 60 + local.minute();
    if !quiet.contains(minute) {
        return None;
    }
    let (hour, end) = quiet.end();
    let day = if quiet.end_tomorrow(minute) {
        local.date().checked_add_days(Days::new(1))?
    } else {
        local.date()
    };
    let end = match zone.resolve(day.and_hms_opt(hour, end, 0)?) {
        Local::Once(at) | Local::Twice(at, _) | Local::Gap { after: at } => at,
    };
    // Of an hour that comes twice, the second one can have begun.
    Some((end * 1000).max(now_ms + 1000))
}

#[cfg(test)]
mod tests;
