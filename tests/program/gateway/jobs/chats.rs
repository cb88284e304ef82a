//! Chats that are gone, that have moved, or in which people sleep.

use std::fs;

use serde_json::json;

use super::*;
use crate::harness::model::{call, say};
use crate::harness::telegram::Fault;

fn cron_command(scene: &Scene, args: &[&str]) -> String {
    let command = Program::new(&scene.home).args(["cron"]).args(args);
    command.run().ends_with(0).stdout
}

fn cron_command_fails(scene: &Scene, args: &[&str]) -> String {
    let command = Program::new(&scene.home).args(["cron"]).args(args);
    let output = command.run();
    assert_ne!(output.code, Some(0));
    output.stderr
}

#[test]
fn a_chat_that_has_blocked_the_bot_is_in_the_history_and_ends_the_job() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("The news."));
    let jobs = [
        job(&clock, "water", every(HOUR), reminder("water")),
        job(&clock, "news", every(HOUR), turn("news")),
        job(&clock, "disk", every(HOUR), command("echo disk")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let ids = ["water", "news", "disk"];
    let wait_for_runs = |count, status| {
        let ids = ids.iter();
        ids.for_each(|id| wait_for_run(&scene.home, id, count, status));
    };
    clock.forward(HOUR);
    wait_for_count(&scene, "", 3);
    wait_for_runs(1, "ok");
    scene.ana.blocks();
    for run in 2..=4 {
        clock.forward(HOUR);
        wait_for_runs(run, "error");
    }
    let shown = cron_command(&scene, &["show", "news"]);
    assert!(
        shown.contains("after 3 results in a row that could not be delivered"),
        "{shown}"
    );
    assert!(shown.contains("cron enable news"), "{shown}");
    let history = cron_command(&scene, &["history", "water"]);
    let why = "not delivered: Telegram refused the request: Forbidden: bot was blocked";
    assert_eq!(history.matches(why).count(), 3, "{history}");
    let listed = cron_command(&scene, &["list"]);
    assert_eq!(listed.matches("its chat is gone").count(), 3, "{listed}");
    // An hour in which nothing runs.
    clock.forward(HOUR);
    scene.ana.unblocks();
    cron_command(&scene, &["enable", "water", "news", "disk"]);
    clock.forward(HOUR);
    wait_for_runs(5, "ok");
    wait_for_count(&scene, "", 6);
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    assert_eq!(texts.len(), 6, "neither a failure nor its end: {texts:?}");
}

#[test]
fn the_jobs_of_a_group_follow_it_to_its_new_address() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let group = scene.telegram.group(-5005, "Home");
    let mut bins = reminder("bins");
    bins["channel"] = json!("telegram");
    bins["to"] = json!("-5005");
    write(&scene.home, &[job(&clock, "bins", every(HOUR), bins)]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    scene.wait_in(group, "bins");
    wait_for_run(&scene.home, "bins", 1, "ok");
    let group = scene.telegram.upgrades(group, -1_001_005);
    clock.forward(HOUR);
    scene.wait_in(group, "bins");
    let shown = cron_command(&scene, &["show", "bins"]);
    assert!(shown.contains("telegram:-1001005"), "{shown}");
    clock.forward(HOUR);
    wait_until("it comes again", || scene.texts_in(group).len() == 2);
    wait_for_run(&scene.home, "bins", 3, "ok");
    gateway.stop().ends_with(0);
    let calls = scene.telegram.calls("sendMessage");
    let to_old = calls.iter().filter(|call| call["chat_id"] == -5005);
    assert_eq!(to_old.count(), 2, "{calls:?}");
}

#[test]
fn in_quiet_hours_jobs_run_on_time_and_make_no_sound() {
    let clock = Turned::at("2027-03-01T22:30:00Z");
    let mut scene = scene(&clock, |request| {
        let messages = request.messages();
        let is_over = messages.last().unwrap()["role"] == "tool";
        match request.body.to_string().contains("watch the door") {
            true if is_over => say("NO_REPLY"),
            true => call("message", json!({"content": "The door is open."})),
            false => say("The report."),
        }
    });
    let quiet = json!({"quietHours": "22:00-07:00"});
    scene.home.set("/cron", quiet);
    let mut watch = turn("watch the door");
    watch["deliver"] = json!(false);
    let mut backup = command("test -e works");
    backup["deliver"] = json!(false);
    let once = at(&clock, HOUR);
    let mut jobs = [
        job(&clock, "report", once.clone(), turn("report")),
        job(&clock, "disk", once.clone(), command("echo disk full")),
        job(&clock, "watch", once.clone(), watch),
        job(&clock, "pills", once, reminder("pills")),
        job(&clock, "backup", every(HOUR), backup),
    ];
    for job in &mut jobs {
        job["catchUp"] = json!(false);
    }
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    for id in ["report", "disk", "watch", "pills"] {
        wait_for_run(&scene.home, id, 1, "ok");
    }
    let at_night = [
        "The report.",
        "disk full",
        "The door is open.",
        "pills",
        "The job backup failed: Exit",
    ];
    for words in at_night {
        scene.wait_for(words);
    }
    fs::write(scene.home.workspace("works"), "").unwrap();
    clock.set("2027-03-02T07:30:00Z");
    scene.wait_for("The job backup works again.");
    gateway.stop().ends_with(0);
    let calls = scene.telegram.calls("sendMessage");
    for call in &calls {
        let is_silent = call["disable_notification"] == true;
        let text = call["text"]
            .to_string()
            .replace("<b>", "")
            .replace("</b>", "");
        let is_night = at_night.iter().any(|words| text.contains(words));
        assert_eq!(is_silent, is_night, "{text}");
    }
    assert_eq!(calls.len(), 6, "{calls:?}");
}

#[test]
fn a_flood_for_a_chat_that_takes_nothing_holds_up_no_other() {
    let clock = Turned::at(START);
    let mut scene = scene(&clock, |_| panic!("no model is needed"));
    let ben = scene.telegram.person(1002, "Ben", None);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "1002"]));
    let mut jobs: Vec<Value> = (0..300)
        .map(|number| {
            let schedule = at(&clock, MINUTE);
            job(&clock, &format!("a{number}"), schedule, reminder("flood"))
        })
        .collect();
    let mut tea = reminder("tea");
    tea["channel"] = json!("telegram");
    tea["to"] = json!("1002");
    jobs.push(job(&clock, "tea", at(&clock, MINUTE), tea));
    write(&scene.home, &jobs);
    let chat = scene.ana.chat();
    scene
        .telegram
        .fail_in(chat, usize::MAX, Fault::InternalError);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    scene.wait_in(ben.chat(), "tea");
    assert!(scene.texts().is_empty());
    gateway.kill();
}

