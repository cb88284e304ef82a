//! The part of a journal that may go to the model, and how it is made to fit. Pure.
//!
//! The entries always have the form that every API takes: the first one is a person's, results follow
//! their call, and each call has a result before the next text. Entries are shortened, left out or
//! marked in memory only; the journal keeps all of them.

use std::collections::VecDeque;

use crate::base::access::Role;
use crate::base::chat::{Entry, EntryKind, ToolCall, ToolResult};
use crate::base::limits::tokens::BYTES_PER_TOKEN;
use crate::base::message::Author;
use crate::base::tokens;
use crate::text::truncate_bytes;

use super::line::{cut_arguments, image_note};
use super::{HISTORY_BYTES, SUMMARY_BYTES};

/// Bytes from the beginning of a tool's result that stay when it is shortened.
const SHORT_HEAD_BYTES: usize = 400;
/// Bytes from its end that stay; the last lines of a command's output tell most.
const SHORT_TAIL_BYTES: usize = 200;
/// Bytes of a result or of a call's arguments below which shortening saves too little.
const SHORT_MIN_BYTES: usize = 1200;
/// Bytes that an image counts as in memory beside its entry; it is forgotten after its turn.
const IMAGE_WEIGHT: usize = 4500;
/// Tokens that an image counts as, however long its file is.
const IMAGE_TOKENS: usize = 1_500;
/// The part of the turns, of the results and of the window that leaves at a time when something has to:
/// a fourth. What is in front stays the same for many turns then, and providers cache it.
const STEP: usize = 4;

/// The result of a call whose own was never journalled.
pub const UNKNOWN_OUTCOME: &str = "Error: interrupted, outcome unknown. The call may or may not have taken effect; \
     it was not run again. Check before you repeat it.";

/// The result of a call that waited for an approval when the program ended.
pub const NOT_ALLOWED_YET: &str = "Error: not run. The program was restarted before a person had answered whether it may \
     run. Call it again if it is still wanted: they are asked again.";

/// The end of the agent's entry in a turn that the person stopped.
pub const STOPPED_NOTE: &str = "[stopped by the person]";

/// The result of a call whose turn was stopped by the person.
pub const STOPPED_OUTCOME: &str = "Error: stopped by the person before it ran.";

/// What stands, for the model, where an ended turn has no reply: else its question and the next one
/// would reach the model as one, and it would answer both. It is in no journal.
pub const NO_REPLY: &str = "[no reply was given to this: the turn failed]";

/// What introduces the summary of older turns to the model.
const SUMMARY_HEAD: &str =
    "[Summary of the earlier part of this conversation, which is no longer shown]\n";

/// An entry and its place in the journal.
#[derive(Clone, Debug)]
pub struct JournalEntry {
    /// The entry, possibly shortened.
    pub entry: Entry,
    /// The byte of the journal at which its line begins.
    pub offset: u64,
    /// Whether a turn begins with it.
    pub begins_turn: bool,
    /// Weighed once: a conversation is fitted at every step.
    weight: Weight,
}

/// About how much something is in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Weight {
    bytes: usize,
    tokens: usize,
}

impl Weight {
    fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.tokens += other.tokens;
    }

    fn subtract(&mut self, other: Self) {
        self.bytes = self.bytes.saturating_sub(other.bytes);
        self.tokens = self.tokens.saturating_sub(other.tokens);
    }
}

impl JournalEntry {
    /// An entry whose line begins at the byte `offset` of the journal.
    pub fn new(entry: Entry, offset: u64, begins_turn: bool) -> Self {
        Self {
            weight: weigh(&entry),
            entry,
            offset,
            begins_turn,
        }
    }
}

/// The entries that may go to the model, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    /// What was said before the first entry.
    summary: Option<Entry>,
    entries: VecDeque<JournalEntry>,
    /// All entries together.
    weight: Weight,
    /// Results before this place of the journal are shortened.
    shortened_to: u64,
}

/// What goes to the model.
#[derive(Debug)]
pub struct Fitted<'a> {
    /// The entries, with the runtime's facts among them.
    pub entries: Vec<&'a Entry>,
    /// Where the last turn begins: at the facts, which precede the person's text.
    pub turn: usize,
    /// About how many tokens the conversation is, with the summary and without the facts.
    pub tokens: usize,
}

