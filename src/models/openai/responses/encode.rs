//! A request to the Responses API.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::full_name;
use crate::base::chat::{Entry, Request, Role, Sealed, ToolSpec};
use crate::base::json;
use crate::models::openai::encode::{as_text, asked_effort};
use crate::models::quirks::{Effort, Quirks};
use crate::models::wire::body::{Body, DataUrl, Target};
use crate::models::wire::entries::{
    Joined, Part, Shown, arguments, bounded_id, parameters, parts, running_turn,
};
use crate::models::wire::thinking_tokens;

/// Tokens of an answer below which OpenAI's Responses API refuses the request.
const OUTPUT_TOKENS_MIN: u32 = 16;

/// Writes the body of a request.
pub fn encode(request: &Request<'_>, target: &Target<'_>) -> serde_json::Result<Vec<u8>> {
    let quirks = target.quirks;
    let effort = Some(quirks.effort).filter(|effort| *effort != Effort::Never);
    let effort = effort.and_then(|_| asked_effort(request, quirks));
    let mut body = Body::new(target.extra_body, request.about_bytes());
    body.put("model", &target.model)?;
    let system = match request.system {
        "" if quirks.is_codex => Some("Do what the messages ask."),
        system => Some(system).filter(|system| !system.is_empty()),
    };
    body.put_some("instructions", system.as_ref())?;
    body.put("input", &input(request, target))?;
    let tools: Vec<_> = request.tools.iter().map(Tool::of).collect();
    body.put_some("tools", Some(&tools).filter(|tools| !tools.is_empty()))?;
    let most = Some(bound(request, quirks)).filter(|_| !quirks.is_codex);
    body.put_some("max_output_tokens", most.as_ref())?;
    let takes_temperature = quirks.temperature && !quirks.is_codex;
    let temperature = request.temperature.filter(|_| takes_temperature);
    body.put_some("temperature", temperature.as_ref())?;
    let reasoning = effort.map(|effort| Reasoning { effort });
    body.put_some("reasoning", reasoning.as_ref())?;
    body.put("store", &false)?;
    let sealed = ["reasoning.encrypted_content"];
    body.put_some("include", Some(&sealed).filter(|_| quirks.sealed))?;
    let cache_key = request.cache_key.filter(|_| quirks.cache_key);
    body.put_some("prompt_cache_key", cache_key.as_ref())?;
    if request.stream || quirks.is_codex {
        body.put("stream", &true)?;
    }
    body.finish()
}

/// The bound of an answer. The thoughts are part of it, and the answer should not be shorter for them.
pub fn bound(request: &Request<'_>, quirks: Quirks) -> u32 {
    let thoughts = request.reasoning_effort.map_or(0, thinking_tokens);
    let most = request
        .max_tokens
        .saturating_add(thoughts.min(request.thoughts_max));
    most.min(quirks.max_tokens).max(OUTPUT_TOKENS_MIN)
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
    /// Else the API demands schemas that list every member as required.
    strict: bool,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            name: &tool.name,
            description: &tool.description,
            parameters: parameters(tool),
            strict: false,
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message {
        role: &'static str,
        content: Content<'a>,
        /// Whether the assistant goes on after it.
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<&'static str>,
    },
    Call {
        r#type: &'static str,
        call_id: Cow<'a, str>,
        name: &'a str,
        #[serde(serialize_with = "as_text")]
        arguments: Cow<'a, RawValue>,
    },
    Result {
        r#type: &'static str,
        call_id: Cow<'a, str>,
        output: Content<'a>,
    },
    Sealed(&'a RawValue),
}

/// One text where there is no image, else an array.
struct Content<'a>(Vec<Part<'a>>);

impl Serialize for Content<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_image = self.0.iter().any(|part| matches!(part, Part::Image(_)));
        if has_image {
            serializer.collect_seq(self.0.iter().map(Piece::of))
        } else {
            serializer.collect_str(&Joined(&self.0))
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    InputText {
        text: Shown<Part<'a>>,
    },
    InputImage {
        image_url: Shown<DataUrl<'a>>,
        detail: &'static str,
    },
}

impl<'a> Piece<'a> {
    fn of(part: &Part<'a>) -> Self {
        match part {
            Part::Image(image) => Self::InputImage {
                image_url: Shown(DataUrl(image)),
                detail: "auto",
            },
            part => Self::InputText { text: Shown(*part) },
        }
    }
}

fn input<'a>(request: &Request<'a>, target: &Target<'_>) -> Vec<Item<'a>> {
    let running = running_turn(request.entries);
    let model = full_name(target.provider, target.model);
    let quirks = target.quirks;
    let mut items = Vec::with_capacity(request.entries.len());
    for (index, entry) in request.entries.iter().enumerate() {
        match entry.role() {
            Role::User => add_user(&mut items, content(entry, quirks, "(empty)")),
            Role::Assistant => {
                let own = Some(model.as_str()).filter(|_| index >= running && quirks.sealed);
                add_assistant(&mut items, entry, (own, quirks));
            }
            Role::Tool => items.push(Item::Result {
                r#type: "function_call_output",
                call_id: bounded_id(entry.tool_call_id.as_deref().unwrap_or_default()),
                output: Content(content(entry, quirks, "(no output)")),
            }),
        }
    }
    items
}

fn content<'a>(entry: &'a Entry, quirks: Quirks, empty: &'a str) -> Vec<Part<'a>> {
    let mut content: Vec<_> = parts(entry, quirks.sees).collect();
    if content.is_empty() {
        content.push(Part::Text(empty));
    }
    content
}

/// Adds what the person says; to their last message, if that is the last item, because templates of
/// other servers refuse two in a row.
fn add_user<'a>(items: &mut Vec<Item<'a>>, said: Vec<Part<'a>>) {
    match items.last_mut() {
        Some(Item::Message {
            role: "user",
            content,
            ..
        }) => content.0.extend(said),
        _ => items.push(Item::Message {
            role: "user",
            content: Content(said),
            phase: None,
        }),
    }
}

/// Adds the assistant's text and calls, each behind the reasoning that led to it, if that is of the model
/// with this name. The API refuses reasoning that nothing follows.
fn add_assistant<'a>(
    items: &mut Vec<Item<'a>>,
    entry: &'a Entry,
    (model, quirks): (Option<&str>, Quirks),
) {
    let said: Vec<_> = parts(entry, quirks.sees).collect();
    let phase = if entry.tool_calls.is_empty() {
        "final_answer"
    } else {
        "commentary"
    };
    let message = (!said.is_empty()).then(|| Item::Message {
        role: "assistant",
        content: Content(said),
        phase: quirks.phases.then_some(phase),
    });
    let calls = entry.tool_calls.iter().map(|call| Item::Call {
        r#type: "function_call",
        call_id: bounded_id(&call.id),
        name: &call.name,
        arguments: arguments(&call.arguments),
    });
    for (place, item) in message.into_iter().chain(calls).enumerate() {
        let is_own =
            |sealed: &&Sealed| sealed.place == place && model == Some(sealed.model.as_str());
        let sealed = entry.sealed().filter(is_own);
        items.extend(
            sealed
                .filter_map(|sealed| json::borrowed_from_str(&sealed.item).ok().map(Item::Sealed)),
        );
        items.push(item);
    }
}