#[test]
fn a_planned_command_gets_no_more_rights_than_a_typed_one() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let jobs = [
        job(
            &clock,
            "outside",
            at(&clock, MINUTE),
            command("!touch /tmp/outside"),
        ),
        job(
            &clock,
            "not",
            at(&clock, MINUTE),
            command("! test -e nothing && echo none"),
        ),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    wait_for_run(&scene.home, "outside", 1, "error");
    wait_for_run(&scene.home, "not", 1, "ok");
    scene.wait_for("none");
    let told = scene.wait_for("The job outside failed").text;
    assert!(
        told.contains("no one is asked about a command that is planned"),
        "{told}"
    );
    gateway.stop().ends_with(0);
}

#[test]
fn the_conversation_of_a_job_goes_with_it() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("The news."));
    let mut once = job(&clock, "once", at(&clock, MINUTE), turn("once"));
    once["deleteAfterRun"] = json!(true);
    let mut given = turn("summary");
    given["sessionKey"] = json!("cron:daily");
    let jobs = [
        job(&clock, "news", at(&clock, MINUTE), turn("news")),
        job(&clock, "kept", at(&clock, MINUTE), turn("kept")),
        job(&clock, "summary", at(&clock, MINUTE), given),
        once,
    ];
    write(&scene.home, &jobs);
    let has = |id: &str| {
        let sessions = scene.home.path().join("sessions");
        sessions.join(format!("cron_{id}.jsonl")).exists()
    };
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    wait_for_count(&scene, "The news.", 4);
    wait_for_run(&scene.home, "summary", 1, "ok");
    let typed = ["agent", "-s", "cron:notes", "-m", "remember this"];
    Program::new(&scene.home).args(typed).run().ends_with(0);
    wait_until("that of the job that was removed after its run", || {
        !has("once")
    });
    wait_for_run(&scene.home, "kept", 1, "ok");
    wait_for_run(&scene.home, "news", 1, "ok");
    assert!(has("news") && has("kept"));
    cron_command(&scene, &["remove", "news"]);
    wait_until("that of the job that a person removed", || !has("news"));
    assert!(has("kept") && has("daily") && has("notes"));
    gateway.stop().ends_with(0);
}

#[test]
fn a_job_in_the_conversation_of_a_chat_plans_nothing() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        let last = request.messages().last().unwrap();
        let said = last["content"].to_string();
        let again = json!({"action": "add", "when": "every 2h", "message": "again"});
        match last["role"] == "tool" {
            true if said.contains("cannot plan") => {
                call("watch", json!({"action": "add", "rule": "load > 4"}))
            }
            true => say("The news."),
            false => call("cron", again),
        }
    });
    let mut given = turn("read the news");
    given["sessionKey"] = json!("telegram:1001");
    write(
        &scene.home,
        &[job(&clock, "news", at(&clock, MINUTE), given)],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    wait_for_count(&scene, "The news.", 1);
    let results = scene.model.tool_results();
    assert!(results[0].contains("cannot plan, change"), "{results:?}");
    assert!(results[1].contains("cannot change watches"), "{results:?}");
    let listed = cron_command(&scene, &["list"]);
    assert!(!listed.contains("again"), "{listed}");
    gateway.stop().ends_with(0);
}

#[test]
fn nothing_is_done_for_someone_who_has_no_access_any_more() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("The news."));
    let bob = scene.telegram.person(3003, "Bob", None);
    let planned = |id: &str, payload: Value, person: &str| {
        let mut job = job(&clock, id, every(HOUR), payload);
        job["plannedBy"] = json!({"id": person});
        job["payload"]["channel"] = json!("telegram");
        job["payload"]["to"] = json!(person);
        job
    };
    let jobs = [
        planned("bobs", reminder("bob's"), "3003"),
        planned("turn", turn("news"), "3003"),
        planned("line", command("echo line"), "3003"),
        planned("anas", reminder("ana's"), "1001"),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_count(&scene, "ana's", 1);
    for id in ["bobs", "turn", "line"] {
        wait_for_run(&scene.home, id, 1, "skipped");
    }
    let history = cron_command(&scene, &["history", "turn"]);
    assert!(history.contains("has no access any more"), "{history}");
    let run = cron_command_fails(&scene, &["run", "turn"]);
    assert!(run.contains("has no access any more"), "{run}");
    gateway.stop().ends_with(0);
    assert!(scene.model.requests().is_empty());
    assert!(scene.telegram.messages(bob.chat()).is_empty());
}
