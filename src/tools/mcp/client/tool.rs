//! What a server's lists say: tools, resources and prompts. Pure.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{NAME_BYTES, SCHEMA_BYTES};
use crate::base::json::{self, Members};
use crate::base::limits::mcp::LISTED;

/// The schema of a tool that has none.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// A tool of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// Its name there.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON schema of its arguments, as the server wrote it.
    pub schema: String,
    /// Whether it says that it only reads.
    pub read_only: bool,
    /// Arguments that go into headers too: the path to the argument, and the last part of the header's name.
    pub headers: Vec<(Vec<String>, String)>,
}

/// A resource of a server, or a template for resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Its address, or the template of one.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its media type.
    pub mime_type: String,
}

/// A prompt of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The arguments that it takes.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it has to be there.
    pub required: bool,
}

/// One page of a list.
#[derive(Debug)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins; none: this is the last one.
    pub next: Option<String>,
    /// For how many milliseconds the list is fresh, where the server says so.
    pub fresh: Option<u64>,
    /// What was left out, and why.
    pub refused: Vec<String>,
}

/// Reads a page of tools; `None` when it cannot be understood. Over HTTP (`with_headers`), a tool whose
/// arguments are to go into headers in a wrong way is left out.
pub fn read_tools(result: &str, with_headers: bool) -> Option<Page<Tool>> {
    let page = Members::read(result)?;
    let mut refused = Vec::new();
    let mut items = Vec::new();
    for one in page.each("tools")?.into_iter().take(LISTED) {
        match read_tool(one, with_headers) {
            Ok(tool) => items.push(tool),
            Err(why) => refused.push(why),
        }
    }
    let fresh = page.value("ttlMs").as_f64();
    Some(Page {
        items,
        next: next(&page),
        fresh: fresh.map(|millis| millis.max(0.0) as u64),
        refused,
    })
}

/// The cursor of the next page. Some write an empty one on the last page.
fn next(page: &Members<'_>) -> Option<String> {
    page.text("nextCursor").filter(|cursor| !cursor.is_empty())
}

fn read_tool((key, raw): (String, &RawValue), with_headers: bool) -> Result<Tool, String> {
    let unreadable = "a tool cannot be read";
    let wire = Members::read(raw.get()).ok_or(unreadable)?;
    let name = wire.text("name").unwrap_or(key);
    if name.is_empty() || name.len() > NAME_BYTES {
        return Err(format!("a tool has a name of {} bytes", name.len()));
    }
    let told = |why: &str| format!("the tool {name:?} was left out: {why}");
    // The last two are the names of the models' APIs. A tool without any has no arguments that are known.
    let mut names = ["inputSchema", "input_schema", "parameters"].iter();
    let schema = names.find_map(|name| wire.raw(name));
    let schema = schema.map_or(ANY_OBJECT, RawValue::get);
    if schema.len() > SCHEMA_BYTES {
        return Err(told("its schema is too large"));
    }
    let headers = if with_headers && schema.contains(HEADER) {
        headers(schema).map_err(|why| told(&why))?
    } else {
        Vec::new()
    };
    let annotations = wire.members("annotations");
    let texts = [
        (&wire, "description"),
        (&wire, "title"),
        (&annotations, "title"),
    ];
    let description = texts.iter().find_map(|(members, name)| members.text(name));
    Ok(Tool {
        description: description.unwrap_or_default(),
        schema: schema.to_owned(),
        read_only: annotations.is_true("readOnlyHint"),
        name,
        headers,
    })
}

/// Reads a page of resources, or of their templates.
pub fn read_resources(result: &str) -> Option<Page<Resource>> {
    let page = Members::read(result)?;
    let mut items = stored_resources(&page, "resources")?;
    items.append(&mut stored_resources(&page, "resourceTemplates")?);
    items.truncate(LISTED);
    Some(Page {
        items,
        next: next(&page),
        fresh: None,
        refused: Vec::new(),
    })
}

/// Reads a page of prompts.
pub fn read_prompts(result: &str) -> Option<Page<Prompt>> {
    let page = Members::read(result)?;
    Some(Page {
        items: stored_prompts(&page)?,
        next: next(&page),
        fresh: None,
        refused: Vec::new(),
    })
}

