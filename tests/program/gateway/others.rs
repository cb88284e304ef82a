//! One chat in trouble, and the others: they are answered while its trouble lasts.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use super::scene::Scene;
use crate::harness::gate::Gate;
use crate::harness::model::{call, say};
use crate::harness::telegram::{Call, FOREVER, Fault, Person};
use crate::harness::wait_until;

/// A call without an answer is given up after 30 s, and not sooner.
const GIVEN_UP: Duration = Duration::from_secs(25);

const PEOPLE: [(i64, &str); 3] = [(1002, "Ben"), (1003, "Cleo"), (1004, "Dora")];

/// A scene in which Ana and three others may speak, and each hears the same.
fn of_four() -> (Scene, [Person; 3]) {
    let scene = Scene::answering(|request| {
        let said = request.body["messages"].to_string();
        match (said.contains("the file"), request.last_message()) {
            (true, last) if !last.contains(r#""role":"tool""#) => call(
                "message",
                json!({"content": "Here.", "media": ["film.bin"]}),
            ),
            _ => say("Here I am."),
        }
    });
    let scene = scene.set("allowFrom", json!(["1001", "1002", "1003", "1004"]));
    let people = PEOPLE.map(|(id, name)| scene.telegram.person(id, name, None));
    (scene, people)
}

/// Waits until something was tried in a person's chat, as the server has it on record.
fn wait_until_tried(scene: &Scene, person: &Person, method: &str) {
    let is_it = |call: &Call| call.method == method;
    wait_until(method, || {
        scene.telegram.record(person.chat()).iter().any(is_it)
    });
}

/// The others are answered, again and again, while Ana hears nothing.
fn others_are_served(scene: &Scene, others: &[Person]) {
    for round in 1..=3 {
        for person in others {
            person.says(&format!("hello {round}?"));
        }
        for person in others {
            let answers = || {
                let texts = scene.texts_in(person.chat()).into_iter();
                texts.filter(|text| text == "Here I am.").count()
            };
            wait_until("an answer", || answers() == round);
        }
    }
    let heard = scene.texts();
    assert!(!heard.contains(&"Here I am.".to_owned()), "{heard:#?}");
}

#[test]
fn a_chat_that_answers_with_errors_for_ever_delays_no_other() {
    let (scene, others) = of_four();
    scene
        .telegram
        .fail_in(scene.ana.chat(), FOREVER, Fault::InternalError);
    let gateway = scene.start();
    scene.ana.says("hello?");
    wait_until_tried(&scene, &scene.ana, "sendMessage");
    others_are_served(&scene, &others);
    scene.telegram.heal_in(scene.ana.chat());
    scene.wait_for("Here I am.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["Here I am."]);
}

#[test]
fn two_chats_that_hang_delay_no_other() {
    let (scene, [ben, cleo, dora]) = of_four();
    for person in [&scene.ana, &ben] {
        scene.telegram.fail_in(person.chat(), FOREVER, Fault::Hang);
    }
    let gateway = scene.start();
    let begun = Instant::now();
    for person in [&scene.ana, &ben] {
        person.says("hello?");
        // Whatever comes first: the sign at the message, "typing", or the answer.
        wait_until("a call", || {
            !scene.telegram.record(person.chat()).is_empty()
        });
    }
    others_are_served(&scene, &[cleo, dora]);
    // Nothing that hangs has been given up yet, unless the machine was slow.
    let is_early = begun.elapsed() < GIVEN_UP;
    for person in [&scene.ana, &ben] {
        let record = scene.telegram.record(person.chat());
        assert!(record.len() == 1 || !is_early, "{record:#?}");
    }
    gateway.stop().ends_with(0);
}

#[test]
fn a_long_upload_delays_no_other() {
    let (scene, others) = of_four();
    fs::write(scene.home.workspace("film.bin"), vec![7; 100_000]).unwrap();
    let gate = Gate::default();
    let held = Fault::HoldUntil(gate.clone());
    scene.telegram.fail_times("sendDocument", 1, held);
    let gateway = scene.start();
    scene.ana.says("send me the file");
    scene.telegram.wait_for_beginning("sendDocument", 1);
    others_are_served(&scene, &others);
    gate.open();
    scene.wait_for("Here I am.");
    gateway.stop().ends_with(0);
    let messages = scene.telegram.messages(scene.ana.chat());
    let files: Vec<_> = messages
        .iter()
        .filter_map(|message| message.file.as_ref())
        .collect();
    assert!(files.len() == 1 && *files[0].bytes == [7; 100_000]);
    // What was said after the file stands after it.
    assert_eq!(scene.texts(), ["Here.", "", "Here I am."]);
}
