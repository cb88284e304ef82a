//! Where results go, and what disturbs no one.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::*;
use crate::harness::model::{Gate, error, say};
use crate::harness::program::Program;
use crate::harness::telegram::BOT_NAME;

/// The results in the workspace, by name.
fn results(scene: &Scene) -> Vec<(String, String)> {
    let folder = fs::read_dir(scene.home.workspace("cron"));
    let mut found: Vec<_> = folder
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let text = fs::read_to_string(entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), text)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn a_result_goes_to_a_file_to_the_chat_to_both_or_nowhere() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |request| {
        let asked = request.body.to_string();
        let names = ["file", "chat", "both", "none"];
        let name = names
            .into_iter()
            .find(|name| asked.contains(&format!("for {name}")));
        say(&format!("Result {}.", name.unwrap()))
    });
    let jobs: Vec<_> = ["file", "chat", "both", "none"]
        .into_iter()
        .map(|deliver| {
            let mut payload = turn(&format!("for {deliver}"));
            payload["deliver"] = json!(deliver);
            job(&clock, deliver, at(&clock, MINUTE), payload)
        })
        .collect();
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    for deliver in ["file", "chat", "both", "none"] {
        wait_for_run(&scene.home, deliver, 1, "ok");
    }
    scene.wait_for("Result chat.");
    scene.wait_for("Result both.");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 2, "{:?}", scene.texts());
    let expected = ["both", "file"].map(|name| {
        (
            format!("{name}-2027-03-01-070100.md"),
            format!("Result {name}.\n"),
        )
    });
    assert_eq!(results(&scene), expected);
}

#[test]
fn a_job_of_the_terminal_is_for_an_owner_and_not_for_the_group_that_wrote_last() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("Hello, all."));
    let home = scene.telegram.group(-1_005, "Home");
    let gateway = scene.start();
    scene.ana.says("/cron");
    scene.wait_for("No jobs");
    scene.ana.says_in(home, &format!("@{BOT_NAME} hello"));
    scene.wait_in(home, "Hello, all.");
    gateway.stop().ends_with(0);
    let add = ["cron", "add", "in 1m", "echo s3same", "--command"];
    let added = Program::new(&scene.home).args(add).run().ends_with(0);
    assert!(
        added.stdout.contains("result to  telegram:1001"),
        "{added:?}"
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    scene.wait_for("s3same");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts_in(home), ["Hello, all."]);
}

#[test]
fn a_job_of_the_terminal_goes_to_the_chat_that_was_printed_whoever_writes_until_then() {
    let clock = Turned::at(START);
    let scene =
        scene(&clock, |_| panic!("no model is needed")).set("allowFrom", json!(["1001", "2002"]));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    scene.ana.says("/cron");
    scene.wait_for("No jobs");
    let add = ["cron", "add", "in 1m", "echo s3same", "--command"];
    let added = Program::new(&scene.home).args(add).run().ends_with(0);
    assert!(
        added.stdout.contains("result to  telegram:1001\n"),
        "{added:?}"
    );
    bob.says("/id");
    scene.wait_in(bob.chat(), "2002");
    clock.forward(MINUTE);
    scene.wait_for("s3same");
    gateway.stop().ends_with(0);
    assert!(!scene.texts_in(bob.chat()).join("").contains("s3same"));
}

/// Before an owner has written there is nobody whom it is for.
#[test]
fn the_result_of_a_job_without_a_chat_goes_to_no_user_and_a_reminder_waits_for_an_owner() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"))
        .set("allowFrom", json!(["1001", "2002"]))
        .set("roles", json!({"2002": "user"}));
    fs::remove_file(scene.home.path().join("state/owner.json")).unwrap();
    let bob = scene.telegram.person(2002, "Bob", None);
    let planned = [
        job(&clock, "a", at(&clock, MINUTE), command("echo s3same")),
        job(&clock, "b", at(&clock, MINUTE), reminder("s3same")),
    ];
    write(&scene.home, &planned);
    let gateway = scene.start();
    bob.says("/id");
    scene.wait_in(bob.chat(), "2002");
    clock.forward(MINUTE);
    wait_until("a run", || !runs(&scene.home, "a").is_empty());
    bob.says("/id again");
    wait_until("another answer", || scene.texts_in(bob.chat()).len() == 2);
    assert!(runs(&scene.home, "b").is_empty());
    scene.ana.says("/id");
    scene.wait_in(scene.ana.chat(), "s3same");
    gateway.stop().ends_with(0);
    assert!(!scene.texts_in(bob.chat()).join("").contains("s3same"));
}

