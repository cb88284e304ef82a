//! A request in Anthropic's format.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::cache::{Marks, Time};
use crate::base::chat::{Entry, EntryKind, Reasoning, ReasoningEffort, Request, Role, ToolSpec};
use crate::models::quirks::Quirks;
use crate::models::wire::body::{Body, Target};
use crate::models::wire::entries::{
    Part, Shown, arguments, parameters, parts, plain_id, running_turn,
};
use crate::models::wire::thinking_tokens;

/// Tokens below which the API refuses a budget for thoughts.
const THINKING_MIN: u32 = 1024;

/// Writes the body of a request.
pub fn encode(request: &Request<'_>, target: &Target<'_>) -> serde_json::Result<Vec<u8>> {
    let quirks = target.quirks;
    let wanted = match request.reasoning_effort {
        Some(ReasoningEffort::Off) if quirks.always_thinks => Some(ReasoningEffort::Low),
        effort => effort.map(|effort| effort.min(quirks.effort_max)),
    };
    let is_off = wanted == Some(ReasoningEffort::Off);
    let has_room = quirks.adaptive || request.thoughts_max >= THINKING_MIN;
    let effort = wanted.filter(|_| !is_off && has_room && may_think(request, quirks));
    let budget = effort.filter(|_| !quirks.adaptive);
    let budget = budget.map(|effort| thinking_tokens(effort).min(request.thoughts_max));
    let mut body = Body::new(target.extra_body, request.about_bytes());
    body.put("model", &target.model)?;
    // The budget is part of the bound, and the answer should not be shorter for it.
    body.put(
        "max_tokens",
        &(request.max_tokens)
            .saturating_add(budget.unwrap_or(0))
            .min(quirks.max_tokens),
    )?;
    let marks = Marks::of(request, quirks.cache);
    let system = [Block::text(Part::Text(request.system)).cached(marks.prompt)];
    body.put_some(
        "system",
        Some(&system).filter(|_| !request.system.is_empty()),
    )?;
    body.put("messages", &messages(request, quirks, &marks))?;
    let tools = tools(request.tools, marks.prompt);
    body.put_some("tools", Some(&tools).filter(|tools| !tools.is_empty()))?;
    let temperature = request
        .temperature
        .filter(|_| quirks.temperature && effort.is_none());
    body.put_some(
        "temperature",
        temperature.map(|warm| warm.min(1.0)).as_ref(),
    )?;
    if let Some(effort) = effort {
        body.put("thinking", &Thinking::new(budget))?;
        if quirks.adaptive {
            let effort = effort.as_str();
            body.put("output_config", &OutputConfig { effort })?;
        }
    }
    if is_off && quirks.adaptive && quirks.thinking {
        // Newer models think unless told otherwise.
        body.put("thinking", &Thinking::DISABLED)?;
    }
    if request.stream {
        body.put("stream", &true)?;
    }
    body.finish()
}

/// Thinking may be asked for unless the calls that are being answered came without it: with a budget, the
/// API refuses a conversation that turns it on within a turn, as one that is resumed from the disk or that
/// another API began (its sealed thoughts mean nothing here) would. Adaptive thinking has no such rule
/// (<https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>, "Validation changes").
fn may_think(request: &Request<'_>, quirks: Quirks) -> bool {
    let is_assistant = |entry: &&&Entry| entry.kind == EntryKind::Assistant;
    let last = request.entries.iter().rfind(is_assistant);
    let lacks = last.is_some_and(|entry| {
        !entry.tool_calls.is_empty() && !entry.reasoning.iter().any(is_signed)
    });
    quirks.thinking && (quirks.adaptive || !lacks)
}

fn is_signed(reasoning: &Reasoning) -> bool {
    matches!(reasoning, Reasoning::Signed { .. } | Reasoning::Redacted(_))
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u32>,
}

impl Thinking {
    const DISABLED: Self = Self {
        r#type: "disabled",
        budget_tokens: None,
    };

