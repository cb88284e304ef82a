//! What the command line, the tool and `/cron` do with jobs.

use std::collections::HashSet;

use super::job::{Deliver, Job, Payload, PayloadKind};
use super::schedule::Schedule;
use super::store::Store;
use super::{show, texts, when};
use crate::error::{Error, Result};
use crate::language::Language;
use crate::limits::cron::{JOBS_MAX, NAME_CHARS_MAX, SPENT_JOBS_KEPT};
use crate::message::Address;
use crate::sys;
use crate::text::{grouped, nearest, one_line};
use crate::zone::{Zone, suggest};

/// What is to be planned.
#[derive(Clone, Debug, Default)]
pub struct NewJob {
    /// What a run does.
    pub kind: PayloadKind,
    /// Text for the model, a command, or text for people.
    pub message: String,
    /// A name for people; empty for none.
    pub name: String,
    /// The chat that gets the result; `None` for the one that is active last when the job runs.
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
    /// The chat; `Some(None)` for the one that is active last.
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
}

/// Reads a schedule from words. `tz` is an IANA time zone in which they are meant, if it is not the owner's.
pub fn schedule(words: &str, tz: Option<&str>, asker: Asker<'_>) -> Result<Schedule> {
    let zone = find_zone(tz, asker)?;
    let schedule = when::parse(words, asker.now_ms, zone.as_ref().unwrap_or(asker.zone))?;
    in_zone(schedule, zone.as_ref(), asker.language)
}

/// Reads a schedule at the beginning of a text, such as `in 20m take the bread out`, and returns the rest;
/// `None` when the text does not begin with one.
pub fn split<'t>(
    text: &'t str,
    tz: Option<&str>,
    asker: Asker<'_>,
) -> Result<Option<(Schedule, &'t str)>> {
    let zone = find_zone(tz, asker)?;
    let found = when::take_leading(text, asker.now_ms, zone.as_ref().unwrap_or(asker.zone));
    let Some((schedule, rest)) = found else {
        return Ok(None);
    };
    let schedule = in_zone(schedule, zone.as_ref(), asker.language)?;
    Ok(Some((schedule, rest)))
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

/// Plans a job. Returns it with its id.
pub fn add(store: &Store, schedule: Schedule, new: NewJob, asker: Asker<'_>) -> Result<Job> {
    store.change(|jobs| {
        remove_spent(jobs, asker);
        if jobs.len() >= JOBS_MAX {
            let count = grouped(JOBS_MAX);
            let text = texts::too_many_jobs(asker.language, &count);
            return Err(Error::Failed(text));
        }
        let id = new_id(jobs)?;
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
        check_schedule(&job, asker)?;
        jobs.push(job.clone());
        Ok(job)
    })
}

/// Changes a job. Returns it as it is now.
pub fn edit(store: &Store, name: &str, changes: Changes, asker: Asker<'_>) -> Result<Job> {
    store.change(|jobs| {
        let job = find_mut(jobs, name, asker.language)?;
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
            // What the old one has missed is not made up for, and an interval counts from now.
            job.created_at_ms = asker.now_ms;
            job.state.last_planned_ms = Some(asker.now_ms);
            check_schedule(job, asker)?;
        }
        Ok(job.clone())
    })
}

fn set<T>(value: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *value = new;
    }
}

