//! What people read in answer to commands about the board, in each language.

use crate::base::language::texts;

texts! {
    pub fn plot_list() { "In the last 24 h:", "最近 24 小时：" }
    pub fn plot_values(least, most, last) {
        "{least} to {most}, now {last}",
        "{least} 至 {most}，现在 {last}",
    }
    /// The same for a table, whose last value may be old.
    pub fn plot_table_values(least, most, last) {
        "{least} to {most}, last {last}",
        "{least} 至 {most}，最后 {last}",
    }
    pub fn plot_nothing_yet() { "no values yet", "暂无数据" }
    pub fn plot_not_reported() { "this board does not report it", "此开发板不提供该数据" }
    /// `name` as inline code.
    pub fn plot_missing(name) { "This board does not report {name}.", "此开发板不提供 {name}。" }
    /// Below it; `names` are inline code.
    pub fn plot_there(names) { "There are values of {names}.", "可用的数据：{names}。" }
    pub fn plot_no_values() {
        "No values yet. A sample is taken every 5 minutes.",
        "暂无数据。每 5 分钟采样一次。",
    }
    /// `span` as inline code.
    pub fn plot_span(span) {
        "A plot shows 1 h to 7 d, not {span}. For example `/plot temperature 24h`",
        "图表可显示 1 小时至 7 天，不能是 {span}。例如 `/plot temperature 24h`",
    }
    /// `name` as inline code.
    pub fn plot_unknown(name) {
        "I have no values of {name}. `/plot` shows what there is; for example `/plot temperature 24h`",
        "没有 {name} 的数据。`/plot` 列出可用的数据；例如 `/plot temperature 24h`",
    }
    /// Both as inline code.
    pub fn plot_near(name, near) {
        "I have no values of {name}. Did you mean {near}? For example `/plot temperature 24h`",
        "没有 {name} 的数据。你是指 {near} 吗？例如 `/plot temperature 24h`",
    }
    /// `file` as inline code.
    pub fn plot_no_table(file) {
        "{file} has no numbers to plot. I read tables such as `time,inside` with a line `2026-11-23T12:00,20.5` for each value.",
        "{file} 中没有可绘制的数字。可读取的表格如 `time,inside`，每行如 `2026-11-23T12:00,20.5`。",
    }
    pub fn plot_left_out(rows) { "Rows left out: {rows}", "未绘制的行数：{rows}" }
    /// On the button of `/status`.
    pub fn plot() { "Plot", "图表" }

    pub fn button_too_old() {
        "That button is too old. Send the command again.",
        "该按钮已过期，请重新发送命令。",
    }
    /// `question` ends in a question mark; `command` is a code block.
    pub fn confirm_by_typing(question, command) {
        "{question} If so, send this:\n{command}",
        "{question}如果是，请发送：\n{command}",
    }
    /// The button beside the one that does it, and the answer.
    pub fn no() { "No", "否" }
    pub fn refused() { "Nothing was done.", "什么都没有做。" }
    pub fn done() { "Done.", "完成。" }

    pub fn logs_usage() {
        "Which unit, and how many lines? For example `/logs nginx 50` or `/logs nginx follow`",
        "请指定单元和行数，例如 `/logs nginx 50` 或 `/logs nginx follow`",
    }
    pub fn no_journal() {
        "There is no journalctl on this board. Look at the log files instead, for example `/sh! tail -n 50 /var/log/messages`",
        "这块开发板上没有 journalctl。请直接查看日志文件，例如 `/sh! tail -n 50 /var/log/messages`",
    }
    pub fn no_warnings() { "No warnings since the board was started.", "开机以来没有警告。" }
    /// `unit` as inline code.
    pub fn no_unit(unit) {
        "There is no service {unit}, and the journal has no lines of it.",
        "没有服务 {unit}，系统日志中也没有它的记录。",
    }
    /// `unit` as inline code.
    pub fn no_lines(unit) { "No lines of {unit}.", "没有 {unit} 的日志。" }
    /// `why` is journalctl's own words; to root, which has all rights.
    pub fn no_readable_journal(why) { "I can't read the journal: {why}", "无法读取日志：{why}" }
    /// The same with a `hint`, which is a code block.
    pub fn unreadable_journal(why, hint) {
        "I can't read the journal: {why}\nIf this account lacks the right, give it on the board, then restart Peacrab:\n{hint}",
        "无法读取日志：{why}\n如果是此账户没有权限，请在开发板上授权，然后重启 Peacrab：\n{hint}",
    }

    pub fn svc_usage() {
        "Which unit, and what to do? For example `/svc nginx` or `/svc nginx restart`",
        "请指定单元和操作，例如 `/svc nginx` 或 `/svc nginx restart`",
    }
    pub fn no_services() {
        "There is no such service here, and no systemd or OpenRC to ask about it.",
        "这里没有此服务，也没有 systemd 或 OpenRC 可供查询。",
    }
    pub fn none_failed() { "No failed units.", "没有失败的单元。" }
    pub fn failed() { "**Failed:**", "**失败：**" }
    pub fn own_units() { "Your own services:", "你自己的服务：" }
    pub fn restart() { "Restart", "重启" }
    pub fn start() { "Start", "启动" }
    pub fn stop() { "Stop", "停止" }
    pub fn logs() { "Logs", "日志" }
    /// `unit` as inline code.
    pub fn restart_question(unit) { "Restart {unit}?", "要重启 {unit} 吗？" }
    pub fn start_question(unit) { "Start {unit}?", "要启动 {unit} 吗？" }
    pub fn stop_question(unit) { "Stop {unit}?", "要停止 {unit} 吗？" }
    /// `unit` as inline code, `state` as a code block.
    pub fn changed(unit, state) { "{unit} is now:\n{state}", "{unit} 现在的状态：\n{state}" }
    /// `account` as inline code, the others as code blocks.
    pub fn missing_rights(output, account, polkit, sudoers) {
        "{output}\nThe account {account} may not do that. Allow it once on the board:\n{polkit}\nor, where the service may use sudo:\n{sudoers}",
        "{output}\n账户 {account} 无权执行此操作。请在开发板上授权一次：\n{polkit}\n或者，如果服务可以使用 sudo：\n{sudoers}",
    }

    pub fn gateway(address, interface) { "Gateway: `{address}` ({interface})", "网关：`{address}`（{interface}）" }
    pub fn name_servers(servers) { "DNS: {servers}", "DNS 服务器：{servers}" }
    pub fn wol_usage() {
        "Which machine? Give its hardware address, for example `/wol aa:bb:cc:dd:ee:ff` or `/wol aa:bb:cc:dd:ee:ff 192.168.1.255`",
        "请指定机器的 MAC 地址，例如 `/wol aa:bb:cc:dd:ee:ff` 或 `/wol aa:bb:cc:dd:ee:ff 192.168.1.255`",
    }
    /// Both as inline code. Nothing confirms that it woke up.
    pub fn woken(mac, to) { "Sent the wake-up packet for {mac} to {to}.", "已将 {mac} 的唤醒包发送到 {to}。" }

    pub fn reboot() { "Restart the board", "重启开发板" }
    pub fn reboot_question() {
        "Restart the board? Running commands end; turns continue afterwards.",
        "要重启开发板吗？正在运行的命令会结束；对话会在之后继续。",
    }
    pub fn reboot_usage() {
        "Send `/reboot`; I'll ask before I do it.",
        "请发送 `/reboot`；执行前会询问你。",
    }
    pub fn rebooting() { "Restarting the board. I'll tell you when I'm back.", "正在重启开发板，恢复后会告诉你。" }
    pub fn shutdown() { "Shut down", "关机" }
    pub fn shutdown_question() {
        "Shut the board down? Only someone next to it can switch it on again.",
        "要关闭开发板吗？之后只能在现场重新开机。",
    }
    pub fn shutdown_usage() {
        "Send `/shutdown`; I'll ask before I do it.",
        "请发送 `/shutdown`；执行前会询问你。",
    }
    pub fn shutting_down() { "Shutting the board down.", "正在关闭开发板。" }
    pub fn not_switched(why) { "The board stays on.\n{why}", "开发板仍在运行。\n{why}" }
    /// After a restart that was asked for.
    pub fn back_after(span) { "Back after {span}.", "已恢复，用时 {span}。" }
    /// The machine went down without a warning.
    pub fn back_from_cut(from, to) {
        "Back after a power cut or crash: {from} to {to}.",
        "断电或崩溃后已恢复：{from} 至 {to}。",
    }
    pub fn back_from_cut_since(to) {
        "Back after a power cut or crash; started at {to}.",
        "断电或崩溃后已恢复；启动于 {to}。",
    }

    pub fn own_unknown() { "There is no such command any more. See /help.", "该命令已不存在。见 /help。" }
    /// `command` as inline code.
    pub fn own_question(command) { "Run {command}?", "要运行 {command} 吗？" }
    pub fn run() { "Run", "运行" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
