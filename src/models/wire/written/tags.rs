//! Calls between tags, as Qwen, MiniMax, DeepSeek, GLM and many more write them. A value ends where what follows
//! can only be a tag of the call: it may have such tags in it, and its own end may be missing.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{Unread, Written, find, some_name, without_marks};
use crate::base::chat::ToolSpec;
use crate::base::json;

/// What some families put into the names of their tags.
const PREFIXES: [&str; 6] = [
    "｜DSML｜",
    "｜GCML｜",
    "atem:",
    "steptml:",
    "ifm|",
    "longcat_",
];

/// What MiniMax puts before each tag, and Hunyuan behind each name.
const EXTRAS: [&str; 2] = ["]<]minimax[>[", ":opensource"];

/// How a call begins and ends, and its parameters.
const CALLS: [(&str, &str); 4] = [
    ("<function=", "</function>"),
    ("<function name=", "</function>"),
    ("<invoke name=", "</invoke>"),
    ("<call tool=", "</call>"),
];

/// What Step has before each call.
const STEP: &str = "function<｜tool_sep｜>";

const PARAMETERS: [(&str, &str); 4] = [
    ("<parameter=", "</parameter>"),
    ("<parameter name=", "</parameter>"),
    ("<param name=", "</param>"),
    ("<argument key=", "</argument>"),
];

/// The plain form of a family's tags.
fn plain(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    let mut replace = |from: &str, to: &str| {
        if text.contains(from) {
            text = text.replace(from, to).into();
        }
    };
    for prefix in PREFIXES {
        replace(&format!("<{prefix}"), "<");
        replace(&format!("</{prefix}"), "</");
    }
    EXTRAS.iter().for_each(|extra| replace(extra, ""));
    // Kimi K3.
    replace("<|open|>", "<");
    replace("<|close|>", "</");
    replace("<|sep|>", ">");
    text
}

/// The one of these beginnings that a text has, with its end, and what follows.
fn strip<'a>(text: &'a str, tags: &[(&str, &'static str)]) -> Option<(&'static str, &'a str)> {
    let mut tags = tags.iter();
    tags.find_map(|(open, close)| Some((*close, text.strip_prefix(open)?)))
}

/// Reads calls with a tag each.
pub fn read(text: &str, tools: &[ToolSpec]) -> Result<Vec<Written>, Unread> {
    let text = plain(text);
    let (mut calls, mut rest) = (Vec::new(), without_marks(&text, STEP));
    while !rest.is_empty() {
        if rest.starts_with("<tool_call>") {
            rest = &rest["<tool_call>".len()..];
            let (call, after) = rest.split_once("</tool_call>").unwrap_or((rest, ""));
            calls.extend(super::read(call, super::Form::Tags, tools)?);
            rest = without_marks(after, STEP);
            continue;
        }
        let (close, after) = strip(rest, &CALLS).ok_or(Unread::Quoted)?;
        // Llama sometimes leaves out the sign before its JSON.
        let end = after.find(['>', '{']).ok_or(Unread::Cut)?;
        let name = attribute(&after[..end]);
        let after = after[end..].trim_start_matches('>').trim_start();
        let (arguments, after) = parameters(after, close, name, tools)?;
        calls.push(Written {
            name: some_name(name),
            arguments: Value::Object(arguments).to_string(),
        });
        let after = after.trim_start();
        rest = without_marks(after.strip_prefix(close).unwrap_or(after), STEP);
    }
    if calls.is_empty() {
        Err(Unread::Cut)
    } else {
        Ok(calls)
    }
}

/// Reads a call's parameters, and returns what follows them.
fn parameters<'a>(
    text: &'a str,
    close: &str,
    tool: &str,
    tools: &[ToolSpec],
) -> Result<(Map<String, Value>, &'a str), Unread> {
    let (mut arguments, mut rest) = (Map::new(), text);
    // Llama has JSON between the tags, and Kimi may have it.
    let object = rest.strip_prefix("<json type=\"object\">").unwrap_or(rest);
    if object.starts_with('{') {
        let value = json::loose_value(object)?;
        arguments = json::from_str(&value.json).map_err(|_| Unread::Broken)?;
        rest = value.rest.trim_start_matches('>').trim_start();
        rest = rest.strip_prefix("</json>").unwrap_or(rest).trim_start();
    }
    let known = schema(tool, tools);
    loop {
        let is_known = |key: &str| !known[key].is_null();
        let named = strip(rest, &PARAMETERS);
        let (end, key, after) = if let Some((end, after)) = named {
            let (key, after) = after.split_once('>').ok_or(Unread::Cut)?;
            (end.to_owned(), attribute(key), after)
        } else if let Some((key, after)) = plain_tag(rest).filter(|(key, _)| is_known(key)) {
            (format!("</{key}>"), key, after)
        } else {
            return Ok((arguments, rest));
        };
        let is_next = |after: &str| {
            let next = match named {
                Some(_) => strip(after, &PARAMETERS)
                    .and_then(|(_, after)| Some(attribute(after.split_once('>')?.0))),
                None => plain_tag(after).map(|(key, _)| key),
            };
            next.is_some_and(|next| next != key && is_known(next) && !arguments.contains_key(next))
        };
        let is_end = |after: &str| {
            let after = after.trim_start();
            let is_over = after.is_empty() || after.starts_with(close);
            is_over
                || strip(after, &CALLS).is_some()
                || strip(after, &PARAMETERS).is_some()
                || is_next(after)
        };
        let (value, after) = value(after, (&end, close), is_end, is_next)?;
        arguments.insert(key.to_owned(), value_of(&known, key, value));
        rest = after.trim_start();
    }
}

