//! What stands together in one batch: everything here is queued before the start, so that it comes in
//! the first answer of the long poll.

use std::fs;

use serde_json::json;

use super::scene::Scene;
use crate::harness::gate::Gate;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, call, hang, say};
use crate::harness::program::Program;
use crate::harness::telegram::{FOREVER, Fault, Media, Upload};
use crate::harness::wait_until;

/// What the person said before the batch.
const BEFORE: &str = "remember blue";

fn photo() -> Upload {
    Upload::new(Media::Photo, "", "jpeg")
}

fn document(name: &str) -> Upload {
    Upload::new(Media::Document, name, format!("content of {name}"))
}

/// What people have said, in a request to the model, the newest last. The runtime's notes are nobody's.
pub fn words(request: &Request) -> Vec<String> {
    let messages = request.messages().iter();
    let people = messages.filter(|message| message["role"] == "user");
    let texts = people.flat_map(|message| match message["content"].as_array() {
        Some(parts) => parts.iter().map(|part| &part["text"]).collect(),
        None => vec![&message["content"]],
    });
    let parts = texts.flat_map(|text| text.as_str().unwrap_or_default().split("\n\n"));
    let words = parts.filter(|part| !part.starts_with("[Runtime facts"));
    words.map(str::to_owned).collect()
}

/// A model's answer that says in which conversation it is asked, and what it has heard last.
fn recalling(request: &Request) -> String {
    let remembers = request.body["messages"].to_string().contains(BEFORE);
    let conversation = if remembers { "old" } else { "new" };
    let words = words(request).pop().unwrap_or_default();
    let first = words.lines().next().unwrap_or_default();
    format!("{first} in the {conversation} conversation")
}

