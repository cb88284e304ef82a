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
    /// The id that the result of a call names; empty where only the item has one.
    call_id: String,
    name: String,
    arguments: String,
    /// Reasoning, as it goes back.
    sealed: String,
    /// Whether some of its text has come.
    has_text: bool,
    /// The part of its content whose text came last.
    part: Option<u64>,
    /// Whether its beginning was told, and its end.
    is_begun: bool,
    is_done: bool,
    /// Its place in the whole output, which comes at the end.
    rank: usize,
    /// Half of a character at the end of the last piece.
    halves: Halves,
}

/// What an event tells of the item that it is about; each of it may be missing.
struct Told {
    index: Option<u64>,
    id: String,
    kind: String,
    call_id: String,
}

impl Told {
    fn of_item(index: Option<u64>, item: &Members<'_>) -> Self {
        let [id, kind, call_id] = ["id", "type", "call_id"].map(|name| item.text_or_empty(name));
        Self {
            index,
            id,
            kind,
            call_id,
        }
    }
}

/// Whether two texts are the same, as far as both are known.
fn agree(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}

impl Item {
    /// Whether it may be the item that is told of: some servers use a place in the output for several items, others give
    /// an item another id in each event.
    fn may_be(&self, told: &Told) -> bool {
        (self.index.is_none() || told.index.is_none() || self.index == told.index)
            && agree(&self.kind, &told.kind)
            && agree(&self.call_id, &told.call_id)
    }

    fn has_id(&self, told: &Told) -> bool {
        !told.id.is_empty() && self.id == told.id
    }

    /// Whether what is told is its end by place and id: some servers make up a call's id twice.
    fn is_ended_by(&self, told: &Told) -> bool {
        let is_here = told.index.is_some() && self.index == told.index && self.has_id(told);
        is_here && !self.is_done && agree(&self.kind, &told.kind)
    }

    /// Whether it is the call that an item of the output has, with another id.
    fn is_call(&self, item: &Members<'_>) -> bool {
        let arguments = item.raw("arguments").map(text_or_json);
        self.name == item.text_or_empty("name") && arguments.as_ref() == Some(&self.arguments)
    }

