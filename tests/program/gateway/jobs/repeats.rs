//! What happens once, although a list comes back, a request is repeated, or a turn is cut off.

use std::fs;

use serde_json::json;

use super::*;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Gate, call, say};
use crate::harness::program::Program;

/// Puts a file back as it was.
fn restore(home: &Home, list: &[u8]) {
    let folder = home.path().join("cron");
    fs::write(folder.join("new"), list).unwrap();
    fs::rename(folder.join("new"), folder.join("jobs.json")).unwrap();
}

fn list(home: &Home) -> Vec<u8> {
    fs::read(home.path().join("cron/jobs.json")).unwrap()
}

fn count(scene: &Scene, words: &str) -> usize {
    let texts = scene.texts();
    texts.iter().filter(|text| text.contains(words)).count()
}

#[test]
fn an_editor_that_saves_an_old_copy_of_the_list_repeats_no_run() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let mut once = job(&clock, "bread", at(&clock, HOUR), reminder("bread"));
    once["deleteAfterRun"] = json!(true);
    let water = job(&clock, "water", every(HOUR), reminder("water"));
    write(&scene.home, &[water, once]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    // Somebody opens an editor, and has breakfast.
    let opened = list(&scene.home);
    clock.forward(HOUR);
    wait_for_run(&scene.home, "water", 1, "ok");
    scene.wait_for("bread");
    // With the job that is done, the log of runs has gone into the list.
    wait_until("the reminder is removed", || {
        !String::from_utf8_lossy(&list(&scene.home)).contains("bread")
    });
    wait_for_count(&scene, "water", 1);
    restore(&scene.home, &opened);
    clock.forward(HOUR);
    wait_for_run(&scene.home, "water", 2, "ok");
    wait_for_count(&scene, "water", 2);
    // And once more, while nothing runs that remembers.
    gateway.stop().ends_with(0);
    Program::new(&scene.home)
        .args(["cron", "edit", "water", "--name", "Water"])
        .run()
        .ends_with(0);
    restore(&scene.home, &opened);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "water", 2, "ok");
    wait_for_count(&scene, "water", 3);
    gateway.stop().ends_with(0);
    assert_eq!((count(&scene, "water"), count(&scene, "bread")), (3, 1));
}

#[test]
fn a_backup_that_is_restored_while_the_gateway_runs_repeats_no_run() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let water = job(&clock, "water", every(HOUR), reminder("water"));
    write(&scene.home, &[water]);
    let backup = list(&scene.home);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "water", 1, "ok");
    // Nothing on the disk knows the run any more.
    fs::remove_file(scene.home.path().join("cron/runs.jsonl")).unwrap();
    restore(&scene.home, &backup);
    wait_for_run(&scene.home, "water", 1, "skipped");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "water", 2, "ok");
    wait_for_count(&scene, "water", 2);
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "water"), 2);
}

#[test]
fn a_reminder_that_is_set_just_before_the_power_goes_is_set_once() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_JOB_CUT", "planned"));
    gateway.wait_for_log("ready");
    scene.ana.says("/remind 20m take the bread out");
    assert_eq!(gateway.finish().code, None, "not cut off");
    clock.forward(MINUTE);
    clock.reboot();
    let gateway = scene.start();
    let answer = scene.wait_for("bread").text;
    assert!(answer.contains("07:20, in 19 min"), "{answer}");
    let planned: Value = serde_json::from_slice(&list(&scene.home)).unwrap();
    assert_eq!(planned["jobs"].as_array().unwrap().len(), 1);
    clock.forward(19 * MINUTE);
    wait_for_count(&scene, "bread", 2);
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts()[1], "⏰ take the bread out");
}

