//! An answer in Anthropic's format, whole or as a stream of events
//! (<https://docs.claude.com/en/docs/build-with-claude/streaming>).

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::chat::{Fault, Reasoning, Reply, StopReason, ToolCall, Usage};
use crate::json;
use crate::limits::provider::REPLY_BYTES;
use crate::provider::classify::{Failure, classify_stated};
use crate::provider::wire::Stage;

/// Puts an answer together, event by event.
pub struct Decoder {
    /// Makes the ids that a server does not give different from those of other answers.
    nonce: u32,
    blocks: Vec<Block>,
    usage: WireUsage,
    stop: StopReason,
    /// Bytes of all blocks so far.
    size: usize,
    stage: Stage,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event {
    r#type: String,
    /// In `message_start`.
    message: Option<Message>,
    index: usize,
    content_block: Option<Block>,
    delta: Option<Delta>,
    usage: Option<WireUsage>,
}

/// A whole answer, or the frame of one that is streamed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    r#type: String,
    content: Vec<Block>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
}

/// A block of any type, as it comes and as it grows.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    /// Its place in the answer, which a stream tells beside it.
    #[serde(skip)]
    index: usize,
    r#type: String,
    text: String,
    thinking: String,
    signature: String,
    /// Of redacted thinking.
    data: String,
    id: String,
    name: String,
    input: Option<Box<RawValue>>,
    /// The pieces of the input, which come as text.
    #[serde(skip)]
    input_pieces: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    text: String,
    thinking: String,
    signature: String,
    partial_json: String,
    stop_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Decoder {
    /// Begins an answer.
    pub fn new(nonce: u32) -> Self {
        Self {
            nonce,
            blocks: Vec::new(),
            usage: WireUsage::default(),
            stop: StopReason::Done,
            size: 0,
            stage: Stage::Open,
        }
    }

    /// Takes the data of one event, and hands over what of it is text for the person.
    pub fn event(&mut self, data: &str, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        if data.trim().is_empty() || data.trim() == "[DONE]" {
            return Ok(());
        }
        let event: Event = parse(data)?;
        match event.r#type.as_str() {
            "error" => return Err(classify_stated(data)),
            "message_start" => {
                let usage = event.message.and_then(|message| message.usage);
                self.usage.update(usage.unwrap_or_default());
            }
            "content_block_start" => {
                let block = event.content_block.unwrap_or_default();
                self.start(event.index, block, show)?;
            }
            "content_block_delta" => {
                let delta = event.delta.unwrap_or_default();
                self.grow_block(event.index, &delta, show)?;
            }
            "message_delta" => {
                self.usage.update(event.usage.unwrap_or_default());
                self.end(event.delta.unwrap_or_default().stop_reason);
            }
            "message_stop" => self.stage = Stage::Over,
            // `content_block_stop` and `ping` say nothing; new types may come at any time.
            _ => {}
        }
        Ok(())
    }

    /// How far the answer has come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes an answer that came whole.
    pub fn whole(mut self, json: &str) -> Result<Reply, Failure> {
        let message: Message = parse(json)?;
        if message.r#type == "error" {
            return Err(classify_stated(json));
        }
        if message.content.is_empty() && message.stop_reason.is_none() {
            return Err(Failure::new(Fault::Garbage, "JSON without an answer in it"));
        }
        for (index, block) in message.content.into_iter().enumerate() {
            self.start(index, block, &mut |_| {})?;
        }
        self.usage.update(message.usage.unwrap_or_default());
        self.end(message.stop_reason);
        self.stage = Stage::Over;
        self.finish()
    }

    /// The stream is over: the answer, if it is whole.
    pub fn finish(self) -> Result<Reply, Failure> {
        if self.stage == Stage::Open {
            return Err(Failure::new(Fault::Cut, "the stream ended before its end"));
        }
        let mut reply = Reply {
            usage: self.usage.into(),
            stop: self.stop,
            ..Reply::default()
        };
        for block in self.blocks {
            block.put_into(&mut reply, self.nonce);
        }
        reply.text = reply.text.trim().to_owned();
        Ok(reply)
    }

    fn start(
        &mut self,
        index: usize,
        mut block: Block,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let input = block.input.as_ref().map_or(0, |input| input.get().len());
        let texts = [&block.text, &block.thinking, &block.signature, &block.data];
        let size: usize = texts.iter().map(|text| text.len()).sum();
        self.grow(size + input + size_of::<Block>())?;
        if block.is_said() {
            show(&block.text);
        }
        block.index = index;
        self.blocks.push(block);
        Ok(())
    }

    fn grow_block(
        &mut self,
        index: usize,
        delta: &Delta,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let Delta {
            text,
            thinking,
            signature,
            partial_json,
            ..
        } = delta;
        self.grow(text.len() + thinking.len() + signature.len() + partial_json.len())?;
        let Some(block) = self.blocks.iter_mut().rfind(|block| block.index == index) else {
            let reason = format!("a piece of block {index}, which never began");
            return Err(Failure::new(Fault::Garbage, reason));
        };
        block.text += text;
        block.thinking += thinking;
        block.signature += signature;
        block.input_pieces += partial_json;
        if block.is_said() && !text.is_empty() {
            show(text);
        }
        Ok(())
    }

    fn end(&mut self, reason: Option<String>) {
        let Some(reason) = reason else { return };
        self.stage = Stage::Ended;
        self.stop = match reason.as_str() {
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::Filtered,
            _ => StopReason::Done,
        };
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

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Failure> {
    json::from_str(json)
        .map_err(|error| Failure::new(Fault::Garbage, format!("broken JSON: {error}")))
}

impl Block {
    /// Whether its text is for the person.
    fn is_said(&self) -> bool {
        self.r#type == "text" && !self.text.is_empty()
    }

    fn put_into(self, reply: &mut Reply, nonce: u32) {
        match self.r#type.as_str() {
            "text" => reply.text += &self.text,
            "thinking" if self.signature.is_empty() => {
                reply.reasoning.push(Reasoning::Text(self.thinking));
            }
            "thinking" => reply.reasoning.push(Reasoning::Signed {
                text: self.thinking,
                signature: self.signature,
            }),
            "redacted_thinking" => reply.reasoning.push(Reasoning::Redacted(self.data)),
            "tool_use" => {
                let number = reply.tool_calls.len();
                reply.tool_calls.push(self.into_call(nonce, number));
            }
            // A block of a type that is newer than this program.
            _ => {}
        }
    }

    fn into_call(self, nonce: u32, number: usize) -> ToolCall {
        let id = match self.id.as_str() {
            "" => format!("call_{nonce:08x}_{number}"),
            _ => self.id,
        };
        let whole = self
            .input
            .map_or("{}".to_owned(), |input| input.get().to_owned());
        ToolCall {
            id,
            name: self.name,
            arguments: match self.input_pieces.trim() {
                "" => whole,
                _ => self.input_pieces,
            },
            signature: None,
        }
    }
}

impl WireUsage {
    /// Takes over what a later event tells.
    fn update(&mut self, later: Self) {
        let newer = |old: &mut Option<u64>, new: Option<u64>| *old = new.or(*old);
        newer(&mut self.input_tokens, later.input_tokens);
        newer(&mut self.output_tokens, later.output_tokens);
        newer(
            &mut self.cache_read_input_tokens,
            later.cache_read_input_tokens,
        );
        newer(
            &mut self.cache_creation_input_tokens,
            later.cache_creation_input_tokens,
        );
    }
}

impl From<WireUsage> for Usage {
    /// Anthropic counts cached tokens beside the input, not within it.
    fn from(wire: WireUsage) -> Self {
        let cached = wire.cache_read_input_tokens.unwrap_or(0);
        let written = wire.cache_creation_input_tokens.unwrap_or(0);
        let fresh = wire.input_tokens.unwrap_or(0);
        Self {
            input: fresh.saturating_add(cached).saturating_add(written),
            output: wire.output_tokens.unwrap_or(0),
            cached,
            written,
            ..Self::default()
        }
    }
}
