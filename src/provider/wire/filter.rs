//! Keeps back text that may be a written tool call until it is known whether it is one.
//!
//! A call counts when it ends the answer: what text follows is a quotation, and stays. Whose text is
//! looked at is decided by the caller; a page that such a model quotes at the end of its answer is the
//! price of serving models that cannot make calls. In code, or on a line that is marked as a quotation, it is
//! none.

use super::quote::Quotes;
use super::template::{self, Template};
use super::tokens::ENDS;
use super::written::{self, Form, Written};
use crate::chat::ToolSpec;

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
    /// Bytes of `held` in which the mark's end does not begin: a long text that comes in many small
    /// pieces is searched once.
    searched: usize,
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
    /// Calls.
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
            searched: 0,
            begun: false,
            quotes: Quotes::default(),
        }
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
        let closed = std::mem::take(&mut self.closed);
        let calls = found.filter(|_| !is_native);
        let calls = calls.and_then(|template| self.read(&held, template));
        let is_cut = !is_native
            && calls.is_none()
            && match found {
                Some(template) => self.is_begun(&held[closed..], template, is_short),
                None => is_short && self.ends_in_mark(&held),
            };
        match calls {
            Some(calls) => Rest {
                calls,
                ..Rest::default()
            },
            None if is_cut => Rest {
                is_cut,
                ..Rest::default()
            },
            None => Rest {
                text: held,
                ..Rest::default()
            },
        }
    }

    /// Whether a text is the beginning of a call rather than one that means nothing here.
    fn is_begun(&self, text: &str, template: &Template, is_short: bool) -> bool {
        let Some(inside) = text.trim_start().strip_prefix(template.open) else {
            return false;
        };
        if !template.close.is_empty() && inside.contains(template.close) {
            return false;
        }
        match template.is_whole {
            true => written::is_begun_with_name(text, self.tools),
            false => written::is_begun(inside, is_short, self.tools),
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
        if self.quotes.is_cited() || !may_follow(&self.held[open..], template, self.tools) {
            self.let_through(open, text);
            return true;
        }
        if template.close.is_empty() {
            return false;
        }
        let rest = self.held[self.closed..].trim_start();
        if self.closed > 0 && !rest.starts_with(template.open) {
            if template.open.starts_with(rest) || may_be_end(rest) {
                return false;
            }
            self.let_through(self.closed, text);
            return true;
        }
        let from = self.searched.max(self.held.len() - rest.len() + open);
        if let Some(end) = self.held[from..].find(template.close) {
            self.closed = from + end + template.close.len();
            self.searched = self.closed;
            return true;
        }
        let last = self.held.len().saturating_sub(template.close.len());
        self.searched = self.held.floor_char_boundary(last).max(from);
        false
    }

    /// Reads all calls that a text consists of.
    fn read(&self, text: &str, template: &Template) -> Option<Vec<Written>> {
        let (open, close) = (template.open, template.close);
        let mut calls = Vec::new();
        let mut rest = text.trim();
        while let Some(after) = rest.strip_prefix(open) {
            let (inside, after) = match close {
                "" => (without_tokens(after), ""),
                _ => after
                    .split_once(close)
                    .unwrap_or((without_tokens(after), "")),
            };
            // These marks are part of the call.
            let is_part = open == "<function=" || matches!(open, "{" | "[");
            let whole = format!("{open}{inside}{close}");
            let inside = if is_part { &whole } else { inside };
            calls.extend(written::read(inside, template.form, self.tools)?);
            rest = after.trim_start();
        }
        without_tokens(rest).is_empty().then_some(calls)
    }

    /// Lets through what stands before a mark, or before what may become one.
    fn find_mark(&mut self, text: &mut String) -> bool {
        if !self.held.contains(MARK_BEGINS) {
            self.let_through(self.held.len(), text);
            return false;
        }
        let white = self.held.len() - self.held.trim_start().len();
        let place = |template: &Template| match template.is_whole {
            true => (!self.begun && self.held[white..].starts_with(template.open)).then_some(white),
            false => self.held.find(template.open),
        };
        let places = self
            .templates
            .iter()
            .filter_map(|template| Some((place(template)?, *template)));
        // Of two that begin at the same place the longer mark is meant.
        let found =
            places.min_by_key(|(place, template)| (*place, usize::MAX - template.open.len()));
        let safe = match found {
            Some((start, _)) => start,
            None => self.held.len() - self.unfinished_mark(),
        };
        self.let_through(safe, text);
        self.found = found.map(|(_, template)| template);
        found.is_some()
    }

    fn let_through(&mut self, bytes: usize, text: &mut String) {
        let white = self.held[..bytes].trim_start().is_empty();
        self.begun |= !white;
        self.quotes.push(&self.held[..bytes]);
        text.extend(self.held.drain(..bytes));
        (self.found, self.closed, self.searched) = (None, 0, 0);
    }

    /// How many bytes at the end may be the beginning of a mark.
    fn unfinished_mark(&self) -> usize {
        let held = self.held.as_str();
        let longest = |template: &&Template| {
            let open = template.open;
            if template.is_whole {
                let begun = held.trim_start();
                let may_open = !self.begun && open.starts_with(begun);
                return may_open.then_some(held.len());
            }
            let mut lengths = (1..open.len())
                .rev()
                .filter(|length| open.is_char_boundary(*length));
            lengths.find(|length| held.ends_with(&open[..*length]))
        };
        self.templates.iter().filter_map(longest).max().unwrap_or(0)
    }
}

/// Whether a call may begin so behind its mark. Marks of words and signs that people write too are let
/// through when no call follows; JSON is.
fn may_follow(inside: &str, template: &Template, tools: &[ToolSpec]) -> bool {
    let is_common = matches!(
        template.open,
        "<tool_call>" | "<tool_calls>" | "<function=" | "functools" | "["
    );
    let inside = inside.trim_start();
    if !is_common || inside.is_empty() || inside.starts_with(['{', '<', '[']) {
        return true;
    }
    let end = inside.find(|char: char| !(char.is_alphanumeric() || "_-.".contains(char)));
    let is_begun = |tool: &ToolSpec| match end {
        Some(end) => inside[..end] == tool.name,
        None => tool.name.starts_with(inside),
    };
    (template.form != Form::Json) && tools.iter().any(is_begun)
}

/// What marks begin with.
const MARK_BEGINS: [char; 5] = ['<', '[', '{', '`', 'f'];

/// The ends of an answer, with that of Qwen's calls, of which the model left out the beginning.
fn ends() -> impl Iterator<Item = &'static str> {
    ENDS.into_iter().chain(["</tool_call>"])
}

fn without_tokens(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = ends().find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    text
}

/// Whether a text is nothing, or tokens of which the last one may be in the making.
fn may_be_end(mut text: &str) -> bool {
    while let Some(rest) = ends().find_map(|end| text.strip_prefix(end)) {
        text = rest.trim_start();
    }
    ends().any(|end| end.starts_with(text))
}

#[cfg(test)]
mod tests;