/// The tools of a list that was stored.
pub fn stored_tools(listing: &Members<'_>) -> Option<Vec<Tool>> {
    read_each(listing, "tools", &|_, tool| Tool {
        name: tool.text_or_empty("name"),
        description: tool.text_or_empty("description"),
        schema: tool.text_or_empty("schema"),
        read_only: tool.is_true("read_only"),
        headers: tool
            .raw("headers")
            .and_then(|raw| json::from_str(raw.get()).ok())
            .unwrap_or_default(),
    })
}

/// The resources of a list, as a server writes it or as it was stored.
pub fn stored_resources(listing: &Members<'_>, name: &str) -> Option<Vec<Resource>> {
    read_each(listing, name, &|key, resource| Resource {
        uri: (resource.text("uri").or(resource.text("uriTemplate"))).unwrap_or(key),
        name: resource.text_or_empty("name"),
        description: resource.text_or_empty("description"),
        mime_type: resource.text_or_empty("mimeType"),
    })
}

/// The prompts of a list, as a server writes it or as it was stored.
pub fn stored_prompts(listing: &Members<'_>) -> Option<Vec<Prompt>> {
    read_each(listing, "prompts", &|key, prompt| Prompt {
        name: prompt.text("name").unwrap_or(key),
        description: prompt.text_or_empty("description"),
        arguments: read_each(prompt, "arguments", &|key, argument| PromptArgument {
            name: argument.text("name").unwrap_or(key),
            description: argument.text_or_empty("description"),
            required: argument.is_true("required"),
        })
        .unwrap_or_default(),
    })
}

