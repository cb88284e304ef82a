//! Questions of a server to a person or a model, and how they are answered. Pure.

use chrono::{DateTime, NaiveDate};
use serde_json::{Map, Value, json};

use crate::base::chat::{
    Choice, Field, FieldKind, InputAnswer, InputKind, InputRequest, Sample, TextForm,
};
use crate::base::json::{self, Members};
use crate::base::limits::mcp::{FIELDS, SHOWN_CHARS};
use crate::text::{one_line, truncate_chars};

/// Values that can be chosen from.
const CHOICES: usize = 50;
/// Messages of a prompt that a server has for a model.
const SAMPLE_MESSAGES: usize = 50;

/// Reads a question. The error says why it cannot be asked.
pub fn read(server: &str, method: &str, params: &str) -> Result<InputRequest, String> {
    let unreadable = || format!("its {method} cannot be read");
    let asked: Value = json::from_str(params).map_err(|_| unreadable())?;
    if !asked.is_object() {
        return Err(unreadable());
    }
    let text = |name: &str| asked[name].as_str().unwrap_or_default();
    let (message, kind) = match method {
        "sampling/createMessage" => {
            let sample = sample(&asked)?.ok_or_else(unreadable)?;
            (String::new(), InputKind::Sample(Box::new(sample)))
        }
        _ => {
            let kind = match &asked["mode"] {
                Value::Null => form(&asked, params)?,
                mode if mode == "form" => form(&asked, params)?,
                mode if mode == "url" => link(text("url").to_owned())?,
                other => return Err(format!("its question has the unknown mode {other}")),
            };
            (
                truncate_chars(text("message"), SHOWN_CHARS).to_owned(),
                kind,
            )
        }
    };
    Ok(InputRequest {
        server: server.to_owned(),
        message,
        kind,
    })
}

fn link(url: String) -> Result<InputKind, String> {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic());
    if is_web && is_plain && url.len() <= SHOWN_CHARS * 4 {
        Ok(InputKind::Link {
            url,
            returns: false,
        })
    } else {
        Err("its link is not an http or https address".to_owned())
    }
}

/// A prompt for a model; `None` when it is none.
fn sample(asked: &Value) -> Result<Option<Sample>, String> {
    let Some(all) = asked["messages"].as_array() else {
        return Ok(None);
    };
    if all.len() > SAMPLE_MESSAGES {
        return Err(format!(
            "its prompt has more than {SAMPLE_MESSAGES} messages"
        ));
    }
    let mut messages = Vec::new();
    for message in all {
        let Some(role) = message["role"].as_str() else {
            return Ok(None);
        };
        let content = &message["content"];
        let parts = match content {
            Value::Array(parts) => parts.as_slice(),
            part => std::slice::from_ref(part),
        };
        let mut texts = Vec::new();
        for part in parts {
            let text = part.as_str().or(part["text"].as_str());
            texts.push(text.ok_or("its prompt has something besides text")?);
        }
        messages.push((role == "assistant", texts.join("\n")));
    }
    Ok(Some(Sample {
        system: asked["systemPrompt"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        messages,
        max_tokens: asked["maxTokens"].as_f64().unwrap_or_default() as u32,
    }))
}

/// A form, its fields in the order in which the server wrote them, which reading loses.
fn form(asked: &Value, written: &str) -> Result<InputKind, String> {
    let mut fields = fields(&asked["requestedSchema"])?;
    let start = written.find("\"properties\"").unwrap_or_default();
    let written = written.get(start..).unwrap_or_default();
    let place = |field: &Field| written.find(&Value::from(field.name.as_str()).to_string());
    fields.sort_by_cached_key(|field| place(field).unwrap_or(usize::MAX));
    Ok(InputKind::Form(fields))
}

/// The fields of a form: a flat object of plain values.
fn fields(schema: &Value) -> Result<Vec<Field>, String> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    if properties.len() > FIELDS {
        return Err(format!("its form has more than {FIELDS} fields"));
    }
    let required = schema["required"].as_array();
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)))
    };
    let field = |(name, schema): (&String, &Value)| {
        let text = |key: &str| {
            let text = schema[key].as_str().unwrap_or_default();
            truncate_chars(text, SHOWN_CHARS).to_owned()
        };
        let kind =
            kind(schema).ok_or_else(|| format!("its form has the unknown field {name:?}"))?;
        if !is_possible(&kind) {
            return Err(format!("nothing fits the field {name:?} of its form"));
        }
        Ok(Field {
            name: name.clone(),
            title: Some(text("title"))
                .filter(|title| !title.is_empty())
                .unwrap_or_else(|| name.clone()),
            description: text("description"),
            is_required: is_required(name),
            default: schema
                .get("default")
                .filter(|value| fits(&kind, value))
                .cloned(),
            kind,
        })
    };
    properties.iter().map(field).collect()
}

