//! Why the clock is not trusted yet, in each language.

use crate::base::language::texts;

texts! {
    /// In `/status`; `reason` is one of the following.
    pub fn waits(reason) {
        "**Clock**: {reason}. Scheduled jobs and the heartbeat wait.",
        "**时钟**：{reason}。定时任务和心跳正在等待。",
    }
    pub fn unconfirmed() {
        "**Clock**: no time service confirms it",
        "**时钟**：没有时间服务确认",
    }
    pub fn before_build() { "not set yet", "尚未设置" }
    pub fn before_known(time) { "behind, it was {time} UTC before", "落后，之前已是 {time}（UTC）" }
    pub fn far_ahead() { "decades ahead", "超前了几十年" }
    pub fn not_synchronized() { "not synchronized yet", "尚未同步" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_has_both_languages() {
        crate::base::language::check_table(super::TABLE);
    }
}
