//! What people read about commands, in each language.

use crate::base::approval::Risk;
use crate::base::language::{Language, texts};
use crate::sandbox::confine::End;

use super::risk::Objection;

texts! {
    pub(super) fn command_changed() {
        "The command was not run: it changed while you were asked about it.",
        "命令未运行：在询问你期间它发生了变化。",
    }
    fn delete_root() {
        "it would delete system files or a home folder",
        "它会删除系统文件或用户主目录",
    }
    fn open_root() {
        "it would change who may use system files or a home folder",
        "它会更改系统文件或用户主目录的访问权限",
    }
    fn format() {
        "it would create a file system and destroy the one that is there",
        "它会创建新的文件系统，并毁掉原有的文件系统",
    }
    fn write_device() {
        "it would overwrite a disk, an SD card, the boot loader or the kernel's memory",
        "它会覆盖磁盘、SD 卡、引导程序或内核内存",
    }
    fn power() {
        "it would shut the board down or restart it",
        "它会让开发板关机或重启",
    }
    fn fork_bomb() {
        "it would start copies of itself until the board hangs",
        "它会不断复制自身，直到开发板卡死",
    }
    fn stop_peacrab() {
        "it would stop Peacrab itself",
        "它会让 Peacrab 停止运行",
    }
    fn deny_pattern(pattern) {
        "the configuration forbids it (tools.exec.denyPatterns: {pattern})",
        "配置禁止运行此命令（tools.exec.denyPatterns: {pattern}）",
    }
    fn not_listed(command) {
        "`{command}` matches none of the allowed patterns (tools.exec.allowPatterns)",
        "`{command}` 不符合任何允许的模式（tools.exec.allowPatterns）",
    }
    /// Nothing runs outside the sandbox.
    pub fn never() {
        "tools.exec.approval is \"never\", so no command runs outside the sandbox",
        "tools.exec.approval 设为 \"never\"，因此任何命令都不能在沙箱外运行",
    }
    /// The person has refused it.
    pub fn denied() { "you denied it", "你已拒绝" }
    /// The person has not answered.
    pub fn timed_out() { "there was no answer in time", "超时未答复" }
    /// It was stopped while the question was open.
    pub fn stopped() { "stopped", "已停止" }
    /// The gateway stops while the question is open.
    pub fn shutting_down() {
        "Peacrab stopped before you answered",
        "在你答复之前 Peacrab 已停止",
    }
    /// Something is not what the person was shown.
    pub fn changed() {
        "the command or its folder changed after you were asked",
        "询问之后，命令或它的文件夹发生了变化",
    }
    /// `file` is inline code.
    pub fn changed_file(file) {
        "{file} changed after you were asked",
        "询问之后，{file} 发生了变化",
    }
    /// Behind [`changed`] or [`changed_file`].
    pub fn others_ended() {
        "What ran for people who are not owners has been ended, so send it again.",
        "为所有者以外的人运行的命令已被终止，请重新发送。",
    }
    /// The heading of the list of standing approvals.
    pub(super) fn standing_heading() {
        "Always allowed here:",
        "此处始终允许：",
    }
    /// One of them; `command` and `folder` are inline code, `since` is a date.
    pub(super) fn standing_unsandboxed(number, command, folder, since) {
        "{number}: {command} in {folder}, outside the sandbox (since {since})",
        "{number}：{command}，文件夹 {folder}，在沙箱外运行（自 {since}）",
    }
    pub(super) fn standing_sandboxed(number, command, folder, since) {
        "{number}: {command} in {folder} (since {since})",
        "{number}：{command}，文件夹 {folder}（自 {since}）",
    }
    pub(super) fn standing_how(number) {
        "To remove one: /approvals remove {number}",
        "如需移除：/approvals remove {number}",
    }
    pub(super) fn standing_none() {
        "No command is always allowed here.",
        "此处没有始终允许的命令。",
    }
    pub(super) fn standing_removed(command) {
        "Removed: {command}. I'll ask again before I run it.",
        "已移除：{command}。下次运行前会再次询问。",
    }
    pub(super) fn standing_unknown(number) {
        "There is no number {number} here. /approvals lists them.",
        "此处没有编号 {number}。发送 /approvals 查看列表。",
    }
    pub(super) fn standing_usage() {
        "Use `/approvals`, `/approvals add systemctl restart *`, `/approvals remove NUMBER` or \
         `/approvals revoke`",
        "用法：`/approvals`、`/approvals add systemctl restart *`、`/approvals remove 编号` 或 \
         `/approvals revoke`",
    }
    /// A pattern; `command` is inline code, `since` is a date.
    pub(super) fn standing_pattern(number, command, since) {
        "{number}: {command}, outside the sandbox too (since {since})",
        "{number}：{command}，也可在沙箱外运行（自 {since}）",
    }
    pub(super) fn standing_added(number, command) {
        "Always allowed here, as number {number}: {command}. `*` stands for one word that is not an option.",
        "此处始终允许，编号 {number}：{command}。`*` 代表一个单词，且不能是选项。",
    }
    /// While everything is allowed.
    pub(super) fn standing_everything(minutes) {
        "Everything is allowed here for another {minutes} min. To end that: /approvals revoke",
        "此处允许全部操作，剩余 {minutes} 分钟。如需结束：/approvals revoke",
    }
    pub(super) fn pattern_size(words) {
        "A pattern has 1 to {words} words",
        "模式须包含 1 到 {words} 个单词",
    }
    /// `char` is inline code.
    pub(super) fn pattern_character(char) {
        "A pattern must not contain {char}. Letters, digits and - _ . / : @ , + = are fine",
        "模式不能包含 {char}。可使用字母、数字和 - _ . / : @ , + =",
    }
    pub(super) fn pattern_program() {
        "A pattern begins with the program, written out, such as `systemctl` or `/usr/sbin/nginx`",
        "模式须以完整的程序名开头，例如 `systemctl` 或 `/usr/sbin/nginx`",
    }
    pub(super) fn pattern_part() {
        "In a pattern, `*` is a whole word",
        "在模式中，`*` 必须是一个完整的单词",
    }
    /// `program` is inline code.
    pub(super) fn pattern_open(program) {
        "Behind {program} a `*` could be anything: write the words out, or allow the exact command",
        "在 {program} 之后，`*` 可以是任何内容：请写出具体的单词，或者允许确切的命令",
    }
    pub(super) fn pattern_not_simple() {
        "This would not be used: such a command may read files that the agent can change, so it is confirmed each time",
        "此模式不会生效：此类命令可能读取智能体能够更改的文件，因此每次都需确认",
    }
    pub(super) fn pattern_risky(why) {
        "This pattern would not be used, because such commands are confirmed each time: {why}",
        "此模式不会生效，因为此类命令每次都需确认：{why}",
    }
    /// No command can be run.
    pub(super) fn turned_off() {
        "Commands are turned off (tools.exec.enabled)",
        "命令功能已关闭（tools.exec.enabled）",
    }
    /// About the shell that a command ran in.
    pub(super) fn shell_is_new() {
        "This is a new shell in the same folder. Variables and functions of the earlier one are gone.",
        "这是一个新的 shell，文件夹不变；之前的变量和函数已不存在。",
    }
    pub(super) fn flooded() {
        "What was running in the background was ended, because it wrote too much.",
        "后台运行的程序输出过多，已被结束。",
    }
    pub(super) fn shell_has_ended() {
        "The shell has ended. The next command starts a new one.",
        "shell 已退出。下一条命令会启动新的 shell。",
    }
    /// The command could not be stopped without it.
    pub(super) fn shell_was_lost() {
        "The shell had to be ended too. The next command starts a new one in the same folder; variables and \
         functions are gone.",
        "shell 也一并结束了。下一条命令会在同一文件夹中启动新的 shell；变量和函数已不存在。",
    }
    /// Its /tmp and /dev/shm held too much memory.
    pub(super) fn shell_was_full() {
        "The files in the shell's /tmp and /dev/shm used too much memory, so the shell was ended and they are gone. The \
         next command starts a new one in the same folder; keep large files in the workspace.",
        "shell 的 /tmp 和 /dev/shm 中的文件占用内存过多，因此 shell 已结束，这些文件也已删除。下一条命令会在同一文件夹中启动新的 \
         shell；大文件请放在工作区。",
    }
    /// A command ran beside another one and has changed its folder.
    pub(super) fn shell_beside() {
        "Another command is still running in this chat's shell. This one ran beside it, so the shell stays in \
         its folder.",
        "此聊天的 shell 中还有命令在运行。这条命令是并行运行的，因此 shell 仍留在原来的文件夹。",
    }
    /// Of a command that runs in the sandbox by itself. `path` is inline code.
    pub fn temporary_of_its_own(path) {
        "The command runs in the sandbox, which has a folder of its own there: it does not see {path} of the board. Use a \
         file in the workspace instead.",
        "命令在沙箱中运行，沙箱有自己的临时文件夹：它看不到开发板上的 {path}。请改用工作区中的文件。",
    }
    /// The same for another folder.
    pub fn unseen(path) {
        "The command runs in the sandbox, which does not show {path}: add its folder to tools.readOnlyPaths, or use a file \
         in the workspace.",
        "命令在沙箱中运行，沙箱中看不到 {path}：请把其所在文件夹加入 tools.readOnlyPaths，或使用工作区中的文件。",
    }
    /// How a command ended: this and the following, as clauses.
    fn exit_status(status) { "exit status {status}", "退出状态 {status}" }
    fn was_killed(number) { "killed by signal {number}", "被信号 {number} 终止" }
    fn ran_too_long(seconds) { "timed out after {seconds} s", "超时（{seconds} 秒）" }
    fn was_stopped() { "stopped", "已停止" }
    fn was_stopped_because(why) { "stopped: {why}", "已停止：{why}" }
    fn was_lost() {
        "ended for an unknown reason (out of memory?)",
        "因未知原因结束（内存不足？）",
    }
    /// A typed command was not run; `why` is a clause without a full stop.
    pub fn not_run(why) { "Not run: {why}.", "未运行：{why}。" }
    /// How to run it all the same; `command` is what to type, as inline code.
    pub fn ask_with(command) {
        "To run it anyway, send {command} and confirm.",
        "若仍要运行，请发送 {command} 并确认。",
    }
}

