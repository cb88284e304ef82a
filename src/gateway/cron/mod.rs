//! Scheduled jobs: when they are due they become turns, commands or reminders.
//!
//! `plan` decides, PURE. The file of jobs is the truth: it is read at each look, on a thread that exists only
//! meanwhile, and between two looks only the time of the next one is kept. In between nothing wakes but the
//! kernel's timer, a change of the file, the end of a run, and the clock when it is set.
//!
//! A clock that was wrong when a job was planned has made its time wrong: when the clock is set, what was planned
//! since the machine started is reckoned again ([`correct`]). A run is begun once for each planned time, and three
//! things say so: the file of jobs, the log of runs where that file is an old copy, and the gateway's memory where
//! both are. When the clock is set back, see [`due`](crate::schedule::due).

mod plan;
mod prune;
mod recover;
mod result;
mod run;
mod texts;
mod watch;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

use super::{Gateway, spawn};
use crate::base::access::Role;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::language::Language;
use crate::base::message::{Address, Envelope, Origin};
use crate::base::sync::Mutex;
use crate::base::zone::Zone;
use crate::config::QuietHours;
use crate::gateway::time::alarm;
use crate::schedule::correct::{Jump, correct};
use crate::schedule::due::Planned;
use crate::schedule::{Job, PayloadKind, RunOutcome, Status};

use crate::base::limits::schedule::JOBS_MAX;
use plan::{Conditions, Room};
pub use run::{CHANNEL, JobRun, reached};
use run::{HeldUp, message_id};
use std::time::Duration;

/// How wrong the clock has to have been, in milliseconds, for the time of a job to be corrected.
const CLOCK_ERROR_MS_MIN: i64 = 60 * 1000;
/// Runs that the gateway knows to have begun, beside what is on the disk: the last ones of all jobs.
const BEGUN_RUNS_KNOWN: usize = JOBS_MAX;
/// Wait before the jobs are looked at again after they could not be read, or a run could not be noted.
const STORE_RETRY: Duration = Duration::from_secs(10);
/// How often the outbox is looked at for room.
const ROOM_LOOK: Duration = Duration::from_secs(1);
/// How often, and from when on, if there is none: the channel takes nothing, as when the network is gone.
const ROOM_LOOK_LATER: Duration = Duration::from_mins(1);

/// What the gateway knows of its jobs: which of them run.
#[derive(Default)]
pub struct Cron {
    /// Wakes the loop that looks for jobs.
    changed: Arc<Notify>,
    /// By the job's id, from the decision to start until the end is noted.
    running: Mutex<BTreeMap<String, Arc<JobRun>>>,
    /// Hashes of the ids of the last runs that were begun, the newest last. What the disk says can be older
    /// than what happened: a backup or an editor brings an old list back.
    begun: Mutex<VecDeque<u64>>,
    /// The clock's [offset](alarm::offset) up to which the jobs are corrected; `None` before the first look.
    corrected: Mutex<Option<i64>>,
    /// Locked from the look at what runs, over the reading of the jobs, until new runs are claimed.
    looking: Mutex<()>,
    /// Whether reminders wait for room in the outbox.
    waits_for_room: AtomicBool,
    /// Since a run could not be noted on the disk, or the jobs not be read.
    failed: Mutex<Option<Stopwatch>>,
    /// The stamp of the file of jobs at which the conversations of removed ones were deleted last.
    pruned: Mutex<u64>,
    /// Reminders that the disk did not take at their time, by their jobs.
    held_up: Mutex<BTreeMap<String, HeldUp>>,
    /// What was wrong at the last look, which is logged once.
    complaint: Mutex<String>,
    /// Raised when the gateway has waited long enough for the commands of jobs.
    cancel: Cancel,
}

/// The right to do a run of a job: while it exists, the job does not start again.
pub struct Claim {
    gateway: Arc<Gateway>,
    pub(in crate::gateway) run: Arc<JobRun>,
    is_kept: bool,
}

impl Cron {
    /// Looks at the jobs now.
    pub fn look_soon(&self) {
        self.changed.notify_one();
    }

    /// Ends the commands of jobs. Their turns go on after the next start.
    pub fn stop(&self) {
        self.cancel.cancel();
        self.stop_where(|run| run.job.payload.kind != PayloadKind::AgentTurn);
    }

    /// Stops the runs whose results go to a chat, and returns how many.
    pub fn stop_for(&self, chat: &Address) -> usize {
        self.stop_where(|run| run.to.as_ref() == Some(chat))
    }

    fn stop_where(&self, is_meant: impl Fn(&JobRun) -> bool) -> usize {
        let running: Vec<_> = self.running.lock().values().map(Arc::clone).collect();
        let meant = running
            .iter()
            .filter(|run| is_meant(run) && !run.cancel.is_cancelled());
        meant.map(|run| run.cancel.cancel()).count()
    }

