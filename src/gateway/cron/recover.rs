//! After a start: the runs that the last one had begun and whose end it has not noted.

use super::run::{CHANNEL, describe_status, hold, message_id, own_session};
use super::{texts, zone_of};
use crate::chat::{Entry, EntryKind};
use crate::cron::{Job, PayloadKind, RunOutcome, Schedule, Status};
use crate::error::Result;
use crate::gateway::Gateway;
use crate::limits::cron::{JOURNALS_KEPT, RUN_TRIES_MAX};
use crate::markup::plain;
use crate::message::OutgoingMessage;
use crate::outbox::{ClosesTurn, Pending};
use crate::session::line::TurnEnd;
use crate::session::{Session, store};
use crate::text::reveal;

impl Gateway {
    /// Notes how these runs ended: one whose result is in the outbox was done, any other was interrupted,
    /// and its schedule decides about it. Called before the outbox releases anything.
    pub(in crate::gateway) fn settle_runs(&self) {
        let jobs = match self.parts.jobs.read() {
            Ok(read) => read.jobs,
            Err(error) => return tracing::error!("failed to read the jobs: {error}"),
        };
        let pending = self.parts.outbox.pending();
        let pending: Vec<&Pending> = pending.iter().filter(|one| is_of_job(one)).collect();
        for job in &jobs {
            if let Err(error) = self.settle_run(job, &pending) {
                tracing::error!(job = %job.id, "failed to note how a run ended: {error}");
            }
        }
        self.end_other_answers(&pending);
        for hosted in self.live().agents.all() {
            let prefix = format!("{CHANNEL}_");
            if let Err(error) = store::delete_oldest(&hosted.sessions, &prefix, JOURNALS_KEPT) {
                tracing::warn!("failed to delete old conversations of jobs: {error}");
            }
        }
    }

    fn settle_run(&self, job: &Job, pending: &[&Pending]) -> Result<()> {
        let open = job.open_run().filter(|run| run.status == Status::Running);
        if let Some(run) = open {
            let hold = hold(&job.id, run.planned_ms);
            let is_done = match job.payload.kind {
                PayloadKind::AgentTurn => {
                    let message = message_id(job, run.planned_ms);
                    self.end_answered_turn((job, &message), pending)?
                }
                _ => pending.iter().any(|one| one.closes.as_ref() == Some(&hold)),
            };
            let status = match is_done {
                true => Status::Ok,
                false => Status::Interrupted,
            };
            let planned = run.planned_ms;
            tracing::info!(job = %job.id, "a run was cut off: {}", describe_status(status));
            let is_given_up = !is_done && job.catch_up && job.is_given_up();
            let given_up = format!("cut off {RUN_TRIES_MAX} times, and not tried again");
            let ended = RunOutcome {
                status,
                error: Some(given_up).filter(|_| is_given_up),
                duration_ms: 0,
            };
            let now = self.clock().now_ms();
            self.parts.jobs.end(&job.id, planned, now, &ended)?;
            if is_given_up {
                self.tell_given_up(job);
            }
            if is_done && job.delete_after_run {
                self.remove_job(job);
            }
        } else if job.delete_after_run && is_spent(job) {
            self.remove_job(job);
        }
        Ok(())
    }

    /// Tells the chat of a job that a run of it is not tried again.
    fn tell_given_up(&self, job: &Job) {
        let Some(to) = self.chat_of(job) else { return };
        let language = self.parts.languages.get(&to);
        let title = plain(&reveal(&job.title()));
        let text = texts::given_up(language, &title, &RUN_TRIES_MAX);
        self.tell_with(OutgoingMessage {
            silent: self.is_quiet(&zone_of(&self.live().cron.tz)),
            ..OutgoingMessage::text(&to, text)
        });
    }

    /// Whether the turn that a message has started was finished. Ends one whose answer is in the outbox: its
    /// journal lacks only the end.
    fn end_answered_turn(
        &self,
        (job, message): (&Job, &str),
        pending: &[&Pending],
    ) -> Result<bool> {
        let key = own_session(&job.id);
        for hosted in self.live().agents.all() {
            if !store::path_of(&hosted.sessions, &key).exists() {
                continue;
            }
            let settings = Self::settings_of_run(&hosted.journals);
            let mut session = Session::open(&hosted.sessions, &key, settings)?;
            let closes = ClosesTurn {
                session: key.clone(),
                journal: session.length(),
            };
            let answer = pending
                .iter()
                .find(|one| one.closes.as_ref() == Some(&closes));
            if !session.is_unfinished() && session.holds(message) {
                return Ok(true);
            }
            if let Some(answer) = answer.filter(|_| session.is_unfinished()) {
                let answer = Entry::new(EntryKind::Assistant, answer.message.text.as_str());
                session.end_turn(Some(answer), TurnEnd::Answered)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Gives up answers of turns that are not finished and whose journal does not have what they answer:
    /// held, they would keep back all else in their chat.
    fn end_other_answers(&self, pending: &[&Pending]) {
        let live = self.live();
        let closes = pending.iter().filter_map(|one| one.closes.as_ref());
        for key in closes.map(|closes| &closes.session) {
            let is_unfinished = live.agents.all().iter().any(|hosted| {
                let unfinished = store::unfinished(&hosted.sessions);
                unfinished.is_ok_and(|sessions| sessions.contains(key))
            });
            if is_unfinished && let Err(error) = self.parts.outbox.withdraw(key) {
                tracing::warn!(session = %key, "failed to note that an answer is given up: {error}");
            }
        }
    }
}

/// Whether a message of the outbox waits for the end of a job's run.
fn is_of_job(pending: &Pending) -> bool {
    let closes = pending.closes.as_ref();
    closes.is_some_and(|closes| closes.session.parts().0.starts_with(CHANNEL))
}

/// Whether a job that is removed after its run has had it.
fn is_spent(job: &Job) -> bool {
    let last = job
        .state
        .runs
        .last()
        .map(|run| (run.planned_ms, run.status));
    let Some((planned, status)) = last else {
        return false;
    };
    let is_over = matches!(status, Status::Ok | Status::Skipped);
    match &job.schedule {
        Schedule::At { at_ms } => is_over && planned >= *at_ms,
        _ => is_over,
    }
}
