//! Power cuts at each instant of a run.

use std::fs;

use super::*;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Gate, say};

/// Runs a job, is cut off at a place, starts again, and returns what stands in the chat then.
fn cut_off_at(place: &str, payload: Value) -> (Scene, Vec<String>) {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("It is done."));
    write(
        &scene.home,
        &[job(&clock, "one", cron("30 7 * * *"), payload)],
    );
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_JOB_CUT", place));
    gateway.wait_for_log("ready");
    clock.forward(30 * MINUTE);
    assert_eq!(gateway.finish().code, None, "not cut off at {place}");
    clock.reboot();
    let gateway = scene.start();
    wait_for_run(&scene.home, "one", 1, "ok");
    scene.wait_for("done");
    // Nothing more comes of it.
    clock.forward(HOUR);
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let texts: Vec<String> = texts
        .into_iter()
        .filter(|text| !text.contains("This chat:"))
        .collect();
    (scene, texts)
}

#[test]
fn a_reminder_comes_once_whenever_the_power_goes() {
    for place in ["begun", "delivered", "told", "ended"] {
        let (scene, texts) = cut_off_at(place, reminder("well done"));
        assert_eq!(texts.len(), 1, "{place}: {texts:?}");
        assert_eq!(statuses(&scene.home, "one"), ["ok"], "{place}");
    }
}

#[test]
fn a_command_whose_output_is_stored_is_not_run_again() {
    for place in ["begun", "delivered", "told", "ended"] {
        let line = "echo x >> runs; echo done";
        let (scene, texts) = cut_off_at(place, command(line));
        assert_eq!(texts.len(), 1, "{place}: {texts:?}");
        let runs = fs::read_to_string(scene.home.workspace("runs")).unwrap();
        assert_eq!(runs, "x\n", "{place}");
    }
}

#[test]
fn a_turn_is_answered_once_and_the_model_asked_once() {
    for place in ["begun", "closed", "turn", "told", "ended"] {
        let (scene, texts) = cut_off_at(place, turn("do it"));
        assert_eq!(texts, ["It is done."], "{place}");
        assert_eq!(scene.model.requests().len(), 1, "{place}");
        let history = history(&scene.home, "one");
        assert!(history.contains("said, not shown"), "{place}: {history}");
    }
}

#[test]
fn a_turn_that_was_cut_off_goes_on_where_it_was() {
    let clock = Turned::at(START);
    let gate = Gate::default();
    let opened = gate.clone();
    let scene = scene(&clock, move |request| {
        match request
            .messages()
            .iter()
            .any(|message| message["role"] == "tool")
        {
            false => crate::harness::model::call(
                "append_file",
                serde_json::json!({"path": "log.txt", "content": "x\n"}),
            ),
            true => say("It is done.").after(&opened),
        }
    });
    write(
        &scene.home,
        &[job(&clock, "one", cron("30 7 * * *"), turn("do it"))],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(30 * MINUTE);
    scene.model.wait_for_requests(2);
    gateway.kill();
    gate.open();
    let gateway = scene.start();
    scene.wait_for("It is done.");
    wait_for_run(&scene.home, "one", 1, "ok");
    gateway.stop().ends_with(0);
    let log = fs::read_to_string(scene.home.workspace("log.txt")).unwrap();
    assert_eq!(log, "x\n", "the call is not made again");
    let history = history(&scene.home, "one");
    assert!(
        history.contains("ok") && !history.contains("said"),
        "what ran before the kill counts: {history}"
    );
    assert_eq!(scene.model.requests().len(), 3);
}

#[test]
fn an_answer_that_is_held_for_a_job_keeps_nothing_else_back() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("It is done."));
    let mut one = job(&clock, "one", cron("30 7 * * *"), turn("do it"));
    one["catchUp"] = serde_json::json!(false);
    write(&scene.home, &[one]);
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_JOB_CUT", "closed"));
    gateway.wait_for_log("ready");
    clock.forward(30 * MINUTE);
    gateway.finish();
    clock.synchronize(false);
    clock.set("1970-01-01T00:00:20Z");
    clock.reboot();
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    scene.wait_for("It is done.");
    gateway.stop().ends_with(0);
    assert_eq!(statuses(&scene.home, "one"), ["ok"]);
}

#[test]
fn a_run_that_takes_the_program_down_each_time_is_given_up_and_that_is_told() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is asked"));
    write(
        &scene.home,
        &[job(&clock, "one", cron("30 7 * * *"), turn("do it"))],
    );
    clock.forward(30 * MINUTE);
    for _ in 0..3 {
        let program = Program::new(&scene.home).arg("gateway");
        let gateway = Gateway::of(program.env("PEACRAB_TEST_JOB_CUT", "begun"));
        assert_eq!(gateway.finish().code, None, "not cut off");
        clock.reboot();
    }
    let gateway = scene.start();
    scene.wait_for("The job one was interrupted 3 times in a row");
    gateway.stop().ends_with(0);
    let shown = Program::new(&scene.home).args(["cron", "show", "one"]);
    let shown = shown.run().ends_with(0).stdout;
    assert!(
        shown.contains("cut off 3 times, and not tried again"),
        "{shown}"
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    gateway.stop().ends_with(0);
    assert_eq!(
        scene.texts().len(),
        1,
        "it is told once: {:?}",
        scene.texts()
    );
}
