use chrono::NaiveDate;
use proptest::prelude::*;

use super::{ms, show};
use crate::base::language::Language;
use crate::base::zone::Zone;
use crate::schedule::times::Schedule;
use crate::schedule::when::{describe, impossible_time, parse, take_leading};

/// A Monday, some minutes after ten.
const NOW: &str = "2026-11-23 10:20";

fn zurich() -> Zone {
    Zone::find("Europe/Zurich").unwrap()
}

fn words(schedule: &Schedule) -> String {
    describe(schedule, &zurich(), Language::English)
}

fn parsed(text: &str) -> String {
    let zone = zurich();
    match parse(text, ms(&zone, NOW), &zone) {
        Ok(schedule) => words(&schedule),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn times_are_read_as_people_write_them() {
    for (text, expected) in [
        ("in 20m", "Monday 2026-11-23 10:40"),
        ("20m", "Monday 2026-11-23 10:40"),
        ("In 20 Minutes", "Monday 2026-11-23 10:40"),
        ("20 min", "Monday 2026-11-23 10:40"),
        ("in 90s", "Monday 2026-11-23 10:21:30"),
        ("in 1h30m", "Monday 2026-11-23 11:50"),
        ("1h 30m", "Monday 2026-11-23 11:50"),
        ("1 hour and 30 minutes", "Monday 2026-11-23 11:50"),
        ("in an hour", "Monday 2026-11-23 11:20"),
        ("in twenty minutes", "Monday 2026-11-23 10:40"),
        ("in twenty-five minutes", "Monday 2026-11-23 10:45"),
        ("in Twenty five minutes", "Monday 2026-11-23 10:45"),
        ("in 1 year", "Tuesday 2027-11-23 10:20"),
        ("in two months at 7:00", "Saturday 2027-01-23 07:00"),
        ("3个月后", "Tuesday 2027-02-23 10:20"),
        ("on 24.12. at 18:00", "Thursday 2026-12-24 18:00"),
        ("24.12. 18:00", "Thursday 2026-12-24 18:00"),
        ("on 24.12 at 18:00", "Thursday 2026-12-24 18:00"),
        ("24.12.2027 18:00", "Friday 2027-12-24 18:00"),
        ("every year on 24.12.", "every year on December 24 at 09:00"),
        ("in half an hour", "Monday 2026-11-23 10:50"),
        ("in 1.5 hours", "Monday 2026-11-23 11:50"),
        ("0.25h", "Monday 2026-11-23 10:35"),
        ("1.5小时后", "Monday 2026-11-23 11:50"),
        ("in two and a half hours", "Monday 2026-11-23 12:50"),
        ("in one hour and a half", "Monday 2026-11-23 11:50"),
        ("in 1.5 days", "Tuesday 2026-11-24 22:20"),
        (
            "on the day after tomorrow at 9",
            "Wednesday 2026-11-25 09:00",
        ),
        ("20 minutes later", "Monday 2026-11-23 10:40"),
        ("in 2 days", "Wednesday 2026-11-25 10:20"),
        ("in 2 days at 7:00", "Wednesday 2026-11-25 07:00"),
        ("in 1 week", "Monday 2026-11-30 10:20"),
        ("7:30", "Tuesday 2026-11-24 07:30"),
        ("10:20", "Tuesday 2026-11-24 10:20"),
        ("10:21", "Monday 2026-11-23 10:21"),
        ("23:30", "Monday 2026-11-23 23:30"),
        ("7pm", "Monday 2026-11-23 19:00"),
        ("7 pm", "Monday 2026-11-23 19:00"),
        ("7:15 p.m.", "Monday 2026-11-23 19:15"),
        ("12am", "Tuesday 2026-11-24 00:00"),
        ("12pm", "Monday 2026-11-23 12:00"),
        ("at 7", "Tuesday 2026-11-24 07:00"),
        ("at noon", "Monday 2026-11-23 12:00"),
        ("at half past seven", "Tuesday 2026-11-24 07:30"),
        ("half past 7 pm", "Monday 2026-11-23 19:30"),
        (
            "tomorrow evening at half past eight",
            "Tuesday 2026-11-24 20:30",
        ),
        ("every day at half past six", "every day at 06:30"),
        ("midnight", "Tuesday 2026-11-24 00:00"),
        ("today 18:00", "Monday 2026-11-23 18:00"),
        ("tonight", "Monday 2026-11-23 20:00"),
        ("tonight at 9", "Monday 2026-11-23 21:00"),
        ("tomorrow", "Tuesday 2026-11-24 09:00"),
        ("tomorrow 7:00", "Tuesday 2026-11-24 07:00"),
        ("7:00 tomorrow", "Tuesday 2026-11-24 07:00"),
        ("tomorrow at 7", "Tuesday 2026-11-24 07:00"),
        ("tomorrow evening", "Tuesday 2026-11-24 20:00"),
        ("tomorrow morning at 8", "Tuesday 2026-11-24 08:00"),
        ("tomorrow afternoon at 3", "Tuesday 2026-11-24 15:00"),
        ("mon 9am", "Monday 2026-11-30 09:00"),
        ("mon 11am", "Monday 2026-11-23 11:00"),
        ("friday 18:00", "Friday 2026-11-27 18:00"),
        ("on Friday", "Friday 2026-11-27 09:00"),
        ("next tue at 8:30", "Tuesday 2026-11-24 08:30"),
        ("next monday", "Monday 2026-11-30 09:00"),
        ("on next monday at 17:00", "Monday 2026-11-30 17:00"),
        ("on monday at 17:00", "Monday 2026-11-23 17:00"),
        ("2026-12-24 18:00", "Thursday 2026-12-24 18:00"),
        ("2026-12-24", "Thursday 2026-12-24 09:00"),
        ("2026-12-24T18:00", "Thursday 2026-12-24 18:00"),
        ("2026-12-24T18:00:05", "Thursday 2026-12-24 18:00:05"),
        ("2026-12-24T18:00:00Z", "Thursday 2026-12-24 19:00"),
        ("2026-12-24t18:00:00+09:00", "Thursday 2026-12-24 10:00"),
        ("dec 24 18:00", "Thursday 2026-12-24 18:00"),
        ("24 December at 6pm", "Thursday 2026-12-24 18:00"),
        ("feb 29", "Tuesday 2028-02-29 09:00"),
        // Not there, when the clocks go forward: the end of the gap.
        ("2027-03-28 02:30", "Sunday 2027-03-28 03:00"),
        ("every 2h", "every 2 hours"),
        ("every 90 minutes", "every 1 h 30 min"),
        ("every hour", "every hour"),
        ("every 3 days", "every 3 days"),
        ("every week", "every 7 days"),
        ("every 1 day", "every day"),
        ("every day at 7", "every day at 07:00"),
        ("every day", "every day at 09:00"),
        ("daily 6:45pm", "every day at 18:45"),
        ("every day at 23:59:30", "every day at 23:59:30"),
        ("every morning", "every day at 09:00"),
        ("every evening at 8", "every day at 20:00"),
        ("hourly", "cron 0 * * * *"),
        ("every monday 8:30", "every Monday at 08:30"),
        (
            "every mon and thu at 8",
            "every Monday and Thursday at 08:00",
        ),
        (
            "every tue, thu, sat 7:00",
            "every Tuesday and Thursday and Saturday at 07:00",
        ),
        ("weekdays at 7", "weekdays at 07:00"),
        ("every weekday at 7", "weekdays at 07:00"),
        ("weekends 10:00", "weekends at 10:00"),
        ("0 7 * * 1-5", "weekdays at 07:00"),
        ("0 7 * * mon-fri", "weekdays at 07:00"),
        ("30 8 * * 7", "every Sunday at 08:30"),
        ("0 7 1 * *", "on day 1 of every month at 07:00"),
        ("at 7 every day", "every day at 07:00"),
        ("at 7 every evening", "every day at 19:00"),
        ("at 7 every morning", "every day at 07:00"),
        ("at seven", "Tuesday 2026-11-24 07:00"),
        ("in two hours", "Monday 2026-11-23 12:20"),
        ("on mondays at 9", "every Monday at 09:00"),
        (
            "Mondays and Fridays 8:30",
            "every Monday and Friday at 08:30",
        ),
        ("every week on monday at 9", "every Monday at 09:00"),
        ("weekly on tuesdays", "every Tuesday at 09:00"),
        ("every week at 9", "every Monday at 09:00"),
        ("on the 1st", "Tuesday 2026-12-01 09:00"),
        ("on the 31st at 7", "Thursday 2026-12-31 07:00"),
        ("december 24th at 6pm", "Thursday 2026-12-24 18:00"),
        ("on the 24th of december", "Thursday 2026-12-24 09:00"),
        (
            "every month on the 1st at 9",
            "on day 1 of every month at 09:00",
        ),
        (
            "every month on the first",
            "on day 1 of every month at 09:00",
        ),
        (
            "every month at 8:30 on the 2nd",
            "on day 2 of every month at 08:30",
        ),
        (
            "at 8:30 every month on the 2nd",
            "on day 2 of every month at 08:30",
        ),
        (
            "on the 15th of each month at 8:00",
            "on day 15 of every month at 08:00",
        ),
        (
            "the 15th of the month 8:00",
            "on day 15 of every month at 08:00",
        ),
        ("every 3rd at 7pm", "on day 3 of every month at 19:00"),
        (
            "every first day of the month",
            "on day 1 of every month at 09:00",
        ),
        (
            "every 1st of the month at 7",
            "on day 1 of every month at 07:00",
        ),
        ("monthly", "on day 23 of every month at 09:00"),
        ("every month at 7", "on day 23 of every month at 07:00"),
        (
            "monthly on the 1st and the 15th",
            "on day 1 and day 15 of every month at 09:00",
        ),
        (
            "on day 1 and day 15 of every month at 07:00",
            "on day 1 and day 15 of every month at 07:00",
        ),
        (
            "every month on the 30th at 9",
            "on day 30 of every month (or its last day) at 09:00",
        ),
        (
            "every month on the 31st at 9",
            "on the last day of every month at 09:00",
        ),
        (
            "the last day of every month at 18:00",
            "on the last day of every month at 18:00",
        ),
        (
            "every month on the 15th and the last day",
            "on day 15 and the last day of every month at 09:00",
        ),
        (
            "0 7 31 * *",
            "on day 31 of the months that have it at 07:00",
        ),
        ("every year on dec 24", "every year on December 24 at 09:00"),
        (
            "every year at 8 on the 24th of December",
            "every year on December 24 at 08:00",
        ),
        (
            "at 8 every year on December 24",
            "every year on December 24 at 08:00",
        ),
        ("yearly on may 1st at 7pm", "every year on May 1 at 19:00"),
        (
            "every 24 december at 18:00",
            "every year on December 24 at 18:00",
        ),
        (
            "on dec 24 at 6pm every year",
            "every year on December 24 at 18:00",
        ),
        ("every year at noon", "every year on November 23 at 12:00"),
        (
            "every year on December 24 at 18:00",
            "every year on December 24 at 18:00",
        ),
        ("every year on feb 29", "cron 0 9 29L 2 *"),
        ("@yearly", "every year on January 1 at 00:00"),
        ("0 7 24,25 12 *", "cron 0 7 24,25 12 *"),
        ("0 7 24 12 1", "cron 0 7 24 12 1"),
        ("0 7 24 11,12 *", "cron 0 7 24 11,12 *"),
        ("每年12月24日18:00", "every year on December 24 at 18:00"),
        ("0 7 30L,L * *", "cron 0 7 30L,L * *"),
        ("0 7 L-2 * *", "cron 0 7 L-2 * *"),
        ("*/15 * * * *", "cron */15 * * * *"),
        ("@daily", "every day at 00:00"),
        ("15 0 7 * * *", "every day at 07:00:15"),
        ("20分钟后", "Monday 2026-11-23 10:40"),
        ("二十五分钟后", "Monday 2026-11-23 10:45"),
        ("半小时后", "Monday 2026-11-23 10:50"),
        ("1小时30分钟后", "Monday 2026-11-23 11:50"),
        ("两个小时后", "Monday 2026-11-23 12:20"),
        ("2天后", "Wednesday 2026-11-25 10:20"),
        ("明天7:00", "Tuesday 2026-11-24 07:00"),
        ("明天 7:00", "Tuesday 2026-11-24 07:00"),
        ("明天早上七点半", "Tuesday 2026-11-24 07:30"),
        ("后天下午3点", "Wednesday 2026-11-25 15:00"),
        ("今晚8点", "Monday 2026-11-23 20:00"),
        ("周五18:00", "Friday 2026-11-27 18:00"),
        ("星期三上午10点15分", "Wednesday 2026-11-25 10:15"),
        ("每2小时", "every 2 hours"),
        ("每天7点", "every day at 07:00"),
        ("每天晚上9点", "every day at 21:00"),
        ("每周一 8:30", "every Monday at 08:30"),
        ("工作日7:00", "weekdays at 07:00"),
        ("每周一和周四 8:30", "every Monday and Thursday at 08:30"),
        ("每月1号9点", "on day 1 of every month at 09:00"),
        ("每个月十五日 8:00", "on day 15 of every month at 08:00"),
        (
            "每月最后一天晚上8点",
            "on the last day of every month at 20:00",
        ),
    ] {
        assert_eq!(parsed(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_time_is_refused_with_the_reason() {
    for (text, expected) in [
        ("", "Cannot read the time \"\". Examples: in 20m,"),
        ("soon", "Cannot read the time \"soon\""),
        ("7", "Cannot read the time"),
        ("25:00", "Cannot read the time"),
        ("13pm", "Cannot read the time"),
        ("in 20", "Cannot read the time"),
        ("every", "Cannot read the time"),
        ("sun", "Cannot read the time"),
        (
            "20m take the bread out",
            "Cannot read the time \"20m take the bread out\"",
        ),
        ("today 7:00", "\"today 7:00\" has passed"),
        ("2020-01-01 00:00", "\"2020-01-01 00:00\" has passed"),
        ("2026-02-30", "Cannot read the time"),
        // What cannot be planned is not taken for the text.
        ("every month on the first monday", "Cannot read the time"),
        ("every 2 weeks on monday", "Cannot read the time"),
        ("every 2nd day", "Cannot read the time"),
        ("every 2nd week", "Cannot read the time"),
        ("every 2nd month on the 1st", "Cannot read the time"),
        ("every 2nd year", "Cannot read the time"),
        ("every 2 years on dec 24", "Cannot read the time"),
        ("every year on dec 32", "Cannot read the time"),
        (
            "every year on the first monday of may",
            "Cannot read the time",
        ),
        ("half past", "Cannot read the time"),
        ("half past 25", "Cannot read the time"),
        ("every 3 days at 7", "Cannot read the time"),
        ("at 7 every day at 9", "Cannot read the time"),
        ("at 7 every day at noon", "Cannot read the time"),
        ("at 7 every evening at 8", "Cannot read the time"),
        (
            "at 7 on the 15th of each month at 8:00",
            "Cannot read the time",
        ),
        ("at 7 every month at 8 on the 1st", "Cannot read the time"),
        ("on the 32nd", "Cannot read the time"),
        ("every month on the 32nd", "Cannot read the time"),
        (
            "every 0m",
            "An interval is between 1 second and 100 years, not 0 ms",
        ),
        ("99999999999999999999m", "Cannot read the time"),
        ("every 4294967295 weeks", "Cannot read the time"),
        ("in 4294967295 days", "Cannot read the time"),
        (
            "60 7 * * *",
            "Wrong minute \"60\" in the cron line. Use 0-59, *, ranges, lists, or steps",
        ),
        ("0 24 * * *", "Wrong hour \"24\""),
        ("0 7 32 * *", "Wrong day of the month \"32\""),
        (
            "0 7 * foo *",
            "Wrong month \"foo\" in the cron line. Use 1-12, jan-dec,",
        ),
        (
            "0 7 * * 8",
            "Wrong day of the week \"8\" in the cron line. Use 0-7, sun-sat,",
        ),
        ("0 7 * * mon#6", "Wrong day of the week \"mon#6\""),
        ("*/0 * * * *", "Wrong minute \"*/0\""),
        (
            "0 7 30 2 *",
            "\"0 7 30 2 *\" never comes: no date matches it",
        ),
        ("@reboot", "A cron line has 5 fields"),
        (
            "* * *",
            "A cron line has 5 fields (minute, hour, day of the month, month, day of the week), or 6",
        ),
    ] {
        let found = parsed(text);
        assert!(
            found.starts_with(&format!("error: {expected}")),
            "{text}: {found}"
        );
    }
}

#[test]
fn words_that_are_nearly_another_time_are_refused() {
    for text in [
        "every 1.555 hours",
        "每3个月1号",
        "in one year and two months",
        "in 2 months 3 days",
    ] {
        let found = parsed(text);
        assert!(
            found.starts_with("error: Cannot read the time"),
            "{text}: {found}"
        );
    }
}

/// Messages, with their times in words and what is left; `None`: they begin with no time.
const MESSAGES: &[(&str, Option<(&str, &str)>)] = &[
    ("tomorow gym", Some(("Tuesday 2026-11-24 09:00", "gym"))),
    (
        "in 20 minutes that the shop closes",
        Some(("Monday 2026-11-23 10:40", "the shop closes")),
    ),
    (
        "20m take the bread out",
        Some(("Monday 2026-11-23 10:40", "take the bread out")),
    ),
    (
        "in 20 minutes to take the bread out",
        Some(("Monday 2026-11-23 10:40", "take the bread out")),
    ),
    (
        "tomorrow at 7 call mum",
        Some(("Tuesday 2026-11-24 07:00", "call mum")),
    ),
    (
        "tomorrow at 7: call mum",
        Some(("Tuesday 2026-11-24 07:00", "call mum")),
    ),
    (
        "7pm, call mum",
        Some(("Monday 2026-11-23 19:00", "call mum")),
    ),
    (
        "tomorrow 3 eggs",
        Some(("Tuesday 2026-11-24 09:00", "3 eggs")),
    ),
    (
        "every monday 8:00 bins",
        Some(("every Monday at 08:00", "bins")),
    ),
    (
        "every 2h and then rest",
        Some(("every 2 hours", "and then rest")),
    ),
    (
        "weekdays at 7 get up",
        Some(("weekdays at 07:00", "get up")),
    ),
    (
        "2026-12-24 18:00 dinner",
        Some(("Thursday 2026-12-24 18:00", "dinner")),
    ),
    ("0 7 * * 1-5 get up", Some(("weekdays at 07:00", "get up"))),
    (
        "0 7 * * 1 2 eggs",
        Some(("every Monday at 07:00", "2 eggs")),
    ),
    (
        "0 0 7 * * 1-5 get up",
        Some(("weekdays at 07:00", "get up")),
    ),
    (
        "@daily water the plants",
        Some(("every day at 00:00", "water the plants")),
    ),
    ("sun 9am cream", Some(("Sunday 2026-11-29 09:00", "cream"))),
    (
        "20分钟后把面包拿出来",
        Some(("Monday 2026-11-23 10:40", "把面包拿出来")),
    ),
    (
        "明天7:00，给妈妈打电话",
        Some(("Tuesday 2026-11-24 07:00", "给妈妈打电话")),
    ),
    ("每天早上7点起床", Some(("every day at 07:00", "起床"))),
    (
        "every month on the 1st at 9 pay rent",
        Some(("on day 1 of every month at 09:00", "pay rent")),
    ),
    (
        "every month pay rent",
        Some(("on day 23 of every month at 09:00", "pay rent")),
    ),
    (
        "at 7 every day take pills",
        Some(("every day at 07:00", "take pills")),
    ),
    (
        "on mondays at 9 the bins",
        Some(("every Monday at 09:00", "the bins")),
    ),
    (
        "every day 1 tablet",
        Some(("every day at 09:00", "1 tablet")),
    ),
    (
        "tomorrow one egg of two",
        Some(("Tuesday 2026-11-24 09:00", "one egg of two")),
    ),
    (
        "每月1号9点交房租",
        Some(("on day 1 of every month at 09:00", "交房租")),
    ),
    ("20m", Some(("Monday 2026-11-23 10:40", ""))),
    (
        "every year on dec 24 wrap the presents",
        Some(("every year on December 24 at 09:00", "wrap the presents")),
    ),
    (
        "at half past seven call mum",
        Some(("Tuesday 2026-11-24 07:30", "call mum")),
    ),
    (
        "tomorrow half past it",
        Some(("Tuesday 2026-11-24 09:00", "half past it")),
    ),
    ("every 2nd year see the dentist", None),
    (
        "every 1.5 hours drink water",
        Some(("every 1 h 30 min", "drink water")),
    ),
    ("1.5h stretch", Some(("Monday 2026-11-23 11:50", "stretch"))),
    (
        "in an hour and a half to call",
        Some(("Monday 2026-11-23 11:50", "call")),
    ),
    (
        "the day after tomorrow at 9 to call",
        Some(("Wednesday 2026-11-25 09:00", "call")),
    ),
    (
        "on 3.5 at 9 buy 1.5 kg",
        Some(("Monday 2027-05-03 09:00", "buy 1.5 kg")),
    ),
    ("in one year and two months renew the passport", None),
    (
        "every day at 100% unplug it",
        Some(("every day at 09:00", "at 100% unplug it")),
    ),
    (
        "tomorrow 50:50 split",
        Some(("Tuesday 2026-11-24 09:00", "50:50 split")),
    ),
    ("take the bread out", None),
    ("sun cream", None),
    ("2 eggs", None),
    ("may I go", None),
    ("the first Monday at 9 call mum", None),
    ("on the first Monday of every month call mum", None),
    ("every month on the third Friday pay", None),
    ("every 2nd day water the plants", None),
    ("at 7 every day at 9 take pills", None),
    ("at 7 on the 15th of each month at 8:00 pay rent", None),
    ("every 2nd week water the plants", None),
    ("in the oven", None),
    ("", None),
];

#[test]
fn the_time_before_a_message_is_taken_off() {
    let zone = zurich();
    for (text, expected) in MESSAGES {
        let taken = take_leading(text, ms(&zone, NOW), &zone).unwrap();
        let found = taken.map(|(schedule, rest)| (words(&schedule), rest));
        let found = found.as_ref().map(|(words, rest)| (words.as_str(), *rest));
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn days_that_there_are_not_are_named() {
    for (text, day) in [
        ("feb 30 x", "feb 30"),
        ("on the 31st of april x", "on the 31st of april"),
        ("31.2. x", "31.2."),
        ("29.2.2027 x", "29.2.2027"),
        ("2027-02-30 x", "2027-02-30"),
    ] {
        let wrong = impossible_time(text);
        let said = format!("\"{day}\" never comes: there is no such day");
        assert_eq!(wrong, Some(said), "{text}");
    }
    for other in [
        "feb 29 x",
        "29.2. x",
        "31.2 kg",
        "1-2-3 go",
        "march 45 miles",
    ] {
        assert_eq!(impossible_time(other), None, "{other}");
    }
}

#[test]
fn two_times_before_a_message_are_refused() {
    let zone = zurich();
    for text in [
        "on monday 8am and 9am take pills",
        "tomorrow at 8 and at 9 take pills",
        "on monday and on tuesday at 8 take pills",
        "每天8点和9点吃药",
        "tomorrow 8am, 9am take pills",
        "tomorrow at 8 or at 9 take pills",
        "every day at 9 and 18 to take pills",
        "5 minutes before 9 to leave",
        "in 10 minutes before 18:00 leave",
    ] {
        let error = take_leading(text, ms(&zone, NOW), &zone).unwrap_err();
        assert!(
            error.to_string().starts_with("There are two times"),
            "{text}: {error}"
        );
    }
    for one in [
        "tomorrow and nine lives",
        "tomorrow at 8, 2 eggs and 9 lives",
        "tomorrow at 8: monday's list",
    ] {
        let taken = take_leading(one, ms(&zone, NOW), &zone);
        assert!(taken.unwrap().is_some(), "{one}");
    }
}

#[test]
fn a_time_that_there_is_not_is_refused_before_a_message() {
    let zone = zurich();
    for (text, wrong) in [
        ("every day at 26:00 pills", "at 26:00"),
        ("every monday at 25:00 bins", "at 25:00"),
        ("every monday at 25 bins", "at 25"),
        ("tomorrow at 7:75 call mum", "at 7:75"),
        ("tomorrow 7:75 call mum", "7:75"),
        ("tomorrow at 7.30 call mum", "at 7.30"),
        ("tomorrow 13pm call mum", "13pm"),
        ("in 2 days at 24:01", "at 24:01"),
        (
            "every morning at half past 25 get up",
            "morning at half past 25",
        ),
        ("每天26点吃药", "26点"),
        ("每天7点75分吃药", "7点75分"),
        ("每天下午25点吃药", "25点"),
        ("tomorrow at 7-8 clean up", "at 7-8"),
    ] {
        let error = take_leading(text, ms(&zone, NOW), &zone).unwrap_err();
        let reason = format!("\"{wrong}\" is not a time of day");
        assert!(error.to_string().starts_with(&reason), "{text}: {error}");
    }
}

#[test]
fn numbers_and_places_behind_a_time_are_the_message() {
    let zone = zurich();
    for (text, message) in [
        ("tomorrow at 7 at 26 Main Street", "at 26 Main Street"),
        ("tomorrow at 5th Avenue", "at 5th Avenue"),
        ("in 20m at 25 degrees", "at 25 degrees"),
        ("every day 26 pills", "26 pills"),
        ("7:00 3.5 kg of apples", "3.5 kg of apples"),
    ] {
        let (_, rest) = take_leading(text, ms(&zone, NOW), &zone).unwrap().unwrap();
        assert_eq!(rest, message, "{text}");
    }
}

#[test]
fn tonight_is_not_tomorrow() {
    let zone = zurich();
    let late = ms(&zone, "2026-11-23 22:18");
    let read = |text: &str| parse(text, late, &zone).map(|schedule| words(&schedule));
    for (text, expected) in [
        ("tonight", "Monday 2026-11-23 23:18"),
        ("今晚", "Monday 2026-11-23 23:18"),
        ("tonight at 11", "Monday 2026-11-23 23:00"),
        ("at 11 tonight", "Monday 2026-11-23 23:00"),
        ("tonight at midnight", "Tuesday 2026-11-24 00:00"),
    ] {
        assert_eq!(read(text).unwrap(), expected, "{text}");
    }
    let passed = read("tonight at 9").unwrap_err().to_string();
    assert!(
        passed.starts_with("\"tonight at 9\" has passed"),
        "{passed}"
    );
}

#[test]
fn a_time_that_has_passed_is_no_message() {
    let zone = zurich();
    for text in ["today 7:00 too late", "2026-11-22 18:00 tea"] {
        let passed = take_leading(text, ms(&zone, NOW), &zone).unwrap_err();
        assert!(passed.to_string().contains("has passed"), "{passed}");
    }
}

#[test]
fn schedules_are_described_in_chinese_too() {
    let zone = zurich();
    for (text, expected) in [
        ("tomorrow 7:00", "星期二 2026-11-24 07:00"),
        ("every 90m", "每1 小时 30 分钟"),
        ("every day at 7", "每天 07:00"),
        ("weekdays at 7", "工作日 07:00"),
        ("weekends at 7", "周末 07:00"),
        ("every mon and thu at 8", "每星期一和星期四 08:00"),
        ("0 7 1 * *", "每月 1 日 07:00"),
        ("0 7 24 12 *", "每年 12 月 24 日 07:00"),
        ("0 7 1,15 * *", "每月 1 日和15 日 07:00"),
        ("0 7 30L * *", "每月 30 日（或当月最后一天）07:00"),
    ] {
        let schedule = parse(text, ms(&zone, NOW), &zone).unwrap();
        assert_eq!(describe(&schedule, &zone, Language::Chinese), expected);
    }
    let broken = Schedule::Cron {
        expr: "\u{1b}[2J".to_owned(),
        tz: Some("Asia/Shanghai".to_owned()),
    };
    assert_eq!(words(&broken), "an invalid schedule (Asia/Shanghai)");
}

fn any_zone() -> impl Strategy<Value = Zone> {
    let names = [
        "Europe/Zurich",
        "America/St_Johns",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "UTC",
    ];
    prop::sample::select(names.to_vec()).prop_map(|name| Zone::find(name).unwrap())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}", now in any::<i64>()) {
        let zone = zurich();
        let _ = parse(&text, now, &zone);
        if let Ok(Some((_, rest))) = take_leading(&text, now, &zone) {
            prop_assert!(text.contains(rest));
        }
    }

    #[test]
    fn any_words_of_times_are_read_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "in", "at", "on", "every", "and", "tomorrow", "tonight", "mon", "7", "7:30", "7pm", "20m", "99999999d",
            "half", "an", "hour", "days", "weekdays", "dec", "31", "month", "monthly", "the", "of", "30th", "mondays",
            "last", "月", "号", "2026-12-24", "每", "天", "点", "半", "十", "后",
            "下午", "*", "*/5", "1-5", "@daily", "H", "L", "morning", "later", "pm", "0",
        ]), 0..9),
        gap in prop::sample::select(vec!["", " ", "  ", ", "]),
        now in -1_000_000_000_000_i64..10_000_000_000_000,
    ) {
        let zone = zurich();
        let text = words.join(gap);
        if let Ok(schedule) = parse(&text, now, &zone) {
            prop_assert_eq!(schedule.check(), Ok(()));
            describe(&schedule, &zone, Language::Chinese);
            if let Schedule::At { at_ms } = schedule {
                prop_assert!(at_ms > now || text.contains("0"), "{}", text);
            }
        }
        let _ = take_leading(&text, now, &zone);
    }

    /// What is described is what was meant: it can be read again.
    #[test]
    fn a_described_time_is_the_time(zone in any_zone(), ahead in 1_i64..2_000_000_000) {
        let now = NaiveDate::from_ymd_opt(2026, 11, 23).unwrap().and_hms_opt(9, 0, 0).unwrap();
        let now_ms = now.and_utc().timestamp_millis();
        let schedule = Schedule::At { at_ms: now_ms + ahead * 1000 };
        let text = describe(&schedule, &zone, Language::English);
        let Schedule::At { at_ms } = parse(&text, now_ms, &zone).unwrap() else {
            panic!("{text}");
        };
        let time = |ms| show(&zone, ms)[..19].to_owned();
        prop_assert_eq!(time(at_ms), time(now_ms + ahead * 1000), "{}", text);
    }
}
