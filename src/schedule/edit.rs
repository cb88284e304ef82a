//! What the command line, the tool and `/cron` do with jobs.

use std::collections::HashSet;

use ring::digest::{SHA256, digest};

use super::job::{Deliver, Job, Payload, PayloadKind, Status};
use super::store::Store;
use super::times::Schedule;
use super::{show, texts, when};
use crate::base::access::Role;
use crate::base::clock::BUILD_EPOCH;
use crate::base::error::{Error, Result};
use crate::base::hex::hex;
use crate::base::language::Language;
use crate::base::limits::schedule::WHEN_BYTES;
use crate::base::limits::schedule::{JOBS_MAX, NAME_CHARS_MAX};
use crate::base::message::{Address, Author};
use crate::base::zone::{Zone, suggest};
use crate::sys;
use crate::text::{grouped, nearest, one_line};

/// One-time jobs that are kept after their run, so that their history can be read; the oldest go first.
const SPENT_JOBS_KEPT: usize = 50;

/// What is to be planned.
#[derive(Clone, Debug, Default)]
pub struct NewJob {
    /// What a run does.
    pub kind: PayloadKind,
    /// Text for the model, a command, or text for people.
    pub message: String,
    /// A name for people; empty for none.
    pub name: String,
    /// The chat that gets the result; `None` for the private chat of an owner.
    pub chat: Option<Address>,
    /// Where the result goes.
    pub deliver: Deliver,
    /// The agent; `None` for the one that serves the chat.
    pub agent: Option<String>,
    /// The model; `None` for the agent's own.
    pub model: Option<String>,
    /// The key of the conversation; `None` for one of the job's own.
    pub session: Option<String>,
    /// Whether a missed run is not made up for.
    pub no_catch_up: bool,
    /// Whether it is removed after its first run.
    pub once: bool,
    /// The words for its time; see [`said`].
    pub said: Option<String>,
    /// Who plans it in a chat.
    pub planned_by: Option<Author>,
    /// The role of the person.
    pub role: Role,
    /// The [`mark`] of the request; `None` where nothing repeats it.
    pub made_from: Option<String>,
}

/// The words for a time, which a text begins with, to be kept with a job; `rest` is what follows them in the text.
pub fn said(text: &str, rest: &str) -> Option<String> {
    let words = text.get(..text.len().saturating_sub(rest.len()))?.trim();
    (1..=WHEN_BYTES)
        .contains(&words.len())
        .then(|| words.to_owned())
}

/// The mark of a request to add a job, from the id of the message that it came with and what tells it from other
/// requests of that message; `None` without such an id. The same request has the same mark.
pub fn mark(message: &str, request: &str) -> Option<String> {
    let hash = digest(&SHA256, format!("{message}\n{request}").as_bytes());
    let mark = hex(hash.as_ref().iter().take(8));
    Some(mark).filter(|_| !message.is_empty())
}

/// What is to be changed about a job; `None` leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// When it runs.
    pub schedule: Option<Schedule>,
    /// What a run does.
    pub kind: Option<PayloadKind>,
    /// The message.
    pub message: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The chat; `Some(None)` for the private chat of an owner.
    pub chat: Option<Option<Address>>,
    /// Where the result goes.
    pub deliver: Option<Deliver>,
    /// The agent; `Some(None)` for the one that serves the chat.
    pub agent: Option<Option<String>>,
    /// The model; `Some(None)` for the agent's own.
    pub model: Option<Option<String>>,
    /// The conversation; `Some(None)` for one of the job's own.
    pub session: Option<Option<String>>,
    /// Whether a missed run is made up for.
    pub catch_up: Option<bool>,
    /// Whether it is removed after its first run.
    pub once: Option<bool>,
    /// The person in a chat who changes it, and their role; `None` at the command line.
    pub by: Option<(Author, Role)>,
}

impl Changes {
    /// Whether there is nothing to change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Who asks, and when.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The time, in milliseconds since 1970.
    pub now_ms: i64,
    /// The owner's time zone.
    pub zone: &'a Zone,
    /// The language of errors.
    pub language: Language,
    /// Whether a time service keeps the clock right: what is planned then is never corrected.
    pub is_clock_right: bool,
}

