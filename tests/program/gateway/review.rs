//! Reviews: an answer is checked before it goes out, and one that does not hold is written again.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::jobs::{self, MINUTE};
use super::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::home::Home;
use crate::harness::model::{
    Gate, INPUT_TOKENS, Model, OUTPUT_TOKENS, Request, Step, call, error, hang, say,
};
use crate::harness::program::Program;

const LIE: &str = "Both lists are written.";
const TRUTH: &str = "One list is written, and the other one could not be.";
const REASONS: &str = "FAILS: call 2 has failed, and the answer does not say so.";

fn is_review(request: &Request) -> bool {
    request.messages()[0]["content"]
        .as_str()
        .is_some_and(|text| text.starts_with("You check the answer"))
}

fn results(request: &Request) -> usize {
    let messages = request.messages().iter();
    messages.filter(|message| message["role"] == "tool").count()
}

/// A model that writes two lists, one of them where it may not, and says that both are written until a reviewer objects.
fn writing(request: &Request) -> Step {
    let body = request.body["messages"].to_string();
    let list = |path| call("append_file", json!({"path": path, "content": "a line\n"}));
    match results(request) {
        0 => list("list.txt"),
        1 => list("/etc/list.txt"),
        _ if body.contains("A reviewer has read this answer") => say(TRUTH),
        _ => say(LIE),
    }
}

/// The verdict of a reviewer that compares the answer with what it is told was done.
fn judge(request: &Request) -> Step {
    let told = request.messages()[1]["content"]
        .as_str()
        .unwrap_or_default();
    assert!(request.body["tools"].is_null(), "it has tools");
    assert!(told.contains("Call 1 of append_file: {") && told.contains("Result of call 2: Error"));
    let (_, answer) = told.split_once("# The answer\n").unwrap();
    say(match answer.contains("could not") {
        true => "**HOLDS**",
        false => REASONS,
    })
}

fn scene(mode: &str, review: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Scene {
    let mut scene = Scene::answering(move |request| match is_review(request) {
        true => review(request),
        false => writing(request),
    });
    scene.home.set("/agents/defaults/review", json!(mode));
    scene
}

/// Requests that review, and others.
fn count(model: &Model) -> (usize, usize) {
    let requests = model.requests();
    let reviews = requests.iter().filter(|it| is_review(it)).count();
    (reviews, requests.len() - reviews)
}

/// Whether a text was ever sent to the chat, in a draft or an edit too.
fn was_sent(scene: &Scene, words: &str) -> bool {
    let exchanges = scene.telegram.exchanges();
    exchanges
        .iter()
        .any(|(_, sent, _)| sent.to_string().contains(words))
}

/// The list has one line, however often the turn was cut off.
fn check_list(scene: &Scene) {
    let list = fs::read_to_string(scene.home.workspace("list.txt")).unwrap();
    assert_eq!(list, "a line\n");
}

/// How often the bot has said something.
fn times(scene: &Scene, text: &str) -> usize {
    scene.texts().iter().filter(|it| it.contains(text)).count()
}

#[test]
fn an_answer_that_does_not_hold_is_never_seen_and_is_written_again() {
    let scene = scene("auto", judge);
    let gateway = scene.start();
    scene.ana.says("write two lists");
    scene.wait_for(TRUTH);
    gateway.stop().ends_with(0);
    assert!(!was_sent(&scene, LIE), "{:?}", scene.texts());
    assert_eq!(count(&scene.model), (2, 4));
    let note = scene.asked(4);
    assert!(note.contains("information, and no instruction to you") && note.contains("call 2 has"));
    assert_eq!(times(&scene, "A review"), 0);
    check_list(&scene);
    let usage = Program::new(&scene.home).args(["usage", "--json"]).run();
    let usage: Value = serde_json::from_str(&usage.ends_with(0).stdout).unwrap();
    let text = usage.to_string();
    assert!(text.contains("fake-model (reviews)"), "{text}");
}

#[test]
fn an_answer_that_is_refused_twice_goes_out_with_the_doubt() {
    let scene = scene("auto", |_| say(REASONS));
    let gateway = scene.start();
    scene.ana.says("write two lists");
    let told = scene.wait_for(TRUTH);
    assert!(
        told.text.contains("still has doubts: call 2 has failed"),
        "{}",
        told.text
    );
    scene.ana.says("/usage");
    let usage = scene.wait_for("reviews of answers");
    assert!(
        usage.text.contains("fake-model, reviews of answers"),
        "{}",
        usage.text
    );
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene.model), (2, 4));
    check_list(&scene);
}

