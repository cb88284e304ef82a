//! Downtime, clocks that jump, and boards without a clock.

use serde_json::json;

use super::*;
use crate::harness::model::{Gate, say};
use crate::harness::program::Program;

#[test]
fn after_downtime_each_job_runs_once_and_says_how_late_it_is() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        let facts = request.last_message();
        assert!(facts.contains("12:30, 30 min ago"), "{facts}");
        assert!(facts.contains("this one stands for them"), "{facts}");
        say("The news, late.")
    });
    let jobs = [
        job(&clock, "tea", at(&clock, HOUR), reminder("tea")),
        job(&clock, "news", every(HOUR), turn("news")),
        job(
            &clock,
            "touch",
            cron("15 * * * *"),
            command("echo run >> runs; tail -n1 runs"),
        ),
    ];
    let mut jobs = jobs.to_vec();
    jobs[1]["createdAtMs"] = json!(clock.now_ms() - 30 * 60_000);
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    gateway.kill();
    // The last ones were due at 12:30 and 12:15, and the tea at 8:00.
    clock.forward(6 * HOUR);
    clock.reboot();
    let gateway = scene.start();
    let tea = scene.wait_for("tea").text;
    assert!(tea.contains("08:00") && tea.contains("5 h"), "{tea}");
    scene.wait_for("The news, late.");
    wait_for_run(&scene.home, "news", 1, "ok");
    wait_for_run(&scene.home, "touch", 1, "ok");
    assert!(scene.wait_for("run").text.contains("12:15"));
    wait_for_run(&scene.home, "tea", 1, "ok");
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_without_catch_up_leaves_out_what_was_missed() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let jobs = ["tea", "water"].map(|id| {
        let schedule = if id == "tea" {
            at(&clock, HOUR)
        } else {
            every(HOUR)
        };
        let mut job = job(&clock, id, schedule, reminder(id));
        job["catchUp"] = json!(false);
        job
    });
    write(&scene.home, &jobs);
    clock.forward(5 * HOUR + 30 * MINUTE);
    let gateway = scene.start();
    wait_for_run(&scene.home, "tea", 1, "skipped");
    wait_for_run(&scene.home, "water", 1, "skipped");
    assert!(scene.texts().is_empty());
    clock.forward(30 * MINUTE);
    assert_eq!(scene.wait_for("water").text, "⏰ water");
    wait_for_run(&scene.home, "water", 2, "ok");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 1);
}

#[test]
fn a_board_that_starts_in_1970_runs_nothing_until_it_has_the_time() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let water = job(&clock, "water", every(HOUR), reminder("water"));
    write(&scene.home, &[water]);
    clock.synchronize(false);
    clock.set("1970-01-01T00:00:20Z");
    clock.reboot();
    let gateway = scene.start();
    gateway.wait_for_log("scheduled jobs and the heartbeat wait");
    clock.forward(3 * HOUR);
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    assert!(runs(&scene.home, "water").is_empty());
    clock.synchronize(true);
    clock.set("2027-03-01T09:20:00Z");
    let water = scene.wait_for("water").text;
    assert!(
        water.contains("09:00") && water.contains("20 min"),
        "{water}"
    );
    wait_for_run(&scene.home, "water", 1, "ok");
    clock.forward(40 * MINUTE);
    wait_for_run(&scene.home, "water", 2, "ok");
    gateway.stop().ends_with(0);
}

