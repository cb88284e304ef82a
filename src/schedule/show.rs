//! Jobs and their times for people: PURE.

use chrono::{DateTime, Datelike, FixedOffset};

use super::due;
use super::job::{Job, Run, Status};
use super::texts;
use super::times::Schedule;
use super::when::describe;
use crate::base::language::Language;
use crate::base::zone::Zone;
use crate::text::markup::{inline_code, plain};
use crate::text::reveal;

/// A job as a line of a list. What others chose (the title) has nothing invisible in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// When it runs, in words; `once` where that is in `next`.
    pub schedule: String,
    /// When it runs next and how long until then, such as `tomorrow 07:00, in 9 h`; else why it does not.
    pub next: String,
    /// How the last run ended, unless it ended well and showed what it did: `failed`, `interrupted`, `said, not shown`.
    pub note: Option<&'static str>,
}

/// What a list says about a job.
pub fn list(job: &Job, now_ms: i64, zone: &Zone, language: Language) -> Listed {
    let next = match next_run(job, now_ms, zone) {
        _ if job.disabled_because().is_some() => texts::disabled_undelivered(language).to_owned(),
        _ if !job.enabled => texts::disabled(language).to_owned(),
        Some(at_ms) if at_ms <= now_ms => texts::due_now(language).to_owned(),
        Some(at_ms) => {
            let left = left(at_ms - now_ms, language);
            time(at_ms, now_ms, zone, language) + texts::comma(language) + &left
        }
        None if job.state.last_planned_ms.is_some() => texts::done(language).to_owned(),
        None => texts::never(language).to_owned(),
    };
    let note = match job.state.last_status {
        Some(Status::Ok) | None => {
            let last = job.state.runs.last();
            let unshown = last.filter(|run| run.status == Status::Ok && run.unshown);
            unshown.map(|run| describe_end(run, language))
        }
        Some(status) => Some(status_word(status, language)),
    };
    Listed {
        id: job.id.clone(),
        title: job.title(),
        schedule: match job.schedule {
            Schedule::At { .. } => texts::once(language).to_owned(),
            _ => describe(&job.schedule, zone, language),
        },
        next,
        note,
    }
}

/// A job as a line of Markdown.
pub fn line(job: &Job, now_ms: i64, zone: &Zone, language: Language) -> String {
    let listed = list(job, now_ms, zone, language);
    let (id, title) = (inline_code(&listed.id), plain(&reveal(&listed.title)));
    let mut line = match job.schedule {
        Schedule::At { .. } => texts::line_once(language, &id, &title, &listed.next),
        _ => {
            let schedule = plain(&listed.schedule);
            texts::line(language, &id, &title, &schedule, &listed.next)
        }
    };
    if let Some(note) = listed.note {
        line += &texts::last_run(language, &note);
    }
    line
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

/// How a run ended, in a few words.
pub fn describe_end(run: &Run, language: Language) -> &'static str {
    match run.status {
        Status::Ok if run.unshown => texts::unshown(language),
        status => status_word(status, language),
    }
}

fn status_word(status: Status, language: Language) -> &'static str {
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
        2..7 => texts::weekday_and_time(language, &texts::weekday(at.weekday(), language), &clock),
        _ => at.format(&format!("%Y-%m-%d {form}")).to_string(),
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
        _ => texts::days(language, &whole_days(ms)),
    }
}

/// The shortest span that is told in days, in milliseconds.
const DAYS_FROM_MS: i64 = 172_799_500;

fn whole_days(ms: i64) -> i64 {
    (ms.saturating_add(500) / 1000 + 43_200) / 86_400
}

/// The spans until then that are told in hours and minutes, in minutes: half an hour of ten does not matter.
const IN_MINUTES: std::ops::Range<i64> = 90..600;

/// How long until then, such as `in 9 h` or `in 1 h 30 min`. Days have texts of their own, for words that change behind
/// "in" and "ago".
pub fn left(ms: i64, language: Language) -> String {
    let minutes = ms.saturating_add(30_000) / 60_000;
    match ms {
        DAYS_FROM_MS.. => texts::in_days(language, &whole_days(ms)),
        _ if IN_MINUTES.contains(&minutes) && minutes % 60 != 0 => {
            let hours = texts::hours(language, &(minutes / 60));
            let minutes = texts::minutes(language, &(minutes % 60));
            texts::in_time(language, &format!("{hours} {minutes}"))
        }
        _ => texts::in_time(language, &span(ms, language)),
    }
}

