//! Tool calls that a model writes as text instead of making them, in the forms of the templates that
//! open models are published with: one reader for each form.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::chat::ToolSpec;
use crate::json::{self, Members};
use crate::limits::json::LEVELS_MAX;

/// A call found in a text: the tool's name and its arguments as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The tool.
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
}

/// Reads what stands between a template's marks. None when it is no call, or when it names a tool that
/// does not exist.
pub fn read(text: &str, form: Form, tools: &[ToolSpec]) -> Option<Vec<Written>> {
    let text = text.trim();
    json::check_depth(text.as_bytes(), LEVELS_MAX).ok()?;
    let as_json = || of_jsons(text).filter(|calls| are_calls(calls, tools));
    let calls = as_json().or_else(|| match form {
        Form::Json => None,
        Form::Named(mark) => named(text, mark, tools),
        Form::Tags if text.starts_with('<') => of_tags(text, tools),
        Form::Tags => of_pairs(text, tools).map(|call| vec![call]),
        Form::Loose => of_loose(text),
    })?;
    are_calls(&calls, tools).then_some(calls)
}

/// Whether what stands behind a template's mark is the beginning of a call. `is_short` says that the answer
/// had no room for its end.
pub fn is_begun(inside: &str, is_short: bool, tools: &[ToolSpec]) -> bool {
    let inside = inside.trim_start();
    match inside.chars().next() {
        None => is_short,
        Some('<') => true,
        Some('{' | '[') => is_open(inside),
        Some(_) => {
            let is_over = |char: char| !(char.is_alphanumeric() || "_-.:".contains(char));
            let end = inside.find(is_over).unwrap_or(inside.len());
            let name = bare_name(inside[..end].trim_end_matches(".call"));
            let after = inside[end..].trim_start();
            let is_named = match after {
                "" => tools.iter().any(|tool| tool.name.starts_with(name)),
                _ => find(name, tools).is_some(),
            };
            let is_cut =
                after.starts_with(['<', '>']) || is_open(after) || is_short && !after.contains(' ');
            is_named && is_cut
        }
    }
}

/// The same for a text without a mark, which has to name a tool.
pub fn is_begun_with_name(text: &str, tools: &[ToolSpec]) -> bool {
    /// Characters in which the name stands.
    const HEAD_CHARS: usize = 400;
    let head = text.chars().filter(|char| !char.is_whitespace());
    let head: String = head.take(HEAD_CHARS).collect();
    let is_named = |tool: &ToolSpec| {
        let in_json = ["name", "tool", "tool_name", "function"]
            .iter()
            .any(|member| head.contains(&format!("\"{member}\":\"{}\"", tool.name)));
        in_json || head.contains(&format!("{}(", tool.name))
    };
    is_open(text) && tools.iter().any(is_named)
}

/// Whether brackets or a string are open at the end of a text.
pub fn is_open(text: &str) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth > 0
}

