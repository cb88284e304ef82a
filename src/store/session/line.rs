//! One line of a journal, to and from JSON, in the form that nanobot reads. Pure.
//!
//! A line is either an entry (`role`, `content`, `timestamp`, …) or a state line
//! (`"_type":"metadata"`), of which the first names the session and later ones say what changed.

use std::borrow::Cow;
use std::fmt;

use chrono::{DateTime, FixedOffset};
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::base::chat::{CameTo, Entry, EntryKind, Image, Reasoning, Role, Sealed, ToolCall};
use crate::base::json;
use crate::base::limits::append_log::{CONTENT_BYTES, LINE_BYTES};
use crate::base::message::Author;
use crate::store::append_log::{cut, to_line};
use crate::text::truncate_bytes;

/// How a turn ended, in a state line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// With an answer.
    Answered,
    /// By a limit: steps, repeated calls, an answer that stayed empty.
    Bounded,
    /// By the person or a signal.
    Stopped,
    /// By an error.
    Failed,
    /// A value of a later version.
    #[serde(other)]
    Other,
}

/// Places of a journal, in bytes. Every end of a turn repeats them all: the newest line with marks is enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Entries before this place have been consolidated into the memory.
    pub remembered_to: u64,
    /// Where the last `/new` was; 0 when there was none.
    pub cleared_to: u64,
    /// Entries before this place do not go to the model.
    pub window_from: u64,
    /// Old results of tools before this place go to the model shortened.
    pub shortened_to: u64,
    /// The state line with the summary of what was said before the window.
    pub summary_at: Option<u64>,
}

impl Marks {
    /// The same marks when what began at the byte `from` begins at the byte `to` of a new journal. A
    /// summary before that is in the new journal's first line.
    pub fn moved(self, from: u64, to: u64) -> Self {
        let moved = |place: u64| match place.checked_sub(from) {
            Some(behind) if behind > 0 => behind + to,
            _ => 0,
        };
        Self {
            remembered_to: self.remembered_to.saturating_sub(from) + to,
            cleared_to: moved(self.cleared_to),
            window_from: moved(self.window_from),
            shortened_to: moved(self.shortened_to),
            summary_at: self
                .summary_at
                .map(|place| if place == from { to } else { moved(place) }),
        }
    }
}

/// A change of state, apart from entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The session's key, in the first line.
    pub key: Option<String>,
    /// When the session was made, RFC 3339, in the first line.
    pub created_at: Option<String>,
    /// The running turn has ended.
    pub turn: Option<TurnEnd>,
    /// Entries before this byte of the file no longer go to the model.
    pub consolidated_to: Option<u64>,
    /// What the turns before `consolidated_to` were about; without it a new conversation begins there.
    pub summary: Option<String>,
    /// All marks, once the journal has some.
    pub marks: Option<Marks>,
}

impl State {
    /// Whether a new conversation begins here, rather than that older turns have got a summary.
    pub fn begins_conversation(&self) -> bool {
        self.consolidated_to.is_some() && self.summary.is_none()
    }
}

/// A decoded line.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// Something was said.
    Entry(Entry),
    /// Something changed.
    State(State),
}

/// Encodes an entry as one line with its newline. Images' bytes, signatures and reasoning are left out,
/// except for the sealed reasoning of calls: a turn that was interrupted goes on with it. An image is
/// named by its path. What would make the line too long to be read again is cut.
pub fn encode_entry(entry: &Entry) -> Vec<u8> {
    let line = encode_within(entry, CONTENT_BYTES, usize::MAX);
    if line.len() <= LINE_BYTES {
        return line;
    }
    // A call has three texts, each as long as the model made it, and JSON can make six bytes of one.
    let share = CONTENT_BYTES / (3 + 3 * entry.tool_calls.len());
    encode_within(entry, share, share)
}

/// Encodes an entry with at most so many bytes of its content and of each text of a call.
fn encode_within(entry: &Entry, content_bytes: usize, call_bytes: usize) -> Vec<u8> {
    let mut content = Cow::Borrowed(entry.content.as_str());
    for image in &entry.images {
        content.to_mut().push_str(&image_note(image));
    }
    let content = cut(content, content_bytes);
    let calls = entry.tool_calls.iter();
    let tool_calls: Vec<WireCall> = calls.map(|call| WireCall::of(call, call_bytes)).collect();
    let id = entry.tool_call_id.as_deref();
    let is_saved = !tool_calls.is_empty() && entry.sealed_bytes() <= call_bytes.min(CONTENT_BYTES);
    to_line(&WireEntry {
        role: entry.role(),
        kind: match entry.kind {
            EntryKind::Note => Some(NOTE),
            EntryKind::Summary => Some(SUMMARY),
            _ => None,
        },
        content: &content,
        tool_calls: &tool_calls,
        sealed: entry.sealed().filter(|_| is_saved).collect(),
        tool_call_id: id.map(|id| truncate_bytes(id, call_bytes)),
        name: entry
            .name
            .as_deref()
            .map(|name| truncate_bytes(name, call_bytes)),
        came_to: entry.came_to,
        timestamp: entry.timestamp.map(|time| time.to_rfc3339()),
        origin: entry.origin.as_deref(),
        person: entry.person,
        author: entry.author.as_deref(),
        proposed: entry.is_proposed,
    })
}