/// How long ago a time was, such as `2 h ago`.
pub fn ago(at_ms: i64, now_ms: i64, language: Language) -> String {
    match now_ms.saturating_sub(at_ms) {
        ms @ DAYS_FROM_MS.. => texts::days_ago(language, &whole_days(ms)),
        ms => texts::ago(language, &span(ms, language)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Payload, Run};

    const HOUR: i64 = 3_600_000;
    /// Monday, 2026-11-23 22:00 UTC.
    const NOW: i64 = 1_795_471_200_000;

    #[test]
    fn a_time_is_said_as_people_say_it() {
        for (hours, english, chinese) in [
            (0, "today 22:00", "今天 22:00"),
            (-22, "today 00:00", "今天 00:00"),
            (9, "tomorrow 07:00", "明天 07:00"),
            (-23, "yesterday 23:00", "昨天 23:00"),
            (33, "Wed 07:00", "周三 07:00"),
            (129, "Sun 07:00", "周日 07:00"),
            (153, "2026-11-30 07:00", "2026-11-30 07:00"),
            (-48, "2026-11-21 22:00", "2026-11-21 22:00"),
        ] {
            let at_ms = NOW + hours * HOUR;
            let said = |language| time(at_ms, NOW, &Zone::utc(), language);
            assert_eq!(said(Language::English), english, "{hours}");
            assert_eq!(said(Language::Chinese), chinese, "{hours}");
        }
        let odd = time(NOW + 7_500, NOW, &Zone::utc(), Language::English);
        assert_eq!(odd, "today 22:00:07");
    }

    #[test]
    fn a_span_has_one_unit() {
        for (ms, text) in [
            (-5, "0 s"),
            (45_000, "45 s"),
            (20 * 60_000, "20 min"),
            (89 * 60_000, "89 min"),
            (9 * HOUR, "9 h"),
            (47 * HOUR, "47 h"),
            (72 * HOUR, "3 days"),
            (i64::MAX, "106751991167 days"),
        ] {
            assert_eq!(span(ms, Language::English), text);
        }
        assert_eq!(ago(NOW - 2 * HOUR, NOW, Language::Chinese), "2 小时前");
        for (hours, english, german) in [
            (47, "47 h ago", "vor 47 h"),
            (48, "2 days ago", "vor 2 Tagen"),
            (72, "3 days ago", "vor 3 Tagen"),
        ] {
            let ago = |language| ago(NOW - hours * HOUR, NOW, language);
            assert_eq!(ago(Language::English), english);
            assert_eq!(ago(Language::German), german);
            assert_eq!(
                left(hours * HOUR, Language::English),
                english.replace(" ago", "").replacen("", "in ", 1)
            );
        }
    }

    #[test]
    fn what_comes_soon_is_told_in_hours_and_minutes() {
        for (minutes, english, chinese) in [
            (89, "in 89 min", "89 分钟后"),
            (90, "in 1 h 30 min", "1 小时 30 分钟后"),
            (120, "in 2 h", "2 小时后"),
            (601, "in 10 h", "10 小时后"),
        ] {
            let left = |language| left(minutes * 60_000, language);
            assert_eq!(left(Language::English), english);
            assert_eq!(left(Language::Chinese), chinese);
        }
        assert_eq!(
            left(90 * 60_000 - 4_000, Language::English),
            "in 1 h 30 min"
        );
    }

    #[test]
    fn a_list_says_when_a_job_runs_next_and_how_it_went() {
        let payload = Payload {
            message: "Drink\ntea \u{202e}now".to_owned(),
            ..Payload::default()
        };
        let every_ms = 9 * HOUR;
        let mut job = Job::new("j7k2", Schedule::Every { every_ms }, payload, NOW);
        let listed = |job: &Job| list(job, NOW, &Zone::utc(), Language::English);
        assert_eq!(listed(&job).title, "Drink tea now");
        assert_eq!(listed(&job).next, "tomorrow 07:00, in 9 h");
        assert_eq!(listed(&job).note, None);
        let chinese = list(&job, NOW, &Zone::utc(), Language::Chinese);
        assert_eq!(chinese.next, "明天 07:00，9 小时后");
        job.state.last_status = Some(Status::Failed);
        job.enabled = false;
        assert_eq!(
            (listed(&job).next.as_str(), listed(&job).note),
            ("disabled", Some("failed"))
        );
        let runs = next_runs(&job, NOW, &Zone::utc(), 3);
        assert_eq!(
            runs,
            [NOW + every_ms, NOW + 2 * every_ms, NOW + 3 * every_ms]
        );

        job.enabled = true;
        job.schedule = Schedule::At { at_ms: NOW - 1 };
        job.state.last_planned_ms = Some(NOW - 1);
        job.state.runs = vec![Run {
            planned_ms: NOW - 1,
            status: Status::Ok,
            ..Run::default()
        }];
        assert_eq!(listed(&job).next, "done");
    }
}