/// Whether there is a value that a field can have.
fn is_possible(kind: &FieldKind) -> bool {
    match kind {
        FieldKind::Text { least, most, .. } => least <= most,
        FieldKind::Number { least, most, .. } => {
            least.is_none_or(|least| most.is_none_or(|most| least <= most))
        }
        FieldKind::Choices { of, least, most } => least <= most && *least <= of.len(),
        FieldKind::Flag | FieldKind::Choice(_) => true,
    }
}

fn kind(schema: &Value) -> Option<FieldKind> {
    let size = |key: &str, missing: usize| match schema[key].as_f64() {
        Some(size) => size.clamp(0.0, 1e9) as usize,
        None => missing,
    };
    Some(match schema["type"].as_str()? {
        "boolean" => FieldKind::Flag,
        kind @ ("number" | "integer") => FieldKind::Number {
            is_whole: kind == "integer",
            least: schema["minimum"].as_f64(),
            most: schema["maximum"].as_f64(),
        },
        "string" => match choices(schema)? {
            of if of.is_empty() => FieldKind::Text {
                least: size("minLength", 0),
                most: size("maxLength", usize::MAX),
                form: match schema["format"].as_str() {
                    Some("email") => TextForm::Email,
                    Some("uri") => TextForm::Uri,
                    Some("date") => TextForm::Date,
                    Some("date-time") => TextForm::DateTime,
                    _ => TextForm::Free,
                },
            },
            of => FieldKind::Choice(of),
        },
        "array" => FieldKind::Choices {
            of: choices(&schema["items"]).filter(|of| !of.is_empty())?,
            least: size("minItems", 0),
            most: size("maxItems", usize::MAX),
        },
        _ => return None,
    })
}

/// The values of an enumeration, in any of the ways in which one is written; empty where there is none.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let titled = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let found: Vec<Choice> = match (titled, schema["enum"].as_array()) {
        (Some(titled), _) => titled
            .iter()
            .map(|one| choice(&one["const"], &one["title"]))
            .collect::<Option<_>>()?,
        (None, Some(values)) => {
            let titles = schema["enumNames"].as_array();
            let title = |at| {
                titles
                    .and_then(|titles| titles.get(at))
                    .unwrap_or(&Value::Null)
            };
            let all = values.iter().enumerate();
            all.map(|(at, value)| choice(value, title(at)))
                .collect::<Option<_>>()?
        }
        (None, None) => Vec::new(),
    };
    (found.len() <= CHOICES).then_some(found)
}

fn choice(value: &Value, title: &Value) -> Option<Choice> {
    let value = value.as_str()?;
    // A button has to say something.
    let title = title
        .as_str()
        .filter(|title| !one_line(title, 1).is_empty());
    let title = title.unwrap_or(value);
    Some(Choice {
        value: value.to_owned(),
        title: truncate_chars(title, SHOWN_CHARS).to_owned(),
    })
}

/// Whether a value is one that a field can have.
pub fn fits(kind: &FieldKind, value: &Value) -> bool {
    let is_one_of =
        |of: &[Choice], value: &Value| of.iter().any(|one| value.as_str() == Some(&one.value));
    match kind {
        FieldKind::Text { least, most, form } => value.as_str().is_some_and(|text| {
            (*least..=*most).contains(&text.chars().count()) && looks_like(*form, text)
        }),
        FieldKind::Number {
            is_whole,
            least,
            most,
        } => value.as_f64().is_some_and(|number| {
            (!is_whole || number.fract() == 0.0)
                && least.is_none_or(|least| number >= least)
                && most.is_none_or(|most| number <= most)
        }),
        FieldKind::Flag => value.is_boolean(),
        FieldKind::Choice(of) => is_one_of(of, value),
        FieldKind::Choices { of, least, most } => value.as_array().is_some_and(|chosen| {
            (*least..=*most).contains(&chosen.len()) && chosen.iter().all(|one| is_one_of(of, one))
        }),
    }
}

