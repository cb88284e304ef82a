//! Makes a tool's call of a sentence.

use serde_json::{Value, json};

use super::phrases::{Kind, PHRASES};
use super::template::{self, Found};
use super::time;

/// A call of a tool, not yet known to exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments, an object.
    pub arguments: Value,
}

/// What was made of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub enum Understood {
    /// What can be asked for.
    Help,
    /// The time.
    Time,
    /// Something that a tool does.
    Call(Wish),
    /// It was not understood.
    Nothing,
}

/// Understands a sentence.
pub fn understand(sentence: &str) -> Understood {
    let core = core(sentence);
    let mut all = PHRASES
        .iter()
        .flat_map(|(kind, templates)| templates.iter().map(move |template| (*kind, *template)));
    all.find_map(|(kind, template)| {
        let found = template::find(template, core)?;
        match kind {
            Kind::Help => Some(Understood::Help),
            Kind::Time => Some(Understood::Time),
            kind => call(kind, found).map(Understood::Call),
        }
    })
    .unwrap_or(Understood::Nothing)
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

fn call(kind: Kind, found: Found<'_>) -> Option<Wish> {
    let Found { path, text, when } = found;
    let folder = if path.is_empty() { "." } else { path };
    let (tool, arguments) = match kind {
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
        Kind::Reminders => ("cron", json!({ "action": "list" })),
        Kind::Forget => ("cron", json!({ "action": "remove", "job_id": text })),
        Kind::RemindIn => {
            let at = format!("in {} seconds", time::span(when)?);
            (
                "cron",
                json!({ "action": "add", "message": text, "at": at }),
            )
        }
        Kind::RemindAt => {
            let (hour, minute) = time::clock(when)?;
            let at = format!("{hour:02}:{minute:02}");
            (
                "cron",
                json!({ "action": "add", "message": text, "at": at }),
            )
        }
        Kind::RemindEvery => ("cron", again(when, text)?),
        Kind::Help | Kind::Time => return None,
    };
    Some(Wish { tool, arguments })
}

/// Every so often, or every day at a time: `30 minutes`, `day at 8:00`, `天8点`.
fn again(when: &str, text: &str) -> Option<Value> {
    let daily = ["day at ", "天早上", "天"]
        .iter()
        .find_map(|day| when.strip_prefix(day));
    if let Some((hour, minute)) = daily.and_then(time::clock) {
        let expression = format!("{minute} {hour} * * *");
        return Some(json!({ "action": "add", "message": text, "cron_expr": expression }));
    }
    let seconds = time::span(when)?;
    Some(json!({ "action": "add", "message": text, "every_seconds": seconds }))
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
