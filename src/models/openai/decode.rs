//! An answer in OpenAI's format, whole or as a stream of events. Servers differ: only what is needed is
//! read, in any form that can be understood.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::chat::{Fault, NANODOLLARS, Reasoning, Reply, StopReason, ToolSpec, Usage};
use crate::base::json::{self, Halves, Members};
use crate::base::limits::json::LEVELS_MAX;
use crate::base::limits::models::REPLY_BYTES;
use crate::models::classify::aside::{Aside, is_stated};
use crate::models::classify::{Failure, classify_stated};
use crate::models::wire::Stage;
use crate::models::wire::calls::{Calls, Piece};
use crate::models::wire::filter::Filter;
use crate::models::wire::template;
use crate::models::wire::think::{Source, Think};
use crate::models::wire::tokens::Tokens;
use crate::models::wire::written::{self, Form, Unread, Written, text_or_json};

/// Names of the reasoning; some servers send the same under several.
const REASONING: [&str; 4] = [
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "thinking",
];

/// Bytes that one token may have: two that are the same may follow each other.
const TOKEN_BYTES: usize = 16;

/// Puts an answer together, event by event.
pub struct Decoder<'a> {
    /// Makes the ids that a server does not give different from those of other answers.
    nonce: u32,
    tools: &'a [ToolSpec],
    think: Think,
    filter: Filter<'a>,
    /// `None` for an official API, whose text is left as it is.
    tokens: Option<Tokens>,
    /// The server, where it is no official API.
    server: Option<Server<'a>>,
    pub(super) reply: Reply,
    /// A server's text as it came, which may turn out to be reasoning.
    unsure: String,
    pub(super) reasoning: String,
    calls: Calls,
    halves: Strings,
    /// Bytes of text, reasoning and arguments so far.
    size: usize,
    pub(super) stage: Stage,
    pub(super) aside: Aside,
}

/// A server that may not understand the template of the model it serves.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// The model's name.
    pub model: &'a str,
    /// Whether the model has ever made a call as the API has it. Then what looks like one in its text is a
    /// quotation.
    pub has_called: &'a AtomicBool,
}

impl Server<'_> {
    fn may_write(&self) -> bool {
        !self.has_called.load(Ordering::Relaxed)
    }
}

/// Halves of characters at the end of the strings that come in pieces.
#[derive(Default)]
struct Strings {
    said: Halves,
    reasoning: Halves,
    /// The arguments of the call with this index.
    arguments: (Option<u64>, Halves),
}

/// A text and the thoughts beside it: what stands where a text is expected.
#[derive(Default)]
struct Content {
    text: String,
    thinking: String,
}

impl Content {
    /// Reads a text, or Mistral's array of text and thinking parts; everything else is nothing.
    fn read(value: &Value) -> Self {
        let mut content = Self::default();
        content.add(value);
        content
    }

    /// Reads a member, which may be a piece of a text.
    fn member(members: &Members<'_>, name: &str, halves: &mut Halves) -> Self {
        match members.raw(name).and_then(|raw| halves.read(raw.get())) {
            Some(text) => Self {
                text,
                ..Self::default()
            },
            None => Self::read(&members.value(name)),
        }
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Array(parts) => parts.iter().for_each(|part| self.add(part)),
            Value::Object(part) => {
                let names = ["text", "content", "summary"];
                let text = names.iter().find_map(|name| part.get(*name));
                let text = text.map(Self::read).unwrap_or_default().text;
                let kind = part.get("type").and_then(Value::as_str);
                let kind = kind.unwrap_or_default();
                // Databricks has thoughts among the parts of the text.
                if kind.starts_with("reasoning") || kind.starts_with("thinking") {
                    self.thinking += &text
                } else {
                    self.text += &text
                }
                let thinking = part.get("thinking").or(part.get("reasoning"));
                self.thinking += &thinking.map(Self::read).unwrap_or_default().text;
            }
            _ => self.text += &json::to_text(value).unwrap_or_default(),
        }
    }
}