/// The kinds of entries that their role does not tell, as a line names them.
const NOTE: &str = "note";
const SUMMARY: &str = "summary";

/// Cuts the arguments of a call to about so many bytes. The result is a JSON object again.
pub fn cut_arguments(arguments: &str, bytes: usize) -> Cow<'_, str> {
    match cut(Cow::Borrowed(arguments), bytes) {
        Cow::Borrowed(whole) => Cow::Borrowed(whole),
        Cow::Owned(cut) => Cow::Owned(serde_json::json!({ "cut": cut }).to_string()),
    }
}

/// The note that replaces an image in the saved history.
pub fn image_note(image: &Image) -> String {
    format!("\n[image] {}", image.path)
}

/// Encodes a state line with its newline.
pub fn encode_state(state: &State, timestamp: DateTime<FixedOffset>) -> Vec<u8> {
    to_line(&WireState {
        kind: "metadata",
        key: state.key.as_deref(),
        created_at: state.created_at.as_deref(),
        turn: state.turn,
        consolidated_to: state.consolidated_to,
        summary: state.summary.as_deref(),
        remembered_to: state.marks.map(|marks| marks.remembered_to),
        cleared_to: state.marks.map(|marks| marks.cleared_to).filter(is_set),
        window_from: state.marks.map(|marks| marks.window_from).filter(is_set),
        shortened_to: state.marks.map(|marks| marks.shortened_to).filter(is_set),
        summary_at: state.marks.and_then(|marks| marks.summary_at),
        timestamp: timestamp.to_rfc3339(),
    })
}

/// Whether a place is worth writing: the journal's beginning is what a reader assumes.
fn is_set(place: &u64) -> bool {
    *place > 0
}

/// Fills a line up with spaces before its newline, to so many bytes. JSON allows them.
pub fn padded(mut line: Vec<u8>, bytes: usize) -> Vec<u8> {
    if line.len() < bytes {
        line.pop();
        line.resize(bytes - 1, b' ');
        line.push(b'\n');
    }
    line
}

/// A line as it is written, with its newline, when what began at the byte `from` of the journal begins
/// at the byte `to` of a new one, not later. It keeps its length, so that all lines move alike.
pub fn moved(line: &[u8], from: u64, to: u64) -> Vec<u8> {
    let value = match decode(line) {
        Some(Line::State(state)) => move_places(line, &state, from, to),
        _ => None,
    };
    match value {
        Some(value) => padded(to_line(&value), line.len() + 1),
        None => [line, b"\n"].concat(),
    }
}

fn move_places(line: &[u8], state: &State, from: u64, to: u64) -> Option<serde_json::Value> {
    if state.consolidated_to.is_none() && state.marks.is_none() {
        return None;
    }
    let mut value: serde_json::Value = json::from_slice(line).ok()?;
    let members = value.as_object_mut()?;
    if let Some(place) = state.consolidated_to {
        let place = place.saturating_sub(from) + to;
        members.insert("consolidated_to".to_owned(), place.into());
    }
    if let Some(marks) = state.marks.map(|marks| marks.moved(from, to)) {
        let places = [
            ("remembered_to", marks.remembered_to),
            ("cleared_to", marks.cleared_to),
            ("window_from", marks.window_from),
            ("shortened_to", marks.shortened_to),
            ("summary_at", marks.summary_at.unwrap_or_default()),
        ];
        for (name, place) in places {
            // A place at the old beginning has no member, and needs none in the new journal.
            if let Some(member) = members.get_mut(name) {
                *member = place.into();
            }
        }
    }
    Some(value)
}

