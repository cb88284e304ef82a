//! Subagents: work that goes on beside the conversation, and comes back as a report.

use serde_json::json;

use super::scene::Scene;
use crate::harness::gate::Gate;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, Step, call, say};
use crate::harness::program::Program;

/// What the subagent is told, and what it reports.
const TASK: &str = "count the herons";
const REPORT: &str = "/sh echo seventeen herons";
/// How the report comes to the conversation.
const COMES: &str = "[This is the report of the subagent";

fn is_subagent(request: &Request) -> bool {
    request.body.to_string().contains("You are a subagent")
}

fn spawn(label: &str) -> Step {
    call("spawn", json!({"task": TASK, "label": label}))
}

/// The name of each tool of a request.
fn tools(request: &Request) -> Vec<String> {
    let tools = request.body["tools"].as_array().unwrap();
    let names = tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// A model that gives the task away, does it once the gate is open, and passes the report on.
fn delegating(gate: &Gate) -> impl Fn(&Request) -> Step + Send + Sync + 'static {
    let gate = gate.clone();
    move |request| {
        let last = request.last_message();
        match is_subagent(request) {
            true if last.contains(TASK) => call("list_dir", json!({"path": "."})).after(&gate),
            true => say(REPORT),
            false if last.contains(COMES) => say("The herons are seventeen."),
            false if last.contains("has begun") => say("I am counting."),
            false if last.contains("how are you") => say("Fine."),
            false if last.contains("run already") => say("Not now."),
            false => spawn("herons"),
        }
    }
}

#[test]
fn a_subagent_works_beside_the_conversation_and_its_report_comes_as_a_new_message() {
    let gate = Gate::default();
    let scene = Scene::answering(delegating(&gate));
    let gateway = scene.start();
    scene.ana.says("count them");
    scene.wait_for("I am counting.");
    // The conversation goes on meanwhile.
    scene.ana.says("how are you?");
    scene.wait_for("Fine.");
    scene.ana.says("/tasks");
    let listed = scene.wait_for("Running beside this conversation");
    assert!(listed.text.contains("herons: step 1"), "{}", listed.text);
    gate.open();
    scene.wait_for("The herons are seventeen.");
    gateway.stop().ends_with(0);
    // What a report says is never a command.
    assert!(!scene.texts().concat().contains("exit status"));
    let requests = scene.model.requests();
    let (of_task, of_talk): (Vec<&Request>, Vec<&Request>) =
        requests.iter().partition(|request| is_subagent(request));
    assert_eq!(of_task.len(), 2);
    assert!(!of_task[0].body.to_string().contains("count them"));
    let without = tools(of_task[0]);
    assert!(
        !without
            .iter()
            .any(|name| ["spawn", "message", "cron"].contains(&name.as_str()))
    );
    assert!(tools(of_talk[0]).contains(&"spawn".to_owned()));
    let asked = of_talk
        .iter()
        .filter(|request| request.last_message().contains(COMES));
    assert_eq!(asked.count(), 1);
    assert!(
        of_talk
            .last()
            .unwrap()
            .last_message()
            .contains("seventeen herons")
    );
}

#[test]
fn a_stop_ends_the_subagents_of_its_chat_and_no_others() {
    let gate = Gate::default();
    let scene = Scene::answering(delegating(&gate));
    let scene = scene.set("allowFrom", json!(["1001", "1002"]));
    let bob = scene.telegram.person(1002, "Bob", None);
    let gateway = scene.start();
    scene.ana.says("count them");
    scene.wait_for("I am counting.");
    bob.says("count them");
    scene.wait_in(bob.chat(), "I am counting.");
    scene.ana.says("once more");
    // There is room for two. What the model hears says so, and names them.
    scene.wait_for("Not now.");
    let refused = scene.model.requests().into_iter().any(|request| {
        request
            .last_message()
            .contains("2 subagents run already (here: herons)")
    });
    assert!(refused);
    scene.ana.says("/stop");
    scene.wait_for("1 subagent ended");
    scene.ana.says("/tasks");
    scene.wait_for("No subagent is running");
    gate.open();
    scene.wait_in(bob.chat(), "The herons are seventeen.");
    gateway.stop().ends_with(0);
}

#[test]
fn reports_do_not_start_subagents_without_end() {
    let scene = Scene::answering(|request| {
        let last = request.last_message();
        match is_subagent(request) {
            true => say(REPORT),
            false if last.contains("starts no subagents") => say("I leave it at that."),
            false if last.contains("has begun") => say("I am counting."),
            false => spawn("again"),
        }
    });
    let gateway = scene.start();
    scene.ana.says("count them");
    scene.wait_for("I leave it at that.");
    gateway.stop().ends_with(0);
    let tasks = scene.model.requests();
    assert_eq!(
        tasks.iter().filter(|request| is_subagent(request)).count(),
        1
    );
}

