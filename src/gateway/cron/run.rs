//! One run of a job: noted before it begins and after it has ended, and delivered once.
//!
//! What a reminder or a command delivers is held in the outbox until the end of its run is noted, as the
//! answer of a turn is until the journal has its end. A kill in between neither repeats nor loses it.

mod command;
mod remind;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Claim, texts};
use crate::agent::Outcome;
use crate::agent::host::TurnOptions;
use crate::base::access::Role;
use crate::base::bus::Event;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::limits::gateway::WRITE_RETRY;
use crate::base::limits::schedule::LATE_TOLD_MS;
use crate::base::message::{
    Address, Envelope, Origin, OutgoingMessage, RunRef, SessionKey, Writer,
};
use crate::base::sync::Mutex;
use crate::base::zone::Zone;
use crate::gateway::Gateway;
use crate::gateway::agents::Hosted;
use crate::gateway::commands::texts::{format_error, format_minutes};
use crate::gateway::host::{ChatHost, Work};
use crate::schedule::due::Planned;
use crate::schedule::{Deliver, Job, PayloadKind, Run, RunOutcome, Status};
use crate::store::outbox::ClosesTurn;
use crate::store::session::Session;
use crate::text::markup::plain;
pub(super) use remind::HeldUp;

/// Tries to write a reminder to the disk before it is sent without that: half a minute at most.
const REMINDER_STORE_TRIES_MAX: usize = 3;

/// Earlier runs of a job in the model's window: it can see what it said the last time.
const RUNS_IN_WINDOW: usize = 1;
/// Bytes of the journal of a job's own conversation; the older part goes to the archive.
const JOURNAL_BYTES_MAX: u64 = 256 * 1024;

/// Why a run that a person has stopped counts as left out.
const STOPPED: &str = "stopped";
/// How the key of a job's own conversation begins.
pub const CHANNEL: &str = "cron";

/// A run that was started, as long as it lasts.
#[derive(Debug)]
pub struct JobRun {
    /// The job.
    pub job: Job,
    /// When it should have begun, and how late it is.
    pub planned: Planned,
    /// The chat; `None` when no one has written to the bot yet.
    pub to: Option<Address>,
    /// The language of the program's own texts there.
    pub language: Language,
    /// Where its times are shown.
    pub zone: Zone,
    /// Whether the chat knows that the job fails.
    was_failing: bool,
    /// What went wrong with delivering the result.
    fault: Mutex<Option<String>>,
    /// Whether its turn came to words only.
    only_said: AtomicBool,
    /// Stops it.
    pub cancel: Cancel,
}

/// The key of a job's own conversation.
pub fn own_session(job: &str) -> SessionKey {
    SessionKey::parse(&format!("{CHANNEL}:{job}"))
}

/// The key of the conversation in which a job's turns are.
pub fn session_of(job: &Job) -> SessionKey {
    let chosen = job.payload.session.as_deref();
    chosen.map_or_else(|| own_session(&job.id), SessionKey::parse)
}

/// The id of the message of a run. A run that is repeated after a kill has the same; one that comes to the
/// same planned time again, because the clock was set back, has another one.
pub fn message_id(job: &Job, planned_ms: i64) -> String {
    let is_at_that_time = |run: &&Run| run.planned_ms == planned_ms;
    let set_backs = match job.open_run().filter(is_at_that_time) {
        // It was counted when the run began.
        Some(_) => job.state.set_backs,
        None => job.state.set_backs_with(planned_ms),
    };
    let has_ended = |run: &&Run| matches!(run.status, Status::Ok | Status::Failed);
    let runs = job.state.runs.iter().filter(is_at_that_time);
    let mut id = format!("{CHANNEL}:{}:{planned_ms}", job.id);
    match (set_backs, runs.filter(has_ended).count()) {
        (0, 0) => {}
        (0, earlier) => id += &format!(":{earlier}"),
        (set_backs, earlier) => id += &format!(":{set_backs}:{earlier}"),
    }
    id
}

/// What a message of the outbox is held for that belongs to a run without a conversation.
pub fn hold(job: &str, planned_ms: i64) -> ClosesTurn {
    ClosesTurn {
        session: SessionKey::parse(&format!("{CHANNEL}-run:{job}")),
        journal: planned_ms.unsigned_abs(),
    }
}