impl<'a> Decoder<'a> {
    /// Begins an answer of an official API to a request with these tools.
    pub fn new(tools: &'a [ToolSpec], nonce: u32) -> Self {
        Self {
            nonce,
            tools,
            think: Think::default(),
            filter: Filter::new(tools, None),
            tokens: None,
            server: None,
            reply: Reply::default(),
            unsure: String::new(),
            reasoning: String::new(),
            calls: Calls::default(),
            halves: Strings::default(),
            size: 0,
            stage: Stage::Open,
            aside: Aside::default(),
        }
    }

    /// The same for an answer of another server, in which more may be left of a template.
    pub fn of_server(self, server: Server<'a>) -> Self {
        let source = match server.model {
            model if template::opens_reasoning(model) => Source::Reasoner,
            model if template::is_harmony(model) => Source::Harmony,
            _ => Source::Server,
        };
        let model = Some(server.model).filter(|_| server.may_write());
        Self {
            think: Think::new(source),
            filter: Filter::new(self.tools, model),
            tokens: Some(Tokens::default()),
            server: Some(server),
            ..self
        }
    }

    /// Takes the data of one event, and hands over what of it is text for the person. What goes wrong once
    /// the model has ended costs no answer.
    pub fn event(&mut self, data: &str, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let taken = self.take_event(data, show);
        if taken.is_err() && self.stage == Stage::Ended {
            self.stage = Stage::Over;
            return Ok(());
        }
        taken
    }