#[test]
fn a_subagent_asks_in_its_chat_and_is_allowed_once_only() {
    let scene = Scene::answering(|request| {
        let last = request.last_message();
        match is_subagent(request) {
            true if last.contains(TASK) => call(
                "exec",
                json!({"command": "id -u", "escalate": true, "reason": "to see"}),
            ),
            true => say(REPORT),
            false if last.contains(COMES) => say("The herons are seventeen."),
            false if last.contains("has begun") => say("I am counting."),
            false => spawn("herons"),
        }
    });
    let gateway = scene.start();
    scene.ana.says("count them");
    let asked = scene.wait_for("id -u");
    assert!(!format!("{asked:?}").contains("Always"), "{asked:?}");
    scene.ana.presses("Run once");
    scene.wait_for("The herons are seventeen.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_task_survives_a_kill_and_is_reported_once() {
    let gate = Gate::default();
    let scene = Scene::answering(delegating(&gate));
    let gateway = scene.start();
    scene.ana.says("count them");
    scene.wait_for("I am counting.");
    scene.model.wait_for_requests(3);
    gateway.kill();
    gate.open();
    let gateway = scene.start();
    scene.wait_for("The herons are seventeen.");
    gateway.stop().ends_with(0);
    // And again: nothing is left of it.
    let count = scene.model.requests().len();
    let gateway = scene.start();
    scene.ana.says("/tasks");
    scene.wait_for("No subagent is running");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), count);
    let reports = scene
        .texts()
        .into_iter()
        .filter(|text| text.contains("seventeen"));
    assert_eq!(reports.count(), 1);
}

#[test]
fn a_power_cut_around_the_report_loses_and_repeats_nothing() {
    for cut in ["task ended", "task reported"] {
        let gate = Gate::default();
        gate.open();
        let scene = Scene::answering(delegating(&gate));
        let program = Program::new(&scene.home).arg("gateway");
        let gateway = Gateway::of(program.env("PEACRAB_TEST_JOB_CUT", cut));
        scene.ana.says("count them");
        assert_eq!(gateway.finish().code, None, "{cut}");
        let gateway = scene.start();
        scene.wait_for("The herons are seventeen.");
        scene.ana.says("/tasks");
        scene.wait_for("No subagent is running");
        gateway.stop().ends_with(0);
        let requests = scene.model.requests();
        let reports = requests
            .iter()
            .filter(|request| request.last_message().contains(COMES));
        assert_eq!(reports.count(), 1, "{cut}");
        let of_task = requests.iter().filter(|request| is_subagent(request));
        assert_eq!(of_task.count(), 2, "{cut}");
    }
}

#[test]
fn a_report_that_is_waited_for_is_the_result_of_the_call() {
    let scene = Scene::answering(|request| {
        let last = request.last_message();
        match is_subagent(request) {
            true => say(REPORT),
            false if last.contains("seventeen") => say("There are seventeen."),
            false => call("spawn", json!({"task": TASK, "wait": true})),
        }
    });
    let gateway = scene.start();
    scene.ana.says("count them");
    scene.wait_for("There are seventeen.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 3);
}

#[test]
fn a_subagent_that_fails_or_never_ends_says_so() {
    let scene = Scene::answering(|request| {
        let last = request.last_message();
        match is_subagent(request) {
            // Another call each time, so that it does not go in circles.
            true => {
                let count = request.messages().len();
                call("find_files", json!({"glob": format!("*{count}")}))
            }
            false if last.contains("15 steps") => say("It took too long."),
            false if last.contains("has begun") => say("I am counting."),
            false => spawn("herons"),
        }
    });
    let gateway = scene.start();
    scene.ana.says("count them");
    scene.wait_for("It took too long.");
    gateway.stop().ends_with(0);
    let steps = scene.model.requests();
    assert_eq!(
        steps.iter().filter(|request| is_subagent(request)).count(),
        15
    );
}

#[test]
fn an_answer_after_long_work_is_a_message_of_its_own() {
    let gate = Gate::default();
    let scene = Scene::playing([
        call("list_dir", json!({"path": "."})),
        say("It is done.").after(&gate),
    ]);
    let program = Program::new(&scene.home).arg("gateway");
    let scene = scene.with_edits();
    let gateway = Gateway::of(program.env("PEACRAB_TEST_EVERY_TURN_IS_LONG", "1"));
    scene.ana.says("work");
    let draft = scene.wait_for("list_dir");
    gate.open();
    // An edit is silent; a message makes the phone ring.
    let answer = scene.wait_for("It is done.");
    assert_ne!(answer.id, draft.id);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), ["It is done."]);
}