impl Conversation {
    /// Begins one of which the results before a place of the journal come shortened.
    pub fn new(shortened_to: u64) -> Self {
        Self {
            shortened_to,
            ..Self::default()
        }
    }

    /// Results before this place of the journal are shortened.
    pub fn shortened_to(&self) -> u64 {
        self.shortened_to
    }

    /// The entries with their places.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &JournalEntry> + ExactSizeIterator {
        self.entries.iter()
    }

    /// What was said before the first entry, in short; an entry of the kind `Summary`.
    pub fn summary(&self) -> Option<&Entry> {
        self.summary.as_ref()
    }

    /// Takes another summary of what was said before the first entry.
    pub fn set_summary(&mut self, text: Option<String>) {
        let text = text.filter(|text| !text.trim().is_empty());
        self.summary = text.map(|mut text| {
            text.truncate(truncate_bytes(&text, SUMMARY_BYTES).len());
            text.insert_str(0, SUMMARY_HEAD);
            Entry::new(EntryKind::Summary, text)
        });
    }

    /// The text of the summary, without the words that introduce it.
    pub fn summary_text(&self) -> Option<&str> {
        let entry = self.summary.as_ref()?;
        entry.content.strip_prefix(SUMMARY_HEAD)
    }

    /// Leaves out the turns before a place of the journal.
    pub fn leave_out_before(&mut self, offset: u64) {
        let kept = self.entries.partition_point(|held| held.offset < offset);
        self.entries.drain(..kept);
        self.weigh();
    }

    /// The places where turns begin, oldest first, and about how many bytes each turn is.
    pub fn turn_places(&self) -> Vec<(u64, usize)> {
        let mut places: Vec<(u64, usize)> = Vec::new();
        for (index, held) in self.entries.iter().enumerate() {
            match places.last_mut().filter(|_| index > 0 && !held.begins_turn) {
                Some((_, bytes)) => *bytes += held.weight.bytes,
                None => places.push((held.offset, held.weight.bytes)),
            }
        }
        places
    }

    /// About how many tokens it is in a request, when the results of its tools are as short as
    /// [`fit`](Self::fit) makes them before turns have to leave.
    pub fn tokens_when_shortened(&self) -> usize {
        const SHORT: usize = SHORT_MIN_BYTES / BYTES_PER_TOKEN;
        let entries = self.entries.iter().map(|held| match held.entry.kind {
            EntryKind::Tool => held.weight.tokens.min(SHORT),
            _ => held.weight.tokens,
        });
        let summary = self.summary_text().map_or(0, tokens::estimate);
        entries.sum::<usize>() + summary
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of turns.
    pub fn count_turns(&self) -> usize {
        self.turns().count()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a message of a channel is among the entries.
    pub fn holds(&self, origin: &str) -> bool {
        let mut entries = self.entries.iter();
        !origin.is_empty() && entries.any(|held| held.entry.origin.as_deref() == Some(origin))
    }

    /// The id of the last message that an entry was made from.
    pub fn last_origin(&self) -> Option<&str> {
        let mut newest = self.entries.iter().rev();
        newest.find_map(|held| held.entry.origin.as_deref())
    }

    /// What the person may do whose message the last turn is about: the least of all that it has read.
    pub fn last_role(&self) -> Role {
        let turn = self.entries.iter().skip(self.last_turn());
        let roles = turn.map(|held| held.entry.person);
        roles.min().unwrap_or_default()
    }

    /// The people whose messages the last turn is about, as far as the journal names them.
    pub fn last_authors(&self) -> Vec<&Author> {
        let turn = self.entries.iter().skip(self.last_turn());
        let mut authors: Vec<&Author> = turn
            .filter_map(|held| held.entry.author.as_deref())
            .collect();
        authors.dedup();
        authors
    }

    /// The answer at the end that is being reviewed; `None` where the last entry is another.
    pub fn proposed(&self) -> Option<&str> {
        let last = self.entries.back().map(|held| &held.entry);
        last.filter(|entry| entry.is_proposed)
            .map(|entry| entry.content.as_str())
    }

    /// The entries before the last turn, and those of it.
    pub fn split_last_turn(&self) -> (Vec<&Entry>, Vec<&Entry>) {
        let mut before: Vec<&Entry> = self.entries.iter().map(|held| &held.entry).collect();
        let turn = before.split_off(self.last_turn());
        (before, turn)
    }

    /// Whether the last turn began with this message of a channel.
    pub fn last_turn_answers(&self, origin: &str) -> bool {
        let first = self.entries.get(self.last_turn());
        first.is_some_and(|held| held.entry.origin.as_deref() == Some(origin))
    }

    /// The entries of the turn that began with a message of a channel, or of the last turn for an empty id; none when it
    /// is not held.
    pub fn turn_of(&self, origin: &str) -> impl Iterator<Item = &Entry> {
        let answers = |index: &usize| {
            let first = self.entries.get(*index);
            first.is_some_and(|held| held.entry.origin.as_deref() == Some(origin))
        };
        let begin = match origin {
            "" => Some(self.last_turn()),
            _ => self.turns().rev().find(answers),
        };
        let begin = begin.unwrap_or(self.len());
        let entries = self.entries.iter().enumerate().skip(begin);
        entries
            .take_while(move |(index, held)| *index == begin || !held.begins_turn)
            .map(|(_, held)| &held.entry)
    }

    /// The calls at the end that have no result, in order.
    pub fn unanswered(&self) -> Vec<ToolCall> {
        self.open_calls().into_iter().cloned().collect()
    }

    fn open_calls(&self) -> Vec<&ToolCall> {
        let is_result = |held: &JournalEntry| held.entry.kind == EntryKind::Tool;
        let Some(last) = self.entries.iter().rposition(|held| !is_result(held)) else {
            return Vec::new();
        };
        let mut calls: Vec<_> = self.entries[last].entry.tool_calls.iter().collect();
        for held in self.entries.range(last + 1..) {
            let id = held.entry.tool_call_id.as_deref();
            if let Some(index) = calls.iter().position(|call| Some(call.id.as_str()) == id) {
                calls.remove(index);
            }
        }
        calls
    }

    /// Adds an entry, unless no API would take it: a result without its call, an empty reply, or anything
    /// before the first text of a person. Calls that have no result yet are answered as unknown first.
    pub fn push(&mut self, added: JournalEntry) {
        let entry = &added.entry;
        if added.begins_turn && entry.kind == EntryKind::Person {
            self.close_last_turn();
        }
        match entry.kind {
            EntryKind::Tool => {
                let id = entry.tool_call_id.as_deref();
                let mut open = self.open_calls().into_iter();
                if !open.any(|call| Some(call.id.as_str()) == id) {
                    return;
                }
            }
            EntryKind::Assistant if entry.content.is_empty() && entry.tool_calls.is_empty() => {
                return;
            }
            EntryKind::Assistant | EntryKind::Note if self.is_empty() => return,
            EntryKind::Note if self.ends_with(entry) => return,
            _ => self.answer_open_calls(),
        }
        self.hold(added);
        // However long a turn gets, memory is bounded.
        self.shrink(HISTORY_BYTES, |weight| weight.bytes);
    }

    fn hold(&mut self, added: JournalEntry) {
        self.weight.add(added.weight);
        self.entries.push_back(added);
    }

    /// Whether the last entry says the same.
    fn ends_with(&self, entry: &Entry) -> bool {
        let is_same = |held: &JournalEntry| {
            (held.entry.kind, &held.entry.content) == (entry.kind, &entry.content)
        };
        self.entries.back().is_some_and(is_same)
    }

    /// Marks the last turn if it has no reply, and leaves out the runtime's notes about replies that
    /// were empty or not taken: they were for that turn only, and would pile up. A note after a text
    /// stays, between the two parts of an answer.
    fn close_last_turn(&mut self) {
        self.answer_open_calls();
        let (turn, mut index, mut is_after_text) = (self.last_turn(), 0, false);
        self.entries.retain(|held| {
            let is_note = held.entry.kind == EntryKind::Note;
            let is_kept = index < turn || !is_note || is_after_text;
            is_after_text = is_reply(&held.entry);
            index += 1;
            is_kept
        });
        self.weigh();
        if let Some(last) = self.entries.back().filter(|last| !is_reply(&last.entry)) {
            self.hold(JournalEntry::new(
                Entry::new(EntryKind::Assistant, NO_REPLY),
                last.offset,
                false,
            ));
        }
    }

    fn answer_open_calls(&mut self) {
        let offset = self.entries.back().map_or(0, |held| held.offset);
        for call in self.unanswered() {
            let unknown = ToolResult::failed(UNKNOWN_OUTCOME);
            self.hold(JournalEntry::new(
                Entry::of_result(&call, unknown),
                offset,
                false,
            ));
        }
    }

    /// Forgets what only the running turn needs: reasoning, images, signatures.
    pub fn end_turn(&mut self) {
        for held in &mut self.entries {
            let entry = &mut held.entry;
            entry.reasoning = Vec::new();
            forget_images(entry);
            let calls = entry.tool_calls.iter_mut();
            calls.for_each(|call| call.signature = None);
            held.weight = weigh(&held.entry);
        }
        self.weigh();
    }

    /// The journal's line at `from` begins at `to` now, and so do the later ones behind it.
    pub fn moved(&mut self, from: u64, to: u64) {
        for held in &mut self.entries {
            held.offset = held.offset.saturating_sub(from) + to;
        }
        let shortened = self.shortened_to.checked_sub(from);
        self.shortened_to = shortened.map_or(0, |behind| behind + to);
    }

    /// Makes the conversation fit, and returns what goes to the model.
    ///
    /// When there are more than `turns` before the last one, the oldest are left out. When the entries are
    /// more than `budget` tokens, old results of tools are shortened, those of the last turn too, except
    /// the newest ones; then whole turns are left out, the oldest first; then the newest results and the
    /// calls of the last turn are shortened. The summary and the texts of people in the last turn are never
    /// changed. If it is still too long then, it is returned as it is.
    ///
    /// Each time, more leaves than needed, so that the next requests begin with the same bytes.
    pub fn fit<'a>(&'a mut self, turns: usize, budget: usize, facts: &'a Entry) -> Fitted<'a> {
        self.answer_open_calls();
        let count = self.turns().count();
        if count > turns + 1 {
            let kept = (turns - turns / STEP).max(1) + 1;
            (kept..count).for_each(|_| self.leave_out_oldest_turn());
        }
        let summary = self
            .summary
            .as_ref()
            .map_or(0, |summary| weigh(summary).tokens);
        self.shrink(budget.saturating_sub(summary), |weight| weight.tokens);
        let turn = self.last_turn();
        let mut entries: Vec<&Entry> = Vec::with_capacity(self.len() + 2);
        entries.extend(self.summary.iter());
        let turn = turn + entries.len();
        entries.extend(self.entries.iter().map(|held| &held.entry));
        entries.insert(turn, facts);
        Fitted {
            entries,
            turn,
            tokens: self.weight.tokens + summary,
        }
    }

    /// Shortens and leaves out until the size is at most `limit`, or nothing more can be left out.
    fn shrink(&mut self, limit: usize, size: fn(Weight) -> usize) {
        if size(self.weight) <= limit {
            return;
        }
        let goal = limit - limit / STEP;
        let turn = self.last_turn();
        let is_calling = |held: &JournalEntry| !held.entry.tool_calls.is_empty();
        let newest = self.entries.iter().rposition(is_calling);
        let newest = newest.unwrap_or(self.len()).max(turn);
        // Shortened results are small: what has to leave now makes room for long.
        self.shorten(0..turn, goal - limit / STEP, size, true);
        self.shorten(turn..newest, goal, size, false);
        // The turn before the last one stays if it can: people refer to it.
        while (size(self.weight) > limit && self.turns().nth(1).is_some())
            || (size(self.weight) > goal && self.turns().nth(2).is_some())
        {
            self.leave_out_oldest_turn();
        }
        let turn = self.last_turn();
        self.shorten(turn..self.len(), limit, size, false);
        self.shorten(turn..self.len(), limit, size, true);
    }

    /// Shortens results, and calls when `calls` says so, until the size is at most `goal`.
    fn shorten(
        &mut self,
        range: std::ops::Range<usize>,
        goal: usize,
        size: fn(Weight) -> usize,
        calls: bool,
    ) {
        for held in self.entries.range_mut(range) {
            if size(self.weight) <= goal {
                return;
            }
            if shorten(&mut held.entry, calls) {
                self.weight.subtract(held.weight);
                held.weight = weigh(&held.entry);
                self.weight.add(held.weight);
                self.shortened_to = self.shortened_to.max(held.offset + 1);
            }
        }
    }

    /// The indices where turns begin. The first entry counts as the beginning of one.
    fn turns(&self) -> impl DoubleEndedIterator<Item = usize> {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(index, held)| (index == 0 || held.begins_turn).then_some(index))
    }

    fn last_turn(&self) -> usize {
        self.turns().next_back().unwrap_or(0)
    }

    fn leave_out_oldest_turn(&mut self) {
        let second = self.turns().nth(1);
        if let Some(second) = second {
            self.entries.drain(..second);
            self.weigh();
        }
    }

    fn weigh(&mut self) {
        self.weight = Weight::default();
        for held in &self.entries {
            self.weight.add(held.weight);
        }
    }
}

