//! What people read about the shells of chats, in each language.

use crate::base::language::texts;

texts! {
    /// Below why the sandbox is the reason of a failure or an odd answer, in italics, where there is no button.
    pub fn on_the_board() {
        "`/sh! …` runs it on the board itself.",
        "`/sh! …` 会直接在开发板上运行。",
    }
    /// The button that does so.
    pub fn run_on_board() { "Run it on the board", "在开发板上运行" }
    /// `program` is inline code.
    pub fn needs_terminal(program) {
        "{program} needs a terminal, which `/sh` does not have. `/term …` opens one.",
        "{program} 需要终端，而 `/sh` 没有终端。`/term …` 会打开终端。",
    }
    /// `command` is inline code.
    pub fn follows_unseen(command) {
        "The sandbox does not show the system's journal, so {command} would wait forever. `/sh! …` runs it on the board \
         itself.",
        "沙箱不显示系统日志，因此 {command} 会一直等待。`/sh! …` 会直接在开发板上运行。",
    }
    pub fn not_in_history() {
        "There is no such command. /history lists them; `/sh !!` runs the last one again.",
        "没有这条命令。/history 会列出历史；`/sh !!` 会再次运行上一条。",
    }
    /// Nothing takes what was written with `/in`.
    pub fn nothing_reads() {
        "No command is waiting for input here. Start one first, for example `/sh read name; echo $name`, then `/in Ann`",
        "此处没有等待输入的命令。先启动一条，例如 `/sh read name; echo $name`，再发送 `/in 小安`",
    }
    /// The answer to a reply that came too late for a command; nothing was done with it.
    pub fn has_ended() {
        "It has ended, so your reply was not used. Send it without replying if it is for me.",
        "该命令已结束，因此你的回复没有被使用。如果是发给我的，请不要用回复的方式发送。",
    }
    /// The same while the command runs or waits to run.
    pub fn takes_no_input() {
        "It takes no input now, so your reply was not used. Send it without replying if it is for me.",
        "该命令现在不接受输入，因此你的回复没有被使用。如果是发给我的，请不要用回复的方式发送。",
    }
    /// The answer to `/bg N`; the output follows below.
    pub fn following(number, line) { "Following {number}: {line}", "正在跟踪 {number}：{line}" }
    pub fn bg_row(number, line, time) {
        "{number}: {line}, for {time}",
        "{number}：{line}，已运行 {time}",
    }
    pub fn bg_in_shell(names) {
        "In the background of the shell: {names}",
        "在 shell 的后台运行：{names}",
    }
    pub fn bg_output() { "New output:", "新的输出：" }
    pub fn bg_none() { "Nothing is running here.", "此处没有正在运行的命令。" }
    pub fn bg_unknown() {
        "No command has that number. /bg lists what is running; `/bg 1` follows the first.",
        "没有这个编号的命令。/bg 会列出正在运行的命令；`/bg 1` 跟踪第一条。",
    }
    pub fn history_none() {
        "No commands yet. Type one, for example `/sh df -h`",
        "还没有命令。请输入一条，例如 `/sh df -h`",
    }
    pub fn history_without(words) {
        "None of your commands contains {words}. /history lists the last ones.",
        "没有包含 {words} 的命令。/history 会列出最近的命令。",
    }
    pub fn history_how() {
        "Run one again: `/sh !!` (the last), `/sh !12`, `/sh !?text`",
        "再次运行：`/sh !!`（上一条）、`/sh !12`、`/sh !?文字`",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
