//! What jobs say in a chat, in each language.

use crate::base::language::texts;

texts! {
    /// The answer to a run that was asked for.
    pub fn clock_not_set() {
        "The clock cannot be trusted yet, so no job runs. /status says why.",
        "时钟还不可信，任务暂不运行。/status 会说明原因。",
    }
    /// Below a late result.
    pub fn late(planned, late) {
        "_This was planned for {planned}, {late} ago._",
        "_原定于 {planned}，已过 {late}。_",
    }
    /// A job fails for the first time.
    pub fn failed(name, error) {
        "The job **{name}** failed: {error}\nI'll tell you when it works again.",
        "任务 **{name}** 失败了：{error}\n恢复正常后我会告诉你。",
    }
    /// The same for a job that has no further run.
    pub fn failed_once(name, error) {
        "The job **{name}** failed: {error}",
        "任务 **{name}** 失败了：{error}",
    }
    /// A job works again after it has failed.
    pub fn works_again(name) {
        "The job **{name}** works again.",
        "任务 **{name}** 已恢复正常。",
    }
    /// A run was interrupted each time that it was begun.
    pub fn given_up(name, count) {
        "The job **{name}** was interrupted {count} times in a row, so I'm not trying this run again. \
         `peacrab cron history` on the board shows its runs.",
        "任务 **{name}** 连续 {count} 次被中断，这一次不再重试。在开发板上运行 `peacrab cron history` 可查看记录。",
    }
    /// The answer to a request to run a job now.
    pub fn started(name) { "Started {name}.", "已开始运行 {name}。" }
    /// The same for a job that does not exist.
    pub fn unknown(id) { "There is no job {id}.", "没有任务 {id}。" }
    /// The same for a job of someone without access.
    pub fn no_access() {
        "Who planned this job has no access any more, so it does not run.",
        "计划此任务的人已没有权限，因此不会运行。",
    }
    /// The same for a job that runs already.
    pub fn running(id) { "The job {id} is running already.", "任务 {id} 正在运行。" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