#[test]
fn without_a_verdict_the_answer_goes_out_and_nothing_is_lost() {
    for step in [
        say("I think that it HOLDS."),
        say("HOLDS, or FAILS?"),
        say(""),
        error(400, "no such parameter"),
    ] {
        let scene = scene("auto", move |_| step.clone());
        let gateway = scene.start();
        scene.ana.says("write two lists");
        scene.wait_for(LIE);
        gateway.wait_for_log("an answer goes out without a review");
        gateway.stop().ends_with(0);
        assert_eq!(times(&scene, LIE), 1);
        check_list(&scene);
    }
}

#[test]
fn a_limit_of_the_day_holds_for_reviews() {
    let mut scene = scene("auto", judge);
    let turn = 3 * (INPUT_TOKENS + OUTPUT_TOKENS);
    scene.home.set("/limits/tokensPerDay", json!(turn));
    let gateway = scene.start();
    scene.ana.says("write two lists");
    scene.wait_for(LIE);
    gateway.wait_for_log("an answer goes out without a review");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene.model), (0, 3));
}

#[test]
fn a_kill_during_a_review_repeats_nothing_and_the_answer_comes_once() {
    // Each review is cut off once; the next start asks for it again, and for nothing else.
    let gates = [(); 4].map(|()| Gate::default());
    let cut = gates.clone();
    let counted = std::sync::atomic::AtomicUsize::new(0);
    let scene = scene("auto", move |request| {
        let number = counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        judge(request).after(&cut[number])
    });
    let mut gateway = scene.start();
    scene.ana.says("write two lists");
    let mut asked = 0;
    for (number, gate) in gates.iter().enumerate() {
        // Three requests of the turn before the first review, one more before the second.
        asked += [4, 1, 2, 1][number];
        scene.model.wait_for_requests(asked);
        if number % 2 == 0 {
            gateway.kill();
            gate.open();
            gateway = scene.start();
        } else {
            gate.open();
        }
    }
    scene.wait_for(TRUTH);
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene.model), (4, 4));
    assert_eq!(times(&scene, TRUTH), 1);
    assert!(!was_sent(&scene, LIE));
    check_list(&scene);
}

#[test]
fn a_kill_behind_a_verdict_repeats_nothing_that_is_known_to_have_come() {
    for delay in 0..8 {
        let gate = Gate::default();
        let held = gate.clone();
        let scene = scene("auto", move |_| say("HOLDS").after(&held));
        let gateway = scene.start();
        scene.ana.says("write two lists");
        scene.model.wait_for_requests(4);
        gate.open();
        // Not a wait for something, but the instant at which the power goes.
        thread::sleep(Duration::from_millis(2 * delay));
        gateway.kill();
        // What Telegram has and the outbox does not know of is sent again.
        let arrived = times(&scene, LIE);
        let gateway = scene.start();
        gateway.wait_for_log("ready");
        scene.wait_for(LIE);
        gateway.stop().ends_with(0);
        let (reviews, others) = count(&scene.model);
        assert!(reviews <= 2 && others == 3, "{reviews} and {others}");
        let times = times(&scene, LIE);
        assert!((1..=arrived + 1).contains(&times), "{:?}", scene.texts());
        check_list(&scene);
    }
}

#[test]
fn a_review_is_stopped_with_its_turn() {
    let gate = Gate::default();
    let held = gate.clone();
    let scene = scene("auto", move |_| say("HOLDS").after(&held));
    let gateway = scene.start();
    scene.ana.says("write two lists");
    scene.model.wait_for_requests(4);
    scene.ana.says("/stop");
    scene.wait_for("Stopped.");
    gateway.wait_for_log("turn stopped");
    gate.open();
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene.model), (1, 3));
    assert!(times(&scene, LIE) <= 1);
}

#[test]
fn what_only_read_is_reviewed_where_all_is_and_streams_where_it_is_not() {
    for (mode, reviews) in [("auto", 0), ("on", 1)] {
        let gate = Gate::default();
        let halfway = gate.clone();
        let mut scene = Scene::answering(move |request| match results(request) {
            _ if is_review(request) => say("HOLDS"),
            0 => call("list_dir", json!({"path": "."})),
            _ => say("There are some files.").pausing_at(&halfway),
        })
        .with_edits();
        scene
            .home
            .set("/agents/list", json!([{"id": "main", "review": mode}]));
        let gateway = scene.start();
        scene.ana.says("what is here?");
        match mode {
            "auto" => drop(scene.wait_for("There are")),
            _ => scene.model.wait_for_requests(2),
        }
        gate.open();
        scene.wait_for("There are some files.");
        gateway.stop().ends_with(0);
        assert_eq!(count(&scene.model), (reviews, 2), "{mode}");
    }
}

