//! What reminders and their buttons say, in each language.

use crate::language::texts;

texts! {
    /// A reminder in time; `text` is what a person wanted to be reminded of.
    pub fn reminder(text) { "⏰ {text}", "⏰ {text}" }
    /// A reminder after its time; `late` is a span.
    pub fn late_reminder(text, planned, late) {
        "⏰ {text} (planned for {planned}, {late} late)",
        "⏰ {text}（原定 {planned}，晚了 {late}）",
    }
    pub fn done_button() { "✓ Done", "✓ 完成" }
    pub fn snooze_button(minutes) { "Snooze {minutes} min", "{minutes} 分钟后再提醒" }
    pub fn tomorrow_button() { "Tomorrow", "明天再提醒" }
    pub fn minutes(count) { "{count} min", "{count} 分钟" }
    pub fn hours(count) { "{count} h", "{count} 小时" }
    pub fn days(count) { "{count} d", "{count} 天" }
}
