//! Jobs and their times for people: PURE.

use chrono::{DateTime, Datelike, FixedOffset};

use super::due;
use super::job::{Job, Status};
use super::texts;
use super::when::describe;
use crate::language::Language;
use crate::zone::Zone;

/// A job as a line of a list. What others chose (the title) has nothing invisible in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// When it runs, in words.
    pub schedule: String,
    /// When it runs next and how long until then, such as `tomorrow 07:00, in 9 h`; else why it does not.
    pub next: String,
    /// How the last run ended, unless it ended well: `failed`, `interrupted`, `running`.
    pub note: Option<&'static str>,
}

/// What a list says about a job.
pub fn list(job: &Job, now_ms: i64, zone: &Zone, language: Language) -> Listed {
    let next = match next_run(job, now_ms, zone) {
        _ if !job.enabled => texts::disabled(language).to_owned(),
        Some(at_ms) if at_ms <= now_ms => texts::due_now(language).to_owned(),
        Some(at_ms) => {
            let comma = match language {
                Language::English => ", ",
                Language::Chinese => "，",
            };
            let left = texts::in_time(language, &span(at_ms - now_ms, language));
            time(at_ms, now_ms, zone, language) + comma + &left
        }
        None if job.state.last_planned_ms.is_some() => texts::done(language).to_owned(),
        None => texts::never(language).to_owned(),
    };
    let note = match job.state.last_status {
        Some(Status::Ok) | None => None,
        Some(status) => Some(status_word(status, language)),
    };
    Listed {
        id: job.id.clone(),
        title: job.title(),
        schedule: describe(&job.schedule, zone, language),
        next,
        note,
    }
}

/// When a job runs next, in milliseconds since 1970, whether it is enabled or not: now or earlier when a
/// run is overdue, `None` when there is no further one.
pub fn next_run(job: &Job, now_ms: i64, zone: &Zone) -> Option<i64> {
    let is_running = job.state.last_status == Some(Status::Running);
    let due = due::look(&job.times(), now_ms, zone);
    match due.run {
        Some(run) if !is_running => Some(run.planned_ms),
        _ => due.next_ms,
    }
}

/// The next runs of a job, at most `most`.
pub fn next_runs(job: &Job, now_ms: i64, zone: &Zone, most: usize) -> Vec<i64> {
    let phase = super::Phase {
        created_ms: job.created_at_ms,
        id: &job.id,
    };
    let after = |at_ms: &i64| job.schedule.next_after((*at_ms).max(now_ms), &phase, zone);
    std::iter::successors(next_run(job, now_ms, zone), after)
        .take(most)
        .collect()
}

/// How a run ended, in a word.
pub fn status_word(status: Status, language: Language) -> &'static str {
    match status {
        Status::Running => texts::running(language),
        Status::Ok => texts::ok(language),
        Status::Failed => texts::failed(language),
        Status::Skipped => texts::skipped(language),
        Status::Interrupted => texts::interrupted(language),
    }
}

/// A time as people say it: `today 14:00`, `tomorrow 07:00`, `Mon 07:00` within six days, else
/// `2026-12-24 18:00`. With seconds where it has some.
pub fn time(at_ms: i64, now_ms: i64, zone: &Zone, language: Language) -> String {
    let (at, now) = (local(at_ms, zone), local(now_ms, zone));
    let form = if at.format("%S").to_string() == "00" {
        "%H:%M"
    } else {
        "%H:%M:%S"
    };
    let clock = at.format(form);
    let days = at.date_naive().signed_duration_since(now.date_naive());
    match days.num_days() {
        0 => texts::today(language, &clock),
        1 => texts::tomorrow(language, &clock),
        -1 => texts::yesterday(language, &clock),
        2..7 => texts::weekday_and_time(language, &weekday(at, language), &clock),
        _ => at.format(&format!("%Y-%m-%d {form}")).to_string(),
    }
}

fn weekday(at: DateTime<FixedOffset>, language: Language) -> String {
    let chinese = ["一", "二", "三", "四", "五", "六", "日"];
    match language {
        Language::English => at.format("%a").to_string(),
        Language::Chinese => {
            let index = at.weekday().num_days_from_monday() as usize;
            chinese.get(index).copied().unwrap_or_default().to_owned()
        }
    }
}

fn local(ms: i64, zone: &Zone) -> DateTime<FixedOffset> {
    zone.at(ms.div_euclid(1000))
}

/// A span of milliseconds in one unit: `45 s`, `20 min`, `9 h`, `3 days`.
pub fn span(ms: i64, language: Language) -> String {
    let seconds = ms.saturating_add(500).max(0) / 1000;
    match seconds {
        0..90 => texts::seconds(language, &seconds),
        90..5400 => texts::minutes(language, &((seconds + 30) / 60)),
        5400..172_800 => texts::hours(language, &((seconds + 1800) / 3600)),
        _ => texts::days(language, &((seconds + 43_200) / 86_400)),
    }
}

/// How long ago a time was, such as `2 h ago`.
pub fn ago(at_ms: i64, now_ms: i64, language: Language) -> String {
    texts::ago(language, &span(now_ms.saturating_sub(at_ms), language))
}
