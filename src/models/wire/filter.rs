//! Keeps back text that may be a written tool call until it is known whether it is one.
//!
//! A call counts when it ends the answer: what text follows is a quotation, and stays. Whose text is
//! looked at is decided by the caller; a page that such a model quotes at the end of its answer is the
//! price of serving models that cannot make calls. In code, or on a line that is marked as a quotation, it is
//! none.

use super::quote::Quotes;
use super::template::{self, Template};
use super::tokens::{self, Tail, token_length};
use super::written::{self, End, Form, Inside, Unread, Written};
use crate::base::chat::ToolSpec;

/// Takes an answer's text in pieces, and parts the written calls from it.
#[derive(Debug)]
pub struct Filter<'a> {
    tools: &'a [ToolSpec],
    /// The templates that count; none where no call may be written.
    templates: Vec<&'static Template>,
    /// Text that is not let through yet.
    held: String,
    /// The template that `held` begins with.
    found: Option<&'static Template>,
    /// Bytes of `held` that are whole calls by their marks.
    closed: usize,
    /// The call behind these: a long text that comes in many small pieces is searched once.
    inside: Inside,
    /// Whether anything but white space was let through.
    begun: bool,
    /// The quotations of what was let through.
    quotes: Quotes,
}

/// What was held back of an answer that is over.
#[derive(Debug, Default)]
pub struct Rest {
    /// Text after all.
    pub text: String,
    /// Calls. One that cannot be read is among them, and the tools tell the model so.
    pub calls: Vec<Written>,
    /// Whether it is a call that was cut off.
    pub is_cut: bool,
}

impl<'a> Filter<'a> {
    /// Looks for calls of the given tools in the templates of a model; for none where there is no model.
    pub fn new(tools: &'a [ToolSpec], model: Option<&str>) -> Self {
        let model = model.filter(|_| !tools.is_empty());
        Self {
            tools,
            templates: model.map(template::of_model).unwrap_or_default(),
            held: String::new(),
            found: None,
            closed: 0,
            inside: Inside::default(),
            begun: false,
            quotes: Quotes::default(),
        }
    }

    /// Forgets the text so far.
    pub fn reset(&mut self) {
        *self = Self {
            templates: std::mem::take(&mut self.templates),
            ..Self::new(self.tools, None)
        };
    }

    /// Takes a piece and returns what is certainly text for the person.
    pub fn push(&mut self, piece: &str) -> String {
        if self.templates.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        let mut text = String::new();
        while self.step(&mut text) {}
        text
    }

    /// The answer is over: what is held back is a call, unless the model `is_native`, or text after all.
    /// `is_short` says that the answer had no room for its end.
    pub fn finish(&mut self, is_native: bool, is_short: bool) -> Rest {
        let held = std::mem::take(&mut self.held);
        let found = self.found.take();
        (self.closed, self.inside) = (0, Inside::default());
        let read = match found {
            _ if is_native => Read::Text,
            Some(template) => self.read(&held, template, is_short),
            None if is_short && self.ends_in_mark(&held) => Read::Cut,
            None => Read::Text,
        };
        match read {
            Read::Calls(calls) => Rest {
                calls,
                ..Rest::default()
            },
            Read::Cut => Rest {
                is_cut: true,
                ..Rest::default()
            },
            Read::Text => Rest {
                text: held,
                ..Rest::default()
            },
        }
    }

    /// Whether what is held back is most of a mark.
    fn ends_in_mark(&self, held: &str) -> bool {
        let mut templates = self.templates.iter().filter(|template| !template.is_whole);
        templates
            .any(|template| template.open.starts_with(held) && held.len() * 2 > template.open.len())
    }

    /// Decides about the beginning of what is held; false when more has to come first.
    fn step(&mut self, text: &mut String) -> bool {
        let Some(template) = self.found else {
            return self.find_mark(text);
        };
        let open = template.open.len();
        let inside = template.inside(&self.held);
        let begins = if self.quotes.is_cited() {
            Some(false)
        } else {
            written::begins(inside, template.form, self.tools)
        };
        if begins == Some(false) {
            self.let_through(open.max(1), text);
            return true;
        }
        if template.close.is_empty() {
            return false;
        }
        let rest = self.held[self.closed..].trim_start();
        if self.closed > 0 && !rest.starts_with(template.open) {
            if template.open.starts_with(rest) || tail(rest).is_some() {
                return false;
            }
            self.let_through(self.closed, text);
            return true;
        }
        let start = self.held.len() - rest.len() + open;
        let marks = (template.open, template.close);
        let end = self
            .inside
            .find_end(&self.held[start..], marks, template.form, false);
        let Some(End { whole, .. }) = end else {
            return false;
        };
        self.closed = start + whole;
        self.inside = Inside::default();
        true
    }

