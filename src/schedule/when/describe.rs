//! Schedules in words.

use std::fmt::Display;

use crate::base::language::Language;
use crate::base::zone::Zone;
use crate::schedule::line::{EVERY_MONTH_DAYS, Line, SimpleDays};
use crate::schedule::times::Schedule;
use crate::schedule::times_texts as texts;

/// A schedule in words, such as `every day at 07:00`. `zone` is the owner's. A single time comes with its
/// weekday and date: a time of day that had passed means the next day.
pub fn describe(schedule: &Schedule, zone: &Zone, language: Language) -> String {
    match schedule {
        Schedule::At { at_ms } => {
            let time = zone.at(at_ms.div_euclid(1000));
            let weekday =
                texts::weekday(time.format("%w").to_string().parse().unwrap_or(0), language);
            let seconds = match time.format("%S").to_string().as_str() {
                "00" => "",
                _ => ":%S",
            };
            format!(
                "{weekday} {}",
                time.format(&format!("%Y-%m-%d %H:%M{seconds}"))
            )
        }
        Schedule::Every { every_ms } => texts::every_interval(*every_ms, language),
        Schedule::Cron { expr, tz } => {
            let words = match Line::parse(expr, "") {
                // Its time depends on the job.
                Ok(_) if has_hashed(expr) => texts::by_line(language, &texts::short(expr)),
                Ok(line) => describe_line(&line, expr, language),
                Err(_) => texts::unusable(language).to_owned(),
            };
            match tz {
                Some(tz) => format!("{words} ({})", texts::short(tz)),
                None => words,
            }
        }
    }
}

/// Whether a field of a line has an `H`.
fn has_hashed(expr: &str) -> bool {
    expr.split([' ', '\t', ',', '/'])
        .any(|part| part.eq_ignore_ascii_case("h"))
}

/// A cron line in words where they are simple, else the line.
fn describe_line(line: &Line, expr: &str, language: Language) -> String {
    let Some((time, days)) = line.simple() else {
        return texts::by_line(language, &texts::short(expr));
    };
    let time = time.format(match time.format("%S").to_string().as_str() {
        "00" => "%H:%M",
        _ => "%H:%M:%S",
    });
    if let Some(month) = days.month {
        let (month, day) = (
            texts::month(month, language),
            days.month_days.trailing_zeros(),
        );
        return texts::every_year(language, &month, &day, &time);
    }
    let weekdays: Vec<u32> = (0..7).filter(|day| days.weekdays >> day & 1 == 1).collect();
    match weekdays.as_slice() {
        _ if days.is_monthly() => describe_month_days(&days, &time, language)
            .unwrap_or_else(|| texts::by_line(language, &texts::short(expr))),
        [_, _, _, _, _, _, _] => texts::every_day(language, &time),
        [1, 2, 3, 4, 5] => texts::weekdays(language, &time),
        [0, 6] => texts::weekends(language, &time),
        days => {
            let names = days.iter().map(|day| texts::weekday(*day, language));
            let names = names.collect::<Vec<_>>().join(texts::and(language));
            texts::every_weekday(language, &names, &time)
        }
    }
}

/// Days of the month in words, with what happens in months that are too short for them; `None` where that would take
/// several sentences.
fn describe_month_days(
    days: &SimpleDays,
    time: &dyn Display,
    language: Language,
) -> Option<String> {
    let all = days.month_days | days.or_last;
    let names = (1..=31).filter(|day| all >> day & 1 == 1);
    let names: Vec<String> = names.map(|day| texts::month_day(language, &day)).collect();
    let names = names.join(texts::and(language));
    let is_missing = days.month_days >> (EVERY_MONTH_DAYS + 1) != 0;
    match (days.or_last != 0, days.is_last) {
        (true, false) if !is_missing => Some(texts::every_month_or_last(language, &names, time)),
        (false, true) if names.is_empty() => Some(texts::last_day(language, time)),
        (false, true) if !is_missing => Some(texts::every_month_and_last(language, &names, time)),
        (false, false) if is_missing => Some(texts::months_with(language, &names, time)),
        (false, false) => Some(texts::every_month(language, &names, time)),
        _ => None,
    }
}