impl JobRun {
    pub(super) fn new(job: &Job, planned: Planned, gateway: &Gateway, zone: &Zone) -> Self {
        let to = gateway.chat_of(job);
        let language = to.as_ref().map(|to| gateway.parts.languages.get(to));
        Self {
            language: language.unwrap_or_default(),
            to,
            planned,
            zone: zone.clone(),
            was_failing: super::plan::is_failing(job),
            job: job.clone(),
            fault: Mutex::default(),
            only_said: AtomicBool::default(),
            cancel: Cancel::new(),
        }
    }

    /// The name for people.
    pub fn name(&self) -> &str {
        match self.job.name.trim() {
            "" => &self.job.id,
            name => name,
        }
    }

    /// The conversation of its turn.
    pub fn session(&self) -> SessionKey {
        session_of(&self.job)
    }

    /// Whether the result goes to the chat.
    pub fn goes_to_chat(&self) -> bool {
        super::plan::goes_to_chat(&self.job)
    }

    /// Whether the result goes to a file.
    pub fn goes_to_file(&self) -> bool {
        matches!(self.job.payload.deliver, Deliver::File | Deliver::Both)
    }

    /// The message that starts its turn.
    pub fn envelope(&self) -> Envelope {
        let job = self.job.id.clone();
        let name = self.name().to_owned();
        Envelope {
            id: message_id(&self.job, self.planned.planned_ms),
            origin: Origin::Cron { job, name },
            reply: self.to.clone(),
            // No owner is there to whom something was allowed.
            role: Role::User,
            attended: false,
            ..Envelope::typed(&self.session(), &self.job.payload.message)
        }
    }

    /// The planned time and how late the run is, for people; `None` when it is in time.
    pub fn describe_late(&self) -> Option<(String, String)> {
        let late = self.planned.late_ms;
        if late < LATE_TOLD_MS {
            return None;
        }
        let planned = self.zone.at(self.planned.planned_ms.div_euclid(1000));
        let now = planned + chrono::TimeDelta::milliseconds(late);
        let form = if planned.date_naive() == now.date_naive() {
            "%H:%M"
        } else {
            "%Y-%m-%d %H:%M"
        };
        let late = format_minutes(late.unsigned_abs() / 60_000, self.language);
        Some((planned.format(form).to_string(), late))
    }

    /// What the model is told about the run, beside the message.
    pub fn facts(&self) -> String {
        let planned = self.zone.at(self.planned.planned_ms.div_euclid(1000));
        let planned = planned.format("%Y-%m-%d %H:%M");
        let late = self.describe_late().map_or_else(String::new, |(_, late)| {
            format!(", {late} ago: the board was off or busy, so this run is late")
        });
        let missed = match self.planned.missed {
            0 => String::new(),
            missed => format!("\n{missed} earlier runs were missed; this one stands for them."),
        };
        let name = self.name();
        format!(
            "\nScheduled job: {name}, planned for {planned}{late}.{missed}\n\
             No person is waiting, so do not ask anything. If there is nothing worth telling, answer only NO_REPLY."
        )
    }

    /// Whether the answer of its turn goes to the chat. Writes it to a file where the job says so. An error
    /// is told at the end of the run.
    pub fn wants_answer(
        &self,
        gateway: &Gateway,
        hosted: &Hosted,
        text: &str,
        is_answer: bool,
    ) -> bool {
        if !is_answer || is_silent(text) {
            return false;
        }
        if self.goes_to_file()
            && let Err(error) = gateway.write_result(hosted, self, text)
        {
            self.note_fault(&error);
        }
        if self.goes_to_chat() && self.to.is_none() {
            self.note_fault(&no_chat());
        }
        self.goes_to_chat() && self.to.is_some()
    }

    /// What its turn is run with.
    pub fn options(&self) -> TurnOptions {
        TurnOptions {
            model: self.job.payload.model.clone(),
            facts: self.facts(),
            ..TurnOptions::default()
        }
    }

    /// A text with the note that it is late, as Markdown.
    fn with_late(&self, text: String) -> String {
        match self.describe_late() {
            Some((planned, late)) => {
                format!("{text}\n\n{}", texts::late(self.language, &planned, &late))
            }
            None => text,
        }
    }

