//! Several people at once, and one person who speaks while the agent works.

use serde_json::json;

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, call, say};
use crate::harness::telegram::{Person, Telegram};

/// A home in which the people 1001 to 1003 may speak.
fn home_of_three(model: &Model, telegram: &Telegram) -> Home {
    let mut home = Home::with_telegram(model, telegram);
    let ids = json!(["1001", "1002", "1003"]);
    home.set("/channels/telegram/allowFrom", ids);
    home
}

/// Waits until everything that a person has said by now has been taken, by a command that is
/// answered at once.
fn wait_until_taken(telegram: &Telegram, person: &Person) {
    person.says("/id");
    telegram.wait_for_message(person.chat(), |message| {
        message.text.starts_with("This chat:")
    });
}

#[test]
fn two_people_are_served_at_the_same_time_and_a_third_waits() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::answering(move |_| say("Here you are.").after(&held));
    let telegram = Telegram::start();
    let home = home_of_three(&model, &telegram);
    let people = [(1001, "Ana"), (1002, "Ben"), (1003, "Cleo")];
    let [ana, ben, cleo] = people.map(|(id, name)| telegram.person(id, name, None));
    let gateway = Gateway::start(&home);
    ana.says("one");
    ben.says("two");
    // Neither is answered yet: both turns run.
    model.wait_for_requests(2);
    cleo.says("three");
    cleo.says("/status");
    telegram.wait_for_message(cleo.chat(), |message| {
        message.text.contains("2 active · 1 waiting")
    });
    assert_eq!(model.requests().len(), 2);
    gate.open();
    for person in [&ana, &ben, &cleo] {
        telegram.wait_for_message(person.chat(), |message| message.text == "Here you are.");
    }
    gateway.stop().ends_with(0);
}

#[test]
fn what_is_said_during_a_turn_is_heard_at_its_next_step() {
    let gate = Gate::default();
    let model = Model::playing([
        call("list_dir", json!({"path": "."})).after(&gate),
        say("Both are done."),
    ]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("the first thing");
    model.wait_for_requests(1);
    ana.says("and the second");
    wait_until_taken(&telegram, &ana);
    gate.open();
    telegram.wait_for_message(ana.chat(), |message| message.text == "Both are done.");
    gateway.stop().ends_with(0);
    let asked = model.requests();
    assert_eq!(asked.len(), 2);
    assert!(
        asked[1].body["messages"]
            .to_string()
            .contains("and the second")
    );
}

#[test]
fn whoever_says_too_much_at_once_is_told_what_is_refused_and_heard_again_later() {
    let gate = Gate::default();
    let held = gate.clone();
    let model = Model::answering(move |request| {
        let last = request.body["messages"].to_string();
        let answer = if last.contains("later") {
            "I listen."
        } else {
            "Done."
        };
        say(answer).after(&held)
    });
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("work");
    model.wait_for_requests(1);
    ana.floods(25);
    wait_until_taken(&telegram, &ana);
    gate.open();
    model.wait_for_requests(2);
    let asked = model.requests()[1].body["messages"].to_string();
    // What waits goes to the next turn together.
    assert!(
        asked.contains("flood 20") && !asked.contains("flood 21"),
        "{asked}"
    );
    ana.says("later");
    telegram.wait_for_message(ana.chat(), |message| message.text == "I listen.");
    gateway.stop().ends_with(0);
    let texts = telegram.messages(ana.chat()).into_iter();
    let told: Vec<String> = texts
        .map(|message| message.text)
        .filter(|text| text.starts_with("Not accepted"))
        .collect();
    // The first one at once, the others together.
    let why =
        "20 messages are already waiting here; /stop clears them. Please send it again later.";
    let rest = ["flood 22", "flood 23", "flood 24", "flood 25"].join(", ");
    assert_eq!(
        told,
        [
            format!("Not accepted: flood 21. {why}"),
            format!("Not accepted: {rest}. {why}"),
        ]
    );
}

#[test]
fn a_correction_counts_until_the_message_is_read() {
    let gate = Gate::default();
    let model = Model::playing([say("First.").after(&gate), say("Second.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    let first = ana.says("what is read");
    model.wait_for_requests(1);
    let second = ana.says("what has a tpyo");
    ana.edits(&second, "what has a typo");
    ana.edits(&first, "what comes too late");
    wait_until_taken(&telegram, &ana);
    gate.open();
    telegram.wait_for_message(ana.chat(), |message| message.text == "Second.");
    gateway.stop().ends_with(0);
    let asked = model.requests()[1].body["messages"].to_string();
    assert!(
        asked.contains("what is read") && asked.contains("what has a typo"),
        "{asked}"
    );
    assert!(
        !asked.contains("too late") && !asked.contains("tpyo"),
        "{asked}"
    );
}
