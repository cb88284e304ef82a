//! Plans that the agent begins by itself: their person decides, and no one else can have one begun.

use std::fs;

use serde_json::json;

use super::jobs::{self, MINUTE};
use super::plans::{GOAL, Who, beginnings, counting, is_result, read, scene, steps, who};
use super::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, Request, Step, call, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

/// Why a plan does not begin.
const NOT_HERE: &str = "plans begin";

fn spawn() -> Step {
    call(
        "spawn",
        json!({"task": GOAL, "agent": "plan", "wait": true}),
    )
}

/// An agent that reads the skill of plans, and begins one.
fn begins(request: &Request) -> Step {
    let last = request.last_message();
    match (who(request), is_result(request)) {
        (Who::Planner, false) => steps(&[&[], &[1]]),
        (Who::Talk, _) if last.contains(r#"yes""#) => say("Yes to what?"),
        (Who::Talk, _)
            if last.contains("is being written") || last.contains("conversation has a plan") =>
        {
            say("The steps will be shown.")
        }
        (Who::Talk, _) if last.contains("# Plans") || last.contains("outcome unknown") => spawn(),
        (Who::Talk, _) => call("read_file", json!({"path": "skills/plan/SKILL.md"})),
        _ => counting(request),
    }
}

/// The plans that there are.
fn plans(home: &Home) -> usize {
    let folder = fs::read_dir(home.path().join("state/plans"));
    folder.map_or(0, Iterator::count)
}

/// Whether a tool has ever said so.
fn was_told(model: &Model, words: &str) -> bool {
    model.tool_results().iter().any(|it| it.contains(words))
}

#[test]
fn the_agent_begins_a_plan_and_its_person_starts_it() {
    // Even where plans that they ask for need no further word.
    let scene = scene(begins);
    let gateway = scene.start();
    scene.ana.says("look after the lake");
    scene.wait_for("The steps will be shown.");
    let shown = scene.wait_for_question("starts it");
    assert!(
        shown.text.contains(GOAL) && shown.text.contains("of 1M"),
        "{}",
        shown.text
    );
    read();
    // A word may be an answer to the agent.
    scene.ana.says("yes");
    scene.wait_for("Yes to what?");
    assert!(!beginnings(&scene).contains_key(&Who::Worker(1)));
    scene.ana.presses("Start");
    scene.wait_for("All of it is done.");
    scene.wait_for("The lake has 36 birds.");
    gateway.stop().ends_with(0);
    assert!(was_told(&scene.model, "a word to you does not"));
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    assert_eq!(log, "shore 1\nshore 2\n");
    assert_eq!(plans(&scene.home), 1);
}

#[test]
fn a_kill_while_the_agent_begins_a_plan_makes_no_second_one() {
    let scene = scene(begins);
    let cuts = scene.home.path().join("cuts");
    let start = || {
        let program = Program::new(&scene.home).arg("gateway");
        Gateway::of(program.env("PEACRAB_TEST_PLAN_CUTS", cuts.to_str().unwrap()))
    };
    let mut gateway = start();
    scene.ana.says("look after the lake");
    let is_shown = || {
        let texts = scene.texts();
        let has = |words: &str| texts.iter().any(|text| text.contains(words));
        has("starts it") && has("The steps will be shown.")
    };
    loop {
        wait_until("a kill, or the plan", || {
            !gateway.is_running() || is_shown()
        });
        if gateway.is_running() {
            break;
        }
        assert_eq!(gateway.finish().code, None, "it has ended itself");
        gateway = start();
    }
    gateway.stop().ends_with(0);
    let reached = fs::read_to_string(&cuts).unwrap();
    assert!(reached.starts_with("made\n"), "{reached}");
    // The agent did not know whether it had begun.
    assert!(was_told(&scene.model, "This conversation has a plan"));
    assert_eq!(plans(&scene.home), 1);
}

#[test]
fn no_report_and_no_worker_begins_a_plan() {
    let scene = scene(|request| {
        let last = request.last_message();
        match who(request) {
            Who::Worker(1) if last.contains("there is no tool") => say("Shore 1 has 1 bird."),
            Who::Worker(1) => spawn(),
            Who::Report => spawn(),
            Who::Talk if last.contains(NOT_HERE) => say("There were 36."),
            Who::Planner if !is_result(request) => steps(&[&[]]),
            _ => counting(request),
        }
    });
    let gateway = scene.start();
    scene.ana.says(&format!("/plan {GOAL}"));
    scene.wait_for("There were 36.");
    gateway.stop().ends_with(0);
    assert!(was_told(&scene.model, "there is no tool \"spawn\""));
    assert!(was_told(&scene.model, "in a turn that a person has begun"));
    assert_eq!(plans(&scene.home), 1);
}

#[test]
fn an_agent_named_plan_is_no_plan_where_it_may_be_given_no_tasks() {
    let mut scene = Scene::playing([spawn(), say("It may not.")]);
    scene.home.set("/agents/list", json!([{"id": "plan"}]));
    let gateway = scene.start();
    scene.ana.says("look after the lake");
    scene.wait_for("It may not.");
    gateway.stop().ends_with(0);
    assert!(was_told(&scene.model, "subagents.allowAgents"));
    assert_eq!(plans(&scene.home), 0);
}

#[test]
fn no_job_begins_a_plan() {
    let clock = Turned::at(jobs::START);
    let scene = jobs::scene(&clock, |request| match is_result(request) {
        true => say("Not here."),
        false => spawn(),
    });
    let payload = jobs::turn("look after the lake");
    let due = jobs::job(&clock, "lake", jobs::at(&clock, MINUTE), payload);
    jobs::write(&scene.home, &[due]);
    let gateway = scene.start();
    clock.forward(2 * MINUTE);
    scene.wait_for("Not here.");
    gateway.stop().ends_with(0);
    assert!(was_told(&scene.model, NOT_HERE));
    assert_eq!(plans(&scene.home), 0);
}

#[test]
fn no_guest_begins_a_plan() {
    let scene = Scene::answering(|request| match is_result(request) {
        true => say("Not for you."),
        false => spawn(),
    });
    let scene = scene
        .set("allowFrom", json!(["1001", "1003"]))
        .set("roles", json!({"1003": "guest"}));
    let cora = scene.telegram.person(1003, "Cora", None);
    let gateway = scene.start();
    cora.says("look after the lake");
    scene.wait_in(cora.chat(), "Not for you.");
    gateway.stop().ends_with(0);
    assert!(was_told(&scene.model, "there is no tool"));
    assert_eq!(plans(&scene.home), 0);
}

#[test]
fn at_the_terminal_no_plan_begins() {
    let model = Model::answering(|request| match is_result(request) {
        true => say("Not here."),
        false => spawn(),
    });
    let home = Home::with_model(&model);
    let said = Program::new(&home)
        .args(["agent", "-m", "look after the lake"])
        .run()
        .ends_with(0);
    assert_eq!(said.stdout.trim(), "Not here.");
    assert!(was_told(&model, NOT_HERE));
    assert_eq!(plans(&home), 0);
}