/// How a command ended.
pub fn describe_end(language: Language, end: &End) -> String {
    match end {
        // With the name of the signal.
        end if language == Language::English => end.to_string(),
        End::Exit(status) => exit_status(language, status),
        End::Signal(number) => was_killed(language, number),
        End::TimedOut(time) => ran_too_long(language, &time.as_secs()),
        End::Cancelled => was_stopped(language).to_owned(),
        End::Stopped(why) => was_stopped_because(language, why),
        End::Lost => was_lost(language).to_owned(),
    }
}

/// What a risky command would do, as a clause.
pub fn describe_risk(language: Language, risk: Risk) -> &'static str {
    let text = match risk {
        Risk::DeleteRoot => delete_root,
        Risk::OpenRoot => open_root,
        Risk::Format => format,
        Risk::WriteDevice => write_device,
        Risk::Power => power,
        Risk::ForkBomb => fork_bomb,
        Risk::StopPeacrab => stop_peacrab,
    };
    text(language)
}

/// What speaks against a command, as a clause.
pub fn describe_objection(language: Language, objection: &Objection) -> String {
    match objection {
        Objection::Risk(risk) => describe_risk(language, *risk).to_owned(),
        Objection::DenyPattern(pattern) => deny_pattern(language, pattern),
        Objection::NotListed(command) => not_listed(language, command),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