/// Reads a schedule from words. `tz` is an IANA time zone in which they are meant, if it is not the owner's.
pub fn schedule(words: &str, tz: Option<&str>, asker: Asker<'_>) -> Result<Schedule> {
    let zone = find_zone(tz, asker)?;
    let schedule = when::parse(words, asker.now_ms, zone.as_ref().unwrap_or(asker.zone))?;
    in_zone(schedule, zone.as_ref(), asker.language)
}

/// Reads a schedule at the beginning of a text, such as `in 20m take the bread out`, and returns the rest;
/// `None` when the text does not begin with one. Fails when it begins with one that has passed.
pub fn split<'t>(
    text: &'t str,
    tz: Option<&str>,
    asker: Asker<'_>,
) -> Result<Option<(Schedule, &'t str)>> {
    let zone = find_zone(tz, asker)?;
    let found = when::take_leading(text, asker.now_ms, zone.as_ref().unwrap_or(asker.zone))?;
    let Some((schedule, rest)) = found else {
        return Ok(None);
    };
    let schedule = in_zone(schedule, zone.as_ref(), asker.language)?;
    Ok(Some((schedule, rest)))
}

/// The hour that a number between a day and the rest of a reminder may stand for, as in `tomorrow 7 call mum`, and the
/// reminder with it.
pub fn suggest_hour(day: &str, what: &str, asker: Asker<'_>) -> Option<(String, String)> {
    let (number, rest) = what.split_once(char::is_whitespace)?;
    let is_hour = number.len() <= 2 && number.parse::<u8>().is_ok_and(|hour| hour < 24);
    let is_day = !day.contains(|char: char| char.is_ascii_digit());
    let rest = rest.trim();
    let rest = rest.strip_prefix("to ").unwrap_or(rest);
    // "3 eggs": it is how many.
    let is_count = rest
        .split(' ')
        .next()
        .is_some_and(|word| word.ends_with('s'));
    if !is_hour || !is_day || is_count {
        return None;
    }
    let hour = format!("{number}:00");
    let meant = format!("{day} {hour} {rest}");
    let (_, read) = split(&meant, None, asker).ok()??;
    (read == rest).then_some((hour, meant))
}

/// The new schedule of a job: other times, the same times in another zone, or both; `None` for neither. Times
/// of day stay in the zone that the job has. An empty `tz` is the owner's zone.
pub fn reschedule(
    job: &Job,
    words: Option<&str>,
    tz: Option<&str>,
    asker: Asker<'_>,
) -> Result<Option<Schedule>> {
    let own = match &job.schedule {
        Schedule::Cron { tz, .. } => tz.as_deref(),
        _ => None,
    };
    match (words, tz, &job.schedule) {
        (None, None, _) => Ok(None),
        (None, Some(_), Schedule::Cron { expr, .. }) => schedule(expr, tz, asker).map(Some),
        (None, Some(_), _) => Err(Error::Usage(
            texts::zone_of_interval(asker.language).to_owned(),
        )),
        (Some(words), Some(_), _) => schedule(words, tz, asker).map(Some),
        (Some(words), None, _) => {
            let zone = own.and_then(Zone::find);
            let read = when::parse(words, asker.now_ms, zone.as_ref().unwrap_or(asker.zone))?;
            Ok(Some(match read {
                Schedule::Cron { expr, tz } => Schedule::Cron {
                    expr,
                    tz: tz.or_else(|| own.map(str::to_owned)),
                },
                other => other,
            }))
        }
    }
}

/// The zone with a name that a person typed; `None` for none.
fn find_zone(tz: Option<&str>, asker: Asker<'_>) -> Result<Option<Zone>> {
    let Some(name) = tz.filter(|tz| !tz.is_empty()) else {
        return Ok(None);
    };
    if let Some(zone) = Zone::find(name) {
        return Ok(Some(zone));
    }
    let mut text = texts::unknown_zone(asker.language, &one_line(name, NAME_CHARS_MAX));
    if let Some(meant) = suggest(name) {
        text += asker.language.sentence_space();
        text += &texts::did_you_mean(asker.language, &meant);
    }
    Err(Error::Usage(text))
}

