//! Several agents in one gateway: each has its own model, files and conversations.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::scene::Scene;
use crate::harness::model::{Request, Step, call, hang, say};
use crate::harness::program::Program;
use crate::harness::telegram::{Media, Person, Upload};

/// What only the agent of the other chat knows.
const SECRETS: [(&str, &str); 2] = [
    ("fake-model", "pearl-of-ana"),
    ("work-model", "ruby-of-bob"),
];

/// A scene with a second agent, `work`, and Bob, whose chat it serves.
fn two_agents(answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> (Scene, Person) {
    let mut scene = Scene::answering(answer).set("allowFrom", json!(["1001", "2002"]));
    let bob = scene.telegram.person(2002, "Bob", None);
    scene.home.set(
        "/agents/list",
        json!([{"id": "work", "name": "Office", "model": "work-model"}]),
    );
    scene.home.set(
        "/agents/bindings",
        json!([{"agent": "work", "channel": "telegram", "sender": 2002}]),
    );
    (scene, bob)
}

/// The list with `work` in another workspace.
fn work_in(folder: &Path) -> Value {
    json!([{"id": "work", "model": "work-model", "workspace": folder}])
}

fn model_of(request: &Request) -> &str {
    request.body["model"].as_str().unwrap()
}

/// Where a file of an agent is.
fn of_work(scene: &Scene, path: &str) -> PathBuf {
    scene.home.path().join("agents/work").join(path)
}

/// The results of the tools that a request brings, in their order.
fn results(request: &Request) -> Vec<String> {
    let messages = request.messages().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| message["content"].to_string())
        .collect()
}

/// A model that stores its secret, and then looks for the other agent's in every way that it has.
fn spy(request: &Request, places: &OnceLock<[PathBuf; 2]>) -> Step {
    let places = places.get().unwrap();
    let own = SECRETS
        .iter()
        .position(|(model, _)| *model == model_of(request))
        .unwrap();
    let other = &places[1 - own];
    let shown = |path: &Path| path.display().to_string();
    match results(request).len() {
        0 => call(
            "write_file",
            json!({"path": "secret.txt", "content": SECRETS[own].1}),
        ),
        1 => call("exec", json!({"command": "cat secret.txt"})),
        2 => call(
            "read_file",
            json!({"path": shown(&other.join("secret.txt"))}),
        ),
        3 => call(
            "grep",
            json!({"pattern": "pearl|ruby", "path": shown(other)}),
        ),
        4 => call(
            "exec",
            json!({"command": format!("cat {}/secret.txt; ls -a {0}", shown(other))}),
        ),
        5 => call(
            "read_file",
            json!({"path": shown(&other.join("../sessions/telegram_1001.jsonl"))}),
        ),
        6 => call(
            "exec",
            json!({"command": format!("grep -r 'pearl\\|ruby' {0} {0}/../sessions", shown(other))}),
        ),
        _ => say("I have looked everywhere."),
    }
}

/// Neither agent finds the other's secret, wherever their workspaces are and whatever else tools may see.
fn no_agent_sees_the_other(is_restricted: bool, is_elsewhere: bool) {
    let places = Arc::new(OnceLock::new());
    let known = Arc::clone(&places);
    let (mut scene, bob) = two_agents(move |request| spy(request, &known));
    scene
        .home
        .set("/tools/restrictToWorkspace", json!(is_restricted));
    let elsewhere = tempfile::tempdir_in("/var/tmp").unwrap();
    let of_bob = match is_elsewhere {
        true => {
            let folder = elsewhere.path().canonicalize().unwrap().join("office");
            scene.home.set("/agents/list", work_in(&folder));
            folder
        }
        false => of_work(&scene, "workspace"),
    };
    places
        .set([scene.home.workspace("."), of_bob.clone()])
        .unwrap();
    let gateway = scene.start();
    scene.ana.says("look around");
    scene.wait_for("I have looked everywhere.");
    bob.says("look around");
    scene.wait_in(bob.chat(), "I have looked everywhere.");
    // Bob's secret is there by now, too.
    scene.ana.says("/new");
    scene.wait_for("Started a new conversation");
    scene.ana.says("look around");
    scene.model.wait_for_requests(24);
    gateway.stop().ends_with(0);
    for request in scene.model.requests() {
        let own = SECRETS
            .iter()
            .position(|(model, _)| *model == model_of(&request))
            .unwrap();
        let (told, (_, others)) = (results(&request), SECRETS[1 - own]);
        assert!(!told.iter().any(|text| text.contains(others)), "{told:#?}");
        if let Some(read) = told.get(1) {
            assert!(read.contains(SECRETS[own].1), "its own: {read}");
        }
    }
    assert_eq!(
        fs::read_to_string(of_bob.join("secret.txt")).unwrap(),
        SECRETS[1].1
    );
    assert_eq!(
        fs::read_to_string(scene.home.workspace("secret.txt")).unwrap(),
        SECRETS[0].1
    );
}

