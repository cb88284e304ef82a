//! The helper's answers, put together from its [`texts`].

use super::phrases::Kind;
use super::texts;
use crate::base::chat::Entry;
use crate::base::language::Language;
use crate::text::truncate_chars;

/// Characters of one tool's result in an answer of the offline helper.
const OFFLINE_RESULT_CHARS: usize = 4000;

/// A text of [`texts`].
type Text = fn(Language) -> &'static str;

/// What can be asked for: the tool that is needed, and an example.
const EXAMPLES: [(&str, Text); 10] = [
    ("device", texts::example_status),
    ("device", texts::example_temperature),
    ("cron", texts::example_remind),
    ("list_dir", texts::example_list),
    ("read_file", texts::example_read),
    ("write_file", texts::example_write),
    ("append_file", texts::example_append),
    ("find_files", texts::example_find),
    ("grep", texts::example_search),
    ("exec", texts::example_run),
];

/// Who speaks, what can be asked for with the tools there are, and how to connect a model; after
/// `opening`.
pub fn introduce(opening: &str, has_tool: &dyn Fn(&str) -> bool, language: Language) -> String {
    let mut text = opening.to_owned() + texts::introduction(language);
    for (tool, example) in EXAMPLES {
        if has_tool(tool) {
            text += "- `";
            text += example(language);
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

/// The time, where the runtime has told it.
pub fn tell_time(time: Option<&str>, language: Language) -> String {
    match time {
        Some(time) => texts::time(language, &time),
        None => texts::no_time(language).to_owned(),
    }
}

/// What the tools returned to a request of a kind.
pub fn show_results(results: &[&Entry], kind: Option<Kind>, language: Language) -> String {
    let mut text = String::new();
    for result in results {
        if results.len() > 1 {
            text += &format!("**{}**\n\n", result.name.as_deref().unwrap_or("tool"));
        }
        text += &match result.name.as_deref() {
            Some("device") => show_board(result.content.trim(), kind, language),
            Some("cron") => show_jobs(result, language),
            _ => show_result(result, language),
        };
        text += "\n\n";
    }
    text += texts::signature(language);
    text
}

/// The state of the board, which is Markdown: of a request for a part of it only the lines about that.
fn show_board(content: &str, kind: Option<Kind>, language: Language) -> String {
    let names: &[&str] = match kind {
        Some(Kind::Temperature) => &["- Temperature", "- Throttling"],
        Some(Kind::Disk) => &["- Disk"],
        Some(Kind::Memory) => &["- Memory"],
        Some(Kind::Load) => &["- Load"],
        Some(Kind::Address) => &["- Network"],
        Some(Kind::Uptime) => &["**"],
        _ => &[],
    };
    let mut is_wanted = false;
    let lines = content.lines().filter(|line| {
        // A line with a small picture belongs to the one above.
        is_wanted =
            names.iter().any(|name| line.starts_with(name)) || is_wanted && line.starts_with("  ");
        is_wanted
    });
    let part: Vec<&str> = lines.collect();
    let shown = if part.is_empty() {
        content.to_owned()
    } else {
        part.join("\n")
    };
    match language {
        Language::English => shown,
        Language::Chinese => in_chinese(&shown),
    }
}

/// The names of what is measured in Chinese: the tool speaks English, as models do.
fn in_chinese(text: &str) -> String {
    const NAMES: [(&str, &str); 12] = [
        ("- Temperature: ", "- 温度："),
        ("- Throttling: ", "- 降频："),
        ("- Load: ", "- 负载："),
        ("- Memory: ", "- 内存："),
        ("- Disk: ", "- 磁盘："),
        ("- Network ", "- 网络 "),
        (", up ", "，已运行 "),
        (": up, ", "：已连接，"),
        (": down", "：未连接"),
        (" free of ", " 可用，共 "),
        ("% used", "% 已用"),
        (" not available", " 未知"),
    ];
    let replace = |text: String, (english, chinese): &(&str, &str)| text.replace(english, chinese);
    let text = NAMES.iter().fold(text.to_owned(), replace);
    text.replace("：not available", "：未知")
}

/// What is planned, or that it is planned now: the tool writes a list.
fn show_jobs(result: &Entry, language: Language) -> String {
    let content = result.content.trim();
    match content.strip_prefix("Planned ") {
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
