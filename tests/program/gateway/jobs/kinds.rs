//! Each kind of schedule and of work.

use std::fs;

use serde_json::json;

use super::*;
use crate::harness::model::{Gate, call, say};

#[test]
fn a_reminder_comes_at_its_time_without_a_model() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let bread = job(
        &clock,
        "bread",
        at(&clock, 20 * MINUTE),
        reminder("take the *bread* out"),
    );
    write(&scene.home, &[bread]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(19 * MINUTE);
    assert!(scene.texts().is_empty());
    clock.forward(MINUTE);
    let message = scene.wait_for("bread");
    assert_eq!(message.text, "⏰ take the *bread* out");
    wait_for_run(&scene.home, "bread", 1, "ok");
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_runs_in_the_sandbox_and_its_output_comes() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let line = "echo disk is fine; cat ../config.json 2>&1 | head -c 200";
    let mut disk = job(&clock, "disk", every(HOUR), command(line));
    disk["name"] = json!("Disk check");
    write(&scene.home, &[disk]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    let message = scene.wait_for("disk is fine");
    assert!(message.text.contains("Disk check"), "{}", message.text);
    assert!(!message.text.contains("providers"), "{}", message.text);
    wait_for_run(&scene.home, "disk", 1, "ok");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "disk", 2, "ok");
    gateway.stop().ends_with(0);
}

#[test]
fn a_turn_has_a_conversation_of_its_own_and_sees_its_last_run() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        let text = request.last_message();
        assert!(
            text.contains("Scheduled job: news, planned for 2027-03-0"),
            "{text}"
        );
        say(&format!("News, {} messages.", request.messages().len()))
    });
    let news = job(&clock, "news", cron("30 7 * * *"), turn("what is new?"));
    write(&scene.home, &[news]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(30 * MINUTE);
    let first = scene.wait_for("News").text;
    wait_for_run(&scene.home, "news", 1, "ok");
    for day in 2..5 {
        clock.forward(DAY);
        wait_for_run(&scene.home, "news", day, "ok");
    }
    wait_for_count(&scene, "News", 4);
    let texts = scene.texts();
    assert_ne!(texts[1], first, "the second run sees the first one");
    assert_eq!(texts[2], texts[1], "the third run sees the second one only");
    assert_eq!(texts[3], texts[1]);
    gateway.stop().ends_with(0);
    let journals = fs::read_dir(scene.home.path().join("sessions")).unwrap();
    let names: Vec<_> = journals.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        names.iter().any(|name| name == "cron_news.jsonl"),
        "{names:?}"
    );
}

