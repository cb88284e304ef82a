use super::{ms, show};
use crate::base::zone::Zone;
use crate::schedule::line::Line;
use crate::schedule::times::{Phase, Schedule};

const PHASE: Phase = Phase {
    created_ms: 0,
    id: "job",
};

fn by_line(expr: &str) -> Schedule {
    Schedule::Cron {
        expr: expr.to_owned(),
        tz: None,
    }
}

/// The next planned times of a line after a local time.
fn next(zone: &str, expr: &str, after: &str, count: usize) -> Vec<String> {
    let zone = Zone::find(zone).unwrap();
    let schedule = by_line(expr);
    schedule.check().unwrap_or_else(|error| panic!("{error}"));
    let mut at = ms(&zone, after);
    let mut times = Vec::new();
    while times.len() < count {
        at = schedule
            .next_after(at, &PHASE, &zone)
            .unwrap_or_else(|| panic!("{expr}"));
        times.push(show(&zone, at));
    }
    times
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn fields_steps_names_and_days_are_those_of_crontab() {
    for (expr, after, expected) in [
        // Five fields, lists, ranges, steps.
        (
            "0 7 * * *",
            "2026-11-23 06:59:59",
            ["2026-11-23 07:00:00", "2026-11-24 07:00:00"],
        ),
        (
            "0 7 * * *",
            "2026-11-23 07:00",
            ["2026-11-24 07:00:00", "2026-11-25 07:00:00"],
        ),
        (
            "*/15 * * * *",
            "2026-11-23 23:40",
            ["2026-11-23 23:45:00", "2026-11-24 00:00:00"],
        ),
        (
            "7-59/20 * * * *",
            "2026-11-23 10:00",
            ["2026-11-23 10:07:00", "2026-11-23 10:27:00"],
        ),
        (
            "50/5 * * * *",
            "2026-11-23 10:00",
            ["2026-11-23 10:50:00", "2026-11-23 10:55:00"],
        ),
        (
            "0,30 9-10 * * *",
            "2026-11-23 09:30",
            ["2026-11-23 10:00:00", "2026-11-23 10:30:00"],
        ),
        (
            "0 22-2/2 * * *",
            "2026-11-23 21:00",
            ["2026-11-23 22:00:00", "2026-11-24 00:00:00"],
        ),
        (
            "*/60 * * * *",
            "2026-11-23 10:01",
            ["2026-11-23 11:00:00", "2026-11-23 12:00:00"],
        ),
        // Six fields.
        (
            "30 * * * * *",
            "2026-11-23 10:00",
            ["2026-11-23 10:00:30", "2026-11-23 10:01:30"],
        ),
        (
            "*/20 59 23 31 12 *",
            "2026-11-23 10:00",
            ["2026-12-31 23:59:00", "2026-12-31 23:59:20"],
        ),
        // Weekdays: Sunday is 0 and 7.
        (
            "0 7 * * 0",
            "2026-11-23 10:00",
            ["2026-11-29 07:00:00", "2026-12-06 07:00:00"],
        ),
        (
            "0 7 * * 7",
            "2026-11-23 10:00",
            ["2026-11-29 07:00:00", "2026-12-06 07:00:00"],
        ),
        (
            "0 7 * * 1",
            "2026-11-23 10:00",
            ["2026-11-30 07:00:00", "2026-12-07 07:00:00"],
        ),
        (
            "0 7 * * 1-5",
            "2026-11-27 10:00",
            ["2026-11-30 07:00:00", "2026-12-01 07:00:00"],
        ),
        (
            "0 7 * * 5-7",
            "2026-11-27 10:00",
            ["2026-11-28 07:00:00", "2026-11-29 07:00:00"],
        ),
        (
            "0 7 * * FRI-Sun",
            "2026-11-27 10:00",
            ["2026-11-28 07:00:00", "2026-11-29 07:00:00"],
        ),
        (
            "0 7 * * sat-mon",
            "2026-11-28 10:00",
            ["2026-11-29 07:00:00", "2026-11-30 07:00:00"],
        ),
        (
            "0 7 * * mon,thu",
            "2026-11-23 10:00",
            ["2026-11-26 07:00:00", "2026-11-30 07:00:00"],
        ),
        (
            "0 7 * * */2",
            "2026-11-23 10:00",
            ["2026-11-24 07:00:00", "2026-11-26 07:00:00"],
        ),
        // Months.
        (
            "0 7 1 jan,JUL *",
            "2026-11-23 10:00",
            ["2027-01-01 07:00:00", "2027-07-01 07:00:00"],
        ),
        (
            "0 7 1 */6 *",
            "2026-11-23 10:00",
            ["2027-01-01 07:00:00", "2027-07-01 07:00:00"],
        ),
        (
            "0 7 1 nov-feb *",
            "2026-12-23 10:00",
            ["2027-01-01 07:00:00", "2027-02-01 07:00:00"],
        ),
        // Either of both days is enough, unless one is a star.
        (
            "0 7 13 * 5",
            "2026-11-23 10:00",
            ["2026-11-27 07:00:00", "2026-12-04 07:00:00"],
        ),
        (
            "0 7 13 * 5",
            "2026-12-12 10:00",
            ["2026-12-13 07:00:00", "2026-12-18 07:00:00"],
        ),
        (
            "0 7 ? * 5",
            "2026-11-23 10:00",
            ["2026-11-27 07:00:00", "2026-12-04 07:00:00"],
        ),
        (
            "0 7 13 * ?",
            "2026-11-23 10:00",
            ["2026-12-13 07:00:00", "2027-01-13 07:00:00"],
        ),
        (
            "0 7 */2 * 5",
            "2026-11-23 10:00",
            ["2026-11-27 07:00:00", "2026-12-11 07:00:00"],
        ),
        // Ends of months, leap days.
        (
            "0 7 31 * *",
            "2026-11-23 10:00",
            ["2026-12-31 07:00:00", "2027-01-31 07:00:00"],
        ),
        (
            "0 7 31 * *",
            "2027-01-31 10:00",
            ["2027-03-31 07:00:00", "2027-05-31 07:00:00"],
        ),
        (
            "0 7 L * *",
            "2027-01-31 10:00",
            ["2027-02-28 07:00:00", "2027-03-31 07:00:00"],
        ),
        (
            "0 7 15,L 2 *",
            "2028-02-01 10:00",
            ["2028-02-15 07:00:00", "2028-02-29 07:00:00"],
        ),
        (
            "0 7 29 2 *",
            "2026-11-23 10:00",
            ["2028-02-29 07:00:00", "2032-02-29 07:00:00"],
        ),
        (
            "0 7 29 2 *",
            "2095-01-01 10:00",
            ["2096-02-29 07:00:00", "2104-02-29 07:00:00"],
        ),
        (
            "59 23 31 12 *",
            "2026-12-31 23:59",
            ["2027-12-31 23:59:00", "2028-12-31 23:59:00"],
        ),
        // What a month decides: November 2026 begins on a Sunday.
        (
            "0 7 * * 5#3",
            "2026-11-01 10:00",
            ["2026-11-20 07:00:00", "2026-12-18 07:00:00"],
        ),
        (
            "0 7 * * mon#2,wed#1",
            "2026-11-01 10:00",
            ["2026-11-04 07:00:00", "2026-11-09 07:00:00"],
        ),
        (
            "0 7 * * mon-tue#5",
            "2026-11-01 10:00",
            ["2026-11-30 07:00:00", "2026-12-29 07:00:00"],
        ),
        (
            "0 7 * * 7#1",
            "2026-11-01 10:00",
            ["2026-12-06 07:00:00", "2027-01-03 07:00:00"],
        ),
        (
            "0 7 * * 5L",
            "2026-11-01 10:00",
            ["2026-11-27 07:00:00", "2026-12-25 07:00:00"],
        ),
        (
            "0 7 * * L7",
            "2026-11-01 10:00",
            ["2026-11-29 07:00:00", "2026-12-27 07:00:00"],
        ),
        (
            "0 7 * * friL,1",
            "2026-11-24 10:00",
            ["2026-11-27 07:00:00", "2026-11-30 07:00:00"],
        ),
        (
            "0 7 15W * *",
            "2026-11-01 10:00",
            ["2026-11-16 07:00:00", "2026-12-15 07:00:00"],
        ),
        (
            "0 7 W1 * *",
            "2026-11-01 10:00",
            ["2026-11-02 07:00:00", "2026-12-01 07:00:00"],
        ),
        (
            "0 7 31w * *",
            "2026-10-01 10:00",
            ["2026-10-30 07:00:00", "2026-11-30 07:00:00"],
        ),
        (
            "0 7 LW * *",
            "2027-01-01 10:00",
            ["2027-01-29 07:00:00", "2027-02-26 07:00:00"],
        ),
        (
            "0 7 L-3,28-L * *",
            "2027-02-01 10:00",
            ["2027-02-25 07:00:00", "2027-02-28 07:00:00"],
        ),
        (
            "0 7 30L * *",
            "2027-01-31 10:00",
            ["2027-02-28 07:00:00", "2027-03-30 07:00:00"],
        ),
        (
            "0 7 15,29l * *",
            "2028-02-16 10:00",
            ["2028-02-29 07:00:00", "2028-03-15 07:00:00"],
        ),
        (
            "0 7 1W * 5#3",
            "2026-11-01 10:00",
            ["2026-11-02 07:00:00", "2026-11-20 07:00:00"],
        ),
        // Names.
        (
            "@5minutes",
            "2026-11-23 10:20",
            ["2026-11-23 10:25:00", "2026-11-23 10:30:00"],
        ),
        (
            "@hourly",
            "2026-11-23 10:20",
            ["2026-11-23 11:00:00", "2026-11-23 12:00:00"],
        ),
        (
            "@daily",
            "2026-11-23 10:20",
            ["2026-11-24 00:00:00", "2026-11-25 00:00:00"],
        ),
        (
            "@midnight",
            "2026-11-23 10:20",
            ["2026-11-24 00:00:00", "2026-11-25 00:00:00"],
        ),
        (
            "@weekly",
            "2026-11-23 10:20",
            ["2026-11-29 00:00:00", "2026-12-06 00:00:00"],
        ),
        (
            "@Monthly",
            "2026-11-23 10:20",
            ["2026-12-01 00:00:00", "2027-01-01 00:00:00"],
        ),
        (
            "@yearly",
            "2026-11-23 10:20",
            ["2027-01-01 00:00:00", "2028-01-01 00:00:00"],
        ),
    ] {
        let found = next("UTC", expr, after, 2);
        let expected = expected.map(|time| format!("{time}+00:00"));
        assert_eq!(found, expected, "{expr} after {after}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn daylight_saving_time_loses_no_run_and_repeats_none() {
    const EUROPE: &str = "Europe/Zurich";
    const YORK: &str = "America/New_York";
    const SYDNEY: &str = "Australia/Sydney";
    const ISLAND: &str = "Australia/Lord_Howe";
    for (zone, expr, after, expected) in [
        // Forward, 2:00 to 3:00: at the end of the gap, once.
        (
            EUROPE,
            "30 2 * * *",
            "2027-03-27 12:00",
            vec!["2027-03-28 03:00:00+02:00", "2027-03-29 02:30:00+02:00"],
        ),
        (
            EUROPE,
            "0 2 * * *",
            "2027-03-27 12:00",
            vec!["2027-03-28 03:00:00+02:00", "2027-03-29 02:00:00+02:00"],
        ),
        (
            EUROPE,
            "*/20 2 * * *",
            "2027-03-27 12:00",
            vec!["2027-03-28 03:00:00+02:00", "2027-03-29 02:00:00+02:00"],
        ),
        (
            EUROPE,
            "0,30 2,3 * * *",
            "2027-03-28 01:59",
            vec![
                "2027-03-28 03:00:00+02:00",
                "2027-03-28 03:30:00+02:00",
                "2027-03-29 02:00:00+02:00",
            ],
        ),
        (
            EUROPE,
            "30 2 28 3 *",
            "2026-12-01 12:00",
            vec!["2027-03-28 03:00:00+02:00", "2028-03-28 02:30:00+02:00"],
        ),
        (
            EUROPE,
            "0 3 * * *",
            "2027-03-27 12:00",
            vec!["2027-03-28 03:00:00+02:00", "2027-03-29 03:00:00+02:00"],
        ),
        (
            EUROPE,
            "0 */2 * * *",
            "2027-03-28 00:00",
            vec!["2027-03-28 03:00:00+02:00", "2027-03-28 04:00:00+02:00"],
        ),
        // Every hour: the hour that does not exist is left out.
        (
            EUROPE,
            "30 * * * *",
            "2027-03-28 00:30",
            vec!["2027-03-28 01:30:00+01:00", "2027-03-28 03:30:00+02:00"],
        ),
        (
            EUROPE,
            "*/30 * * * *",
            "2027-03-28 01:30",
            vec!["2027-03-28 03:00:00+02:00", "2027-03-28 03:30:00+02:00"],
        ),
        // Back, 3:00 to 2:00: named hours once.
        (
            EUROPE,
            "30 2 * * *",
            "2026-10-24 12:00",
            vec!["2026-10-25 02:30:00+02:00", "2026-10-26 02:30:00+01:00"],
        ),
        (
            EUROPE,
            "*/30 2 * * *",
            "2026-10-24 12:00",
            vec![
                "2026-10-25 02:00:00+02:00",
                "2026-10-25 02:30:00+02:00",
                "2026-10-26 02:00:00+01:00",
            ],
        ),
        (
            EUROPE,
            "0 1-4 * * *",
            "2026-10-25 00:30",
            vec![
                "2026-10-25 01:00:00+02:00",
                "2026-10-25 02:00:00+02:00",
                "2026-10-25 03:00:00+01:00",
            ],
        ),
        (
            EUROPE,
            "0 3 * * *",
            "2026-10-25 01:00",
            vec!["2026-10-25 03:00:00+01:00"],
        ),
        // From within the second pass.
        (
            EUROPE,
            "30 2 * * *",
            "2026-10-25T01:10:00Z",
            vec!["2026-10-26 02:30:00+01:00"],
        ),
        // Any hour in both passes.
        (
            EUROPE,
            "30 * * * *",
            "2026-10-25 01:00",
            vec![
                "2026-10-25 01:30:00+02:00",
                "2026-10-25 02:30:00+02:00",
                "2026-10-25 02:30:00+01:00",
                "2026-10-25 03:30:00+01:00",
            ],
        ),
        (
            EUROPE,
            "0 */2 * * *",
            "2026-10-25 01:00",
            vec![
                "2026-10-25 02:00:00+02:00",
                "2026-10-25 02:00:00+01:00",
                "2026-10-25 04:00:00+01:00",
            ],
        ),
        (
            EUROPE,
            "0 0-23 * * *",
            "2026-10-25 01:00",
            vec!["2026-10-25 02:00:00+02:00", "2026-10-25 02:00:00+01:00"],
        ),
        // America, at other dates.
        (
            YORK,
            "30 2 * * *",
            "2027-03-13 12:00",
            vec!["2027-03-14 03:00:00-04:00", "2027-03-15 02:30:00-04:00"],
        ),
        (
            YORK,
            "30 1 * * *",
            "2026-10-31 12:00",
            vec!["2026-11-01 01:30:00-04:00", "2026-11-02 01:30:00-05:00"],
        ),
        (
            YORK,
            "30 * * * *",
            "2026-11-01 00:30",
            vec!["2026-11-01 01:30:00-04:00", "2026-11-01 01:30:00-05:00"],
        ),
        // The southern hemisphere: forward in October, back in April.
        (
            SYDNEY,
            "30 2 * * *",
            "2026-10-03 12:00",
            vec!["2026-10-04 03:00:00+11:00", "2026-10-05 02:30:00+11:00"],
        ),
        (
            SYDNEY,
            "30 2 * * *",
            "2027-04-03 12:00",
            vec!["2027-04-04 02:30:00+11:00", "2027-04-05 02:30:00+10:00"],
        ),
        (
            SYDNEY,
            "30 * * * *",
            "2027-04-04 01:30",
            vec!["2027-04-04 02:30:00+11:00", "2027-04-04 02:30:00+10:00"],
        ),
        // Half an hour.
        (
            ISLAND,
            "15 2 * * *",
            "2026-10-03 12:00",
            vec!["2026-10-04 02:30:00+11:00", "2026-10-05 02:15:00+11:00"],
        ),
        (
            ISLAND,
            "45 1 * * *",
            "2027-04-03 12:00",
            vec!["2027-04-04 01:45:00+11:00", "2027-04-05 01:45:00+10:30"],
        ),
        // At midnight: the day begins at 1:00.
        (
            "America/Santiago",
            "0 0 * * *",
            "2026-09-05 12:00",
            vec!["2026-09-06 01:00:00-03:00", "2026-09-07 00:00:00-03:00"],
        ),
        (
            "Africa/Cairo",
            "0 0 * * 5",
            "2027-04-25 12:00",
            vec!["2027-04-30 01:00:00+03:00", "2027-05-07 00:00:00+03:00"],
        ),
        // A whole day is missing.
        (
            "Pacific/Apia",
            "0 7 * * *",
            "2011-12-29 08:00",
            vec!["2011-12-31 00:00:00+14:00", "2011-12-31 07:00:00+14:00"],
        ),
    ] {
        let found = next(zone, expr, after, expected.len());
        assert_eq!(found, expected, "{zone} {expr} after {after}");
    }
}

#[test]
fn a_job_can_have_a_zone_of_its_own() {
    let schedule = Schedule::Cron {
        expr: "0 7 * * *".to_owned(),
        tz: Some("Asia/Shanghai".to_owned()),
    };
    let zone = Zone::find("Europe/Zurich").unwrap();
    let at = schedule.next_after(ms(&zone, "2026-11-23 10:00"), &PHASE, &zone);
    assert_eq!(show(&zone, at.unwrap()), "2026-11-24 00:00:00+01:00");
    let check = |tz: &str| {
        Schedule::Cron {
            expr: "0 7 * * *".to_owned(),
            tz: Some(tz.to_owned()),
        }
        .check()
    };
    assert_eq!(
        check("asia/shangai"),
        Err("Unknown time zone \"asia/shangai\". Did you mean Asia/Shanghai?".to_owned())
    );
    assert_eq!(check("asia/shanghai"), Ok(()));
    assert_eq!(
        check("Mars"),
        Err("Unknown time zone \"Mars\". Use a name such as Europe/Zurich".to_owned())
    );
}

#[test]
fn h_is_a_stable_value_of_the_job() {
    let minute = |id: &str| {
        let at = by_line("H 7 * * *").next_after(0, &Phase { created_ms: 0, id }, &Zone::utc());
        at.unwrap() / 60_000 % 60
    };
    assert_eq!(minute("a"), minute("a"));
    let minutes: std::collections::BTreeSet<i64> = (0..100)
        .map(|number| minute(&format!("job{number}")))
        .collect();
    assert!(minutes.len() > 30, "{minutes:?}");
    for id in ["a", "b", "c", "d"] {
        let phase = Phase { created_ms: 0, id };
        let first = by_line("H/15 * * * *")
            .next_after(-1, &phase, &Zone::utc())
            .unwrap();
        let second = by_line("H/15 * * * *")
            .next_after(first, &phase, &Zone::utc())
            .unwrap();
        assert_eq!(second - first, 15 * 60_000);
        let day = by_line("H H H * *").next_after(0, &phase, &Zone::utc());
        assert!(day.is_some_and(|at| at < 28 * 86_400_000));
    }
}

#[test]
fn a_line_that_never_comes_is_found_in_a_moment() {
    for line in ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 30,31 feb *"] {
        let error = Line::parse(line, "").unwrap_err();
        assert_eq!(error, format!("\"{line}\" never comes: no date matches it"));
    }
    assert!(Line::parse("0 0 30 2 mon", "").is_ok(), "on Mondays");
}

#[test]
fn a_day_that_no_month_has_is_refused_with_what_is_allowed() {
    for line in [
        "0 0 * * 5#6",
        "0 0 * * 5#0",
        "0 0 * * 8#1",
        "0 0 * * #2",
        "0 0 * * 5#",
        "0 0 * * L",
        "0 0 * * 5W",
        "0 0 * * L8",
    ] {
        let error = Line::parse(line, "").unwrap_err();
        let item = line.rsplit(' ').next().unwrap();
        let expected = format!(
            "Wrong day of the week \"{item}\" in the cron line. Use 0-7, sun-sat, 5#3 (the third Friday"
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    for line in [
        "0 0 W * *",
        "0 0 0W * *",
        "0 0 32W * *",
        "0 0 L-28 * *",
        "0 0 L-0W * *",
        "0 0 5L * *",
        "0 0 3#1 * *",
    ] {
        let error = Line::parse(line, "").unwrap_err();
        assert!(
            error.starts_with("Wrong day of the month \"") && error.contains("15W"),
            "{line}: {error}"
        );
    }
    assert!(Line::parse("L W 1#1 5L 5", "").is_err());
}

#[test]
fn an_interval_keeps_its_phase() {
    let every = Schedule::Every { every_ms: 7000 };
    let phase = Phase {
        created_ms: 1000,
        id: "",
    };
    for (after, expected) in [
        (1000, 8000),
        (7999, 8000),
        (8000, 15_000),
        (1_000_000_000, 1_000_007_000),
        // A clock that was set back before the job's creation.
        (-1, 1000),
        (-6000, 1000),
        (-6001, -6000),
    ] {
        assert_eq!(
            every.next_after(after, &phase, &Zone::utc()),
            Some(expected),
            "{after}"
        );
    }
    let never = |every_ms| Schedule::Every { every_ms }.next_after(0, &phase, &Zone::utc());
    assert_eq!(never(0), None);
    assert_eq!(never(-5), None);
    assert_eq!(every.next_after(i64::MAX, &phase, &Zone::utc()), None);
    assert_eq!(every.next_after(i64::MIN, &phase, &Zone::utc()), None);
}

#[test]
fn files_have_the_shape_of_nanobot() {
    for (text, schedule) in [
        (r#"{"kind":"at","atMs":5}"#, Schedule::At { at_ms: 5 }),
        (
            r#"{"kind":"every","everyMs":60000}"#,
            Schedule::Every { every_ms: 60_000 },
        ),
        (
            r#"{"kind":"cron","expr":"0 7 * * *"}"#,
            by_line("0 7 * * *"),
        ),
    ] {
        assert_eq!(serde_json::to_string(&schedule).unwrap(), text);
        assert_eq!(serde_json::from_str::<Schedule>(text).unwrap(), schedule);
    }
    let full = r#"{"kind":"cron","atMs":null,"everyMs":null,"expr":"0 7 * * *","tz":null}"#;
    assert_eq!(
        serde_json::from_str::<Schedule>(full).unwrap(),
        by_line("0 7 * * *")
    );
}
