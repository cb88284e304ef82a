//! What people and the model read about schedules. Errors are English; the words of a schedule come in each
//! language.

use std::fmt::Display;

use crate::base::language::{Language, texts};

texts! {
    fn every(interval) { "every {interval}", "每{interval}" }
    pub fn every_day(time) { "every day at {time}", "每天 {time}" }
    pub fn weekdays(time) { "weekdays at {time}", "工作日 {time}" }
    pub fn weekends(time) { "weekends at {time}", "周末 {time}" }
    pub fn every_weekday(days, time) { "every {days} at {time}", "每{days} {time}" }
    /// A day of the month among others.
    pub fn month_day(day) { "day {day}", "{day} 日" }
    pub fn every_month(days, time) { "on {days} of every month at {time}", "每月 {days} {time}" }
    /// For the 29th to the 31st.
    pub fn every_month_or_last(days, time) {
        "on {days} of every month (or its last day) at {time}",
        "每月 {days}（或当月最后一天）{time}",
    }
    /// The same for a cron line that leaves shorter months out.
    pub fn months_with(days, time) {
        "on {days} of the months that have it at {time}",
        "每月 {days}（仅限有该日期的月份）{time}",
    }
    pub fn last_day(time) { "on the last day of every month at {time}", "每月最后一天 {time}" }
    pub fn every_month_and_last(days, time) {
        "on {days} and the last day of every month at {time}",
        "每月 {days}和最后一天 {time}",
    }
    pub fn every_year(month, day, time) {
        "every year on {month} {day} at {time}",
        "每年 {month} {day} 日 {time}",
    }
    /// A cron line that has no simpler words.
    pub fn by_line(line) { "cron {line}", "cron 表达式 {line}" }
    pub fn unusable() { "an invalid schedule", "无效的时间设置" }
    /// Between two days.
    pub fn and() { " and ", "和" }

    fn sunday() { "Sunday", "星期日" }
    fn monday() { "Monday", "星期一" }
    fn tuesday() { "Tuesday", "星期二" }
    fn wednesday() { "Wednesday", "星期三" }
    fn thursday() { "Thursday", "星期四" }
    fn friday() { "Friday", "星期五" }
    fn saturday() { "Saturday", "星期六" }

    fn january() { "January", "1 月" }
    fn february() { "February", "2 月" }
    fn march() { "March", "3 月" }
    fn april() { "April", "4 月" }
    fn may() { "May", "5 月" }
    fn june() { "June", "6 月" }
    fn july() { "July", "7 月" }
    fn august() { "August", "8 月" }
    fn september() { "September", "9 月" }
    fn october() { "October", "10 月" }
    fn november() { "November", "11 月" }
    fn december() { "December", "12 月" }

    /// An interval of one unit.
    fn each_day() { "every day", "每天" }
    fn each_hour() { "every hour", "每小时" }
    fn each_minute() { "every minute", "每分钟" }
    fn each_second() { "every second", "每秒" }
    /// An interval of several of one unit.
    fn days(count) { "{count} days", "{count} 天" }
    fn hours(count) { "{count} hours", "{count} 小时" }
    fn minutes(count) { "{count} minutes", "{count} 分钟" }
    fn seconds(count) { "{count} seconds", "{count} 秒" }
    /// A part of an interval of several units.
    fn short_days(count) { "{count} d", "{count} 天" }
    fn short_hours(count) { "{count} h", "{count} 小时" }
    fn short_minutes(count) { "{count} min", "{count} 分钟" }
    fn short_seconds(count) { "{count} s", "{count} 秒" }
}

/// A weekday from Sunday.
pub fn weekday(day: u32, language: Language) -> &'static str {
    let text = match day {
        0 => sunday,
        1 => monday,
        2 => tuesday,
        3 => wednesday,
        4 => thursday,
        5 => friday,
        _ => saturday,
    };
    text(language)
}

/// A month from 1.
pub fn month(month: u32, language: Language) -> &'static str {
    let text = match month {
        1 => january,
        2 => february,
        3 => march,
        4 => april,
        5 => may,
        6 => june,
        7 => july,
        8 => august,
        9 => september,
        10 => october,
        11 => november,
        _ => december,
    };
    text(language)
}

