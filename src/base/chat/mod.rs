//! The conversation with a model, independent of the provider.
//!
//! Providers translate it to and from the wire, tools answer calls, sessions keep it.

mod input;

use std::borrow::Cow;

use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};

use crate::base::approval::Question;
use crate::base::message::Author;
use crate::base::tokens;

pub use input::{Choice, Field, FieldKind, InputAnswer, InputKind, InputRequest, Sample, TextForm};

// They are on a lower floor because the crate's error contains them.
pub use crate::base::error::{Fault, ModelError};

/// The role that an entry has for a model, and in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A person, or the runtime on a person's side.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// What an entry is. APIs know three roles only, so several kinds share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The text of a person.
    Person,
    /// A note from the runtime to the model.
    Note,
    /// A summary of older turns that no longer go to the model.
    Summary,
    /// A reply of the model.
    Assistant,
    /// The result of a call.
    Tool,
}

impl EntryKind {
    /// The role that a model is given for it.
    pub fn role(self) -> Role {
        match self {
            Self::Person | Self::Note | Self::Summary => Role::User,
            Self::Assistant => Role::Assistant,
            Self::Tool => Role::Tool,
        }
    }
}

impl From<Role> for EntryKind {
    /// The kind of an entry of which only the role is known.
    fn from(role: Role) -> Self {
        match role {
            Role::User => Self::Person,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
        }
    }
}

/// An image for a model that sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The file's bytes, in base64 with padding.
    pub base64: String,
    /// The path as the model knows it; the saved history has it in place of the image.
    pub path: String,
}

/// What the model thought before it answered. It goes back within the same turn where the API asks for
/// it, and never to the person. Only what is sealed is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reasoning {
    /// Plain reasoning text (`reasoning_content`, `reasoning`, `<think>`).
    Text(String),
    /// An Anthropic thinking block with the signature that proves it unchanged.
    Signed {
        /// The block's text.
        text: String,
        /// The block's signature, as received.
        signature: String,
    },
    /// An Anthropic block whose text is encrypted; it goes back as it came.
    Redacted(String),
    /// An encrypted item of OpenAI's Responses API. The server keeps nothing of it, so the journal does.
    Sealed(Sealed),
}

/// Reasoning that only its own model can read, at its place in the reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The provider and the model that it came from, such as `openai/gpt-6.1-sol`.
    pub model: String,
    /// How many of the reply's other items come before it: the text, if there is any, and the calls.
    #[serde(default)]
    pub place: usize,
    /// The item as JSON, as it goes back.
    pub item: String,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// The text; for a tool, its result.
    pub content: String,
    /// Images that belong to the content. Never saved.
    pub images: Vec<Image>,
    /// The calls that the assistant makes.
    pub tool_calls: Vec<ToolCall>,
    /// For a tool's entry: which call it answers.
    pub tool_call_id: Option<String>,
    /// For a tool's entry: the tool.
    pub name: Option<String>,
    /// For a tool's entry: what its call came to.
    pub came_to: CameTo,
    /// The assistant's reasoning.
    pub reasoning: Vec<Reasoning>,
    /// When it was said, where that is known.
    pub timestamp: Option<DateTime<FixedOffset>>,
    /// For a person's entry: the channel's id of the message, where it has one.
    pub origin: Option<String>,
    /// For a person's entry: what they may do. An interrupted turn goes on with it.
    pub person: crate::base::access::Role,
    /// For a person's entry: who they are, so that an interrupted turn ends when they lose their access.
    pub author: Option<Box<Author>>,
    /// For the assistant's entry: whether it is an answer that is reviewed before it goes out. A note behind it says that
    /// it has not gone out.
    pub is_proposed: bool,
}

impl Entry {
    /// An entry with a text only.
    pub fn new(kind: EntryKind, content: impl Into<String>) -> Self {
        Self {
            kind,
            content: content.into(),
            images: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            came_to: CameTo::Work,
            reasoning: Vec::new(),
            timestamp: None,
            origin: None,
            person: crate::base::access::Role::Owner,
            author: None,
            is_proposed: false,
        }
    }

    /// The role that a model is given for it.
    pub fn role(&self) -> Role {
        self.kind.role()
    }

    /// Its reasoning that only its own model can read.
    pub fn sealed(&self) -> impl Iterator<Item = &Sealed> {
        self.reasoning
            .iter()
            .filter_map(|reasoning| match reasoning {
                Reasoning::Sealed(sealed) => Some(sealed),
                _ => None,
            })
    }

    /// Bytes of that reasoning.
    pub fn sealed_bytes(&self) -> usize {
        self.sealed().map(|sealed| sealed.item.len()).sum()
    }

    /// The entry of a reply: its text, its calls, and the reasoning that goes back with them.
    pub fn of_reply(reply: &Reply) -> Self {
        Self {
            tool_calls: reply.tool_calls.clone(),
            reasoning: reply.reasoning.clone(),
            ..Self::new(EntryKind::Assistant, reply.text.clone())
        }
    }

