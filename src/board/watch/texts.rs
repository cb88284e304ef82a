//! What watches say, in each language.

use crate::base::language::texts;

texts! {
    // Rules that cannot be read.
    pub fn too_long(limit) {
        "A rule can have at most {limit} bytes.",
        "规则最多 {limit} 字节。",
    }
    pub fn one_line() { "A rule is one line.", "规则只能写一行。" }
    pub fn open_quote() { "A quote is not closed.", "引号没有闭合。" }
    pub fn empty(examples) { "What should I watch? For example:\n{examples}", "要监视什么？例如：\n{examples}" }
    pub fn not_understood(word, example) {
        "I don't understand {word} here. For example: {example}",
        "这里的 {word} 无法识别。例如：{example}",
    }
    pub fn incomplete(example) {
        "The rule is incomplete. For example: {example}",
        "规则不完整。例如：{example}",
    }
    pub fn unknown(word, examples) {
        "I can't watch {word}. For example:\n{examples}",
        "无法监视 {word}。例如：\n{examples}",
    }
    pub fn unknown_near(word, example) {
        "I can't watch {word}. Did you mean {example}?",
        "无法监视 {word}。你是指 {example} 吗？",
    }
    pub fn unknown_option(word, example) {
        "Unknown option {word}. Options: for 5m, every 1m, repeat 1h, quiet, loud, then run …, then ask …. For example: {example}",
        "未知选项 {word}。选项：for 5m、every 1m、repeat 1h、quiet、loud、then run …、then ask …。例如：{example}",
    }
    pub fn unknown_option_near(word, near) {
        "Unknown option {word}. Did you mean `{near}`?",
        "未知选项 {word}。你是指 `{near}` 吗？",
    }
    pub fn wrong_then(example) {
        "After `then` comes what to do: `then run COMMAND` or `then ask PROMPT`. For example: {example}",
        "`then` 后面写要做的事：`then run 命令` 或 `then ask 提示`。例如：{example}",
    }
    pub fn wrong_time(text) {
        "{text} must be a time such as `90s`, `5m`, `2h` or `1d`.",
        "{text} 应为时间，例如 `90s`、`5m`、`2h` 或 `1d`。",
    }
    pub fn wrong_back() {
        "`back` must be on the normal side of the threshold, such as `temperature > 75 back 70`.",
        "`back` 必须在阈值的正常一侧，例如 `temperature > 75 back 70`。",
    }
    pub fn not_absolute() {
        "The path must begin with `/`, such as `/home/pi/app.log`.",
        "路径必须以 `/` 开头，例如 `/home/pi/app.log`。",
    }
    pub fn only_services() {
        "Only services can be watched, such as `service nginx`.",
        "只能监视服务，例如 `service nginx`。",
    }
    pub fn wrong_pattern(pattern, error) {
        "The pattern {pattern} is not a regular expression: {error}",
        "{pattern} 不是正则表达式：{error}",
    }
    pub fn wrong_level(word, levels) {
        "{word} is not a level of the journal. Levels: {levels}.",
        "{word} 不是日志级别。级别：{levels}。",
    }
    pub fn pattern_in_quotes(example) {
        "Put a pattern of several words in quotes: {example}",
        "由多个词组成的模式请加引号：{example}",
    }
    pub fn command_in_quotes(example) {
        "Put the command in quotes: {example}",
        "命令请加引号：{example}",
    }
    pub fn too_often(seconds) {
        "`every` must be at least {seconds} s.",
        "`every` 至少为 {seconds} 秒。",
    }
    pub fn repeats_too_often(seconds) {
        "`repeat` must be at least {seconds} s.",
        "`repeat` 至少为 {seconds} 秒。",
    }

    // What cannot be seen.
    pub fn no_file() { "there is no such file", "没有此文件" }
    pub fn unreadable(why) { "can't read the file ({why})", "无法读取此文件（{why}）" }
    pub fn no_folder() { "there is no such folder", "没有此文件夹" }
    pub fn no_service() { "there is no such service", "没有此服务" }
    pub fn no_name() { "its name cannot be resolved", "无法解析其名称" }
    pub fn not_reported() { "this board does not report it", "此开发板不提供该数据" }
    pub fn no_journal(why) { "can't read the journal ({why})", "无法读取系统日志（{why}）" }
    pub fn no_journalctl() { "there is no journalctl", "没有 journalctl" }

    // Spans.
    pub fn seconds(count) { "{count} s", "{count} 秒" }
    pub fn minutes(count) { "{count} min", "{count} 分钟" }
    pub fn hours(count) { "{count} h", "{count} 小时" }
    pub fn days(count) { "{count} d", "{count} 天" }

    // Messages about values.
    /// `limit` is the threshold without its unit.
    pub fn over(limit) { "over {limit}", "高于 {limit}" }
    pub fn under(limit) { "under {limit}", "低于 {limit}" }
    pub fn over_for(limit, time) { "over {limit} for {time}", "高于 {limit} 已 {time}" }
    pub fn under_for(limit, time) { "under {limit} for {time}", "低于 {limit} 已 {time}" }
    /// `why` is one of the four above.
    pub fn value(icon, name, value, why) {
        "{icon} {name} {value} ({why}).",
        "{icon} {name}为 {value}（{why}）。",
    }
    pub fn value_still(icon, name, value, peak) {
        "{icon} {name} still {value}, peak {peak}.",
        "{icon} {name}仍为 {value}，峰值 {peak}。",
    }
    pub fn value_back(name, value, peak) {
        "✅ {name} is back to {value} (peak {peak}).",
        "✅ {name} 已回到 {value}（峰值 {peak}）。",
    }
    pub fn value_back_after(name, value, time, peak) {
        "✅ {name} is back to {value} after {time} (peak {peak}).",
        "✅ {name} 在 {time}后回到 {value}（峰值 {peak}）。",
    }
    pub fn top(processes) { "Top: {processes}.", "占用最高：{processes}。" }
    pub fn temperature() { "temperature", "温度" }
    pub fn load() { "load", "负载" }
    pub fn memory() { "memory", "内存" }
    pub fn swap() { "swap", "交换空间" }
    pub fn disk(path) { "disk {path}", "磁盘 {path}" }
    pub fn inodes(path) { "inodes of {path}", "{path} 的 inode" }
    /// Those of the home folder, which needs no path.
    pub fn home_disk() { "disk", "磁盘" }
    pub fn home_inodes() { "inodes", "inode 使用率" }
    pub fn traffic() { "network traffic", "网络流量" }
    pub fn pressure() { "memory pressure", "内存压力" }

    // Messages about what is either so or not.
    pub fn after(text, time) { "{text} (after {time}).", "{text}（{time}后）。" }
    pub fn since(text, time) { "{text} (for {time}).", "{text}（已 {time}）。" }
    pub fn service_down(name) { "🔴 {name} is not running.", "🔴 {name} 未在运行。" }
    pub fn service_up(name) { "✅ {name} is running again.", "✅ {name} 已恢复运行。" }
    pub fn host_down(name) { "🔴 {name} does not answer.", "🔴 {name} 没有应答。" }
    pub fn host_up(name) { "✅ {name} answers again.", "✅ {name} 已恢复应答。" }
    pub fn port_down(port) { "🔴 Nothing listens on port {port}.", "🔴 端口 {port} 没有程序监听。" }
    pub fn port_up(port) { "✅ Port {port} is open again.", "✅ 端口 {port} 已重新打开。" }
    pub fn pid_ended(name) { "🏁 {name} has ended.", "🏁 {name} 已结束。" }
    pub fn command_fails(line) { "🔴 {line} fails.", "🔴 {line} 失败。" }
    pub fn command_works(line) { "✅ {line} succeeds.", "✅ {line} 成功。" }
    pub fn still(text) { "Still: {text}", "仍然：{text}" }
    pub fn line(path, line) { "📄 {path}: {line}", "📄 {path} 中有：{line}" }
    pub fn lines(path, count, line) {
        "📄 {path}: {count} more lines match, the last one: {line}",
        "📄 {path}：又有 {count} 行匹配，最后一行：{line}",
    }
    pub fn journal() { "journal", "系统日志" }
    pub fn flaps(minutes) {
        "It comes and goes. I'll say that it is over once it has been quiet for {minutes} min.",
        "情况反复出现。平静 {minutes} 分钟后我会通知恢复。",
    }

    // Messages of the built-in watches.
    pub fn undervoltage() {
        "⚡ The voltage is too low. Use a stronger power supply or a shorter cable.",
        "⚡ 电压过低。请使用更强的电源或更短的线缆。",
    }
    pub fn undervoltage_over() { "✅ The voltage is fine again.", "✅ 电压已恢复正常。" }
    pub fn throttled() { "🐌 The processor is throttled.", "🐌 处理器已被降频。" }
    pub fn throttled_over() { "✅ The processor runs at full speed again.", "✅ 处理器已恢复全速。" }
    pub fn read_only(path) {
        "🔴 {path} is read-only now. The card may be failing: save your data.",
        "🔴 {path} 变为只读。存储卡可能正在损坏：请备份数据。",
    }
    pub fn read_only_over(path) { "✅ {path} is writable again.", "✅ {path} 恢复可写。" }
    pub fn out_of_memory_once() {
        "💥 Out of memory: the kernel ended a process.",
        "💥 内存不足：内核结束了 1 个进程。",
    }
    pub fn out_of_memory(count) {
        "💥 Out of memory: the kernel ended {count} processes.",
        "💥 内存不足：内核结束了 {count} 个进程。",
    }
    pub fn units_failed(names) { "🔴 Failed services: {names}.", "🔴 失败的服务：{names}。" }
    pub fn units_fine() { "✅ No service is failed any more.", "✅ 不再有失败的服务。" }
    pub fn no_clock() {
        "🕐 The clock is not set, so scheduled jobs wait.",
        "🕐 时钟尚未设置，定时任务正在等待。",
    }
    pub fn clock_set() { "✅ The clock is set now.", "✅ 时钟已设置。" }
    pub fn new_address(addresses) { "🌐 New address: {addresses}.", "🌐 新地址：{addresses}。" }
    pub fn login(user) { "🔑 Login over ssh: {user}.", "🔑 ssh 登录：{user}。" }
    pub fn login_from(user, host) { "🔑 Login over ssh: {user} from {host}.", "🔑 ssh 登录：{user}，来自 {host}。" }
    pub fn more_like_this(text, count) { "{text} ({count} in all)", "{text}（共 {count} 次）" }

    // Buttons.
    pub fn mute_button() { "Mute 1 h", "静音 1 小时" }
    pub fn remove_button() { "Remove", "删除" }
    pub fn off_button() { "Turn off", "关闭" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_has_both_languages() {
        crate::base::language::check_table(super::TABLE);
    }
}
