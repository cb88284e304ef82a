//! After a start: the runs that the last one had begun and whose end it has not noted.

use std::sync::Arc;

use super::run::{CHANNEL, describe_status, hold, message_id, session_of};
use super::{texts, zone_of};
use crate::base::chat::{Entry, EntryKind, ToolResult};
use crate::base::error::Result;
use crate::base::limits::schedule::RUN_TRIES_MAX;
use crate::base::message::{Envelope, OutgoingMessage};
use crate::gateway::Gateway;
use crate::schedule::due::Planned;
use crate::schedule::{Job, PayloadKind, Run, RunOutcome, Schedule, Status};
use crate::store::outbox::{ClosesTurn, Pending};
use crate::store::session::conversation::UNKNOWN_OUTCOME;
use crate::store::session::line::TurnEnd;
use crate::store::session::{Session, store};
use crate::text::markup::plain;
use crate::text::reveal;

/// Journals of jobs that are kept, those that ran last: a job that runs again without one has forgotten
/// its last run, nothing else.
const JOURNALS_KEPT: usize = 200;

/// How far the turn of a run has come.
enum TurnState {
    /// No journal has its message.
    NotBegun,
    /// It can go on.
    Unfinished(Box<Session>),
    /// `unshown`: see [`Run::unshown`].
    Ended { unshown: bool },
}

impl Gateway {
    /// Notes how these runs ended: one whose result is in the outbox was done, any other was interrupted,
    /// and its schedule decides about it. Called before the outbox releases anything.
    ///
    /// Returns the messages of turns that were interrupted in the conversation of a chat and go on now, before
    /// the chat's next message, as the runs of their jobs. In a job's own conversation nothing can come in
    /// between, and the turn goes on when its job is due again.
    pub(in crate::gateway) fn settle_runs(self: &Arc<Self>) -> Vec<Envelope> {
        let jobs = match self.parts.jobs.read() {
            Ok(read) => read.jobs,
            Err(error) => {
                tracing::error!("failed to read the jobs: {error}");
                return Vec::new();
            }
        };
        let pending = self.parts.outbox.pending();
        let mut resumed = Vec::new();
        for job in &jobs {
            match self.settle_run(job, &pending) {
                Ok(message) => resumed.extend(message),
                Err(error) => {
                    tracing::error!(job = %job.id, "failed to note how a run ended: {error}");
                }
            }
        }
        self.end_other_answers(pending.iter().filter(|one| is_of_job(one)));
        for hosted in self.live().agents.all() {
            let prefix = format!("{CHANNEL}_");
            if let Err(error) = store::delete_oldest(&hosted.sessions, &prefix, JOURNALS_KEPT) {
                tracing::warn!("failed to delete old conversations of jobs: {error}");
            }
        }
        resumed
    }

