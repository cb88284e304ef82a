//! A changed configuration takes effect while the gateway runs, or says that it needs a restart.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::model::{call, say};
use crate::harness::program::{Output, Program};

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
fn an_invalid_configuration_is_refused_and_the_old_one_stays() {
    let scene = Scene::playing([say("Still here.")]);
    let gateway = scene.start();
    gateway.wait_for_log("ready");
    scene
        .home
        .write_config("{\"agents\": {\"defaults\": {\"modle\": \"x\"}}}");
    let refused = reload(&scene);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.stderr.contains("agents.defaults.model"),
        "{refused:?}"
    );
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
