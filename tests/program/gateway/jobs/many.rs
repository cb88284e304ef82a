//! Many jobs at once.

use std::fs;

use serde_json::json;

use super::*;
use crate::harness::model::say;

/// Jobs that are due at one instant: as many as a build for tests runs in some seconds.
const DUE: usize = 100;

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
fn of_a_thousand_jobs_all_that_are_due_at_once_run() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("Done."));
    let jobs: Vec<Value> = (0..1000)
        .map(|number| {
            let mut payload = match number % 10 {
                0 => command(":"),
                _ => turn("work"),
            };
            payload["deliver"] = json!(false);
            let minute = if number < DUE { 0 } else { 30 };
            let schedule = cron(&format!("{minute} 8 1 3 *"));
            job(&clock, &format!("j{number}"), schedule, payload)
        })
        .collect();
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    let file = scene.home.path().join("cron/runs.jsonl");
    // Each may take its time, but one after the other ends.
    let count = || {
        let log = fs::read_to_string(&file).unwrap_or_default();
        log.matches(r#""status":"ok""#).count()
    };
    let mut ended = 0;
    while ended < DUE {
        wait_until("the end of another job", || count() > ended);
        ended = count();
    }
    gateway.stop().ends_with(0);
    let log = fs::read_to_string(&file).unwrap();
    assert_eq!(log.matches(r#""status":"running""#).count(), DUE);
    assert_eq!(scene.model.requests().len(), DUE * 9 / 10);
}

#[test]
fn a_thousand_reminders_at_one_instant_all_come() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    // A chat takes about one message a second.
    let people: Vec<_> = (2000..2250)
        .map(|id| scene.telegram.person(id, "Ben", None))
        .collect();
    let jobs: Vec<Value> = (0..1000)
        .map(|number| {
            let mut payload = reminder(&format!("tea {number}"));
            payload["channel"] = json!("telegram");
            payload["to"] = json!((2000 + number % 250).to_string());
            job(&clock, &format!("j{number}"), cron("0 8 1 3 *"), payload)
        })
        .collect();
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let begin = Instant::now();
    clock.forward(HOUR);
    let said = || -> usize {
        people
            .iter()
            .map(|ben| scene.texts_in(ben.chat()).len())
            .sum()
    };
    while said() < 1000 {
        assert!(begin.elapsed() < Duration::from_secs(900), "{}", said());
        std::thread::sleep(Duration::from_millis(200));
        // Between two looks for room in the outbox a second passes.
        clock.forward(Duration::from_millis(200));
    }
    eprintln!("a thousand reminders: {:?}", begin.elapsed());
    gateway.stop().ends_with(0);
    for (number, ben) in people.iter().enumerate() {
        let mut texts = scene.texts_in(ben.chat());
        texts.sort();
        let mut expected: Vec<_> = (0..4)
            .map(|at| format!("⏰ tea {}", number + 250 * at))
            .collect();
        expected.sort();
        assert_eq!(texts, expected);
    }
}
