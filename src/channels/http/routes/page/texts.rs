//! What the page says, in each language.

use serde_json::{Map, Value};

use crate::base::language::{Language, texts};

texts! {
    fn skip() { "Skip to the content", "跳到内容" }
    fn chat() { "Chat", "聊天" }
    fn conversation() { "Conversation", "对话" }
    fn main() { "main", "主对话" }
    fn new_conversation() { "New conversation", "新对话" }
    fn name_of_conversation() {
        "Name of the conversation (small letters, digits, dashes)",
        "对话名称（小写字母、数字、短横线）",
    }
    fn message() { "Message", "消息" }
    fn placeholder() { "Message, or / for a command", "输入消息，或输入 / 使用命令" }
    fn send() { "Send", "发送" }
    fn stop() { "Stop", "停止" }
    fn attach() { "Attach files", "添加文件" }
    fn remove() { "Remove", "移除" }
    fn working() { "Working…", "处理中…" }
    fn you() { "You", "你" }
    fn empty() { "Nothing has been said here yet.", "这里还没有消息。" }
    fn offline() { "The connection is lost. Trying again…", "连接已断开，正在重试…" }
    fn not_sent() { "Not sent: {0}", "未发送：{0}" }
    fn too_large() { "The files are too large together (6 MiB at most).", "文件总大小超出限制（最多 6 MiB）。" }
    fn copy() { "Copy", "复制" }
    fn copied() { "Copied", "已复制" }
    fn sign_in() { "Sign in", "登录" }
    fn sign_in_here() {
        "Sign in here as the person who asked for this link.",
        "以请求此链接的用户身份在此登录。",
    }
    fn link_used() {
        "This link has been used, or is older than 5 minutes. Send /web to the bot for a new one.",
        "此链接已被使用或已超过 5 分钟。请向机器人发送 /web 获取新链接。",
    }
    fn signed_out() {
        "You are not signed in. Send /web to the bot in a private chat: it answers with a link.",
        "你尚未登录。请在私聊中向机器人发送 /web，它会回复一个链接。",
    }
    fn sign_out() { "Sign out", "退出登录" }
    fn guest() { "guest", "访客" }
    fn user() { "user", "用户" }
    fn owner() { "owner", "所有者" }
    fn failed() { "It failed: {0}", "出错了：{0}" }
    fn board() { "Board", "开发板" }
    fn work() { "Work", "工作" }
    fn files() { "Files", "文件" }
    fn audit() { "Audit log", "审计日志" }
    fn settings() { "Settings", "设置" }
    fn now() { "Now", "现在" }
    fn span() { "Span", "时间范围" }
    fn all() { "Show all", "显示全部" }
    fn status() { "Status", "状态" }
    fn usage() { "Tokens and cost", "token 与费用" }
    fn by_day() { "By day, at most {0}", "按日，最高 {0}" }
    fn tokens() { "{0} tokens", "{0} 个 token" }
    fn watch() { "Watches", "监视" }
    fn cron() { "Jobs", "定时任务" }
    fn remind() { "Reminders", "提醒" }
    fn tasks() { "Subagents", "子代理" }
    fn memory() { "Memory", "记忆" }
    fn time() { "Time", "时间" }
    fn what() { "What", "内容" }
    fn details() { "Details", "详情" }
    fn none() { "Nothing here.", "这里没有内容。" }
    fn settings_hint() { "To change one, run `peacrab config set PATH VALUE` on the board.", "要更改设置，请在开发板上运行 `peacrab config set 路径 值`。" }
    fn search() { "Search", "搜索" }
    fn default() { "default", "默认" }
    fn folder() { "Folder", "文件夹" }
    fn workspace() { "Workspace", "工作区" }
    fn upload() { "Upload files", "上传文件" }
    fn name() { "Name", "名称" }
    fn size() { "Size", "大小" }
    fn more() { "{0} more", "还有 {0} 项" }
    fn overwrite() { "{0} exists. Replace it?", "{0} 已存在。要替换吗？" }
    fn stored() { "Stored {0}", "已保存 {0}" }
}

/// A text in a language.
type Text = fn(Language) -> &'static str;

/// The texts above by their names, as the page asks for them.
const ALL: &[(&str, Text)] = &[
    ("skip", skip),
    ("chat", chat),
    ("conversation", conversation),
    ("main", main),
    ("new_conversation", new_conversation),
    ("name_of_conversation", name_of_conversation),
    ("message", message),
    ("placeholder", placeholder),
    ("send", send),
    ("stop", stop),
    ("attach", attach),
    ("remove", remove),
    ("working", working),
    ("you", you),
    ("empty", empty),
    ("offline", offline),
    ("not_sent", not_sent),
    ("too_large", too_large),
    ("copy", copy),
    ("copied", copied),
    ("sign_in", sign_in),
    ("sign_in_here", sign_in_here),
    ("link_used", link_used),
    ("signed_out", signed_out),
    ("sign_out", sign_out),
    ("guest", guest),
    ("user", user),
    ("owner", owner),
    ("failed", failed),
    ("board", board),
    ("work", work),
    ("files", files),
    ("audit", audit),
    ("settings", settings),
    ("now", now),
    ("span", span),
    ("all", all),
    ("status", status),
    ("usage", usage),
    ("by_day", by_day),
    ("tokens", tokens),
    ("watch", watch),
    ("cron", cron),
    ("remind", remind),
    ("tasks", tasks),
    ("memory", memory),
    ("time", time),
    ("what", what),
    ("details", details),
    ("none", none),
    ("settings_hint", settings_hint),
    ("search", search),
    ("default", default),
    ("folder", folder),
    ("workspace", workspace),
    ("upload", upload),
    ("name", name),
    ("size", size),
    ("more", more),
    ("overwrite", overwrite),
    ("stored", stored),
];

/// All texts in a language, by their names.
pub fn by_name(language: Language) -> Value {
    let texts = ALL.iter();
    let texts = texts.map(|(name, text)| ((*name).to_owned(), Value::from(text(language))));
    Value::Object(texts.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_there_in_each_language_and_the_page_gets_it() {
        crate::base::language::check_table(TABLE);
        let declared: Vec<&str> = TABLE.iter().map(|(name, ..)| *name).collect();
        let sent: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        assert_eq!(declared, sent);
        for (name, english, chinese) in TABLE {
            assert_eq!(by_name(Language::English)[*name], *english);
            assert_eq!(by_name(Language::Chinese)[*name], *chinese);
        }
    }
}