    /// The entry that answers a call.
    pub fn of_result(call: &ToolCall, result: ToolResult) -> Self {
        Self {
            images: result.images,
            tool_call_id: Some(call.id.clone()),
            name: Some(call.name.clone()),
            came_to: match (result.failed, result.is_talk) {
                (true, _) => CameTo::Failure,
                (false, true) => CameTo::Talk,
                (false, false) => CameTo::Work,
            },
            ..Self::new(EntryKind::Tool, result.text)
        }
    }
}

/// What a call came to, as the program saw it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CameTo {
    /// It failed, or its end is not known.
    Failure,
    /// It said something, and did and read nothing.
    Talk,
    /// It ran. Also for a word of a later version.
    #[default]
    #[serde(other)]
    Work,
}

impl CameTo {
    /// Whether it ran.
    pub fn is_work(&self) -> bool {
        *self == Self::Work
    }
}

/// A call that the model makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id, which the result names. Never empty: decoders make one up where an API
    /// gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as the model wrote them: JSON, or nearly (see `tools::arguments`).
    pub arguments: String,
    /// An opaque signature that has to go back with the call (Gemini's thought signature).
    /// Never saved.
    pub signature: Option<String>,
}

/// Something that a call needs from the host of the turn. A tool returns it as a value; the turn passes
/// it to its host, which performs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ask a person whether the call is allowed. It is then made again, with the answer.
    Ask(Box<Question>),
    /// Send a message to a chat.
    Send(Box<SendRequest>),
    /// Give a task to a subagent.
    Spawn(Box<SpawnRequest>),
    /// Ask a person, or a model, what a server wants to know. The call is then made again, with the answer.
    Input(Box<InputRequest>),
}

/// A task that a tool gives to a subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnRequest {
    /// All that the subagent is told.
    pub task: String,
    /// What people see of it.
    pub label: String,
    /// The id of another agent that is to do it; `None` for the one that asks.
    pub agent: Option<String>,
    /// Whether the report is the result of the call, rather than a message later.
    pub waits: bool,
}

/// A message that a tool asks to have sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRequest {
    /// The address of another chat; `None` for the chat of the turn.
    pub to: Option<String>,
    /// The text, as Markdown; may be empty when there are files.
    pub text: String,
    /// Workspace files to attach.
    pub files: Vec<String>,
    /// Rows of buttons.
    pub buttons: Vec<Vec<String>>,
    /// The name of the sticker that the first file is.
    pub sticker: Option<String>,
    /// Whether the text is spoken as well.
    pub is_spoken: bool,
}

/// What a tool call returned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// What the model reads.
    pub text: String,
    /// Images for a model that sees.
    pub images: Vec<Image>,
    /// Whether the call failed; its text then begins with "Error".
    pub failed: bool,
    /// Whether the call only said something, which does not prove that a job did anything.
    pub is_talk: bool,
    /// Whether it comes from outside the sandbox: no file in the workspace gets what is too long of it.
    pub is_from_outside: bool,
    /// What the host has to do before the call has a result.
    pub effect: Option<Effect>,
}

impl ToolResult {
    /// A text, without images or effects.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// The result of a call that failed or was not run. The text begins with "Error".
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            failed: true,
            ..Self::default()
        }
    }
}

/// A tool as the model is told about it. Those of built-in tools are borrowed and cost nothing to copy;
/// those of other tools arrive at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name it is called by.
    pub name: Cow<'static, str>,
    /// One to three sentences: what it does and when to use it.
    pub description: Cow<'static, str>,
    /// A JSON schema of type object, as JSON text.
    pub parameters: Cow<'static, str>,
    /// Whether it only reads, so that calls may run side by side and again after a crash.
    pub read_only: bool,
}

impl ToolSpec {
    /// The spec of a built-in tool that changes something.
    pub const fn fixed(
        name: &'static str,
        description: &'static str,
        parameters: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            description: Cow::Borrowed(description),
            parameters: Cow::Borrowed(parameters),
            read_only: false,
        }
    }

    /// The same for a tool that only reads.
    pub const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Its bytes in every request, without the punctuation around them.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.parameters.len()
    }

    /// About how many tokens it is in a request.
    pub fn tokens(&self) -> usize {
        /// Names of members and brackets.
        const FRAME: usize = 12;
        let texts = [&self.name, &self.description, &self.parameters];
        let texts = texts.iter().map(|text| tokens::estimate(text));
        texts.sum::<usize>() + FRAME
    }
}

/// How hard a reasoning model should think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// None, or as little as the model can.
    Off,
    /// Quick.
    Low,
    /// As the vendors recommend.
    Medium,
    /// Slow and thorough.
    High,
    /// For long work; not every model has it.
    XHigh,
    /// As much as the model can; not every model has it.
    Max,
}