    /// A message of the run, with what the run knows about it: whether it comes without a sound, and whose
    /// history has what becomes of it. Messages for other chats than the job's are not its result.
    pub fn stamped(&self, gateway: &Gateway, message: OutgoingMessage) -> OutgoingMessage {
        let run = RunRef {
            job: self.job.id.clone(),
            planned_ms: self.planned.planned_ms,
        };
        OutgoingMessage {
            silent: gateway.is_quiet(&self.zone),
            run: Some(run).filter(|_| self.to.as_ref() == Some(&message.to)),
            from: message.from.max(Writer::Notice),
            ..message
        }
    }

    /// Notes whether its turn, which has ended, came to words only.
    pub fn note_end(&self, session: &Session) {
        let message = message_id(&self.job, self.planned.planned_ms);
        let only_said = session.only_said(&message);
        self.only_said.store(only_said, Ordering::SeqCst);
    }

    /// Notes that the result could not be delivered.
    pub fn note_fault(&self, error: &Error) {
        self.fault.lock().get_or_insert_with(|| error.to_string());
    }
}

/// Whether an answer of the model says that there is nothing to tell.
pub fn is_silent(text: &str) -> bool {
    let bare = text.trim_matches(|char: char| !char.is_alphanumeric());
    text.trim().is_empty()
        || bare.eq_ignore_ascii_case("NO_REPLY")
        || bare.eq_ignore_ascii_case("NO REPLY")
}

fn outcome(status: Status, error: Option<String>) -> RunOutcome {
    RunOutcome {
        status,
        error,
        unshown: false,
        duration_ms: 0,
    }
}

impl Gateway {
    /// The chat of a job: the one that it names, else the private chat of an owner.
    pub(super) fn chat_of(&self, job: &Job) -> Option<Address> {
        let payload = &job.payload;
        let named = payload.channel.as_deref().zip(payload.to.as_deref());
        let named = named.map(|(channel, to)| Address::parse(&format!("{channel}:{to}")));
        match named.filter(|to| !to.chat.is_empty()) {
            // What is meant for one chat goes to no other, also when its channel is turned off.
            Some(to) => Some(to).filter(|to| self.delivery(to).is_some()),
            // The results of one agent are not for the chats of another.
            None => self.owner_chat().filter(|to| self.is_served(job, to)),
        }
    }

    /// The chat for what names none: the private one in which an owner wrote last. What an owner has planned, or the
    /// board has to tell, is neither for the people of a group nor for users.
    pub(in crate::gateway) fn owner_chat(&self) -> Option<Address> {
        let is_private = |to: &Address| self.delivery(to).is_some_and(|it| !it.is_group(to));
        let channels = &self.live().channels;
        let chat = self.parts.owner_chat.get(channels, &self.parts.pairing);
        chat.filter(is_private)
    }

    fn is_served(&self, job: &Job, chat: &Address) -> bool {
        let live = self.live();
        let named = job.payload.agent.as_deref();
        let agent = named.and_then(|id| live.agents.named(id));
        agent.is_none_or(|agent| live.agents.serves(agent, chat))
    }

    /// Begins a run that was claimed, on a thread, or hands it to the scheduler.
    pub(super) fn start_run(self: &Arc<Self>, claim: Claim) -> Result<()> {
        match claim.run.job.payload.kind {
            PayloadKind::Reminder => self.start_reminders(vec![claim])?,
            PayloadKind::AgentTurn => {
                let envelope = claim.run.envelope();
                claim.keep();
                self.events.send(Event::Arrived(envelope));
            }
            PayloadKind::Command => {
                let gateway = Arc::clone(self);
                crate::gateway::spawn("job", move || gateway.run_command_job(&claim))
                    .map_err(Error::io("start", "a thread for a job"))?;
            }
        }
        Ok(())
    }

    /// Notes on the disk that a run begins. Without that it must not begin.
    fn begin_run(&self, run: &JobRun) -> Result<()> {
        let now = self.clock().now_ms();
        let begun = self
            .parts
            .jobs
            .begin(&run.job.id, run.planned.planned_ms, now);
        reached("begun");
        begun.inspect(|()| {
            self.cron
                .note_begun(&message_id(&run.job, run.planned.planned_ms))
        })
    }