    fn take_event(&mut self, data: &str, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let data = data.trim_matches(|char: char| char.is_whitespace() || char == ',');
        if data == "[DONE]" {
            self.stage = Stage::Over;
            return Ok(());
        }
        // A sign of life, or words that may say why no answer comes.
        if !data.starts_with(['{', '[']) {
            return self.aside.note(data);
        }
        let broken = |error| Failure::new(Fault::Garbage, format!("broken JSON: {error}"));
        // Several at once.
        if data.starts_with('[') {
            let events: Vec<&RawValue> = json::envelope_from_str(data).map_err(broken)?;
            let mut objects = events.iter().filter(|event| event.get().starts_with('{'));
            return objects.try_for_each(|event| self.take_event(event.get(), show));
        }
        let chunk: Members<'_> = match json::envelope_from_str(data) {
            Ok(chunk) => chunk,
            // Nearly all events are JSON, and are not looked through before.
            Err(error) => match json::mend_all(data) {
                Cow::Owned(mended) => return self.take_event(&mended, show),
                Cow::Borrowed(_) => return Err(broken(error)),
            },
        };
        // Before what may fail: the tokens are spent.
        let reported = usage(&chunk.members("usage"));
        if reported.input > 0 || reported.output > 0 {
            self.reply.usage = reported;
        }
        let status = chunk.members("base_resp").value("status_code");
        // MiniMax reports errors beside the answer.
        let is_refused = json::to_text(&status).is_some_and(|code| code != "0");
        let is_error = ["object", "type"].map(|name| chunk.text(name).as_deref() == Some("error"));
        if is_stated(&chunk.value("error")) || is_refused || is_error.contains(&true) {
            return Err(classify_stated(data));
        }
        match choice(&chunk) {
            Some(choice) => self.take_choice(&choice, show),
            None => self.aside.note(data),
        }
    }

    fn take_choice(
        &mut self,
        choice: &Members<'_>,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        // OpenRouter tells an upstream's error here (<https://openrouter.ai/docs/api-reference/errors>).
        if let Some(error) = choice.raw("error")
            && is_stated(&choice.value("error"))
        {
            return Err(classify_stated(&format!("{{\"error\":{}}}", error.get())));
        }
        let delta = choice.members("delta");
        let message = choice.members("message");
        if delta.is_empty() && !self.is_repeated(&message) {
            self.take(&message, show)?;
        }
        self.take(&delta, show)?;
        // Legacy completions have the text in the choice itself.
        if delta.is_empty() && message.is_empty() {
            let text = Content::member(choice, "text", &mut self.halves.said).text;
            self.grow(text.len())?;
            self.part(&text, show);
        }
        self.end(&choice.text_or_empty("finish_reason"))
    }

    /// Whether a message at the end of a stream has all again that came in its pieces.
    fn is_repeated(&self, message: &Members<'_>) -> bool {
        let text = message.text_or_empty("content");
        text.len() > TOKEN_BYTES && text.trim() == self.reply.text.trim()
    }

    /// How far the answer has come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes an answer that came whole.
    pub fn whole(mut self, json: &str) -> Result<Reply, Failure> {
        self.event(json, &mut |_| {})?;
        if self.is_empty() && self.stage == Stage::Open {
            let unknown = || Failure::new(Fault::Garbage, "JSON without an answer in it");
            return Err(self.aside.failure().unwrap_or_else(unknown));
        }
        self.stage = Stage::Over;
        self.finish(&mut |_| {})
    }

    /// The stream is over: the answer, if it is whole. Text that was held back is handed over.
    pub fn finish(mut self, show: &mut dyn FnMut(&str)) -> Result<Reply, Failure> {
        if self.stage == Stage::Open {
            return Err(self.aside.cut(self.is_empty()));
        }
        if self.is_empty()
            && let Some(failure) = self.aside.failure()
        {
            return Err(failure);
        }
        let lone = self.halves.said.finish();
        self.part(lone, show);
        self.reasoning += self.halves.reasoning.finish();
        let is_unclosed = self.think.is_unclosed();
        let rest = self.think.finish();
        self.take_back();
        let rest = self.filter.push(&rest);
        let is_native = self.calls.has_name();
        if let Some(server) = &self.server {
            server.has_called.fetch_or(is_native, Ordering::Relaxed);
        }
        let is_short = self.reply.stop == StopReason::Length;
        let held = self.filter.finish(is_native, is_short);
        let (mut written, mut is_cut) = (held.calls, held.is_cut);
        let mut rest = self.clean(&(rest + &held.text));
        rest += &self.tokens.as_mut().map(Tokens::finish).unwrap_or_default();
        // What stands before a call may be thoughts, and is no answer.
        if is_unclosed && !written.is_empty() {
            self.reasoning += &rest
        } else {
            self.say(&rest, show)
        }
        let directed = self.think.take_directed();
        let may_write = self.server.is_some_and(|server| server.may_write());
        if may_write && !directed.is_empty() {
            match written::read(&directed, Form::Named("to="), self.tools) {
                Ok(calls) => written.extend(calls),
                Err(unread) if is_short || unread == Unread::Cut => is_cut = true,
                Err(_) => written.push(written::unread(&directed, self.tools)),
            }
        }
        if is_cut {
            // Like half of a call that the API knows: nothing of it is run.
            self.reply.stop = StopReason::Length;
            written.push(Written {
                name: "call".to_owned(),
                arguments: String::new(),
            });
        }
        self.calls.extend(written);
        self.reasoning += self.think.thoughts.trim();
        let is_unsaid = self.reply.text.trim().is_empty() && self.calls.is_empty();
        if is_unsaid && self.reply.stop == StopReason::Done {
            self.say_thoughts(may_write, show);
        }
        let mut reply = self.reply;
        reply.text = reply.text.trim().to_owned();
        reply.tool_calls = self.calls.finish(self.nonce);
        if self.server.is_some() {
            self.reasoning = self.reasoning.trim().to_owned();
        }
        if !self.reasoning.is_empty() {
            reply.reasoning.push(Reasoning::Text(self.reasoning));
        }
        Ok(reply)
    }

    /// The tokens that the server has reported so far.
    pub fn usage(&self) -> Usage {
        self.reply.usage
    }

    /// Whether nothing of an answer has come.
    fn is_empty(&self) -> bool {
        self.size == 0 && self.calls.is_empty()
    }

    /// Some servers take the whole answer for reasoning, and some models call before they have ended it.
    fn say_thoughts(&mut self, may_write: bool, show: &mut dyn FnMut(&str)) {
        let reasoning = std::mem::take(&mut self.reasoning);
        let model = self.server.filter(|_| may_write).map(|server| server.model);
        let mut filter = Filter::new(self.tools, model);
        let thoughts = filter.push(reasoning.trim());
        let held = filter.finish(false, false);
        if !held.calls.is_empty() {
            self.reasoning = thoughts;
            return self.calls.extend(held.calls);
        }
        self.tokens = self.tokens.take().map(|_| Tokens::default());
        let mut text = self.clean(reasoning.trim());
        text += &self.tokens.as_mut().map(Tokens::finish).unwrap_or_default();
        self.say(&text, show);
    }

    fn take(&mut self, delta: &Members<'_>, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let nested = |error| Failure::new(Fault::Garbage, format!("broken JSON: {error}"));
        for name in REASONING.iter().chain(&["content", "refusal"]) {
            let raw = delta.raw(name).map_or("", RawValue::get);
            json::check_depth(raw.as_bytes(), LEVELS_MAX).map_err(nested)?;
        }
        let content = Content::member(delta, "content", &mut self.halves.said);
        let refusal = Content::member(delta, "refusal", &mut self.halves.said).text;
        let name = REASONING
            .iter()
            .find(|name| delta.raw(name).is_some_and(is_said));
        let reasoning = name.map(|name| Content::member(delta, name, &mut self.halves.reasoning));
        let reasoning = reasoning.map(|Content { text, thinking }| text + &thinking);
        let reasoning = reasoning.unwrap_or_default();
        let said = content.text.len() + refusal.len();
        self.grow(said + content.thinking.len() + reasoning.len())?;
        self.reasoning += &reasoning;
        self.reasoning += &content.thinking;
        if !self.reasoning.is_empty() {
            self.think.comes_apart();
        }
        for text in [content.text, refusal] {
            self.part(&text, show);
        }
        // The form of 2023 has one call under another name.
        for name in ["tool_calls", "function_call"] {
            let Some(raw) = delta.raw(name) else { continue };
            let one = || Members::read(raw.get()).map(|_| vec![raw]);
            for call in delta.list(name).or_else(one).unwrap_or_default() {
                self.take_call(&Members::read(call.get()).unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Says what of a piece is text for the person.
    pub(super) fn part(&mut self, piece: &str, show: &mut dyn FnMut(&str)) {
        let text = self.think.push(piece);
        self.take_back();
        if self.server.is_some() {
            self.unsure += &text;
        }
        let text = self.filter.push(&text);
        let text = self.clean(&text);
        self.say(&text, show);
    }

    /// Text that turns out to have been reasoning is said no longer, and means nothing for what follows.
    fn take_back(&mut self) {
        if std::mem::take(&mut self.think.was_reasoning) {
            self.reasoning += &std::mem::take(&mut self.unsure);
            self.reply.text.clear();
            self.filter.reset();
            self.tokens = self.tokens.take().map(|_| Tokens::default());
        }
    }

    fn clean(&mut self, text: &str) -> String {
        match &mut self.tokens {
            Some(tokens) => tokens.push(text),
            None => text.to_owned(),
        }
    }

    fn say(&mut self, text: &str, show: &mut dyn FnMut(&str)) {
        if !text.is_empty() {
            self.reply.text += text;
            show(text);
        }
    }

    fn take_call(&mut self, call: &Members<'_>) -> Result<(), Failure> {
        let function = call.members("function");
        // Some leave out the level between.
        let from = if call.raw("function").is_some() {
            &function
        } else {
            call
        };
        let index = call.number("index");
        if self.halves.arguments.0 != index {
            self.halves.arguments = (index, Halves::default());
        }
        let halves = &mut self.halves.arguments.1;
        let read = |raw: &RawValue| halves.read(raw.get()).unwrap_or_else(|| text_or_json(raw));
        let arguments = from.raw("arguments").map(read);
        // `null` stands for nothing to add.
        let arguments = arguments.filter(|text| text != "null").unwrap_or_default();
        let google = call.members("extra_content").members("google");
        let piece = Piece {
            index,
            id: call.text_or_empty("id"),
            name: from.text_or_empty("name"),
            arguments,
            signature: google.text("thought_signature"),
        };
        let grown = self.calls.push(piece, self.tools);
        self.grow(grown)
    }

    /// Adds a call that is whole, and whose size is counted.
    pub(super) fn push_call(&mut self, call: Piece) {
        self.calls.push(call, self.tools);
    }

    fn end(&mut self, reason: &str) -> Result<(), Failure> {
        let stop = match reason.to_lowercase().as_str() {
            "" | "null" | "none" => return Ok(()),
            "length" | "max_tokens" => StopReason::Length,
            "content_filter" | "safety" | "sensitive" | "recitation" => StopReason::Filtered,
            lower @ ("error"
            | "network_error"
            | "insufficient_system_resource"
            | "abort"
            | "aborted"
            | "cancelled"
            | "canceled"
            | "interrupted") => {
                let fault = if lower.contains("error") || lower.starts_with("insufficient") {
                    Fault::Busy
                } else {
                    Fault::Cut
                };
                let reason = format!("the answer ended with \"{reason}\"");
                return Err(Failure::new(fault, reason));
            }
            _ => StopReason::Done,
        };
        self.stage = self.stage.max(Stage::Ended);
        self.reply.stop = stop;
        Ok(())
    }

    /// Bytes of text, reasoning and arguments so far.
    pub fn size(&self) -> usize {
        self.size
    }

    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Failure> {
        self.size += bytes;
        if self.size > REPLY_BYTES {
            let reason = format!("an answer of more than {REPLY_BYTES} bytes");
            return Err(Failure::new(Fault::Garbage, reason));
        }
        Ok(())
    }
}

/// Reads words of a model that its server took for a call, in any template; `None` when they are none.
pub fn read_call(text: &str, tools: &[ToolSpec], nonce: u32) -> Option<Reply> {
    let server = Server {
        model: "",
        has_called: &AtomicBool::new(false),
    };
    let message =
        serde_json::json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]});
    let decoder = Decoder::new(tools, nonce).of_server(server);
    let reply = decoder.whole(&message.to_string()).ok()?;
    let is_call = !reply.tool_calls.is_empty() && reply.stop == StopReason::Done;
    is_call.then_some(reply)
}

/// The choice of a chunk, of which there is only ever one, because no request asks for more. Some servers
/// write an object where the API has a list.
fn choice<'a>(chunk: &Members<'a>) -> Option<Members<'a>> {
    let (name, first) = chunk.each("choices")?.into_iter().next()?;
    match name.as_str() {
        "" | "0" => Members::read(first.get()),
        _ => Some(chunk.members("choices")),
    }
}

