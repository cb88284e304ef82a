//! Which jobs start now, and when to look again: PURE.
//!
//! Nothing is kept between two looks but the ids of the jobs that run: the file of jobs is the truth.

use std::collections::BTreeSet;

use chrono::{Days, Timelike};

use crate::config::QuietHours;
use crate::cron::due::{self, Planned};
use crate::cron::{Deliver, Job, PayloadKind, Status};
use crate::limits::cron::ROOM_LOOK_MS;
use crate::zone::{Local, Zone};

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
    /// How many more reminders the outbox has room for.
    pub room: usize,
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
            (Some(_), Some(end)) if goes_to_chat(job) => Some(end),
            (Some(run), _) => {
                ready.push((job, run));
                None
            }
            (None, _) => due.next_ms,
        };
        look.wake_at(next);
    }
    ready.sort_by_key(|(_, run)| run.planned_ms);
    let (mut slots, mut room) = (now.slots, now.room);
    for (job, run) in ready {
        let is_reminder = job.payload.kind == PayloadKind::Reminder;
        let free = if is_reminder { &mut room } else { &mut slots };
        if let Some(left) = free.checked_sub(1) {
            *free = left;
            look.start.push((job, run));
        } else if is_reminder {
            // The outbox does not say when it has room again.
            look.wake_at(Some(now.now_ms + ROOM_LOOK_MS));
        }
    }
    look
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

/// Whether the last run failed: the chat has been told.
pub fn is_failing(job: &Job) -> bool {
    let ended = |status: &Status| matches!(status, Status::Ok | Status::Failed);
    let mut ends = job.state.runs.iter().rev().map(|run| run.status);
    ends.find(ended) == Some(Status::Failed)
}

/// When the quiet hours end that a time is in, in milliseconds since 1970; `None` outside of them.
pub fn end_of_quiet(quiet: QuietHours, now_ms: i64, zone: &Zone) -> Option<i64> {
    let local = zone.at(now_ms.div_euclid(1000)).naive_local();
    let minute = local.hour() * 60 + local.minute();
    if !quiet.contains(minute) {
        return None;
    }
    let (hour, end) = quiet.end();
    let day = match quiet.end_tomorrow(minute) {
        true => local.date().checked_add_days(Days::new(1))?,
        false => local.date(),
    };
    let end = match zone.resolve(day.and_hms_opt(hour, end, 0)?) {
        Local::Once(at) | Local::Twice(at, _) | Local::Gap { after: at } => at,
    };
    // Of an hour that comes twice, the second one can have begun.
    Some((end * 1000).max(now_ms + 1000))
}

#[cfg(test)]
mod tests;
