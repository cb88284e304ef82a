//! What a shell leaves running, who may write to a command, and output that is no text.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::say;
use crate::harness::program::Program;
use crate::harness::telegram::Message;

/// Sends a command and waits for the answer.
fn asks(scene: &Scene, typed: &str, expected: &str) -> Message {
    let said = scene.ana.says(typed);
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.id > said.message && message.text.contains(expected)
        })
}

#[test]
fn a_person_who_is_no_owner_any_more_writes_to_no_command() {
    let mut scene = Scene::playing([say("Only words.")])
        .set("streamEditIntervalMs", json!(300))
        .set("roles", json!({"2002": "owner"}));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    bob.says("/sh echo ready; read x; echo \"x=$x\"");
    let draft = scene.wait_in(bob.chat(), "\nready");
    scene
        .home
        .set("/channels/telegram/roles", json!({"2002": "user"}));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    bob.replies(bob.chat(), draft.id, "reboot");
    scene.wait_in(bob.chat(), "Only words.");
    gateway.stop().ends_with(0);
    let texts = scene.texts_in(bob.chat()).join("\n");
    assert!(!texts.contains("x=reboot"), "{texts}");
    assert!(scene.asked(0).contains("reboot"));
}

#[test]
fn a_command_that_waits_for_an_approval_takes_no_input_and_is_not_listed() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_EVERY_COMMAND_IS_LONG", "1"));
    scene.ana.says("/sh echo ready; read a; echo \"a=$a\"");
    scene.wait_for("\nready");
    asks(&scene, "/sh! cat", "outside the sandbox");
    let listed = asks(&scene, "/bg", "1: ");
    assert!(!listed.text.contains("2: "), "{}", listed.text);
    asks(&scene, "/in Ann", "a=Ann");
    asks(&scene, "/bg", "Nothing is running here.");
    scene.ana.presses("Deny");
    scene.wait_for("✗ Denied by");
    gateway.stop().ends_with(0);
}

#[test]
fn a_stop_ends_what_the_line_has_started_and_nothing_else() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let gateway = scene.start();
    let job =
        "(read x <go; sh -c 'echo up >up; read z <end' && echo fine >ended || echo hurt >ended) &";
    asks(
        &scene,
        &format!("/sh mkfifo go up end ended; A=kept; {job}"),
        "Done",
    );
    // One that makes children which outlive it.
    asks(
        &scene,
        "/sh while :; do (sleep 0.05 &); sleep 0.01; done &",
        "Done",
    );
    // What the first one starts now has come after the line.
    scene
        .ana
        .says("/sh echo x >go; read y <up; echo begun; sleep 600");
    scene.wait_for("\nbegun");
    scene.ana.says("/stop");
    scene.wait_for("Stopped. 1 command ended.");
    let stopped = scene.wait_for("\nstopped");
    assert!(
        !stopped.text.contains("had to be ended"),
        "{}",
        stopped.text
    );
    asks(
        &scene,
        "/sh echo z >end & cat ended; echo $A",
        "\nfine\nkept",
    );
    // With nothing else to stop, it is about what was left.
    asks(&scene, "/stop", "background");
    asks(&scene, "/bg", "Nothing is running here.");
    asks(&scene, "/sh echo $A", "\nkept");
    gateway.stop().ends_with(0);
}

/// Seconds of processor time that a process has used.
fn processor_time(pid: u32) -> f64 {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = line.rsplit(')').next().unwrap().split(' ').collect();
    let ticks: f64 = fields[12..14]
        .iter()
        .map(|field| field.parse::<f64>().unwrap())
        .sum();
    ticks / 100.0
}

#[test]
fn what_writes_without_end_in_the_background_costs_little_and_can_be_ended() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    asks(&scene, "/sh yes everything &", "$ yes");
    let before = processor_time(gateway.id());
    std::thread::sleep(Duration::from_secs(4));
    let used = processor_time(gateway.id()) - before;
    assert!(used < 0.4, "{used} s of processor time in 4 s");
    let said = scene.ana.says("/bg");
    let listed = scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.id > said.message && message.text.contains("yes everything")
        });
    let lines = listed.text.lines().filter(|line| *line == "everything");
    assert!((1..=15).contains(&lines.count()), "{}", listed.text);
    assert!(listed.text.contains('…'), "{}", listed.text);
    asks(&scene, "/stop", "yes everything");
    let next = asks(&scene, "/bg", "");
    assert!(!next.text.contains("In the background"), "{}", next.text);
    asks(&scene, "/sh echo after", "\nafter");
    gateway.stop().ends_with(0);
    let sent = scene.texts().len();
    assert!(sent <= 6, "{sent} messages");
}

#[test]
fn output_that_is_no_text_is_named_and_comes_as_no_file() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let answer = asks(&scene, "/sh head -c 300000 /dev/urandom", "binary output");
    assert_eq!(
        answer.text,
        "~ $ head -c 300000 /dev/urandom\n(binary output, 300000 bytes)"
    );
    gateway.stop().ends_with(0);
    assert!(scene.telegram.calls("sendDocument").is_empty());
    let left = fs::read_dir(scene.home.workspace(".results"));
    assert_eq!(left.map_or(0, Iterator::count), 0);
}
