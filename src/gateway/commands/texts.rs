//! What the gateway says to people, in each language.

use std::io::ErrorKind;

use crate::base::error::Error;
use crate::base::language::{Language, texts};
use crate::sandbox::files::is_outside;
use crate::text::markup::inline_code;
use crate::text::one_line;

/// Characters of a path in an error.
const PATH_CHARS: usize = 200;

/// An error as a sentence, for a chat.
pub fn format_error(error: &Error, language: Language) -> String {
    if let Some(text) = file_error(error, language) {
        return text + language.full_stop();
    }
    let text = match error {
        Error::Model(error) => error.describe(language),
        _ => error.to_string(),
    };
    let written = written_in(error, &text, language);
    // The name of a provider or a model is spelt as it is configured.
    let is_name_first = match error {
        Error::Model(error) => text.starts_with(&error.provider),
        _ => written.has_wide_marks() || begins_with_name(&text),
    };
    let mut sentence = match is_name_first {
        true => text,
        false => capitalize(&text),
    };
    // A block of code ends what it is at the end of.
    let is_ended = sentence.trim_end().ends_with("```");
    if !is_ended && !sentence.ends_with(['.', '!', '?', '…', '。', '！', '？']) {
        sentence += written.full_stop();
    }
    if written == language {
        sentence
    } else {
        failed(language, &sentence)
    }
}

/// The usual errors of files, for those who do not read English.
fn file_error(error: &Error, language: Language) -> Option<String> {
    let shown = |path: &str| inline_code(&one_line(path, PATH_CHARS));
    match error {
        _ if language == Language::English => None,
        Error::Io { path, .. } if error.is_not_found() => {
            Some(no_such_file(language, &shown(&path.to_string_lossy())))
        }
        Error::Io { path, source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            Some(no_permission(language, &shown(&path.to_string_lossy())))
        }
        Error::Refused { path, .. } if is_outside(error) => {
            Some(outside_folders(language, &shown(path)))
        }
        _ => None,
    }
}

/// The language of an error's text, for a reader of `language`. The rooms word refusals in it, and other errors in
/// English; letters do not tell European languages apart.
fn written_in(error: &Error, text: &str, language: Language) -> Language {
    let is_worded = matches!(error, Error::Model(_) | Error::Usage(_) | Error::Failed(_));
    match Language::of_text(text) {
        Language::English if is_worded && !language.has_wide_marks() => language,
        Language::Chinese if language == Language::Japanese => language,
        written => written,
    }
}

/// Whether a text begins with the name of a file or a path, which is spelt as it is.
fn begins_with_name(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.ends_with(':')
        || first
            .trim_end_matches(['.', ',', '…'])
            .contains(['/', '.', '_', '~'])
}

/// The text with its first letter in upper case.
pub fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// A time in its two largest units.
pub fn format_minutes(minutes: u64, language: Language) -> String {
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => span_minutes(language, &minutes),
        (0, hours, minutes) => span_hours(language, &hours, &minutes),
        (days, hours, _) => span_days(language, &days, &hours),
    }
}

/// A time in seconds for people: seconds while there are few, then two units.
pub fn format_seconds(seconds: u64, language: Language) -> String {
    match seconds {
        ..120 => span_seconds(language, &seconds),
        seconds => format_minutes(seconds / 60, language),
    }
}