#[test]
fn only_the_last_results_are_kept_and_other_files_stay() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let mut payload = command("echo result");
    payload["deliver"] = json!("file");
    write(&scene.home, &[job(&clock, "log", every(HOUR), payload)]);
    let folder = scene.home.workspace("cron");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("log-notes.md"), "mine").unwrap();
    for day in 1..=25 {
        fs::write(
            folder.join(format!("log-2027-02-{day:02}-070000.md")),
            "old",
        )
        .unwrap();
    }
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "log", 1, "ok");
    gateway.stop().ends_with(0);
    let found = results(&scene);
    assert_eq!(found.len(), 21, "20 results and the note");
    assert!(found.contains(&("log-notes.md".to_owned(), "mine".to_owned())));
    assert!(found.contains(&("log-2027-03-01-080000.md".to_owned(), "result\n".to_owned())));
}

#[test]
fn a_result_takes_no_other_files_place_whatever_links_are_there() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| panic!("no model is needed"));
    let mut payload = command("echo evil");
    payload["deliver"] = json!("file");
    write(&scene.home, &[job(&clock, "log", every(HOUR), payload)]);
    let at = |path: &str| scene.home.workspace(path);
    fs::create_dir(at("cron")).unwrap();
    fs::create_dir_all(at("memory")).unwrap();
    fs::write(at("deploy.sh"), "echo good\n").unwrap();
    // The name of a result can be foreseen.
    symlink("../deploy.sh", at("cron/log-2027-03-01-080000.md")).unwrap();
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "log", 1, "error");
    fs::remove_dir_all(at("cron")).unwrap();
    symlink("memory", at("cron")).unwrap();
    clock.forward(HOUR);
    wait_for_run(&scene.home, "log", 2, "error");
    assert_eq!(fs::read_to_string(at("deploy.sh")).unwrap(), "echo good\n");
    assert_eq!(fs::read_dir(at("memory")).unwrap().count(), 0);
    fs::remove_file(at("cron")).unwrap();
    clock.forward(HOUR);
    wait_for_run(&scene.home, "log", 3, "ok");
    gateway.stop().ends_with(0);
    assert_eq!(results(&scene)[0].1, "evil\n");
    let told = scene.texts().join("\n");
    assert!(told.contains("Remove the link"), "{told}");
}

#[test]
fn a_result_waits_for_a_command_outside_the_sandbox() {
    let clock = Turned::at(START);
    let outside = tempfile::tempdir().unwrap();
    let at = |name: &str| outside.path().join(name);
    let scene = scene(&clock, |_| say("all is well"));
    let mut payload = turn("look");
    payload["deliver"] = json!("file");
    write(
        &scene.home,
        &[job(&clock, "log", super::at(&clock, MINUTE), payload)],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let line = format!(
        "touch {}; until [ -e {} ]; do sleep 0.05; done; i=0; until [ -e cron ] || [ $i -eq 30 ]; do sleep 0.1; \
         i=$((i + 1)); done; [ -e cron ] && echo chan''ged || echo cle''an",
        at("begun").display(),
        at("asked").display()
    );
    scene.ana.says(&format!("/sh! {line}"));
    scene.ana.presses("Run once");
    wait_until("the command", || at("begun").exists());
    clock.forward(MINUTE);
    scene.model.wait_for_requests(1);
    fs::write(at("asked"), "").unwrap();
    scene.wait_for("clean");
    wait_for_run(&scene.home, "log", 1, "ok");
    gateway.stop().ends_with(0);
    assert_eq!(results(&scene)[0].1, "all is well\n");
    assert!(!scene.texts().join("\n").contains("changed"));
}

#[test]
fn an_answer_that_says_nothing_disturbs_no_one() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| say("NO_REPLY"));
    let jobs = [
        job(&clock, "watch", at(&clock, MINUTE), turn("anything new?")),
        job(&clock, "quiet", at(&clock, MINUTE), command("true")),
    ];
    write(&scene.home, &jobs);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    wait_for_run(&scene.home, "watch", 1, "ok");
    wait_for_run(&scene.home, "quiet", 1, "ok");
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts(), Vec::<String>::new());
}

