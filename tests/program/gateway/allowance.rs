//! What an owner allows beyond one command: everything for 10 minutes, and patterns.

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, Step, call, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

/// A model that runs what it is told after "run:", outside the sandbox.
fn obeying(request: &Request) -> Step {
    let last = request.messages().last().unwrap();
    let said = last["content"].to_string();
    match (last["role"].as_str(), said.split_once("run: ")) {
        (Some("tool"), _) | (_, None) => say("done"),
        (_, Some((_, command))) => {
            let command = command.trim_end_matches(['"', ']', '}']);
            call(
                "exec",
                json!({"command": command, "escalate": true, "reason": "r"}),
            )
        }
    }
}

fn decisions(scene: &Scene) -> Vec<String> {
    let records: Vec<Value> = scene.audit();
    let decision = |record: &Value| record["decision"].as_str().map(str::to_owned);
    records.iter().filter_map(decision).collect()
}

#[test]
fn everything_is_allowed_for_a_while_and_can_be_revoked() {
    let scene = Scene::answering(obeying);
    let gateway = scene.start();
    scene.ana.says("run: true 1");
    scene.ana.presses("Allow everything for 10 minutes");
    scene.wait_for("✓ Everything allowed for 10 minutes by Ana");
    scene.model.wait_for_requests(2);
    let shown = scene.wait_for("Time left: 10 min");
    assert!(shown.markup.is_some(), "there is a button");
    scene.ana.says("run: true 2");
    scene.model.wait_for_requests(4);
    scene.ana.says("/sh! true 3");
    scene.wait_for("no output");
    scene.ana.says("/approvals");
    scene.wait_for("Everything is allowed here for another 10 min.");
    // What would stop the board is asked about all the same.
    scene.ana.says("run: systemctl poweroff");
    scene.wait_for_question("poweroff");
    scene.ana.presses("Deny");
    scene.model.wait_for_requests(6);
    scene.ana.presses("Revoke");
    scene.wait_for("Revoked. I'll ask again");
    scene.ana.says("run: true 4");
    scene.wait_for_question("true 4");
    scene.ana.presses("Run once");
    scene.model.wait_for_requests(8);
    gateway.stop().ends_with(0);
    let under = "allowed with everything for 10 minutes";
    let first = "allowed, with everything for 10 minutes";
    assert_eq!(
        decisions(&scene),
        [first, under, under, "denied", "allowed once"]
    );
    let left = scene.texts();
    assert!(
        left.iter().all(|text| !text.contains("Time left")),
        "{left:?}"
    );
}

#[test]
fn what_is_typed_into_a_running_command_is_asked_about_when_it_is_risky() {
    let scene = Scene::answering(|request| {
        let last = request.messages().last().unwrap();
        let said = last["content"].to_string();
        let write = |input: &str| {
            let arguments = json!({"action": "write", "session_id": 1, "input": input});
            call("exec_session", arguments)
        };
        match last["role"].as_str() {
            Some("tool") => say("done"),
            _ if said.contains("begin") => call(
                "exec",
                json!({"command": "cat", "escalate": true, "background": true, "reason": "r"}),
            ),
            _ if said.contains("first") => write("hello\nre"),
            _ if said.contains("second") => write("boot\n"),
            _ => call("exec_session", json!({"action": "kill", "session_id": 1})),
        }
    });
    let gateway = scene.start();
    scene.ana.says("begin");
    scene.ana.presses("Allow everything for 10 minutes");
    scene.model.wait_for_requests(2);
    scene.ana.says("first");
    scene.model.wait_for_requests(4);
    scene.ana.says("second");
    let asked = scene.wait_for_question("reboot");
    assert!(
        !format!("{:?}", asked.markup).contains("Always"),
        "{asked:?}"
    );
    scene.ana.presses("Deny");
    scene.model.wait_for_requests(6);
    scene.ana.says("end it");
    scene.model.wait_for_requests(8);
    gateway.stop().ends_with(0);
    let under = "allowed with everything for 10 minutes";
    assert_eq!(
        decisions(&scene),
        ["allowed, with everything for 10 minutes", under, "denied"]
    );
}