/// Notes in a schedule the zone in which it was meant.
fn in_zone(schedule: Schedule, zone: Option<&Zone>, language: Language) -> Result<Schedule> {
    match (schedule, zone) {
        (Schedule::Cron { expr, tz: None }, Some(zone)) => Ok(Schedule::Cron {
            expr,
            tz: Some(zone.name().to_owned()),
        }),
        (Schedule::Every { .. }, Some(_)) => {
            Err(Error::Usage(texts::zone_of_interval(language).to_owned()))
        }
        (schedule, _) => Ok(schedule),
    }
}

/// Plans a job. Returns it with its id. A request that has added its job before a kill gets the same job.
pub fn add(store: &Store, schedule: Schedule, new: NewJob, asker: Asker<'_>) -> Result<Job> {
    store.change(|jobs| {
        let is_made = |job: &&Job| new.made_from.is_some() && job.made_from == new.made_from;
        if let Some(made) = jobs.iter().find(is_made) {
            return Ok(made.clone());
        }
        remove_spent(jobs, asker);
        let most = new.role.places(JOBS_MAX);
        if jobs.len() >= most {
            let (language, count) = (asker.language, grouped(most));
            return Err(Error::Failed(match new.role {
                Role::Owner => texts::too_many_jobs(language, &count),
                _ => texts::too_many_jobs_of_others(language, &count),
            }));
        }
        let approvals = store.approvals();
        // What was allowed to a job that is gone is allowed to no other one.
        let is_free = |id: &str| {
            let is_allowed = approvals.are_in(&own_session(id)).unwrap_or(false);
            !is_allowed && jobs.iter().all(|job| job.id != id)
        };
        let id = new_id(is_free)?;
        let payload = Payload {
            kind: new.kind,
            message: new.message.trim().to_owned(),
            deliver: new.deliver,
            channel: new.chat.as_ref().map(|chat| chat.channel.clone()),
            to: new.chat.as_ref().map(Address::within_channel),
            agent: new.agent,
            model: new.model,
            session: new.session,
        };
        let mut job = Job::new(&id, schedule, payload, asker.now_ms);
        job.name = one_line(&new.name, NAME_CHARS_MAX);
        job.catch_up = !new.no_catch_up;
        job.delete_after_run = new.once;
        // What goes on in a conversation that it names is for owners to change.
        let is_others = new.role < Role::Owner && job.payload.session.is_none();
        let is_of_role = new.planned_by.is_some() || is_others;
        job.planned_role = is_of_role.then_some(new.role);
        job.planned_by = new.planned_by;
        job.made_from = new.made_from;
        let is_once = matches!(job.schedule, Schedule::At { .. });
        job.said = new.said.filter(|_| is_once && !asker.is_clock_right);
        check_schedule(&job, asker)?;
        jobs.push(job.clone());
        Ok(job)
    })
}

/// The key of a job's own conversation.
fn own_session(job: &str) -> String {
    format!("cron:{job}")
}

/// Forgets what was allowed to a job that does something else now, and whose it was: it is done for the one who has
/// changed it.
fn settle(store: &Store, before: &Job, job: &mut Job, by: Option<(Author, Role)>) -> Result<()> {
    let deed = |job: &Job| (job.payload.kind, job.payload.message.clone());
    if deed(before) == deed(job) {
        return Ok(());
    }
    let approvals = store.approvals();
    approvals.forget(&own_session(&job.id))?;
    let of_jobs = |key: &&String| key.starts_with("cron:");
    if let Some(session) = before.payload.session.as_ref().filter(of_jobs) {
        approvals.forget(session)?;
    }
    // What an owner changes of a user's job stays the user's, and does no more than a user may.
    let role = match job.planned_by {
        None => Some(job.planned_role.unwrap_or(Role::Owner)),
        Some(_) => job.planned_role,
    };
    if let Some((person, by)) = by.filter(|(_, by)| Some(*by) == role) {
        (job.planned_by, job.planned_role) = (Some(person), Some(by));
    }
    Ok(())
}