#[test]
fn a_job_that_fails_is_told_once_and_again_when_it_works() {
    let clock = Turned::at(START);
    let scene = scene(&clock, |_| error(401, "bad key"));
    let line = "test -e works || { echo no disk; exit 3; }";
    let mut backup = job(&clock, "backup", every(HOUR), command(line));
    backup["payload"]["deliver"] = json!(false);
    let model = job(&clock, "model", every(HOUR), turn("work"));
    write(&scene.home, &[backup, model]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    for run in 1..=3 {
        clock.forward(HOUR);
        wait_for_run(&scene.home, "backup", run, "error");
        wait_for_run(&scene.home, "model", run, "error");
    }
    fs::write(scene.home.workspace("works"), "").unwrap();
    clock.forward(HOUR);
    wait_for_run(&scene.home, "backup", 4, "ok");
    scene.wait_for("The job model failed: ");
    scene.wait_for("The job backup works again.");
    gateway.stop().ends_with(0);
    let texts = scene.texts();
    let count = |words: &str| texts.iter().filter(|text| text.contains(words)).count();
    assert_eq!(count("The job backup failed: "), 1, "{texts:?}");
    assert_eq!(count("The job model failed: "), 1, "{texts:?}");
    assert_eq!(texts.len(), 3, "{texts:?}");
}

#[test]
fn a_spent_budget_refuses_with_a_recorded_reason() {
    let clock = Turned::at(START);
    let mut scene = scene(&clock, |_| panic!("the budget is spent"));
    scene.home.set("/limits", json!({"tokensPerDay": 10}));
    let usage = json!({"day": "2027-03-01", "models": {"fake/m": {"input": 100, "output": 1}}});
    fs::write(
        scene.home.path().join("state/usage.json"),
        usage.to_string(),
    )
    .unwrap();
    write(
        &scene.home,
        &[job(&clock, "news", at(&clock, MINUTE), turn("news"))],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    wait_for_run(&scene.home, "news", 1, "error");
    scene.wait_for("Daily token limit reached");
    gateway.stop().ends_with(0);
    let log = fs::read_to_string(scene.home.path().join("cron/runs.jsonl")).unwrap();
    assert!(log.contains("Daily token limit reached"), "{log}");
}

#[test]
fn quiet_hours_hold_back_what_goes_to_a_chat() {
    let clock = Turned::at("2027-03-01T22:30:00Z");
    let mut scene = scene(&clock, |_| panic!("no model is needed"));
    scene
        .home
        .set("/cron", json!({"quietHours": "22:00-07:00"}));
    let mut backup = job(&clock, "backup", at(&clock, HOUR), command("touch done"));
    backup["payload"]["deliver"] = json!(false);
    let tea = job(&clock, "tea", at(&clock, HOUR), reminder("tea"));
    write(&scene.home, &[backup, tea]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "backup", 1, "ok");
    assert!(scene.home.workspace("done").exists());
    clock.forward(7 * HOUR);
    assert!(scene.texts().is_empty() && statuses(&scene.home, "tea").is_empty());
    clock.forward(HOUR);
    let tea = scene.wait_for("tea").text;
    assert!(tea.contains("23:30") && tea.contains("8 h"), "{tea}");
    wait_for_run(&scene.home, "tea", 1, "ok");
    gateway.stop().ends_with(0);
}

#[test]
fn a_turn_in_a_chat_waits_for_the_person_and_can_be_stopped() {
    let clock = Turned::at(START);
    let gate = Gate::default();
    let opened = gate.clone();
    let scene = scene(&clock, move |_| say("Never said.").after(&opened));
    let mut payload = turn("long work");
    payload["sessionKey"] = json!("telegram:1001");
    write(
        &scene.home,
        &[job(&clock, "long", at(&clock, MINUTE), payload)],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(MINUTE);
    scene.model.wait_for_requests(1);
    scene.ana.says("/stop");
    scene.wait_for("Stopped");
    wait_for_run(&scene.home, "long", 1, "skipped");
    gate.open();
    gateway.stop().ends_with(0);
    assert_eq!(scene.texts().len(), 1, "{:?}", scene.texts());
}

#[test]
fn without_a_channel_jobs_run() {
    let clock = Turned::at(START);
    let mut scene = scene(&clock, |_| say("unused"));
    scene.home.set("/channels/telegram/enabled", json!(false));
    let mut disk = command("echo disk");
    disk["deliver"] = json!("file");
    write(
        &scene.home,
        &[job(&clock, "disk", cron("0 8 * * 1#1"), disk)],
    );
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    clock.forward(HOUR);
    wait_for_run(&scene.home, "disk", 1, "ok");
    gateway.stop().ends_with(0);
    assert!(results(&scene)[0].1.contains("disk"));
}
