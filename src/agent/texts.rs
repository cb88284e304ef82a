//! What the agent says to people, in each language.

use crate::chat::Usage;
use crate::language::{Language, texts};

/// The tokens of a request, or of many.
pub fn format_usage(usage: Usage, language: Language) -> String {
    let Usage {
        input,
        output,
        cached,
    } = usage;
    match cached {
        0 => usage_plain(language, &input, &output),
        _ => usage_cached(language, &input, &cached, &output),
    }
}

/// What a built-in tool does; `None` for any other.
pub fn describe_tool(name: &str, language: Language) -> Option<&'static str> {
    Some(match name {
        "read_file" => tool_read_file(language),
        "write_file" => tool_write_file(language),
        "append_file" => tool_append_file(language),
        "edit_file" => tool_edit_file(language),
        "list_dir" => tool_list_dir(language),
        "find_files" => tool_find_files(language),
        "grep" => tool_grep(language),
        "exec" => tool_exec(language),
        "exec_session" => tool_exec_session(language),
        "device" => tool_device(language),
        "memory" => tool_memory(language),
        "message" => tool_message(language),
        _ => return None,
    })
}

texts! {
    pub fn help_help() { "List the commands", "列出所有命令" }
    pub fn help_new() {
        "Start a new conversation (the old one is kept)",
        "开始新对话（旧对话会保留）",
    }
    pub fn help_compact() {
        "Replace the older half of this conversation by a summary, to save tokens",
        "把这个对话较早的一半换成摘要，以节省 token",
    }
    pub fn help_status() {
        "Show the model, the conversation and the board",
        "显示模型、对话和开发板的状态",
    }
    pub fn help_model() { "List the models, or choose one: /model NAME", "列出模型或选择一个：/model 名称" }
    pub fn help_tools() { "List the tools", "列出可用工具" }
    pub fn help_usage() { "Token usage by day", "查看每天的 token 用量" }
    pub fn help_memory() {
        "Show what is remembered, or search it: /memory WORDS",
        "显示记住的内容，或搜索：/memory 关键词",
    }
    pub fn help_context() { "Show what fills the model's context", "查看模型上下文的占用情况" }
    pub fn help_sh() {
        "Run a command: /sh df -h; /sh !COMMAND asks to run it outside the sandbox",
        "运行命令：/sh df -h；/sh !命令 会请求在沙箱外运行",
    }
    pub fn help_stop() { "Stop what is running in this chat", "停止此聊天中正在运行的一切" }
    pub fn help_approve() {
        "Allow the pending command: /approve [NUMBER] [always]",
        "允许待批准的命令：/approve [编号] [always]",
    }
    pub fn help_deny() { "Refuse it: /deny [NUMBER]", "拒绝待批准的命令：/deny [编号]" }
    pub fn help_approvals() {
        "Commands that are always allowed here: /approvals [remove NUMBER]",
        "此处始终允许的命令：/approvals [remove 编号]",
    }
    pub fn help_pair() { "Give someone access: /pair CODE", "授予他人访问权限：/pair 配对码" }
    pub fn help_id() { "Show the ids of this chat and of you", "显示此聊天和你的 ID" }
    pub fn help_agents() { "Show which agent answers here", "显示由哪个智能体在此回答" }
    pub fn help_restart() { "Restart Peacrab", "重启 Peacrab" }
    pub fn help_update() { "Look for a new version and install it", "检查并安装新版本" }
    pub fn help_exit() { "Quit (or Ctrl-D)", "退出（或按 Ctrl-D）" }

    pub fn unknown_command(word) {
        "Unknown command /{word}. See /help.",
        "未知命令 /{word}。发送 /help 查看所有命令。",
    }
    pub fn unknown_command_near(word, near) {
        "Unknown command /{word}. Did you mean /{near}?",
        "未知命令 /{word}。你是想用 /{near} 吗？",
    }

    /// The answer to `/memory`.
    pub fn memory_empty() { "Nothing is remembered yet.", "还没有记住任何内容。" }
    pub fn memory_more(left) {
        "{left} more characters are in memory/MEMORY.md.",
        "memory/MEMORY.md 中还有 {left} 个字符。",
    }
    pub fn memory_logged(time) { "Last entry in the history: {time}", "最近的历史记录：{time}" }
    pub fn memory_versions(count) {
        "Earlier versions: {count} (`peacrab memory restore` on the board brings one back)",
        "早期版本：{count} 个（在开发板上用 `peacrab memory restore` 恢复）",
    }
    pub fn memory_how() {
        "Search: `/memory WORDS`, with \"exact phrases\" or a date such as 2026-11",
        "搜索：`/memory 关键词`，也可以用 \"准确短语\" 或 2026-11 这样的日期",
    }
    pub fn memory_not_found() {
        "Nothing found. Try other or fewer words.",
        "没有找到。请换用其他关键词或减少关键词。",
    }

    /// The answer to `/new`.
    pub fn started_new() {
        "Started a new conversation. The old one is still saved.",
        "已开始新对话。旧对话仍然保留。",
    }
    /// `before` and `after`: tokens of the conversation.
    pub fn compacted(turns, before, after) {
        "Compacted. Turns that are a summary now: {turns}. Tokens of the conversation: {before} → {after}.",
        "已压缩。{turns} 轮对话变成了摘要；对话的 token：{before} → {after}。",
    }
    pub fn nothing_to_compact() {
        "There is nothing to compact here yet.",
        "这里还没有可以压缩的内容。",
    }
    /// After [`started_new`], where there is something to remember.
    pub fn remembered_later() {
        "What matters of it goes into my memory in the background.",
        "其中重要的内容会在后台存入我的记忆。",
    }
    pub fn ended_command(name) {
        "1 background command was ended: {name}.",
        "已结束 1 个后台命令：{name}。",
    }
    pub fn ended_commands(count, names) {
        "{count} background commands were ended: {names}.",
        "已结束 {count} 个后台命令：{names}。",
    }
    /// Between the members of a list.
    pub fn comma() { ", ", "、" }
    /// After the named members of a list.
    pub fn and_more(count) { " and {count} more", "等（另有 {count} 个）" }

    /// Both are numbers of tokens; so are all numbers below it.
    pub fn context_used(used, window) {
        "The next request uses about {used} of {window} tokens.",
        "下一次请求约占用 {window} 个 token 中的 {used} 个。",
    }
    pub fn context_left(left, answer) {
        "{left} are left, and {answer} more are kept for the answer.",
        "还剩 {left} 个，另为回答预留 {answer} 个。",
    }
    pub fn context_row(name, tokens) { "- {name}: {tokens}", "- {name}：{tokens}" }
    pub fn context_tools(count) { "{count} tools", "{count} 个工具" }
    pub fn context_turn() { "conversation, 1 turn", "对话，1 轮" }
    pub fn context_turns(count) { "conversation, {count} turns", "对话，{count} 轮" }
    pub fn context_facts() { "time and chat", "时间与聊天信息" }
    pub fn context_cut(name, bytes) {
        "{bytes} bytes of {name} do not fit and are left out.",
        "{name} 有 {bytes} 字节超出限制，未包含在内。",
    }

    pub fn model(name) { "Model: {name}", "模型：{name}" }
    /// `others`: the fallback models.
    pub fn model_with_fallbacks(name, others) {
        "Model: {name}, then {others}",
        "模型：{name}，备用：{others}",
    }
    pub fn no_model() {
        "No model is connected; the offline helper answers",
        "尚未连接模型，由离线助手回答",
    }
    pub fn model_error(error) { "No model: {error}", "没有可用模型：{error}" }
    /// `name` as inline code.
    pub fn no_provider_for(name) {
        "No provider is connected that could run {name}, so the offline helper answers. \
         `peacrab onboard` connects one.",
        "没有已连接的服务商能运行 {name}，因此由离线助手回答。运行 `peacrab onboard` 即可连接。",
    }

    /// The heading of the models that a provider's server offers, where buttons are below.
    pub fn offers_tapped(provider) {
        "{provider} offers (tap one, or send /model NAME):",
        "{provider} 提供以下模型（点击选择，或发送 /model 名称）：",
    }
    /// The same without buttons.
    pub fn offers_typed(provider) {
        "{provider} offers (choose with /model NAME):",
        "{provider} 提供以下模型（用 /model 名称 选择）：",
    }
    pub fn more_offers(count) { "and {count} more", "另有 {count} 个" }
    /// `model` as inline code.
    pub fn unknown_model(provider, model) {
        "No model named {model} at {provider}. /model lists what it offers.",
        "{provider} 没有名为 {model} 的模型。/model 会列出可用的模型。",
    }
    pub fn unknown_model_near(provider, model, near) {
        "No model named {model} at {provider}. Did you mean {near}?",
        "{provider} 没有名为 {model} 的模型。你是想用 {near} 吗？",
    }
    /// Between the last two alternatives.
    pub fn or() { " or ", "、" }
    pub fn unchecked_model(error) {
        "I could not check the name: {error}",
        "无法核对模型名称：{error}",
    }

    pub fn status_message(chat) {
        "Conversation: {chat}, 1 message in context",
        "对话：{chat}，上下文中有 1 条消息",
    }
    pub fn status_messages(chat, count) {
        "Conversation: {chat}, {count} messages in context",
        "对话：{chat}，上下文中有 {count} 条消息",
    }
    pub fn status_agent(label) { "Agent: {label}", "智能体：{label}" }
    pub fn status_workspace(path) { "Workspace: {path}", "工作区：{path}" }
    pub fn status_today(tokens) { "Tokens today: {tokens}", "今日 token：{tokens}" }

    fn usage_plain(input, output) {
        "{input} in, {output} out",
        "输入 {input}，输出 {output}",
    }
    fn usage_cached(input, cached, output) {
        "{input} in ({cached} cached), {output} out",
        "输入 {input}（缓存 {cached}），输出 {output}",
    }
    pub fn tokens_on(day) { "Tokens on {day}:", "{day} 的 token 用量：" }
    pub fn no_tokens() { "none yet", "暂无" }

    fn tool_read_file() { "Read a file", "读取文件" }
    fn tool_write_file() { "Write a file", "写入文件" }
    fn tool_append_file() { "Add to the end of a file", "在文件末尾追加内容" }
    fn tool_edit_file() { "Change part of a file", "修改文件的一部分" }
    fn tool_list_dir() { "List a folder", "列出文件夹" }
    fn tool_find_files() { "Find files by name", "按名称查找文件" }
    fn tool_grep() { "Search in files", "在文件中搜索" }
    fn tool_exec() { "Run a shell command in the sandbox", "在沙箱中运行命令" }
    fn tool_exec_session() { "Manage background commands", "管理后台命令" }
    fn tool_device() { "Read the state of the board", "读取开发板的状态" }
    fn tool_memory() { "Search the memory and past conversations, or add a note", "搜索记忆和以往的对话，或添加笔记" }
    fn tool_message() { "Send a message, files or buttons", "发送消息、文件或按钮" }

    /// `hints`: the tools that were used, such as `read_file("a")`.
    pub fn done_so_far(hints) { " Done so far: {hints}.", "目前已完成：{hints}。" }
    /// `done`: [`done_so_far`], or empty.
    pub fn step_limit(steps, done) {
        "I stopped at the limit of {steps} steps (agents.defaults.maxToolIterations).{done} Tell me \
         to go on, or split the task into smaller parts.",
        "已达到 {steps} 步的上限（agents.defaults.maxToolIterations），我停了下来。{done}\
         你可以让我继续，或把任务拆小。",
    }
    pub fn circles(tool, done) {
        "I stopped because I was going in circles: the same {tool} call again and again, with the \
         same result.{done} Tell me what to do differently.",
        "我一直在重复同样的 {tool} 调用，没有新的结果，所以停了下来。{done}请告诉我该换哪种做法。",
    }
    pub fn empty_answer() {
        "The model returned an empty answer twice. Try again or rephrase.",
        "模型两次都没有给出回答。请重试或换个说法。",
    }
    pub fn filtered() {
        "The provider's content filter refused the answer. Rephrase, or use another model.",
        "服务商的内容过滤器拒绝了回答。请换个说法，或使用其他模型。",
    }
    pub fn cut_answer() {
        "[The answer was cut off: it exceeded the maximum length (agents.defaults.maxTokens) twice.]",
        "[回答被截断：两次超出最大长度（agents.defaults.maxTokens）。]",
    }
    pub fn repeated(hint, times) { "{hint} {times} times", "{hint} {times} 次" }
    pub fn more_hints(count) { "and {count} more", "另有 {count} 个" }

    pub fn shortened() {
        "the conversation is too long for the model; asking again with less of it",
        "对话超出模型的长度限制，正在缩短内容并重新请求",
    }
    pub fn offline_stands_in() {
        "until then, the offline helper does what it can",
        "在此之前，由离线助手尽力处理",
    }
    pub fn too_many_tokens(used, limit) {
        "Daily token limit reached ({used} of {limit}). It resets at midnight; \
         `peacrab config set limits.tokensPerDay NUMBER` raises it.",
        "今日 token 已达上限（{used}/{limit}），午夜后重置。\
         如需提高上限，请运行 `peacrab config set limits.tokensPerDay 数值`。",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::language::check_table(super::TABLE);
    }
}