fn looks_like(form: TextForm, text: &str) -> bool {
    let has_space = text.contains(char::is_whitespace);
    match form {
        TextForm::Free => true,
        TextForm::Email => match text.split_once('@') {
            Some((name, host)) => !has_space && !name.is_empty() && !host.is_empty(),
            None => false,
        },
        TextForm::Uri => match text.split_once(':') {
            Some((scheme, rest)) => {
                let is_part = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
                !has_space && !rest.is_empty() && !scheme.is_empty() && scheme.chars().all(is_part)
            }
            None => false,
        },
        TextForm::Date => text.len() == 10 && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok(),
        TextForm::DateTime => DateTime::parse_from_rfc3339(text).is_ok(),
    }
}

/// The result of a question. The error says that there is none.
pub fn write(request: &InputRequest, answer: &InputAnswer) -> Result<Value, &'static str> {
    let is_sample = matches!(request.kind, InputKind::Sample(_));
    Ok(match (answer, &request.kind) {
        (InputAnswer::Given(values), InputKind::Form(fields)) => {
            json!({"action": "accept", "content": with_defaults(values, fields)})
        }
        (InputAnswer::Given(_), InputKind::Link { .. }) => json!({"action": "accept"}),
        (InputAnswer::Sampled { text, model }, _) if is_sample => json!({
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": model,
            "stopReason": "endTurn",
        }),
        _ if is_sample => return Err("the prompt was not answered"),
        (InputAnswer::Declined, _) => json!({"action": "decline"}),
        _ => json!({"action": "cancel"}),
    })
}

fn with_defaults(values: &Map<String, Value>, fields: &[Field]) -> Map<String, Value> {
    let value = |field: &Field| {
        let value = values.get(&field.name).or(field.default.as_ref())?;
        Some((field.name.clone(), value.clone()))
    };
    fields.iter().filter_map(value).collect()
}

/// What a server wants to know before it can answer a request, since 2026-07-28.
pub struct Required {
    /// The questions: name, method and parameters as JSON.
    pub requests: Vec<(String, String, String)>,
    /// What goes back with the answers, unread.
    pub state: Option<String>,
}

