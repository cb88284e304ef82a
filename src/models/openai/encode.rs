//! A request in OpenAI's format.

use std::borrow::Cow;

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::base::chat::{Entry, Reasoning, ReasoningEffort, Request, Role, ToolCall, ToolSpec};
use crate::models::quirks::{Effort, Quirks, Thoughts};
use crate::models::wire::body::{Body, DataUrl, Target};
use crate::models::wire::entries::{
    Joined, Part, Shown, arguments, parameters, parts, running_turn, short_id,
};

/// What Gemini takes for a signature that is lost
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const LOST_SIGNATURE: &str = "skip_thought_signature_validator";

/// Writes the body of a request.
pub fn encode(request: &Request<'_>, target: &Target<'_>) -> serde_json::Result<Vec<u8>> {
    let quirks = target.quirks;
    let tools: Vec<_> = request.tools.iter().map(Tool::of).collect();
    let tokens = if quirks.completion_tokens {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    let mut body = Body::new(target.extra_body, request.about_bytes());
    body.put("model", &target.model)?;
    body.put("messages", &messages(request, quirks))?;
    body.put_some("tools", Some(&tools).filter(|tools| !tools.is_empty()))?;
    body.put(tokens, &request.max_tokens.min(quirks.max_tokens))?;
    let temperature = request.temperature.filter(|_| quirks.temperature);
    body.put_some("temperature", temperature.as_ref())?;
    body.put_some("reasoning_effort", effort(request, quirks).as_ref())?;
    if request.stream {
        body.put("stream", &true)?;
        if quirks.usage_option {
            body.put(
                "stream_options",
                &StreamOptions {
                    include_usage: true,
                },
            )?;
        }
    }
    body.finish()
}

fn effort(request: &Request<'_>, quirks: Quirks) -> Option<&'static str> {
    match quirks.effort {
        Effort::NoneWithTools if !request.tools.is_empty() => Some("none"),
        Effort::Never => None,
        _ => asked_effort(request, quirks),
    }
}

/// The effort as it is sent.
pub(super) fn asked_effort(request: &Request<'_>, quirks: Quirks) -> Option<&'static str> {
    let asked = request.reasoning_effort;
    asked.map(|effort| match effort.min(quirks.effort_max) {
        ReasoningEffort::Off if quirks.always_thinks => ReasoningEffort::Low.as_str(),
        ReasoningEffort::Off => "none",
        effort => effort.as_str(),
    })
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: parameters(tool),
            },
        }
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    /// None is written as null: some servers want the member even where there is nothing to say.
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'a, str>>,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, parts: Vec<Part<'a>>) -> Self {
        Self {
            role,
            content: Some(Content(parts)).filter(|content| !content.0.is_empty()),
            reasoning_content: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
        }
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: CalledFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<ExtraContent<'a>>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    /// JSON within a JSON text.
    #[serde(serialize_with = "as_text")]
    arguments: Cow<'a, RawValue>,
}

/// Writes JSON as a JSON text.
pub(super) fn as_text<S: Serializer>(json: &RawValue, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(json.get())
}

#[derive(Serialize)]
struct ExtraContent<'a> {
    google: Google<'a>,
}

#[derive(Serialize)]
struct Google<'a> {
    thought_signature: &'a str,
}

/// One text where there is no image, else an array: many servers know only the former.
struct Content<'a>(Vec<Part<'a>>);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_image = self.0.iter().any(|part| matches!(part, Part::Image(_)));
        if !has_image {
            return serializer.collect_str(&Joined(&self.0));
        }
        let mut sequence = serializer.serialize_seq(Some(self.0.len()))?;
        for part in &self.0 {
            match part {
                Part::Image(image) => sequence.serialize_element(&ImagePart {
                    r#type: "image_url",
                    image_url: ImageUrl {
                        url: Shown(DataUrl(image)),
                    },
                })?,
                part => sequence.serialize_element(&TextPart {
                    r#type: "text",
                    text: Shown(*part),
                })?,
            }
        }
        sequence.end()
    }
}

#[derive(Serialize)]
struct TextPart<'a> {
    r#type: &'static str,
    text: Shown<Part<'a>>,
}

#[derive(Serialize)]
struct ImagePart<'a> {
    r#type: &'static str,
    image_url: ImageUrl<'a>,
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: Shown<DataUrl<'a>>,
}