    /// Reads all calls that a text consists of.
    fn read(&self, text: &str, template: &Template, is_short: bool) -> Read {
        let mut calls = Vec::new();
        let mut rest = text.trim();
        let mut is_broken = false;
        while let Some(after) = rest.strip_prefix(template.open) {
            let end = match template.close {
                "" => None,
                _ => end_of(after, template, is_broken),
            };
            if end.is_none() && !template.close.is_empty() && after.contains(template.close) {
                return if is_short { Read::Cut } else { Read::Text };
            }
            let (inside, all) =
                end.map_or((after.len(), after.len()), |end| (end.inside, end.whole));
            let is_closed = all > inside;
            let whole =
                &rest[..template.open.len() + if template.is_part() { all } else { inside }];
            let part = if is_closed {
                template.inside(whole)
            } else {
                without_tail(template.inside(whole))
            };
            let is_opened = template.form == Form::Tags && part.starts_with('<');
            match written::read(part, template.form, self.tools) {
                // Some write the first mark again in place of the last one.
                _ if part.is_empty() && !is_closed && !is_short && !calls.is_empty() => {}
                Ok(_) if is_opened && !is_closed && !part.contains("</") => return Read::Cut,
                Ok(found) if written::are_known(&found, self.tools) => calls.extend(found),
                Ok(found) if !template.is_whole && (is_closed || self.begins(part, template)) => {
                    calls.extend(found);
                }
                Ok(_) => return Read::Text,
                Err(_) if !self.is_call(part, template, is_short) => return Read::Text,
                Err(Unread::Quoted) if !is_closed || template.is_whole => return Read::Text,
                Err(unread) if !is_closed && (is_short || unread == Unread::Cut) => {
                    return Read::Cut;
                }
                Err(_) => {
                    is_broken = true;
                    calls.push(written::unread(whole, self.tools));
                }
            }
            rest = after[all..].trim_start();
            if template.open.is_empty() {
                break;
            }
        }
        match tail(rest) {
            Some(Tail::Whole | Tail::Header) if !calls.is_empty() => Read::Calls(calls),
            _ => Read::Text,
        }
    }

    fn begins(&self, part: &str, template: &Template) -> bool {
        written::begins(part, template.form, self.tools) == Some(true)
    }

    /// Whether what stands behind a mark and cannot be read is a call at all.
    fn is_call(&self, part: &str, template: &Template, is_short: bool) -> bool {
        if template.is_whole {
            return written::names_tool(part, self.tools);
        }
        let mut tools = self.tools.iter();
        written::begins(part, template.form, self.tools).unwrap_or_else(|| match part.trim() {
            "" => is_short || self.quotes.begins_line(),
            name => is_short && tools.any(|tool| tool.name.starts_with(name)),
        })
    }

    /// Lets through what stands before a mark, or before what may become one.
    fn find_mark(&mut self, text: &mut String) -> bool {
        let first = self.held.find(MARK_BEGINS);
        if self.begun && first.is_none() {
            self.let_through(self.held.len(), text);
            return false;
        }
        let white = self.held.len() - self.held.trim_start().len();
        let place = |template: &Template| match template.is_whole {
            true if template.open.is_empty() => {
                let is_call = !self.begun && is_bare(&self.held[white..], self.tools) == Some(true);
                is_call.then_some(white)
            }
            true => (!self.begun && self.held[white..].starts_with(template.open)).then_some(white),
            false => {
                let first = first?;
                Some(first + self.held[first..].find(template.open)?)
            }
        };
        let places = self
            .templates
            .iter()
            .filter_map(|template| Some((place(template)?, *template)));
        // Of two that begin at the same place the longer mark is meant.
        let found =
            places.min_by_key(|(place, template)| (*place, usize::MAX - template.open.len()));
        // What a template has before an answer is no part of it.
        if !self.begun && found.is_none_or(|(start, _)| start > white) {
            let before = &self.held[white..];
            if !before.is_empty() && tail(before) == Some(Tail::Begun) {
                return false;
            }
            if let Some(length) = token_length(before) {
                self.let_through(white + length, text);
                self.begun = false;
                return true;
            }
        }
        // A longer mark may be in the making.
        if let Some((start, _)) = found {
            let rest = &self.held[start..];
            let is_begun = |mark: &str| mark.len() > rest.len() && mark.starts_with(rest);
            if self.templates.iter().any(|other| is_begun(other.open)) {
                self.let_through(start, text);
                return false;
            }
        }
        let safe = match found {
            Some((start, _)) => start,
            None => self.held.len() - self.unfinished_mark(),
        };
        self.let_through(safe, text);
        self.found = found.map(|(_, template)| template);
        found.is_some()
    }

    fn let_through(&mut self, bytes: usize, text: &mut String) {
        self.begun |= !self.held[..bytes].trim_start().is_empty();
        self.quotes.push(&self.held[..bytes]);
        text.extend(self.held.drain(..bytes));
        (self.found, self.closed, self.inside) = (None, 0, Inside::default());
    }

