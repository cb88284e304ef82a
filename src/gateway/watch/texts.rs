//! What `/watch` answers, in each language.

use crate::base::language::texts;

texts! {
    pub fn usage() {
        "`/watch RULE` adds a watch; `/watch test|pause|resume|mute|remove NUMBER` changes one; `/watch off|on NAME` is for built-in ones. Options of a rule: `for 5m`, `every 1m`, `repeat 1h`, `quiet`, `loud`, `then run COMMAND`, `then ask PROMPT`.",
        "`/watch 规则` 添加监视；`/watch test|pause|resume|mute|remove 编号` 更改监视；内置监视用 `/watch off|on 名称`。规则的选项：`for 5m`、`every 1m`、`repeat 1h`、`quiet`、`loud`、`then run 命令`、`then ask 提示`。",
    }
    pub fn turned_off() { "Watches are turned off (watch.enabled).", "监视功能已关闭（watch.enabled）。" }
    pub fn none() { "Nothing is watched for this chat yet.", "此聊天还没有监视项。" }
    /// On the command line; `example` adds a watch there.
    pub fn no_rules(example) { "No watches of your own yet. Add one, for example: {example}", "还没有自己的监视项。添加示例：{example}" }
    pub fn heading() { "**Watches**", "**监视**" }
    pub fn built_in() { "**Built in**", "**内置监视**" }
    /// The full stop is escaped: numbers have gaps, and a list in Markdown would count them from the first.
    pub fn line(id, rule, state) { "{id}\\. {rule}: {state}", "{id}\\. {rule}：当前 {state}" }
    /// Those of which there is nothing to say.
    pub fn built_in_well(names) {
        "Built in, all well: {names}. `/watch list` shows their values.",
        "内置监视，一切正常：{names}。用 `/watch list` 查看各项的值。",
    }
    pub fn built_in_line(name, state) { "- {name}: {state}", "- {name}：当前 {state}" }
    pub fn added(id, rule, state) { "Watching {rule} (number {id}). Now: {state}.", "开始监视 {rule}（编号 {id}）。当前：{state}。" }
    pub fn added_later(id, rule) { "Watching {rule} (number {id}).", "开始监视 {rule}（编号 {id}）。" }
    /// Behind one of these two, for lines of a file or of the journal.
    pub fn at_most_every(minutes) { "At most one message every {minutes} min.", "最多每 {minutes} 分钟通知一次。" }
    pub fn exists(id, rule) { "{rule} is watched already (number {id}).", "{rule} 已在监视中（编号 {id}）。" }
    pub fn too_many(limit, command) { "{limit} watches are as many as possible. Remove one first: {command} lists them.", "最多 {limit} 个监视。请先删除一个：{command} 会列出全部。" }
    pub fn too_many_of_others(limit) { "There are {limit} watches already, and the other places are kept for owners.", "已有 {limit} 个监视，其余名额保留给所有者。" }
    pub fn now(rule, state) { "{rule}: {state}", "{rule}：当前 {state}" }
    pub fn paused(rule) { "Paused: {rule}", "已暂停：{rule}" }
    pub fn resumed(rule) { "Watching again: {rule}", "已恢复监视：{rule}" }
    pub fn removed(rule) { "Removed: {rule}", "已删除：{rule}" }
    pub fn muted(rule, time) { "Muted for {time}: {rule}", "已静音 {time}：{rule}" }
    pub fn unmuted(rule) { "No longer muted: {rule}", "已取消静音：{rule}" }
    pub fn off(name) { "Turned off: {name}. `/watch on {name}` turns it on again.", "已关闭：{name}。用 `/watch on {name}` 重新打开。" }
    pub fn on(name) { "Turned on: {name}", "已打开：{name}" }
    pub fn unknown(name, command) { "There is nothing watched under {name} here. {command} lists what is.", "这里没有名为 {name} 的监视。{command} 会列出全部。" }
    pub fn not_built_in(name) { "{name} is not a built-in watch. `/watch remove NUMBER` removes one of yours.", "{name} 不是内置监视。用 `/watch remove 编号` 删除自己的监视。" }
    pub fn only_off(name) { "{name} is built in. `/watch off {name}` turns it off.", "{name} 是内置监视。用 `/watch off {name}` 关闭。" }
    /// `name` is the number or the name of one.
    pub fn which(verb, name) { "Which one? For example: `/watch {verb} {name}`", "请指明编号，例如：`/watch {verb} {name}`" }
    pub fn wrong_time(name) { "For how long, 30 days at most? For example: `/watch mute {name} 2h`", "静音多久（最多 30 天）？例如：`/watch mute {name} 2h`" }
    pub fn others() { "**Of other chats**", "**其他聊天**" }
    pub fn other_line(id, rule, chat) { "{id}\\. {rule}, told to {chat}", "{id}\\. {rule}，通知 {chat}" }
    pub fn no_file() { "Only a regular file can be watched, such as `/home/pi/app.log`: no folder, device or pipe, and nothing in /proc or /sys.", "只能监视普通文件，例如 `/home/pi/app.log`：不能是文件夹、设备或管道，也不能在 /proc 或 /sys 中。" }
    pub fn own_file() { "My own files, such as my configuration, hold secrets and cannot be watched.", "我自己的文件（例如配置）含有机密，无法监视。" }
    pub fn no_process(pid) { "Process {pid} is not running.", "进程 {pid} 未在运行。" }
    pub fn no_systemd() { "This board has no services of systemd that could be watched.", "此开发板没有可监视的 systemd 服务。" }
    pub fn never(name) { "{name} is between 0 and 100 %: this would never be an alarm.", "{name} 介于 0 与 100 % 之间：这条规则永远不会告警。" }
    pub fn faults(path) { "Some watches in {path} cannot be used:", "{path} 中有些监视无法使用：" }
    pub fn ran(key, line) { "Watch {key} ran {line}:", "监视 {key} 运行了 {line}：" }

    // States.
    pub fn state_paused() { "paused", "已暂停" }
    pub fn state_off() { "off", "已关闭" }
    pub fn state_muted(state, time) { "{state}, muted for {time}", "{state}，静音 {time}" }
    pub fn state_alarm(state, time) { "{state}, for {time}", "{state}，已 {time}" }
    pub fn unknown_value() { "not known", "未知" }
    pub fn fine() { "ok", "正常" }
    pub fn alarm() { "alarm", "告警" }
    pub fn running() { "running", "运行中" }
    pub fn not_running() { "not running", "未运行" }
    pub fn answers() { "answers", "有应答" }
    pub fn does_not_answer() { "does not answer", "无应答" }
    pub fn open() { "open", "已打开" }
    pub fn closed() { "nothing listens", "无程序监听" }
    pub fn succeeds() { "succeeds", "成功" }
    pub fn fails() { "fails", "失败" }
    pub fn no_line() { "no line has matched yet", "还没有匹配的行" }
    pub fn last_line(line) { "last match {line}", "最近匹配 {line}" }
    pub fn with_note(state, note) { "{state} ({note})", "{state}（详情 {note}）" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_has_both_languages() {
        crate::base::language::check_table(super::TABLE);
    }
}
