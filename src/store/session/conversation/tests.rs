//! Conversations that are made to fit, and stay in the form that every API takes.

use super::*;
use crate::base::chat::Role;
use proptest::prelude::*;

fn calls(ids: &[&str]) -> Entry {
    let mut entry = Entry::new(EntryKind::Assistant, "");
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

fn result(id: &str, text: &str) -> Entry {
    let mut entry = Entry::new(EntryKind::Tool, text);
    entry.tool_call_id = Some(id.to_owned());
    entry
}

fn person(text: &str) -> Entry {
    Entry::new(EntryKind::Person, text)
}

fn answer(text: &str) -> Entry {
    Entry::new(EntryKind::Assistant, text)
}

/// A conversation of turns.
fn conversation(turns: &[&[Entry]]) -> Conversation {
    let mut conversation = Conversation::default();
    for turn in turns {
        for (index, entry) in turn.iter().enumerate() {
            conversation.push(JournalEntry::new(entry.clone(), 0, index == 0));
        }
    }
    conversation
}

fn fitted(conversation: &mut Conversation, window: usize, budget: usize) -> Vec<String> {
    let facts = Entry::new(EntryKind::Note, "(facts)");
    let fitted = conversation.fit(window, budget, &facts);
    let text = |entry: &&Entry| match entry.tool_calls.len() {
        0 => entry
            .content
            .split([',', '\n'])
            .next()
            .unwrap_or_default()
            .to_owned(),
        number => format!("{number} calls"),
    };
    fitted.entries.iter().map(text).collect()
}

#[test]
fn whole_turns_leave_when_the_window_is_full_but_the_last_two_stay() {
    let old = [person("old"), answer("Old")];
    let turn = [person("a"), calls(&["1"]), result("1", "r"), answer("A")];
    let running = [person("b"), calls(&["2"]), result("2", "r")];
    let mut all = conversation(&[&old, &turn, &running]);
    assert_eq!(fitted(&mut all.clone(), 100, 10_000).len(), 10);
    let rest = ["a", "1 calls", "r", "A", "(facts)", "b", "1 calls", "r"];
    assert_eq!(fitted(&mut all.clone(), 1, 10_000), rest);
    assert_eq!(fitted(&mut all, 0, 10_000), rest);
}

#[test]
fn a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() {
    let odd = [
        result("0", "early"),
        answer("early"),
        person("a"),
        calls(&["1", "2"]),
        result("2", "second"),
        person("b"),
        result("9", "stray"),
        answer(""),
        calls(&["3"]),
    ];
    let mut all = conversation(&[&odd]);
    assert_eq!(all.unanswered()[0].id, "3");
    assert_eq!(
        fitted(&mut all, 100, 10_000),
        [
            "(facts)",
            "a",
            "2 calls",
            "second",
            "Error: interrupted",
            "b",
            "1 calls",
            "Error: interrupted"
        ]
    );
}

#[test]
fn a_turn_that_failed_is_marked_so_that_its_question_is_not_joined_to_the_next() {
    let failed = [person("a")];
    let failed_later = [person("b"), calls(&["1"]), result("1", "r")];
    let mut all = conversation(&[&failed, &failed_later, &[person("c")]]);
    assert_eq!(
        fitted(&mut all, 100, 10_000),
        ["a", NO_REPLY, "b", "1 calls", "r", NO_REPLY, "(facts)", "c"]
    );
}

#[test]
fn the_notes_of_a_turn_that_has_ended_do_not_pile_up() {
    let note = Entry::new(EntryKind::Note, "be brief");
    let empty = [person("a"), note.clone(), answer("A")];
    let cut = [person("b"), answer("B1"), note.clone(), answer("B2")];
    let running = [person("c"), note.clone(), note];
    let mut all = conversation(&[&empty, &cut, &running]);
    assert_eq!(
        fitted(&mut all, 100, 10_000),
        [
            "a", "A", "b", "B1", "be brief", "B2", "(facts)", "c", "be brief"
        ]
    );
}

#[test]
fn old_results_are_shortened_before_a_turn_is_left_out() {
    let long = "word ".repeat(1_000);
    let longer = long.repeat(2);
    let old = [
        person("a"),
        calls(&["1"]),
        result("1", &longer),
        answer("A"),
    ];
    let running = [
        person("b"),
        calls(&["2"]),
        result("2", &long),
        calls(&["3"]),
        result("3", &long),
    ];
    let size =
        |conversation: &Conversation, index: usize| conversation.entries[index].entry.content.len();
    let mut all = conversation(&[&old, &running]);
    all.fit(100, 4_000, &person("facts"));
    assert!(size(&all, 2) < 1_000, "the oldest result");
    assert_eq!((size(&all, 6), size(&all, 8)), (5_000, 5_000));
    let note = &all.entries[2].entry.content;
    assert!(note.contains("call the tool again"), "{note}");

    all.fit(100, 2_100, &person("facts"));
    assert!(size(&all, 6) < 1_000, "an older result of the running turn");
    assert_eq!((all.len(), size(&all, 8)), (9, 5_000));

    all.fit(100, 1_300, &person("facts"));
    assert_eq!((all.len(), size(&all, 4)), (5, 5_000), "the old turn");

    let fitted = all.fit(100, 700, &person("facts")).tokens;
    assert!(fitted < 700 && size(&all, 4) < 1_000, "the newest result");
    assert_eq!(all.entries[0].entry.content, "b");
    assert_eq!(all.fit(100, 10, &person("facts")).tokens, fitted);
}

#[test]
fn a_shortened_result_says_where_the_whole_is() {
    let long = "x".repeat(2_000);
    let text =
        format!("{long}\n[9 characters are left out here; the whole is in .results/a.txt]\n{long}");
    let mut entry = result("1", &text);
    shorten(&mut entry, false);
    assert!(
        entry
            .content
            .contains("here; the whole is in .results/a.txt]")
    );
    let short = entry.clone();
    shorten(&mut entry, false);
    assert_eq!(entry, short, "it is short now");
}

#[test]
fn long_arguments_of_calls_are_the_last_to_be_shortened() {
    let mut calling = calls(&["1"]);
    calling.tool_calls[0].arguments = format!(r#"{{"content":"{}"}}"#, "word ".repeat(2_000));
    let mut all = conversation(&[&[person("a"), calling, result("1", "done")]]);
    assert!(all.fit(100, 2_500, &person("facts")).tokens > 2_000);
    assert!(all.fit(100, 500, &person("facts")).tokens < 500);
    let arguments = &all.entries[1].entry.tool_calls[0].arguments;
    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
    assert!(arguments["cut"].as_str().unwrap().contains("bytes in all"));
}

#[test]
fn every_text_of_a_person_in_the_running_turn_stays_even_before_a_note() {
    let mut entries = vec![person("the task")];
    for _ in 0..20 {
        entries.extend([calls(&["1"]), result("1", &"x".repeat(2_000))]);
    }
    entries.extend([person("and quickly"), Entry::new(EntryKind::Note, "hm")]);
    let mut all = conversation(&[&[person("old"), answer("Old")], &entries]);
    let texts = fitted(&mut all, 4, 100);
    assert_eq!(texts[..2], ["(facts)", "the task"]);
    assert_eq!(texts[texts.len() - 2..], ["and quickly", "hm"]);
}

proptest! {
    #[test]
    fn whatever_was_journalled_the_request_is_in_form_and_the_task_is_in_it(
        kinds in proptest::collection::vec((0u8..5, 0u8..4, 0u8..3, 0usize..4_000), 1..60),
        window in 0usize..50,
        budget in 0usize..20_000,
    ) {
        let mut all = Conversation::default();
        let mut turn = Vec::new();
        for (kind, id, count, length) in kinds {
            let text = "word ".repeat(length / 5);
            let entry = match kind {
                0 | 1 => person(&format!("u{length}")),
                2 => calls(&["0", "1", "2"][..usize::from(count)]),
                3 => result(&id.to_string(), &text),
                _ => Entry::new(EntryKind::Note, "n"),
            };
            let begins_turn = kind == 0;
            if begins_turn {
                turn.clear();
            }
            if entry.kind == EntryKind::Person {
                turn.push(entry.content.clone());
            }
            all.push(JournalEntry::new(entry, 0, begins_turn));
        }
        let facts = Entry::new(EntryKind::Note, "facts");
        let before = all.weight.tokens;
        let fitted = all.fit(window, budget, &facts);
        prop_assert!(std::ptr::eq(fitted.entries[fitted.turn], &facts));
        let tokens: usize = fitted.entries.iter().map(|entry| tokens_of(entry)).sum();
        prop_assert_eq!(tokens - tokens_of(&facts), fitted.tokens);
        prop_assert!(fitted.tokens <= before + 60 * 100);
        let mut open: Vec<&str> = Vec::new();
        for (index, entry) in fitted.entries.iter().enumerate() {
            if let Some(id) = entry.tool_call_id.as_deref() {
                let index = open.iter().position(|call| *call == id);
                prop_assert!(index.is_some(), "a result without its call");
                open.remove(index.unwrap());
            } else {
                prop_assert!(open.is_empty(), "a call without its result");
                open = entry.tool_calls.iter().map(|call| call.id.as_str()).collect();
            }
            prop_assert!(index > 0 || entry.role() == Role::User);
        }
        prop_assert!(open.is_empty());
        let last = &fitted.entries[fitted.turn + 1..];
        let people = last.iter().filter(|entry| entry.kind == EntryKind::Person);
        let people: Vec<&str> = people.map(|entry| entry.content.as_str()).collect();
        prop_assert!(people.ends_with(&turn.iter().map(String::as_str).collect::<Vec<_>>()));
    }
}
