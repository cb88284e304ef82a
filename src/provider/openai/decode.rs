//! An answer in OpenAI's format, whole or as a stream of events.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::chat::{Fault, NANODOLLARS, Reasoning, Reply, StopReason, ToolCall, ToolSpec, Usage};
use crate::json;
use crate::limits::provider::REPLY_BYTES;
use crate::provider::classify::{Failure, classify_stated};
use crate::provider::wire::Stage;
use crate::provider::wire::filter::Filter;
use crate::provider::wire::think::Think;
use crate::provider::wire::written::text_or_json;

/// Puts an answer together, event by event.
pub struct Decoder<'a> {
    /// Makes the ids that a server does not give different from those of other answers.
    nonce: u32,
    think: Think,
    filter: Filter<'a>,
    reply: Reply,
    reasoning: String,
    calls: Vec<Call>,
    /// Bytes of text, reasoning and arguments so far.
    size: usize,
    stage: Stage,
}

/// A call that is not complete yet.
#[derive(Default)]
struct Call {
    index: Option<usize>,
    id: String,
    name: String,
    arguments: String,
    signature: Option<String>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    choices: Option<Vec<Choice>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    object: Option<String>,
    base_resp: Option<BaseResp>,
}

/// MiniMax reports errors beside the answer.
#[derive(Deserialize)]
struct BaseResp {
    #[serde(default)]
    status_code: i64,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(alias = "message")]
    delta: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Option<Content>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<WireCall>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCall {
    index: Option<usize>,
    id: Option<String>,
    function: Option<WireFunction>,
    extra_content: Option<ExtraContent>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireFunction {
    name: Option<String>,
    /// A text of JSON; some servers send the JSON itself.
    arguments: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
struct ExtraContent {
    google: Option<Google>,
}

#[derive(Deserialize)]
struct Google {
    thought_signature: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
    /// OpenRouter: what the request cost, in dollars.
    cost: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

/// A text, or Mistral's array of text and thinking parts.
#[derive(Default)]
struct Content {
    text: String,
    thinking: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContentPart {
    text: Option<String>,
    thinking: Option<Content>,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrParts;
        impl<'de> Visitor<'de> for TextOrParts {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                let text = text.to_owned();
                Ok(Content {
                    text,
                    ..Content::default()
                })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
                let mut content = Content::default();
                while let Some(part) = parts.next_element::<ContentPart>()? {
                    content.text += &part.text.unwrap_or_default();
                    content.thinking += &part.thinking.unwrap_or_default().text;
                }
                Ok(content)
            }
        }
        deserializer.deserialize_any(TextOrParts)
    }
}

impl<'a> Decoder<'a> {
    /// Begins an answer to a request with these tools.
    pub fn new(tools: &'a [ToolSpec], nonce: u32) -> Self {
        Self {
            nonce,
            think: Think::default(),
            filter: Filter::new(tools),
            reply: Reply::default(),
            reasoning: String::new(),
            calls: Vec::new(),
            size: 0,
            stage: Stage::Open,
        }
    }

    /// Takes the data of one event, and hands over what of it is text for the person.
    pub fn event(&mut self, data: &str, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let data = data.trim();
        if data == "[DONE]" {
            self.stage = Stage::Over;
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk: Chunk<'_> = json::from_str(data)
            .map_err(|error| Failure::new(Fault::Garbage, format!("broken JSON: {error}")))?;
        let failed = chunk.error.is_some()
            || chunk.object.as_deref() == Some("error")
            || chunk
                .base_resp
                .is_some_and(|status| status.status_code != 0);
        if failed {
            return Err(classify_stated(data));
        }
        if let Some(usage) = chunk.usage {
            self.reply.usage = usage.into();
        }
        // There is only ever one choice, because no request asks for more.
        let Some(choice) = chunk.choices.and_then(|choices| choices.into_iter().next()) else {
            return Ok(());
        };
        if let Some(delta) = choice.delta {
            self.take(delta, show)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => Ok(()),
            Some(reason) => self.end(reason),
        }
    }

    /// How far the answer has come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes an answer that came whole.
    pub fn whole(mut self, json: &str) -> Result<Reply, Failure> {
        self.event(json, &mut |_| {})?;
        let is_empty = self.size == 0 && self.calls.is_empty();
        if is_empty && self.stage == Stage::Open {
            return Err(Failure::new(Fault::Garbage, "JSON without an answer in it"));
        }
        self.stage = Stage::Over;
        self.finish(&mut |_| {})
    }

    /// The stream is over: the answer, if it is whole. Text that was held back is handed over.
    pub fn finish(mut self, show: &mut dyn FnMut(&str)) -> Result<Reply, Failure> {
        if self.stage == Stage::Open {
            return Err(Failure::new(Fault::Cut, "the stream ended before its end"));
        }
        let rest = self.think.finish();
        let mut rest = self.filter.push(&rest);
        rest += &self.filter.finish();
        self.say(&rest, show);
        let mut reply = self.reply;
        reply.text = reply.text.trim().to_owned();
        let written = self.filter.calls.into_iter().map(|call| Call {
            name: call.name,
            arguments: call.arguments,
            ..Call::default()
        });
        reply.tool_calls = self
            .calls
            .into_iter()
            .chain(written)
            .enumerate()
            .map(|(number, call)| call.complete(self.nonce, number))
            .collect();
        self.reasoning += self.think.thoughts.trim();
        if !self.reasoning.is_empty() {
            reply.reasoning.push(Reasoning::Text(self.reasoning));
        }
        Ok(reply)
    }

    fn take(&mut self, delta: Delta, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let content = delta.content.unwrap_or_default();
        // Some servers send the same reasoning under both names.
        let reasoning = delta
            .reasoning_content
            .or(delta.reasoning)
            .unwrap_or_default();
        let refusal = delta.refusal.unwrap_or_default();
        let said = content.text.len() + refusal.len();
        self.grow(said + content.thinking.len() + reasoning.len())?;
        self.reasoning += &reasoning;
        self.reasoning += &content.thinking;
        for text in [content.text, refusal] {
            let text = self.think.push(&text);
            let text = self.filter.push(&text);
            self.say(&text, show);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.take_call(call)?;
        }
        Ok(())
    }

    fn say(&mut self, text: &str, show: &mut dyn FnMut(&str)) {
        if !text.is_empty() {
            self.reply.text += text;
            show(text);
        }
    }

    fn take_call(&mut self, piece: WireCall) -> Result<(), Failure> {
        let function = piece.function.unwrap_or_default();
        let id = piece.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let arguments = function.arguments.as_deref().map(text_or_json);
        // `null` stands for nothing to add.
        let arguments = arguments.filter(|text| text != "null").unwrap_or_default();
        let (call, before) = self.call_at(piece.index, &id, &name);
        if call.id.is_empty() {
            call.id = id;
        }
        // Some servers repeat the name in each piece.
        if call.name != name {
            call.name += &name;
        }
        call.arguments += &arguments;
        let google = piece.extra_content.and_then(|extra| extra.google);
        if let Some(signature) = google.and_then(|google| google.thought_signature) {
            call.signature = Some(signature);
        }
        let grown = call.size().saturating_sub(before);
        self.grow(grown)
    }

    /// The call that a piece belongs to, and its size so far: the last of its index, unless the piece
    /// says that it is another. Gemini counts every call as the first one.
    fn call_at(&mut self, index: Option<usize>, id: &str, name: &str) -> (&mut Call, usize) {
        let same = self.calls.iter().rposition(|call| call.index == index);
        let found = same.filter(|position| {
            let call = &self.calls[*position];
            match id.is_empty() || call.id.is_empty() {
                true => name.is_empty() || !is_complete(&call.arguments),
                false => call.id == id,
            }
        });
        match found {
            Some(position) => {
                let call = &mut self.calls[position];
                let size = call.size();
                (call, size)
            }
            None => {
                let call = Call {
                    index,
                    ..Call::default()
                };
                (self.calls.push_mut(call), 0)
            }
        }
    }

    fn end(&mut self, reason: &str) -> Result<(), Failure> {
        self.stage = Stage::Ended;
        self.reply.stop = match reason.to_lowercase().as_str() {
            "length" | "max_tokens" => StopReason::Length,
            "content_filter" | "safety" | "sensitive" | "recitation" => StopReason::Filtered,
            "error" | "network_error" | "insufficient_system_resource" => {
                let reason = format!("the answer ended with \"{reason}\"");
                return Err(Failure::new(Fault::Busy, reason));
            }
            _ => StopReason::Done,
        };
        Ok(())
    }

    /// Bytes of text, reasoning and arguments so far.
    pub fn size(&self) -> usize {
        self.size
    }

    fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        self.size += bytes;
        if self.size > REPLY_BYTES {
            let reason = format!("an answer of more than {REPLY_BYTES} bytes");
            return Err(Failure::new(Fault::Garbage, reason));
        }
        Ok(())
    }
}

fn is_complete(arguments: &str) -> bool {
    !arguments.is_empty() && json::from_str::<&RawValue>(arguments).is_ok()
}

impl Call {
    /// Bytes that it holds, itself among them.
    fn size(&self) -> usize {
        let signature = self.signature.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.id.len() + self.name.len() + self.arguments.len() + signature
    }

    fn complete(self, nonce: u32, number: usize) -> ToolCall {
        let made_up = || format!("call_{nonce:08x}_{number}");
        ToolCall {
            id: if self.id.is_empty() {
                made_up()
            } else {
                self.id
            },
            name: self.name,
            arguments: match self.arguments.trim() {
                "" => "{}".to_owned(),
                _ => self.arguments,
            },
            signature: self.signature,
        }
    }
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let details = wire.prompt_tokens_details.unwrap_or_default();
        let cached = details.cached_tokens.or(wire.prompt_cache_hit_tokens);
        Self {
            input: wire.prompt_tokens.unwrap_or(0),
            output: wire.completion_tokens.unwrap_or(0),
            cached: cached.unwrap_or(0),
            written: details.cache_write_tokens.unwrap_or(0),
            cost: (wire.cost.unwrap_or(0.0) * NANODOLLARS).round() as u64,
            ..Self::default()
        }
    }
}
