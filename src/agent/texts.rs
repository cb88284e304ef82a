//! What the agent says to people, in each language.

use std::fmt::Display;

use crate::base::language::{Language, texts};

/// What to do about a first message that is too long for a model.
pub(super) const FIRST_TOO_LONG: &str =
    "Lower agents.defaults.maxTokens, or use a model with a larger context window";

/// What the model is told about a person who is no owner.
pub(super) const FACT_USER: &str =
    "\nThe person is a user, not an owner: what needs an approval is asked of an owner elsewhere.";

/// What the model is told where no one can be asked for an approval.
pub(super) const FACT_UNATTENDED: &str =
    "\nNo one can be asked for an approval now: what needs one is refused.";

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
        "watch" => tool_watch(language),
        "spawn" => tool_spawn(language),
        "device" => tool_device(language),
        "memory" => tool_memory(language),
        "message" => tool_message(language),
        "cron" => tool_cron(language),
        "web_search" => tool_web_search(language),
        "web_fetch" => tool_web_fetch(language),
        "find_tools" => tool_find_tools(language),
        _ => return None,
    })
}

/// A line about a setting, and a sentence about it.
pub fn with_note(language: Language, line: &dyn Display, note: &dyn Display) -> String {
    let (stop, space) = (language.full_stop(), language.sentence_space());
    format!("{line}{stop}{space}{note}")
}