/// Whether a member may be a text, and is not empty.
fn is_said(raw: &RawValue) -> bool {
    raw.get().starts_with(['"', '[']) && !matches!(raw.get(), "\"\"" | "[]")
}

/// The usage, as either of OpenAI's APIs tells it.
pub(in crate::models) fn usage(usage: &Members<'_>) -> Usage {
    let either = |names: [&str; 2]| names.iter().find_map(|name| usage.number(name));
    let details = ["prompt_tokens_details", "input_tokens_details"];
    let details = details.iter().find(|name| usage.raw(name).is_some());
    let details = details.map(|name| usage.members(name)).unwrap_or_default();
    // DeepSeek has a name of its own for cached tokens.
    let cached = details.number("cached_tokens");
    let cached = cached.or_else(|| usage.number("prompt_cache_hit_tokens"));
    // OpenRouter: what the request cost, in dollars.
    let cost = json::to_text(&usage.value("cost")).and_then(|cost| cost.parse::<f64>().ok());
    Usage {
        input: either(["prompt_tokens", "input_tokens"]).unwrap_or(0),
        output: either(["completion_tokens", "output_tokens"]).unwrap_or(0),
        cached: cached.unwrap_or(0),
        written: details.number("cache_write_tokens").unwrap_or(0),
        cost: (cost.unwrap_or(0.0) * NANODOLLARS).round() as u64,
        ..Usage::default()
    }
}