/// Decodes a line without its newline; `None` when it is not one of ours.
pub fn decode(line: &[u8]) -> Option<Line> {
    let wire: Wire = json::from_slice(line).ok()?;
    match (wire.kind.as_deref(), wire.role) {
        (Some(_), _) => Some(Line::State(State {
            key: wire.key,
            created_at: wire.created_at,
            turn: wire.turn,
            consolidated_to: wire.consolidated_to,
            summary: wire.summary,
            marks: wire.remembered_to.map(|remembered_to| Marks {
                remembered_to,
                cleared_to: wire.cleared_to.unwrap_or_default(),
                window_from: wire.window_from.unwrap_or_default(),
                shortened_to: wire.shortened_to.unwrap_or_default(),
                summary_at: wire.summary_at,
            }),
        })),
        (None, Some(role)) => Some(Line::Entry(Entry {
            kind: match wire.entry_kind.as_deref() {
                Some(NOTE) if role == Role::User => EntryKind::Note,
                Some(SUMMARY) if role == Role::User => EntryKind::Summary,
                _ => role.into(),
            },
            tool_calls: wire
                .tool_calls
                .unwrap_or_default()
                .into_iter()
                .map(call_of)
                .collect(),
            reasoning: wire
                .sealed
                .unwrap_or_default()
                .into_iter()
                .map(Reasoning::Sealed)
                .collect(),
            tool_call_id: wire.tool_call_id,
            name: wire.name,
            came_to: wire.came_to.unwrap_or_default(),
            timestamp: wire
                .timestamp
                .and_then(|time| DateTime::parse_from_rfc3339(&time).ok()),
            origin: wire.origin,
            person: wire.person.unwrap_or_default(),
            author: wire.author,
            is_proposed: wire.proposed,
            ..Entry::new(
                role.into(),
                wire.content.map(|content| content.0).unwrap_or_default(),
            )
        })),
        (None, None) => None,
    }
}

#[derive(Serialize)]
struct WireEntry<'a> {
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    content: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tool_calls: &'a [WireCall<'a>],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sealed: Vec<&'a Sealed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "CameTo::is_work")]
    came_to: CameTo,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a str>,
    #[serde(skip_serializing_if = "crate::base::access::Role::is_owner")]
    person: crate::base::access::Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<&'a Author>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    proposed: bool,
}

#[derive(Serialize, Deserialize)]
struct WireCall<'a> {
    id: Cow<'a, str>,
    #[serde(rename = "type", default)]
    kind: Cow<'a, str>,
    function: WireFunction<'a>,
}

#[derive(Serialize, Deserialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    #[serde(default)]
    arguments: Cow<'a, str>,
}

impl<'a> WireCall<'a> {
    fn of(call: &'a ToolCall, most: usize) -> Self {
        Self {
            id: Cow::Borrowed(truncate_bytes(&call.id, most)),
            kind: Cow::Borrowed("function"),
            function: WireFunction {
                name: Cow::Borrowed(truncate_bytes(&call.name, most)),
                arguments: cut_arguments(&call.arguments, most),
            },
        }
    }
}

fn call_of(wire: WireCall<'_>) -> ToolCall {
    ToolCall {
        id: wire.id.into_owned(),
        name: wire.function.name.into_owned(),
        arguments: wire.function.arguments.into_owned(),
        signature: None,
    }
}

#[derive(Serialize)]
struct WireState<'a> {
    #[serde(rename = "_type")]
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnEnd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consolidated_to: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remembered_to: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cleared_to: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    window_from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shortened_to: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_at: Option<u64>,
    timestamp: String,
}

/// Every member that a line can have, all optional: which kind it is shows afterwards.
#[derive(Deserialize)]
struct Wire {
    #[serde(rename = "_type")]
    kind: Option<String>,
    key: Option<String>,
    created_at: Option<String>,
    turn: Option<TurnEnd>,
    consolidated_to: Option<u64>,
    summary: Option<String>,
    remembered_to: Option<u64>,
    cleared_to: Option<u64>,
    window_from: Option<u64>,
    shortened_to: Option<u64>,
    summary_at: Option<u64>,
    role: Option<Role>,
    #[serde(rename = "kind")]
    entry_kind: Option<String>,
    content: Option<Content>,
    tool_calls: Option<Vec<WireCall<'static>>>,
    sealed: Option<Vec<Sealed>>,
    tool_call_id: Option<String>,
    name: Option<String>,
    came_to: Option<CameTo>,
    timestamp: Option<String>,
    origin: Option<String>,
    person: Option<crate::base::access::Role>,
    author: Option<Box<Author>>,
    #[serde(default)]
    proposed: bool,
}

/// Content: a string, or the parts in which nanobot keeps a message with images.
struct Content(String);

impl<'de> Deserialize<'de> for Content {
    // Derived for an untagged enum, this would keep each text in memory twice.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or an array of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Content, E> {
        Ok(Content(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content, A::Error> {
        let mut texts = Vec::new();
        while let Some(part) = parts.next_element::<Part>()? {
            texts.push(part.text.unwrap_or_else(|| "[image]".to_owned()));
        }
        Ok(Content(texts.join("\n")))
    }
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

#[cfg(test)]
mod tests;