/// Changes a job. Returns it as it is now. What was allowed to it always is not any more when it does something else.
pub fn edit(store: &Store, name: &str, changes: Changes, asker: Asker<'_>) -> Result<Job> {
    store.change(|jobs| {
        let job = find_mut(jobs, name, asker.language)?;
        let before = job.clone();
        if changes.agent.is_some() || changes.session.is_some() {
            // What reaches another agent or conversation is for owners to change.
            job.planned_role = Some(Role::Owner);
        }
        let payload = &mut job.payload;
        set(&mut payload.kind, changes.kind);
        set(&mut payload.message, changes.message);
        set(&mut payload.deliver, changes.deliver);
        set(&mut payload.agent, changes.agent);
        set(&mut payload.model, changes.model);
        set(&mut payload.session, changes.session);
        if let Some(chat) = changes.chat {
            payload.channel = chat.as_ref().map(|chat| chat.channel.clone());
            payload.to = chat.as_ref().map(Address::within_channel);
        }
        let name = changes.name.map(|name| one_line(&name, NAME_CHARS_MAX));
        set(&mut job.name, name);
        set(&mut job.catch_up, changes.catch_up);
        set(&mut job.delete_after_run, changes.once);
        job.updated_at_ms = asker.now_ms;
        if let Some(schedule) = changes.schedule {
            job.schedule = schedule;
            job.said = None;
            // What the old one has missed is not made up for, and an interval counts from now.
            job.created_at_ms = asker.now_ms;
            forget_missed(job, asker);
            check_schedule(job, asker)?;
        }
        settle(store, &before, job, changes.by)?;
        Ok(job.clone())
    })
}

fn set<T>(value: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *value = new;
    }
}

/// What a job has missed is not made up for, nor a run that was cut off.
fn forget_missed(job: &mut Job, asker: Asker<'_>) {
    job.state.note_planned(asker.now_ms);
    if let Some(run) = job.state.runs.last_mut()
        && run.status == Status::Interrupted
    {
        run.status = Status::Skipped;
    }
}

/// Enables or disables a job. Returns it as it is now. What it has missed while it was disabled is not made
/// up for.
pub fn enable(store: &Store, name: &str, enabled: bool, asker: Asker<'_>) -> Result<Job> {
    store.change(|jobs| {
        let job = find_mut(jobs, name, asker.language)?;
        if enabled && !job.enabled {
            check_schedule(job, asker)?;
            forget_missed(job, asker);
        }
        if job.enabled != enabled {
            job.enabled = enabled;
            job.updated_at_ms = asker.now_ms;
        }
        Ok(job.clone())
    })
}

/// Removes a job, also one of the file that cannot be used, by its id. Returns what it was called.
pub fn remove(store: &Store, name: &str, language: Language) -> Result<String> {
    let removed = store.change(|jobs| {
        let id = find(jobs, name, language)?.id.clone();
        let index = jobs.iter().position(|job| job.id == id);
        let job = index.map(|index| jobs.remove(index));
        Ok(job.map_or(id, |job| label(&job)))
    });
    match removed {
        Err(_) if store.remove_unusable(name)? => Ok(one_line(name, NAME_CHARS_MAX)),
        removed => removed,
    }
}

/// The job with an id or a name, or the only one whose id or name begins so.
pub fn find<'a>(jobs: &'a [Job], name: &str, language: Language) -> Result<&'a Job> {
    if let Some(job) = jobs.iter().find(|job| job.id == name) {
        return Ok(job);
    }
    let wanted = name.trim().to_lowercase();
    let is_named =
        |job: &&Job| job.id.to_lowercase() == wanted || job.title().to_lowercase() == wanted;
    let begins = |job: &&Job| {
        job.id.to_lowercase().starts_with(&wanted)
            || job.title().to_lowercase().starts_with(&wanted)
    };
    let mut found: Vec<&Job> = jobs.iter().filter(is_named).collect();
    if found.is_empty() && !wanted.is_empty() {
        found = jobs.iter().filter(begins).collect();
    }
    let shown = one_line(name, NAME_CHARS_MAX);
    match found.as_slice() {
        [job] => Ok(job),
        [] => {
            let mut text = texts::no_such_job(language, &shown);
            let titles: Vec<String> = jobs.iter().map(Job::title).collect();
            let names = jobs.iter().map(|job| job.id.as_str());
            let names = names.chain(titles.iter().map(String::as_str));
            if let Some(meant) = nearest(name, names) {
                text += language.sentence_space();
                text += &texts::did_you_mean(language, &meant);
            }
            Err(Error::Usage(text))
        }
        several => {
            let labels: Vec<String> = several
                .iter()
                .take(CANDIDATES)
                .map(|job| label(job))
                .collect();
            let more = if several.len() > CANDIDATES {
                ", …"
            } else {
                ""
            };
            let labels = labels.join(", ") + more;
            Err(Error::Usage(texts::several_jobs(language, &shown, &labels)))
        }
    }
}