fn are_calls(calls: &[Written], tools: &[ToolSpec]) -> bool {
    let is_call = |call: &Written| find(&call.name, tools).is_some();
    !calls.is_empty() && calls.iter().all(is_call)
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

fn of_jsons(text: &str) -> Option<Vec<Written>> {
    match text.as_bytes().first()? {
        b'[' => {
            let forms: Vec<&RawValue> = json::borrowed_from_str(text).ok()?;
            forms.iter().map(|form| of_json(form.get())).collect()
        }
        // Some write several objects, one after the other, with or without a semicolon.
        b'{' => {
            let mut calls = Vec::new();
            let mut rest = text;
            while !rest.is_empty() {
                let (form, after) = first_object(rest)?;
                calls.push(of_json(form)?);
                rest = after.trim_start_matches([';', ',', ' ', '\n', '\r', '\t']);
            }
            Some(calls)
        }
        _ => None,
    }
}

/// The JSON object that a text begins with, and what follows.
fn first_object(text: &str) -> Option<(&str, &str)> {
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let object = objects.next()?.ok()?.get();
    object
        .starts_with('{')
        .then(|| (object, &text[objects.byte_offset()..]))
}

fn of_json(text: &str) -> Option<Written> {
    let form = Members::read(text)?;
    let any = |names: &[&str]| names.iter().find_map(|name| form.raw(name));
    let arguments = any(&["arguments", "parameters", "args", "input"]);
    let arguments = || arguments.map_or_else(|| "{}".to_owned(), text_or_json);
    let name = any(&["name", "tool", "tool_name", "function"])?;
    match json::from_str::<String>(name.get()) {
        Ok(name) => Some(Written {
            name: bare_name(&name).to_owned(),
            arguments: arguments(),
        }),
        // `{"type": "function", "function": {"name": …, "arguments": …}}`
        Err(_) => of_json(form.raw("function")?.get()),
    }
}

/// What a JSON text stands for where arguments are expected: the text in it, or itself.
pub fn text_or_json(value: &RawValue) -> String {
    json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

/// Reads Mistral's, Kimi's, DeepSeek's and gpt-oss's calls: after each mark stand a name, more marks, and
/// an object.
fn named(text: &str, mark: &str, tools: &[ToolSpec]) -> Option<Vec<Written>> {
    let parts = text
        .split(mark)
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let call = |part: &str| {
        let (head, _) = part.split_once('{')?;
        let words = head.split(|char: char| !(char.is_alphanumeric() || "_-.:".contains(char)));
        let name = words
            .map(bare_name)
            .find(|word| find(word, tools).is_some())?;
        let (arguments, rest) = first_object(&part[head.len()..])?;
        // Only marks may follow: what is more is text.
        let is_over =
            !rest.contains(char::is_whitespace) || rest.trim_matches(['`', '\n']).is_empty();
        let is_marks = rest
            .trim()
            .trim_start_matches(['`', '\n'])
            .starts_with(['<', '[']);
        (is_over || is_marks).then(|| Written {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    };
    parts.map(call).collect()
}

/// Reads the tags of Qwen, MiniMax and DeepSeek.
fn of_tags(text: &str, tools: &[ToolSpec]) -> Option<Vec<Written>> {
    let text = text.replace("｜DSML｜", "");
    let mut rest = text.as_str();
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let open = ["<function=", "<invoke name="]
            .into_iter()
            .find(|open| rest.starts_with(open))?;
        let close = if open == "<function=" {
            "</function>"
        } else {
            "</invoke>"
        };
        // Llama sometimes leaves out the sign before its JSON.
        let (name, after) = rest[open.len()..].split_at(rest[open.len()..].find(['>', '{'])?);
        let name = attribute(name).to_owned();
        rest = after.trim_start_matches('>').trim_start();
        let mut arguments = Map::new();
        // Llama has JSON between the tags.
        if rest.starts_with('{') {
            let (object, after) = first_object(rest)?;
            arguments = json::from_str(object).ok()?;
            rest = after.trim_start_matches('>').trim_start();
        }
        while let Some(after) = strip_any(rest, &["<parameter=", "<parameter name="]) {
            let (key, after) = after.split_once('>')?;
            let (value, after) = after.split_once("</parameter>")?;
            let key = attribute(key);
            arguments.insert(key.to_owned(), value_of(&name, key, value, tools));
            rest = after.trim_start();
        }
        rest = rest.strip_prefix(close)?.trim_start();
        calls.push(Written {
            name,
            arguments: Value::Object(arguments).to_string(),
        });
    }
    Some(calls)
}

/// Reads GLM's call: the name, and keys and values in turn.
fn of_pairs(text: &str, tools: &[ToolSpec]) -> Option<Written> {
    let end = text.find(['<', '\n']).unwrap_or(text.len());
    let (name, mut rest) = (text[..end].trim(), text[end..].trim_start());
    let mut arguments = Map::new();
    while let Some(after) = rest.strip_prefix("<arg_key>") {
        let (key, after) = after.split_once("</arg_key>")?;
        let after = after.trim_start().strip_prefix("<arg_value>")?;
        let (value, after) = after.split_once("</arg_value>")?;
        arguments.insert(
            key.trim().to_owned(),
            value_of(name, key.trim(), value, tools),
        );
        rest = after.trim_start();
    }
    let arguments = Value::Object(arguments).to_string();
    rest.is_empty().then(|| Written {
        name: name.to_owned(),
        arguments,
    })
}

fn strip_any<'a>(text: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings
        .iter()
        .find_map(|beginning| text.strip_prefix(beginning))
}

/// The value of a tag's first attribute, which may stand in quotes.
fn attribute(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split(['"', '\'']).next().unwrap_or(quoted),
        None => text,
    }
}

/// A value between tags: a text where the tool wants one or where it is no JSON.
fn value_of(tool: &str, key: &str, text: &str, tools: &[ToolSpec]) -> Value {
    // The template puts each value on lines of its own.
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let schema = find(tool, tools).and_then(|tool| json::from_str::<Value>(&tool.parameters).ok());
    let kind = schema
        .map(|schema| schema["properties"][key]["type"].clone())
        .unwrap_or_default();
    match json::from_str(text) {
        Ok(value) if kind != "string" && kind != Value::Null => value,
        _ => text.into(),
    }
}

/// Reads calls as in Python, alone, in a list or on lines of their own, and Gemma's.
fn of_loose(text: &str) -> Option<Vec<Written>> {
    let between = ['[', ']', ',', ';', ' ', '\n', '\r', '\t'];
    let mut rest = text.trim_matches(between);
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_at(rest.find(['(', '{'])?);
        let name = bare_name(name.trim_end_matches(".call")).to_owned();
        let (arguments, after) = loose_object(after)?;
        json::from_str::<Map<String, Value>>(&arguments).ok()?;
        calls.push(Written { name, arguments });
        rest = after.trim_matches(between);
    }
    Some(calls)
}

