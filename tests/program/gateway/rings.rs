//! What makes a phone ring: the end of long work, and what is written while it goes on. What is shown on the way
//! is silent.

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Gate, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

/// Whether each message that was sent makes no sound, with its text, oldest first.
fn sent(scene: &Scene) -> Vec<(String, bool)> {
    let calls: Vec<Value> = scene.telegram.calls("sendMessage");
    let of = |call: &Value| {
        let text = call["text"].as_str().unwrap_or_default().to_owned();
        (text, call["disable_notification"] == true)
    };
    calls.iter().map(of).collect()
}

fn is_silent(scene: &Scene, words: &str) -> bool {
    let all = sent(scene);
    let found = all.iter().find(|(text, _)| text.contains(words));
    found.unwrap_or_else(|| panic!("{words:?} in {all:?}")).1
}

#[test]
fn an_answer_that_is_shown_while_it_comes_is_silent_and_stays_one_message() {
    let gate = Gate::default();
    let scene = Scene::playing([say("Once upon a time.").pausing_at(&gate)]);
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    let draft = scene.wait_for("Once");
    gate.open();
    let answer = scene.wait_for("a time.");
    gateway.stop().ends_with(0);
    assert_eq!(answer.id, draft.id);
    assert!(is_silent(&scene, "Once"));
}

#[test]
fn an_answer_under_which_somebody_wrote_is_a_message_of_its_own() {
    let gate = Gate::default();
    let scene = Scene::playing([
        say("Once upon a time.").in_pieces(4).pausing_at(&gate),
        say("It goes on."),
    ]);
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    let draft = scene.wait_for("Once");
    let said = scene.ana.says("and then?");
    scene.telegram.wait_for_offset(said.update);
    gate.open();
    let answer = scene.wait_for("a time.");
    scene.wait_for("It goes on.");
    gateway.stop().ends_with(0);
    assert!(answer.id > said.message && answer.id != draft.id);
    assert!(!is_silent(&scene, "a time."), "{:?}", sent(&scene));
    assert_eq!(scene.texts(), ["Once upon a time.", "It goes on."]);
}

#[test]
fn only_the_first_part_of_a_long_answer_makes_a_sound() {
    let long = "A sentence of the answer. ".repeat(400);
    let scene = Scene::playing([say(&long)]).set("streaming", json!(false));
    let scene = scene.set("richMessages", json!("off"));
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_EVERY_TURN_IS_LONG", "1"));
    scene.ana.says("tell me everything");
    let parts = || {
        let all = sent(&scene);
        let parts = all
            .into_iter()
            .filter(|(text, _)| text.contains("A sentence"));
        parts.map(|(_, is_silent)| is_silent).collect::<Vec<_>>()
    };
    wait_until("all parts are there", || parts().len() == 3);
    gateway.stop().ends_with(0);
    assert_eq!(parts(), [false, true, true]);
}

#[test]
fn a_command_that_took_long_ends_with_a_message_of_its_own() {
    let scene = Scene::playing([]);
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_EVERY_TURN_IS_LONG", "1"));
    let file = scene.home.workspace("go");
    scene
        .ana
        .says("/sh echo begun; until [ -e go ]; do sleep 0.1; done; echo ended");
    let draft = scene.wait_for("\nbegun");
    std::fs::write(file, "").unwrap();
    let ended = scene.wait_for("\nended");
    gateway.stop().ends_with(0);
    assert_ne!(ended.id, draft.id);
    assert!(!is_silent(&scene, "\nended") && is_silent(&scene, "\nbegun"));
}

#[test]
fn a_stop_keeps_half_the_answer() {
    let gate = Gate::default();
    let scene = Scene::playing([
        say("Once upon a time there was a crab.").pausing_at(&gate),
        say("Something else."),
    ]);
    let scene = scene.with_edits();
    let gateway = scene.start();
    scene.ana.says("tell me a story");
    scene.wait_for("Once");
    scene.ana.says("/stop");
    let half = scene.wait_for("\n\nStopped.");
    assert!(half.text.starts_with("Once upon"), "{}", half.text);
    scene.wait_for("1 reply cancelled");
    scene.ana.says("and now?");
    scene.wait_for("Something else.");
    gateway.stop().ends_with(0);
    // The model knows what it had said.
    let asked = scene.model.requests()[1].body.to_string();
    assert!(asked.contains("Once upon"), "{asked}");
}

#[test]
fn a_question_comes_below_what_it_belongs_to_and_the_answer_below_the_question() {
    let arguments = json!({"command": "true", "escalate": true, "reason": "r"});
    let scene = Scene::playing([
        say("I restart it now.").and_call("exec", arguments),
        say("It runs again."),
    ]);
    let gateway = scene.start();
    scene.ana.says("repair it");
    let asked = scene.wait_for_question("Run this");
    let above = scene.wait_for("I restart it now.");
    assert!(above.id < asked.id);
    scene.ana.presses("Run once");
    scene.wait_for("✓ Allowed once by Ana");
    let answer = scene.wait_for("It runs again.");
    assert!(answer.id > asked.id);
    gateway.stop().ends_with(0);
}
