use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{ms, show};
use crate::base::zone::Zone;
use crate::schedule::due::{Due, Planned, Times, look};
use crate::schedule::times::{Phase, Schedule};
use crate::schedule::when;

/// A table of `zone | schedule | created | last planned | now => with catch-up | without`.
const TABLE: &str = include_str!("due.txt");

fn schedule(zone: &Zone, text: &str) -> Schedule {
    let cron = || Schedule::Cron {
        expr: text.to_owned(),
        tz: None,
    };
    match text.strip_prefix("at ") {
        Some(at) => Schedule::At {
            at_ms: ms(zone, at),
        },
        None => when::parse(text, 0, zone).unwrap_or_else(|_| cron()),
    }
}

fn describe(zone: &Zone, due: &Due) -> String {
    let time = |ms| show(zone, ms).replace(":00+", "+").replace(":00-", "-");
    let run = due.run.map(|run| {
        let planned = time(run.planned_ms);
        format!(
            "run {planned} late {} s missed {}",
            run.late_ms / 1000,
            run.missed
        )
    });
    let skipped = due.skipped_to_ms.map(|to| format!("skip {}", time(to)));
    let next = match due.next_ms {
        Some(next) => format!("next {}", time(next)),
        None => "end".to_owned(),
    };
    let parts = run.into_iter().chain(skipped).chain([next]);
    parts.collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_due_follows_the_table() {
    let (mut count, mut faults) = (0, Vec::new());
    for row in TABLE.lines().filter(|row| !row.starts_with('#')) {
        let (times, expected) = row.split_once(" => ").unwrap_or_else(|| panic!("{row}"));
        let [zone, text, created, last, now] = times.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let (with, without) = expected
            .split_once(" | ")
            .unwrap_or_else(|| panic!("{row}"));
        let without = if without == "the same" { with } else { without };
        let zone = Zone::find(zone).unwrap();
        let schedule = schedule(&zone, text);
        for (catch_up, expected) in [(true, with), (false, without)] {
            let times = Times {
                schedule: &schedule,
                id: "job",
                catch_up,
                created_ms: ms(&zone, created),
                last_planned_ms: (last != "-").then(|| ms(&zone, last)),
                interrupted_ms: None,
            };
            let found = describe(&zone, &look(&times, ms(&zone, now), &zone));
            count += 1;
            if found != expected {
                faults.push(format!("{row}\n  catch-up {catch_up}: {found}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count >= 120, "only {count} rows");
}

#[test]
fn an_interrupted_run_is_made_up_for_once() {
    let zone = Zone::utc();
    let schedule = schedule(&zone, "0 7 * * *");
    let at = |time: &str| ms(&zone, time);
    let job = Times {
        schedule: &schedule,
        id: "job",
        catch_up: true,
        created_ms: at("2026-11-01 12:00"),
        last_planned_ms: Some(at("2026-11-23 07:00")),
        interrupted_ms: Some(at("2026-11-23 07:00")),
    };
    let next = Some(at("2026-11-24 07:00"));
    let run = |planned: &str, late_ms, missed| {
        Some(Planned {
            planned_ms: at(planned),
            late_ms,
            missed,
        })
    };
    let due = look(&job, at("2026-11-23 07:10"), &zone);
    assert_eq!(
        (due.run, due.next_ms),
        (run("2026-11-23 07:00", 600_000, 0), next)
    );
    // A later run makes up for it.
    let due = look(&job, at("2026-11-25 07:10"), &zone);
    assert_eq!(due.run, run("2026-11-25 07:00", 600_000, 1));
    // Without catch-up it is not repeated.
    let without = Times {
        catch_up: false,
        ..job
    };
    let due = look(&without, at("2026-11-23 07:10"), &zone);
    assert_eq!(
        (due.run, due.skipped_to_ms, due.next_ms),
        (None, None, next)
    );
    // Neither when the clock was set back meanwhile.
    let due = look(&job, at("2026-11-23 05:00"), &zone);
    assert_eq!(
        (due.run, due.next_ms),
        (run("2026-11-23 07:00", 0, 0), next)
    );
    let once = Schedule::At {
        at_ms: at("2026-11-23 07:00"),
    };
    let once = Times {
        schedule: &once,
        ..job
    };
    let due = look(&once, at("2026-11-23 07:10"), &zone);
    assert_eq!(
        (due.run, due.next_ms),
        (run("2026-11-23 07:00", 600_000, 0), None)
    );
}

/// What happens between two looks at a job.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The gateway sleeps until the job is due, and wakes this many milliseconds later.
    Sleep(i64),
    /// Nothing runs for so many seconds, or the clock is set forward.
    Down(i64),
    /// The clock is set back by so many seconds.
    Back(i64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0_i64..5000).prop_map(Step::Sleep),
        2 => (0_i64..600).prop_map(Step::Down),
        2 => (0_i64..5 * 86_400).prop_map(Step::Down),
        2 => (0_i64..7200).prop_map(Step::Back),
        1 => (0_i64..86_400).prop_map(Step::Back),
    ]
}

const LINES: [&str; 10] = [
    "0 7 * * *",
    "30 2 * * *",
    "30 * * * *",
    "*/20 * * * *",
    "0 */2 * * *",
    "0 7 * * 1-5",
    "0 7 1,31 * *",
    "every 2h",
    "every 25m",
    "15 0 3 * * *",
];

proptest! {
    /// Whatever the clock does, each planned time has its run, or is counted as missed by a later one, and no
    /// job is silent for more than two of its runs because the clock was set back.
    #[test]
    fn no_run_is_repeated_and_none_is_lost(
        text in prop::sample::select(LINES.to_vec()),
        zone in prop::sample::select(vec!["Europe/Zurich", "Australia/Lord_Howe", "UTC"]),
        // Some weeks before and after changes of the clocks.
        begin in 1_790_000_000_i64..1_808_000_000,
        steps in prop::collection::vec(any_step(), 1..40),
    ) {
        let zone = Zone::find(zone).unwrap();
        let schedule = schedule(&zone, text);
        let (created_ms, mut now_ms) = (begin * 1000, begin * 1000);
        let (mut last_planned_ms, mut next_ms) = (None, None);
        let (mut begun, mut dealt_with, mut highest_ms) = (BTreeSet::new(), 0, now_ms);
        let phase = Phase { created_ms, id: "job" };
        let plan = schedule.plan(&phase, &zone).unwrap();
        let count = |after_ms: i64, to_ms: i64| {
            let next = |at_ms: &i64| plan.next_after(*at_ms).filter(|next| *next <= to_ms);
            std::iter::successors(next(&after_ms), next).count()
        };
        let mut from_ms = created_ms;
        for step in steps {
            now_ms = match step {
                Step::Sleep(late_ms) => now_ms.max(next_ms.unwrap_or(now_ms)) + late_ms,
                Step::Down(seconds) => now_ms + seconds * 1000,
                // Back from the latest time by at most a day.
                Step::Back(seconds) => (now_ms - seconds * 1000).max(highest_ms - 86_400_000 + 7_200_000),
            };
            highest_ms = highest_ms.max(now_ms);
            let job = Times { schedule: &schedule, id: "job", catch_up: true, created_ms, last_planned_ms, interrupted_ms: None };
            let due = look(&job, now_ms, &zone);
            next_ms = due.next_ms;
            prop_assert!(due.next_ms.is_some_and(|next| next > now_ms));
            if let Some(run) = due.run {
                prop_assert!(run.planned_ms <= now_ms);
                prop_assert_eq!(run.late_ms, now_ms - run.planned_ms);
                prop_assert!(begun.insert(run.planned_ms), "{} is repeated", show(&zone, run.planned_ms));
                dealt_with += 1 + run.missed;
                last_planned_ms = Some(run.planned_ms);
                // Not twice in the same moment.
                let job = Times { last_planned_ms, ..job };
                prop_assert_eq!(look(&job, now_ms, &zone), Due { next_ms, ..Due::default() });
                if run.missed == 200 {
                    return Ok(());
                }
            }
            let known_ms = last_planned_ms.unwrap_or(created_ms);
            if due.skipped_to_ms.is_some() {
                // What is known is from the time before the clock was set back: it begins again.
                prop_assert_eq!(due.skipped_to_ms, Some(now_ms));
                prop_assert!(last_planned_ms.is_none() || count(now_ms, known_ms) > 2);
                last_planned_ms = due.skipped_to_ms;
                (from_ms, highest_ms, dealt_with) = (now_ms, now_ms, 0);
                begun.clear();
            } else {
                prop_assert!(count(now_ms, known_ms) <= 2);
            }
        }
        let planned = count(from_ms, last_planned_ms.unwrap_or(from_ms));
        prop_assert_eq!(planned, dealt_with as usize, "{} runs begun", begun.len());
    }
}