/// While it runs there, the agent could put a link in the place of the folder.
#[test]
fn a_folder_of_the_agent_is_not_handed_to_a_command_in_the_background() {
    let scene = Scene::answering(|request| {
        let last = request.messages().last().unwrap();
        let arguments = json!({
            "command": "sleep 1; chmod 777 sub", "escalate": true, "background": true, "reason": "r",
        });
        match last["role"].as_str() {
            Some("tool") => say("done"),
            _ => call("exec", arguments),
        }
    });
    std::fs::create_dir(scene.home.workspace("sub")).unwrap();
    let gateway = scene.start();
    scene.ana.says("begin");
    scene.wait_for("done");
    gateway.stop().ends_with(0);
    let told = scene.model.tool_results();
    assert!(told[0].contains("run it in the foreground"), "{told:?}");
}

#[test]
fn it_ends_with_its_time_and_with_a_restart() {
    let scene = Scene::answering(obeying);
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_ALLOWANCE_SECS", "4"));
    scene.ana.says("run: true 1");
    scene.ana.presses("Allow everything for 10 minutes");
    scene.wait_for("The 10 minutes are over.");
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    scene.ana.says("run: true 2");
    scene.ana.presses("Allow everything for 10 minutes");
    scene.model.wait_for_requests(4);
    scene.wait_for("Time left: 10 min");
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    scene.wait_for("The restart has ended the 10 minutes.");
    scene.ana.says("run: true 3");
    scene.wait_for_question("true 3");
    gateway.stop().ends_with(0);
}

#[test]
fn a_pattern_allows_what_matches_it_and_nothing_else() {
    let scene = Scene::answering(obeying);
    let gateway = scene.start();
    for line in ["git pull", "unbuffer *", "lscpu -sva"] {
        scene.ana.says(&format!("/approvals add {line}"));
    }
    wait_until("three refusals", || {
        let texts = scene.texts();
        texts
            .iter()
            .filter(|text| text.contains("would not be used"))
            .count()
            == 3
    });
    scene.ana.says("/approvals add true *");
    scene.wait_for("as number 1: true *");
    scene.ana.says("run: true a");
    scene.model.wait_for_requests(2);
    for (number, command) in ["true a b", "true a; id", "true $HOME", "true -x"]
        .iter()
        .enumerate()
    {
        scene.ana.says(&format!("run: {command}"));
        scene.wait_for_question(command);
        scene.ana.presses("Deny");
        scene.model.wait_for_requests(4 + 2 * number);
    }
    let list = Program::new(&scene.home)
        .args(["approvals"])
        .run()
        .ends_with(0);
    assert!(list.stdout.contains("true *"), "{}", list.stdout);
    let revoke = ["approvals", "revoke", "1"];
    Program::new(&scene.home).args(revoke).run().ends_with(0);
    let add = ["approvals", "add", "df", "-h"];
    let added = Program::new(&scene.home).args(add).run().ends_with(0);
    assert_eq!(
        added.stdout,
        "Always allowed for telegram:1001: df -h (number 1)\n"
    );
    scene.ana.says("run: df -h");
    scene.model.wait_for_requests(12);
    gateway.stop().ends_with(0);
    let allowed = decisions(&scene);
    assert_eq!(allowed.first().unwrap(), "allowed by a pattern");
    assert_eq!(allowed.last().unwrap(), "allowed by a pattern");
    assert_eq!(allowed.iter().filter(|one| *one == "denied").count(), 4);
}