    fn new(budget_tokens: Option<u32>) -> Self {
        let r#type = match budget_tokens {
            Some(_) => "enabled",
            None => "adaptive",
        };
        Self {
            r#type,
            budget_tokens,
        }
    }
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl From<Time> for CacheControl {
    fn from(time: Time) -> Self {
        Self {
            r#type: "ephemeral",
            // Five minutes are the default, which every server knows.
            ttl: (time == Time::Hour).then_some("1h"),
        }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// The tools; the mark on the last one lets all of them be cached.
fn tools(specs: &[ToolSpec], time: Option<Time>) -> Vec<Tool<'_>> {
    let last = specs.len().saturating_sub(1);
    specs
        .iter()
        .enumerate()
        .map(|(index, spec)| Tool {
            name: &spec.name,
            description: &spec.description,
            input_schema: parameters(spec),
            cache_control: time.filter(|_| index == last).map(Into::into),
        })
        .collect()
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
struct Block<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Kind<'a> {
    Text {
        text: Shown<Part<'a>>,
    },
    Image {
        source: Source<'a>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Vec<Block<'a>>,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl<'a> Block<'a> {
    fn new(kind: Kind<'a>) -> Self {
        Self {
            kind,
            cache_control: None,
        }
    }

    fn text(part: Part<'a>) -> Self {
        Self::new(Kind::Text { text: Shown(part) })
    }

    fn of(part: Part<'a>) -> Self {
        match part {
            Part::Image(image) => Self::new(Kind::Image {
                source: Source {
                    r#type: "base64",
                    media_type: &image.media_type,
                    data: &image.base64,
                },
            }),
            part => Self::text(part),
        }
    }

    fn cached(mut self, time: Option<Time>) -> Self {
        self.cache_control = time.map(Into::into);
        self
    }
}

fn messages<'a>(request: &Request<'a>, quirks: Quirks, marks: &Marks) -> Vec<Message<'a>> {
    let running = running_turn(request.entries);
    let mut messages: Vec<Message<'a>> = Vec::with_capacity(request.entries.len());
    for (index, entry) in request.entries.iter().enumerate() {
        let (role, mut content) = match entry.role() {
            Role::User => ("user", blocks(entry, quirks, "(empty)")),
            Role::Assistant => ("assistant", assistant(entry, quirks, index >= running)),
            Role::Tool => ("user", vec![result(entry, quirks)]),
        };
        if let Some(last) = content.pop() {
            content.push(last.cached(marks.after(index + 1)));
        }
        // The roles have to alternate.
        match messages.last_mut() {
            _ if content.is_empty() => {}
            Some(message) if message.role == role => message.content.extend(content),
            _ => messages.push(Message { role, content }),
        }
    }
    messages
}

fn blocks<'a>(entry: &'a Entry, quirks: Quirks, empty: &'a str) -> Vec<Block<'a>> {
    let mut blocks: Vec<_> = parts(entry, quirks.sees).map(Block::of).collect();
    if blocks.is_empty() {
        blocks.push(Block::text(Part::Text(empty)));
    }
    blocks
}

/// The assistant's blocks in the order that the API wants: thinking, text, calls.
fn assistant(entry: &Entry, quirks: Quirks, is_running: bool) -> Vec<Block<'_>> {
    let reasoning = entry
        .reasoning
        .iter()
        .filter(|_| is_running && quirks.thinking);
    let thinking = reasoning.filter_map(|reasoning| match reasoning {
        Reasoning::Text(_) | Reasoning::Sealed(_) => None,
        Reasoning::Signed { text, signature } => Some(Kind::Thinking {
            thinking: text,
            signature,
        }),
        Reasoning::Redacted(data) => Some(Kind::RedactedThinking { data }),
    });
    let calls = entry.tool_calls.iter().map(|call| Kind::ToolUse {
        id: plain_id(&call.id),
        name: &call.name,
        input: arguments(&call.arguments),
    });
    let text = parts(entry, quirks.sees).map(Block::of);
    let mut blocks: Vec<_> = text.chain(calls.map(Block::new)).collect();
    // A message of thinking alone is refused.
    if !blocks.is_empty() {
        blocks.splice(..0, thinking.map(Block::new));
    }
    blocks
}

fn result(entry: &Entry, quirks: Quirks) -> Block<'_> {
    Block::new(Kind::ToolResult {
        tool_use_id: plain_id(entry.tool_call_id.as_deref().unwrap_or_default()),
        content: blocks(entry, quirks, "(no output)"),
    })
}
