//! An answer in Anthropic's format, whole or as a stream of events
//! (<https://docs.claude.com/en/docs/build-with-claude/streaming>).

use crate::base::chat::{Fault, Reasoning, Reply, StopReason, ToolCall, Usage};
use crate::base::json::{Halves, Members};
use crate::base::limits::models::REPLY_BYTES;
use crate::models::classify::aside::{Aside, is_stated};
use crate::models::classify::{Failure, classify_stated};
use crate::models::wire::calls::with_own_ids;
use crate::models::wire::written::text_or_json;
use crate::models::wire::{Stage, mended, parse};

/// Puts an answer together, event by event.
pub struct Decoder {
    /// Makes the ids that a server does not give different from those of other answers.
    nonce: u32,
    blocks: Vec<Block>,
    /// Half of a character at the end of the last piece.
    halves: Halves,
    usage: WireUsage,
    stop: StopReason,
    /// Bytes of all blocks so far.
    size: usize,
    stage: Stage,
    aside: Aside,
}

/// A block of any type, as it comes and as it grows.
#[derive(Default)]
struct Block {
    /// Its place in the answer, which a stream tells beside it.
    index: u64,
    kind: String,
    text: String,
    thinking: String,
    signature: String,
    /// Of redacted thinking.
    data: String,
    id: String,
    name: String,
    /// As JSON; empty when there is none.
    input: String,
    /// The pieces of the input, which come as text.
    input_pieces: String,
}

