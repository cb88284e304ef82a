//! Secrets and people: what is typed while a program hides it is kept nowhere, whatever becomes of the gateway, of the
//! person's role, or of the terminal.

use std::fs;

use serde_json::json;

use super::{SECRET, Scene, closes, files_with, prompts, shows, shows_in};
use crate::harness::program::Program;
use crate::harness::telegram::{BOT_NAME, Said};

/// Asks for a password, and says how long it is.
const LOGIN: &str = "stty -echo\nprintf 'Password: '\nread p\nstty echo\necho\necho \"it has ${#p} letters\"\nread x\n";

fn asking(scene: Scene) -> Scene {
    fs::write(scene.home.workspace("login.sh"), LOGIN).unwrap();
    scene
}

/// Waits until a message has been deleted.
fn is_deleted(scene: &Scene, said: &Said) {
    let calls = scene.telegram.wait_for_calls("deleteMessage", 1);
    let mut deleted = calls.iter().map(|call| &call["message_id"]);
    assert!(deleted.any(|id| *id == said.message), "{calls:?}");
}

/// The secret is nowhere in the home, nor in what was sent.
fn is_nowhere(scene: &Scene) {
    assert_eq!(files_with(scene.home.path(), SECRET), [""; 0]);
    for method in ["sendMessage", "editMessageText"] {
        let calls = scene.telegram.calls(method);
        assert!(!calls.iter().any(|call| call.to_string().contains(SECRET)));
    }
}

/// Gives Ana another role while the gateway runs.
fn demote(scene: &mut Scene, name: &str) {
    scene
        .home
        .set("/channels/telegram/roles", json!({ name: "user" }));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
}

#[test]
fn a_password_that_comes_after_a_restart_is_deleted_and_kept_nowhere() {
    for is_killed in [true, false] {
        let scene = asking(Scene::playing([]));
        let gateway = scene.start();
        scene.ana.says("/term sh login.sh");
        shows(&scene, "typed in as a secret");
        match is_killed {
            true => drop(gateway.kill()),
            false => drop(gateway.stop().ends_with(0)),
        }
        let said = scene.ana.says(SECRET);
        let gateway = scene.start();
        scene.wait_for("The program no longer asks for the secret.");
        is_deleted(&scene, &said);
        scene.ana.says("/id");
        scene.wait_for("telegram:1001");
        let log = gateway.stop().ends_with(0);
        assert!(!log.stderr.contains(SECRET));
        is_nowhere(&scene);
        // What comes next is no secret, also after another start.
        let kept = fs::read_to_string(scene.home.path().join("state/secrets.json")).unwrap();
        assert_eq!(kept.trim(), "[]");
    }
}

#[test]
fn a_password_that_is_typed_as_keys_is_kept_nowhere() {
    let scene = asking(Scene::playing([]));
    let gateway = scene.start();
    scene.ana.says("/term sh login.sh");
    shows(&scene, "typed in as a secret");
    // The quotation marks are missing.
    let forgotten = scene.ana.says(&format!("/key {SECRET} enter"));
    scene.wait_for("Which key?");
    is_deleted(&scene, &forgotten);
    scene.ana.says(&format!("/key \"{SECRET}\" enter"));
    shows(&scene, "it has 14 letters");
    scene.telegram.wait_for_calls("deleteMessage", 2);
    scene.ana.says("/key \"done\" enter");
    closes(&scene, "Terminal closed: exit status 0");
    let log = gateway.stop().ends_with(0);
    assert!(!log.stderr.contains(SECRET));
    is_nowhere(&scene);
}

#[test]
fn in_a_group_what_its_owner_writes_is_for_the_terminal() {
    let scene = asking(Scene::playing([])).set("groupPolicy", json!("mention"));
    let scene = scene.set("allowFrom", json!(["1001", "1002"]));
    let home = scene.telegram.group(-1_005, "Home");
    let ben = scene.telegram.person(1002, "Ben", Some("ben"));
    let gateway = scene.start();
    scene
        .ana
        .says_in(home, &format!("/term@{BOT_NAME} sh login.sh"));
    let screen = shows_in(&scene, home, "Reply to this message with the secret.");
    assert!(
        !screen.text.contains("Your next message"),
        "{}",
        screen.text
    );
    ben.says_in(home, "what is that?");
    let said = scene.ana.says_in(home, SECRET);
    shows_in(&scene, home, "it has 14 letters");
    is_deleted(&scene, &said);
    scene.ana.says_in(home, "done");
    scene.wait_in(home, "Terminal closed: exit status 0");
    // From here on only what names the bot is for it.
    let last = scene.ana.says_in(home, "just talking");
    scene.telegram.wait_for_offset(last.update);
    gateway.stop().ends_with(0);
    is_nowhere(&scene);
}

#[test]
fn a_reload_closes_the_terminal_of_a_person_who_is_no_owner_any_more() {
    let mut scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says("/term sh");
    prompts(&scene);
    demote(&mut scene, "1001");
    closes(&scene, "Terminal closed: only owners can use one");
    gateway.stop().ends_with(0);
}

#[test]
fn a_person_who_is_no_owner_any_more_types_nothing_and_can_close_it() {
    for typed in ["touch by-ana", "/key \"touch by-ana\" enter", "/term close"] {
        let mut scene = Scene::playing([]);
        let gateway = scene.start();
        scene.ana.says("/term sh");
        prompts(&scene);
        // Only a message shows who has this name.
        demote(&mut scene, "@ana");
        match typed {
            "/term close" => drop(scene.ana.presses("Close")),
            typed => drop(scene.ana.says(typed)),
        }
        closes(&scene, "Terminal closed: only owners can use one");
        scene.ana.says("/id");
        scene.wait_for("telegram:1001");
        gateway.stop().ends_with(0);
        assert!(!scene.home.workspace("by-ana").exists());
    }
}

#[test]
fn a_password_of_a_person_who_is_no_owner_any_more_is_deleted_and_not_typed() {
    let mut scene = asking(Scene::playing([]));
    let gateway = scene.start();
    scene.ana.says("/term sh login.sh");
    shows(&scene, "typed in as a secret");
    demote(&mut scene, "@ana");
    let said = scene.ana.says(SECRET);
    scene.wait_for("Only owners can type into a terminal.");
    is_deleted(&scene, &said);
    let closed = closes(&scene, "Terminal closed: only owners can use one");
    assert!(!closed.text.contains("14 letters"), "{}", closed.text);
    gateway.stop().ends_with(0);
    is_nowhere(&scene);
}

#[test]
fn a_person_without_access_has_no_terminal_any_more() {
    let mut scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says("/term sh");
    prompts(&scene);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["@somebody"]));
    Program::new(&scene.home).arg("reload").run().ends_with(0);
    scene.ana.presses("Close");
    closes(&scene, "Terminal closed: only owners can use one");
    gateway.stop().ends_with(0);
}
