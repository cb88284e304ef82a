//! Jobs that were planned while the clock was wrong: PURE.
//!
//! What is planned is a date, reckoned from the time of the request. When the clock turns out to have been wrong
//! then, that date is wrong too: "in 20 minutes" would come a day late. So once the clock is set, and can be
//! trusted, the date is reckoned again from the words and the right time of the request.
//!
//! That holds for jobs that run once, and that were planned since the machine started by a clock that no time service
//! kept right: how wrong the clock was before is not known. A cron line names times of day, which are right with any clock. An interval keeps its
//! rhythm or begins a new one, and [`due`](super::due) keeps it from being silent.

use super::job::Job;
use super::times::Schedule;
use super::when;
use crate::base::zone::Zone;

/// How the clock was set. All times are milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Jump {
    /// When the machine started, by the clock as it was before.
    pub boot_ms: i64,
    /// The last time that this clock showed.
    pub before_ms: i64,
    /// By how much it was set forward; negative for back.
    pub by_ms: i64,
}

/// Corrects the time of a job that was planned by the clock before. Returns whether it has changed. `zone` is the
/// owner's.
pub fn correct(job: &mut Job, jump: Jump, zone: &Zone) -> bool {
    let is_of_that_clock = (jump.boot_ms..=jump.before_ms).contains(&job.created_at_ms);
    let has_run = job.state.last_planned_ms.is_some();
    let Some(said) = job.said.as_deref().filter(|_| is_of_that_clock && !has_run) else {
        return false;
    };
    let created_ms = job.created_at_ms.saturating_add(jump.by_ms);
    let (Ok(Some((Schedule::At { at_ms }, _))), Schedule::At { at_ms: before_ms }) =
        (when::take_leading(said, created_ms, zone), &job.schedule)
    else {
        return false;
    };
    let later_ms = at_ms.saturating_sub(*before_ms);
    let has_passed = *before_ms <= jump.before_ms.saturating_add(jump.by_ms);
    // A time of day that has passed is late, and not put off to the next day: the clock may have stood still while
    // the machine slept. A span, such as 20 minutes, is as long by any clock.
    if has_passed && later_ms > 0 && later_ms != jump.by_ms {
        return false;
    }
    job.schedule = Schedule::At { at_ms };
    (job.created_at_ms, job.updated_at_ms) = (created_ms, created_ms);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Payload;

    const HOUR: i64 = 3_600_000;
    const DAY: i64 = 24 * HOUR;
    /// 2026-11-23 20:00 in UTC.
    const NOW: i64 = 1_795_464_000_000;

    /// When a job runs that was planned a minute ago, after the clock was set.
    fn runs_at(said: &str, by_ms: i64, change: impl FnOnce(&mut Job)) -> i64 {
        let zone = Zone::utc();
        let created_ms = NOW - 60_000;
        let (schedule, _) = when::take_leading(said, created_ms, &zone)
            .unwrap()
            .unwrap();
        let mut job = Job::new("a", schedule, Payload::default(), created_ms);
        job.said = Some(said.to_owned());
        change(&mut job);
        let before = job.clone();
        let jump = Jump {
            boot_ms: NOW - HOUR,
            before_ms: NOW,
            by_ms,
        };
        assert_eq!(correct(&mut job, jump, &zone), job != before);
        match job.schedule {
            Schedule::At { at_ms } => at_ms,
            _ => job.created_at_ms,
        }
    }

    #[test]
    fn what_was_planned_by_a_wrong_clock_is_reckoned_again() {
        let in_20 = NOW + 19 * 60_000;
        let tomorrow = NOW + 11 * HOUR;
        #[rustfmt::skip]
        let table = [
            ("in 20m", -DAY, in_20 - DAY),
            ("in 20m", 5 * HOUR, in_20 + 5 * HOUR),
            ("20m take", -3 * HOUR, in_20 - 3 * HOUR),
            ("tomorrow 7:00", -DAY, tomorrow - DAY),
            ("tomorrow 7:00", -3 * HOUR, tomorrow),
            ("tomorrow 7:00", 5 * HOUR, tomorrow + DAY),
            // What has passed is late.
            ("7:00", 12 * HOUR, tomorrow),
            ("tomorrow 7:00", 12 * HOUR, tomorrow),
            // A date is one with any clock.
            ("2026-12-24 18:00", -DAY, 1_798_135_200_000),
            ("every 2h", -DAY, NOW - 60_000),
        ];
        for (said, by_ms, expected) in table {
            assert_eq!(runs_at(said, by_ms, |_| ()), expected, "{said} {by_ms}");
        }
    }

    #[test]
    fn only_what_is_of_that_clock_and_has_not_run_is_corrected() {
        let in_20 = NOW + 19 * 60_000;
        let has_run = |job: &mut Job| job.state.last_planned_ms = Some(NOW);
        let unsaid = |job: &mut Job| job.said = None;
        let before_start = |job: &mut Job| job.created_at_ms = NOW - 2 * HOUR;
        let afterwards = |job: &mut Job| job.created_at_ms = NOW + 1;
        assert_eq!(runs_at("in 20m", -DAY, has_run), in_20);
        assert_eq!(runs_at("in 20m", -DAY, unsaid), in_20);
        assert_eq!(runs_at("in 20m", -DAY, before_start), in_20);
        assert_eq!(runs_at("in 20m", -DAY, afterwards), in_20);
    }
}
