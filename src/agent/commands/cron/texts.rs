//! What `/cron` and `/remind` say, in each language.

use crate::base::language::texts;

texts! {
    /// Where the configuration turns jobs off.
    pub fn turned_off() {
        "Scheduled jobs are turned off (cron.enabled).",
        "定时任务已关闭（cron.enabled）。",
    }
    pub fn no_jobs() { "No jobs are planned here.", "这里没有计划任务。" }
    pub fn no_reminders() { "No reminders are pending here.", "这里没有待发的提醒。" }
    pub fn pending() { "Pending reminders:", "待发的提醒：" }
    pub fn cron_usage() {
        "`/cron add every day at 7 tell me the weather` gives me a task at that time. \
         `/cron remove|enable|disable|run NAME` changes a job. For a plain reminder use /remind.",
        "`/cron add 每天7:00 告诉我天气` 会在那时交给我一个任务。`/cron remove|enable|disable|run 名称` 用于更改任务。\
         普通提醒请用 /remind。",
    }
    pub fn remind_usage() {
        "Write when, then what:\n- `/remind 20m take the bread out`\n- `/remind tomorrow 7:00 call mum`\n\
         - `/remind every mon 9am put the bins out`\n- `/remind every month on the 1st at 9 pay rent`",
        "先写时间，再写内容：\n- `/remind 20分钟后 取面包`\n- `/remind 明天7:00 给妈妈打电话`\n- `/remind 每2小时 喝水`\n- `/remind 每月1号9点 交房租`",
    }
    /// A text that should begin with a time does not.
    pub fn no_time() {
        "I can't read a time at the beginning.",
        "开头的时间无法识别。",
    }
    /// There is a time and nothing else.
    pub fn no_text(time) {
        "Nothing is planned yet for {time}: add what to say, all in one message.",
        "{time} 还没有计划任何提醒：请把要提醒的内容也写在同一条消息里。",
    }
    /// The same for a task.
    pub fn no_task(time) {
        "Nothing is planned yet for {time}: add what to do, all in one message.",
        "{time} 还没有计划任何任务：请把要做的事也写在同一条消息里。",
    }
    /// Where a job and its name are missing.
    pub fn which() {
        "Which job? Add its name or id; /cron lists them.",
        "请指明任务名称或 id；/cron 会列出所有任务。",
    }
    /// A reminder is planned. `time` is when it comes, such as "tomorrow 07:00, in 9 h".
    pub fn reminder_set(text, time) { "⏰ {text}: {time}", "⏰ {text}，提醒时间：{time}" }
    /// The same for one that repeats.
    pub fn reminder_set_repeating(text, schedule, time) {
        "⏰ {text}: {schedule}, next {time}",
        "⏰ {text}：{schedule}，下次 {time}",
    }
    /// Below a reminder that was set at the terminal, or in no chat.
    pub fn goes_to_owner() {
        "The gateway sends it to the private chat in which an owner wrote last.",
        "网关会把它发送到所有者最近发言的私聊。",
    }
    /// Below what was planned at the terminal while no gateway runs.
    pub fn no_gateway() {
        "The gateway is not running: nothing comes until you start it with `peacrab gateway`.",
        "网关没有运行：用 `peacrab gateway` 启动之前不会发送任何内容。",
    }
    pub fn planned(job) { "Planned {job}", "已计划 {job}" }
    pub fn removed(job) { "Removed {job}.", "已删除 {job}。" }
    pub fn enabled(job) { "Enabled {job}", "已启用 {job}" }
    pub fn disabled(job) { "Disabled {job}", "已停用 {job}" }
    pub fn and_more(count) { "… and {count} more", "…… 另有 {count} 个" }
    pub fn cancel_button() { "Cancel", "取消" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
