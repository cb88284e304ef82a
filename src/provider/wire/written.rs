//! Tool calls that a model writes as text instead of making them.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json;
use crate::limits::json::LEVELS_MAX;

/// A call found in a text: the tool's name and its arguments as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: String,
}

/// How open models write a call: as JSON under one of these members.
#[derive(Deserialize)]
struct Form<'a> {
    #[serde(borrow, alias = "tool", alias = "tool_name")]
    name: Option<&'a str>,
    #[serde(borrow)]
    function: Option<&'a RawValue>,
    #[serde(borrow, alias = "parameters", alias = "args", alias = "input")]
    arguments: Option<&'a RawValue>,
}

/// Reads the inside of a call's marks: a JSON object or an array of them, or Qwen's
/// `<function=name><parameter=key>value</parameter></function>`. None when it is neither, or when it
/// names a tool that does not exist.
pub fn read(text: &str, is_tool: &dyn Fn(&str) -> bool) -> Option<Vec<Written>> {
    let text = text.trim();
    json::check_depth(text.as_bytes(), LEVELS_MAX).ok()?;
    let calls = match text.as_bytes().first()? {
        b'<' => vec![of_tags(text)?],
        b'[' => {
            let forms: Vec<&RawValue> = json::from_str(text).ok()?;
            let calls: Option<Vec<_>> = forms.iter().map(|form| of_json(form.get())).collect();
            calls?
        }
        // Some write several objects, one after the other.
        _ => {
            let forms = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
            let calls: Option<Vec<_>> = forms.map(|form| of_json(form.ok()?.get())).collect();
            calls?
        }
    };
    let is_call = !calls.is_empty() && calls.iter().all(|call| is_tool(&call.name));
    is_call.then_some(calls)
}

fn of_json(text: &str) -> Option<Written> {
    let form: Form<'_> = json::from_str(text).ok()?;
    match (form.name, form.function) {
        (Some(name), _) => Some(Written {
            name: name.to_owned(),
            arguments: form.arguments.map_or_else(|| "{}".to_owned(), text_or_json),
        }),
        // `{"type": "function", "function": {"name": …, "arguments": …}}`
        (None, Some(function)) if function.get().starts_with('{') => of_json(function.get()),
        (None, Some(function)) => Some(Written {
            name: json::from_str(function.get()).ok()?,
            arguments: form.arguments.map_or_else(|| "{}".to_owned(), text_or_json),
        }),
        (None, None) => None,
    }
}

/// What a JSON text stands for where arguments are expected: the text in it, or itself.
pub fn text_or_json(value: &RawValue) -> String {
    json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

fn of_tags(text: &str) -> Option<Written> {
    let (name, mut rest) = text.strip_prefix("<function=")?.split_once('>')?;
    let mut arguments = serde_json::Map::new();
    while let Some((_, after)) = rest.split_once("<parameter=") {
        let (key, after) = after.split_once('>')?;
        let (value, after) = after.split_once("</parameter>")?;
        // The template puts each value on lines of its own.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        arguments.insert(key.trim().to_owned(), value.into());
        rest = after;
    }
    Some(Written {
        name: name.trim().to_owned(),
        arguments: serde_json::to_string(&arguments).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_common_open_models_are_calls_when_the_tool_exists() {
        let call = r#"read_file {"path":"a"}"#;
        for (text, expected) in [
            (r#"{"name":"read_file","arguments":{"path":"a"}}"#, call),
            (
                r#" {"name": "read_file", "parameters": {"path":"a"}} "#,
                call,
            ),
            (
                r#"{"name":"read_file","arguments":"{\"path\":\"a\"}"}"#,
                call,
            ),
            (r#"{"tool":"read_file","input":{"path":"a"}}"#, call),
            (r#"{"function":"read_file","args":{"path":"a"}}"#, call),
            (
                r#"{"type":"function","function":{"name":"read_file","arguments":{"path":"a"}}}"#,
                call,
            ),
            (r#"[{"name":"read_file","arguments":{"path":"a"}}]"#, call),
            (
                "<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>",
                call,
            ),
            (r#"{"name":"read_file"}"#, "read_file {}"),
            (
                r#"{"name":"read_file"}{"name":"read_file"}"#,
                "read_file {}; read_file {}",
            ),
            (r#"{"name":"launch","arguments":{}}"#, ""),
            (r#"{"path":"a"}"#, ""),
            (r#"{"name":"read_file""#, ""),
            ("<function=read_file>\n<parameter=path>\na", ""),
            ("read the file", ""),
            ("[1, 2]", ""),
            (&r#"{"function":"#.repeat(100_000), ""),
            ("[]", ""),
            ("", ""),
        ] {
            let calls = read(text, &|name| name == "read_file").unwrap_or_default();
            let calls: Vec<_> = calls
                .iter()
                .map(|call| format!("{} {}", call.name, call.arguments))
                .collect();
            assert_eq!(calls.join("; "), expected, "{text}");
        }
    }
}
