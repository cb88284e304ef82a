//! Slow lines, and a watchdog that has to be fed meanwhile.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::order::words;
use super::scene::Scene;
use crate::harness::gate::Gate;
use crate::harness::line::Rate;
use crate::harness::model::{call, error, say};
use crate::harness::program::Program;
use crate::harness::systemd::Watchdog;
use crate::harness::telegram::{Media, Person, Upload};
use crate::harness::wait_until;

#[test]
fn a_model_on_a_slow_line_does_not_starve_the_watchdog() {
    let scene = Scene::playing([say(&"word ".repeat(400)).in_pieces(40)]);
    scene.model.set_rate(Rate::down(4_000));
    let (gateway, watchdog) = scene.start_with_watchdog(Duration::from_secs(4));
    watchdog.wait_for("READY=1");
    scene.ana.says("tell me");
    scene.wait_for(&"word ".repeat(399));
    watchdog.wait_for_meals(2);
    gateway.stop().ends_with(0);
    watchdog.wait_for("STOPPING=1");
    watchdog.assert_fed();
}

/// A worn card takes seconds for a sync: in a build for tests, the loop of the gateway ends the program with its first.
#[test]
fn a_sync_of_the_loop_that_serves_everybody_ends_a_build_for_tests() {
    let scene = Scene::playing([say("never asked")]);
    let program = Program::new(&scene.home).arg("gateway");
    let ended = program.env("PEACRAB_TEST_SYNC_ON_LOOP", "1").run();
    assert_eq!(ended.code, None, "{ended:#?}");
    ended.complains_of(&["the loop would wait for the disk"]);
}

/// The watchdog's time, of which each transfer here lasts several.
const EVERY: Duration = Duration::from_secs(4);
/// Bytes a second of a line from the country.
const SLOW: u32 = 40_000;
/// What takes such a line 14 seconds, and the kernel's buffers.
const LARGE: usize = 14 * SLOW as usize + 100_000;

/// Others are answered while Ana's file is on its way, and the watchdog is fed.
fn serve_during(scene: &Scene, ben: &Person, watchdog: &Watchdog) {
    for round in 1..=4 {
        ben.says(&format!("hello {round}?"));
        scene.wait_in(ben.chat(), &format!("Hello {round}."));
        watchdog.wait_for_meals(2 * round);
    }
}

/// A scene whose model answers Ben, and sends Ana a file that she asks for.
fn with_ben() -> (Scene, Person) {
    let scene = Scene::answering(|request| {
        let said = words(request).pop().unwrap_or_default();
        match said.strip_prefix("hello ") {
            Some(round) => say(&format!("Hello {}.", round.trim_end_matches('?'))),
            None if said == "send it" && !request.last_message().contains(r#""role":"tool""#) => {
                call(
                    "message",
                    json!({"content": "Here.", "media": ["film.bin"]}),
                )
            }
            None => say("That is all."),
        }
    });
    let scene = scene.set(
        "allowFrom",
        json!(["1001", "1002", "1003", "1004", "1005", "2002"]),
    );
    let ben = scene.telegram.person(1002, "Ben", None);
    (scene, ben)
}

fn large_file() -> Vec<u8> {
    (0..LARGE).map(|byte| (byte / 256) as u8).collect()
}

#[test]
fn a_large_file_goes_out_once_over_a_slow_line_and_the_watchdog_is_fed() {
    let (scene, ben) = with_ben();
    fs::write(scene.home.workspace("film.bin"), large_file()).unwrap();
    scene.telegram.set_rate_of("sendDocument", Rate::up(SLOW));
    let (gateway, watchdog) = scene.start_with_watchdog(EVERY);
    watchdog.wait_for("READY=1");
    scene.ana.says("send it");
    scene.telegram.wait_for_beginning("sendDocument", 1);
    serve_during(&scene, &ben, &watchdog);
    let meanwhile = scene.telegram.calls("sendDocument").len();
    assert_eq!(
        meanwhile, 0,
        "the upload was over before the others were served"
    );
    scene.wait_for("That is all.");
    gateway.stop().ends_with(0);
    watchdog.assert_fed();
    assert_eq!(scene.telegram.calls("sendDocument").len(), 1);
    let messages = scene.telegram.messages(scene.ana.chat());
    let file = messages.iter().find_map(|message| message.file.as_ref());
    assert!(*file.unwrap().bytes == large_file()[..]);
}

#[test]
fn a_large_file_comes_in_over_a_slow_line_and_the_watchdog_is_fed() {
    let (scene, ben) = with_ben();
    scene.telegram.set_rate_of("file", Rate::down(SLOW));
    scene
        .ana
        .sends(Upload::new(Media::Document, "film.bin", large_file()));
    scene.ana.says("what is it?");
    let (gateway, watchdog) = scene.start_with_watchdog(EVERY);
    watchdog.wait_for("READY=1");
    scene.telegram.wait_for_beginning("file", 1);
    serve_during(&scene, &ben, &watchdog);
    assert!(scene.texts().is_empty(), "{:?}", scene.texts());
    scene.wait_for("That is all.");
    gateway.stop().ends_with(0);
    watchdog.assert_fed();
    assert_eq!(scene.telegram.calls("file").len(), 1);
    let mut inbox = fs::read_dir(scene.home.workspace("inbox")).unwrap();
    let file = inbox.next().unwrap().unwrap().path();
    assert!(fs::read(file).unwrap() == large_file());
}

/// A model that refuses tools, and waits for the gate before it answers.
fn without_tools(gate: &Gate) -> Scene {
    let gate = gate.clone();
    Scene::answering(move |request| match request.body.get("tools") {
        Some(_) => error(400, "gemma3:1b does not support tools"),
        None => say("I can talk.").after(&gate),
    })
}

#[test]
fn a_chat_is_told_once_and_for_all_that_its_model_has_no_tools() {
    let gate = Gate::default();
    let scene = without_tools(&gate).set("allowFrom", json!(["1001", "1002"]));
    let ben = scene.telegram.person(1002, "Ben", None);
    let gateway = scene.start();
    let notices = |place| {
        let texts = scene.texts_in(place).into_iter();
        texts
            .filter(|text| text.contains("cannot use tools"))
            .count()
    };
    scene.ana.says("hello");
    scene.wait_for("fake/fake-model cannot use tools");
    gate.open();
    scene.wait_for("I can talk.");
    assert_eq!(notices(scene.ana.chat()), 1, "{:?}", scene.texts());
    scene.ana.says("and again");
    wait_until("a second answer", || {
        let answers = scene.texts().into_iter();
        answers.filter(|text| text == "I can talk.").count() == 2
    });
    ben.says("hello");
    scene.wait_in(ben.chat(), "cannot use tools");
    scene.wait_in(ben.chat(), "I can talk.");
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    scene.ana.says("once more");
    wait_until("a third answer", || {
        let answers = scene.texts().into_iter();
        answers.filter(|text| text == "I can talk.").count() == 3
    });
    assert_eq!((notices(scene.ana.chat()), notices(ben.chat())), (1, 1));
    gateway.stop().ends_with(0);
}
