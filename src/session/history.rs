//! Which entries go back to the model, and in which order. Pure.

use std::collections::VecDeque;

use crate::chat::{Entry, Role, ToolCall, ToolResult};

/// What stands in for a result that was never journalled.
pub const UNKNOWN_OUTCOME: &str = "Error: interrupted, outcome unknown. The call may or may not have taken effect; \
     it was not run again. Check before you repeat it.";

/// What answers a call whose turn was stopped by the person.
pub const STOPPED_OUTCOME: &str = "Error: stopped by the person before it ran.";

/// The calls that have no result among the entries after them, in order.
pub fn unanswered(entries: &VecDeque<Entry>) -> Vec<ToolCall> {
    let Some(last) = entries
        .iter()
        .rposition(|entry| entry.role == Role::Assistant)
    else {
        return Vec::new();
    };
    let answered = |call: &ToolCall| {
        entries
            .iter()
            .skip(last + 1)
            .any(|entry| entry.tool_call_id.as_deref() == Some(&call.id))
    };
    entries[last]
        .tool_calls
        .iter()
        .filter(|call| !answered(call))
        .cloned()
        .collect()
}

/// The newest entries that fit `budget` bytes and `window` entries, in the form that every API takes:
/// beginning with a person's entry, each result behind its call, each call with a result.
pub fn select(entries: &VecDeque<Entry>, window: usize, budget: usize) -> Vec<Entry> {
    let mut size = 0;
    let mut first = entries.len();
    while first > 0 && entries.len() - first < window {
        size += weight(&entries[first - 1]);
        if size > budget {
            break;
        }
        first -= 1;
    }
    // The newest message of a person goes along whatever its size: without it there is no question.
    let newest = entries.iter().rposition(|entry| entry.role == Role::User);
    let begin = (first..entries.len())
        .find(|index| entries[*index].role == Role::User)
        .or(newest);
    let Some(begin) = begin else {
        return Vec::new();
    };
    pair(entries.iter().skip(begin))
}

/// About how many bytes an entry is in a request.
pub fn weight(entry: &Entry) -> usize {
    /// Roles, ids and punctuation.
    const FRAME: usize = 60;
    let calls: usize = entry
        .tool_calls
        .iter()
        .map(|call| call.name.len() + call.arguments.len() + FRAME)
        .sum();
    entry.content.len() + calls + FRAME
}

/// Puts results behind their calls, fills missing ones in, and drops those whose call is not there.
fn pair<'a>(entries: impl Iterator<Item = &'a Entry>) -> Vec<Entry> {
    let mut paired: Vec<Entry> = Vec::new();
    let mut open: Vec<ToolCall> = Vec::new();
    for entry in entries {
        if entry.role == Role::Tool {
            let answers = |call: &ToolCall| entry.tool_call_id.as_deref() == Some(&call.id);
            if let Some(index) = open.iter().position(answers) {
                open.remove(index);
                paired.push(entry.clone());
            }
            continue;
        }
        fill(&mut paired, &mut open);
        if entry.role == Role::Assistant {
            if entry.content.is_empty() && entry.tool_calls.is_empty() {
                continue;
            }
            open.clone_from(&entry.tool_calls);
        }
        paired.push(entry.clone());
    }
    fill(&mut paired, &mut open);
    paired
}

fn fill(paired: &mut Vec<Entry>, open: &mut Vec<ToolCall>) {
    for call in open.drain(..) {
        let unknown = ToolResult {
            text: UNKNOWN_OUTCOME.to_owned(),
            failed: true,
            ..ToolResult::default()
        };
        paired.push(Entry::of_result(&call, &unknown));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn calls(ids: &[&str]) -> Entry {
        let mut entry = Entry::new(Role::Assistant, "");
        entry.tool_calls = ids
            .iter()
            .map(|id| ToolCall {
                id: (*id).to_owned(),
                name: "t".into(),
                arguments: "{}".into(),
                signature: None,
            })
            .collect();
        entry
    }

    fn result(id: &str) -> Entry {
        let mut entry = Entry::new(Role::Tool, format!("result {id}"));
        entry.tool_call_id = Some(id.to_owned());
        entry
    }

    fn user(text: &str) -> Entry {
        Entry::new(Role::User, text)
    }

    fn told(entries: &[Entry]) -> Vec<String> {
        entries
            .iter()
            .map(|entry| match entry.tool_calls.len() {
                0 => entry
                    .content
                    .split(',')
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
                number => format!("{number} calls"),
            })
            .collect()
    }

    #[test]
    fn it_begins_with_a_person_and_keeps_within_the_window() {
        let entries = VecDeque::from([
            user("a"),
            calls(&["1"]),
            result("1"),
            user("b"),
            Entry::new(Role::Assistant, "B"),
        ]);
        assert_eq!(
            told(&select(&entries, 100, 10_000)),
            ["a", "1 calls", "result 1", "b", "B"]
        );
        assert_eq!(told(&select(&entries, 4, 10_000)), ["b", "B"]);
        assert_eq!(told(&select(&entries, 100, 130)), ["b", "B"]);
        assert_eq!(
            told(&select(&entries, 1, 1)),
            ["b", "B"],
            "the question goes along, however small the window"
        );
    }

    #[test]
    fn a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() {
        let entries = VecDeque::from([
            user("a"),
            calls(&["1", "2"]),
            result("2"),
            user("b"),
            result("9"),
            calls(&["3"]),
        ]);
        assert_eq!(
            told(&select(&entries, 100, 10_000)),
            [
                "a",
                "2 calls",
                "result 2",
                "Error: interrupted",
                "b",
                "1 calls",
                "Error: interrupted"
            ]
        );
        assert_eq!(unanswered(&entries)[0].id, "3");
    }

    #[test]
    fn an_empty_answer_is_not_sent() {
        let entries = VecDeque::from([user("a"), Entry::new(Role::Assistant, ""), user("b")]);
        assert_eq!(told(&select(&entries, 100, 10_000)), ["a", "b"]);
    }

    proptest! {
        #[test]
        fn whatever_was_journalled_every_call_has_exactly_one_result_right_behind_it(
            kinds in proptest::collection::vec((0u8..3, 0u8..4, 0u8..3), 0..40),
            window in 0usize..50,
        ) {
            let entries: VecDeque<Entry> = kinds.iter().map(|(kind, id, count)| match kind {
                0 => user("u"),
                1 => calls(&["0", "1", "2"][..usize::from(*count)]),
                _ => result(&id.to_string()),
            }).collect();
            let selected = select(&entries, window, 100_000);
            prop_assert!(selected.first().is_none_or(|entry| entry.role == Role::User));
            let mut open: Vec<&str> = Vec::new();
            for entry in &selected {
                if let Some(id) = entry.tool_call_id.as_deref() {
                    let index = open.iter().position(|call| *call == id);
                    prop_assert!(index.is_some(), "a result without its call");
                    open.remove(index.unwrap());
                } else {
                    prop_assert!(open.is_empty(), "a call without its result");
                    open = entry.tool_calls.iter().map(|call| call.id.as_str()).collect();
                }
            }
            prop_assert!(open.is_empty());
        }
    }
}
