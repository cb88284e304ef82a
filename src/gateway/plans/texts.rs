//! What is said about plans, in each language.

use crate::base::language::texts;

texts! {
    /// Above the steps; `id` is inline code.
    pub fn head(id, goal) { "**Plan** {id}: {goal}", "**计划** {id}：{goal}" }
    pub fn planning() { "I'm writing the plan. It will be shown here.", "正在制定计划，完成后会在此显示。" }
    pub fn proposed() {
        "`/plan approve` starts it, `/plan change NUMBER TEXT` changes a step, `/plan skip NUMBER` leaves one out.",
        "`/plan approve` 开始，`/plan change 编号 文字` 修改步骤，`/plan skip 编号` 跳过步骤。",
    }
    pub fn done() { "All of it is done.", "全部完成。" }
    pub fn stopped() { "Stopped. `/plan approve` goes on.", "已停止。`/plan approve` 继续。" }
    pub fn budget_used() {
        "The budget is used up. `/plan approve` goes on with as much again.",
        "预算已用完。`/plan approve` 追加同样的预算后继续。",
    }
    pub fn no_steps() {
        "No plan was written. `/plan approve` tries again.",
        "未能制定计划。`/plan approve` 重试。",
    }
    pub fn steps_failed() {
        "It cannot go on. `/plan approve` tries the failed steps again, `/plan skip NUMBER` leaves one out.",
        "无法继续。`/plan approve` 重试失败的步骤，`/plan skip 编号` 跳过步骤。",
    }
    /// On a step that waits for others; their numbers.
    pub fn after(steps) { "after {steps}", "在 {steps} 之后" }
    pub fn refused(count) { "sent back {count}×", "退回 {count} 次" }
    pub fn failures(count) { "failed {count}×", "失败 {count} 次" }
    /// What was used of a budget.
    pub fn of(used, limit) { "{used} of {limit}", "{used}（共 {limit}）" }
    /// `used` may name the limit too.
    pub fn tokens(used) { "Tokens: {used}", "Token 用量：{used}" }
    pub fn cut_short(count) {
        "Its agents have sent each other {count} messages, which is the most.",
        "其智能体之间已发送 {count} 条消息，达到上限。",
    }
    pub fn board_empty() { "There are no notes.", "没有笔记。" }
    /// The labels of buttons.
    pub fn start() { "Start", "开始" }
    pub fn stop() { "Stop", "停止" }
    pub fn go_on() { "Go on", "继续" }
    pub fn none() { "There is no plan here. `/plan GOAL` makes one.", "这里没有计划。`/plan 目标` 可新建。" }
    /// A button is of a plan that is no longer kept.
    pub fn gone() { "I no longer have this plan. `/plan GOAL` makes a new one.", "这个计划已不再保留。`/plan 目标` 可新建。" }
    /// A command about a step, without all that it needs.
    pub fn which_step() {
        "Name the step, and for a change what it is to do: `/plan change 2 TEXT`, `/plan skip 2`",
        "请写明步骤；修改时还要写明该步骤要做什么：`/plan change 2 文字`、`/plan skip 2`",
    }
    pub fn approved() { "The plan is at work.", "计划正在执行。" }
    pub fn stopping() { "The plan is stopped.", "计划已停止。" }
    pub fn skipped(number) { "Step {number} is left out.", "已跳过步骤 {number}。" }
    pub fn changed(number) { "Step {number} is changed.", "已修改步骤 {number}。" }
    /// After what was changed of a plan that has ended.
    pub fn approval_goes_on() { "`/plan approve` goes on.", "`/plan approve` 继续。" }
    /// After a `/stop`.
    pub fn not_stopped(error) { "The plan could not be stopped yet: {error}", "暂时无法停止计划：{error}" }
    pub fn ended_already() { "The plan has ended already.", "计划已经结束。" }
    pub fn one_at_work() {
        "This conversation has a plan. `/plan` shows it, `/plan stop` ends it.",
        "此对话已有计划。`/plan` 查看，`/plan stop` 结束。",
    }
    pub fn too_many(count) { "There are {count} plans at work already, which is the most.", "已有 {count} 个计划，达到上限。" }
    pub fn not_yours() {
        "Only someone who may do as much as the person who made the plan can change it.",
        "只有权限不低于计划创建者的人才能更改它。",
    }
    pub fn no_board() {
        "There is no plan of that name here. `/tasks plan` shows the board of the last one.",
        "这里没有这个名称的计划。`/tasks plan` 查看最近计划的看板。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