    /// Stores what a run without a conversation delivers, held until its end is noted.
    fn deliver_result(&self, run: &JobRun, message: OutgoingMessage) -> Result<()> {
        let hold = hold(&run.job.id, run.planned.planned_ms);
        let message = run.stamped(self, message);
        let stored = self.enqueue(message, Some(hold)).map(drop);
        reached("delivered");
        stored
    }

    /// Runs the turn of a job on its thread.
    pub(in crate::gateway) fn run_job_turn(
        self: &Arc<Self>,
        work: &Work,
        message: &Envelope,
        claim: &Claim,
    ) {
        let run = &claim.run;
        let watch = Stopwatch::start();
        let turn = work.cancel.clone();
        let _stopped = run.cancel.on_cancel(move || turn.cancel());
        match self.begin_run(run) {
            Ok(()) => {
                if let Some(ended) = self.try_job_turn(work, message, run) {
                    self.end_run(run, ended, &watch);
                }
            }
            Err(error) => claim.not_begun(&error),
        }
        let unread = Vec::new();
        self.events.send(Event::Finished {
            work: work.id,
            unread,
        });
        self.close_connections_later();
    }

    /// How the turn ended; `None` when it goes on after the next start.
    fn try_job_turn(
        self: &Arc<Self>,
        work: &Work,
        message: &Envelope,
        run: &Arc<JobRun>,
    ) -> Option<RunOutcome> {
        let key = run.session();
        let failed =
            |error: &dyn std::fmt::Display| outcome(Status::Failed, Some(error.to_string()));
        let hosted = match self.agent_of_run(run) {
            Ok(hosted) => hosted,
            Err(error) => return Some(failed(&error)),
        };
        let mut host = ChatHost::new(self, work, &hosted, &key, Some(message)).for_job(run);
        let result = self.try_turn(&mut host, work, &key, Some(message));
        if work.cancel.is_cancelled() {
            self.live().agents.end_background(&key);
        }
        reached("turn");
        let ended = match result {
            // It had ended before a kill.
            Ok(None) => outcome(Status::Ok, None),
            Ok(Some(report)) => match report.outcome {
                Outcome::Answered | Outcome::Bounded(_) => outcome(Status::Ok, None),
                Outcome::Stopped => outcome(Status::Skipped, Some(STOPPED.to_owned())),
                Outcome::Failed(error) => failed(&error),
            },
            Err(_) if self.is_stopping() => return None,
            Err(error) => {
                tracing::error!(job = %run.job.id, "failed to run a turn: {error}");
                failed(&error)
            }
        };
        match run.fault.lock().take() {
            Some(fault) if ended.status == Status::Ok => Some(failed(&fault)),
            _ => Some(RunOutcome {
                unshown: ended.status == Status::Ok && run.only_said.load(Ordering::SeqCst),
                ..ended
            }),
        }
    }