fn messages<'a>(request: &Request<'a>, quirks: Quirks) -> Vec<Message<'a>> {
    let running = running_turn(request.entries);
    let mut messages = Vec::with_capacity(request.entries.len() + 1);
    if !request.system.is_empty() {
        messages.push(Message::new("system", vec![Part::Text(request.system)]));
    }
    // Images of tools' results wait until all results of the calls are there.
    let mut images = Vec::new();
    for (index, entry) in request.entries.iter().enumerate() {
        if entry.role() != Role::Tool {
            add_user(&mut messages, std::mem::take(&mut images));
        }
        match entry.role() {
            Role::User => {
                let mut said: Vec<_> = parts(entry, quirks.sees).collect();
                if said.is_empty() {
                    said.push(Part::Text("(empty)"));
                }
                add_user(&mut messages, said);
            }
            Role::Assistant => messages.extend(assistant(entry, quirks, index >= running)),
            Role::Tool => {
                let (message, shown) = result(entry, quirks);
                messages.push(message);
                images.extend(shown);
            }
        }
    }
    add_user(&mut messages, images);
    messages
}

/// Adds what the person says; to their last message, if that is the last one, because some servers'
/// templates refuse two in a row.
fn add_user<'a>(messages: &mut Vec<Message<'a>>, parts: Vec<Part<'a>>) {
    match messages.last_mut() {
        _ if parts.is_empty() => {}
        Some(Message {
            role: "user",
            content: Some(content),
            ..
        }) => content.0.extend(parts),
        _ => messages.push(Message::new("user", parts)),
    }
}

/// The assistant's message; none when it says and does nothing, which APIs refuse.
fn assistant(entry: &Entry, quirks: Quirks, is_running: bool) -> Option<Message<'_>> {
    let said: Vec<_> = parts(entry, quirks.sees).collect();
    if said.is_empty() && entry.tool_calls.is_empty() {
        return None;
    }
    let calls = entry.tool_calls.iter().enumerate();
    Some(Message {
        reasoning_content: reasoning(entry, quirks, is_running),
        tool_calls: calls
            .map(|(index, call)| encode_call(index, call, quirks))
            .collect(),
        ..Message::new("assistant", said)
    })
}

fn reasoning(entry: &Entry, quirks: Quirks, is_running: bool) -> Option<&str> {
    let Thoughts::Sent(missing) = quirks.thoughts else {
        return None;
    };
    let text = entry
        .reasoning
        .iter()
        .find_map(|reasoning| match reasoning {
            Reasoning::Text(text) => Some(text.as_str()),
            _ => None,
        });
    let text = text.filter(|_| is_running).unwrap_or(missing);
    let is_wanted = !entry.tool_calls.is_empty() || missing.is_empty();
    is_wanted.then_some(text)
}

fn encode_call(index: usize, call: &ToolCall, quirks: Quirks) -> Call<'_> {
    // Of calls side by side only the first has a signature.
    let lost = (index == 0).then_some(LOST_SIGNATURE);
    let signature = call.signature.as_deref().or(lost);
    Call {
        id: id(&call.id, quirks),
        r#type: "function",
        function: CalledFunction {
            name: &call.name,
            arguments: arguments(&call.arguments),
        },
        extra_content: signature
            .filter(|_| quirks.signatures)
            .map(|thought_signature| ExtraContent {
                google: Google { thought_signature },
            }),
    }
}

/// A tool's message, and what goes into the person's message after it: OpenAI's format has no
/// images in results.
fn result(entry: &Entry, quirks: Quirks) -> (Message<'_>, Vec<Part<'_>>) {
    let mut said = Vec::new();
    let mut images = Vec::new();
    for part in parts(entry, quirks.sees) {
        match part {
            Part::Image(image) => images.extend([Part::Caption(image), part]),
            part => said.push(part),
        }
    }
    if said.is_empty() {
        said.push(Part::Text("(no output)"));
    }
    let message = Message {
        tool_call_id: Some(id(
            entry.tool_call_id.as_deref().unwrap_or_default(),
            quirks,
        )),
        ..Message::new("tool", said)
    };
    (message, images)
}

fn id(id: &str, quirks: Quirks) -> Cow<'_, str> {
    if quirks.short_ids {
        short_id(id)
    } else {
        Cow::Borrowed(id)
    }
}
