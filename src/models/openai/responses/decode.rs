//! An answer of the Responses API, whole or as a stream of events
//! (<https://developers.openai.com/api/reference/resources/responses/streaming-events>). What a text may
//! hold is read as in an answer of chat completions.

use serde_json::value::RawValue;

use super::full_name;
use crate::base::chat::{Fault, Reasoning, Reply, Sealed, StopReason, Usage};
use crate::base::json::{Halves, Members};
use crate::models::classify::aside::is_stated;
use crate::models::classify::{Failure, classify_stated};
use crate::models::openai::decode as chat;
use crate::models::wire::calls::Piece;
use crate::models::wire::written::text_or_json;
use crate::models::wire::{Stage, mended, parse};

/// Puts an answer together, event by event.
pub struct Decoder<'a> {
    /// Takes the text and the calls, and has the bounds.
    chat: chat::Decoder<'a>,
    /// The name that reasoning is sealed for.
    model: String,
    items: Vec<Item>,
}

/// An item of the output, of any type, as it comes and as it grows.
#[derive(Default)]
struct Item {
    /// Its place in the output, where the server tells it.
    index: Option<u64>,
    /// Its own id, which events name.
    id: String,
    kind: String,
    /// The id that the result of a call names.
    call_id: String,
    name: String,
    arguments: String,
    /// Reasoning, as it goes back.
    sealed: String,
    /// Whether some of its text has come.
    has_text: bool,
    /// Half of a character at the end of the last piece.
    halves: Halves,
}

impl<'a> Decoder<'a> {
    /// Begins an answer of a provider's model, whose texts `chat` reads.
    pub fn new(chat: chat::Decoder<'a>, (provider, model): (&str, &str)) -> Self {
        Self {
            chat,
            model: full_name(provider, model),
            items: Vec::new(),
        }
    }

    /// Takes the data of one event, and hands over what of it is text for the person.
    pub fn event(&mut self, data: &str, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        let data = data.trim_matches(|char: char| char.is_whitespace() || char == ',');
        if !data.starts_with('{') {
            return match data {
                "[DONE]" => Ok(()),
                data => self.chat.aside.note(data),
            };
        }
        let data = &*mended(data);
        let event: Members<'_> = parse(data)?;
        match event.text_or_empty("type").as_str() {
            "error" => return Err(classify_stated(data)),
            "response.output_item.added" => {
                self.begin(&event, &event.members("item"))?;
            }
            "response.output_item.done" => {
                let place = self.begin(&event, &event.members("item"))?;
                self.complete(place, &event.members("item"), show)?;
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let place = self.place(&event, "message")?;
                let text = self.piece(place, &event);
                self.say(place, &text, show)?;
            }
            "response.function_call_arguments.delta" => {
                let place = self.place(&event, "function_call")?;
                let piece = self.piece(place, &event);
                self.chat.grow(piece.len())?;
                self.items[place].arguments += &piece;
            }
            "response.function_call_arguments.done" => {
                let place = self.place(&event, "function_call")?;
                self.set_arguments(place, event.raw("arguments"))?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let place = self.place(&event, "reasoning")?;
                let thought = self.piece(place, &event);
                self.chat.grow(thought.len())?;
                self.chat.reasoning += &thought;
            }
            kind @ ("response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled") => {
                let (_, status) = kind.split_at("response.".len());
                self.end(&event.members("response"), status, show)?;
            }
            _ if is_stated(&event.value("error")) => return Err(classify_stated(data)),
            // Others repeat what is known, or are newer than this program.
            kind if kind.starts_with("response.") => {}
            _ => self.chat.aside.note(data)?,
        }
        Ok(())
    }

    /// How far the answer has come.
    pub fn stage(&self) -> Stage {
        self.chat.stage()
    }

    /// Bytes of text, reasoning and arguments so far.
    pub fn size(&self) -> usize {
        self.chat.size()
    }

    /// The tokens that the server has reported so far.
    pub fn usage(&self) -> Usage {
        self.chat.usage()
    }