    /// Notes how a run ended, releases what it delivers, and tells the chat when it fails for the first
    /// time or works again.
    fn end_run(self: &Arc<Self>, run: &JobRun, mut ended: RunOutcome, watch: &Stopwatch) {
        let (id, planned) = (&run.job.id, run.planned.planned_ms);
        ended.duration_ms = i64::try_from(watch.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.tell_change(run, &ended);
        reached("told");
        let is_reminder = run.job.payload.kind == PayloadKind::Reminder;
        let mut tries = 0;
        while let Err(error) = self
            .parts
            .jobs
            .end(id, planned, self.clock().now_ms(), &ended)
        {
            tracing::error!(job = %id, "failed to note the end of a run, trying again: {error}");
            tries += 1;
            if is_reminder && tries >= REMINDER_STORE_TRIES_MAX {
                self.release_unnoted(run, &error);
                return self.release(&hold(id, planned).session);
            }
            if self.is_stopping() || self.cron.cancel().wait(WRITE_RETRY) {
                return;
            }
        }
        reached("ended");
        if is_reminder {
            self.forget_hold_up(run);
        }
        // Only now: what is sent and not confirmed when the power goes is sent again.
        self.release(&hold(id, planned).session);
        self.release(&run.session());
        let (status, ms) = (ended.status, ended.duration_ms);
        tracing::info!(job = %id, ms, "job {}", describe_status(status));
        if run.job.delete_after_run && matches!(status, Status::Ok | Status::Skipped) {
            self.remove_job(&run.job);
        }
    }

    /// Removes a job that is done, unless somebody has changed it meanwhile.
    pub(super) fn remove_job(&self, done: &Job) {
        let is_done = |job: &Job| job.id == done.id && job.updated_at_ms == done.updated_at_ms;
        let removed = self.parts.jobs.change(|jobs| {
            jobs.retain(|job| !is_done(job));
            Ok(())
        });
        if let Err(error) = removed {
            tracing::warn!(job = %done.id, "failed to remove a job that is done: {error}");
        }
    }

    fn tell_change(&self, run: &JobRun, ended: &RunOutcome) {
        let Some(to) = &run.to else { return };
        let (name, language) = (plain(run.name()), run.language);
        let text = match (ended.status, run.was_failing) {
            (Status::Ok, true) => texts::works_again(language, &name),
            (Status::Failed, false) => {
                // The output of a command is in the chat already.
                let is_command = run.job.payload.kind == PayloadKind::Command;
                if is_command && run.goes_to_chat() && self.holds(run) {
                    return;
                }
                let error = Error::Failed(ended.error.clone().unwrap_or_default());
                let error = plain(&format_error(&error, language));
                match run.job.schedule {
                    crate::schedule::Schedule::At { .. } => {
                        texts::failed_once(language, &name, &error)
                    }
                    _ => texts::failed(language, &name, &error),
                }
            }
            _ => return,
        };
        self.tell_with(OutgoingMessage {
            silent: self.is_quiet(&run.zone),
            ..OutgoingMessage::text(to, text)
        });
    }

    /// Whether the outbox holds what a run delivers.
    fn holds(&self, run: &JobRun) -> bool {
        let hold = hold(&run.job.id, run.planned.planned_ms);
        let pending = self.parts.outbox.pending();
        pending.iter().any(|one| one.closes.as_ref() == Some(&hold))
    }

    /// Ends a run whose message the scheduler has dropped: it was not begun.
    pub(in crate::gateway) fn drop_run(self: &Arc<Self>, message: &Envelope) {
        let Some(claim) = self.claimed(message) else {
            return;
        };
        let gateway = Arc::clone(self);
        let spawned = crate::gateway::spawn("job", move || {
            let ended = outcome(Status::Skipped, Some(STOPPED.to_owned()));
            gateway.end_run(&claim.run, ended, &Stopwatch::start());
        });
        if let Err(error) = spawned {
            tracing::error!("failed to start a thread for a job: {error}");
        }
    }

    /// The agent that does a run.
    fn agent_of_run(&self, run: &JobRun) -> Result<Arc<Hosted>> {
        let live = self.live();
        let Some(id) = run.job.payload.agent.as_deref() else {
            return Ok(self.agent_for(&live, &run.session(), Some(&run.envelope())));
        };
        let named = live.agents.named(id).map(Arc::clone);
        named.ok_or_else(|| Error::Failed(format!("there is no agent {id}")))
    }

    /// The settings with which a conversation is opened: of a job's own one only the last run goes to the
    /// model, and the journal stays small.
    pub(in crate::gateway) fn settings_of(
        settings: &crate::store::session::Settings,
        session: &SessionKey,
    ) -> crate::store::session::Settings {
        if session.parts().0 != CHANNEL {
            return settings.clone();
        }
        crate::store::session::Settings {
            window: RUNS_IN_WINDOW,
            journal_bytes: settings.journal_bytes.min(JOURNAL_BYTES_MAX),
            ..settings.clone()
        }
    }
}

pub(super) fn describe_status(status: Status) -> &'static str {
    match status {
        Status::Ok => "done",
        Status::Failed => "failed",
        Status::Skipped => "left out",
        Status::Running | Status::Interrupted => "interrupted",
    }
}

fn no_chat() -> Error {
    Error::Failed("there is no chat yet: no owner has written to the bot in private".to_owned())
}

/// Ends the process as a power cut would, at the step that a test names.
#[cfg(feature = "test-hooks")]
pub fn reached(step: &str) {
    if std::env::var("PEACRAB_TEST_JOB_CUT").is_ok_and(|named| named == step) {
        let own = rustix::process::getpid();
        let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
    }
}

#[cfg(not(feature = "test-hooks"))]
pub fn reached(_step: &str) {}
