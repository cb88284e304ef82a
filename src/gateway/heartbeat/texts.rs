//! What `/heartbeat` says, in each language.

use crate::base::language::texts;

texts! {
    pub fn next(interval, time) {
        "Heartbeat: every {interval} min, next at {time}",
        "心跳：每 {interval} 分钟一次，下次 {time}",
    }
    pub fn waits_for_clock() {
        "Heartbeat: waiting for the clock to be set",
        "心跳：正在等待时钟校准",
    }
    /// `heartbeat.enabled` is false.
    pub fn disabled() {
        "Heartbeat: disabled (heartbeat.enabled is false)",
        "心跳：已停用（heartbeat.enabled 为 false）",
    }
    /// After `/heartbeat off`.
    pub fn off() {
        "Heartbeat: off until `/heartbeat on` or the next restart",
        "心跳：已暂停，直到 `/heartbeat on` 或下次重启",
    }
    /// `what`: one of the following.
    pub fn last(time, what) { "Last at {time}: {what}", "上次 {time}：{what}" }
    pub fn empty() { "nothing in HEARTBEAT.md", "HEARTBEAT.md 中没有任务" }
    pub fn quiet() { "skipped, quiet hours", "已跳过（免打扰时段）" }
    pub fn no_chat() { "skipped, no chat yet", "已跳过（还没有聊天）" }
    pub fn no_model() { "skipped, no model is connected", "已跳过（未连接模型）" }
    pub fn ok() { "all is well", "一切正常" }
    pub fn written() { "wrote its news to a file in cron/", "已将消息写入 cron/ 中的文件" }
    pub fn told() { "sent a message", "发送了一条消息" }
    /// `what`: one of those above, of a look in which no tool ran.
    pub fn unshown(what) { "{what}; said, not shown", "{what}；只有说法，没有执行记录" }
    pub fn failed(error) { "failed: {error}", "失败：{error}" }
    /// The answer to `/heartbeat now`.
    pub fn looking() { "Looking at HEARTBEAT.md…", "正在查看 HEARTBEAT.md……" }
    pub fn is_running() { "A heartbeat is already running.", "心跳正在运行中。" }
    /// How a `/heartbeat now` went that had no news.
    pub fn result(what) { "Heartbeat: {what}.", "心跳：{what}。" }
    pub fn usage() {
        "Usage: /heartbeat, /heartbeat on, /heartbeat off or /heartbeat now",
        "用法：/heartbeat、/heartbeat on、/heartbeat off 或 /heartbeat now",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_has_both_languages() {
        crate::base::language::check_table(super::TABLE);
    }
}