    fn settle_run(self: &Arc<Self>, job: &Job, pending: &[Pending]) -> Result<Option<Envelope>> {
        let is_in_chat = job.payload.session.is_some();
        // An error says that the turn is given up: what is unfinished in the chat now is not of this run.
        let is_noted =
            |run: &&Run| run.status == Status::Interrupted && (!is_in_chat || run.error.is_some());
        let Some(run) = job.open_run().filter(|run| !is_noted(run)) else {
            if job.delete_after_run && is_spent(job) {
                self.remove_job(job);
            }
            return Ok(None);
        };
        let hold = hold(&job.id, run.planned_ms);
        let mut state = match job.payload.kind {
            PayloadKind::AgentTurn => self.state_of_turn(job, run, pending)?,
            _ if pending.iter().any(|one| one.closes.as_ref() == Some(&hold)) => {
                TurnState::Ended { unshown: false }
            }
            _ => TurnState::NotBegun,
        };
        let again = job.times().interrupted_ms.filter(|_| {
            let is_wanted = job.enabled && job.catch_up && self.live().cron.enabled;
            is_in_chat && is_wanted && matches!(state, TurnState::Unfinished(_))
        });
        let mut why = None;
        if let TurnState::Unfinished(session) = &mut state
            && is_in_chat
            && again.is_none()
        {
            // Left open, it would go on as a turn of the chat.
            give_up(session)?;
            why = Some(NOT_CONTINUED.to_owned());
        }
        if run.status == Status::Running {
            let (status, unshown) = match state {
                TurnState::Ended { unshown } => (Status::Ok, unshown),
                _ => (Status::Interrupted, false),
            };
            tracing::info!(job = %job.id, "a run was cut off: {}", describe_status(status));
            let is_given_up = status != Status::Ok && job.catch_up && job.is_given_up();
            if is_given_up {
                why = Some(format!(
                    "cut off {RUN_TRIES_MAX} times, and not tried again"
                ));
            }
            let ended = RunOutcome {
                status,
                error: why,
                unshown,
                duration_ms: 0,
            };
            let now_ms = self.clock().now_ms();
            let jobs = &self.parts.jobs;
            jobs.end(&job.id, run.planned_ms, now_ms, &ended)?;
            if is_given_up {
                self.tell_given_up(job);
            }
            if status == Status::Ok && job.delete_after_run {
                self.remove_job(job);
            }
        }
        Ok(again.and_then(|planned_ms| self.resume_run(job, planned_ms)))
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

    /// Claims a run that goes on at once, and returns its message.
    fn resume_run(self: &Arc<Self>, job: &Job, planned_ms: i64) -> Option<Envelope> {
        let planned = Planned {
            planned_ms,
            late_ms: (self.clock().now_ms() - planned_ms).max(0),
            missed: 0,
        };
        let claim = self.claim(job, planned, &zone_of(&self.live().cron.tz))?;
        let message = claim.run.envelope();
        claim.keep();
        Some(message)
    }

    /// How far the turn of a run has come. Ends one whose answer is in the outbox: its journal lacks only the
    /// end.
    fn state_of_turn(&self, job: &Job, run: &Run, pending: &[Pending]) -> Result<TurnState> {
        let message = message_id(job, run.planned_ms);
        let key = session_of(job);
        for hosted in self.live().agents.all() {
            if !store::path_of(&hosted.sessions, &key).exists() {
                continue;
            }
            let settings = Self::settings_of(&hosted.journals, &key);
            let mut session = Session::open(&hosted.sessions, &key, settings)?;
            let is_known = session.holds(&message);
            if !session.is_unfinished() {
                if is_known {
                    return Ok(ended(&session, &message));
                } else {
                    continue;
                }
            }
            let closes = Some(ClosesTurn {
                session: key.clone(),
                journal: session.length(),
            });
            if let Some(answer) = pending.iter().find(|one| one.closes == closes) {
                session.end_answered(&answer.message.text, &mut |_| false)?;
                return Ok(ended(&session, &message));
            }
            if session.is_answering(&message) {
                return Ok(TurnState::Unfinished(Box::new(session)));
            }
            if is_known {
                // What is unfinished is a later turn of the chat.
                return Ok(ended(&session, &message));
            }
        }
        Ok(TurnState::NotBegun)
    }

    /// Gives up answers of turns that are not finished and whose journal does not have what they answer:
    /// held, they would keep back all else in their chat.
    fn end_other_answers<'a>(&self, pending: impl Iterator<Item = &'a Pending>) {
        let live = self.live();
        let closes = pending.filter_map(|one| one.closes.as_ref());
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

/// The state of a turn that has ended, by the message that began it.
fn ended(session: &Session, message: &str) -> TurnState {
    TurnState::Ended {
        unshown: session.only_said(message),
    }
}

/// What the journal has in place of the answer of a turn that is not continued.
const CUT_OFF: &str = "[cut off by a restart, and not continued]";

/// The same in the history of its job.
const NOT_CONTINUED: &str = "cut off by a restart, and not continued";

/// Ends an unfinished turn without an answer.
fn give_up(session: &mut Session) -> Result<()> {
    for call in session.unanswered() {
        let unknown = ToolResult::failed(UNKNOWN_OUTCOME);
        session.append(Entry::of_result(&call, unknown))?;
    }
    let last = Entry::new(EntryKind::Assistant, CUT_OFF);
    session.end_turn(Some(last), TurnEnd::Stopped)
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