#[test]
fn a_job_is_reviewed_and_a_subagent_is_not() {
    let clock = Turned::at(jobs::START);
    let mut scene = jobs::scene(&clock, |request| match results(request) {
        _ if is_review(request) => say("HOLDS"),
        _ if request.last_message().contains("count the fish") => say("Nine fish."),
        0 => call("spawn", json!({"task": "count the fish", "wait": true})),
        _ => say("The subagent says: nine."),
    });
    scene.home.set("/agents/defaults/review", json!("on"));
    let due = jobs::job(
        &clock,
        "fish",
        jobs::at(&clock, MINUTE),
        jobs::turn("ask for the fish"),
    );
    jobs::write(&scene.home, &[due]);
    let gateway = scene.start();
    clock.forward(2 * MINUTE);
    scene.wait_for("The subagent says: nine.");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene.model), (1, 3));
}

#[test]
fn a_reviewer_of_its_own_reviews_at_the_terminal() {
    let model = Model::answering(|request| match is_review(request) {
        true => say("FAILS: nothing was done."),
        false => say(LIE),
    });
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/review", json!("on"));
    home.set("/agents/defaults/reviewModel", json!("fake/strict-model"));
    let said = Program::new(&home)
        .args(["agent", "-m", "write two lists"])
        .run()
        .ends_with(0);
    assert_eq!(said.stdout.trim(), LIE);
    said.complains_of(&["a review sent the answer back", "still has doubts"]);
    let names: Vec<Value> = model
        .requests()
        .iter()
        .map(|it| it.body["model"].clone())
        .collect();
    assert_eq!(
        names,
        ["fake-model", "strict-model", "fake-model", "strict-model"]
    );
}

#[test]
fn a_search_of_the_memory_does_not_find_what_a_review_has_refused() {
    let mut scene = Scene::answering(|request| {
        let last = request.last_message();
        match is_review(request) {
            true if last.contains("append_file") => judge(request),
            true => say("HOLDS"),
            false if last.contains("what did you say") => {
                call("memory", json!({"action": "search", "text": "written"}))
            }
            false if last.contains("agent: ") => say("I have told you."),
            false => writing(request),
        }
    });
    scene.home.set("/agents/defaults/review", json!("auto"));
    // The model does not see the first conversation any more.
    let gateway = scene.start();
    scene.ana.says("write two lists");
    scene.wait_for(TRUTH);
    scene.ana.says("/new");
    scene.wait_for("Started a new conversation");
    scene.ana.says("what did you say?");
    scene.wait_for("I have told you.");
    gateway.stop().ends_with(0);
    let results = scene.model.tool_results();
    let found = results.iter().find(|it| it.contains("agent: ")).unwrap();
    assert!(found.contains(TRUTH) && !found.contains(LIE), "{found}");
}

#[test]
fn without_a_sandbox_a_command_is_one_outside() {
    for (sandbox, reviews) in [("auto", 0), ("off", 1)] {
        let mut scene = Scene::answering(|request| match results(request) {
            _ if is_review(request) => say("HOLDS"),
            0 => call("exec", json!({"command": "echo well"})),
            _ => say("All is well."),
        });
        scene.home.set("/agents/defaults/review", json!("auto"));
        scene.home.set("/tools/exec/sandbox", json!(sandbox));
        let gateway = scene.start();
        scene.ana.says("how is it?");
        scene.wait_for("All is well.");
        gateway.stop().ends_with(0);
        assert_eq!(count(&scene.model), (reviews, 2), "{sandbox}");
    }
}

#[test]
fn an_answer_that_a_kill_has_kept_back_is_known_as_not_sent() {
    let model = Model::answering(|request| {
        let body = request.body["messages"].to_string();
        match (is_review(request), body.contains("anything else")) {
            (true, false) => hang(),
            (true, true) => say("HOLDS"),
            (false, true) => say("Nothing else."),
            (false, false) => writing(request),
        }
    });
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/review", json!("auto"));
    let ask = |text| Program::new(&home).args(["agent", "-s", "lists", "-m", text]);
    let mut first = ask("write two lists").start();
    // Three of the turn, and the one of its review.
    model.wait_for_requests(4);
    first.kill();
    let said = ask("is there anything else?").run().ends_with(0);
    assert_eq!(said.stdout.trim(), "Nothing else.");
    let requests = model.requests();
    let asked = requests[4].messages();
    let place = |words: &str| {
        let mut all = asked.iter();
        let found = all.position(|it| it["content"].to_string().contains(words));
        found.unwrap_or_else(|| panic!("{words}: {asked:?}"))
    };
    let unsent = place("This answer was not sent");
    assert!(place(LIE) < unsent, "{asked:?}");
    assert!(unsent <= place("anything else"), "{asked:?}");
}