#[test]
fn no_agent_sees_the_files_of_another() {
    no_agent_sees_the_other(true, false);
}

#[test]
fn no_agent_sees_the_files_of_another_even_if_tools_may_see_the_whole_machine() {
    no_agent_sees_the_other(false, true);
}

#[test]
fn each_chat_has_its_agent_with_its_own_model_prompt_and_journal() {
    let (scene, bob) = two_agents(|request| say(&format!("I am {}.", model_of(request))));
    fs::write(scene.home.workspace("SOUL.md"), "You are cheerful.").unwrap();
    let gateway = scene.start();
    scene.ana.says("who are you?");
    scene.wait_for("I am fake-model.");
    bob.says("/agents");
    let told = scene.wait_in(bob.chat(), "answers here").text;
    assert_eq!(
        told,
        "work (Office) answers here.\n\n• main: fake-model\n• ✓ work (Office): work-model"
    );
    bob.says("who are you?");
    scene.wait_in(bob.chat(), "I am work-model.");
    bob.says("/status");
    let told = scene.wait_in(bob.chat(), "Agent: work (Office)").text;
    assert!(told.contains("agents/work/workspace"), "{told}");
    scene.model.offers(["work-model", "other-model"]);
    bob.says("/model other-model");
    scene.wait_in(bob.chat(), "Model: fake/other-model");
    bob.says("/agents");
    scene.wait_in(bob.chat(), "✓ work (Office): fake/other-model");
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    let prompts: Vec<String> = requests
        .iter()
        .map(|one| one.messages()[0].to_string())
        .collect();
    assert!(prompts[0].contains("cheerful") && !prompts[0].contains("agents/work"));
    assert!(!prompts[1].contains("cheerful") && prompts[1].contains("agents/work/workspace"));
    assert!(of_work(&scene, "sessions/telegram_2002.jsonl").exists());
    assert!(
        !scene
            .home
            .path()
            .join("sessions/telegram_2002.jsonl")
            .exists()
    );
    assert!(
        scene
            .home
            .path()
            .join("sessions/telegram_1001.jsonl")
            .exists()
    );
}

#[test]
fn files_come_to_and_go_from_the_workspace_of_the_agent() {
    let (scene, bob) = two_agents(|request| match results(request).len() {
        0 => call(
            "write_file",
            json!({"path": "report.txt", "content": "all is well"}),
        ),
        1 => call(
            "message",
            json!({"content": "Here.", "media": ["report.txt"]}),
        ),
        _ => say("Sent."),
    });
    let gateway = scene.start();
    bob.sends(Upload::new(Media::Document, "plan.txt", "the plan").caption("report on it"));
    scene.wait_in(bob.chat(), "Sent.");
    scene.telegram.wait_for_calls("sendDocument", 1);
    bob.says("/sh cat inbox/*-plan.txt report.txt");
    let told = scene.wait_in(bob.chat(), "the plan").text;
    assert!(told.contains("all is well"), "{told}");
    gateway.stop().ends_with(0);
    assert!(of_work(&scene, "workspace/report.txt").exists());
    assert!(!scene.home.workspace("inbox").exists());
}

#[test]
fn an_interrupted_turn_goes_on_with_its_agent_even_if_the_binding_is_gone() {
    let requests = AtomicUsize::new(0);
    let (mut scene, bob) =
        two_agents(
            move |request| match requests.fetch_add(1, Ordering::Relaxed) {
                0 => hang(),
                _ => say(&format!("I am {}.", model_of(request))),
            },
        );
    let gateway = scene.start();
    bob.says("work on it");
    scene.model.wait_for_requests(1);
    gateway.kill();
    scene.home.set("/agents/bindings", json!([]));
    let journal = of_work(&scene, "sessions/telegram_2002.jsonl");
    assert!(fs::read_to_string(&journal).unwrap().contains("work on it"));
    let gateway = scene.start();
    scene.wait_in(bob.chat(), "I am work-model.");
    bob.says("and who are you now?");
    scene.wait_in(bob.chat(), "I am fake-model.");
    gateway.stop().ends_with(0);
    assert!(
        fs::read_to_string(&journal)
            .unwrap()
            .contains("I am work-model.")
    );
}