/// A job whose turn is in Ana's conversation and whose result goes to a file. The power goes in the turn. The
/// model answers a later question of hers after the gate.
fn cut_off_in_a_chat(catch_up: bool, later: &Gate) -> (Turned, Scene, Gateway) {
    let clock = Turned::at(START);
    let gate = Gate::default();
    let (opened, later) = (gate.clone(), later.clone());
    let scene = scene(&clock, move |request| {
        let messages = request.messages();
        let is_later = request.last_message().contains("Are you there");
        let question = messages.iter().rposition(|message| {
            message["role"] == "user" && message["content"].to_string().contains("write the report")
        });
        let is_hello = request.last_message().contains("Hello");
        match question.is_some_and(|at| {
            messages[at..]
                .iter()
                .any(|message| message["role"] == "tool")
        }) {
            _ if is_hello => say("Hello, Ana."),
            _ if is_later => say("I am here.").after(&later),
            false => call("append_file", json!({"path": "log.txt", "content": "x\n"})),
            true => say("The report is written.").after(&opened),
        }
    });
    let mut payload = turn("write the report");
    payload["sessionKey"] = json!("telegram:1001");
    payload["deliver"] = json!("file");
    let mut report = job(&clock, "report", cron("30 7 * * *"), payload);
    report["catchUp"] = json!(catch_up);
    write(&scene.home, &[report]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(30 * MINUTE);
    scene.model.wait_for_requests(2);
    gateway.kill();
    gate.open();
    // The board has no time yet when it starts again.
    clock.synchronize(false);
    clock.set("1970-01-01T00:00:20Z");
    clock.reboot();
    let gateway = scene.start();
    (clock, scene, gateway)
}

#[test]
fn a_jobs_turn_in_a_chat_goes_on_as_the_jobs() {
    let (clock, scene, gateway) = cut_off_in_a_chat(true, &Gate::default());
    wait_for_run(&scene.home, "report", 1, "ok");
    scene.ana.says("Hello");
    scene.wait_for("Hello, Ana.");
    clock.synchronize(true);
    clock.set("2027-03-02T07:00:00Z");
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    gateway.stop().ends_with(0);
    let report = scene.home.workspace("cron/report-2027-03-01-073000.md");
    assert_eq!(
        fs::read_to_string(report).unwrap(),
        "The report is written.\n"
    );
    assert_eq!(count(&scene, "report is written"), 0, "{:?}", scene.texts());
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    assert_eq!(log, "x\n", "the call is not made again");
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 4);
    let facts = requests[2].body.to_string();
    assert!(facts.contains("Scheduled job: report"), "{facts}");
}

#[test]
fn without_catch_up_a_jobs_turn_in_a_chat_is_given_up() {
    let (clock, scene, gateway) = cut_off_in_a_chat(false, &Gate::default());
    wait_for_run(&scene.home, "report", 1, "interrupted");
    scene.ana.says("Hello");
    scene.wait_for("Hello, Ana.");
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 3);
    let seen = requests[2].body.to_string();
    assert!(
        seen.contains("cut off by a restart, and not continued"),
        "{seen}"
    );
    clock.synchronize(true);
    clock.set("2027-03-02T07:00:00Z");
    clock.forward(30 * MINUTE);
    wait_for_run(&scene.home, "report", 2, "ok");
    gateway.stop().ends_with(0);
    assert!(
        !scene
            .home
            .workspace("cron/report-2027-03-01-073000.md")
            .exists()
    );
    assert!(
        scene
            .home
            .workspace("cron/report-2027-03-02-073000.md")
            .exists()
    );
    assert_eq!(count(&scene, "report is written"), 0, "{:?}", scene.texts());
}

#[test]
fn a_question_that_is_cut_off_after_a_jobs_turn_was_given_up_is_answered() {
    let later = Gate::default();
    let (_clock, scene, gateway) = cut_off_in_a_chat(false, &later);
    wait_for_run(&scene.home, "report", 1, "interrupted");
    scene.ana.says("Are you there?");
    scene.model.wait_for_requests(3);
    gateway.kill();
    later.open();
    let gateway = scene.start();
    scene.wait_for("I am here.");
    gateway.stop().ends_with(0);
    let shown = Program::new(&scene.home).args(["cron", "show", "report"]);
    let shown = shown.run().ends_with(0).stdout;
    assert!(
        shown.contains("cut off by a restart, and not continued"),
        "{shown}"
    );
}
