//! What a job may not do: run on after /stop, speak in another chat, or run again because of an old file.

use serde_json::json;

use super::*;
use crate::harness::model::{Gate, call, say};
use crate::harness::program::Program;

#[test]
fn stop_ends_the_runs_whose_results_go_to_this_chat() {
    let clock = Turned::at(START);
    let never = Gate::default();
    let scene = scene(&clock, move |_| say("too late").after(&never));
    let jobs = [
        job(
            &clock,
            "sleep",
            at(&clock, MINUTE),
            command("echo begun > begun; sleep 600"),
        ),
        job(&clock, "think", at(&clock, MINUTE), turn("think for long")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    scene.model.wait_for_requests(1);
    wait_until("the command runs", || {
        scene.home.workspace("begun").exists()
    });
    scene.ana.says("/stop");
    scene.wait_for("Stopped");
    wait_for_run(&scene.home, "sleep", 1, "skipped");
    wait_for_run(&scene.home, "think", 1, "skipped");
    let texts = scene.texts();
    assert!(
        !texts.iter().any(|text| text.contains("failed")),
        "{texts:?}"
    );
    gateway.stop().ends_with(0);
}

#[test]
fn what_is_for_one_chat_goes_to_no_other() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let mut private = reminder("PRIVATE");
    private["channel"] = json!("discord");
    private["to"] = json!("42");
    let jobs = [
        job(&clock, "private", at(&clock, MINUTE), private),
        job(&clock, "tea", at(&clock, 2 * MINUTE), reminder("tea")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(2 * MINUTE);
    scene.wait_for("tea");
    wait_for_run(&scene.home, "private", 1, "error");
    let texts = scene.texts();
    assert!(
        !texts.iter().any(|text| text.contains("PRIVATE")),
        "{texts:?}"
    );
    gateway.stop().ends_with(0);
}

#[test]
fn jobs_that_are_turned_on_again_begin_at_once() {
    let clock = Turned::at(START);
    let mut scene = scene(&clock, |_| panic!("no model is needed"));
    scene.home.set("/cron", json!({"enabled": false}));
    write(
        &scene.home,
        &[job(&clock, "tea", at(&clock, MINUTE), reminder("tea"))],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(60 * MINUTE);
    let set = Program::new(&scene.home).args(["config", "set", "cron.enabled", "true"]);
    set.run().ends_with(0);
    scene.wait_for("tea");
    gateway.stop().ends_with(0);
}

#[test]
fn a_reminder_comes_after_the_clock_was_days_ahead() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    write(
        &scene.home,
        &[job(&clock, "tea", cron("0 8 * * *"), reminder("tea"))],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    // It was never this late.
    clock.forward(3 * DAY + HOUR);
    wait_for_count(&scene, "tea", 1);
    wait_until("noted", || {
        statuses(&scene.home, "tea").contains(&"ok".to_owned())
    });
    clock.back(3 * DAY + HOUR);
    scene.ana.says("/id");
    scene.wait_for("1001");
    for day in 1..=4 {
        clock.forward(if day == 1 { HOUR } else { DAY });
        wait_for_count(&scene, "tea", 1 + day);
    }
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_does_not_run_a_tool_that_no_one_has_approved() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        let last = request.last_message();
        match last.contains("it is not approved, and there is no one to ask") {
            true => say("I could not use the lamp."),
            false if last.contains("tool") && last.contains("on!") => say("The lamp is on."),
            false => call("lamp", json!({})),
        }
    });
    let folder = scene.home.workspace("tools/lamp");
    let made = Program::new(&scene.home).args(["tools", "new", "lamp"]);
    made.run().ends_with(0);
    fs::write(folder.join("run"), "#!/bin/sh\necho 'on!'\n").unwrap();
    write(
        &scene.home,
        &[job(
            &clock,
            "light",
            every(60 * MINUTE),
            turn("switch the lamp on"),
        )],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(60 * MINUTE);
    scene.wait_for("I could not use the lamp.");
    let approved = Program::new(&scene.home).args(["tools", "approve", "lamp", "--yes"]);
    approved.run().ends_with(0);
    clock.forward(60 * MINUTE);
    scene.wait_for("The lamp is on.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_that_is_edited_while_it_runs_keeps_the_edit_and_its_run_ends() {
    let clock = Turned::at(START);
    let gate = Gate::default();
    let opened = gate.clone();
    let scene = scene(&clock, move |request| {
        let text = request.last_message();
        match text.contains("long work") {
            true => say("Long work is done.").after(&opened),
            false => say("Other work is done."),
        }
    });
    let mut long = job(&clock, "long", at(&clock, HOUR), turn("long work"));
    long["deleteAfterRun"] = json!(true);
    write(&scene.home, &[long]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    scene.model.wait_for_requests(1);
    let edit = [
        "cron",
        "edit",
        "long",
        "--when",
        "every 2h",
        "--message",
        "other work",
    ];
    Program::new(&scene.home).args(edit).run().ends_with(0);
    gate.open();
    scene.wait_for("Long work is done.");
    wait_for_run(&scene.home, "long", 1, "ok");
    // It was edited, so it is not done for, and its times count from the edit.
    clock.forward(2 * HOUR - MINUTE);
    let listed = Program::new(&scene.home).args(["cron", "list"]).run();
    assert!(listed.stdout.contains("every 2 hours"), "{}", listed.stdout);
    assert_eq!(scene.model.requests().len(), 1);
    clock.forward(MINUTE);
    scene.wait_for("Other work is done.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 2);
}