    /// Takes an answer that came whole.
    pub fn whole(mut self, json: &str) -> Result<Reply, Failure> {
        let json = &*mended(json);
        let response: Members<'_> = parse(json)?;
        let is_answer = response.raw("output").is_some() || response.raw("status").is_some();
        if is_answer {
            self.end(&response, "completed", &mut |_| {})?
        } else {
            self.event(json, &mut |_| {})?
        }
        if self.stage() == Stage::Open {
            let unknown = || Failure::new(Fault::Garbage, "JSON without an answer in it");
            return Err(self.chat.aside.failure().unwrap_or_else(unknown));
        }
        self.finish(&mut |_| {})
    }

    /// The stream is over: the answer, if it is whole.
    pub fn finish(mut self, show: &mut dyn FnMut(&str)) -> Result<Reply, Failure> {
        let mut sealed = Vec::new();
        let (mut calls, mut has_text) = (0, false);
        for item in self.items {
            match item.kind.as_str() {
                "reasoning" if !item.sealed.is_empty() => {
                    sealed.push((calls, has_text, item.sealed));
                }
                "message" => has_text |= item.has_text,
                "function_call" if !item.name.trim().is_empty() => {
                    let piece = Piece {
                        index: Some(calls as u64),
                        id: item.call_id,
                        name: item.name,
                        arguments: item.arguments,
                        signature: None,
                    };
                    self.chat.push_call(piece);
                    calls += 1;
                }
                _ => {}
            }
        }
        let mut reply = self.chat.finish(show)?;
        let is_said = !reply.text.is_empty();
        let sealed = sealed.into_iter().map(|(calls, after_text, item)| Sealed {
            model: self.model.clone(),
            // The text goes back before the calls.
            place: calls + usize::from(is_said && (after_text || calls > 0)),
            item,
        });
        reply.reasoning.extend(sealed.map(Reasoning::Sealed));
        Ok(reply)
    }

    /// The item that an event is about: the one at its place in the output, or with its id, or the newest; a new
    /// one when there is none.
    fn place(&mut self, event: &Members<'_>, kind: &str) -> Result<usize, Failure> {
        let index = event.number("output_index");
        let id = event.text_or_empty("item_id");
        let found = match (index, id.as_str()) {
            (Some(_), _) => self.items.iter().rposition(|item| item.index == index),
            (None, "") => self.items.len().checked_sub(1),
            (None, id) => self.items.iter().rposition(|item| item.id == id),
        };
        if let Some(place) = found {
            return Ok(place);
        }
        self.chat.grow(size_of::<Item>() + id.len())?;
        self.items.push(Item {
            index,
            id,
            kind: kind.to_owned(),
            ..Item::default()
        });
        Ok(self.items.len() - 1)
    }

    /// Takes what is known of an item at its beginning, or at its end where the beginning did not come.
    fn begin(&mut self, event: &Members<'_>, item: &Members<'_>) -> Result<usize, Failure> {
        let (index, id) = (event.number("output_index"), item.text_or_empty("id"));
        let known = self.items.iter().rposition(|known| {
            known.index == index && index.is_some()
                || index.is_none() && !id.is_empty() && known.id == id
        });
        let [kind, call_id, name] =
            ["type", "call_id", "name"].map(|name| item.text_or_empty(name));
        let place = match known {
            Some(place) => place,
            None => {
                self.items.push(Item::default());
                self.items.len() - 1
            }
        };
        let call_id = match call_id.as_str() {
            "" => id.clone(),
            _ => call_id,
        };
        self.chat
            .grow(size_of::<Item>() + kind.len() + id.len() + call_id.len() + name.len())?;
        let known = &mut self.items[place];
        known.index = index.or(known.index);
        let named = [(&mut known.kind, kind), (&mut known.id, id)];
        let of_call = [(&mut known.call_id, call_id), (&mut known.name, name)];
        for (own, told) in named.into_iter().chain(of_call) {
            if !told.is_empty() {
                *own = told;
            }
        }
        Ok(place)
    }