    /// Whether a command of a job is running.
    pub fn is_running_command(&self) -> bool {
        let running = self.running.lock();
        let mut kinds = running.values().map(|run| run.job.payload.kind);
        kinds.any(|kind| kind == PayloadKind::Command)
    }

    fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Notes that a run was begun, by the id of its message.
    fn note_begun(&self, message: &str) {
        let mut begun = self.begun.lock();
        let over = (begun.len() + 1).saturating_sub(BEGUN_RUNS_KNOWN);
        begun.drain(..over);
        begun.push_back(hash(message));
    }

    /// Whether a run was begun since the gateway has started.
    fn has_begun(&self, message: &str) -> bool {
        self.begun.lock().contains(&hash(message))
    }

    /// The run that a message starts.
    pub fn run_of(&self, message: &Envelope) -> Option<Arc<JobRun>> {
        let Origin::Cron { job, .. } = &message.origin else {
            return None;
        };
        self.running.lock().get(job).map(Arc::clone)
    }

    /// Logs what is wrong, unless that was said at the last look.
    fn complain(&self, what: String) {
        let mut complaint = self.complaint.lock();
        if !what.is_empty() && *complaint != what {
            tracing::error!("{what}");
        }
        *complaint = what;
    }
}

impl Claim {
    /// Leaves the job claimed until [`Gateway::claimed`] takes the claim over.
    fn keep(mut self) {
        self.is_kept = true;
    }

    /// The run could not be noted and was not begun. It is tried again later.
    fn not_begun(&self, error: &Error) {
        let cron = &self.gateway.cron;
        cron.complain(format!(
            "failed to begin the job {}: {error}",
            self.run.name()
        ));
        *cron.failed.lock() = Some(Stopwatch::start());
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_kept {
            self.gateway.cron.running.lock().remove(&self.run.job.id);
            self.gateway.cron.look_soon();
        }
    }
}

/// Starts the jobs that are due, for as long as the gateway runs.
pub(super) async fn keep(gateway: Arc<Gateway>) {
    let cron = &gateway.cron;
    gateway.time.watch(&cron.changed);
    *cron.corrected.lock() = Some(alarm::offset(gateway.clock()));
    tokio::spawn(watch::keep(
        gateway.parts.jobs.path(),
        Arc::clone(&cron.changed),
    ));
    let mut full_since = None;
    while !gateway.is_stopping() {
        let next = look(&gateway).await;
        let alarm = alarm::until(gateway.clock(), next, &cron.changed);
        if cron.waits_for_room.load(Ordering::SeqCst) {
            let full = full_since.get_or_insert_with(Stopwatch::start).elapsed();
            let wait = if full < ROOM_LOOK_LATER {
                ROOM_LOOK
            } else {
                ROOM_LOOK_LATER
            };
            // Not by the clock, which may be set meanwhile.
            drop(timeout(wait, alarm).await);
        } else {
            full_since = None;
            alarm.await;
        }
    }
}

/// Looks at the jobs on a thread, and returns when to look again.
async fn look(gateway: &Arc<Gateway>) -> Option<i64> {
    let (sender, receiver) = oneshot::channel();
    let looking = Arc::clone(gateway);
    let spawned = spawn("jobs", move || {
        // The loop may have ended meanwhile.
        let _ = sender.send(looking.start_due_jobs());
    });
    let retry = Some(gateway.clock().now_ms() + STORE_RETRY.as_millis() as i64);
    match spawned {
        Ok(()) => receiver.await.unwrap_or(retry),
        Err(error) => {
            cron_failed(gateway, &error);
            retry
        }
    }
}

fn cron_failed(gateway: &Gateway, error: &dyn std::fmt::Display) {
    let what = format!("failed to look for jobs that are due, trying again: {error}");
    gateway.cron.complain(what);
}

