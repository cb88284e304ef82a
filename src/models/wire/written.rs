//! Tool calls that a model writes as text instead of making them, in the forms of the templates that
//! open models are published with: one reader for each form.

mod inside;
mod tags;

use serde_json::value::RawValue;

use super::tokens::token_length;
use crate::base::chat::ToolSpec;
use crate::base::json::{self, Members, Unreadable, loose_value, without_closers};

pub use inside::{End, Inside};

/// A call found in a text: the tool's name and its arguments as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The tool, which need not exist.
    pub name: String,
    /// Its arguments.
    pub arguments: String,
}

/// The form of a call between a template's marks. JSON is read in all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `{"name": …, "arguments": {…}}`, or several, or an array of them.
    Json,
    /// A name and then its arguments as JSON, after each of these marks.
    Named(&'static str),
    /// `<function=ls><parameter=path>.</parameter></function>`, or `<invoke name="ls">`, or
    /// `ls<arg_key>path</arg_key><arg_value>.</arg_value>`.
    Tags,
    /// `ls(path=".")` as in Python, or `call:ls{path:<escape>.<escape>}`.
    Loose,
    /// A tool's name on a line, and its arguments as JSON below.
    Bare,
}

/// Why a text is no call, or none that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// Its end is missing.
    Cut,
    /// It is broken.
    Broken,
    /// Words follow: it is spoken about.
    Quoted,
}

impl From<Unreadable> for Unread {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Cut => Self::Cut,
            Unreadable::Unclear => Self::Broken,
        }
    }
}

/// Characters of a tool's name that does not exist, as far as it is kept.
const NAME_CHARS: usize = 64;

/// Reads what stands between a template's marks.
pub fn read(text: &str, form: Form, tools: &[ToolSpec]) -> Result<Vec<Written>, Unread> {
    let text = without_fence(text.trim());
    if text.is_empty() {
        return Err(Unread::Cut);
    }
    let is_list_of_names = || !text[1..].trim_start().starts_with('{') && !text.starts_with('{');
    if text.starts_with(['{', '[']) {
        return match form {
            Form::Loose | Form::Tags if is_list_of_names() => of_loose(text),
            _ => of_jsons(text, tools),
        };
    }
    let first = text.find(['(', '<', '\n', '{']);
    let is_python = first.is_some_and(|first| text[first..].starts_with('('));
    match form {
        Form::Json => Err(Unread::Broken),
        Form::Named(_) if text.contains("<steptml:invoke") => tags::read(text, tools),
        Form::Named(mark) => named(text, mark, tools),
        Form::Bare => named(text, "\n", tools),
        Form::Tags if text.starts_with(['<', ']']) => tags::read(text, tools),
        Form::Tags if !is_python && text.contains('{') && !text.contains("<arg_") => {
            named(text, "\n", tools)
        }
        Form::Tags if is_python => of_loose(text),
        Form::Tags => tags::read_pairs(text, tools),
        Form::Loose => of_loose(text),
    }
}

fn without_fence(text: &str) -> &str {
    let Some(inside) = text.strip_prefix("```") else {
        return text;
    };
    let inside = inside.strip_prefix("json").unwrap_or(inside);
    inside.strip_suffix("```").unwrap_or(inside).trim()
}

/// What goes back to the model for a call that cannot be read: the tool that it names first, if any, and
/// all of it in place of arguments, which are refused as what they are.
pub fn unread(text: &str, tools: &[ToolSpec]) -> Written {
    let place = |tool: &&ToolSpec| text.find(&*tool.name).unwrap_or(usize::MAX);
    let tool = tools.iter().min_by_key(place);
    let tool = tool.filter(|tool| text.contains(&*tool.name));
    Written {
        name: tool.map_or_else(|| "call".to_owned(), |tool| tool.name.to_string()),
        arguments: text.to_owned(),
    }
}

/// Whether a call begins so behind a template's mark, rather than words; `None` while that is open.
pub fn begins(inside: &str, form: Form, tools: &[ToolSpec]) -> Option<bool> {
    let text = inside.trim_start();
    let first = text.chars().next()?;
    if matches!(first, '{' | '<' | ']' | '`') || first == '[' && form != Form::Loose {
        return Some(true);
    }
    let text = text.strip_prefix('[').unwrap_or(text);
    let text = text.strip_prefix("print(").unwrap_or(text).trim_start();
    let end = text.find(|char: char| !(char.is_alphanumeric() || "_-.:".contains(char)));
    let Some(end) = end.filter(|end| *end <= NAME_CHARS) else {
        let is_open = text.len() <= NAME_CHARS && end.is_none();
        return (!is_open).then_some(false);
    };
    let (name, after) = text.split_at(end);
    if find(bare_name(name.trim_end_matches(".call")), tools).is_some() {
        return Some(true);
    }
    // A tool that does not exist has to be written like one.
    let next = after.trim_start().chars().next()?;
    let is_near = after.starts_with(['\n', next]);
    let is_call = match next {
        '{' | '<' => is_near,
        '(' => form == Form::Loose && after.starts_with('('),
        '[' | '`' => matches!(form, Form::Named(_)) && is_near,
        _ => false,
    };
    Some(is_call && end > 0 || text.starts_with('{'))
}