/// The texts of the journal of Ana's conversation that people have said, oldest first; none while no
/// turn has begun. The program may be writing the last line of the journal meanwhile.
fn said(scene: &Scene) -> Vec<String> {
    let folder = fs::read_dir(scene.home.path().join("sessions"));
    let journals = folder
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let mut texts = Vec::new();
    for journal in journals {
        let lines = fs::read_to_string(journal).unwrap();
        for line in lines
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            if line["role"] == "user" {
                texts.push(line["content"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    texts
}

#[test]
fn what_finds_no_thread_begins_in_its_order_once_there_is_one_and_is_told_once() {
    let scene = Scene::answering(|_| say("Done."));
    let none = scene.home.path().join("no-threads");
    fs::write(&none, "").unwrap();
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_NO_THREADS", none.to_str().unwrap()));
    for text in ["one", "two", "/sh echo three >order", "/sh cat order"] {
        scene.ana.says(text);
    }
    scene.wait_for("I can't start on this yet");
    fs::remove_file(none).unwrap();
    scene.wait_for("Done.");
    scene.wait_for("\nthree");
    wait_until("both are answered", || said(&scene).len() == 2);
    gateway.stop().ends_with(0);
    assert_eq!(said(&scene), ["one", "two"]);
    let told = |text: &&String| text.contains("start on this yet");
    assert_eq!(scene.texts().iter().filter(told).count(), 1);
}

#[test]
fn a_message_between_commands_is_answered_in_the_right_conversation() {
    // In every order.
    for batch in [
        ["question", "/new", "/status"],
        ["question", "/status", "/new"],
        ["/new", "question", "/status"],
        ["/new", "/status", "question"],
        ["/status", "question", "/new"],
        ["/status", "/new", "question"],
    ] {
        let scene = Scene::answering(|request| say(&recalling(request)));
        let gateway = scene.start();
        scene.ana.says(BEFORE);
        scene.wait_for("in the old conversation");
        gateway.stop().ends_with(0);

        for text in batch {
            scene.ana.says(text);
        }
        let gateway = scene.start();
        let position = |wanted: &str| batch.iter().position(|text| *text == wanted);
        let conversation = match position("/new") < position("question") {
            true => "new",
            false => "old",
        };
        let answer = format!("question in the {conversation} conversation");
        scene.wait_for(&answer);
        scene.wait_for("Started a new conversation");
        scene.wait_for("Gateway");
        scene.ana.says("afterwards");
        scene.wait_for("afterwards in the new conversation");
        gateway.stop().ends_with(0);
        let texts = scene.texts();
        assert_eq!(texts.len(), 5, "{batch:?}: {texts:#?}");
        // What is remembered of the old conversation has requests of its own.
        let requests = scene.model.requests();
        let asked = requests
            .iter()
            .filter(|request| !request.is_consolidation());
        assert_eq!(asked.count(), 3, "{batch:?}");
    }
}

#[test]
fn an_album_comes_before_what_was_said_after_its_beginning() {
    for is_between in [false, true] {
        let scene = Scene::answering(|_| say("I see."));
        scene.ana.says("before it");
        scene
            .ana
            .sends_of_album("trip", photo().caption("the album"));
        if is_between {
            scene.ana.says("after it");
        }
        scene.ana.sends_of_album("trip", photo());
        if !is_between {
            scene.ana.says("after it");
        }
        scene.ana.sends(document("a.txt").caption("the file"));
        scene.ana.says("the end");
        // The files come slowly enough for the texts to overtake them.
        let gate = Gate::default();
        let held = Fault::HoldUntil(gate.clone());
        scene.telegram.fail_times("getFile", 1, held);
        let gateway = scene.start();
        scene.ana.says("/id");
        scene.wait_for("This chat:");
        gate.open();
        let is_last = |text: &String| text.starts_with("the end");
        wait_until("the last message", || said(&scene).iter().any(is_last));
        gateway.stop().ends_with(0);
        let said = said(&scene);
        let begins = ["before it", "the album", "after it", "the file", "the end"];
        assert_eq!(said.len(), begins.len(), "{said:#?}");
        for (text, begin) in said.iter().zip(begins) {
            assert!(text.starts_with(begin), "{said:#?}");
        }
        assert_eq!(said[1].matches("[photo: inbox/").count(), 2, "{said:#?}");
        assert_eq!(said[3].matches("[file: inbox/").count(), 1, "{said:#?}");
    }
}

#[test]
fn two_files_that_fail_in_turn_stop_nothing_and_come_in_the_end() {
    let scene = Scene::answering(|request| say(&format!("I have {}.", recalling(request))));
    let scene = scene.set(
        "allowFrom",
        json!(["1001", "1002", "1003", "1004", "1005", "2002"]),
    );
    let ben = scene.telegram.person(1002, "Ben", None);
    let files = ["a.txt", "b.txt"].map(|name| scene.ana.sends(document(name).caption(name)));
    for file in &files {
        scene.telegram.fail_download(file, 3, Fault::InternalError);
    }
    let gateway = scene.start();
    ben.says("hello");
    scene.wait_in(ben.chat(), "hello in the new conversation");
    for number in 1..=3 {
        ben.says(&format!("word {number}"));
        scene.wait_in(ben.chat(), &format!("word {number} in"));
    }
    scene.wait_for("I have");
    wait_until("the files", || said(&scene).len() == 6);
    gateway.stop().ends_with(0);
    let said = said(&scene);
    for name in ["a.txt", "b.txt"] {
        let of_file: Vec<_> = said.iter().filter(|text| text.starts_with(name)).collect();
        let [text] = of_file[..] else {
            panic!("{said:#?}");
        };
        assert!(text.contains("[file: inbox/"), "{text}");
    }
}

#[test]
fn a_stop_is_heard_while_files_do_not_come() {
    let scene = Scene::answering(|request| match request.last_message().contains("hello") {
        true => say("Hello."),
        false => hang(),
    });
    let scene = scene.set(
        "allowFrom",
        json!(["1001", "1002", "1003", "1004", "1005", "2002"]),
    );
    let ben = scene.telegram.person(1002, "Ben", None);
    let gate = Gate::default();
    let held = Fault::HoldUntil(gate.clone());
    scene.telegram.fail_times("getFile", FOREVER, held);
    for person in [&scene.ana, &ben] {
        for name in ["a.txt", "b.txt", "c.txt"] {
            person.sends(document(name));
        }
        person.says("what is in them?");
    }
    let gateway = scene.start();
    for person in [&scene.ana, &ben] {
        person.says("/stop");
        let told = "Stopped. 4 queued messages dropped.";
        scene.wait_in(person.chat(), told);
        person.says("hello");
        scene.wait_in(person.chat(), "Hello.");
    }
    gate.open();
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn what_is_said_during_a_long_turn_does_not_push_its_task_out() {
    let gate = Gate::default();
    let look = |number: usize| call("list_dir", json!({"path": format!("folder-{number}")}));
    let mut script: Vec<_> = (0..4).map(look).collect();
    script.push(look(4).after(&gate));
    script.extend([look(5), look(6), say("Both are done.")]);
    let mut scene = Scene::playing(script);
    let window = "/agents/defaults/memoryWindow";
    scene.home.set(window, json!(4));
    let gateway = scene.start();
    scene.ana.says("the long task");
    scene.model.wait_for_requests(5);
    scene.ana.says("and another thing");
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    gate.open();
    scene.wait_for("Both are done.");
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    for request in &requests[5..] {
        assert_eq!(words(request), ["the long task", "and another thing"]);
    }
}
