//! The helper that answers when no model is connected: understands a small set of plain requests in
//! English and Chinese and turns them into calls of the request's tools, as a model does. Pure.
//!
//! `manners` knows small talk, `phrases` matches sentences, `words` questions about the board in other words, this file
//! turns them into calls, `say` puts the answers together from `texts`.

mod manners;
mod phrases;
mod remind;
mod say;
mod texts;
mod words;

use serde_json::{Value, json};

use self::manners::{SmallTalk, core, small_talk};
use self::phrases::{Found, Kind, PHRASES};
use crate::base::chat::{Entry, EntryKind, Reply, Request, ToolCall, ToolSpec};
use crate::base::error::Result;
use crate::base::json;
use crate::base::language::Language;
use crate::text::markup::inline_code;

/// Answers a request: with a call of one of its tools, with what the tools found, or with help.
///
/// `nonce` makes the calls' ids different from those of other answers; `language` is the person's.
pub fn reply(request: &Request<'_>, nonce: u32, language: Language) -> Reply {
    let spoken = last_words(request.entries);
    // As phones write them.
    let straight = spoken.replace('’', "'");
    let spoken = if understand(spoken).is_none() {
        &straight
    } else {
        spoken
    };
    let language = match Language::of_text(spoken) {
        // English is read whatever the person's language is.
        Language::English => language,
        written => written,
    };
    match results(request.entries).as_slice() {
        [] => answer(request, spoken, (nonce, language)),
        results => {
            let kind = understand(spoken).map(|(kind, _)| kind);
            if kind == Some(Kind::Cancel)
                && let [list] = results
                && list.name.as_deref() == Some(CRON)
                && let Some(job) = remind::find_ended(core(spoken), &list.content)
            {
                let removal = json!({ "action": "remove", "job": job });
                return invoke(CRON, removal, (nonce, language));
            }
            let hour = remind::suggest_hour(core(spoken)).filter(|_| kind == Some(Kind::Reminder));
            let is_introduced = is_introduced(request.entries, language);
            Reply {
                text: say::show_results(results, (kind, is_introduced), hour, language),
                ..Reply::default()
            }
        }
    }
}

/// What the person said last.
fn last_words<'a>(entries: &[&'a Entry]) -> &'a str {
    let is_person = |entry: &&&Entry| entry.kind == EntryKind::Person;
    let last = entries.iter().rfind(is_person);
    last.map_or("", |entry| entry.content.as_str())
}

/// The results at the end of the conversation; a note from the runtime may follow them.
fn results<'a>(entries: &[&'a Entry]) -> Vec<&'a Entry> {
    let is_end = |entry: &&Entry| matches!(entry.kind, EntryKind::Tool | EntryKind::Note);
    let begin = entries.iter().rposition(|entry| !is_end(entry));
    let end = &entries[begin.map_or(0, |last| last + 1)..];
    let is_result = |entry: &&&Entry| entry.kind == EntryKind::Tool;
    end.iter().filter(is_result).copied().collect()
}

/// Whether an earlier answer in the conversation says who answers.
fn is_introduced(entries: &[&Entry], language: Language) -> bool {
    let said = [texts::signature(language), texts::introduction(language)];
    let mut answers = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Assistant);
    answers.any(|answer| said.iter().any(|text| answer.content.contains(text)))
}

/// The time, from the runtime's facts.
fn find_time<'a>(entries: &[&'a Entry]) -> Option<&'a str> {
    let running = &entries[super::wire::entries::running_turn(entries)..];
    let facts = running.iter().filter(|entry| entry.kind == EntryKind::Note);
    let mut lines = facts.flat_map(|entry| entry.content.lines());
    lines.find_map(|line| line.strip_prefix("Time: "))
}

fn answer(request: &Request<'_>, spoken: &str, (nonce, language): (u32, Language)) -> Reply {
    let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let text = |text: String| Reply {
        text,
        ..Reply::default()
    };
    if let Some(path) = stored_file(spoken) {
        let stored = texts::stored(language, &inline_code(path));
        return text(stored + texts::connect(language));
    }
    match small_talk(spoken) {
        Some(SmallTalk::Greeting) => {
            let opening = texts::greeting(language);
            return text(say::introduce(opening, &has, language));
        }
        Some(SmallTalk::Thanks) => return text(texts::thanks(language).to_owned()),
        Some(SmallTalk::YesOrNo) => return text(texts::nothing_asked(language).to_owned()),
        None => {}
    }
    let not_understood = || say::introduce(texts::not_understood(language), &has, language);
    let (kind, found) = match understand(spoken) {
        Some((Kind::Help, _)) => return text(say::introduce("", &has, language)),
        Some((Kind::Power, _)) => return text(texts::how_to_reboot(language).to_owned()),
        Some((Kind::Running, _)) => return text(texts::how_to_see_running(language).to_owned()),
        Some((Kind::Update, _)) => return text(texts::how_to_update(language).to_owned()),
        Some((Kind::Watch, found)) => {
            let command = inline_code(&words::with_limit(found.text, spoken));
            return text(texts::how_to_watch(language, &command));
        }
        Some((Kind::Time, _)) => return text(say::tell_time(find_time(request.entries), language)),
        Some((Kind::Reminder | Kind::Reminders | Kind::Cancel, _)) if !has(CRON) => {
            return text(texts::how_to_remind(language).to_owned());
        }
        Some(understood) => understood,
        None => return text(not_understood()),
    };
    let made = match kind {
        Kind::Reminder => match plan(spoken) {
            Ok(made) => made,
            Err(error) => return text(texts::failed(language, &error)),
        },
        kind => call(kind, found),
    };
    let Some((tool, arguments)) = made else {
        return text(match kind {
            Kind::Reminder => say::ask_for_time(remind::text_without_time(core(spoken)), language),
            _ => not_understood(),
        });
    };
    let takes = |spec: &&ToolSpec| spec.name == tool && accepts(spec, &arguments);
    if request.tools.iter().find(takes).is_none() {
        return text(say::refuse(tool, language));
    }
    invoke(tool, arguments, (nonce, language))
}

