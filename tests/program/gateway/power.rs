//! Instants at which the power goes that are too short to be hit by chance: the files are made as
//! they are then.

use std::fs::{self, File};

use serde_json::Value;

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, say};
use crate::harness::telegram::Telegram;

#[test]
fn an_answer_that_waits_for_delivery_is_not_asked_for_again() {
    let gate = Gate::default();
    let model = Model::playing([say("Here it is.").after(&gate)]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("where is it?");
    model.wait_for_requests(1);
    telegram.go_offline();
    gate.open();
    gateway.wait_for_log("turn answered");
    gateway.kill();
    // The answer is in the outbox, and the end of the turn did not come to the disk.
    let outbox = fs::read_to_string(home.path().join("outbox.jsonl")).unwrap();
    let queued: Value = serde_json::from_str(outbox.lines().next().unwrap()).unwrap();
    let journal = home.path().join("sessions/telegram_1001.jsonl");
    let journal = File::options().write(true).open(journal).unwrap();
    journal
        .set_len(queued["closes"]["journal"].as_u64().unwrap())
        .unwrap();
    telegram.go_online();
    let gateway = Gateway::start(&home);
    telegram.wait_for_message(ana.chat(), |message| message.text == "Here it is.");
    gateway.stop().ends_with(0);
    assert_eq!(telegram.messages(ana.chat()).len(), 1);
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_message_that_is_answered_already_is_not_answered_again() {
    let model = Model::playing([say("Good morning.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("good morning");
    telegram.wait_for_message(ana.chat(), |message| message.text == "Good morning.");
    gateway.stop().ends_with(0);
    // The note that the session has the message is not forced to the disk, and is lost.
    let inbox = home.path().join("inbox.jsonl");
    let lines = fs::read_to_string(&inbox).unwrap();
    let kept = lines.lines().filter(|line| !line.contains("\"taken\""));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    assert_ne!(kept, lines);
    fs::write(&inbox, kept).unwrap();
    let gateway = Gateway::start(&home);
    ana.says("/id");
    telegram.wait_for_message(ana.chat(), |message| message.text.starts_with("This chat:"));
    gateway.stop().ends_with(0);
    assert_eq!(model.requests().len(), 1);
}
