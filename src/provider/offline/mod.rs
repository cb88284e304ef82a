//! The helper in the program: understands a small set of plain requests in English and Chinese and
//! turns them into the same tool calls as a model would. Pure.
//!
//! `template` matches a sentence, `phrases` has the sentences, `time` reads spans and clock times,
//! `wish` makes calls of what was understood, `say` has the helper's own words.

mod phrases;
mod say;
mod template;
mod time;
mod wish;

use crate::chat::{Entry, EntryKind, Reply, Request, ToolCall};
use say::Language;

/// Answers a request: with a tool's call, or with what the tools found, or with what it can do.
///
/// `nonce` makes the calls' ids different from those of other answers.
pub fn reply(request: &Request<'_>, nonce: u32) -> Reply {
    let spoken = last_words(request.entries);
    match results(request.entries).as_slice() {
        [] => understand(request, spoken, nonce),
        results => Reply {
            text: say::results(results, Language::of(spoken)),
            ..Reply::default()
        },
    }
}

/// What the person said last.
fn last_words<'a>(entries: &[&'a Entry]) -> &'a str {
    let is_person = |entry: &&&Entry| entry.kind == EntryKind::Person;
    let last = entries.iter().rfind(is_person);
    last.map_or("", |entry| entry.content.as_str())
}

/// The results at the end of the conversation; a note from the runtime may stand behind them.
fn results<'a>(entries: &[&'a Entry]) -> Vec<&'a Entry> {
    let is_end = |entry: &&Entry| matches!(entry.kind, EntryKind::Tool | EntryKind::Note);
    let begin = entries.iter().rposition(|entry| !is_end(entry));
    let end = &entries[begin.map_or(0, |last| last + 1)..];
    let is_result = |entry: &&&Entry| entry.kind == EntryKind::Tool;
    end.iter().filter(is_result).copied().collect()
}

/// The line of the runtime's facts that tells the time.
fn told_time<'a>(entries: &[&'a Entry]) -> Option<&'a str> {
    let running = &entries[super::wire::entries::running_turn(entries)..];
    let facts = running.iter().filter(|entry| entry.kind == EntryKind::Note);
    let mut lines = facts.flat_map(|entry| entry.content.lines());
    lines.find_map(|line| line.strip_prefix("Time: "))
}

fn understand(request: &Request<'_>, spoken: &str, nonce: u32) -> Reply {
    let language = Language::of(spoken);
    let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    let text = |text: String| Reply {
        text,
        ..Reply::default()
    };
    let wish = match wish::understand(spoken) {
        wish::Understood::Help => return text(say::help(&has, language)),
        wish::Understood::Time => return text(say::time(told_time(request.entries), language)),
        wish::Understood::Nothing => return text(say::not_understood(&has, language)),
        wish::Understood::Call(wish) => wish,
    };
    if !has(wish.tool) {
        return text(say::cannot(wish.tool, language));
    }
    let mut reply = text(String::new());
    reply.tool_calls.push(ToolCall {
        id: format!("call_{nonce:08x}_0"),
        name: wish.tool.to_owned(),
        arguments: wish.arguments.to_string(),
        signature: None,
    });
    reply
}

#[cfg(test)]
mod tests;
