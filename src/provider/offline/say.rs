//! The helper's own words, in the person's language.

use crate::chat::Entry;
use crate::limits::provider::OFFLINE_RESULT_CHARS;
use crate::text::truncate_chars;

/// A language that the helper speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// Chinese.
    Chinese,
}

impl Language {
    /// The language of a text: Chinese where it has a Chinese character.
    pub fn of(text: &str) -> Self {
        let is_chinese = |letter: char| ('\u{3400}'..='\u{9fff}').contains(&letter);
        if text.contains(is_chinese) {
            Self::Chinese
        } else {
            Self::English
        }
    }

    fn pick(self, english: &'static str, chinese: &'static str) -> &'static str {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

/// What can be asked for: the tool, and examples in both languages.
const EXAMPLES: [(&str, &str, &str); 8] = [
    ("list_dir", "list files in docs", "列出 docs 里的文件"),
    ("read_file", "read notes.txt", "读取 notes.txt"),
    (
        "write_file",
        "write milk and eggs to shopping.txt",
        "把牛奶和鸡蛋写入 shopping.txt",
    ),
    (
        "append_file",
        "append bread to shopping.txt",
        "把面包追加到 shopping.txt",
    ),
    ("find_files", "find files named *.log", "查找文件 *.log"),
    ("grep", "search for error in logs", "在 logs 中搜索 error"),
    ("device", "status", "设备状态"),
    ("exec", "run uname -a", "运行 uname -a"),
];

/// Who speaks, what can be asked for with the tools there are, and how to connect a model.
pub fn help(has: &dyn Fn(&str) -> bool, language: Language) -> String {
    let mut text = language
        .pick(
            "I am Peacrab's offline helper. No model answers here, so I understand only plain requests, such as:\n",
            "我是 Peacrab 的离线助手。现在没有模型回答，所以我只听得懂简单的请求，例如：\n",
        )
        .to_owned();
    for (tool, english, chinese) in EXAMPLES {
        if has(tool) {
            text += "- `";
            text += language.pick(english, chinese);
            text += "`\n";
        }
    }
    text += "\n";
    text += connect(language);
    text
}

fn connect(language: Language) -> &'static str {
    language.pick(
        "To connect a model, run `peacrab onboard`, or set a key such as ANTHROPIC_API_KEY, OPENAI_API_KEY or OPENROUTER_API_KEY. A model server on this machine (Ollama, LM Studio, vLLM) is found by itself.",
        "要连接模型，请运行 `peacrab onboard`，或设置密钥变量，如 ANTHROPIC_API_KEY、OPENAI_API_KEY、OPENROUTER_API_KEY。本机的模型服务（Ollama、LM Studio、vLLM）会自动找到。",
    )
}

/// It was not understood, and what would be.
pub fn not_understood(has: &dyn Fn(&str) -> bool, language: Language) -> String {
    let text = language.pick("I did not understand that. ", "我没有听懂。");
    text.to_owned() + &help(has, language)
}

/// This version has no such tool.
pub fn cannot(tool: &str, language: Language) -> String {
    let what = match tool {
        "device" => language.pick("tell how the device is", "查看设备状态"),
        "exec" => language.pick("run commands", "运行命令"),
        _ => language.pick("do that with files", "这样处理文件"),
    };
    match language {
        Language::English => {
            format!(
                "I cannot {what}: this version does not have the tool `{tool}`, or it is turned off."
            )
        }
        Language::Chinese => format!("我不能{what}：这个版本没有工具 `{tool}`，或者它已关闭。"),
    }
}

/// There are no reminders.
pub fn no_reminders(language: Language) -> String {
    let text = language.pick(
        "I can't set reminders in this version.",
        "这个版本不能设置提醒。",
    );
    text.to_owned()
}

/// The time, as the runtime told it.
pub fn time(told: Option<&str>, language: Language) -> String {
    match told {
        Some(time) => format!("{}{time}", language.pick("It is ", "现在是 ")),
        None => language
            .pick("I do not know the time here.", "我这里不知道时间。")
            .to_owned(),
    }
}

/// What the tools found.
pub fn results(results: &[&Entry], language: Language) -> String {
    let mut text = String::new();
    for result in results {
        if results.len() > 1 {
            text += &format!("**{}**\n\n", result.name.as_deref().unwrap_or("tool"));
        }
        text += &shown(result, language);
        text += "\n\n";
    }
    text += language.pick(
        "(offline helper: type `help` for what I understand)",
        "（离线助手；输入“帮助”可查看它能做什么以及如何连接模型）",
    );
    text
}

fn shown(result: &Entry, language: Language) -> String {
    let content = result.content.trim();
    if content.is_empty() {
        return language
            .pick("Done; there is nothing to show.", "完成，没有输出。")
            .to_owned();
    }
    if content.starts_with("Error") {
        // What follows the error's line is advice for a model.
        let error = content.lines().next().unwrap_or(content);
        return format!(
            "{}{error}",
            language.pick("That did not work. ", "没有成功。")
        );
    }
    if !content.contains('\n') {
        return content.to_owned();
    }
    let kept = truncate_chars(content, OFFLINE_RESULT_CHARS);
    let rest = if kept.len() < content.len() {
        "\n…"
    } else {
        ""
    };
    // A fence that is longer than any in the content.
    let fence = if content.contains("```") {
        "~~~~"
    } else {
        "```"
    };
    format!("{fence}\n{kept}{rest}\n{fence}")
}