/// Reads the result of a request; `None` when it is the request's own.
pub fn read_required(result: &str) -> Option<Required> {
    // A result can be large, and is read once more for what it says.
    if !result.contains("input_required") {
        return None;
    }
    let wanted = Members::read(result)?;
    if wanted.text("resultType")? != "input_required" {
        return None;
    }
    let mut requests = Vec::new();
    if let Value::Object(asked) = wanted.value("inputRequests") {
        for (key, request) in asked {
            let method = request["method"].as_str().unwrap_or_default().to_owned();
            let params = request.get("params");
            let params = params.map_or_else(|| "{}".to_owned(), Value::to_string);
            requests.push((key, method, params));
        }
    }
    Some(Required {
        requests,
        state: wanted.text("requestState"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(schema: &Value) -> Result<InputRequest, String> {
        let params = json!({"message": "Which lamp?", "requestedSchema": schema}).to_string();
        read("lamp", "elicitation/create", &params)
    }

    #[test]
    fn a_form_is_read_with_all_kinds_of_fields() {
        let schema = json!({"type": "object", "required": ["room"], "properties": {
            "room": {"type": "string", "title": "Room", "minLength": 2, "default": "hall"},
            "watts": {"type": "integer", "minimum": 1, "maximum": 100, "default": 200},
            "now": {"type": "boolean", "default": true},
            "color": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
            "mode": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "many": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["x", "y"]}},
        }});
        let request = form(&schema).unwrap();
        let InputKind::Form(fields) = &request.kind else {
            panic!("{request:?}");
        };
        assert_eq!(fields.len(), 6);
        let field = |name: &str| fields.iter().find(|field| field.name == name).unwrap();
        assert_eq!(
            (field("room").title.as_str(), field("room").is_required),
            ("Room", true)
        );
        assert_eq!(
            field("watts").default,
            None,
            "a default that does not fit is none"
        );
        assert!(matches!(&field("color").kind, FieldKind::Choice(of) if of[1].title == "Green"));
        assert!(matches!(
            field("many").kind,
            FieldKind::Choices { least: 1, .. }
        ));
        let mut values = Map::new();
        values.insert("room".into(), "attic".into());
        values.insert("intruder".into(), 1.into());
        let answer = write(&request, &InputAnswer::Given(values)).unwrap();
        assert_eq!(
            answer,
            json!({"action": "accept", "content": {"room": "attic", "now": true}})
        );
        assert_eq!(
            write(&request, &InputAnswer::Declined).unwrap()["action"],
            "decline"
        );
        assert_eq!(
            write(&request, &InputAnswer::Cancelled).unwrap()["action"],
            "cancel"
        );
    }

    #[test]
    fn the_fields_come_in_the_order_of_the_server_and_texts_have_forms() {
        let params = r#"{"message":"m","requestedSchema":{"type":"object","required":["a"],"properties": {
            "mail": {"type":"string","format":"email","default":"no mail"},
            "day": {"type":"string","format":"date","default":"2024-02-30"},
            "time": {"type":"string","format":"date-time","default":"2024-02-03T10:00:00Z"},
            "a": {"type":"string","format":"uri","default":"https://x.y"}}}}"#;
        let request = read("lamp", "elicitation/create", params).unwrap();
        let InputKind::Form(fields) = &request.kind else {
            panic!("{request:?}");
        };
        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["mail", "day", "time", "a"]);
        let right: Vec<bool> = fields.iter().map(|field| field.default.is_some()).collect();
        assert_eq!(right, [false, false, true, true]);
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let many: Map<String, Value> = (0..=FIELDS)
            .map(|n| (n.to_string(), json!({"type": "string"})))
            .collect();
        assert!(form(&json!({"properties": many})).is_err());
        for field in [
            json!({"type": "object"}),
            json!({"type": "string", "minLength": 5, "maxLength": 2}),
            json!({"type": "number", "minimum": 5, "maximum": 2}),
            json!({"type": "array", "minItems": 3, "items": {"enum": ["a", "b"]}}),
        ] {
            assert!(
                form(&json!({"properties": {"a": field}})).is_err(),
                "{field}"
            );
        }
        for url in ["javascript:alert(1)", "https://a b", ""] {
            let params = json!({"mode": "url", "url": url, "message": "m"}).to_string();
            assert!(
                read("lamp", "elicitation/create", &params).is_err(),
                "{url}"
            );
        }
        assert!(read("lamp", "elicitation/create", "[]").is_err());
    }

    #[test]
    fn a_prompt_is_read_and_its_refusal_is_an_error() {
        let params = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 9}).to_string();
        let request = read("lamp", "sampling/createMessage", &params).unwrap();
        let InputKind::Sample(sample) = &request.kind else {
            panic!("{request:?}");
        };
        assert_eq!(
            (sample.max_tokens, sample.messages[0].1.as_str()),
            (9, "Hi")
        );
        assert!(write(&request, &InputAnswer::Declined).is_err());
        let answer = InputAnswer::Sampled {
            text: "Hello".into(),
            model: "m".into(),
        };
        assert_eq!(
            write(&request, &answer).unwrap()["content"]["text"],
            "Hello"
        );
        let picture =
            json!({"messages": [{"role": "user", "content": {"type": "image"}}]}).to_string();
        assert!(read("lamp", "sampling/createMessage", &picture).is_err());
    }

    #[test]
    fn a_result_that_wants_more_is_recognised() {
        assert!(
            read_required(r#"{"content":[{"type":"text","text":"input_required"}]}"#).is_none()
        );
        let text = r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}"#;
        let required = read_required(text).unwrap();
        assert_eq!(
            required.requests,
            [("a".into(), "roots/list".into(), "{}".into())]
        );
        assert_eq!(required.state.as_deref(), Some("s"));
    }
}
