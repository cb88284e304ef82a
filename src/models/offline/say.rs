//! The helper's answers, put together from its [`texts`].

use super::phrases::Kind;
use super::texts;
use crate::base::chat::Entry;
use crate::base::language::Language;
use crate::schedule::meant_hour;
use crate::text::markup::inline_code;
use crate::text::truncate_chars;

/// Characters of one tool's result in an answer of the offline helper.
const OFFLINE_RESULT_CHARS: usize = 4000;

/// A text of [`texts`].
type Text = fn(Language) -> &'static str;

/// What can be asked for: the tool that is needed, and an example in English and in Chinese, which are read.
const EXAMPLES: [(&str, &str, &str); 10] = [
    ("device", "status", "设备状态"),
    ("device", "how hot is it?", "温度多少？"),
    (
        "cron",
        "remind me in 20 minutes to take the bread out",
        "20分钟后提醒我取面包",
    ),
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
    ("exec", "run uname -a", "运行 uname -a"),
];

/// Who speaks, what can be asked for with the tools there are, and how to connect a model; after
/// `opening`.
pub fn introduce(opening: &str, has_tool: &dyn Fn(&str) -> bool, language: Language) -> String {
    let mut text = opening.to_owned() + texts::introduction(language);
    for (tool, english, chinese) in EXAMPLES {
        if has_tool(tool) {
            text += "- `";
            text += match language {
                Language::Chinese => chinese,
                _ => english,
            };
            text += "`\n";
        }
    }
    text += "\n";
    text += texts::connect(language);
    text
}

/// The request needs a tool that is not there.
pub fn refuse(tool: &str, language: Language) -> String {
    let action = match tool {
        "device" => texts::action_device(language),
        "exec" => texts::action_exec(language),
        _ => texts::action_files(language),
    };
    texts::cannot(language, &action, &tool)
}

/// A request for a reminder lacks a time, or its text.
pub fn ask_for_time(reminder: Option<&str>, language: Language) -> String {
    let Some(reminder) = reminder else {
        return texts::what_to_remind(language).to_owned();
    };
    let example = match Language::of_text(reminder) {
        Language::Chinese => format!("明天8点提醒我{reminder}"),
        _ => format!("remind me tomorrow at 8 {reminder}"),
    };
    texts::when_to_remind(language, &inline_code(&example))
}

/// The time, where the runtime has told it.
pub fn tell_time(time: Option<&str>, language: Language) -> String {
    match time {
        Some(time) => texts::time(language, &time),
        None => texts::no_time(language).to_owned(),
    }
}

/// What the tools returned to a request of a kind; `hour` is one that the request may have meant, and the reminder with
/// it. Below it the helper names itself, unless it is introduced already or has planned a reminder.
pub fn show_results(
    results: &[&Entry],
    (kind, is_introduced): (Option<Kind>, bool),
    hour: Option<(String, String)>,
    language: Language,
) -> String {
    let mut text = String::new();
    for result in results {
        if results.len() > 1 {
            text += &format!("**{}**\n\n", result.name.as_deref().unwrap_or("tool"));
        }
        text += &match result.name.as_deref() {
            Some("device") => show_board(result.content.trim(), kind, language),
            Some("cron") => show_jobs(result, kind, language),
            _ => show_result(result, language),
        };
        text += "\n\n";
    }
    let is_planned = results.iter().any(|it| it.content.starts_with(PLANNED));
    if let Some((hour, meant)) = hour.filter(|_| is_planned) {
        let command = inline_code(&format!("/remind {meant}"));
        text += &meant_hour(language, &hour, &command);
        text += "\n\n";
    }
    if !is_introduced && !is_planned {
        text += texts::signature(language);
    }
    text.truncate(text.trim_end().len());
    text
}

/// The state of the board, which is Markdown: of a request for a part of it only the lines about that.
fn show_board(content: &str, kind: Option<Kind>, language: Language) -> String {
    let names: &[&str] = match kind {
        Some(Kind::Temperature) => &["- Temperature", "- Throttling"],
        Some(Kind::Throttling) => &["- Throttling"],
        Some(Kind::Disk) => &["- Disk"],
        Some(Kind::Memory) => &["- Memory"],
        Some(Kind::Load) => &["- Load"],
        Some(Kind::Address) => &["- Network"],
        Some(Kind::Uptime) => &["**"],
        _ => &[],
    };
    // Beside a temperature it matters only where the board says it.
    let unknown = texts::label_unknown(Language::English);
    let is_needless = |line: &str| {
        kind == Some(Kind::Temperature)
            && line.starts_with("- Throttling")
            && line.trim_end().ends_with(unknown)
    };
    let mut is_wanted = false;
    let lines = content.lines().filter(|line| {
        // A line with a small picture belongs to the one above.
        is_wanted =
            names.iter().any(|name| line.starts_with(name)) || is_wanted && line.starts_with("  ");
        is_wanted && !is_needless(line)
    });
    let part: Vec<&str> = lines.collect();
    let shown = if part.is_empty() {
        content.to_owned()
    } else {
        part.join("\n")
    };
    in_language(&shown, language)
}

/// The names of what is measured in a language: the tool speaks English, as models do.
fn in_language(text: &str, language: Language) -> String {
    const NAMES: [Text; 12] = [
        texts::label_temperature,
        texts::label_throttling,
        texts::label_load,
        texts::label_memory,
        texts::label_disk,
        texts::label_network,
        texts::label_uptime,
        texts::label_up,
        texts::label_down,
        texts::label_free,
        texts::label_used,
        texts::label_unknown,
    ];
    NAMES.iter().fold(text.to_owned(), |text, name| {
        text.replace(name(Language::English), name(language))
    })
}

/// How the tool begins when it has planned a job.
const PLANNED: &str = "Planned ";

/// What is planned, or that it is planned or removed now: the tool writes a list.
fn show_jobs(result: &Entry, kind: Option<Kind>, language: Language) -> String {
    let content = result.content.trim();
    if kind == Some(Kind::Cancel) {
        if let Some(job) = content.strip_prefix("Removed ") {
            return texts::removed(language, &job);
        }
        let job = content.strip_prefix("- ");
        if let Some(id) = job.and_then(|job| job.split_whitespace().next()) {
            let command = format!("/cron remove {}", id.trim_matches('`'));
            let which = texts::which_to_cancel(language, &inline_code(&command));
            return format!("{content}\n\n{which}");
        }
    }
    match content.strip_prefix(PLANNED) {
        Some(job) => texts::planned(language, &job),
        None if content == "No jobs are planned." => texts::nothing_planned(language).to_owned(),
        None if content.starts_with("- ") => content.to_owned(),
        None => show_result(result, language),
    }
}

fn show_result(result: &Entry, language: Language) -> String {
    let content = result.content.trim();
    if content.is_empty() {
        return texts::done(language).to_owned();
    }
    if let Some(error) = content.strip_prefix("Error") {
        // What follows the error's line is advice for a model.
        let error = error.lines().next().unwrap_or(error);
        return texts::failed(language, &error.trim_start_matches(':').trim());
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