impl ReasoningEffort {
    /// Every effort, from the least.
    pub const ALL: [Self; 6] = [
        Self::Off,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// The word in the configuration, and on the wire except for [`Off`](Self::Off).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// One question to a model. It does not name the model: the provider that is asked knows it.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation, beginning with a person's entry. Every call has its result.
    pub entries: &'a [&'a Entry],
    /// How many of the first entries will be the same in the next turn's requests, so that the provider
    /// may cache them. The running turn begins behind them, with the runtime's facts.
    pub stable: usize,
    /// The tools there are.
    pub tools: &'a [ToolSpec],
    /// Maximum tokens of the answer.
    pub max_tokens: u32,
    /// Maximum tokens of thoughts beside it, where an API counts both.
    pub thoughts_max: u32,
    /// Sampling temperature, 0 to 2; `None`: not sent.
    pub temperature: Option<f64>,
    /// How hard to think; `None`: not sent.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Whether the answer should come in pieces.
    pub stream: bool,
    /// What the requests of a conversation have in common, for the provider's cache; it says nothing about
    /// the person.
    pub cache_key: Option<&'a str>,
}

impl Request<'_> {
    /// About how many bytes it is as JSON, so that it is written without being moved as it grows.
    pub fn about_bytes(&self) -> usize {
        /// Names, roles, ids and punctuation.
        const FRAME: usize = 100;
        let entry = |entry: &&Entry| {
            let calls = entry.tool_calls.iter();
            let calls: usize = calls.map(|call| call.arguments.len() + FRAME).sum();
            let images = entry.images.iter();
            let images: usize = images.map(|image| image.base64.len() + FRAME).sum();
            entry.content.len() + calls + images + entry.sealed_bytes() + FRAME
        };
        let tool = |tool: &ToolSpec| tool.bytes() + FRAME;
        let entries: usize = self.entries.iter().map(entry).sum();
        let tools: usize = self.tools.iter().map(tool).sum();
        // Newlines and quotes become two bytes each.
        let plain = self.system.len() + entries + tools;
        plain + plain / 16
    }
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StopReason {
    /// It was done, or it waits for its tools.
    #[default]
    Done,
    /// It ran into `max_tokens`: the text, or the last call, is cut off.
    Length,
    /// The provider's content filter stopped it.
    Filtered,
}

/// Tokens and cost of one request, or the sum of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// All tokens that went in, the cached ones among them.
    pub input: u64,
    /// Tokens that came out, reasoning among them.
    pub output: u64,
    /// Of the input, those that came from the provider's cache.
    pub cached: u64,
    /// Of the input, those that were written to the provider's cache, which some charge for.
    #[serde(skip_serializing_if = "is_zero")]
    pub written: u64,
    /// Of those, the ones that it keeps for an hour, which cost more.
    #[serde(skip_serializing_if = "is_zero")]
    pub written_for_hour: u64,
    /// Requests. The provider sets it, as well as `cost` and `unpriced`.
    #[serde(skip_serializing_if = "is_zero")]
    pub requests: u64,
    /// What they cost, in billionths of a US dollar, where the price is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub cost: u64,
    /// Of the requests, those whose price is not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub unpriced: u64,
    /// What those count as for the limit of a day, in billionths of a US dollar.
    #[serde(skip_serializing_if = "is_zero")]
    pub assumed: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Adds another request's tokens and cost.
    pub fn add(&mut self, other: Usage) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cached, other.cached);
        add(&mut self.written, other.written);
        add(&mut self.written_for_hour, other.written_for_hour);
        add(&mut self.requests, other.requests);
        add(&mut self.cost, other.cost);
        add(&mut self.unpriced, other.unpriced);
        add(&mut self.assumed, other.assumed);
    }

    /// The cost in US dollars; `None` when no price is known. It is a part of the cost where some
    /// requests are [`unpriced`](Self::unpriced).
    pub fn dollars(&self) -> Option<f64> {
        let is_known = self.requests > self.unpriced || self.cost > 0;
        is_known.then_some(self.cost as f64 / NANODOLLARS)
    }

    /// How many percent of the input came from the provider's cache.
    pub fn cached_percent(&self) -> u64 {
        let hundred = self.cached.min(self.input).saturating_mul(100);
        hundred.checked_div(self.input).unwrap_or(0)
    }
}

/// Billionths in a dollar.
pub const NANODOLLARS: f64 = 1e9;

/// The model's answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The text for the person; may be empty when it calls tools.
    pub text: String,
    /// The calls it makes, in order.
    pub tool_calls: Vec<ToolCall>,
    /// What it thought.
    pub reasoning: Vec<Reasoning>,
    /// The tokens that it cost.
    pub usage: Usage,
    /// Why it stopped.
    pub stop: StopReason,
}
