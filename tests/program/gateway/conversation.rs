//! The daily use: a message, an answer, a tool, a command.

use serde_json::json;

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, call, say};
use crate::harness::telegram::Telegram;

#[test]
fn a_message_is_answered_and_the_outbox_is_empty_then() {
    let model = Model::playing([say("Good **morning**, Ana.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let gateway = Gateway::start(&home);
    ana.says("good morning");
    let answer = telegram.wait_for_message(ana.chat(), |message| message.text.contains("Ana"));
    assert_eq!(answer.text, "Good morning, Ana.");
    assert_eq!(answer.html, "Good <b>morning</b>, Ana.");
    gateway.stop().ends_with(0);
    let outbox = std::fs::read_to_string(home.path().join("outbox.jsonl")).unwrap();
    assert_eq!(outbox, "");
}

#[test]
fn a_tool_is_used_and_its_answer_takes_the_place_of_the_draft() {
    let model = Model::playing([
        call("list_dir", json!({"path": "."})),
        say("There is nothing here."),
    ]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let gateway = Gateway::start(&home);
    ana.says("what is here?");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("nothing here"));
    gateway.stop().ends_with(0);
    let texts: Vec<String> = telegram
        .messages(ana.chat())
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(texts, ["There is nothing here."]);
}

#[test]
fn a_typed_command_runs_without_any_model() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let gateway = Gateway::start(&home);
    ana.says("/sh echo $((6 * 7))");
    let answer = telegram.wait_for_message(ana.chat(), |message| message.text.contains("42"));
    assert_eq!(answer.html, "<pre>42</pre>");
    gateway.stop().ends_with(0);
}

#[test]
fn messages_one_after_the_other_reach_the_model_over_one_connection() {
    let model = Model::playing([say("one"), say("two"), say("three")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let gateway = Gateway::start(&home);
    for word in ["one", "two", "three"] {
        ana.says(word);
        telegram.wait_for_message(ana.chat(), |message| message.text == word);
    }
    gateway.stop().ends_with(0);
    assert_eq!(model.connections(), 1);
}
