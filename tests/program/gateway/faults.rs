//! What goes wrong on Telegram's side, and how it is said.

use serde_json::json;

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::say;
use crate::harness::program::Program;
use crate::harness::telegram::Fault;

fn count(log: &str, words: &str) -> usize {
    log.matches(words).count()
}

#[test]
fn what_keeps_polling_from_working_is_said_once_and_polling_goes_on() {
    for (fault, words) in [
        (Fault::Unauthorized, "does not accept the bot's token"),
        (Fault::Conflict, "another program asks Telegram"),
        (Fault::ServerError, "in trouble"),
        (Fault::GarbageJson, "in trouble"),
        (Fault::Cut, "polling Telegram does not work"),
        (Fault::HugeBody(9 << 20), "polling Telegram does not work"),
    ] {
        let scene = Scene::playing([say("Here I am.")]);
        scene.telegram.fail_times("getUpdates", 3, fault.clone());
        let gateway = scene.start();
        scene.ana.says("are you there?");
        scene.wait_for("Here I am.");
        let log = gateway.stop().ends_with(0).stderr;
        assert_eq!(count(&log, words), 1, "{fault:?}: {log}");
        assert_eq!(
            count(&log, "polling Telegram does not work"),
            1,
            "{fault:?}: {log}"
        );
        assert_eq!(
            count(&log, "polling Telegram goes on"),
            1,
            "{fault:?}: {log}"
        );
    }
}

#[test]
fn updates_that_come_again_or_out_of_order_are_handled_once() {
    let scene = Scene::answering(|request| {
        let count = request
            .messages()
            .iter()
            .filter(|message| message["role"] == "user")
            .count();
        say(&format!("answer {count}"))
    });
    let gateway = scene.start();
    let first = scene.ana.says("/id one");
    scene.wait_for("telegram:1001");
    scene.telegram.repeat(first.update);
    scene.telegram.hold_updates();
    let later: Vec<_> = ["/sh echo two", "/sh echo three", "/sh echo four"]
        .map(|words| scene.ana.says(words))
        .into();
    scene.telegram.release_reversed();
    for words in ["two", "three", "four"] {
        scene.wait_for(words);
    }
    scene.telegram.repeat(later[1].update);
    let last = scene.ana.says("/sh echo last");
    scene.wait_for("last");
    scene.telegram.wait_for_offset(last.update);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 5, "{:?}", scene.texts());
}

#[test]
fn an_edit_of_what_nobody_has_read_counts_and_a_later_one_does_not() {
    let scene = Scene::playing([say("Hello.")]);
    let gateway = scene.start();
    let said = scene.ana.says("hello");
    scene.wait_for("Hello.");
    let edit = scene.ana.edits(&said, "hello, you");
    scene.telegram.wait_for_offset(edit);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["Hello."]);
}

#[test]
fn a_wrong_token_and_a_missing_one_say_what_to_do() {
    let mut scene = Scene::playing([]);
    scene.telegram.forgives("Unauthorized");
    scene
        .home
        .set("/channels/telegram/token", json!("4812345678:wrong"));
    let gateway = scene.start();
    gateway.wait_for_log("@BotFather");
    let log = gateway.stop().ends_with(0).stderr;
    assert!(!log.contains("4812345678:wrong"), "{log}");
    for (key, value, words) in [
        ("token", json!(""), "channels.telegram.token is empty"),
        ("enabled", json!(false), "no channel is enabled"),
    ] {
        scene.home.set(&format!("/channels/telegram/{key}"), value);
        let output = Program::new(&scene.home).arg("gateway").run();
        assert_ne!(output.code, Some(0));
        output.complains_of(&[words, "@BotFather"]);
    }
}

#[test]
fn a_second_gateway_of_the_same_home_does_not_start() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.telegram.wait_for_poll();
    let second = Gateway::start(&scene.home).finish();
    assert_ne!(second.code, Some(0));
    second.complains_of(&["runs already"]);
    gateway.stop().ends_with(0);
}