#[test]
fn a_user_takes_no_part_in_what_an_owner_allows_in_a_group() {
    let scene = Scene::answering(obeying)
        .set("roles", json!({"2002": "user"}))
        .set("groupPolicy", json!("open"));
    let bob = scene.telegram.person(2002, "Bob", None);
    let group = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("owner");
    scene.ana.says_in(group, "run: true 1");
    scene
        .ana
        .presses_in(group, "Allow everything for 10 minutes");
    scene.model.wait_for_requests(2);
    bob.says_in(group, "run: true 2");
    let asked = scene.wait_for("\"Bob\"");
    assert!(!asked.text.is_empty());
    scene.ana.presses("Deny");
    scene.model.wait_for_requests(4);
    gateway.stop().ends_with(0);
    // Nor in what stands: a command that is allowed always, and a pattern.
    let gateway = scene.start();
    scene.wait_in(group, "The restart has ended the 10 minutes.");
    scene.ana.says_in(group, "run: true 3");
    scene.ana.presses_in(group, "Always this command");
    scene.model.wait_for_requests(6);
    let add = ["approvals", "add", "--chat", "telegram:-900", "df", "-h"];
    Program::new(&scene.home).args(add).run().ends_with(0);
    for (count, command) in [(8, "true 3"), (12, "df -h")] {
        scene.ana.says_in(group, &format!("run: {command}"));
        scene.model.wait_for_requests(count);
        bob.says_in(group, &format!("run: {command}"));
        scene.wait_for_question(command);
        scene.ana.presses("Deny");
        scene.model.wait_for_requests(count + 2);
    }
    gateway.stop().ends_with(0);
    let expected = [
        "denied",
        "allowed always",
        "allowed by a standing approval",
        "denied",
        "allowed by a pattern",
        "denied",
    ];
    assert_eq!(decisions(&scene)[1..], expected);
}

#[test]
fn what_everything_was_allowed_by_ends_with_a_change_of_access() {
    let mut scene = Scene::answering(obeying)
        .set("roles", json!({"2002": "owner"}))
        .set("groupPolicy", json!("open"));
    let bob = scene.telegram.person(2002, "Bob", None);
    let group = scene.telegram.group(-900, "Home");
    let gateway = scene.start();
    scene.ana.says_in(group, "run: true 1");
    scene.wait_in(group, "true 1");
    bob.presses_in(group, "Allow everything for 10 minutes");
    scene.model.wait_for_requests(2);
    scene.ana.says_in(group, "run: true 2");
    scene.model.wait_for_requests(4);
    scene
        .home
        .set("/channels/telegram/roles", json!({"2002": "user"}));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    scene.ana.says_in(group, "run: true 3");
    scene.ana.presses_in(group, "Deny");
    scene.model.wait_for_requests(6);
    gateway.stop().ends_with(0);
    assert_eq!(decisions(&scene).last().unwrap(), "denied");
}

/// What a user has left running neither keeps an owner from a command outside the sandbox nor changes what it reads.
#[test]
fn an_owner_does_not_wait_for_what_runs_for_users() {
    let background = |command: &str| {
        let arguments = json!({"command": command, "background": true});
        call("exec", arguments)
    };
    for (command, variables) in [
        ("sleep 100000", &[("PEACRAB_TEST_NO_FREEZER", "1")][..]),
        ("while :; do date +%N >ticking; done", &[]),
    ] {
        let scene = Scene::playing([background(command), say("It runs.")])
            .set("roles", json!({"2002": "user"}));
        let bob = scene.telegram.person(2002, "Bob", None);
        let mut program = Program::new(&scene.home).arg("gateway");
        for (name, value) in variables {
            program = program.env(name, value);
        }
        let gateway = Gateway::of(program);
        bob.says("go on for long");
        scene.wait_in(bob.chat(), "It runs.");
        // The second time nothing runs any more.
        let is_done = |scene: &Scene| scene.texts().join("\n").contains("done: 42");
        for _ in 0..2 {
            if is_done(&scene) {
                break;
            }
            let told = scene.texts().len();
            scene.ana.says("/sh! echo done: $((6 * 7))");
            scene.ana.presses("Run once");
            wait_until("an answer", || {
                let texts = scene.texts();
                let news = texts.get(told..).unwrap_or_default().join("\n");
                news.contains("done: 42") || news.contains("send it again")
            });
        }
        assert!(is_done(&scene), "{command}: {:?}", scene.texts());
        gateway.stop().ends_with(0);
    }
}
