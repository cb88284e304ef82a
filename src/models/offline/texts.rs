//! What the offline helper says, in each language.

use crate::base::language::texts;

texts! {
    /// The answer to a greeting; an introduction follows.
    pub fn greeting() { "Hello! ", "你好！" }
    /// The answer to thanks.
    pub fn thanks() { "You're welcome.", "不客气。" }
    /// The answer to a yes or no, which reaches the helper where it answers no open question.
    pub fn nothing_asked() {
        "I can't tell what this answers. If a question is open, press its button or reply to it.",
        "我不知道这是在回答什么。如果还有问题没有回答，请按它的按钮，或直接回复那条消息。",
    }
    /// Who speaks; examples follow.
    pub fn introduction() {
        "I'm Peacrab's offline helper. No language model is connected, so I only understand simple requests, such as:\n",
        "我是 Peacrab 的离线助手。目前没有连接语言模型，所以我只能理解简单的请求，例如：\n",
    }
    /// Before the introduction, where a message was not understood.
    pub fn not_understood() { "I don't understand that. ", "我没有听懂。" }
    /// How to connect a model.
    pub fn connect() {
        "To connect a model, run `peacrab onboard`, or set a key such as ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY. A model server on this machine (Ollama, LM Studio, vLLM) is found automatically.",
        "要连接模型，请运行 `peacrab onboard`，或设置 ANTHROPIC_API_KEY、OPENAI_API_KEY、OPENROUTER_API_KEY 等密钥变量。本机的模型服务（Ollama、LM Studio、vLLM）会自动识别。",
    }
    /// Below the results of a tool.
    pub fn signature() {
        "(offline helper: type `help` for what I understand)",
        "（离线助手：输入“帮助”查看我能做什么）",
    }
    /// A request for a reminder.
    pub fn how_to_remind() {
        "To set a reminder, type /remind and when, for example `/remind 20m take the bread out`.",
        "设置提醒请输入 /remind 和时间，例如 `/remind 20分钟后 取面包`。",
    }
    /// A request for a reminder that lacks a time or what it is about.
    pub fn what_to_remind() {
        "I miss the time or what it is about. Say both in one sentence, for example `remind me at seven to call mum`.",
        "缺少时间或内容。请在一句话里说明两者，例如 `明天7:00提醒我给妈妈打电话`。",
    }
    /// A request for a reminder that lacks a time; `example` is the same with one, as inline code.
    pub fn when_to_remind(example) {
        "When should I remind you? Say it all in one message, for example {example}.",
        "什么时候提醒你？请在一条消息里说明，例如 {example}。",
    }
    /// Below a list, to a request to remove a reminder that fits none of it, or several; `command` is inline code.
    pub fn which_to_cancel(command) {
        "Which one? Type /cron remove and its name or id, for example {command}.",
        "要删除哪一个？请输入 /cron remove 和名称或 id，例如 {command}。",
    }
    /// A question about updates.
    pub fn how_to_update() {
        "On the board, `peacrab update --check` looks for a newer version of Peacrab. In a chat, `/sh! apt list --upgradable` lists the updates of Raspberry Pi OS or Debian, after asking you.",
        "在开发板上，`peacrab update --check` 检查 Peacrab 的新版本。在聊天中，`/sh! apt list --upgradable` 在征求你的同意后列出 Raspberry Pi OS 或 Debian 的更新。",
    }
    /// A request for a restart of the board.
    pub fn how_to_reboot() {
        "In a chat, /reboot restarts the board and /shutdown switches it off. I'll ask you first.",
        "在聊天中，/reboot 重启开发板，/shutdown 关机。我会先向你确认。",
    }
    /// A question about what runs on the board.
    pub fn how_to_see_running() {
        "In a chat, /top shows what is running, /svc shows the services, and `/sh! who` shows who is logged in, after asking you.",
        "在聊天中，/top 显示正在运行的程序，/svc 显示服务，`/sh! who` 在征求你的同意后显示谁已登录。",
    }
    /// A request to be told when something is wrong; `command` is inline code.
    pub fn how_to_watch(command) {
        "In a chat, /watch tells you when something is wrong, for example {command}. This needs no model.",
        "在聊天中，/watch 会在出现异常时告诉你，例如 {command}。这不需要模型。",
    }
    /// A file came; `path` is inline code, and how to connect a model follows.
    pub fn stored(path) {
        "Stored as {path}. Questions about what is in it need a language model.\n\n",
        "已保存为 {path}。要就其内容提问，需要语言模型。\n\n",
    }
    /// The time.
    pub fn time(time) { "It is {time}", "现在是 {time}" }
    /// Where the runtime has not told the time.
    pub fn no_time() { "I don't know the time.", "我不知道现在的时间。" }
    /// A tool that would be needed is not there.
    pub fn cannot(action, tool) {
        "I can't {action}: the tool `{tool}` is turned off.",
        "我不能{action}：工具 `{tool}` 已关闭。",
    }
    /// What cannot be done without `device`.
    pub fn action_device() { "show how the board is doing", "查看设备状态" }
    /// What cannot be done without `exec`.
    pub fn action_exec() { "run commands", "运行命令" }
    /// What cannot be done without a tool for files.
    pub fn action_files() { "do that with files", "这样处理文件" }
    /// A tool that succeeded without output.
    pub fn done() { "Done. There was no output.", "完成，没有输出。" }
    /// A tool that failed.
    pub fn failed(error) { "That didn't work: {error}", "没有成功：{error}" }

    /// A reminder that is planned now: `job` in a line.
    pub fn planned(job) { "Planned: {job}", "已设置提醒：{job}" }
    /// A reminder that is removed now.
    pub fn removed(job) { "Removed: {job}", "已删除提醒：{job}" }
    pub fn nothing_planned() { "No reminders are planned.", "没有提醒。" }

    /// What the tool for the board says, as a reader finds it: its names of what is measured, and words around values.
    pub fn label_temperature() { "- Temperature: ", "- 温度：" }
    pub fn label_throttling() { "- Throttling: ", "- 降频：" }
    pub fn label_load() { "- Load: ", "- 负载：" }
    pub fn label_memory() { "- Memory: ", "- 内存：" }
    pub fn label_disk() { "- Disk: ", "- 磁盘：" }
    pub fn label_network() { "- Network ", "- 网络 " }
    pub fn label_uptime() { ", up ", "，已运行 " }
    /// A network that is connected; its addresses follow.
    pub fn label_up() { ": up, ", "：已连接，" }
    pub fn label_down() { ": down", "：未连接" }
    /// Between two amounts.
    pub fn label_free() { " free of ", " 可用，共 " }
    pub fn label_used() { "% used", "% 已用" }
    pub fn label_unknown() { "not available", "未知" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