/// Why runs are left out, in their history.
const TIME_PASSED: &str = "its time had passed";
const CLOCK_SET_BACK: &str = "the clock was set back";
const NO_ACCESS: &str = "who planned it has no access any more";
const HAS_BEGUN: &str = "it was begun before, and the list of jobs is an old one";

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Gateway {
    /// Starts the jobs that are due. Returns when to look again, in milliseconds since 1970.
    fn start_due_jobs(self: &Arc<Self>) -> Option<i64> {
        let live = self.live();
        if !live.cron.enabled || self.is_stopping() || !self.trust().is_trusted() {
            return None;
        }
        let retry = Some(self.clock().now_ms() + STORE_RETRY.as_millis() as i64);
        let failed = *self.cron.failed.lock();
        if failed.is_some_and(|failed| failed.elapsed() < STORE_RETRY) {
            return retry;
        }
        *self.cron.failed.lock() = None;
        let zone = zone_of(&live.cron.tz);
        if let Err(error) = self.correct_jobs(&zone) {
            tracing::error!("failed to correct the times of jobs, trying again: {error}");
        }
        self.try_start_due(&zone).unwrap_or_else(|error| {
            cron_failed(self, &error);
            retry
        })
    }

    /// Corrects what was planned before the clock was set, once it can be trusted.
    fn correct_jobs(&self, zone: &Zone) -> Result<()> {
        let offset = alarm::offset(self.clock());
        let mut corrected = self.cron.corrected.lock();
        let boot_ms = corrected.unwrap_or(offset);
        let by_ms = offset.saturating_sub(boot_ms);
        if by_ms.saturating_abs() < CLOCK_ERROR_MS_MIN {
            return Ok(());
        }
        let jump = Jump {
            boot_ms,
            before_ms: self.clock().now_ms().saturating_sub(by_ms),
            by_ms,
        };
        let mut jobs = self.parts.jobs.read()?.jobs;
        if jobs.iter_mut().any(|job| correct(job, jump, zone)) {
            self.parts.jobs.change(|jobs| {
                for job in jobs.iter_mut() {
                    if correct(job, jump, zone) {
                        tracing::info!(job = %job.id, "corrected the time of a job with the clock");
                    }
                }
                Ok(())
            })?;
        }
        *corrected = Some(offset);
        Ok(())
    }

    fn try_start_due(self: &Arc<Self>, zone: &Zone) -> Result<Option<i64>> {
        let looking = self.cron.looking.lock();
        // Before the jobs are read: what ends in between looks as if it had not run.
        let running: BTreeSet<String> = self.cron.running.lock().keys().cloned().collect();
        let stamp = self.parts.jobs.changed();
        let read = self.parts.jobs.read()?;
        self.prune_conversations(&read, &running, stamp);
        let faults = read.faults.iter().map(|fault| format!("{fault}"));
        let faults = faults.collect::<Vec<_>>().join("; ");
        let has_faults = !faults.is_empty();
        if has_faults {
            self.cron.complain(faults);
        }
        let now_ms = self.clock().now_ms();
        let slots = self.parts.max_parallel_turns.max(1);
        let look = plan::look(
            &read.jobs,
            &Conditions {
                now_ms,
                zone,
                quiet: QuietHours::parse(&self.live().cron.quiet_hours),
                running: &running,
                slots: slots.saturating_sub(self.count_slots()),
                room: (!self.is_reminding()).then(|| Room {
                    default_chat: self.owner_chat(),
                    pending: self.parts.outbox.count_by_chat(),
                }),
            },
        );
        let skip = |job: &Job, to_ms: i64, why: &str| {
            let left_out = RunOutcome {
                status: Status::Skipped,
                error: Some(why.to_owned()),
                unshown: false,
                duration_ms: 0,
            };
            // What cannot be noted is left out again later, and keeps nothing else from running.
            let noted = self.parts.jobs.end(&job.id, to_ms, now_ms, &left_out);
            if let Err(error) = &noted {
                cron_failed(self, error);
                *self.cron.failed.lock() = Some(Stopwatch::start());
            }
            noted.is_ok()
        };
        for (job, to_ms) in look.skip {
            let is_back = job.state.last_planned_ms.is_some_and(|last| to_ms < last);
            let why = if is_back { CLOCK_SET_BACK } else { TIME_PASSED };
            skip(job, to_ms, why);
        }
        // A reminder that was sent without being stored has begun too: its run has to be noted as what it is.
        let has_begun = |(job, planned): &(&Job, Planned)| {
            let planned_ms = planned.planned_ms;
            self.cron.has_begun(&message_id(job, planned_ms))
                && !self.is_unnoted(&job.id, planned_ms)
        };
        let (begun, start): (Vec<_>, Vec<_>) = look.start.into_iter().partition(has_begun);
        let (start, refused): (Vec<_>, Vec<_>) =
            start.into_iter().partition(|(job, _)| self.may_run(job));
        let begun = begun.into_iter().map(|run| (run, HAS_BEGUN));
        let refused = refused.into_iter().map(|run| (run, NO_ACCESS));
        for ((job, planned), why) in begun.chain(refused) {
            tracing::debug!(job = %job.id, "not run: {why}");
            if skip(job, planned.planned_ms, why) {
                // Its next run is not in the plan for this look.
                self.cron.look_soon();
            }
        }
        let waits_for_room = look.waits_for_room;
        self.cron
            .waits_for_room
            .store(waits_for_room, Ordering::SeqCst);
        let (start, next_ms) = (start.into_iter(), look.next_ms);
        let claims = start.filter_map(|(job, planned)| self.claim(job, planned, zone));
        let claims: Vec<Claim> = claims.collect();
        let has_failed = has_faults || self.cron.failed.lock().is_some();
        // A run that begins now, or is tried again, may fail as the last one did.
        if !has_failed && claims.is_empty() && running.is_empty() {
            self.cron.complain(String::new());
        }
        drop(read.jobs);
        // A run that cannot be noted waits, and nothing else waits for it.
        drop(looking);
        if !self.start_claimed(claims)? {
            return Ok(None);
        }
        Ok(next_ms)
    }

    /// Begins what was claimed, the reminders together; false when the gateway stops meanwhile.
    fn start_claimed(self: &Arc<Self>, claims: Vec<Claim>) -> Result<bool> {
        let is_reminder = |claim: &Claim| claim.run.job.payload.kind == PayloadKind::Reminder;
        let (reminders, others): (Vec<Claim>, Vec<Claim>) =
            claims.into_iter().partition(is_reminder);
        for claim in others {
            if self.is_stopping() {
                return Ok(false);
            }
            self.start_run(claim)?;
        }
        self.start_reminders(reminders)?;
        Ok(true)
    }

    /// Whether the person who planned a job in a chat may still have something done there.
    fn may_run(&self, job: &Job) -> bool {
        let chat = job.payload.chat();
        let Some(chat) = chat.filter(|_| job.planned_by.is_some() || job.made_from.is_some())
        else {
            // An owner has planned it at the command line or in the file.
            return true;
        };
        let role = self.role_in(&chat, job.planned_by.as_ref(), Role::User);
        role.is_some_and(|role| role >= Role::User)
    }

    /// Turns and commands of jobs that run or wait for a turn's slot.
    fn count_slots(&self) -> usize {
        let running = self.cron.running.lock();
        let kinds = running.values().map(|run| run.job.payload.kind);
        kinds.filter(|kind| *kind != PayloadKind::Reminder).count()
    }

    /// Whether reminders are being stored.
    fn is_reminding(&self) -> bool {
        let running = self.cron.running.lock();
        let mut kinds = running.values().map(|run| run.job.payload.kind);
        kinds.any(|kind| kind == PayloadKind::Reminder)
    }

    /// Claims a run; `None` while the job runs.
    fn claim(self: &Arc<Self>, job: &Job, planned: Planned, zone: &Zone) -> Option<Claim> {
        let run = Arc::new(JobRun::new(job, planned, self, zone));
        let mut running = self.cron.running.lock();
        if running.contains_key(&job.id) {
            return None;
        }
        if self.cron.cancel.is_cancelled() && job.payload.kind != PayloadKind::AgentTurn {
            run.cancel.cancel();
        }
        running.insert(job.id.clone(), Arc::clone(&run));
        Some(Claim {
            gateway: Arc::clone(self),
            run,
            is_kept: false,
        })
    }

    /// Takes over the claim of the run that a message starts.
    pub(super) fn claimed(self: &Arc<Self>, message: &Envelope) -> Option<Claim> {
        let run = self.cron.run_of(message)?;
        Some(Claim {
            gateway: Arc::clone(self),
            run,
            is_kept: false,
        })
    }

    /// Runs a job now, whatever its schedule says, and returns a line for people. Fails when there is no
    /// such job, or while it is running.
    pub(super) fn run_job(self: &Arc<Self>, id: &str, language: Language) -> Result<String> {
        if !self.trust().is_trusted() {
            // What is noted with a wrong time would be planned again, or never.
            return Err(Error::Failed(texts::clock_not_set(language).to_owned()));
        }
        let looking = self.cron.looking.lock();
        let jobs = self.parts.jobs.read()?;
        let job = jobs.find(id);
        let job = job.ok_or_else(|| Error::Usage(texts::unknown(language, &id)))?;
        if !self.may_run(job) {
            return Err(Error::Usage(texts::no_access(language).to_owned()));
        }
        let planned = Planned {
            planned_ms: self.clock().now_ms(),
            late_ms: 0,
            missed: 0,
        };
        let zone = zone_of(&self.live().cron.tz);
        let claim = self.claim(job, planned, &zone);
        let claim = claim.ok_or_else(|| Error::Usage(texts::running(language, &id)))?;
        drop(looking);
        let text = texts::started(language, &claim.run.name());
        self.start_run(claim)?;
        Ok(text)
    }

    /// Whether chats are to be left alone now.
    pub(super) fn is_quiet(&self, zone: &Zone) -> bool {
        let quiet = QuietHours::parse(&self.live().cron.quiet_hours);
        let end = quiet.and_then(|quiet| plan::end_of_quiet(quiet, self.clock().now_ms(), zone));
        end.is_some()
    }
}

/// The zone of jobs that name none.
pub(super) fn zone_of(name: &str) -> Zone {
    let named = Some(name).filter(|name| !name.is_empty()).map(Zone::find);
    named.flatten().unwrap_or_else(Zone::system)
}
