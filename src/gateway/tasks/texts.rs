//! What `/tasks` says, in each language.

use crate::base::language::{Language, texts};

texts! {
    /// Above the list.
    pub fn tasks() { "Running beside this conversation (/stop ends it):", "正在后台进行（/stop 可终止）：" }
    /// One of them; `time` as [`time`] writes it.
    pub fn task(label, steps, time) { "**{label}**: step {steps}, {time}", "**{label}**：第 {steps} 步，{time}" }
    pub fn no_tasks() { "No subagent is running for this conversation.", "当前对话没有子代理在运行。" }
    fn seconds(count) { "{count} s", "{count} 秒" }
    fn minutes(count) { "{count} min", "{count} 分钟" }
}

/// How long a task has been running.
pub fn time(language: Language, count: u64) -> String {
    match count {
        0..120 => seconds(language, &count),
        _ => minutes(language, &(count / 60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(TABLE);
    }

    #[test]
    fn a_time_is_short() {
        assert_eq!(time(Language::English, 119), "119 s");
        assert_eq!(time(Language::English, 120), "2 min");
    }
}