texts! {
    pub fn no_change() {
        "No change is known.",
        "没有已知的更改。",
    }
    pub fn undone(path) {
        "{path} is as it was before. Send /undo again to bring the change back.",
        "{path} 已恢复到之前的版本。再次发送 /undo 可恢复该更改。",
    }
    pub fn prompt_changed(files) {
        "Changed: {files}. See /diff, or take it back with /undo.",
        "已更改：{files}。用 /diff 查看，用 /undo 撤销。",
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
    /// The answer to `/lessons`.
    pub fn no_lessons() {
        "No lessons yet. When a call of a tool fails and another way works, I note what helped.",
        "还没有经验。当一次工具调用失败、换个方法成功时，我会记下有效的做法。",
    }
    /// Below the lessons.
    pub fn lessons_how() {
        "`/lessons remove NUMBER` takes one away.",
        "`/lessons remove 编号` 删除一条。",
    }
    pub fn no_lesson(number) { "There is no lesson {number}. /lessons lists them.", "没有第 {number} 条经验。/lessons 会列出全部。" }
    pub fn lesson_removed(lesson, undo) {
        "Removed: {lesson}\n{undo} brings it back.",
        "已删除：{lesson}\n{undo} 可恢复。",
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
    /// Below the list of skills. `example`: the name of one.
    pub fn skills_usage(example) {
        "`/skills {example}` shows one; `${example}` in a message loads it.",
        "`/skills {example}` 查看一个技能；在消息中写 `${example}` 可加载它。",
    }
    pub fn skill_unavailable(reasons) { "not available: {reasons}", "不可用：{reasons}" }
    pub fn skill_own() { "yours", "自有" }
    /// `name` as inline code.
    pub fn unknown_skill(name) {
        "No skill named {name}. /skills lists them.",
        "没有名为 {name} 的技能。/skills 会列出所有技能。",
    }
    pub fn skill_rest(path) { "The rest is in {path}.", "其余内容见 {path}。" }
    pub fn skill_program(name) { "the program {name} is not installed", "未安装程序 {name}" }
    pub fn skill_any_program(names) {
        "one of the programs {names} must be installed",
        "需要安装以下程序之一：{names}",
    }
    pub fn skill_variable(name) {
        "the environment variable {name} is not set, or not in tools.exec.allowedEnvKeys",
        "环境变量 {name} 未设置，或不在 tools.exec.allowedEnvKeys 中",
    }
    pub fn skill_system(names) { "it is for {names} only", "仅适用于 {names}" }
    pub fn skill_commands() {
        "commands are turned off (tools.exec.enabled)",
        "命令已关闭（tools.exec.enabled）",
    }
    pub fn skill_unreadable(error) { "it cannot be read: {error}", "无法读取：{error}" }

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
    pub fn context_identity() { "identity", "身份与运行环境" }
    pub fn context_introduction() { "first conversation", "初次对话" }
    pub fn context_skills() { "skills", "技能" }
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
    /// The heading of a further provider's models.
    pub fn offers(provider) { "{provider} offers:", "{provider} 提供以下模型：" }
    /// Below the models, when a window or a price is behind some.
    pub fn offers_legend() {
        "Behind a name: the context window in tokens, and the price of a million tokens in and out.",
        "名称后为上下文窗口（token）及每百万 token 的输入/输出价格。",
    }
    /// `name` as inline code.
    pub fn which_provider(name) {
        "Several providers have {name}. Which one do you mean?",
        "多个服务商都有 {name}。你想用哪一个？",
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
    /// Behind the model of a conversation that was named with its provider.
    pub fn unlisted_model(provider, model) {
        "{provider} does not list {model}; I use the name as you wrote it.",
        "{provider} 没有列出 {model}；将按你写的名称使用。",
    }
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
    pub fn status_today(usage) { "Tokens today: {usage}", "今日 token：{usage}" }
    pub fn status_context(used, window, left, percent) {
        "Context: {used} of {window} tokens used ({percent}%), {left} left",
        "上下文：已用 {used}，共 {window} token（{percent}%），剩余 {left}",
    }
    pub fn status_context_unused(window) {
        "Context: nothing sent yet, {window} tokens left",
        "上下文：尚未发送内容，剩余 {window} token",
    }
    pub fn status_cache(percent) {
        "Cache: {percent}% of the last turn's input came from the provider's cache",
        "缓存：上一轮输入的 {percent}% 来自服务商的缓存",
    }
    pub fn status_memory(size) { "Long-term memory: {size} kB", "长期记忆：{size} kB" }
    pub fn status_no_memory() { "Long-term memory: empty", "长期记忆：空" }

    /// The amount of thinking: [`think_default`], a level, or a level that is the default.
    pub fn thinking(level) { "Thinking: {level}", "思考：{level}" }
    pub fn think_default() { "the model's own default", "模型的默认设置" }
    pub fn think_configured(level) { "{level} (default)", "{level}（默认）" }
    pub fn think_how() {
        "Change it with /think off, low, medium, high, xhigh, max or default.",
        "用 /think off、low、medium、high、xhigh、max 或 default 更改。",
    }
    pub fn think_unknown(word) {
        "Unknown level {word}. Use /think off, low, medium, high, xhigh, max or default.",
        "未知的级别 {word}。请用 /think off、low、medium、high、xhigh、max 或 default。",
    }
    pub fn think_never(model) {
        "{model} does not think, so this changes nothing.",
        "{model} 不会思考，因此此设置不起作用。",
    }
    pub fn think_not_with_tools(model) {
        "{model} thinks only in requests without tools, and I always send mine, so this changes nothing.",
        "{model} 只在不带工具的请求中思考，而我总会带上工具，因此此设置不起作用。",
    }
    pub fn think_always(model) {
        "{model} always thinks. With off it thinks as little as it can.",
        "{model} 始终会思考。设为 off 时会尽量少思考。",
    }

    pub fn no_usage(days) {
        "No requests to a model in the last {days} days.",
        "近 {days} 天没有对模型的请求。",
    }
    pub fn usage_title() { "Tokens and cost:", "token 用量和费用：" }
    pub fn usage_by_model() { "By model, in 30 days:", "近 30 天各模型：" }
    /// The requests to a model that review answers.
    pub fn usage_reviews(model) { "{model}, reviews of answers", "{model}，审核回答" }
    /// What is going on, in a few words.
    pub fn reviewing() { "checking the answer", "正在检查回答" }
    /// A reviewer sends an answer back.
    pub fn review_refused() { "a review sent the answer back", "审核退回了这个回答" }
    /// Below an answer.
    pub fn review_doubts(why) {
        "⚠️ A review of this answer still has doubts: {why}",
        "⚠️ 对这个回答的审核仍有疑问：{why}",
    }
    pub fn usage_today() { "Today", "今天" }
    pub fn usage_yesterday() { "Yesterday", "昨天" }
    pub fn usage_days(count) { "{count} days", "近 {count} 天" }
    /// Between a name and what it has.
    pub fn colon() { ": ", "：" }
    /// Between two parts of a sentence.
    pub fn clause_comma() { ", ", "，" }
    pub fn usage_plain(input, output) {
        "{input} in, {output} out",
        "输入 {input}，输出 {output}",
    }
    pub fn usage_cached(input, percent, output) {
        "{input} in ({percent}% cached), {output} out",
        "输入 {input}（缓存 {percent}%），输出 {output}",
    }
    pub fn no_tokens() { "none yet", "暂无" }
    pub fn at_least(dollars) { "at least {dollars}", "至少 {dollars}" }
    pub fn price_unknown() { "price unknown", "价格未知" }
    pub fn free() { "free", "免费" }
    /// `date`: the month of the built-in prices.
    pub fn about_prices(date) {
        "Amounts in US dollars; the built-in prices are as of {date}.",
        "金额以美元计；内置价格截至 {date}。",
    }
    pub fn how_to_set_prices() {
        "Some requests have no known price. `peacrab config explain providers.NAME.prices` tells how \
         to set it.",
        "部分请求的价格未知。运行 `peacrab config explain providers.NAME.prices` 查看如何设置。",
    }
    /// `assumed` in dollars.
    pub fn counts_as_dearest(assumed) {
        "Requests without a known price count as {assumed} today, as much as the dearest model in the list would have \
         cost; `peacrab config explain providers.NAME.prices` tells how to set the price.",
        "价格未知的请求今日按列表中最贵的模型计为 {assumed}；\
         运行 `peacrab config explain providers.NAME.prices` 查看如何设置价格。",
    }
    /// `about`: where the price comes from.
    pub fn price(input, output, about) {
        "Price: ${input} in, ${output} out per million tokens ({about})",
        "价格：每百万 token 输入 ${input}，输出 ${output}（{about}）",
    }
    pub fn price_configured() { "as configured", "按配置" }
    pub fn price_as_of(date) { "as of {date}", "截至 {date}" }
    pub fn price_free() { "Price: nothing per token (your own server, a free model or a subscription)", "价格：不按 token 计费（自己的服务器、免费模型或订阅）" }
    pub fn price_not_known() { "Price: unknown", "价格：未知" }

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
    fn tool_cron() { "Plan reminders and jobs", "设置提醒和定时任务" }
    fn tool_web_search() { "Search the web", "搜索网页" }
    fn tool_find_tools() { "Find tools of MCP servers", "查找 MCP 服务器的工具" }
    fn tool_web_fetch() { "Read a web page", "读取网页" }
    fn tool_watch() { "Tell you when something happens on the board", "开发板上有情况时通知你" }
    fn tool_spawn() { "Give a task to a subagent", "把任务交给子代理" }
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
    pub fn token_limit(steps, done) {
        "I stopped after {steps} steps: the tokens of a subagent were used up.{done}",
        "子代理的 token 已用完，我在 {steps} 步后停了下来。{done}",
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
    pub fn thought_too_long() {
        "The model's thinking used up all tokens of its reply. Raise agents.defaults.maxTokens, or choose a lower \
         level with /think.",
        "模型的思考用完了回复的全部 token。请调高 agents.defaults.maxTokens，或用 /think 选择更低的级别。",
    }
    /// In place of an answer of which nothing is seen.
    pub fn nothing_shown() { "(empty answer)", "（空回答）" }
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
    pub fn without_tools(model) {
        "{model} cannot use tools: it can talk, but not read files, run commands, set reminders or look things up",
        "{model} 不能使用工具：可以对话，但不能读文件、运行命令、设置提醒或查资料",
    }
    pub fn blind(model) {
        "{model} cannot see pictures: it knows where the file is, but not what is in it. /model chooses another model.",
        "{model} 看不到图片：它只知道文件的位置，不知道内容。可用 /model 换一个模型。",
    }
    /// After [`blind`], for owners.
    pub fn blind_by_name(provider) {
        " If it can, run `peacrab config set providers.{provider}.images true`.",
        "如果它能看图，请运行 `peacrab config set providers.{provider}.images true`。",
    }
    pub fn blind_helper() {
        "The offline helper cannot see pictures. The file is kept in the workspace.",
        "离线助手看不到图片。文件已保存在工作区中。",
    }
    pub fn picture_unusable(name, megabytes) {
        "{name} is kept, but not shown to the model: pictures are JPEG, PNG, GIF or WebP of at most {megabytes} MB.",
        "{name} 已保存，但没有交给模型：图片须为 JPEG、PNG、GIF 或 WebP，且不超过 {megabytes} MB。",
    }
    pub fn document_misnamed(name) {
        "{name} is kept, but it is not the kind of document that its name says, so I can't read it as one.",
        "{name} 已保存，但它并不是文件名所示的文档类型，因此无法按该类型读取。",
    }
    pub fn document_empty(name) {
        "{name} is kept, but it is empty, so there is nothing to read in it.",
        "{name} 已保存，但它是空文件，没有可读的内容。",
    }
    pub fn document_unreadable(name) {
        "{name} is kept, but I can't read it: it is damaged, protected by a password, or too large.",
        "{name} 已保存，但无法读取：文件已损坏、受密码保护或过大。",
    }
    pub fn document_other(name) {
        "{name} is kept, but I can't read this kind of document. Save it as .docx, .xlsx or PDF and send it again.",
        "{name} 已保存，但我无法读取这种文档。请另存为 .docx、.xlsx 或 PDF 后重新发送。",
    }
    pub fn document_scan(name) {
        "{name} is kept, but its pages are pictures without text (a scan), so I can't read them. Send them as photos instead.",
        "{name} 已保存，但它的页面是没有文字的图片（扫描件），因此无法读取。请改为以照片形式发送。",
    }
    pub fn document_partial(name) {
        "{name} is kept, but the file is damaged or was cut off: a part of it is missing, and I read what is there.",
        "{name} 已保存，但文件已损坏或不完整：缺少一部分内容，我只能读取现有的部分。",
    }
    pub fn document_locked(name) {
        "{name} is kept, but I can't read it: it is protected by a password, or of an old format. Save it without a password as .docx, .xlsx or PDF and send it again.",
        "{name} 已保存，但无法读取：它受密码保护，或是旧格式。请不带密码另存为 .docx、.xlsx 或 PDF 后重新发送。",
    }
    /// Both are models.
    pub fn silent(silent, next) {
        "{silent} gave no answer; using {next} instead",
        "{silent} 没有给出回答；改用 {next}",
    }
    /// To people who cannot change the settings.
    pub fn failed_for_others() {
        "Something went wrong on my side, so I cannot answer. Please tell the owner.",
        "我这边出了问题，无法回答。请告诉主人。",
    }
    pub fn offline_stands_in() {
        "until then, the offline helper does what it can",
        "在此之前，由离线助手尽力处理",
    }
    /// `used` and `limit` in dollars.
    /// To people who are no owners.
    pub fn others_used_up(used, limit) {
        "The part of today's limit that is for people other than owners is used up ({used} of {limit}). It resets at \
         midnight; owners can still ask.",
        "今日上限中供所有者以外的人使用的部分已用完（{used}/{limit}），午夜后重置；所有者仍可继续使用。",
    }
    /// In `/usage`.
    pub fn used_by_others(used, limit) {
        "People other than owners have used {used} of the {limit} that are theirs today.",
        "所有者以外的人今日已使用 {used}，上限为 {limit}。",
    }
    pub fn too_expensive(used, limit) {
        "Daily cost limit reached ({used} of {limit}). It resets at midnight; \
         `peacrab config set limits.usdPerDay NUMBER` raises it.",
        "今日费用已达上限（{used}/{limit}），午夜后重置。\
         如需提高上限，请运行 `peacrab config set limits.usdPerDay 数值`。",
    }
    pub fn too_many_tokens(used, limit) {
        "Daily token limit reached ({used} of {limit}). It resets at midnight; \
         `peacrab config set limits.tokensPerDay NUMBER` raises it.",
        "今日 token 已达上限（{used}/{limit}），午夜后重置。\
         如需提高上限，请运行 `peacrab config set limits.tokensPerDay 数值`。",
    }
    pub fn no_mcp() {
        "No servers of tools are set up. `peacrab mcp add` on the board adds one.",
        "尚未设置工具服务器。请在开发板上用 `peacrab mcp add` 添加。",
    }
    pub fn mcp_not_listed() { "not used yet", "尚未使用" }
    pub fn mcp_failed(why) { "failed: {why}", "失败：{why}" }
    pub fn mcp_one_tool() { "1 tool", "1 个工具" }
    pub fn mcp_tools(count) { "{count} tools", "{count} 个工具" }
    pub fn mcp_needs_login(name) {
        "needs a login: `/mcp login {name}`",
        "需要登录：`/mcp login {name}`",
    }
    pub fn mcp_running() { "running", "运行中" }
    pub fn mcp_is_logged_in() { "logged in", "已登录" }
    pub fn mcp_searched() {
        "There are many tools, so I search them when I need one.",
        "工具很多，我会在需要时查找。",
    }
    pub fn mcp_login(server, url) {
        "To sign in to {server}, open this address in a browser:\n\n{url}\n\nAt the end the browser shows an address \
         that begins with http://127.0.0.1; it is fine if that page cannot be opened. Copy the whole address and send \
         `/mcp login NAME ADDRESS`.",
        "要登录 {server}，请在浏览器中打开此地址：\n\n{url}\n\n最后浏览器会显示以 http://127.0.0.1 开头的地址，\
         页面打不开也没关系。请复制完整地址并发送 `/mcp login 名称 地址`。",
    }
    pub fn mcp_logged_in(server) { "Logged in to {server}.", "已登录 {server}。" }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_each_language() {
        crate::base::language::check_table(super::TABLE);
    }
}
