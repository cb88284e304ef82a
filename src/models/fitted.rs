//! Whatever a conversation was and however it was made to fit, each format takes it.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::quirks::Quirks;
use super::table::{Api, Format};
use super::wire::body::Target;
use super::wire::example::{TOOLS, call};
use crate::base::chat::{Entry, EntryKind, Request};
use crate::store::session::conversation::{Conversation, JournalEntry};

fn encode(entries: &[&Entry], stable: usize, (format, api): (Format, Api)) -> Value {
    let provider = match format {
        Format::Anthropic => "anthropic",
        _ => "openai",
    };
    let request = Request {
        system: "Be brief.",
        entries,
        stable,
        tools: &TOOLS,
        max_tokens: 100,
        thoughts_max: u32::MAX,
        temperature: None,
        reasoning_effort: None,
        stream: false,
        cache_key: None,
    };
    let extra_body = Map::new();
    let target = Target {
        model: "m",
        provider,
        quirks: Quirks::of_name(provider, format, "m"),
        extra_body: &extra_body,
    };
    let body = match (format, api) {
        (_, Api::Responses) => super::openai::responses::encode::encode(&request, &target),
        (Format::Anthropic, _) => super::anthropic::encode::encode(&request, &target),
        _ => super::openai::encode::encode(&request, &target),
    };
    crate::base::json::from_slice(&body.unwrap()).unwrap()
}

/// <https://developers.openai.com/api/reference/resources/responses>: a result has its call, and all calls
/// have their results before anything else.
fn check_responses(body: &Value) -> Result<(), TestCaseError> {
    let items = body["input"].as_array().unwrap();
    prop_assert_eq!(items[0]["role"].as_str(), Some("user"));
    let mut open: Vec<&Value> = Vec::new();
    for item in items {
        match item["type"].as_str() {
            Some("function_call") => open.push(&item["call_id"]),
            Some("function_call_output") => {
                let found = open.iter().position(|id| **id == item["call_id"]);
                prop_assert!(found.is_some(), "a result without its call");
                open.remove(found.unwrap());
            }
            _ => prop_assert!(open.is_empty(), "a call without its result"),
        }
    }
    prop_assert!(open.is_empty());
    Ok(())
}

fn ids(values: &[Value], path: &str) -> Vec<String> {
    let ids = values.iter().filter_map(|value| value.pointer(path));
    let mut ids: Vec<_> = ids.map(|id| id.as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// <https://platform.openai.com/docs/api-reference/chat/create>, and what strict templates of other
/// servers refuse: two messages of a person in a row.
fn check_openai(body: &Value) -> Result<(), TestCaseError> {
    let messages = body["messages"].as_array().unwrap();
    let role = |index: usize| {
        messages
            .get(index)
            .map_or("", |m| m["role"].as_str().unwrap())
    };
    prop_assert_eq!((role(0), role(1)), ("system", "user"));
    let mut index = 1;
    while index < messages.len() {
        let calls = messages[index]["tool_calls"].as_array();
        let results: Vec<_> = messages[index + 1..]
            .iter()
            .take_while(|m| m["role"] == "tool")
            .cloned()
            .collect();
        match calls {
            Some(calls) => prop_assert_eq!(ids(calls, "/id"), ids(&results, "/tool_call_id")),
            None => prop_assert!(results.is_empty(), "a result without its call"),
        }
        prop_assert!(
            role(index) != "user" || role(index + 1) != "user",
            "two of a person"
        );
        prop_assert!(role(index) != "system");
        index += 1 + results.len();
    }
    prop_assert!(["user", "tool"].contains(&role(messages.len() - 1)));
    Ok(())
}

/// <https://platform.claude.com/docs/en/api/messages>: roles alternate, and results come first in the
/// message after their calls.
fn check_anthropic(body: &Value) -> Result<(), TestCaseError> {
    let messages = body["messages"].as_array().unwrap();
    let mut open: Vec<String> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let expected = if index % 2 == 0 { "user" } else { "assistant" };
        prop_assert_eq!(message["role"].as_str().unwrap(), expected);
        let blocks = message["content"].as_array().unwrap();
        prop_assert!(!blocks.is_empty());
        let is_result = |block: &&Value| block["type"] == "tool_result";
        let results: Vec<_> = blocks.iter().take_while(is_result).cloned().collect();
        prop_assert_eq!(results.len(), blocks.iter().filter(is_result).count());
        prop_assert_eq!(ids(&results, "/tool_use_id"), open);
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        open = ids(&calls.cloned().collect::<Vec<_>>(), "/id");
    }
    prop_assert!(open.is_empty() && messages.len() % 2 == 1);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_cut_is_a_conversation_that_each_format_takes(
        kinds in proptest::collection::vec((0u8..7, 0usize..4, 0usize..3_000), 0..60),
        cuts in proptest::collection::vec((0usize..12, 0usize..8_000), 1..4),
        summary in proptest::option::of("[a-z ]{1,40}"),
        shortened_to in 0u64..60,
    ) {
        let mut conversation = Conversation::new(shortened_to);
        conversation.set_summary(summary);
        let mut number = 0;
        let mut last: Vec<(String, usize)> = Vec::new();
        let all = kinds.into_iter().chain([(0, 0, 20)]).enumerate();
        let mut task = String::new();
        for (index, (kind, count, length)) in all {
            let text = "word ".repeat(length / 5);
            let mut entry = match kind {
                0 | 1 => Entry::new(EntryKind::Person, format!("task {index} {text}")),
                2 | 3 => Entry::new(EntryKind::Assistant, if count == 0 { text.as_str() } else { "" }),
                4 | 5 => Entry::new(EntryKind::Tool, text.as_str()),
                _ => Entry::new(EntryKind::Note, "a note"),
            };
            if matches!(kind, 2 | 3) {
                last = (0..count).map(|offset| (format!("call_{}", number + offset), length)).collect();
                number += count;
                let arguments = format!("{{\"path\":\"{text}\"}}");
                entry.tool_calls = last.iter().map(|(id, _)| call(id, "read_file", &arguments)).collect();
            }
            if matches!(kind, 4 | 5) {
                // Sometimes the one that is asked for, sometimes a stray one.
                let id = last.pop().map_or("stray".to_owned(), |(id, _)| id);
                entry.tool_call_id = Some(id);
            }
            if kind == 0 {
                task.clone_from(&entry.content);
            }
            conversation.push(JournalEntry::new(entry, index as u64, kind == 0));
        }
        let facts = Entry::new(EntryKind::Note, "facts");
        for (turns, budget) in cuts {
            let fitted = conversation.fit(turns, budget, &facts);
            let encode = |format, api| encode(&fitted.entries, fitted.turn, (format, api));
            let openai = encode(Format::OpenAi, Api::Chat);
            check_openai(&openai)?;
            let anthropic = encode(Format::Anthropic, Api::Chat);
            check_anthropic(&anthropic)?;
            let responses = encode(Format::OpenAi, Api::Responses);
            check_responses(&responses)?;
            for body in [&openai, &anthropic, &responses] {
                prop_assert!(body.to_string().contains(task.trim_end()), "the task is in it");
            }
        }
    }
}