#[test]
fn a_changed_binding_applies_with_a_reload_and_loses_nothing() {
    let (mut scene, bob) = two_agents(|request| say(&format!("I am {}.", model_of(request))));
    let bindings = json!([{"agent": "work", "chat": "2002"}]);
    scene.home.set("/agents/bindings", json!([]));
    let gateway = scene.start();
    bob.says("who are you?");
    scene.wait_in(bob.chat(), "I am fake-model.");
    scene.home.set("/agents/bindings", bindings);
    let told = Program::new(&scene.home).arg("reload").run().ends_with(0);
    assert_eq!(told.stdout, "Applied: agents.bindings\n");
    bob.says("and now?");
    scene.wait_in(bob.chat(), "I am work-model.");
    let asked = scene.model.requests().pop().unwrap();
    assert!(
        !asked.body["messages"].to_string().contains("fake-model"),
        "another journal"
    );
    scene.home.set("/agents/bindings", json!([]));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    bob.says("and at last?");
    scene.model.wait_for_requests(3);
    gateway.stop().ends_with(0);
    let asked = scene.model.requests().pop().unwrap();
    assert_eq!(model_of(&asked), "fake-model");
    let messages = asked.body["messages"].to_string();
    assert!(
        messages.contains("who are you?") && !messages.contains("and now?"),
        "{messages}"
    );
    let (main, work) = (
        scene.home.path().join("sessions/telegram_2002.jsonl"),
        of_work(&scene, "sessions/telegram_2002.jsonl"),
    );
    assert!(fs::read_to_string(main).unwrap().contains("and at last?"));
    assert!(fs::read_to_string(work).unwrap().contains("and now?"));
}

#[test]
fn people_in_a_group_talk_with_one_agent() {
    let (scene, bob) = two_agents(|request| say(&format!("I am {}.", model_of(request))));
    let scene = scene.set("groupPolicy", json!("open"));
    let group = scene.telegram.group(-1_005, "Home");
    let gateway = scene.start();
    bob.says_in(group, "who are you?");
    scene.wait_in(group, "I am fake-model.");
    scene.ana.says_in(group, "and you?");
    scene.model.wait_for_requests(2);
    gateway.stop().ends_with(0);
    let asked = scene.model.requests().pop().unwrap();
    assert_eq!(model_of(&asked), "fake-model");
    assert!(asked.body["messages"].to_string().contains("who are you?"));
}

#[test]
fn the_command_line_talks_with_an_agent_and_lists_them_all() {
    let (scene, _) = two_agents(|request| say(&format!("I am {}.", model_of(request))));
    let run = |arguments: &[&str]| Program::new(&scene.home).args(arguments).run();
    let told = run(&[
        "agent",
        "--agent",
        "work",
        "-s",
        "plan",
        "-m",
        "who are you?",
    ]);
    assert!(told.ends_with(0).stdout.contains("I am work-model."));
    assert!(of_work(&scene, "sessions/cli_plan.jsonl").exists());
    run(&["agent", "-s", "home", "-m", "who are you?"]).ends_with(0);
    let list = run(&["sessions", "list"]).ends_with(0).stdout;
    let lines: Vec<&str> = list
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(lines, ["main", "home", "", "work", "plan"], "{list}");
    let list = run(&["sessions", "list", "--agent", "work"])
        .ends_with(0)
        .stdout;
    assert!(list.contains("plan") && !list.contains("home"), "{list}");
    let shown = run(&["sessions", "show", "plan", "--agent", "work"]).ends_with(0);
    assert!(shown.stdout.contains("I am work-model."));
    let agents = run(&["agents", "--json"]).ends_with(0).stdout;
    let agents: Vec<Value> = agents
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(agents[0]["default"], true);
    assert_eq!(agents[1]["bindings"], json!(["telegram, sender 2002"]));
    assert_eq!(
        (&agents[1]["model"], &agents[1]["sessions"]),
        (&json!("fake/work-model"), &json!(1))
    );
    let told = run(&["agents"]).ends_with(0).stdout;
    assert!(
        told.contains("work (Office)\n  model      fake/work-model\n"),
        "{told}"
    );
    let unknown = run(&["agent", "--agent", "wrok", "-m", "hi"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    unknown.complains_of(&["There is no agent \"wrok\". There are: main, work"]);
}

#[test]
fn a_start_refuses_agents_that_would_share_files() {
    let (mut scene, _) = two_agents(|_| say("never"));
    let main = scene.home.workspace("");
    scene.home.set("/agents/list", work_in(&main));
    for arguments in [
        &["gateway"][..],
        &["config", "check"],
        &["agent", "-m", "hi"],
    ] {
        let refused = Program::new(&scene.home).args(arguments).run();
        assert_eq!(refused.code, Some(78), "{arguments:?}: {refused:?}");
        refused.complains_of(&["The agents main and work would share files"]);
    }
    scene.home.set("/agents/list", json!([{"id": "work"}]));
    scene.home.set(
        "/tools/readOnlyPaths",
        json!([of_work(&scene, "workspace")]),
    );
    let refused = Program::new(&scene.home).args(["config", "check"]).run();
    refused.complains_of(&["is in the workspace of the agent work"]);
    scene.home.set("/tools/readOnlyPaths", json!([]));
    scene
        .home
        .set("/agents/bindings", json!([{"agent": "wrok", "chat": 1}]));
    let refused = Program::new(&scene.home).args(["config", "check"]).run();
    refused.complains_of(&["agents.bindings[0].agent is \"wrok\", but there is no such agent"]);
}
