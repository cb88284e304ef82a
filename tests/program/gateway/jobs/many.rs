//! Many jobs at once.

use serde_json::json;

use super::*;
use crate::harness::model::say;

#[test]
fn two_jobs_at_one_instant_both_run() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("Report."));
    let jobs = [
        job(&clock, "tea", cron("0 8 * * *"), reminder("tea")),
        job(&clock, "cake", cron("0 8 * * *"), reminder("cake")),
        job(&clock, "news", cron("0 8 * * *"), turn("news")),
        job(&clock, "disk", cron("0 8 * * *"), command("echo disk")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    for id in ["tea", "cake", "news", "disk"] {
        wait_for_run(&scene.home, id, 1, "ok");
    }
    for words in ["tea", "cake", "Report.", "disk"] {
        scene.wait_for(words);
    }
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 4);
}

#[test]
fn a_thousand_jobs_at_once_all_run() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    // Without a channel of their own they go to the chat of Ana; these go nowhere.
    let jobs: Vec<Value> = (0..1000)
        .map(|number| {
            let mut payload = command(":");
            payload["deliver"] = json!(false);
            let mut job = job(&clock, &format!("j{number}"), cron("0 8 1 3 *"), payload);
            // Most are told apart from a look at the file alone.
            job["enabled"] = json!(number % 10 == 0);
            job
        })
        .collect();
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_until("all jobs have run", || {
        (0..1000)
            .step_by(10)
            .all(|number| statuses(&scene.home, &format!("j{number}")) == ["ok"])
    });
    gateway.stop().ends_with(0);
}