/// Candidates that an error names.
const CANDIDATES: usize = 5;

/// A job by its id and what it is called, such as `j7k2 (Morning news)`.
pub fn label(job: &Job) -> String {
    format!("{} ({})", job.id, job.title())
}

fn find_mut<'a>(jobs: &'a mut [Job], name: &str, language: Language) -> Result<&'a mut Job> {
    let id = find(jobs, name, language)?.id.clone();
    let found = jobs.iter_mut().find(|job| job.id == id);
    found.ok_or_else(|| Error::Usage(texts::no_such_job(language, &id)))
}

/// Fails when the job would never run.
fn check_schedule(job: &Job, asker: Asker<'_>) -> Result<()> {
    job.schedule.check().map_err(Error::Usage)?;
    if job.schedule.is_too_frequent() {
        return Err(Error::Usage(texts::too_often(asker.language).to_owned()));
    }
    if asker.now_ms < BUILD_EPOCH * 1000 {
        return Err(Error::Failed(
            texts::clock_not_set(asker.language).to_owned(),
        ));
    }
    if let Schedule::At { at_ms } = job.schedule
        && at_ms <= asker.now_ms
    {
        let time = show::time(at_ms, asker.now_ms, asker.zone, asker.language);
        return Err(Error::Usage(texts::has_passed(asker.language, &time)));
    }
    let phase = super::Phase {
        created_ms: job.created_at_ms,
        id: &job.id,
    };
    match job.schedule.next_after(asker.now_ms, &phase, asker.zone) {
        Some(_) => Ok(()),
        None => Err(Error::Usage(texts::never_comes(asker.language).to_owned())),
    }
}

/// Removes the oldest of the one-time jobs that have run, all but [`SPENT_JOBS_KEPT`].
fn remove_spent(jobs: &mut Vec<Job>, asker: Asker<'_>) {
    let is_spent = |job: &Job| {
        matches!(job.schedule, Schedule::At { .. })
            && job.state.last_planned_ms.is_some()
            && job.open_run().is_none()
            && show::next_run(job, asker.now_ms, asker.zone).is_none()
    };
    let spent: Vec<&Job> = jobs.iter().filter(|job| is_spent(job)).collect();
    let mut over: Vec<(Option<i64>, String)> = spent
        .iter()
        .map(|job| (job.state.last_planned_ms, job.id.clone()))
        .collect();
    over.sort();
    over.truncate(over.len().saturating_sub(SPENT_JOBS_KEPT));
    let over: HashSet<String> = over.into_iter().map(|(_, id)| id).collect();
    jobs.retain(|job| !over.contains(&job.id));
}

/// An id that is free: letters and digits that are not mistaken for each other, by turns.
fn new_id(is_free: impl Fn(&str) -> bool) -> Result<String> {
    const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz";
    const DIGITS: &[u8] = b"23456789";
    loop {
        let bytes = sys::random::bytes::<4>()?;
        let chars = bytes.iter().enumerate().map(|(index, byte)| {
            let set = if index % 2 == 0 { LETTERS } else { DIGITS };
            char::from(
                set.get(usize::from(*byte) % set.len())
                    .copied()
                    .unwrap_or(b'x'),
            )
        });
        let id: String = chars.collect();
        // At most one of 33 is taken.
        if is_free(&id) {
            return Ok(id);
        }
    }
}

#[cfg(test)]
#[path = "tests/edit.rs"]
mod tests;