    /// Takes an item that is complete: what of it has not come in pieces.
    fn complete(
        &mut self,
        place: usize,
        item: &Members<'_>,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        match self.items[place].kind.as_str() {
            "message" if !self.items[place].has_text => {
                for part in item.list("content").unwrap_or_default() {
                    let part = Members::read(part.get()).unwrap_or_default();
                    let text = part.text("text").or_else(|| part.text("refusal"));
                    self.say(place, &text.unwrap_or_default(), show)?;
                }
                // Some write the text itself.
                self.say(place, &item.text_or_empty("content"), show)
            }
            "message" => {
                let half = self.items[place].halves.finish();
                self.say(place, half, show)
            }
            "function_call" => self.set_arguments(place, item.raw("arguments")),
            "reasoning" => self.seal(place, item),
            _ => Ok(()),
        }
    }

    /// Keeps encrypted reasoning as it goes back: without what the API tells and does not take.
    fn seal(&mut self, place: usize, item: &Members<'_>) -> Result<(), Failure> {
        let content = item.text_or_empty("encrypted_content");
        if content.is_empty() {
            return Ok(());
        }
        let summary = item.raw("summary").map(RawValue::get);
        let summary = summary
            .filter(|summary| summary.starts_with('['))
            .unwrap_or("[]");
        let text = |text: &str| serde_json::Value::from(text).to_string();
        let sealed = format!(
            r#"{{"type":"reasoning","id":{},"summary":{summary},"encrypted_content":{}}}"#,
            text(&item.text_or_empty("id")),
            text(&content)
        );
        self.chat.grow(sealed.len())?;
        self.items[place].sealed = sealed;
        Ok(())
    }

    /// The `delta` of an event, which may end within a character.
    fn piece(&mut self, place: usize, event: &Members<'_>) -> String {
        let Some(raw) = event.raw("delta") else {
            return String::new();
        };
        let read = self.items[place].halves.read(raw.get());
        read.unwrap_or_else(|| text_or_json(raw))
    }

    fn say(&mut self, place: usize, text: &str, show: &mut dyn FnMut(&str)) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.chat.grow(text.len())?;
        let is_another =
            !self.items[place].has_text && self.items[..place].iter().any(|item| item.has_text);
        if is_another {
            self.chat.part("\n\n", show);
        }
        self.items[place].has_text = true;
        self.chat.part(text, show);
        Ok(())
    }

    /// Sets the whole arguments of a call; what does not come leaves the pieces.
    fn set_arguments(&mut self, place: usize, raw: Option<&RawValue>) -> Result<(), Failure> {
        let arguments = raw.map(text_or_json).unwrap_or_default();
        if !arguments.is_empty() {
            self.chat.grow(
                arguments
                    .len()
                    .saturating_sub(self.items[place].arguments.len()),
            )?;
            self.items[place].arguments = arguments;
        }
        Ok(())
    }

    /// The response has ended, well or not: with the status that it tells, else with this one.
    fn end(
        &mut self,
        response: &Members<'_>,
        status: &str,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let error = response.raw("error").map_or("null", RawValue::get);
        let status = response.text("status").unwrap_or_else(|| status.to_owned());
        // Before what may fail: the tokens are spent.
        self.chat.reply.usage = chat::usage(&response.members("usage"));
        if status == "failed" || is_stated(&response.value("error")) {
            return Err(classify_stated(&format!("{{\"error\":{error}}}")));
        }
        if matches!(status.as_str(), "cancelled" | "queued" | "in_progress") {
            return Err(Failure::new(Fault::Cut, format!("the answer is {status}")));
        }
        // A stream has told all of it before.
        let output = response.list("output").filter(|_| self.items.is_empty());
        for item in output.unwrap_or_default() {
            let item = Members::read(item.get()).unwrap_or_default();
            let place = self.begin(&Members::default(), &item)?;
            self.complete(place, &item, show)?;
        }
        let reason = response.members("incomplete_details").text("reason");
        self.chat.reply.stop = match (status.as_str(), reason.as_deref()) {
            (_, Some("content_filter")) => StopReason::Filtered,
            ("incomplete", _) | (_, Some("max_output_tokens")) => StopReason::Length,
            _ => StopReason::Done,
        };
        self.chat.stage = Stage::Over;
        Ok(())
    }
}
