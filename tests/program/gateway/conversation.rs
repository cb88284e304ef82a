//! The daily use: a message, an answer, a tool, a command.

use serde_json::Value;

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, Request, error, say};
use crate::harness::program::Program;
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
fn a_typed_command_runs_without_any_model() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", Some("ana"));
    let gateway = Gateway::start(&home);
    ana.says("/sh echo $((6 * 7))");
    let answer = telegram.wait_for_message(ana.chat(), |message| message.text.contains("42"));
    assert_eq!(answer.html, "<pre>~ $ echo $((6 * 7))\n42</pre>");
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

/// The texts of a request's messages with their roles, in either wire format.
fn texts(request: &Request) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::Array(parts) => {
            let parts = parts.iter().filter_map(|part| part["text"].as_str());
            parts.collect::<Vec<_>>().join("\n\n")
        }
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let messages = request.messages().iter();
    messages
        .filter(|message| message["role"] != "system")
        .map(|message| {
            let role = message["role"].as_str().unwrap().to_owned();
            (role, text(&message["content"]))
        })
        .collect()
}

#[test]
fn a_failed_question_is_not_joined_to_the_next() {
    let homes: [fn(&Model) -> Home; 2] = [Home::with_model, Home::with_anthropic_model];
    for home in homes {
        let model = Model::playing([error(401, "Incorrect API key provided"), say("Blue.")]);
        let home = home(&model);
        let ask = |text: &str| {
            let program = Program::new(&home);
            program.args(["agent", "-s", "talk", "-m", text]).run()
        };
        ask("why is grass green?").ends_with(1);
        assert_eq!(
            ask("which colour has the sky?").ends_with(0).stdout,
            "Blue.\n"
        );
        let texts = texts(&model.requests()[1]);
        let roles: Vec<&str> = texts.iter().map(|(role, _)| role.as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user"], "{texts:?}");
        assert_eq!(texts[0].1, "why is grass green?");
        assert!(texts[1].1.contains("no reply was given"), "{texts:?}");
        assert!(
            texts[2].1.ends_with("which colour has the sky?"),
            "{texts:?}"
        );
        assert!(!texts[2].1.contains("grass"), "{texts:?}");
    }
}

#[test]
fn notes_about_empty_answers_do_not_pile_up() {
    let script = (0..3)
        .flat_map(|_| [say(""), say("")])
        .chain([say("At last.")]);
    let model = Model::playing(script.collect::<Vec<_>>());
    let home = Home::with_model(&model);
    for _ in 0..4 {
        let program = Program::new(&home);
        program.args(["agent", "-s", "talk", "-m", "hello?"]).run();
    }
    let notes: Vec<usize> = model
        .requests()
        .iter()
        .map(|request| {
            let texts = texts(request).into_iter();
            texts
                .filter(|(_, text)| text.contains("Your reply was empty"))
                .count()
        })
        .collect();
    assert_eq!(notes, [0, 1, 0, 1, 0, 1, 0]);
}