/// An answer that calls a tool.
fn invoke(tool: &str, mut arguments: Value, (nonce, language): (u32, Language)) -> Reply {
    if tool == CRON {
        // Not in its schema: models read English.
        arguments["language"] = language.code().into();
    }
    let call = ToolCall {
        id: format!("call_{nonce:08x}_0"),
        name: tool.to_owned(),
        arguments: arguments.to_string(),
        signature: None,
    };
    Reply {
        tool_calls: vec![call],
        ..Reply::default()
    }
}

/// The path of the first file that came with a message, from the mark of the message's text.
fn stored_file(spoken: &str) -> Option<&str> {
    const MARKS: [&str; 4] = ["[file: ", "[photo: ", "[audio: ", "[video: "];
    let mut lines = spoken.lines();
    let rest = lines.find_map(|line| MARKS.iter().find_map(|mark| line.strip_prefix(mark)));
    rest?.strip_suffix(']')
}

/// The tool that plans reminders.
const CRON: &str = "cron";

/// The call that plans the reminder that a sentence asks for.
fn plan(sentence: &str) -> Result<Option<(&'static str, Value)>> {
    let found = remind::find(core(sentence))?;
    Ok(found.map(|(when, message)| {
        let arguments = json!({ "action": "add", "when": when, "message": message });
        (CRON, arguments)
    }))
}

/// Whether a tool's schema knows all of these arguments and requires no others.
fn accepts(spec: &ToolSpec, arguments: &Value) -> bool {
    let schema: Value = json::from_str(&spec.parameters).unwrap_or_default();
    let mut given = arguments.as_object().into_iter().flatten();
    let mut required = schema["required"].as_array().into_iter().flatten();
    given.all(|(name, _)| schema["properties"].get(name).is_some())
        && required.all(|name| {
            name.as_str()
                .is_some_and(|name| arguments.get(name).is_some())
        })
}

/// What a sentence asks for, and with which words.
fn understand(sentence: &str) -> Option<(Kind, Found<'_>)> {
    let core = core(sentence);
    // Not a file: "add a reminder to stretch".
    if remind::beginning(core).is_some() {
        return Some((Kind::Reminder, Found::default()));
    }
    let mut all = PHRASES
        .iter()
        .flat_map(|(kind, templates)| templates.iter().map(move |template| (*kind, *template)));
    let found = all.find_map(|(kind, template)| Some((kind, phrases::matches(template, core)?)));
    let reminder = || {
        let kind = if remind::is_end(core) {
            Kind::Cancel
        } else {
            Kind::Reminder
        };
        let is_about_one = kind == Kind::Cancel || remind::is_wish(core);
        is_about_one.then_some((kind, Found::default()))
    };
    found.or_else(|| words::find(core)).or_else(reminder)
}

/// The call of a tool that does what a sentence asks for.
fn call(kind: Kind, found: Found<'_>) -> Option<(&'static str, Value)> {
    let Found { path, text } = found;
    let folder = if path.is_empty() { "." } else { path };
    Some(match kind {
        Kind::List => ("list_dir", json!({ "path": folder })),
        Kind::Read => ("read_file", json!({ "path": path })),
        Kind::Write => (
            "write_file",
            json!({ "path": path, "content": lines(text) }),
        ),
        Kind::Append => (
            "append_file",
            json!({ "path": path, "content": lines(text) }),
        ),
        Kind::Find => ("find_files", json!({ "glob": glob(text) })),
        Kind::Search => (
            "grep",
            json!({ "pattern": escaped(text), "path": folder, "case_insensitive": true }),
        ),
        Kind::Status
        | Kind::Temperature
        | Kind::Throttling
        | Kind::Disk
        | Kind::Memory
        | Kind::Load
        | Kind::Address
        | Kind::Uptime => ("device", json!({ "action": "status" })),
        // One to cancel is found in the list.
        Kind::Reminders | Kind::Cancel => (CRON, json!({ "action": "list" })),
        Kind::Run => ("exec", json!({ "command": text })),
        Kind::Help
        | Kind::Time
        | Kind::Reminder
        | Kind::Update
        | Kind::Power
        | Kind::Running
        | Kind::Watch => return None,
    })
}

/// A text file's lines all end.
fn lines(text: &str) -> String {
    format!("{text}\n")
}

/// A name becomes a pattern for files that have it in theirs.
fn glob(text: &str) -> String {
    let is_pattern = text.contains(['*', '?', '[', '{']);
    match (is_pattern, text.contains('/')) {
        (true, true) => text.to_owned(),
        (true, false) => format!("**/{text}"),
        (false, _) => format!("**/*{text}*"),
    }
}

/// The text as a regular expression that matches just it.
fn escaped(text: &str) -> String {
    let mut expression = String::with_capacity(text.len());
    for char in text.chars() {
        if r"\.+*?()|[]{}^$".contains(char) {
            expression.push('\\');
        }
        expression.push(char);
    }
    expression
}

#[cfg(test)]
mod tests;