/// Whether an entry is a reply of the model that calls no tools.
fn is_reply(entry: &Entry) -> bool {
    entry.kind == EntryKind::Assistant && entry.tool_calls.is_empty()
}

/// About how many bytes an entry is in a request.
pub(super) fn bytes_of(entry: &Entry) -> usize {
    /// Roles, ids and punctuation.
    const FRAME: usize = 60;
    let calls = entry.tool_calls.iter();
    let calls: usize = calls
        .map(|call| call.name.len() + call.arguments.len() + FRAME)
        .sum();
    entry.content.len() + calls + entry.sealed_bytes() + entry.images.len() * IMAGE_WEIGHT + FRAME
}

fn weigh(entry: &Entry) -> Weight {
    Weight {
        bytes: bytes_of(entry),
        tokens: tokens_of(entry),
    }
}

/// About how many tokens an entry is in a request.
pub fn tokens_of(entry: &Entry) -> usize {
    /// Roles and separators.
    const FRAME: usize = 5;
    /// The id of a call and of its result.
    const ID: usize = 12;
    /// Encrypted and in base64.
    const SEALED_BYTES_PER_TOKEN: usize = 6;
    let calls = entry.tool_calls.iter();
    let calls: usize = calls
        .map(|call| tokens::estimate(&call.name) + tokens::estimate(&call.arguments) + ID)
        .sum();
    let id = entry.tool_call_id.as_ref().map_or(0, |_| ID);
    let sealed = entry.sealed_bytes() / SEALED_BYTES_PER_TOKEN;
    let images = entry.images.len() * IMAGE_TOKENS;
    tokens::estimate(&entry.content) + calls + id + sealed + images + FRAME
}