texts! {
    /// Errors of files; `path` is inline code.
    fn no_such_file(path) { "{path} does not exist", "{path} 不存在" }
    fn no_permission(path) { "{path} may not be opened: permission denied", "无法打开 {path}：权限不足" }
    fn outside_folders(path) {
        "{path} is outside the workspace. Add its folder to tools.allowedPaths to allow it",
        "{path} 位于工作区之外。如需允许，请把它的文件夹加入 tools.allowedPaths",
    }
    /// Before an error whose text comes in English only.
    fn failed(error) { "{error}", "出错了：{error}" }

    fn span_seconds(seconds) { "{seconds} s", "{seconds} 秒" }
    fn span_minutes(minutes) { "{minutes} min", "{minutes} 分钟" }
    fn span_hours(hours, minutes) { "{hours} h {minutes} min", "{hours} 小时 {minutes} 分钟" }
    fn span_days(days, hours) { "{days} d {hours} h", "{days} 天 {hours} 小时" }

    /// The answer to `/start`; `commands` is a list.
    /// To a person who may not use a command; `word` is inline code, the roles are words of the configuration.
    pub fn not_for_role(word, needed, role) {
        "{word} needs the role {needed}, and yours is {role} here.",
        "{word} 需要 {needed} 角色，而你在这里的角色是 {role}。",
    }
    /// While everything is allowed in a chat.
    pub fn allowance_left(minutes) {
        "⏱ **Everything is allowed here.** Time left: {minutes} min",
        "⏱ **此处允许全部操作。** 剩余 {minutes} 分钟",
    }
    /// The label of the button that ends it.
    pub fn revoke() { "Revoke", "撤销" }
    pub fn allowance_over() {
        "The 10 minutes are over. I'll ask again before commands run outside the sandbox.",
        "10 分钟已到。命令在沙箱外运行之前会再次询问。",
    }
    pub fn allowance_revoked() {
        "Revoked. I'll ask again before commands run outside the sandbox.",
        "已撤销。命令在沙箱外运行之前会再次询问。",
    }
    pub fn allowance_restarted() {
        "The restart has ended the 10 minutes. I'll ask again before commands run outside the sandbox.",
        "重启已结束这 10 分钟的许可。命令在沙箱外运行之前会再次询问。",
    }
    pub fn allowance_none() {
        "Not everything is allowed here, so there is nothing to revoke.",
        "此处并未允许全部操作，无需撤销。",
    }
    /// What a model had said when a person stopped it.
    pub fn half_answer(text) { "{text}\n\n*Stopped.*", "{text}\n\n*已停止。*" }
    /// To a person whose turn waits for an owner.
    pub fn asking_owner() {
        "This needs an approval. I've asked an owner.",
        "这需要批准，已询问所有者。",
    }
    /// The answer when owners were asked too often in the place of others.
    pub fn owners_asked_often() {
        "This needs an approval, but owners have been asked too often in the last 10 minutes. Try again later.",
        "这需要批准，但最近 10 分钟内询问所有者的次数过多，请稍后再试。",
    }
    /// Over what the turn of another conversation sends to a chat.
    pub fn from_conversation(who, text) {
        "From the conversation {who}:\n\n{text}",
        "来自对话 {who}：\n\n{text}",
    }
    /// In the answer to `/id`.
    pub fn your_role(role) { "Your role here is {role}.", "你在这里的角色是 {role}。" }
    pub fn greeting() {
        "I'm Peacrab, and I live on this board. Write to me, for example:\n\n\
         - Remind me tomorrow at 9 to water the plants\n\
         - How warm is the board, and what uses most of it?\n\
         - Tell me when the disk is nearly full\n\
         - Remember that the printer is at 192.168.1.9\n\
         - Every Monday at 8: list the files that changed in notes/\n\n\
         /help lists the commands.",
        "我是 Peacrab，住在这块开发板上。直接给我发消息，例如：\n\n\
         - 明天 9 点提醒我浇花\n\
         - 板子温度多少？什么占用最多？\n\
         - 磁盘快满时告诉我\n\
         - 记住打印机的地址是 192.168.1.9\n\
         - 每周一 8 点列出 notes/ 中改动过的文件\n\n\
         /help 列出所有命令。",
    }
    /// The same where no model is connected; the lines are what the offline helper and the commands do.
    pub fn greeting_without_model() {
        "I'm Peacrab, and I live on this board. No language model is connected yet, so I understand simple requests \
         only, for example:\n\n\
         - `remind me in 20 minutes to take the bread out`\n\
         - `how warm is the board?`\n\
         - `how much space is left?`\n\
         - `list my files`\n\
         - `/watch disk / > 90`\n\n\
         /help lists the commands.",
        "我是 Peacrab，住在这块开发板上。目前还没有连接语言模型，所以我只能理解简单的请求，例如：\n\n\
         - `20分钟后提醒我取面包`\n\
         - `板子温度`\n\
         - `还剩多少空间`\n\
         - `列出文件`\n\
         - `/watch disk / > 90`\n\n\
         /help 列出所有命令。",
    }
    /// Below that, to an owner.
    pub fn connect_model() {
        "To connect a model, run `peacrab onboard` on the board.",
        "要连接模型，请在开发板上运行 `peacrab onboard`。",
    }
    pub fn greeting_for_guest() {
        "I'm Peacrab, and I live on this board. Write to me. /help lists the commands.",
        "我是 Peacrab，住在这块开发板上。直接给我发消息。/help 列出所有命令。",
    }
    /// Once after a start, to the owner.
    pub fn ignored_settings(first, more) {
        "Part of the configuration is ignored: {first}{more}\n`peacrab config check` shows all of it.",
        "部分配置被忽略：{first}{more}\n运行 `peacrab config check` 可查看全部。",
    }
    pub fn ignored_more(count) { " (and {count} more)", "（另有 {count} 项）" }
    pub fn restarting() {
        "Restarting… running work will continue afterwards.",
        "正在重启……未完成的工作会在重启后继续。",
    }
    /// The next start would fail.
    pub fn not_restarting(problem) { "Not restarting: {problem}", "未重启：{problem}" }
    /// A command runs because of a standing approval; `call` is inline code.
    pub fn unsandboxed(call) { "▸ {call} · outside the sandbox", "▸ {call} · 在沙箱外运行" }
    /// The answer to `/compact`.
    pub fn compacting() {
        "Compacting this conversation. I'll tell you when it is done.",
        "正在压缩这个对话，完成后会告诉你。",
    }
    pub fn not_compacted(error) {
        "The conversation is as it was: {error}",
        "对话没有变化：{error}",
    }
    /// In `/status`: the last consolidation.
    pub fn memory_done(turns, time) {
        "Memory: updated at {time} (turns: {turns})",
        "记忆：{time} 存入了 {turns} 轮对话",
    }
    pub fn memory_failed(time, error) {
        "Memory: not updated at {time}: {error}",
        "记忆：{time} 更新失败：{error}",
    }
    /// After a restart, in the chat that asked for it.
    pub fn back() { "Back.", "我回来了。" }

    /// `update.url` is not set.
    pub fn update_unset() {
        "I don't know where new versions are. Set it on the board: `peacrab config set update.url URL`",
        "我不知道新版本在哪里。请在开发板上设置：`peacrab config set update.url URL`",
    }
    pub fn update_none(own) { "{own} is the newest version.", "{own} 已是最新版本。" }
    pub fn update_available(version, own) {
        "{version} is available (you have {own}).",
        "有新版本 {version}（当前为 {own}）。",
    }
    /// Between two buttons: [`update_install`] and [`update_not_now`].
    pub fn update_question() { "Install?", "要安装吗？" }
    pub fn update_install() { "Install", "安装" }
    pub fn update_not_now() { "Not now", "以后再说" }
    pub fn update_later() { "OK, not now.", "好的，以后再说。" }
    /// `package` as inline code.
    pub fn update_package(package) {
        "I was installed as the package {package}: install the release's new .deb on the board.",
        "我是通过软件包 {package} 安装的：请在开发板上安装新版本的 .deb 文件。",
    }
    /// `command` as a code block.
    pub fn update_on_board(command) {
        "To install it, run this on the board:\n{command}",
        "要安装，请在开发板上运行：\n{command}",
    }
    pub fn update_installing(version) {
        "Installing {version}… I'll restart and tell you here how it went.",
        "正在安装 {version}……我会重启，并在这里告诉你结果。",
    }
    /// An update to `version` has begun before.
    pub fn update_running(version) {
        "The update to {version} is still running.",
        "正在更新到 {version}，尚未完成。",
    }
    /// The server has another version than the one that was agreed to.
    pub fn update_changed(version, found) {
        "Not installed: the server has {found} now, not {version}. Send /update again.",
        "未安装：服务器上现在是 {found}，不是 {version}。请重新发送 /update。",
    }
    pub fn update_done(version) { "Updated to {version}.", "已更新到 {version}。" }
    pub fn update_taken_back(version, own) {
        "{version} did not start within 60 s; {own} is back.",
        "{version} 未能在 60 秒内启动；已恢复 {own}。",
    }
    /// Nothing was changed.
    pub fn update_failed(reason) { "Not updated: {reason}", "未更新：{reason}" }
    pub fn update_interrupted(version, own) {
        "The update to {version} did not finish; {own} is running. On the board, `journalctl -u \
         peacrab-update` may say why.",
        "更新到 {version} 没有完成；正在运行的是 {own}。在开发板上用 `journalctl -u peacrab-update` \
         可查看原因。",
    }

    pub fn this_chat(address) { "This chat: `{address}`", "此聊天：`{address}`" }
    /// `name` as inline code.
    pub fn you(id, name) { "You: `{id}` {name}", "你：`{id}` {name}" }

    pub fn replies_cancelled(count) { "{count} replies cancelled", "已取消 {count} 条回复" }
    pub fn reply_cancelled() { "1 reply cancelled", "已取消 1 条回复" }
    pub fn commands_ended(count) { "{count} commands ended", "已结束 {count} 个命令" }
    pub fn command_ended() { "1 command ended", "已结束 1 个命令" }
    /// About a command that was not run.
    pub fn questions_withdrawn(count) { "{count} questions withdrawn", "已撤回 {count} 个问题" }
    pub fn question_withdrawn() { "1 question withdrawn", "已撤回 1 个问题" }
    pub fn subagents_ended(count) { "{count} subagents ended", "已结束 {count} 个子代理" }
    pub fn subagent_ended() { "1 subagent ended", "已结束 1 个子代理" }
    pub fn messages_dropped(count) {
        "{count} queued messages dropped",
        "已丢弃 {count} 条排队的消息",
    }
    pub fn message_dropped() { "1 queued message dropped", "已丢弃 1 条排队的消息" }
    pub fn comma() { ", ", "，" }
    /// Between the members of a list.
    pub fn list_comma() { ", ", "、" }
    /// `what`: the parts above.
    pub fn stopped_parts(what) { "Stopped. {what}.", "已停止。{what}。" }
    pub fn edited_late() {
        "I have read that message already: send the change as a new one.",
        "那条消息我已经读过了：请把改动作为新消息发送。"
    }
    pub fn stopped() { "Stopped.", "已停止。" }
    pub fn nothing_running() { "Nothing is running here.", "这里没有正在运行的任务。" }
    pub fn background_may_run(error) {
        "Background commands may still run: {error}.",
        "后台命令可能仍在运行：{error}。",
    }

    pub fn queue_full(count) {
        "{count} messages are already waiting here; /stop clears them.",
        "这里已有 {count} 条消息在排队；/stop 可清空。",
    }
    pub fn too_many_commands(count) {
        "{count} commands are already waiting here; /stop clears them.",
        "这里已有 {count} 个命令在排队；/stop 可清空。",
    }
    /// `command`: its beginning, as inline code.
    pub fn waits_for_command(command, other) {
        "{command} waits until {other} has ended. /stop ends both.",
        "{command} 正在等待 {other} 结束。/stop 可终止两者。",
    }
    /// The same while a question about `other` is open; `run` and `deny` are the labels of its buttons.
    pub fn waits_for_answer(command, other, run, deny) {
        "{command} waits for {other}, which needs your answer: **{run}** or **{deny}**.",
        "{command} 正在等待 {other}，后者需要你的答复：**{run}** 或 **{deny}**。",
    }
    pub fn edited_answer() {
        "An edited message does not answer a question.",
        "编辑过的消息不能用来回答问题。",
    }
    /// `names`: the beginnings of the messages, as inline code.
    pub fn not_accepted(names, why) {
        "Not accepted: {names}. {why} Please send it again later.",
        "未接受：{names}。{why}请稍后重新发送。",
    }
    pub fn and_more(count) { " and {count} more", "等（另有 {count} 条）" }

    pub fn thread_failed(error) {
        "I can't start on this yet: {error}. I'll begin as soon as it is possible.",
        "暂时无法开始处理：{error}。一有可能就会开始。",
    }
    pub fn write_failed(error) {
        "I can't go on for now: {error}. I'll keep trying; /stop gives up.",
        "暂时无法继续：{error}。我会不断重试；/stop 可放弃。",
    }
    /// `command` as inline code.
    pub fn interrupted_command(command) {
        "{command} was interrupted by a restart. I don't know whether it took effect, and I did not \
         run it again.",
        "{command} 被重启打断。我不知道它是否已生效，也没有再次运行。",
    }
    /// A journal was repaired.
    pub fn repaired(what) { "Note: {what}.", "注意：{what}。" }

    pub fn command_missing() {
        "Add a command, for example `/sh df -h`",
        "请加上命令，例如 `/sh df -h`",
    }
    pub fn no_output() { "Done, no output.", "完成，没有输出。" }
    pub fn output_in_file() {
        "The beginning is left out here; the file has all of it.",
        "此处省略了开头；完整内容见文件。",
    }

    pub fn answers_here(label) { "{label} answers here.", "此处由 {label} 回答。" }
    /// The same where there is no other agent; `model` is [`default_model`] or a name as inline code.
    pub fn answers_alone(label, model) { "{label} answers here ({model}).", "此处由 {label} 回答（{model}）。" }
    pub fn default_model() { "default model", "默认模型" }
    pub fn agent_heading() { "Agent", "智能体" }
    pub fn set_aside(channel, chat, why) {
        "A message to {channel} ({chat}) always fails and is set aside, so that later ones can go on: {why}\n\n/retry sends it again.",
        "发往 {channel}（{chat}）的一条消息一直失败，已搁置，以免耽误后面的消息：{why}\n\n/retry 可重新发送。",
    }
    pub fn status_aside(count) { " · {count} set aside (/retry)", " · {count} 条已搁置（/retry）" }
    pub fn nothing_aside() { "No message is set aside.", "没有被搁置的消息。" }
    pub fn message_again() { "Sending the message again that was set aside.", "正在重新发送被搁置的消息。" }
    pub fn messages_again(count) {
        "Sending {count} messages again that were set aside.",
        "正在重新发送 {count} 条被搁置的消息。",
    }
    /// `status`: [`status_line`].
    pub fn gateway(status) { "**Gateway**: {status}", "**网关**：{status}" }
    pub fn status_line(uptime, running, waiting, unsent) {
        "running for {uptime} · {running} active · {waiting} waiting · {unsent} unsent",
        "已运行 {uptime} · {running} 个进行中 · {waiting} 个等待 · {unsent} 条未发送",
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
    fn an_error_is_told_as_a_sentence() {
        let told = |text: &str, language| format_error(&Error::Failed(text.to_owned()), language);
        assert_eq!(told("éa is gone", Language::English), "Éa is gone.");
        assert_eq!(told("Why?", Language::English), "Why?");
        assert_eq!(told("it failed", Language::Chinese), "出错了：It failed.");
        assert_eq!(told("磁盘已满。", Language::Chinese), "磁盘已满。");
        for (language, sentence) in [
            (Language::German, "Fehler: Cannot read /a: gone."),
            (Language::Japanese, "エラー: Cannot read /a: gone."),
        ] {
            let io = std::io::Error::other("gone");
            let error = Error::io("read", "/a")(io);
            assert_eq!(format_error(&error, language), sentence);
        }
        let missing = Error::io("open", "a.txt")(ErrorKind::NotFound.into());
        let of_missing = format_error(&missing, Language::German);
        assert_eq!(of_missing, "`a.txt` gibt es nicht.");
        let german = Error::Usage("das geht nicht".to_owned());
        assert_eq!(format_error(&german, Language::German), "Das geht nicht.");
        assert_eq!(told("不可能", Language::Japanese), "不可能。");
        let unknown = "mine 没有名为 `x` 的模型";
        assert_eq!(told(unknown, Language::Chinese), format!("{unknown}。"));
    }

    #[test]
    fn a_time_is_told_in_two_units() {
        let told = |minutes| format_minutes(minutes, Language::English);
        assert_eq!(told(59), "59 min");
        assert_eq!(told(61), "1 h 1 min");
        assert_eq!(told(24 * 60 * 3 + 60), "3 d 1 h");
        assert_eq!(format_minutes(61, Language::Chinese), "1 小时 1 分钟");
    }
}