/// Enables or disables a job. Returns it as it is now. What it has missed while it was disabled is not made
/// up for.
pub fn enable(store: &Store, name: &str, enabled: bool, asker: Asker<'_>) -> Result<Job> {
    store.change(|jobs| {
        let job = find_mut(jobs, name, asker.language)?;
        if enabled && !job.enabled {
            check_schedule(job, asker)?;
            job.state.last_planned_ms = Some(asker.now_ms);
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

/// An id that no job has: letters and digits that are not mistaken for each other, by turns.
fn new_id(jobs: &[Job]) -> Result<String> {
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
        if jobs.iter().all(|job| job.id != id) {
            return Ok(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cron::{RunOutcome, Status};

    const HOUR: i64 = 3_600_000;
    const NOW: i64 = 1_795_000_000_000;

    fn home() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        (folder, store)
    }

    fn at(now_ms: i64, act: impl FnOnce(Asker<'_>)) {
        act(Asker {
            now_ms,
            zone: &Zone::utc(),
            language: Language::English,
        });
    }

    fn named(name: &str) -> NewJob {
        NewJob {
            name: name.to_owned(),
            message: "Drink tea".to_owned(),
            ..NewJob::default()
        }
    }

    fn every(hours: i64) -> Schedule {
        let every_ms = hours * HOUR;
        Schedule::Every { every_ms }
    }

    #[test]
    fn ids_are_short_and_different() {
        let (_folder, store) = home();
        at(NOW, |asker| {
            for number in 0..60 {
                let name = format!("Job {number}\n\u{202e}{}", "x".repeat(99));
                let job = add(&store, every(1), named(&name), asker).unwrap();
                let kinds: Vec<bool> = job.id.chars().map(|char| char.is_ascii_digit()).collect();
                assert_eq!(kinds, [false, true, false, true], "{}", job.id);
                assert!(
                    job.name.chars().count() <= NAME_CHARS_MAX + 1,
                    "{}",
                    job.name
                );
                assert!(!job.name.contains(['\n', '\u{202e}']), "{}", job.name);
            }
        });
        assert_eq!(store.read().unwrap().jobs.len(), 60);
    }

    #[test]
    fn a_job_is_found_by_its_id_its_name_or_a_unique_beginning() {
        let (_folder, store) = home();
        at(NOW, |asker| {
            for name in ["Tea", "Tea at night", "Café"] {
                add(&store, every(1), named(name), asker).unwrap();
            }
        });
        let jobs = store.read().unwrap().jobs;
        let name_of = |name: &str| {
            let found = find(&jobs, name, Language::English);
            found.map(Job::title).map_err(|error| error.to_string())
        };
        for (typed, name) in [
            ("tea", "Tea"),
            (" TEA ", "Tea"),
            ("tea at", "Tea at night"),
            ("CAFÉ", "Café"),
            (jobs[2].id.as_str(), "Café"),
            (&jobs[2].id.to_uppercase(), "Café"),
        ] {
            assert_eq!(name_of(typed).as_deref(), Ok(name), "{typed}");
        }
        let candidates = format!("{} (Tea), {} (Tea at night)", jobs[0].id, jobs[1].id);
        let error = name_of("te").unwrap_err();
        assert!(error.contains(&candidates), "{error}");
        for typed in ["", " ", "x\n\u{7}"] {
            let error = name_of(typed).unwrap_err();
            assert!(error.starts_with("There is no job \""), "{error}");
            assert!(!error.contains(['\n', '\u{7}']), "{error}");
        }
        let chinese = find(&jobs, "x", Language::Chinese).unwrap_err();
        assert_eq!(chinese.to_string(), "没有名为“x”的任务。");
    }

    #[test]
    fn what_would_never_run_is_not_planned() {
        let (_folder, store) = home();
        at(NOW, |asker| {
            let past = Schedule::At { at_ms: NOW - HOUR };
            let error = add(&store, past.clone(), named(""), asker).unwrap_err();
            assert!(
                error.to_string().starts_with("That time has passed: "),
                "{error}"
            );
            let empty = NewJob::default();
            assert!(add(&store, every(1), empty, asker).is_err());
            let job = add(&store, every(1), named(""), asker).unwrap();
            let changes = Changes {
                schedule: Some(past),
                ..Changes::default()
            };
            assert!(edit(&store, &job.id, changes, asker).is_err());
        });
        assert_eq!(store.read().unwrap().jobs.len(), 1);
    }

    #[test]
    fn an_edit_changes_only_what_it_names_and_makes_up_for_nothing() {
        let (_folder, store) = home();
        at(NOW, |asker| {
            let new = NewJob {
                chat: Some(Address::parse("telegram:-100:7")),
                model: Some("small".to_owned()),
                ..named("Tea")
            };
            add(&store, every(1), new, asker).unwrap();
        });
        at(NOW + 5 * HOUR, |asker| {
            let changes = Changes {
                schedule: Some(every(2)),
                model: Some(None),
                deliver: Some(Deliver::Both),
                ..Changes::default()
            };
            let job = edit(&store, "tea", changes, asker).unwrap();
            assert_eq!(job.payload.message, "Drink tea");
            assert_eq!(job.payload.chat().unwrap().to_string(), "telegram:-100:7");
            assert_eq!(
                (&job.payload.model, job.payload.deliver),
                (&None, Deliver::Both)
            );
            let next = show::next_run(&job, asker.now_ms, asker.zone);
            assert_eq!(next, Some(NOW + 7 * HOUR));
        });
    }

    #[test]
    fn what_a_disabled_job_missed_is_not_made_up_for() {
        let (_folder, store) = home();
        at(NOW, |asker| {
            add(&store, every(1), named("Tea"), asker).unwrap();
            assert!(!enable(&store, "tea", false, asker).unwrap().enabled);
        });
        at(NOW + 5 * HOUR + 1, |asker| {
            let job = enable(&store, "tea", true, asker).unwrap();
            let next = show::next_run(&job, asker.now_ms, asker.zone);
            assert_eq!((job.enabled, next), (true, Some(NOW + 6 * HOUR)));
        });
        assert!(
            remove(&store, "tea", Language::English)
                .unwrap()
                .contains("(Tea)")
        );
        assert!(remove(&store, "tea", Language::English).is_err());
    }

    #[test]
    fn one_time_jobs_that_have_run_make_room() {
        let (_folder, store) = home();
        at(NOW, |asker| {
            for number in 0..60 {
                let at_ms = NOW + HOUR + number;
                let name = format!("Job {number}");
                let job = add(&store, Schedule::At { at_ms }, named(&name), asker).unwrap();
                let outcome = RunOutcome {
                    status: Status::Ok,
                    error: None,
                    duration_ms: 1,
                };
                if number != 7 {
                    store.begin(&job.id, at_ms, at_ms).unwrap();
                    store.end(&job.id, at_ms, at_ms + 1, &outcome).unwrap();
                }
            }
        });
        at(NOW + 2 * HOUR, |asker| {
            add(&store, every(1), named("new"), asker).unwrap();
        });
        let names: Vec<String> = store.read().unwrap().jobs.iter().map(Job::title).collect();
        assert_eq!(names.len(), SPENT_JOBS_KEPT + 2);
        // The one that has not run stays, however old it is.
        assert_eq!((names[0].as_str(), names[1].as_str()), ("Job 7", "Job 10"));
    }
}
