//! Networks that go and come back, and servers in trouble.

use serde_json::json;

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Request, Step, say};
use crate::harness::telegram::{Fault, Person, Telegram};

/// The model repeats what was said last.
fn echo(request: &Request) -> Step {
    let messages = request.messages();
    let content = messages
        .last()
        .and_then(|message| message["content"].as_str());
    let said = content.and_then(|content| content.lines().last());
    say(&format!("You said: {}", said.unwrap_or_default()))
}

fn texts(telegram: &Telegram, person: &Person) -> Vec<String> {
    let messages = telegram.messages(person.chat()).into_iter();
    messages.map(|message| message.text).collect()
}

fn count(log: &str, words: &str) -> usize {
    log.matches(words).count()
}

#[test]
fn without_a_network_at_the_start_it_is_said_once_and_people_are_heard_afterwards() {
    let model = Model::answering(echo);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    telegram.go_offline();
    let gateway = Gateway::start(&home);
    gateway.wait_for_log("failed to receive from Telegram: ");
    ana.says("are you there?");
    telegram.go_online();
    telegram.wait_for_message(ana.chat(), |message| {
        message.text.contains("are you there?")
    });
    let output = gateway.stop().ends_with(0);
    assert_eq!(count(&output.stderr, "failed to receive from Telegram"), 1);
    assert_eq!(count(&output.stderr, "can receive from Telegram again"), 1);
    assert_eq!(texts(&telegram, &ana), ["You said: are you there?"]);
}

#[test]
fn an_answer_that_meets_no_network_waits_and_comes_once_and_in_order() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::answering(move |request| echo(request).after(&held));
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("one");
    model.wait_for_requests(1);
    telegram.go_offline();
    gate.open();
    gateway.wait_for_log("failed to send to telegram: ");
    ana.says("two");
    telegram.go_online();
    telegram.wait_for_message(ana.chat(), |message| message.text == "You said: two");
    gateway.stop().ends_with(0);
    assert_eq!(texts(&telegram, &ana), ["You said: one", "You said: two"]);
}

#[test]
fn what_is_owed_when_the_program_ends_without_a_network_is_sent_after_the_next_start() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::answering(move |request| echo(request).after(&held));
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("one");
    model.wait_for_requests(1);
    telegram.go_offline();
    gate.open();
    gateway.wait_for_log("turn answered");
    let output = gateway.stop().ends_with(0);
    output.complains_of(&["stopped, 1 message left to send after the next start"]);
    telegram.go_online();
    let gateway = Gateway::start(&home);
    telegram.wait_for_message(ana.chat(), |message| message.text == "You said: one");
    gateway.stop().ends_with(0);
    assert_eq!(texts(&telegram, &ana).len(), 1);
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn servers_in_trouble_are_asked_again_until_they_have_done_it() {
    let model = Model::answering(echo);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    for method in ["getUpdates", "sendMessage"] {
        telegram.fail_next(method, Fault::ServerError);
        telegram.fail_next(method, Fault::GarbageJson);
        telegram.fail_next(method, Fault::Cut);
        telegram.fail_next(method, Fault::HugeBody(20_000_000));
    }
    ana.says("hello");
    let gateway = Gateway::start(&home);
    telegram.wait_for_message(ana.chat(), |message| message.text == "You said: hello");
    gateway.stop().ends_with(0);
    assert_eq!(texts(&telegram, &ana), ["You said: hello"]);
}

#[test]
fn while_sending_hangs_people_are_heard_all_the_same_and_an_end_is_an_end() {
    let model = Model::answering(echo);
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    home.set("/channels/telegram/allowFrom", json!(["1001", "1002"]));
    let ana = telegram.person(1001, "Ana", None);
    let ben = telegram.person(1002, "Ben", None);
    telegram.fail_next("sendMessage", Fault::Hang);
    let gateway = Gateway::start(&home);
    ana.says("one");
    telegram.wait_for_calls("sendMessage", 1);
    let said = ben.says("two");
    telegram.wait_for_offset(said.update);
    model.wait_for_requests(2);
    let output = gateway.stop().ends_with(0);
    output.complains_of(&["left to send after the next start"]);
    let gateway = Gateway::start(&home);
    telegram.wait_for_message(ana.chat(), |message| message.text == "You said: one");
    telegram.wait_for_message(ben.chat(), |message| message.text == "You said: two");
    gateway.stop().ends_with(0);
    assert_eq!(
        texts(&telegram, &ana).len() + texts(&telegram, &ben).len(),
        2
    );
}
