//! Lessons: a call that failed and was overcome helps the next time that a call like it fails.

use std::fs;

use serde_json::json;

use super::memory::material;
use super::order::words;
use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, Step, call, say};
use crate::harness::program::Program;

const LESSON: &str = "boiler.txt is not there: read notes/boiler.md";
const LINE: &str = "- read_file boiler: boiler.txt is not there: read notes/boiler.md";
const NOTE: &str = "A note from memory/LESSONS.md";

/// The results that the model has in the running turn.
fn results(request: &Request) -> Vec<String> {
    let messages = request.messages().iter().rev();
    let turn = messages.take_while(|message| message["role"] != "user");
    let results = turn.filter(|message| message["role"] == "tool");
    let mut texts: Vec<String> = results
        .map(|result| result["content"].to_string())
        .collect();
    texts.reverse();
    texts
}

fn reads(path: &str) -> Step {
    call("read_file", json!({"path": path}))
}

/// A model that looks for a file in the wrong place first. Asked to try, it does no more than that, twice.
fn answer(request: &Request) -> Step {
    if request.is_consolidation() {
        let has_pairs =
            material(request).contains("1. read_file boiler\n  failed: {\"path\":\"boiler.txt\"}");
        let mut saved = json!({"history_entry": "They read.", "memory_update": "- a fact"});
        if has_pairs {
            saved["lessons"] = json!([LESSON]);
        }
        return call("save_memory", saved);
    }
    let asked = words(request).pop().unwrap_or_default();
    match results(request).len() {
        0 if !asked.contains("hi") => reads("boiler.txt"),
        1 if asked.contains("try") => reads("old/boiler.txt"),
        1 => reads("notes/boiler.md"),
        _ => say(&format!("Done: {asked}.")),
    }
}

fn scene() -> Scene {
    let mut scene = Scene::answering(answer);
    scene.home.set("/log/level", json!("debug"));
    fs::create_dir_all(scene.home.workspace("notes")).unwrap();
    fs::write(scene.home.workspace("notes/boiler.md"), "60 degrees").unwrap();
    scene
}

fn lessons(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.home.workspace("memory/LESSONS.md")).unwrap_or_default();
    let lines = text.lines().filter(|line| line.starts_with("- "));
    lines.map(str::to_owned).collect()
}

/// Ana asks, and the answer comes.
fn ask(scene: &Scene, text: &str) {
    scene.ana.says(text);
    scene.wait_for(&format!("Done: {text}."));
}

#[test]
fn what_was_overcome_once_is_shown_when_it_fails_again_and_goes_when_it_does_not_help() {
    let scene = scene();
    let gateway = scene.start();
    ask(&scene, "read it");
    scene.ana.says("/new");
    gateway.wait_for_log("memory: noted");
    assert_eq!(lessons(&scene), [LINE]);

    // It helps.
    ask(&scene, "read it again");
    let shown = results(scene.model.requests().last().unwrap());
    assert!(
        shown[0].contains(NOTE) && shown[0].contains(LESSON),
        "{shown:?}"
    );
    assert!(!shown[1].contains(NOTE), "{shown:?}");
    assert_eq!(lessons(&scene), [LINE]);

    // It is shown once a turn, and is of no use twice.
    ask(&scene, "try");
    let shown = results(scene.model.requests().last().unwrap());
    assert!(
        shown[0].contains(NOTE) && !shown[1].contains(NOTE),
        "{shown:?}"
    );
    assert_eq!(
        lessons(&scene),
        [format!("{LINE} (did not help the last time)")]
    );
    ask(&scene, "try once more");
    assert_eq!(lessons(&scene), [""; 0]);
    gateway.stop().ends_with(0);
    let consolidations = scene
        .model
        .requests()
        .into_iter()
        .filter(Request::is_consolidation);
    assert_eq!(consolidations.count(), 1, "no request is made for it");
}

#[test]
fn a_person_sees_the_lessons_and_an_owner_takes_one_away_and_back() {
    let scene = scene();
    fs::create_dir_all(scene.home.workspace("memory")).unwrap();
    let text = format!("My own line.\n- exec ping: use box.lan\n{LINE}\n");
    fs::write(scene.home.workspace("memory/LESSONS.md"), &text).unwrap();
    let gateway = scene.start();
    scene.ana.says("/lessons");
    let listed = scene.wait_for("/lessons remove NUMBER").text;
    assert!(
        listed.contains("1. exec ping use box.lan\n2. read_file boiler boiler.txt"),
        "{listed}"
    );
    scene.ana.says("/lessons remove 3");
    scene.wait_for("There is no lesson 3.");
    scene.ana.says("/lessons remove 1");
    scene.wait_for("Removed: exec ping use box.lan");
    assert_eq!(lessons(&scene), [LINE]);
    scene.ana.says("/undo memory/LESSONS.md");
    scene.wait_for("memory/LESSONS.md is as it was before.");
    gateway.stop().ends_with(0);
    let now = fs::read_to_string(scene.home.workspace("memory/LESSONS.md")).unwrap();
    assert_eq!(now, text);
}

#[test]
fn guests_teach_nothing_and_are_shown_nothing() {
    let scene = scene().set("roles", json!({"@cora": "guest"}));
    let scene = scene.set("groupPolicy", json!("open"));
    let cora = scene.telegram.person(3003, "Cora", Some("cora"));
    let group = scene.telegram.group(-900, "Home");
    fs::create_dir_all(scene.home.workspace("memory")).unwrap();
    fs::write(
        scene.home.workspace("memory/LESSONS.md"),
        format!("{LINE}\n"),
    )
    .unwrap();
    let gateway = scene.start();
    cora.says_in(group, "read it");
    gateway.wait_for_log("turn answered");
    scene.ana.says_in(group, "/new");
    scene.wait_in(group, "Started a new conversation");
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    assert!(
        requests
            .iter()
            .all(|request| !request.body.to_string().contains(LESSON))
    );
    assert_eq!(lessons(&scene), [LINE]);
}

#[test]
fn a_lesson_is_learned_once_wherever_the_power_goes() {
    for step in ["staged", "saved", "learned", "marked", "remembered"] {
        let scene = scene();
        let program = Program::new(&scene.home).arg("gateway");
        let gateway = Gateway::of(program.env("PEACRAB_TEST_CONSOLIDATION_CUT", step));
        ask(&scene, "read it");
        scene.ana.says("/new");
        assert_eq!(gateway.finish().code, None, "{step}: it has ended itself");
        let gateway = scene.start();
        gateway.wait_for_log("memory: noted");
        gateway.stop().ends_with(0);
        assert_eq!(lessons(&scene), [LINE], "{step}");
        let consolidations = scene
            .model
            .requests()
            .into_iter()
            .filter(Request::is_consolidation);
        assert_eq!(consolidations.count(), 1, "{step}");
    }
}

#[test]
fn a_request_in_which_nothing_fails_is_the_same_with_lessons() {
    let scene = scene();
    for number in 1..=2 {
        let gateway = scene.start();
        ask(&scene, &format!("hi {number}"));
        gateway.stop().ends_with(0);
        fs::remove_dir_all(scene.home.path().join("sessions")).unwrap();
        fs::create_dir_all(scene.home.workspace("memory")).unwrap();
        fs::write(scene.home.workspace("memory/LESSONS.md"), LINE).unwrap();
    }
    let requests = scene.model.requests();
    let size = |index: usize| requests[index].body.to_string().len();
    assert_eq!(size(0), size(1));
}