/// Whether a text without a mark is a call that names a tool, as far as it can be read.
pub fn names_tool(text: &str, tools: &[ToolSpec]) -> bool {
    /// Characters in which the name stands.
    const HEAD_CHARS: usize = 400;
    let head = text.chars().filter(|char| !char.is_whitespace());
    let head = head
        .take(HEAD_CHARS)
        .collect::<String>()
        .replace('\'', "\"");
    let is_named = |tool: &ToolSpec| {
        let in_json = NAMES
            .iter()
            .any(|member| head.contains(&format!("\"{member}\":\"{}\"", tool.name)));
        in_json || head.contains(&format!("{}(", tool.name))
    };
    tools.iter().any(is_named)
}

/// Whether calls are all of tools that exist.
pub fn are_known(calls: &[Written], tools: &[ToolSpec]) -> bool {
    calls.iter().all(|call| find(&call.name, tools).is_some())
}

fn find<'a>(name: &str, tools: &'a [ToolSpec]) -> Option<&'a ToolSpec> {
    tools.iter().find(|tool| tool.name == name)
}

/// A tool's name without what models put around it: `functions.ls:0`, `ls<|channel|>`.
pub fn bare_name(name: &str) -> &str {
    let name = name.split("<|").next().unwrap_or(name).trim();
    let name = ["functions.", "default_api.", "call:"]
        .iter()
        .find_map(|before| name.strip_prefix(before))
        .unwrap_or(name);
    match name.rsplit_once(':') {
        Some((bare, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => bare,
        _ => name,
    }
}

/// The same for a name that may be anything.
fn some_name(name: &str) -> String {
    let is_part = |char: &char| char.is_alphanumeric() || "_-.".contains(*char);
    let name = bare_name(name).chars().filter(is_part);
    match name.take(NAME_CHARS).collect::<String>() {
        name if name.is_empty() => "call".to_owned(),
        name => name,
    }
}

/// Some write several objects or lists, one after the other, with or without a semicolon.
fn of_jsons(text: &str, tools: &[ToolSpec]) -> Result<Vec<Written>, Unread> {
    let (mut calls, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        if !rest.starts_with(['{', '[']) {
            return Err(Unread::Quoted);
        }
        let value = loose_value(rest)?;
        add_json(&value.json, tools, &mut calls).ok_or(Unread::Broken)?;
        rest = without_closers(value.rest);
        // The end of another template.
        while let Some((_, after)) = rest.strip_prefix("</").and_then(|tag| tag.split_once('>')) {
            rest = without_closers(after);
        }
    }
    if calls.is_empty() {
        Err(Unread::Broken)
    } else {
        Ok(calls)
    }
}

/// Members that have a tool's name.
const NAMES: [&str; 5] = ["name", "tool", "tool_name", "function", "function_name"];

/// Members that have the arguments.
const ARGUMENTS: [&str; 5] = ["arguments", "parameters", "args", "input", "params"];

fn add_json(text: &str, tools: &[ToolSpec], calls: &mut Vec<Written>) -> Option<()> {
    if text.starts_with('[') {
        let forms: Vec<&RawValue> = json::borrowed_from_str(text).ok()?;
        let mut forms = forms.iter();
        return forms.try_for_each(|form| add_json(form.get(), tools, calls));
    }
    let form = Members::read(text)?;
    if let Some(inner) = form.raw("tool_calls") {
        return add_json(inner.get(), tools, calls);
    }
    let any = |names: &[&str]| names.iter().find_map(|name| form.raw(name));
    let Some(name) = any(&NAMES) else {
        // Apertus writes `{"ls": {…}}`.
        let (name, arguments) = form.only()?;
        find(name, tools)?;
        calls.push(Written {
            name: name.to_owned(),
            arguments: text_or_json(arguments),
        });
        return Some(());
    };
    match json::from_str::<String>(name.get()) {
        Ok(name) => calls.push(Written {
            name: some_name(&name),
            arguments: any(&ARGUMENTS).map_or_else(|| "{}".to_owned(), text_or_json),
        }),
        // `{"type": "function", "function": {"name": …, "arguments": …}}`
        Err(_) => add_json(form.raw("function")?.get(), tools, calls)?,
    }
    Some(())
}

/// What a JSON text stands for where arguments are expected: the text in it, or itself.
pub fn text_or_json(value: &RawValue) -> String {
    json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// Reads Mistral's, Kimi's, DeepSeek's, GLM's and gpt-oss's calls: after each mark stand a name, more marks,
/// and an object.
fn named(text: &str, mark: &str, tools: &[ToolSpec]) -> Result<Vec<Written>, Unread> {
    let (mut calls, mut rest) = (Vec::new(), without_marks(text, mark));
    while !rest.is_empty() {
        let part = rest.find(mark).filter(|_| mark != "\n");
        let brace = rest.find('{').unwrap_or(rest.len());
        let head = &rest[..brace.min(part.unwrap_or(rest.len()))];
        let name = name_in(head, tools).ok_or(Unread::Broken)?;
        let value = match &rest[head.len()..] {
            "" if find(&name, tools).is_none() => return Err(Unread::Cut),
            object if object.starts_with('{') => loose_value(object)?,
            rest => json::Loose {
                json: "{}".into(),
                rest,
            },
        };
        calls.push(Written {
            name: some_name(&name),
            arguments: value.json.into_owned(),
        });
        let after = without_closers(value.rest);
        rest = without_marks(after, mark);
        if !rest.is_empty() && rest.len() == after.len() {
            return Err(Unread::Quoted);
        }
    }
    if calls.is_empty() {
        Err(Unread::Cut)
    } else {
        Ok(calls)
    }
}

/// A text without the tokens, the template's marks and the fences' ends that it begins with.
fn without_marks<'a>(text: &'a str, mark: &str) -> &'a str {
    let mut rest = text.trim_start();
    loop {
        let after = rest.strip_prefix(mark).or(rest.strip_prefix("```"));
        rest = match after.or_else(|| Some(&rest[token_length(rest)?..])) {
            Some(after) => after.trim_start(),
            None => return rest,
        };
    }
}

/// The tool's name in what stands before its arguments: the one that exists, or the first word that is no
/// part of a template.
fn name_in(head: &str, tools: &[ToolSpec]) -> Option<String> {
    const OTHERS: [&str; 5] = ["function", "functions", "json", "commentary", "to"];
    let (mut words, mut rest) = (String::new(), head);
    while let Some(char) = rest.chars().next() {
        let token = token_length(rest);
        words.push(if token.is_some() { ' ' } else { char });
        rest = &rest[token.unwrap_or(char.len_utf8())..];
    }
    let words = || {
        let words = words.split(|char: char| !(char.is_alphanumeric() || "_-.:".contains(char)));
        words.map(bare_name)
    };
    let is_name = |word: &&str| {
        word.starts_with(|char: char| char.is_alphabetic() || char == '_') && !OTHERS.contains(word)
    };
    let known = words().find(|word| find(word, tools).is_some());
    let name = known.or_else(|| words().find(is_name));
    name.map(str::to_owned)
}

/// Reads calls as in Python, alone, in a list or on lines of their own, and Gemma's.
fn of_loose(text: &str) -> Result<Vec<Written>, Unread> {
    let is_between = |char: char| char.is_whitespace() || "[]),;".contains(char);
    let (mut calls, mut rest) = (Vec::new(), text.trim_start_matches(['[', ' ', '\n']));
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("print(") {
            // What was given a name is shown by it.
            let name = inner
                .split_once(')')
                .filter(|(name, _)| !name.contains(['(', '{']));
            rest = name.map_or(inner, |(_, after)| after);
            rest = rest.trim_start_matches(is_between);
            continue;
        }
        let missing = if calls.is_empty() {
            Unread::Cut
        } else {
            Unread::Quoted
        };
        let (name, after) = rest.split_at(rest.find(['(', '{']).ok_or(missing)?);
        // The value may be given a name.
        let name = name.rsplit_once('=').map_or(name, |(_, name)| name).trim();
        let is_part = |char: char| char.is_alphanumeric() || "_-.:".contains(char);
        if name.is_empty() || !name.chars().all(is_part) {
            return Err(Unread::Quoted);
        }
        let value = loose_value(after)?;
        calls.push(Written {
            name: some_name(name.trim_end_matches(".call")),
            arguments: value.json.into_owned(),
        });
        rest = value.rest.trim_start_matches(is_between);
    }
    if calls.is_empty() {
        Err(Unread::Broken)
    } else {
        Ok(calls)
    }
}

#[cfg(test)]
mod tests;