/// The text of one unit.
type Each = fn(Language) -> &'static str;
/// A text about a number of units.
type Counted = fn(Language, &dyn Display) -> String;

/// An interval: `every hour`, `every 2 hours`, `every 1 h 30 min`.
pub fn every_interval(ms: i64, language: Language) -> String {
    let units: [(i64, Each, Counted, Counted); 4] = [
        (86_400_000, each_day, days, short_days),
        (3_600_000, each_hour, hours, short_hours),
        (60_000, each_minute, minutes, short_minutes),
        (1000, each_second, seconds, short_seconds),
    ];
    let mut parts = Vec::new();
    let mut rest = ms;
    for (unit_ms, each, written_out, short) in units {
        let count = rest / unit_ms;
        rest %= unit_ms;
        match count {
            0 => {}
            1 if unit_ms == ms => return each(language).to_owned(),
            _ if count * unit_ms == ms => parts.push(written_out(language, &count)),
            _ => parts.push(short(language, &count)),
        }
    }
    every(language, &parts.join(" "))
}

/// A text that is not a time.
pub fn unknown_time(text: &str) -> String {
    format!(
        "Cannot read the time \"{}\". Examples: in 20m, tomorrow 7:00, mon 9am, 2026-12-24 18:00, every 2h, \
         every day at 7, every month on the 1st at 9, every year on dec 24, 0 7 * * 1-5",
        short(text)
    )
}

/// A time that has passed.
pub fn passed(text: &str) -> String {
    format!("\"{}\" has passed", short(text))
}

/// A text that looks like a time of day.
pub fn no_time_of_day(text: &str) -> String {
    format!(
        "\"{}\" is not a time of day. Write it such as 7:30, 18:00 or 7pm",
        short(text)
    )
}

/// A text that looks like a day.
pub fn no_day(text: &str) -> String {
    format!("\"{}\" never comes: there is no such day", short(text))
}

/// Two times with an "and" between them.
pub const ONE_TIME: &str = "There are two times in this. Ask for one at a time: each one is a reminder or a task of its own";

/// A cron line that is far too long.
pub fn line_too_long() -> String {
    "The cron line is too long".to_owned()
}

/// A cron line with a wrong number of fields.
pub fn wrong_field_count(line: &str, count: usize) -> String {
    format!(
        "A cron line has 5 fields (minute, hour, day of the month, month, day of the week), or 6 with the \
         seconds first. \"{}\" has {count}",
        short(line)
    )
}

/// More that the days of the month may be.
pub const MONTHLY_DAYS: &str = ", L (the last day), L-2 (two days before it), 30L (the 30th, or the last day of a shorter month), 15W (the working \
     day nearest to the 15th), LW";
/// More that the weekdays may be.
pub const MONTHLY_WEEKDAYS: &str =
    ", 5#3 (the third Friday, up to 5#5), 5L or L5 (the last Friday)";

/// A field of a cron line that cannot be read.
pub fn wrong_field(name: &str, item: &str, allowed: &str) -> String {
    format!(
        "Wrong {name} \"{}\" in the cron line. Use {allowed}, *, ranges, lists, or steps such as */2",
        short(item)
    )
}

/// A cron line that matches no date, such as February 30.
pub fn never(line: &str) -> String {
    format!("\"{}\" never comes: no date matches it", short(line))
}

/// A time zone that does not exist.
pub fn unknown_zone(name: &str, near: Option<&str>) -> String {
    let name = short(name);
    match near {
        Some(near) => format!("Unknown time zone \"{name}\". Did you mean {near}?"),
        None => format!("Unknown time zone \"{name}\". Use a name such as Europe/Zurich"),
    }
}

/// An interval that is too short or too long.
pub fn interval_out_of_range(every_ms: i64) -> String {
    format!("An interval is between 1 second and 100 years, not {every_ms} ms")
}

/// A time before 1970 or in the far future.
pub fn time_out_of_range(at_ms: i64) -> String {
    format!("{at_ms} ms is not a time between 1970 and 2170")
}

/// The beginning of what somebody wrote.
pub fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