/// Reads the objects of a list, of which at most [`LISTED`] count, each with its name where they are members.
fn read_each<T>(
    members: &Members<'_>,
    name: &str,
    read: &dyn Fn(String, &Members<'_>) -> T,
) -> Option<Vec<T>> {
    let each = members.each(name)?.into_iter().take(LISTED);
    let read = |(key, raw): (String, &RawValue)| Some(read(key, &Members::read(raw.get())?));
    Some(each.filter_map(read).collect())
}

/// The member of a schema that names a header
/// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http>).
const HEADER: &str = "x-mcp-header";

/// Which arguments go into which headers. The error says what is wrong with the schema.
fn headers(schema: &str) -> Result<Vec<(Vec<String>, String)>, String> {
    let schema: Value = json::from_str(schema).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    collect(&schema, &mut Vec::new(), &mut found)?;
    let mut names: Vec<String> = found
        .iter()
        .map(|(_, name)| name.to_ascii_lowercase())
        .collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(format!("two of its arguments have the same {HEADER}"));
    }
    Ok(found)
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, String)>,
) -> Result<(), String> {
    let Some(members) = schema.as_object() else {
        return Ok(());
    };
    if let Some(name) = members.get(HEADER) {
        let name = name.as_str().unwrap_or_default();
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let kind = members.get("type").and_then(Value::as_str);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(format!("{name:?} is not the name of a header"));
        }
        if path.is_empty() || !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(format!(
                "the argument for the header {name} must be a string, an integer or a boolean"
            ));
        }
        found.push((path.clone(), name.to_owned()));
    }
    for (key, value) in members {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    collect(property, path, found)?;
                    path.pop();
                }
            }
            ("default" | "const" | "enum" | "examples", _) => {}
            (_, other) if mentions(other) => {
                return Err(format!("{HEADER} is within {key}"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn mentions(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.contains_key(HEADER) || members.values().any(mentions),
        Value::Array(values) => values.iter().any(mentions),
        _ => false,
    }
}

/// The arguments of a call that go into headers.
pub fn header_values(tool: &Tool, arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let value_at = |path: &[String]| {
        let (first, rest) = path.split_first()?;
        let mut value = arguments.get(first)?;
        for name in rest {
            value = value.get(name)?;
        }
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) => Some(value.to_string()),
            Value::Number(number) => match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => {
                    Some(format!("{}", float as i64))
                }
                _ => Some(number.to_string()),
            },
            _ => None,
        }
    };
    let headers = tool.headers.iter();
    headers
        .filter_map(|(path, name)| Some((name.clone(), value_at(path)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(tools: &Value) -> Page<Tool> {
        let text = json!({"tools": tools, "nextCursor": "2", "ttlMs": 5000}).to_string();
        read_tools(&text, true).unwrap()
    }

    #[test]
    fn a_list_is_read_without_what_cannot_be() {
        let page = page(&json!([
            {"name": "on", "description": "Light on", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
            {"name": "", "inputSchema": {}}, 7, {"description": "no name"},
            {"name": "off", "title": "Light off", "inputSchema": {"type": "object", "$defs": {"a": {}}}},
        ]));
        let names: Vec<&str> = page.items.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["on", "off"]);
        assert!(page.items[0].read_only && !page.items[1].read_only);
        assert_eq!(page.items[1].description, "Light off");
        assert!(
            page.items[1].schema.contains("$defs"),
            "as the server wrote it"
        );
        assert_eq!(
            (page.refused.len(), page.next.as_deref(), page.fresh),
            (3, Some("2"), Some(5000))
        );
        assert!(read_tools("[]", true).is_none());
    }

    #[test]
    fn lists_in_other_shapes_are_read_and_an_empty_cursor_is_the_end() {
        let schema = json!({"type": "object", "properties": {"room": {"type": "string"}}});
        let text = json!({"nextCursor": "", "tools": {
            "on": {"description": "Light on"},
            "off": {"inputSchema": null, "parameters": schema},
            "dim": {"name": "dimmer", "input_schema": schema},
        }});
        let page = read_tools(&text.to_string(), true).unwrap();
        assert_eq!((page.next, page.refused.len()), (None, 0));
        let found = page.items.iter().map(|tool| (&*tool.name, &*tool.schema));
        let schema = schema.to_string();
        assert_eq!(
            found.collect::<Vec<_>>(),
            [("dimmer", &*schema), ("off", &*schema), ("on", ANY_OBJECT)]
        );
        let text = r#"{"nextCursor": "", "resources": {"lamp://1": {"name": "one"}}}"#;
        let page = read_resources(text).unwrap();
        assert_eq!((page.next, &*page.items[0].uri), (None, "lamp://1"));
        let text = r#"{"prompts": {"review": {"arguments": {"code": {"required": "true"}}}}}"#;
        let prompt = &read_prompts(text).unwrap().items[0];
        assert_eq!(
            (&*prompt.name, &*prompt.arguments[0].name),
            ("review", "code")
        );
        assert!(prompt.arguments[0].required);
    }

    #[test]
    fn arguments_go_into_headers_where_the_schema_says_so_rightly() {
        let with = |schema: Value| page(&json!([{"name": "x", "inputSchema": schema}]));
        let good = with(json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "plain": {"type": "string", "default": {"x-mcp-header": "no"}},
        }}));
        let arguments = json!({"region": "eu", "deep": {"n": 42.0}, "plain": "p"});
        let values = header_values(&good.items[0], arguments.as_object().unwrap());
        assert_eq!(
            values,
            [("N".into(), "42".into()), ("Region".into(), "eu".into())]
        );
        let none = header_values(&good.items[0], json!({"region": null}).as_object().unwrap());
        assert!(none.is_empty());
        for bad in [
            json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}),
            json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
            json!({"properties": {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}}}),
            json!({"properties": {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}}}),
            json!({"oneOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}),
            json!({"x-mcp-header": "A", "type": "string"}),
        ] {
            let page = with(bad.clone());
            assert!(page.items.is_empty() && page.refused.len() == 1, "{bad}");
        }
    }

    #[test]
    fn resources_their_templates_and_prompts_are_read() {
        let text = r#"{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"File"}]}"#;
        assert_eq!(read_resources(text).unwrap().items[0].uri, "file:///{path}");
        let text =
            r#"{"prompts":[{"name":"review","arguments":[{"name":"code","required":true}]}]}"#;
        assert!(read_prompts(text).unwrap().items[0].arguments[0].required);
    }
}
