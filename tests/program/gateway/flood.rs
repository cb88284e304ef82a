//! Somebody who does not stop to write.

use std::fs;

use serde_json::json;

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, hang, say};
use crate::harness::telegram::Telegram;

/// Messages of the flood.
const FLOOD: usize = 10_000;
/// Bytes by which the process may grow meanwhile: two full queues of messages, the batches on their way, and what the
/// allocator keeps of them: 0.9 to 1.1 MB, however long the flood is. All of its messages would take several times that.
const GROWTH: u64 = 3 * 512 * 1024;
/// Bytes of the file of what was accepted: it is written anew above 128 KiB, with a batch behind it.
const INBOX: u64 = 256 * 1024;

/// Messages of the flood that wait.
const WAITING: usize = 20;

/// How many messages a text of the bot's refuses, by name and by number.
fn refused(text: &str) -> Option<usize> {
    let names = text.strip_prefix("Not accepted: ")?;
    let (names, _) = names.split_once(". ")?;
    let (names, more) = names.split_once(" and ").unwrap_or((names, "0 more"));
    let more = more.strip_suffix(" more")?;
    Some(names.split(", ").count() + more.parse::<usize>().unwrap())
}

/// Bytes of memory that a process has for itself: pages of the program's file come and go with the machine's load.
fn anonymous(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes.unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_flood_neither_fills_the_memory_nor_keeps_others_from_being_served() {
    let model = Model::answering(|request| {
        let asked = request.last_message();
        if asked.contains("work") {
            hang()
        } else {
            say("Hello.")
        }
    });
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    home.set("/channels/telegram/allowFrom", json!(["1001", "1002"]));
    let ana = telegram.person(1001, "Ana", None);
    let ben = telegram.person(1002, "Ben", None);
    let gateway = Gateway::start(&home);
    // Whatever is made at the first use is there before the memory is looked at.
    ben.says("good morning");
    telegram.wait_for_message(ben.chat(), |message| message.text == "Hello.");
    ana.says("work");
    model.wait_for_requests(2);
    let before = anonymous(gateway.id());
    let flood = ana.floods(FLOOD);
    ben.says("are you there?");
    telegram.wait_for_message(ben.chat(), |message| {
        message.text == "Hello." && message.id > 2
    });
    telegram.wait_for_offset(flood.end - 1);
    let growth = anonymous(gateway.id()).saturating_sub(before);
    assert!(growth < GROWTH, "it has grown by {growth} bytes");
    let inbox = fs::metadata(home.path().join("inbox.jsonl")).unwrap().len();
    assert!(inbox < INBOX, "{inbox} bytes");
    ana.says("/stop");
    telegram.wait_for_message(ana.chat(), |message| {
        message.text == "Stopped. 1 reply cancelled, 20 queued messages dropped."
    });
    ana.says("hello again");
    telegram.wait_for_message(ana.chat(), |message| message.text == "Hello.");
    gateway.stop().ends_with(0);
    let texts = telegram.messages(ana.chat()).into_iter();
    let told: Vec<usize> = texts.filter_map(|message| refused(&message.text)).collect();
    // The first one at once, the others together when something has ended: a turn of Ben's, Ana's own.
    assert!((2..=4).contains(&told.len()) && told[0] == 1, "{told:?}");
    assert_eq!(told.iter().sum::<usize>(), FLOOD - WAITING);
}
