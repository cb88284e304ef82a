//! What `/help` and menus say about each command, in each language.

use crate::base::language::texts;

texts! {
    pub fn help() { "List the commands, or explain one: /help NAME", "列出命令，或说明一个：/help 名称" }
    pub fn of_conversation() { "Conversation", "对话" }
    pub fn of_plans() { "Reminders and watches", "提醒与监视" }
    pub fn of_shell() { "Commands and files", "命令与文件" }
    pub fn of_board() { "Board", "开发板" }
    pub fn of_people() { "Approvals and people", "批准与人员" }
    pub fn of_agent() { "Agent", "智能体" }
    pub fn more_help() {
        "`/help NAME` explains one, `/help all` all of them.",
        "`/help 名称` 说明一个命令，`/help all` 说明全部。",
    }
    pub fn new() {
        "Start a new conversation (the old one is kept)",
        "开始新对话（旧对话会保留）",
    }
    pub fn compact() {
        "Replace the older half of this conversation by a summary, to save tokens",
        "把这个对话较早的一半换成摘要，以节省 token",
    }
    pub fn status() {
        "Show the model, the conversation and the board",
        "显示模型、对话和开发板的状态",
    }
    pub fn model() { "List the models, or choose one: /model NAME", "列出模型或选择一个：/model 名称" }
    pub fn tools() { "List the tools", "列出可用工具" }
    pub fn memory() {
        "Show what is remembered, or search it: /memory WORDS",
        "显示记住的内容，或搜索：/memory 关键词",
    }
    pub fn lessons() {
        "What I learned from calls that failed: /lessons [remove NUMBER]",
        "从失败的调用中学到的经验：/lessons [remove 编号]",
    }
    pub fn diff() {
        "Show the last change of a file in the prompt: /diff FILE",
        "显示提示文件的最近一次更改：/diff 文件",
    }
    pub fn undo() {
        "Take that change back: /undo FILE",
        "撤销文件的最近一次更改：/undo 文件",
    }
    pub fn think() {
        "How much the model thinks: /think off, low, medium, high, xhigh, max or default",
        "模型思考的程度：/think off、low、medium、high、xhigh、max 或 default",
    }
    pub fn voice() {
        "Voice messages: /voice on has answers spoken, /voice quiet hides what was heard",
        "语音消息：/voice on 朗读回答，/voice quiet 隐藏听到的内容",
    }
    pub fn lang() {
        "Choose the language I speak here: /lang NAME, or /lang auto",
        "选择我在这里使用的语言：/lang 名称，或 /lang auto",
    }
    pub fn mcp() {
        "List the servers of tools (MCP); /mcp login NAME signs in to one",
        "列出工具服务器（MCP）；/mcp login 名称 用于登录",
    }
    pub fn remind() { "Set a reminder: /remind 20m take the bread out", "设置提醒：/remind 20分钟后 取面包" }
    pub fn cron() { "List, add and change scheduled jobs", "列出、添加和更改定时任务" }
    pub fn usage() { "Tokens and cost by day and model", "查看每天各模型的 token 用量和费用" }
    pub fn skills() { "List the skills, or show one: /skills NAME", "列出技能，或查看一个：/skills 名称" }
    pub fn context() { "Show what fills the model's context", "查看模型上下文的占用情况" }
    pub fn term() {
        "Open a terminal: /term, /term phone, /term! (outside the sandbox)",
        "打开终端：/term、/term phone、/term!（沙箱外）",
    }
    pub fn key() {
        "Press keys in the terminal: /key ctrl-x y",
        "在终端中按键：/key ctrl-x y",
    }
    pub fn sh() {
        "Run a command: /sh df -h; /sh! COMMAND runs it on the board itself",
        "运行命令：/sh df -h；/sh! 命令 直接在开发板上运行",
    }
    pub fn r#in() {
        "Write to the running command: /in TEXT; /in ^D ends its input",
        "向正在运行的命令输入：/in 文字；/in ^D 结束输入",
    }
    pub fn bg() {
        "List the running commands, or follow one: /bg NUMBER",
        "列出正在运行的命令，或跟踪一条：/bg 编号",
    }
    pub fn history() {
        "The last commands: /history, /history TEXT; /sh !! runs the last again",
        "最近的命令：/history、/history 文字；/sh !! 再次运行上一条",
    }
    pub fn get() { "Send a file, or a folder as an archive: /get PATH", "发送文件或打包的文件夹：/get 路径" }
    pub fn put() { "Store a file, as its caption: /put PATH", "保存文件（作为附件说明）：/put 路径" }
    pub fn ls() { "List a folder: /ls PATH", "列出文件夹：/ls 路径" }
    pub fn stop() { "Stop what is running in this chat", "停止此聊天中正在运行的一切" }
    pub fn tasks() { "Show the subagents of this chat, or a plan's board: /tasks NAME", "查看此聊天的子代理，或计划的看板：/tasks 名称" }
    pub fn plan() { "Have a goal reached in steps that are checked: /plan GOAL", "分步完成并核查一个目标：/plan 目标" }
    pub fn approve() {
        "Allow the pending command: /approve [NUMBER] [always]",
        "允许待批准的命令：/approve [编号] [always]",
    }
    pub fn deny() { "Refuse it: /deny [NUMBER]", "拒绝待批准的命令：/deny [编号]" }
    pub fn answer() { "Answer what a tool server asks: /answer TEXT", "回答工具服务器的问题：/answer 文本" }
    pub fn approvals() {
        "Commands that are always allowed here: /approvals [remove NUMBER]",
        "此处始终允许的命令：/approvals [remove 编号]",
    }
    pub fn pair() { "Give someone access: /pair CODE, or invite them: /pair invite [ROLE]", "授予他人访问权限：/pair 配对码；或邀请对方：/pair invite [角色]" }
    pub fn web() { "A link to the web page; off signs your browsers out", "获取网页链接；off 让你的浏览器退出登录" }
    pub fn id() { "Show the ids of this chat and of you", "显示此聊天和你的 ID" }
    pub fn heartbeat() {
        "Show the heartbeat, or turn it on or off; now looks at HEARTBEAT.md",
        "显示心跳，或开启、关闭；now 立即查看 HEARTBEAT.md",
    }
    pub fn watch() {
        "List watches, or add one: /watch temperature > 75 for 5m",
        "列出监视，或添加监视：/watch temperature > 75 for 5m",
    }
    pub fn agents() { "Show which agent answers here", "显示由哪个智能体在此回答" }
    pub fn retry() { "Send again what was set aside because it failed", "重新发送因失败而搁置的消息" }
    pub fn restart() { "Restart Peacrab", "重启 Peacrab" }
    pub fn update() { "Look for a new version and install it", "检查并安装新版本" }
    pub fn plot() { "Plot the board's history: /plot temperature 24h", "绘制开发板的历史图表：/plot temperature 24h" }
    pub fn logs() { "The log of a service: /logs nginx 50", "查看服务日志：/logs nginx 50" }
    pub fn svc() { "Services: /svc nginx restart", "服务：/svc nginx restart" }
    pub fn top() { "The processes that use most", "占用最多的进程" }
    pub fn ip() { "The board's addresses", "开发板的网络地址" }
    pub fn wol() { "Wake a machine: /wol aa:bb:cc:dd:ee:ff", "唤醒一台机器：/wol aa:bb:cc:dd:ee:ff" }
    pub fn reboot() { "Restart the board", "重启开发板" }
    pub fn shutdown() { "Shut the board down", "关闭开发板" }
    pub fn exit() { "Quit (or Ctrl-D)", "退出（或按 Ctrl-D）" }

    pub fn unknown_command(word) {
        "Unknown command /{word}. See /help.",
        "未知命令 /{word}。发送 /help 查看所有命令。",
    }
    /// A command of chats is typed at the terminal.
    pub fn only_in_chats(word) {
        "/{word} works only in chats. Send it to the bot while the gateway runs.",
        "/{word} 只能在聊天中使用。请在网关运行时把它发给机器人。",
    }
    pub fn unknown_command_near(word, near) {
        "Unknown command /{word}. Did you mean /{near}?",
        "未知命令 /{word}。你是想用 /{near} 吗？",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_text_is_there_in_both_languages() {
        crate::base::language::check_table(super::TABLE);
    }
}