    /// Whether an item at the same place that has another id may be the same all the same.
    fn is_open_for(&self, told: &Told) -> bool {
        agree(&self.id, &told.id) || told.index.is_some() && self.is_begun && !self.is_done
    }
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
            "response.output_item.added" => self.take_item(&event, false, show)?,
            "response.output_item.done" => self.take_item(&event, true, show)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                let place = self.place(&event, "message")?;
                let text = self.piece(place, &event);
                self.items[place].part = event.number("content_index");
                self.say(place, &text, show)?;
            }
            kind @ ("response.output_text.done" | "response.refusal.done") => {
                let place = self.place(&event, "message")?;
                let part = event.number("content_index");
                // Most have told it in pieces.
                if !self.items[place].has_text || part > self.items[place].part {
                    let name = if kind.contains("refusal") {
                        "refusal"
                    } else {
                        "text"
                    };
                    self.items[place].part = part;
                    self.say(place, &event.text_or_empty(name), show)?;
                }
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
        self.items.sort_by_key(|item| item.rank);
        for item in self.items {
            match item.kind.as_str() {
                "reasoning" if !item.sealed.is_empty() => {
                    sealed.push((calls, has_text, item.sealed));
                }
                "message" => has_text |= item.has_text,
                "function_call" if !item.name.trim().is_empty() => {
                    let id = match item.call_id.as_str() {
                        "" => item.id,
                        _ => item.call_id,
                    };
                    let piece = Piece {
                        index: Some(calls as u64),
                        id,
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

    /// Takes the event of an item's beginning, or of its end.
    fn take_item(
        &mut self,
        event: &Members<'_>,
        is_done: bool,
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let item = event.members("item");
        let mut told = Told::of_item(event.number("output_index"), &item);
        let begun = self.items.iter().rfind(|item| item.is_ended_by(&told));
        let known = begun.map_or("", |begun| begun.call_id.as_str());
        if is_done && !known.is_empty() {
            known.clone_into(&mut told.call_id);
        }
        let place = self.find(&told, |item| {
            !item.is_done && (is_done || !item.is_begun) && item.is_open_for(&told)
        });
        let place = self.note(place, told, &item.text_or_empty("name"))?;
        self.items[place].is_begun = true;
        if is_done {
            self.complete(place, &item, show)?;
            self.items[place].is_done = true;
        }
        Ok(())
    }

    /// The newest item that is told of: the one with its id, or one that may be it and is as `is_open` has it.
    fn find(&self, told: &Told, is_open: impl Fn(&Item) -> bool) -> Option<usize> {
        let named = |item: &Item| item.has_id(told) && item.may_be(told);
        let open = |item: &Item| item.may_be(told) && is_open(item);
        let named = self.items.iter().rposition(named);
        named.or_else(|| self.items.iter().rposition(open))
    }

    /// The item of this kind that an event is about; a new one when there is none.
    fn place(&mut self, event: &Members<'_>, kind: &str) -> Result<usize, Failure> {
        let told = Told {
            index: event.number("output_index"),
            id: event.text_or_empty("item_id"),
            kind: kind.to_owned(),
            call_id: String::new(),
        };
        match self.find(&told, |item| item.is_open_for(&told)) {
            Some(place) if !self.items[place].kind.is_empty() => Ok(place),
            place => self.note(place, told, ""),
        }
    }

    /// Takes what is known of an item, which is a new one where it has no place.
    fn note(&mut self, place: Option<usize>, told: Told, name: &str) -> Result<usize, Failure> {
        let Told {
            index,
            id,
            kind,
            call_id,
        } = told;
        let bytes = kind.len() + id.len() + call_id.len() + name.len();
        self.chat.grow(size_of::<Item>() + bytes)?;
        let place = place.unwrap_or_else(|| {
            self.items.push(Item::default());
            self.items.len() - 1
        });
        let known = &mut self.items[place];
        known.index = index.or(known.index);
        let named = [(&mut known.kind, kind), (&mut known.id, id)];
        let of_call = [
            (&mut known.call_id, call_id),
            (&mut known.name, name.to_owned()),
        ];
        for (own, told) in named.into_iter().chain(of_call) {
            if !told.is_empty() {
                *own = told;
            }
        }
        Ok(place)
    }

    /// Takes the whole output, which comes at the end: what of it has not come before, and the order.
    fn take_output(
        &mut self,
        output: &[Members<'_>],
        show: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let told = output.iter().map(|item| Told::of_item(None, item));
        let told: Vec<Told> = told.collect();
        let mut ranks: Vec<Option<usize>> = vec![None; self.items.len()];
        let mut places = vec![None; told.len()];
        for is_named in [true, false] {
            for (rank, told) in told.iter().enumerate() {
                let is_it = |(place, item): (usize, &Item)| {
                    let is_same_call = !told.call_id.is_empty() && item.call_id == told.call_id;
                    let is_it = if is_named {
                        item.may_be(told) && (is_same_call || item.has_id(told))
                    } else {
                        item.may_be(told) || item.is_call(&output[rank])
                    };
                    ranks[place].is_none() && item.kind == told.kind && is_it
                };
                if places[rank].is_none() {
                    places[rank] = self.items.iter().enumerate().position(is_it);
                    places[rank]
                        .iter()
                        .for_each(|place| ranks[*place] = Some(rank));
                }
            }
        }
        // What is not in it stays behind what it followed.
        let mut last = 0;
        for (item, rank) in self.items.iter_mut().zip(ranks) {
            last = rank.unwrap_or(last);
            item.rank = last;
        }
        for (rank, (item, told)) in output.iter().zip(told).enumerate() {
            let place = self.note(places[rank], told, &item.text_or_empty("name"))?;
            self.items[place].rank = rank;
            let known = &self.items[place];
            if !(known.is_done && known.kind == "function_call" || !known.sealed.is_empty()) {
                self.complete(place, item, show)?;
            }
        }
        Ok(())
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
        // An empty one is refused.
        let id = match item.text_or_empty("id").as_str() {
            "" => String::new(),
            id => format!(r#""id":{},"#, text(id)),
        };
        let sealed = format!(
            r#"{{"type":"reasoning",{id}"summary":{summary},"encrypted_content":{}}}"#,
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
        let is_another = !self.items[place].has_text && self.items.iter().any(|item| item.has_text);
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
        let output = response.list("output").unwrap_or_default();
        let output = output
            .iter()
            .map(|item| Members::read(item.get()).unwrap_or_default());
        self.take_output(&output.collect::<Vec<_>>(), show)?;
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