#[test]
fn a_job_that_is_written_while_the_gateway_runs_is_seen() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    write(
        &scene.home,
        &[job(
            &clock,
            "hand",
            at(&clock, Duration::ZERO),
            reminder("by hand"),
        )],
    );
    scene.wait_for("by hand");
    let add = [
        "cron",
        "add",
        "in 5m",
        "--reminder",
        "--name",
        "line",
        "from the line",
    ];
    let added = Program::new(&scene.home).args(add).run();
    assert_eq!(added.code, Some(0), "{added:#?}");
    clock.forward(5 * MINUTE);
    scene.wait_for("from the line");
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_can_be_run_now_and_not_twice_at_a_time() {
    let clock = Turned::at(START);
    let gate = Gate::default();
    let opened = gate.clone();
    let scene = scene(&clock, move |_| say("Done.").after(&opened));
    let mut report = job(&clock, "report", cron("0 0 1 1 *"), turn("report"));
    report["enabled"] = json!(false);
    write(&scene.home, &[report]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let run = || {
        Program::new(&scene.home)
            .args(["cron", "run", "report"])
            .run()
    };
    run().ends_with(0);
    scene.model.wait_for_requests(1);
    let again = run();
    assert_eq!(again.code, Some(1), "{again:#?}");
    again.complains_of(&["is running already"]);
    gate.open();
    scene.wait_for("Done.");
    wait_for_run(&scene.home, "report", 1, "ok");
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_has_the_model_and_the_conversation_that_it_names() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        say(&format!(
            "I am {}.",
            request.body["model"].as_str().unwrap()
        ))
    });
    scene.model.offers(["fake-model", "other-model"]);
    let mut payload = turn("who are you?");
    payload["model"] = json!("other-model");
    payload["sessionKey"] = json!("telegram:1001");
    write(
        &scene.home,
        &[job(&clock, "who", at(&clock, MINUTE), payload)],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    scene.wait_for("I am other-model.");
    wait_for_run(&scene.home, "who", 1, "ok");
    scene.ana.says("and now?");
    scene.wait_for("I am fake-model.");
    let asked = scene.model.requests()[1].body.to_string();
    assert!(asked.contains("who are you?"), "{asked}");
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_in_the_conversation_of_the_terminal_has_none_of_its_approvals() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        match request.messages().last().unwrap()["role"] == "tool" {
            true => say("Looked."),
            false => call(
                "exec",
                json!({"command": "df -h", "escalate": true, "reason": "r"}),
            ),
        }
    });
    for chat in ["cli:default", "cron:own"] {
        let add = ["approvals", "add", "--chat", chat, "df", "-h"];
        Program::new(&scene.home).args(add).run().ends_with(0);
    }
    let mut typed = turn("look");
    typed["sessionKey"] = json!("cli:default");
    let jobs = [
        job(&clock, "typed", at(&clock, MINUTE), typed),
        job(&clock, "own", at(&clock, MINUTE), turn("look")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    wait_for_count(&scene, "Looked.", 2);
    gateway.stop().ends_with(0);
    let mut decisions: Vec<String> = scene
        .audit()
        .iter()
        .map(|record| record["decision"].as_str().unwrap_or_default().to_owned())
        .collect();
    decisions.sort();
    assert_eq!(decisions, ["allowed by a pattern", "denied: no one to ask"]);
}

#[test]
fn a_job_never_overlaps_itself() {
    let clock = Turned::at(START);
    let gate = Gate::default();
    let opened = gate.clone();
    let scene = scene(&clock, move |_| say("Done.").after(&opened));
    write(
        &scene.home,
        &[job(&clock, "slow", every(MINUTE), turn("work"))],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    scene.model.wait_for_requests(1);
    for _ in 0..5 {
        clock.forward(MINUTE);
    }
    // Another job at the same time is not kept waiting.
    let jobs = [
        job(&clock, "slow", every(MINUTE), turn("work")),
        job(&clock, "tea", at(&clock, Duration::ZERO), reminder("tea")),
    ];
    let mut jobs = jobs.to_vec();
    jobs[0]["createdAtMs"] = json!(clock.now_ms() - 6 * 60_000);
    write(&scene.home, &jobs);
    scene.wait_for("tea");
    assert_eq!(scene.model.requests().len(), 1);
    gate.open();
    wait_for_run(&scene.home, "slow", 2, "ok");
    assert_eq!(
        scene.model.requests().len(),
        2,
        "one run for the five that were missed"
    );
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_that_only_says_that_it_did_something_is_said_and_not_shown() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        let messages = request.messages();
        let has_called = messages.last().is_some_and(|last| last["role"] == "tool");
        let task = request.last_message();
        match () {
            () if has_called => say("Done."),
            () if task.contains("wash") => say("All is washed."),
            () if task.contains("note") => {
                call("write_file", json!({"path": "a.md", "content": "a"}))
            }
            () if task.contains("lose") => call("read_file", json!({"path": "lost.md"})),
            () if task.contains("utter") => call("message", json!({"content": "It is done!"})),
            () => call(
                "message",
                json!({"content": "Here it is.", "media": ["plot.csv"]}),
            ),
        }
    });
    fs::write(scene.home.workspace("plot.csv"), "1").unwrap();
    let chat = |text: &str| json!({"kind": "agent_turn", "message": text, "channel": "telegram", "to": "1001"});
    let jobs = ["wash", "note", "lose", "utter", "send"];
    let planned = jobs.map(|text| job(&clock, text, cron("30 7 * * *"), chat(text)));
    let mut planned = planned.to_vec();
    let remind = json!({"kind": "reminder", "message": "tea", "channel": "telegram", "to": "1001"});
    planned.push(job(&clock, "tea", cron("30 7 * * *"), remind));
    write(&scene.home, &planned);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(30 * MINUTE);
    for id in jobs {
        // To older versions it is an ok as any other.
        wait_for_run(&scene.home, id, 1, "ok");
    }
    wait_for_run(&scene.home, "tea", 1, "ok");
    scene.ana.says("/cron");
    let listed = scene.wait_for("(last run said, not shown)").text;
    gateway.stop().ends_with(0);
    for (id, unshown) in [
        ("wash", true),
        ("note", false),
        ("lose", true),
        ("utter", true),
        ("send", false),
        ("tea", false),
    ] {
        let history = history(&scene.home, id);
        assert_eq!(history.contains("said, not shown"), unshown, "{history}");
        let line = listed.lines().find(|line| line.contains(id)).unwrap();
        assert_eq!(line.contains("said, not shown"), unshown, "{listed}");
    }
}