    /// How many bytes at the end may be the beginning of a mark.
    fn unfinished_mark(&self) -> usize {
        let held = self.held.as_str();
        let begun = held.trim_start();
        let may_be_whole = |template: &&Template| match template.open {
            _ if !template.is_whole => false,
            "" => is_bare(begun, self.tools).is_none(),
            open => open.starts_with(begun),
        };
        if !self.begun && self.templates.iter().any(may_be_whole) {
            return held.len();
        }
        let marks = || {
            let templates = self.templates.iter();
            templates
                .filter(|template| !template.is_whole)
                .map(|template| template.open)
        };
        let longest = marks().map(str::len).max().unwrap_or(0);
        let last = &held[held.floor_char_boundary(held.len().saturating_sub(longest))..];
        let is_begun =
            |end: &&str| marks().any(|mark| mark.len() > end.len() && mark.starts_with(*end));
        let mut ends = last.match_indices(MARK_BEGINS).map(|(at, _)| &last[at..]);
        ends.find(is_begun).map_or(0, str::len)
    }
}

/// What a text is that was held back.
enum Read {
    Calls(Vec<Written>),
    Cut,
    Text,
}

/// Where the call that a text begins with ends. One whose values do not end is over at the first mark behind
/// which another call stands, or nothing; once there was such a one, no other is searched to its end.
fn end_of(text: &str, template: &Template, is_broken: bool) -> Option<End> {
    let (open, close) = (template.open, template.close);
    let in_order = || Inside::default().find_end(text, (open, close), template.form, true);
    let end = if is_broken { None } else { in_order() };
    end.or_else(|| {
        let mut closes = text.match_indices(close).map(|(at, _)| at);
        let is_end = |at: &usize| {
            let after = text[at + close.len()..].trim_start();
            let tail = tail(after);
            after.starts_with(open) || matches!(tail, Some(Tail::Whole | Tail::Header))
        };
        let inside = closes.find(is_end)?;
        let whole = inside + close.len();
        Some(End { inside, whole })
    })
}

/// What may stand between a tool's name and its arguments where the mark before them is missing.
const BETWEEN: [&str; 3] = ["\n", "[ARGS]", "<|tool_call_argument_begin|>"];

/// Whether a text begins with a tool's name and its arguments; `None` while that is open.
fn is_bare(text: &str, tools: &[ToolSpec]) -> Option<bool> {
    const SPACE: &str = "functions.";
    let text = match text.strip_prefix(SPACE) {
        Some(text) => text,
        None if !text.is_empty() && SPACE.starts_with(text) => return None,
        None => text,
    };
    let of_tool = |tool: &ToolSpec| {
        let Some(after) = text.strip_prefix(&*tool.name) else {
            return (!tool.name.starts_with(text)).then_some(false);
        };
        let is_number = |char: char| char.is_ascii_digit() || " :\r".contains(char);
        let after = after.trim_start_matches(is_number);
        let Some(json) = BETWEEN.iter().find_map(|mark| after.strip_prefix(mark)) else {
            let is_begun = BETWEEN.iter().any(|mark| mark.starts_with(after));
            return (!is_begun).then_some(false);
        };
        let json = json.trim_start();
        (!json.is_empty()).then(|| json.starts_with('{'))
    };
    let all: Vec<_> = tools.iter().map(of_tool).collect();
    match all.contains(&Some(true)) {
        true => Some(true),
        false if all.contains(&None) => None,
        false => Some(false),
    }
}

/// What marks begin with that count anywhere in an answer.
const MARK_BEGINS: [char; 6] = ['<', '[', '{', '`', 'f', ']'];

/// Ends of templates of which a server took the beginning for its own.
const CLOSES: [&str; 5] = [
    "</tool_calls>",
    "</minimax:tool_call>",
    "</｜DSML｜function_calls>",
    "</｜DSML｜tool_calls>",
    "<｜tool▁calls▁end｜>",
];

/// What a model makes up as the result of its call.
const RESULT: &str = "<tool_response>";

/// Whether a text is what a template has behind an answer.
fn tail(text: &str) -> Option<Tail> {
    let mut text = text.trim_start();
    while let Some(rest) = CLOSES.iter().find_map(|close| text.strip_prefix(close)) {
        text = rest.trim_start();
    }
    if text.starts_with(RESULT) {
        return Some(Tail::Header);
    }
    let is_begun = |mark: &&str| mark.starts_with(text) && !text.is_empty();
    if CLOSES.iter().chain([&RESULT]).any(is_begun) {
        Some(Tail::Begun)
    } else {
        tokens::tail(text, [false; 2])
    }
}

/// A text without the tokens at its end.
fn without_tail(text: &str) -> &str {
    let text = text.trim();
    let mut places = text.match_indices(['<', '[']).map(|(at, _)| at);
    let end = places.find(|at| matches!(tail(&text[*at..]), Some(Tail::Whole | Tail::Header)));
    text[..end.unwrap_or(text.len())].trim_end()
}

#[cfg(test)]
mod tests;