/// Shortens a tool's result, or the arguments of calls when `calls` says so. Returns whether it did.
pub(super) fn shorten(entry: &mut Entry, calls: bool) -> bool {
    let mut is_shorter = false;
    if entry.kind == EntryKind::Tool {
        is_shorter = !entry.images.is_empty();
        forget_images(entry);
        if let Some(text) = shortened_result(entry) {
            entry.content = text;
            is_shorter = true;
        }
    }
    if calls {
        if entry.sealed_bytes() > SHORT_MIN_BYTES {
            entry.reasoning.clear();
            is_shorter = true;
        }
        for call in &mut entry.tool_calls {
            if call.arguments.len() > SHORT_MIN_BYTES {
                call.arguments = cut_arguments(&call.arguments, SHORT_HEAD_BYTES).into_owned();
                is_shorter = true;
            }
        }
    }
    is_shorter
}

/// Head and tail of a result with a note that says how to see the whole; `None` when it is short.
fn shortened_result(entry: &Entry) -> Option<String> {
    let text = &entry.content;
    if text.len() <= SHORT_MIN_BYTES {
        return None;
    }
    let head = truncate_bytes(text, SHORT_HEAD_BYTES);
    let tail = &text[text.ceil_char_boundary(text.len() - SHORT_TAIL_BYTES)..];
    let tool = entry.name.as_deref().unwrap_or("the tool");
    let tool = truncate_bytes(tool, SHORT_TAIL_BYTES);
    // A result that was long from the beginning names the file that has all of it.
    const WHOLE: &str = "the whole is in ";
    let file = text
        .split_once(WHOLE)
        .and_then(|(_, rest)| rest.split(['\n', ']']).next());
    let file = file.filter(|file| file.len() <= SHORT_TAIL_BYTES);
    let how = match file {
        Some(file) => format!("{WHOLE}{file}"),
        None => format!("to see the whole, call {tool} again if that does no harm"),
    };
    let left_out = text.len() - head.len() - tail.len();
    Some(format!(
        "{head}\n[shortened to save room: {left_out} bytes are left out here; {how}]\n{tail}"
    ))
}

/// Leaves the notes of images in their place.
fn forget_images(entry: &mut Entry) {
    for image in std::mem::take(&mut entry.images) {
        entry.content.push_str(&image_note(&image));
    }
}

#[cfg(test)]
mod tests;
