//! The helper that answers when no model is connected: understands a small set of plain requests in
//! English and Chinese and turns them into calls of the request's tools, as a model does. Pure.
//!
//! `phrases` matches sentences, this file makes calls of them, `say` has the helper's own words.

mod phrases;
mod say;

use serde_json::{Value, json};

use self::phrases::{Found, Kind, PHRASES};
use self::say::Language;
use crate::chat::{Entry, EntryKind, Reply, Request, ToolCall, ToolSpec};
use crate::json;

/// Answers a request: with a call of one of its tools, with what the tools found, or with help.
///
/// `nonce` makes the calls' ids different from those of other answers.
pub fn reply(request: &Request<'_>, nonce: u32) -> Reply {
    let spoken = last_words(request.entries);
    match results(request.entries).as_slice() {
        [] => answer(request, spoken, nonce),
        results => Reply {
            text: say::results(results, Language::of(spoken)),
            ..Reply::default()
        },
    }
}

/// What the person said last.
fn last_words<'a>(entries: &[&'a Entry]) -> &'a str {
    let is_person = |entry: &&&Entry| entry.kind == EntryKind::Person;
    let last = entries.iter().rfind(is_person);
    last.map_or("", |entry| entry.content.as_str())
}

/// The results at the end of the conversation; a note from the runtime may stand behind them.
fn results<'a>(entries: &[&'a Entry]) -> Vec<&'a Entry> {
    let is_end = |entry: &&Entry| matches!(entry.kind, EntryKind::Tool | EntryKind::Note);
    let begin = entries.iter().rposition(|entry| !is_end(entry));
    let end = &entries[begin.map_or(0, |last| last + 1)..];
    let is_result = |entry: &&&Entry| entry.kind == EntryKind::Tool;
    end.iter().filter(is_result).copied().collect()
}

/// The line of the runtime's facts that tells the time.
fn told_time<'a>(entries: &[&'a Entry]) -> Option<&'a str> {
    let running = &entries[super::wire::entries::running_turn(entries)..];
    let facts = running.iter().filter(|entry| entry.kind == EntryKind::Note);
    let mut lines = facts.flat_map(|entry| entry.content.lines());
    lines.find_map(|line| line.strip_prefix("Time: "))
}

fn answer(request: &Request<'_>, spoken: &str, nonce: u32) -> Reply {
    let language = Language::of(spoken);
    let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let text = |text: String| Reply {
        text,
        ..Reply::default()
    };
    let (kind, found) = match understand(spoken) {
        Some((Kind::Help, _)) => return text(say::help(&has, language)),
        Some((Kind::Time, _)) => return text(say::time(told_time(request.entries), language)),
        Some((Kind::Reminder, _)) => return text(say::no_reminders(language)),
        Some(understood) => understood,
        None => return text(say::not_understood(&has, language)),
    };
    let Some((tool, arguments)) = call(kind, found) else {
        return text(say::not_understood(&has, language));
    };
    let takes = |spec: &&ToolSpec| spec.name == tool && accepts(spec, &arguments);
    if request.tools.iter().find(takes).is_none() {
        return text(say::cannot(tool, language));
    }
    let mut reply = text(String::new());
    reply.tool_calls.push(ToolCall {
        id: format!("call_{nonce:08x}_0"),
        name: tool.to_owned(),
        arguments: arguments.to_string(),
        signature: None,
    });
    reply
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
    let mut all = PHRASES
        .iter()
        .flat_map(|(kind, templates)| templates.iter().map(move |template| (*kind, *template)));
    let found = all.find_map(|(kind, template)| Some((kind, phrases::matches(template, core)?)));
    let names_reminders = || {
        let names = core.to_ascii_lowercase().contains("remind") || core.contains("提醒");
        names.then_some((Kind::Reminder, Found::default()))
    };
    found.or_else(names_reminders)
}

/// The sentence without politeness and the mark at its end.
fn core(sentence: &str) -> &str {
    let mut core = sentence.trim();
    while let Some(rest) = without_manners(core) {
        core = rest.trim();
    }
    core
}

fn without_manners(text: &str) -> Option<&str> {
    const BEFORE: [&str; 17] = [
        "please ",
        "can you ",
        "could you ",
        "would you ",
        "will you ",
        "hey ",
        "now ",
        "请你",
        "请帮我",
        "请",
        "帮我",
        "麻烦你",
        "麻烦",
        "你能不能",
        "能不能",
        "你可以",
        "给我",
    ];
    const AFTER: [&str; 11] = [
        "?", "!", "。", "？", "！", " please", " now", "吗", "吧", "呢", "一下",
    ];
    let before = BEFORE.iter().find_map(|word| strip(text, word));
    before
        .or_else(|| AFTER.iter().find_map(|word| text.strip_suffix(word)))
        .or_else(|| without_full_stop(text))
}

fn strip<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let begin = text.get(..word.len())?;
    begin
        .eq_ignore_ascii_case(word)
        .then(|| &text[word.len()..])
}

/// A full stop after a letter ends the sentence; after a space, a stop or a slash it is a folder.
fn without_full_stop(text: &str) -> Option<&str> {
    let rest = text.strip_suffix('.')?;
    rest.ends_with(char::is_alphanumeric).then_some(rest)
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
        Kind::Status => ("device", json!({ "action": "status" })),
        Kind::Run => ("exec", json!({ "command": text })),
        Kind::Help | Kind::Time | Kind::Reminder => return None,
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
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            expression.push('\\');
        }
        expression.push(letter);
    }
    expression
}

#[cfg(test)]
mod tests;
