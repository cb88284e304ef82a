//! What people and the model read about schedules. Errors are English; the words of a schedule come in each
//! language.

use crate::base::language::{Language, texts};

texts! {
    pub fn every(interval) { "every {interval}", "每{interval}" }
    pub fn every_day(time) { "every day at {time}", "每天 {time}" }
    pub fn weekdays(time) { "weekdays at {time}", "工作日 {time}" }
    pub fn weekends(time) { "weekends at {time}", "周末 {time}" }
    pub fn every_weekday(days, time) { "every {days} at {time}", "每{days} {time}" }
    pub fn every_month(day, time) { "on day {day} of every month at {time}", "每月 {day} 日 {time}" }
    /// A cron line that has no simpler words.
    pub fn by_line(line) { "cron {line}", "cron 表达式 {line}" }
    pub fn unusable() { "an invalid schedule", "无效的时间设置" }
    /// Between two weekdays.
    pub fn and() { " and ", "和" }
}

/// A weekday from Sunday.
pub fn weekday(day: u32, language: Language) -> &'static str {
    let (english, chinese) = match day {
        0 => ("Sunday", "星期日"),
        1 => ("Monday", "星期一"),
        2 => ("Tuesday", "星期二"),
        3 => ("Wednesday", "星期三"),
        4 => ("Thursday", "星期四"),
        5 => ("Friday", "星期五"),
        _ => ("Saturday", "星期六"),
    };
    match language {
        Language::English => english,
        Language::Chinese => chinese,
    }
}

/// An interval, to be read after "every": `hour`, `2 hours`, `1 h 30 min`.
pub fn interval(ms: i64, language: Language) -> String {
    let units = [
        (86_400_000, "day", "d", "天"),
        (3_600_000, "hour", "h", "小时"),
        (60_000, "minute", "min", "分钟"),
        (1000, "second", "s", "秒"),
    ];
    let mut parts = Vec::new();
    let mut rest = ms;
    for (unit_ms, name, short, chinese) in units {
        let count = rest / unit_ms;
        rest %= unit_ms;
        match language {
            _ if count == 0 => {}
            Language::Chinese => parts.push(format!("{count} {chinese}")),
            // The only unit is written out.
            Language::English if count * unit_ms != ms => parts.push(format!("{count} {short}")),
            Language::English if count == 1 => parts.push(name.to_owned()),
            Language::English => parts.push(format!("{count} {name}s")),
        }
    }
    parts.join(" ")
}

/// A text that is not a time.
pub fn unknown_time(text: &str) -> String {
    format!(
        "Cannot read the time \"{}\". Examples: in 20m, tomorrow 7:00, mon 9am, 2026-12-24 18:00, every 2h, \
         every day at 7, 0 7 * * 1-5",
        short(text)
    )
}

/// A time that has passed.
pub fn passed(text: &str) -> String {
    format!("\"{}\" has passed", short(text))
}

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
pub const MONTHLY_DAYS: &str =
    ", L (the last day), L-2 (two days before it), 15W (the working day nearest to the 15th), LW";
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