/// The value that a text begins with, up to the tag that ends it. Where that is missing the next parameter
/// ends it, or the call's end.
fn value<'a>(
    text: &'a str,
    (end, close): (&str, &str),
    is_end: impl Fn(&str) -> bool,
    is_next: impl Fn(&str) -> bool,
) -> Result<(&'a str, &'a str), Unread> {
    let own = own_end(text, end, is_end);
    let mut tags = text[..own.unwrap_or(text.len())].match_indices('<');
    if let Some((at, _)) = tags.find(|(at, _)| is_next(&text[*at..])) {
        return Ok((&text[..at], &text[at..]));
    }
    if let Some(at) = own {
        return Ok((&text[..at], &text[at + end.len()..]));
    }
    let mut closes = text.match_indices(close).map(|(at, _)| at);
    let is_over = |at: &usize| {
        let after = text[at + close.len()..].trim_start();
        after.is_empty() || strip(after, &CALLS).is_some()
    };
    let at = closes.find(is_over).ok_or(Unread::Cut)?;
    Ok((&text[..at], &text[at..]))
}

/// The place of the tag that ends the value: behind as many as the value has itself, where they are even.
fn own_end(text: &str, end: &str, is_end: impl Fn(&str) -> bool) -> Option<usize> {
    let begins = PARAMETERS
        .iter()
        .map(|(open, _)| *open)
        .chain(["<arg_value>"]);
    let (mut open, mut read, mut first) = (0, 0, None);
    for (closed, (at, _)) in text.match_indices(end).enumerate() {
        let before = &text[std::mem::replace(&mut read, at)..at];
        open += begins
            .clone()
            .map(|begin| before.matches(begin).count())
            .sum::<usize>();
        if is_end(&text[at + end.len()..]) {
            if open <= closed {
                return Some(at);
            }
            first = first.or(Some(at));
        }
    }
    first
}

/// Reads GLM's call: the name, and keys and values in turn.
pub fn read_pairs(text: &str, tools: &[ToolSpec]) -> Result<Vec<Written>, Unread> {
    let text = plain(text);
    let end = text.find(['<', '\n']).unwrap_or(text.len());
    let (name, rest) = (text[..end].trim(), text[end..].trim_start());
    let mut rest = rest.strip_prefix("<tool_sep>").unwrap_or(rest).trim_start();
    let known = schema(name, tools);
    let mut arguments = Map::new();
    while let Some(after) = rest.strip_prefix("<arg_key>") {
        let (key, after) = after.split_once("</arg_key>").ok_or(Unread::Cut)?;
        // K2 Horizon tells the type.
        let after = after.trim_start();
        let after = match after.strip_prefix("<arg_type>") {
            Some(after) => after
                .split_once("</arg_type>")
                .ok_or(Unread::Cut)?
                .1
                .trim_start(),
            None => after,
        };
        let after = after.strip_prefix("<arg_value>").ok_or(Unread::Broken)?;
        let is_next = |after: &str| after.starts_with("<arg_key>");
        let is_end = |after: &str| after.trim_start().is_empty() || is_next(after.trim_start());
        let (value, after) = value(after, ("</arg_value>", "</arg_value>"), is_end, is_next)?;
        arguments.insert(key.trim().to_owned(), value_of(&known, key.trim(), value));
        rest = after.trim_start();
    }
    if !rest.is_empty() || name.contains(char::is_whitespace) {
        return Err(Unread::Quoted);
    }
    Ok(vec![Written {
        name: some_name(name),
        arguments: Value::Object(arguments).to_string(),
    }])
}

/// The value of a tag's first attribute, which may stand in quotes.
fn attribute(text: &str) -> &str {
    let text = text.trim();
    match text.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split(['"', '\'']).next().unwrap_or(quoted),
        None => text,
    }
}

/// The name of a tag without attributes that a text begins with, and what follows.
fn plain_tag(text: &str) -> Option<(&str, &str)> {
    let (name, after) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = |char: char| char.is_alphanumeric() || "_-".contains(char);
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, after))
}

/// The parameters of a tool, by name.
fn schema(tool: &str, tools: &[ToolSpec]) -> Value {
    let tool = find(super::bare_name(tool), tools);
    let schema = tool.and_then(|tool| json::from_str::<Value>(&tool.parameters).ok());
    schema
        .map(|schema| schema["properties"].clone())
        .unwrap_or_default()
}

/// A value between tags: a text where the tool wants one or where it is nothing else.
fn value_of(known: &Value, key: &str, text: &str) -> Value {
    // The template puts each value on lines of its own.
    let text = text.strip_prefix('\n').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let kind = &known[key]["type"];
    let may_be_text = kind
        .as_array()
        .is_some_and(|kinds| kinds.contains(&"string".into()));
    if kind == "string" || kind.is_null() || may_be_text {
        let data = text.trim().strip_prefix("<![CDATA[");
        let data = data.and_then(|data| data.strip_suffix("]]>"));
        return data.unwrap_or(text).into();
    }
    let value = json::loose_from_str(text).ok();
    let value = value.and_then(|value| json::from_str(&value).ok());
    value.unwrap_or_else(|| text.into())
}
