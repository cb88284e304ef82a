//! The helper's answers, put together from its [`texts`].

use super::texts;
use crate::base::chat::Entry;
use crate::base::language::Language;
use crate::text::truncate_chars;

/// Characters of one tool's result in an answer of the offline helper.
const OFFLINE_RESULT_CHARS: usize = 4000;

/// A text of [`texts`].
type Text = fn(Language) -> &'static str;

/// What can be asked for: the tool that is needed, and an example.
const EXAMPLES: [(&str, Text); 8] = [
    ("list_dir", texts::example_list),
    ("read_file", texts::example_read),
    ("write_file", texts::example_write),
    ("append_file", texts::example_append),
    ("find_files", texts::example_find),
    ("grep", texts::example_search),
    ("device", texts::example_status),
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

/// What the tools returned.
pub fn show_results(results: &[&Entry], language: Language) -> String {
    let mut text = String::new();
    for result in results {
        if results.len() > 1 {
            text += &format!("**{}**\n\n", result.name.as_deref().unwrap_or("tool"));
        }
        text += &show_result(result, language);
        text += "\n\n";
    }
    text += texts::signature(language);
    text
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
