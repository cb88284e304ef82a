//! What is said about jobs, in each language.

use chrono::Weekday;

use crate::base::language::{Language, texts};

texts! {
    pub fn no_such_job(name) { "There is no job \"{name}\".", "没有名为“{name}”的任务。" }
    pub fn did_you_mean(name) { "Did you mean {name}?", "你是指 {name} 吗？" }
    pub fn several_jobs(name, jobs) {
        "\"{name}\" matches several jobs: {jobs}. Use the id.",
        "“{name}”对应多个任务：{jobs}。请使用 id。",
    }
    pub fn has_passed(time) {
        "That time has passed: {time}.",
        "这个时间已经过去：{time}。",
    }
    pub fn never_comes() {
        "No date fits this schedule, so it would never run.",
        "没有符合这个计划的日期，任务永远不会运行。",
    }
    pub fn clock_not_set() {
        "The clock is not set yet, so nothing can be planned. Try again when it is.",
        "时钟尚未设置，暂时无法安排任务。请在时间正确后再试。",
    }
    pub fn too_often() {
        "A job runs at most once a minute.",
        "任务最多每分钟运行一次。",
    }
    pub fn unknown_zone(name) {
        "Unknown time zone \"{name}\". Use a name such as Europe/Zurich.",
        "未知时区“{name}”。请使用 Asia/Shanghai 这样的名称。",
    }
    pub fn zone_of_interval() {
        "A time zone only applies to times of day that repeat, not to an interval or a single time.",
        "时区只适用于重复的具体时刻，不适用于间隔或单次时间。",
    }
    pub fn too_many_jobs(count) {
        "There are {count} jobs already, as many as possible. Remove some first.",
        "已有 {count} 个任务，达到上限。请先删除一些。",
    }
    /// To people who are no owners.
    pub fn too_many_jobs_of_others(count) {
        "There are {count} jobs already, and the other places are kept for owners.",
        "已有 {count} 个任务，其余名额保留给所有者。",
    }
    /// Below a reminder whose text begins with a number. `command` is inline code.
    pub fn meant_hour(hour, command) {
        "If you meant {hour}: {command}",
        "如果指的是 {hour}：{command}",
    }
    /// A line of a list; `id` is inline code.
    pub fn line(id, title, schedule, next) {
        "{id} {title}: {schedule}; next {next}",
        "{id} {title}：{schedule}；下次 {next}",
    }
    /// The same for a job that runs at one time only.
    pub fn line_once(id, title, next) { "{id} {title}: {next}", "{id} {title}，时间：{next}" }
    /// Behind a line: how the last run ended, unless it ended well.
    pub fn last_run(note) { " (last run {note})", "（上次运行：{note}）" }
    pub fn disabled() { "disabled", "已停用" }
    /// A job was disabled because its chat takes nothing.
    pub fn disabled_undelivered() { "disabled, its chat is gone", "已停用：聊天无法送达" }
    pub fn done() { "done", "已完成" }
    pub fn once() { "once", "一次" }
    pub fn never() { "never", "永不" }
    pub fn due_now() { "now", "现在" }
    pub fn running() { "running", "运行中" }
    pub fn interrupted() { "interrupted", "被中断" }
    pub fn failed() { "failed", "失败" }
    pub fn skipped() { "skipped", "已跳过" }
    pub fn ok() { "ok", "成功" }
    /// How a run ended that came to words, with no call of a tool that ran.
    pub fn unshown() { "said, not shown", "只有说法，没有执行记录" }
    pub fn today(time) { "today {time}", "今天 {time}" }
    pub fn tomorrow(time) { "tomorrow {time}", "明天 {time}" }
    pub fn yesterday(time) { "yesterday {time}", "昨天 {time}" }
    pub fn in_time(span) { "in {span}", "{span}后" }
    pub fn in_days(count) { "in {count} days", "{count} 天后" }
    pub fn ago(span) { "{span} ago", "{span}前" }
    pub fn days_ago(count) { "{count} days ago", "{count} 天前" }
    pub fn seconds(count) { "{count} s", "{count} 秒" }
    pub fn minutes(count) { "{count} min", "{count} 分钟" }
    pub fn hours(count) { "{count} h", "{count} 小时" }
    pub fn days(count) { "{count} days", "{count} 天" }
    pub fn weekday_and_time(day, time) { "{day} {time}", "周{day} {time}" }
    /// Between a time and how long until then.
    pub fn comma() { ", ", "，" }
    fn monday() { "Mon", "一" }
    fn tuesday() { "Tue", "二" }
    fn wednesday() { "Wed", "三" }
    fn thursday() { "Thu", "四" }
    fn friday() { "Fri", "五" }
    fn saturday() { "Sat", "六" }
    fn sunday() { "Sun", "日" }
}

/// The short name of a weekday.
pub fn weekday(day: Weekday, language: Language) -> &'static str {
    let text = match day {
        Weekday::Mon => monday,
        Weekday::Tue => tuesday,
        Weekday::Wed => wednesday,
        Weekday::Thu => thursday,
        Weekday::Fri => friday,
        Weekday::Sat => saturday,
        Weekday::Sun => sunday,
    };
    text(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_in_each_language() {
        crate::base::language::check_table(TABLE);
    }
}
