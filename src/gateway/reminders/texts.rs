//! What reminders and their buttons say, in each language.

use crate::base::language::texts;

texts! {
    /// A reminder after its time; `late` is a span.
    pub fn late_reminder(text, planned, late) {
        "⏰ {text} (planned for {planned}, {late} late)",
        "⏰ {text}（原定 {planned}，晚了 {late}）",
    }
    /// The same when the disk took nothing at its time.
    pub fn after_full_disk(text, planned) {
        "⏰ {text} (planned for {planned}, late because the disk was full)",
        "⏰ {text}（原定 {planned}，因磁盘已满而延迟）",
    }
    /// The same for another reason.
    pub fn after_failures(text, planned) {
        "⏰ {text} (planned for {planned}, late because it could not be stored)",
        "⏰ {text}（原定 {planned}，因无法写入磁盘而延迟）",
    }
    pub fn done_button() { "✓ Done", "✓ 完成" }
    pub fn snooze_button(minutes) { "Snooze {minutes} min", "{minutes} 分钟后再提醒" }
    pub fn tomorrow_button() { "Tomorrow", "明天再提醒" }
    /// Below a reminder that is done.
    pub fn done(time) { "✓ Done {time}", "✓ 已完成 {time}" }
    /// The same in a group.
    pub fn done_by(time, who) { "✓ Done {time} ({who})", "✓ 已完成 {time}（{who}）" }
    /// Below a reminder that comes again; `time` is such as "tomorrow 07:00".
    pub fn again(time) { "💤 Again {time}", "💤 {time} 再次提醒" }
    /// The same in a group.
    pub fn again_by(time, who) { "💤 Again {time} ({who})", "💤 {time} 再次提醒（{who}）" }
    /// A reminder is to come again, and what it said is not known any more.
    pub fn text_unknown() {
        "I can't move this reminder: it is too old, and its job no longer exists. Set it again with /remind.",
        "无法推迟这条提醒：它太旧了，对应的任务也已不存在。请用 /remind 重新设置。",
    }

    /// More commands and presses came than the gateway keeps.
    pub fn too_many_waiting() {
        "Too many commands about jobs are waiting. Try again in a moment.",
        "等待处理的任务命令太多，请稍后再试。",
    }

    /// Where the configuration turns jobs off.
    pub fn turned_off() {
        "Scheduled jobs are turned off (cron.enabled).",
        "定时任务已关闭（cron.enabled）。",
    }
    pub fn too_many(count) {
        "There are {count} jobs already, as many as possible. Remove some first.",
        "已有 {count} 个任务，达到上限。请先删除一些。",
    }

    /// To people who are no owners.
    pub fn too_many_of_others(count) {
        "There are {count} jobs already, and the other places are kept for owners.",
        "已有 {count} 个任务，其余名额保留给所有者。",
    }

    pub fn minutes(count) { "{count} min", "{count} 分钟" }
    pub fn hours(count) { "{count} h", "{count} 小时" }
    pub fn days(count) { "{count} d", "{count} 天" }
}