/// Marks around a string in Python and in Gemma's templates.
const QUOTES: [&str; 4] = ["<escape>", "<|\"|>", "\"", "'"];

/// Reads the arguments that a text begins with, in round or curly brackets, as a JSON object; and what
/// follows.
fn loose_object(text: &str) -> Option<(String, &str)> {
    let (mut json, mut closing, mut rest) = (String::new(), Vec::new(), text);
    loop {
        if let Some(quote) = QUOTES.iter().find(|quote| rest.starts_with(**quote)) {
            let (value, after) = quoted(&rest[quote.len()..], quote)?;
            json += &Value::from(value).to_string();
            rest = after;
            continue;
        }
        let letter = rest.chars().next()?;
        if letter.is_alphabetic() || letter == '_' {
            let is_over = |char: char| !(char.is_alphanumeric() || "_-".contains(char));
            let (word, after) = rest.split_at(rest.find(is_over)?);
            json += &match word {
                "True" | "true" => "true".to_owned(),
                "False" | "false" => "false".to_owned(),
                "None" | "null" => "null".to_owned(),
                _ => Value::from(word).to_string(),
            };
            rest = after.trim_start();
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        match letter {
            '(' | '{' | '[' if closing.len() < LEVELS_MAX => {
                let is_list = letter == '[' || letter == '(' && !closing.is_empty();
                let (open, close) = if is_list { ('[', ']') } else { ('{', '}') };
                json.push(open);
                closing.push(close);
            }
            '(' | '{' | '[' => return None,
            ')' | '}' | ']' => {
                json.push(closing.pop()?);
                if closing.is_empty() {
                    return Some((json, rest));
                }
            }
            '=' => json.push(':'),
            _ => json.push(letter),
        }
    }
}

/// The characters that an escape of a string literal stands for, behind its backslash
/// (<https://docs.python.org/3/reference/lexical_analysis.html#escape-sequences>). One that is none stays as it is.
fn escaped(chars: &mut std::str::CharIndices<'_>) -> Option<String> {
    let char = chars.next()?.1;
    let digits = match char {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    let one = match char {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        'a' => '\u{7}',
        '0' => '\0',
        '\n' => return Some(String::new()),
        '\\' | '\'' | '"' | '/' => char,
        _ if digits > 0 => {
            let rest = chars.as_str();
            let code = rest
                .get(..digits)
                .and_then(|code| u32::from_str_radix(code, 16).ok());
            let Some(code) = code else {
                return Some(format!("\\{char}"));
            };
            chars.nth(digits - 1);
            // Half a surrogate pair is no character.
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        _ => return Some(format!("\\{char}")),
    };
    Some(one.into())
}

/// The string that a text begins with, up to its closing mark; and what follows.
fn quoted<'a>(text: &'a str, quote: &str) -> Option<(String, &'a str)> {
    if quote.len() > 1 {
        let (value, after) = text.split_once(quote)?;
        return Some((value.to_owned(), after));
    }
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => value.push_str(&escaped(&mut chars)?),
            _ if text[at..].starts_with(quote) => return Some((value, &text[at + quote.len()..])),
            _ => value.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests;