#[test]
fn a_clock_that_jumps_back_and_forward_repeats_and_loses_nothing() {
    let clock = Turned::at(START);
    let gate = Gate::default();
    let opened = gate.clone();
    let scene = scene(&clock, move |_| say("Report.").after(&opened));
    let jobs = [
        job(&clock, "water", every(HOUR), reminder("water")),
        job(&clock, "report", at(&clock, 2 * HOUR), turn("report")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "water", 1, "ok");
    // Back by two hours while it sleeps: 8:00 comes again, and is not repeated.
    clock.back(2 * HOUR);
    scene.ana.says("/id");
    scene.wait_for("This chat:");
    clock.forward(2 * HOUR);
    clock.forward(HOUR);
    wait_for_run(&scene.home, "water", 2, "ok");
    scene.model.wait_for_requests(1);
    // And while a turn runs.
    clock.back(2 * HOUR);
    clock.forward(2 * HOUR);
    gate.open();
    wait_for_run(&scene.home, "report", 1, "ok");
    clock.set("2027-03-01T13:30:00Z");
    wait_for_run(&scene.home, "water", 3, "ok");
    wait_for_count(&scene, "water", 3);
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!(count("water"), 3, "{texts:?}");
    assert_eq!(count("Report."), 1, "{texts:?}");
}

#[test]
fn a_job_that_runs_often_is_not_silent_because_the_clock_was_hours_ahead() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("I looked."));
    let jobs = [
        job(&clock, "water", every(10 * MINUTE), reminder("water")),
        job(&clock, "look", cron("*/10 * * * *"), turn("look")),
        job(&clock, "pills", cron("5 7 * * *"), reminder("pills")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    for run in 1..=3 {
        clock.forward(10 * MINUTE);
        wait_for_run(&scene.home, "water", run, "ok");
        wait_for_run(&scene.home, "look", run, "ok");
    }
    // It was 2:30 all the time.
    clock.back(5 * HOUR);
    for id in ["water", "look"] {
        wait_for_run(&scene.home, id, 4, "skipped");
    }
    for run in 5..=6 {
        clock.forward(10 * MINUTE);
        wait_for_run(&scene.home, "water", run, "ok");
        wait_for_run(&scene.home, "look", run, "ok");
    }
    // The times that it has had before come again, and are runs like all others.
    clock.forward(4 * HOUR + 15 * MINUTE);
    wait_for_run(&scene.home, "water", 7, "ok");
    wait_for_run(&scene.home, "look", 7, "ok");
    clock.forward(5 * MINUTE);
    wait_until("7:10 has come again", || {
        let log = std::fs::read_to_string(scene.home.path().join("cron/runs.jsonl")).unwrap();
        let again = format!(r#""planned":{},"#, clock.now_ms());
        log.matches(&again).count() == 8
    });
    wait_for_count(&scene, "water", 7);
    wait_for_count(&scene, "I looked.", 7);
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!(count("water"), 7, "{texts:?}");
    assert_eq!(count("I looked."), 7, "{texts:?}");
    assert_eq!(count("pills"), 1, "{texts:?}");
    assert_eq!(scene.model.requests().len(), 7);
}

#[test]
fn what_was_planned_while_the_clock_was_a_day_ahead_comes_at_the_right_time() {
    // The image of the board is dated tomorrow, and there is no network yet.
    let clock = Turned::unsynchronized("2027-03-02T20:00:00Z");
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let gateway = scene.start();
    gateway.wait_for_log("scheduled jobs and the heartbeat wait");
    for text in ["20m take the bread out", "tomorrow 7:00 call mum"] {
        scene.ana.says(&format!("/remind {text}"));
    }
    scene.wait_for("bread out: today 20:20");
    scene.wait_for("call mum: tomorrow 07:00");
    let add = ["cron", "add", "--remind", "2027-03-03 12:00", "dentist"];
    Program::new(&scene.home).args(add).run().ends_with(0);
    clock.synchronize(true);
    clock.set("2027-03-01T20:05:00Z");
    gateway.wait_for_log("the clock is trusted now");
    clock.forward(20 * MINUTE);
    let comes = |said: &str| {
        wait_until(&format!("{said} comes"), || {
            scene.texts().iter().any(|text| text == said)
        });
    };
    comes("⏰ take the bread out");
    clock.forward(10 * HOUR + 35 * MINUTE);
    comes("⏰ call mum");
    let listed = Program::new(&scene.home).args(["cron", "list"]).run();
    assert!(
        listed.stdout.contains("tomorrow 12:00"),
        "{}",
        listed.stdout
    );
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    assert!(
        !texts.iter().any(|text| text.contains("planned for")),
        "{texts:?}"
    );
}
