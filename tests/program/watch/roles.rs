//! Whose watch it is decides what it may do.

use super::*;

/// A model that adds a watch, and goes outside the sandbox when it is asked to.
fn acting(request: &crate::harness::model::Request) -> Step {
    let last = request.messages().last().unwrap();
    let said = last["content"].to_string();
    let is_tool = last["role"] == "tool";
    match () {
        () if is_tool => say("done"),
        () if said.contains("watch the load") => call(
            "watch",
            json!({"action": "add", "rule": "load > 4 then ask go outside"}),
        ),
        () if said.contains("go outside") => call(
            "exec",
            json!({"command": "true outside", "escalate": true, "reason": "r"}),
        ),
        () => say("nothing to do"),
    }
}

#[test]
fn the_watch_of_a_user_runs_nothing_outside_under_what_an_owner_has_allowed() {
    let mut scene = Scene::answering(acting)
        .set("roles", json!({"2002": "user"}))
        .set("groupPolicy", json!("open"));
    let (board, clock) = (Board::new(), Turned::at(MORNING));
    scene.home.turn(&clock);
    scene.home.watch_board(board.0.path());
    let bob = scene.telegram.person(2002, "Bob", None);
    let group = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    greet(&scene);
    scene.ana.says_in(group, "go outside");
    scene
        .ana
        .presses_in(group, "Allow everything for 10 minutes");
    scene.model.wait_for_requests(2);
    bob.says_in(group, "watch the load");
    scene.model.wait_for_requests(4);
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    let alarm = scene.wait_in(group, "load 8.00 (over 4)");
    assert!(labels(&alarm).is_empty(), "the buttons are an owner's");
    scene.model.wait_for_requests(6);
    // He cannot remove it by a command, and an owner can.
    scene.ana.says("/watch");
    scene.wait_for("1. load > 4 then ask go outside, told to telegram:-900");
    scene.ana.says("/watch remove 1");
    scene.wait_for("Removed: load > 4");
    gateway.stop().ends_with(0);
    let decisions: Vec<String> = scene
        .audit()
        .iter()
        .map(|record| record["decision"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        decisions,
        [
            "allowed, with everything for 10 minutes",
            "denied: no one to ask"
        ]
    );
    assert!(
        !scene.texts().iter().any(|text| text.contains("Run this")),
        "no owner is asked elsewhere: {:?}",
        scene.texts()
    );
}

/// A model that plans what the owner wants, and that does in the turn of a watch what a line of the file wants.
fn obeying(request: &crate::harness::model::Request) -> Step {
    let last = request.messages().last().unwrap();
    let said = last["content"].to_string();
    let calls = |action: serde_json::Value| call("cron", action);
    let is_after = |words: &str| said.contains(words);
    match last["role"] == "tool" {
        true if is_after("Only an owner") => {
            calls(json!({"action": "edit", "job": "pills", "message": "pay"}))
        }
        true if is_after("cannot plan") => call("watch", json!({"action": "remove", "id": 1})),
        true => say("done"),
        false if is_after("plan the pills") => calls(json!({
            "action": "add", "when": "every day at 7:00", "message": "take the pills", "name": "pills",
        })),
        false => calls(json!({"action": "remove", "job": "pills"})),
    }
}

#[test]
fn a_line_of_a_watched_file_changes_no_job_and_no_watch_of_the_owner() {
    let mut scene = Scene::answering(obeying);
    let (board, clock) = (Board::new(), Turned::at(MORNING));
    scene.home.turn(&clock);
    scene.home.watch_board(board.0.path());
    let gateway = scene.start();
    greet(&scene);
    scene.ana.says("plan the pills");
    scene.wait_for("done");
    add(&scene, "load > 4 then ask look at it", "0.10");
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.model.wait_for_requests(6);
    let requests = scene.model.requests();
    let answers: Vec<String> = requests[3..]
        .iter()
        .map(|request| request.messages().last().unwrap()["content"].to_string())
        .collect();
    for (answer, said) in answers.iter().zip([
        "Only an owner, or the person who planned it",
        "cannot plan, change or start jobs",
        "only an owner can remove it",
    ]) {
        assert!(answer.contains(said), "{answer}");
    }
    scene.ana.says("/watch");
    scene.wait_for("1. load > 4 then ask look at it");
    let listed = Program::new(&scene.home).args(["cron", "list"]).run();
    let listed = listed.ends_with(0).stdout;
    assert!(listed.contains("pills"), "{listed}");
    gateway.stop().ends_with(0);
}

#[test]
fn who_has_lost_access_is_told_nothing_and_runs_nothing() {
    let (mut scene, board, clock) = scene([]);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "@ben"]));
    let ben = scene.telegram.person(1002, "Ben", Some("ben"));
    let gateway = scene.start();
    ben.says("/watch load > 4 then run touch ran-for-ben");
    scene.wait_in(ben.chat(), "number 1");
    add(&scene, "load > 5", "0.10");
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_in(ben.chat(), "Watch 1 ran");
    board.write("proc/loadavg", "0.10 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_in(ben.chat(), "back to 0.10");
    fs::remove_file(scene.home.workspace("ran-for-ben")).unwrap();
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "@other"]));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    board.write("proc/loadavg", "9.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("load 9.00 (over 5)");
    scene.ana.says("/watch");
    scene.wait_for("told to telegram:1002");
    scene.ana.says("/watch remove 1");
    scene.wait_for("Removed: load > 4");
    // The number is not given to another one.
    add(&scene, "load > 6", "🔴 9.00");
    scene.wait_for("(number 3)");
    gateway.stop().ends_with(0);
    assert!(!scene.home.workspace("ran-for-ben").exists());
    let told = scene.texts_in(ben.chat());
    assert!(!told.iter().any(|text| text.contains("9.00")), "{told:?}");
}