impl Block {
    fn read(index: u64, members: &Members<'_>) -> Self {
        Self {
            index,
            kind: members.text_or_empty("type"),
            text: members.text_or_empty("text"),
            thinking: members.text_or_empty("thinking"),
            signature: members.text_or_empty("signature"),
            data: members.text_or_empty("data"),
            id: members.text_or_empty("id"),
            name: members.text_or_empty("name"),
            input: members.raw("input").map(text_or_json).unwrap_or_default(),
            input_pieces: String::new(),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    ephemeral_1h_input_tokens: Option<u64>,
}

impl Decoder {
    /// Begins an answer.
    pub fn new(nonce: u32) -> Self {
        Self {
            nonce,
            blocks: Vec::new(),
            halves: Halves::default(),
            usage: WireUsage::default(),
            stop: StopReason::Done,
            size: 0,
            stage: Stage::Open,
            aside: Aside::default(),
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
            return Ok(());
        }
        if !data.starts_with('{') {
            return self.aside.note(data);
        }
        let data = &*mended(data);
        let event: Members<'_> = parse(data)?;
        let index = event.number("index").unwrap_or(0);
        match event.text_or_empty("type").as_str() {
            "error" => return Err(classify_stated(data)),
            "message_start" => {
                self.usage
                    .update(&event.members("message").members("usage"));
                // The reply has just begun.
                self.usage.output_tokens = None;
            }
            "content_block_start" => {
                self.end_piece(show);
                self.start(Block::read(index, &event.members("content_block")), show)?;
            }
            "content_block_delta" => self.grow_block(index, &event.members("delta"), show)?,
            "message_delta" => {
                self.usage.update(&event.members("usage"));
                self.end(event.members("delta").text("stop_reason"));
            }
            "message_stop" => self.stage = Stage::Over,
            "content_block_stop" => self.end_piece(show),
            _ if is_stated(&event.value("error")) => return Err(classify_stated(data)),
            // `ping` says nothing; new types may come at any time.
            _ => self.aside.note(data)?,
        }
        Ok(())
    }

    /// How far the answer has come.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Takes an answer that came whole.
    pub fn whole(mut self, json: &str) -> Result<Reply, Failure> {
        let json = &*mended(json);
        let message: Members<'_> = parse(json)?;
        if message.text("type").as_deref() == Some("error") || is_stated(&message.value("error")) {
            return Err(classify_stated(json));
        }
        let blocks = message.list("content").unwrap_or_default();
        let stop = message.text("stop_reason");
        if blocks.is_empty() && stop.is_none() {
            self.aside.note(json)?;
            let unknown = || Failure::new(Fault::Garbage, "JSON without an answer in it");
            return Err(self.aside.failure().unwrap_or_else(unknown));
        }
        for (index, block) in (0..).zip(blocks) {
            let block = Members::read(block.get()).unwrap_or_default();
            self.start(Block::read(index, &block), &mut |_| {})?;
        }
        if let Some(text) = message.text("content") {
            let block = Block {
                kind: "text".to_owned(),
                text,
                ..Block::default()
            };
            self.start(block, &mut |_| {})?;
        }
        self.usage.update(&message.members("usage"));
        self.end(stop);
        self.stage = Stage::Over;
        self.finish(&mut |_| {})
    }

    /// The stream is over: the answer, if it is whole. Text that was held back is handed over.
    pub fn finish(mut self, show: &mut dyn FnMut(&str)) -> Result<Reply, Failure> {
        self.end_piece(show);
        if self.stage == Stage::Open {
            return Err(self.aside.cut(self.size == 0));
        }
        let mut reply = Reply {
            usage: self.usage(),
            stop: self.stop,
            ..Reply::default()
        };
        for block in self.blocks {
            block.put_into(&mut reply);
        }
        reply.tool_calls = with_own_ids(reply.tool_calls, self.nonce);
        reply.text = reply.text.trim().to_owned();
        // Some servers take the whole answer for reasoning.
        if reply.text.is_empty() && reply.tool_calls.is_empty() && reply.stop == StopReason::Done {
            let thoughts = std::mem::take(&mut reply.reasoning).into_iter();
            let thoughts = thoughts.filter_map(|thought| match thought {
                Reasoning::Text(text) | Reasoning::Signed { text, .. } => Some(text),
                Reasoning::Redacted(_) | Reasoning::Sealed(_) => None,
            });
            reply.text = thoughts.collect::<Vec<_>>().join("\n\n").trim().to_owned();
            show(&reply.text);
        }
        Ok(reply)
    }

    /// No more pieces follow: half of a character stays one.
    fn end_piece(&mut self, show: &mut dyn FnMut(&str)) {
        let half = self.halves.finish();
        let Some(block) = self.blocks.last_mut().filter(|_| !half.is_empty()) else {
            return;
        };
        match block.kind.as_str() {
            "text" => {
                block.text += half;
                show(half);
            }
            "thinking" => block.thinking += half,
            _ => {}
        }
    }

    fn start(&mut self, block: Block, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let texts = [
            &block.text,
            &block.thinking,
            &block.signature,
            &block.data,
            &block.input,
        ];
        let size: usize = texts.iter().map(|text| text.len()).sum();
        self.grow(size + size_of::<Block>())?;
        if block.is_said() {
            show(&block.text);
        }
        self.blocks.push(block);
        Ok(())
    }

    fn grow_block(
        &mut self,
        index: u64,
        delta: &Members<'_>,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let pieces = ["text", "thinking", "signature", "partial_json"];
        let [text, thinking, signature, input] = pieces.map(|name| {
            let raw = delta.raw(name);
            let text = raw.and_then(|raw| self.halves.read(raw.get()));
            text.unwrap_or_else(|| delta.text_or_empty(name))
        });
        self.grow(text.len() + thinking.len() + signature.len() + input.len())?;
        let place = self.blocks.iter().rposition(|block| block.index == index);
        if place.is_none() {
            // Some servers begin only the blocks of calls.
            let kind = match delta.text_or_empty("type").as_str() {
                "text_delta" => "text",
                "thinking_delta" => "thinking",
                _ => {
                    let reason = format!("a piece of block {index}, which never began");
                    return Err(Failure::new(Fault::Garbage, reason));
                }
            };
            let block = Block {
                index,
                kind: kind.to_owned(),
                ..Block::default()
            };
            self.start(block, show)?;
        }
        let last = self.blocks.len() - 1;
        let block = &mut self.blocks[place.unwrap_or(last)];
        block.text += &text;
        block.thinking += &thinking;
        block.signature += &signature;
        block.input_pieces += &input;
        if block.is_said() && !text.is_empty() {
            show(&text);
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

    /// The tokens that the server has reported so far.
    pub fn usage(&self) -> Usage {
        self.usage.into()
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

impl Block {
    /// Whether its text is for the person.
    fn is_said(&self) -> bool {
        self.kind == "text" && !self.text.is_empty()
    }

    fn put_into(self, reply: &mut Reply) {
        match self.kind.as_str() {
            "text" => reply.text += &self.text,
            "thinking" if self.signature.is_empty() => {
                reply.reasoning.push(Reasoning::Text(self.thinking));
            }
            "thinking" => reply.reasoning.push(Reasoning::Signed {
                text: self.thinking,
                signature: self.signature,
            }),
            "redacted_thinking" => reply.reasoning.push(Reasoning::Redacted(self.data)),
            "tool_use" if !self.name.trim().is_empty() => {
                reply.tool_calls.push(self.into_call());
            }
            // A block of a type that is newer than this program, or a call of nothing.
            _ => {}
        }
    }

    fn into_call(self) -> ToolCall {
        let whole = match self.input.as_str() {
            "" => "{}".to_owned(),
            _ => self.input,
        };
        ToolCall {
            id: self.id,
            name: self.name,
            arguments: match self.input_pieces.trim() {
                "" | "{}" => whole,
                _ => self.input_pieces,
            },
            signature: None,
        }
    }
}

impl WireUsage {
    /// Takes over what a later event tells.
    fn update(&mut self, later: &Members<'_>) {
        for (count, name) in [
            (&mut self.input_tokens, "input_tokens"),
            (&mut self.output_tokens, "output_tokens"),
            (&mut self.cache_read_input_tokens, "cache_read_input_tokens"),
            (
                &mut self.cache_creation_input_tokens,
                "cache_creation_input_tokens",
            ),
        ] {
            *count = later.number(name).or(*count);
        }
        let created = later.members("cache_creation");
        let for_hour = created.number("ephemeral_1h_input_tokens");
        self.ephemeral_1h_input_tokens = for_hour.or(self.ephemeral_1h_input_tokens);
    }
}

impl From<WireUsage> for Usage {
    /// Anthropic counts cached tokens beside the input, not within it.
    fn from(wire: WireUsage) -> Self {
        let cached = wire.cache_read_input_tokens.unwrap_or(0);
        let for_hour = wire.ephemeral_1h_input_tokens.unwrap_or(0);
        let written = wire.cache_creation_input_tokens.unwrap_or(0).max(for_hour);
        let fresh = wire.input_tokens.unwrap_or(0);
        Self {
            input: fresh.saturating_add(cached).saturating_add(written),
            output: wire.output_tokens.unwrap_or(0),
            cached,
            written,
            written_for_hour: for_hour,
            ..Self::default()
        }
    }
}
