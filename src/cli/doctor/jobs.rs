//! Scheduled jobs: whether they can run.

use super::report::Row;
use crate::base::clock::{Clock, Trust};
use crate::base::language::Language;
use crate::base::zone::Zone;
use crate::cli::cron::zone_of;
use crate::config::{Home, Loaded};
use crate::schedule::edit::label;
use crate::schedule::show::{next_run, time};
use crate::schedule::{Job, Jobs, Schedule, Store};
use crate::store::state::KnownTime;
use crate::text::count_of;

/// Jobs that are named in a finding.
const JOBS_NAMED_MAX: usize = 5;

/// The jobs; nothing when there are none.
pub fn jobs(home: &Home, loaded: &Loaded) -> Option<Row> {
    let zone = zone_of(loaded);
    let now_ms = Clock::System.now().timestamp_millis();
    let store = Store::open(home.path());
    match store.read() {
        Ok(jobs) if jobs.jobs.is_empty() && jobs.faults.is_empty() => None,
        Ok(jobs) => {
            let trust = KnownTime::new(&home.state()).trust(&Clock::System);
            let is_on = loaded.config.cron.enabled;
            let mut row = judge(&jobs, (is_on, trust), now_ms, &zone);
            if !jobs.faults.is_empty() {
                row.text += &format!(". Repair or remove them in {}", store.path().display());
            }
            Some(row)
        }
        Err(error) => Some(Row::failed("jobs", error.to_string())),
    }
}

/// The finding about the jobs that could be read.
fn judge(jobs: &Jobs, (is_on, trust): (bool, Trust), now_ms: i64, zone: &Zone) -> Row {
    let enabled: Vec<&Job> = jobs.jobs.iter().filter(|job| job.enabled).collect();
    let mut problems = Vec::new();
    if !is_on && !enabled.is_empty() {
        let count = count_of(enabled.len(), "job is", "jobs are");
        problems.push(format!(
            "{count} planned, but cron.enabled is false. `peacrab config set cron.enabled true` runs them"
        ));
    }
    if let Trust::NotYet(reason) = trust
        && is_on
        && !enabled.is_empty()
    {
        let count = count_of(enabled.len(), "job waits", "jobs wait");
        problems.push(format!(
            "{count} until the clock can be trusted: the clock {reason}"
        ));
    }
    let has_ended = |job: &&&Job| {
        let is_done =
            matches!(job.schedule, Schedule::At { .. }) && job.state.last_planned_ms.is_some();
        !is_done && next_run(job, now_ms, zone).is_none()
    };
    let ended: Vec<String> = enabled
        .iter()
        .filter(has_ended)
        .map(|job| label(job))
        .collect();
    if !ended.is_empty() {
        let named = name_some(&ended);
        problems.push(format!(
            "{named} will never run: no date fits. `peacrab cron edit JOB --when` changes that"
        ));
    }
    let faults: Vec<String> = jobs.faults.iter().map(ToString::to_string).collect();
    if !faults.is_empty() {
        let count = count_of(faults.len(), "job", "jobs");
        problems.push(format!("{count} cannot be used: {}", name_some(&faults)));
    }
    if !problems.is_empty() {
        return Row::warning("jobs", problems.join("; "));
    }
    let next = enabled
        .iter()
        .filter_map(|job| next_run(job, now_ms, zone))
        .min();
    let count = count_of(jobs.jobs.len(), "job", "jobs");
    Row::ok(
        "jobs",
        match next {
            Some(next) => {
                let next = time(next.max(now_ms), now_ms, zone, Language::English);
                format!("{count}, the next one {next}")
            }
            None => format!("{count}, none planned"),
        },
    )
}

/// The first ones, and how many more there are.
fn name_some(names: &[String]) -> String {
    let first = names.iter().take(JOBS_NAMED_MAX).map(String::as_str);
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(JOBS_NAMED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Reason;
    use crate::schedule::Payload;

    fn job(id: &str, schedule: Schedule) -> Job {
        let payload = Payload {
            message: "tea".to_owned(),
            ..Payload::default()
        };
        Job::new(id, schedule, payload, 0)
    }

    fn judge_these(jobs: Vec<Job>, is_on: bool) -> String {
        let faults = Vec::new();
        let state = (is_on, Trust::Trusted);
        judge(&Jobs { jobs, faults }, state, 60_000, &Zone::utc()).text
    }

    #[test]
    fn a_job_that_cannot_run_is_a_finding() {
        let every = || {
            job(
                "a1",
                Schedule::Every {
                    every_ms: 3_600_000,
                },
            )
        };
        assert_eq!(
            judge_these(vec![every()], true),
            "1 job, the next one today 01:00"
        );
        let off = judge_these(vec![every()], false);
        assert!(
            off.starts_with("1 job is planned, but cron.enabled"),
            "{off}"
        );
        let jobs = Jobs {
            jobs: vec![every()],
            faults: Vec::new(),
        };
        let state = (true, Trust::NotYet(Reason::NotSynchronized));
        let waits = judge(&jobs, state, 60_000, &Zone::utc()).text;
        assert_eq!(
            waits,
            "1 job waits until the clock can be trusted: the clock has not been synchronized since the \
             machine started"
        );
        let mut done = job("b2", Schedule::At { at_ms: 5 });
        done.state.last_planned_ms = Some(5);
        assert_eq!(judge_these(vec![done], true), "1 job, none planned");
        let never = Schedule::Cron {
            expr: "0 0 30 2 *".to_owned(),
            tz: None,
        };
        let mut disabled = job("d4", never.clone());
        disabled.enabled = false;
        let text = judge_these(vec![job("c3", never), disabled], true);
        assert!(text.starts_with("c3 (tea) will never run"), "{text}");
        assert!(!text.contains("d4"), "{text}");
    }
}
