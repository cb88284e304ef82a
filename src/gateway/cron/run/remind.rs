//! Runs that are reminders: without a model, and said even when the disk takes nothing.
//!
//! The reminders of a look run one after the other on one thread: while a disk takes nothing, neither the
//! other jobs nor the gateway wait for it, and no second thread does.

use std::io::ErrorKind;
use std::sync::Arc;

use super::REMINDER_STORE_TRIES_MAX;
use super::{Claim, JobRun, STOPPED, no_chat, outcome};
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::gateway::WRITE_RETRY;
use crate::base::message::{Address, OutgoingMessage};
use crate::gateway::Gateway;
use crate::gateway::reminders::{Delay, Reminder};
use crate::schedule::Status;

/// A reminder that the disk did not take at its time.
#[derive(Clone, Copy, Debug)]
pub struct HeldUp {
    planned_ms: i64,
    delay: Delay,
    tries: usize,
    /// Whether the person has it already: only its run has to be noted.
    is_sent: bool,
}

impl Gateway {
    /// Runs the reminders of a look.
    pub(in crate::gateway::cron) fn start_reminders(
        self: &Arc<Self>,
        claims: Vec<Claim>,
    ) -> Result<()> {
        if claims.is_empty() {
            return Ok(());
        }
        let gateway = Arc::clone(self);
        let run = move || {
            let mut failure = None;
            for claim in claims {
                match &failure {
                    _ if gateway.is_stopping() => return,
                    // Each further try would wait as long as this one.
                    Some(error) => gateway.hold_up(&claim.run, error),
                    None => failure = gateway.run_reminder(&claim).err(),
                }
            }
        };
        crate::gateway::spawn("reminders", run)
            .map_err(Error::io("start", "a thread for reminders"))
    }

    /// Fails when the run could not be noted and was not begun.
    fn run_reminder(self: &Arc<Self>, claim: &Claim) -> Result<()> {
        let run = &claim.run;
        let watch = Stopwatch::start();
        if let Err(error) = self.begin_run(run) {
            self.hold_up(run, &error);
            claim.not_begun(&error);
            return Err(error);
        }
        let Some(to) = &run.to else {
            let failed = outcome(Status::Failed, Some(no_chat().to_string()));
            self.end_run(run, failed, &watch);
            return Ok(());
        };
        while !self.is_sent_unstored(run) {
            let Err(error) = self.deliver_result(run, self.reminder(run, to)) else {
                break;
            };
            tracing::warn!(job = %run.job.id, "failed to store a reminder, trying again: {error}");
            self.hold_up(run, &error);
            if run.cancel.wait(WRITE_RETRY) {
                // The next start settles a run that was begun and has not ended.
                if !self.is_stopping() {
                    let stopped = outcome(Status::Skipped, Some(STOPPED.to_owned()));
                    self.end_run(run, stopped, &watch);
                }
                return Ok(());
            }
        }
        let unstored = "sent without being stored, because the disk took nothing".to_owned();
        let note = Some(unstored).filter(|_| self.is_sent_unstored(run));
        self.end_run(run, outcome(Status::Ok, note), &watch);
        Ok(())
    }

    /// Notes that the disk has not taken a reminder. After [`REMINDER_STORE_TRIES_MAX`] tries it is sent
    /// without being stored: it comes once more only if the power goes before the disk takes its run.
    fn hold_up(&self, run: &JobRun, error: &Error) {
        let planned_ms = run.planned.planned_ms;
        let mut held_up = self.cron.held_up.lock();
        let held = held_up.entry(run.job.id.clone()).or_insert(HeldUp {
            planned_ms,
            delay: Delay::of(error),
            tries: 0,
            is_sent: false,
        });
        if held.planned_ms != planned_ms {
            (held.planned_ms, held.tries, held.is_sent) = (planned_ms, 0, false);
        }
        held.tries += 1;
        let is_due = held.tries >= REMINDER_STORE_TRIES_MAX && !held.is_sent;
        let Some(to) = run.to.as_ref().filter(|_| is_due) else {
            return;
        };
        let message = self.describe_reminder(run, to, Some(held.delay));
        let sent = self
            .delivery(to)
            .map(|delivery| delivery.tell(to, &message.text));
        held.is_sent = sent == Some(true);
        if held.is_sent {
            tracing::error!(job = %run.job.id, "sent a reminder that could not be stored: {error}");
        }
    }

    /// The message of a reminder; says so when the disk is why it is late.
    fn reminder(&self, run: &JobRun, to: &Address) -> OutgoingMessage {
        let held = self.held_up(&run.job.id, run.planned.planned_ms);
        let delay = held.map(|held| held.delay);
        self.describe_reminder(run, to, delay)
    }

    fn describe_reminder(
        &self,
        run: &JobRun,
        to: &Address,
        delay: Option<Delay>,
    ) -> OutgoingMessage {
        let planned_ms = run.planned.planned_ms;
        let now_ms = planned_ms.saturating_add(run.planned.late_ms);
        let reminder = Reminder {
            job: &run.job.id,
            text: &run.job.payload.message,
            planned: run.zone.at(planned_ms.div_euclid(1000)),
            now: run.zone.at(now_ms.div_euclid(1000)),
            delay,
        };
        OutgoingMessage {
            once: super::message_id(&run.job, planned_ms),
            ..reminder.message(to, run.language)
        }
    }

    fn held_up(&self, job: &str, planned_ms: i64) -> Option<HeldUp> {
        let held = self.cron.held_up.lock().get(job).copied();
        held.filter(|held| held.planned_ms == planned_ms)
    }

    fn is_sent_unstored(&self, run: &JobRun) -> bool {
        self.is_unnoted(&run.job.id, run.planned.planned_ms)
    }

    /// Whether the person has the reminder of a run that the disk has not taken.
    pub(in crate::gateway::cron) fn is_unnoted(&self, job: &str, planned_ms: i64) -> bool {
        let held = self.held_up(job, planned_ms);
        held.is_some_and(|held| held.is_sent)
    }

    /// The end of a reminder's run is noted.
    pub(super) fn forget_hold_up(&self, run: &JobRun) {
        self.cron.held_up.lock().remove(&run.job.id);
    }

    /// The end of a reminder's run cannot be noted, and the reminder goes out all the same: when the run is
    /// due again, it is only noted.
    pub(super) fn release_unnoted(&self, run: &JobRun, error: &Error) {
        let held = HeldUp {
            planned_ms: run.planned.planned_ms,
            delay: Delay::of(error),
            tries: REMINDER_STORE_TRIES_MAX,
            is_sent: true,
        };
        self.cron.held_up.lock().insert(run.job.id.clone(), held);
        *self.cron.failed.lock() = Some(Stopwatch::start());
    }
}

impl Delay {
    fn of(error: &Error) -> Self {
        match error {
            Error::Io { source, .. } if source.kind() == ErrorKind::StorageFull => Self::FullDisk,
            _ => Self::NotStored,
        }
    }
}
