//! A changed configuration takes effect while the gateway runs, or says that it needs a restart.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::model::{call, say};
use crate::harness::program::{Output, Program};
use crate::harness::terminal::Terminal;

fn reload(scene: &Scene) -> Output {
    Program::new(&scene.home).arg("reload").run()
}

#[test]
fn a_reload_applies_what_it_can_and_names_what_needs_a_restart() {
    let mut scene = Scene::answering(|request| say(request.body["model"].as_str().unwrap()));
    let bob = scene.telegram.person(2002, "Bob", None);
    let gateway = scene.start();
    scene.ana.says("who are you?");
    scene.wait_for("fake-model");
    scene
        .home
        .set("/agents/defaults/model", json!("other-model"));
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "2002"]));
    scene
        .home
        .set("/channels/telegram/token", json!("1:another"));
    let told = reload(&scene).ends_with(0).stdout;
    assert_eq!(
        told,
        "Applied: agents.defaults.model, channels.telegram.allowFrom\n\
         Applied after the gateway's next restart: channels.telegram.token\n"
    );
    bob.says("and now?");
    scene.wait_in(bob.chat(), "other-model");
    // What needs a restart still does; the rest is done.
    let output = Program::new(&scene.home).args(["reload", "--json"]).run();
    let changes: Value = serde_json::from_str(&output.ends_with(0).stdout).unwrap();
    assert_eq!(
        changes,
        json!({"applied": [], "restart": ["channels.telegram.token"]})
    );
    gateway.stop().ends_with(0);
}

#[test]
fn config_set_is_applied_at_once_or_says_that_a_restart_is_needed() {
    let scene = Scene::answering(|request| say(request.body["model"].as_str().unwrap()));
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    let config = |arguments: &[&str]| {
        let config = Program::new(&scene.home).arg("config").args(arguments);
        config.run().ends_with(0).stdout
    };
    let set = config(&["set", "agents.defaults.model", "other-model"]);
    assert!(
        set.contains("The running gateway uses it from now on."),
        "{set}"
    );
    scene.ana.says("who are you?");
    scene.wait_for("other-model");
    let set = config(&["set", "channels.telegram.token", "1:another"]);
    assert!(set.contains("Restart the gateway to apply this: "), "{set}");
    let unset = config(&["unset", "agents.defaults.model"]);
    assert!(unset.contains("The running gateway uses it"), "{unset}");
    gateway.stop().ends_with(0);
    let set = config(&["set", "agents.defaults.model", "third-model"]);
    assert!(!set.contains("gateway"), "{set}");
}

#[test]
fn an_invalid_configuration_is_refused_and_the_old_one_stays() {
    let scene = Scene::playing([say("Still here.")]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    scene
        .home
        .write_config("{\"tools\": {\"exec\": {\"sandbox\": \"non\"}}}");
    reload(&scene)
        .ends_with(1)
        .complains_of(&["tools.exec.sandbox"]);
    scene.ana.says("are you there?");
    scene.wait_for("Still here.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_hangup_reloads() {
    let mut scene = Scene::answering(|request| say(request.body["model"].as_str().unwrap()));
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    scene
        .home
        .set("/agents/defaults/model", json!("other-model"));
    let process = Pid::from_raw(gateway.id().try_into().unwrap()).unwrap();
    kill_process(process, Signal::HUP).unwrap();
    gateway.wait_for_log("configuration reloaded applied=agents.defaults.model");
    scene.ana.says("who are you?");
    scene.wait_for("other-model");
    gateway.stop().ends_with(0);
}

#[test]
fn a_hangup_reloads_in_a_terminal_that_is_still_there() {
    let scene = Scene::playing([]);
    // The shell keeps the terminal, and tells the gateway's process.
    let line = "echo \"process $$\" >pid; exec \"$PEACRAB\" gateway";
    let mut terminal = Terminal::start_shell(&scene.home, line);
    terminal.wait_for("ready");
    let id = std::fs::read_to_string(scene.home.path().join("pid")).unwrap();
    let id = id.trim().strip_prefix("process ").unwrap().parse().unwrap();
    let process = Pid::from_raw(id).unwrap();
    kill_process(process, Signal::HUP).unwrap();
    terminal.wait_for("configuration reloaded");
    kill_process(process, Signal::TERM).unwrap();
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
}

#[test]
fn without_a_gateway_a_reload_says_so() {
    let scene = Scene::playing([]);
    let output = reload(&scene);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stderr.contains("No gateway is running in"),
        "{output:?}"
    );
}

#[test]
fn a_background_command_outlives_a_reload_and_a_stop_still_ends_it() {
    let command = json!({"command": "sleep 76054322.1", "background": true});
    let mut scene = Scene::playing([call("exec", command), say("It runs.")]);
    let gateway = scene.start();
    scene.ana.says("start it");
    scene.wait_for("It runs.");
    scene.home.set("/agents/defaults/maxTokens", json!(1000));
    reload(&scene).ends_with(0);
    scene.ana.says("/stop");
    scene.wait_for("Stopped. 1 background command was ended: sleep 76054322.1.");
    gateway.stop().ends_with(0);
}

#[test]
fn the_owner_is_told_once_that_part_of_the_configuration_is_ignored() {
    let mut scene = Scene::answering(|request| {
        let message = request.last_message();
        let mut words = ["hi", "first", "second"].into_iter().rev();
        say(&format!(
            "{} it is",
            words.find(|word| message.contains(word)).unwrap()
        ))
    });
    let gateway = scene.start();
    scene.ana.says("hi");
    scene.wait_for("hi it is");
    gateway.stop().ends_with(0);
    scene.home.set("/gateway", json!({"port": 18790}));
    scene.home.set("/log/levle", json!("info"));
    for start in ["first", "second"] {
        let gateway = scene.start();
        scene.wait_for("Part of the configuration is ignored");
        scene.ana.says(start);
        scene.wait_for(&format!("{start} it is"));
        gateway.stop().ends_with(0);
    }
    let texts = scene.texts();
    let told = texts.iter().filter(|text| text.contains("is ignored"));
    assert_eq!(told.count(), 1, "{texts:?}");
}
