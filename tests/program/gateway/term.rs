//! `/term`: real programs on a terminal that a chat shows, typed into by messages and buttons.

mod pace;
mod programs;
mod secrets;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::scene::Scene;
use crate::harness::feature;
use crate::harness::gateway::Gateway;
use crate::harness::model::{call, say};
use crate::harness::telegram::{Fault, Message, Person, Place};

/// A secret that is typed.
const SECRET: &str = "hunter2-canary";

/// A scene whose model must not be asked, with a gateway and a program on a terminal.
fn open(typed: &str) -> (Scene, Gateway) {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says(typed);
    (scene, gateway)
}

/// The same for a program that may not be on this machine.
fn open_if(program: &str, typed: &str) -> Option<(Scene, Gateway)> {
    has(program).then(|| open(typed))
}

/// The program has ended, and so does the story.
fn ends(scene: &Scene, gateway: Gateway) {
    closes(scene, "Terminal closed: exit status 0");
    gateway.stop().ends_with(0);
}

/// Whether a message is the screen of an open terminal.
fn is_screen(message: &Message) -> bool {
    message.button("Ctrl-C").is_some()
}

/// Waits until the screen shows these words.
fn shows(scene: &Scene, words: &str) -> Message {
    shows_in(scene, scene.ana.chat(), words)
}

fn shows_in(scene: &Scene, place: Place, words: &str) -> Message {
    scene.telegram.wait_for_message(place, |message| {
        is_screen(message) && message.text.contains(words)
    })
}

/// Waits until a shell asks for a command. What is typed before stands above its prompt.
fn prompts(scene: &Scene) -> Message {
    shows(scene, " █")
}

/// Waits until the terminal is closed, with these words below its last screen.
fn closes(scene: &Scene, words: &str) -> Message {
    let closed = scene.wait_for(words);
    assert!(!is_screen(&closed), "it has its buttons still");
    closed
}

/// The rows of a screen, without the cursor.
fn rows(message: &Message) -> Vec<String> {
    let text = message.text.replace(['█', '\u{332}'], "");
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// Whether a program is on this machine.
fn has(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    let is_there = path
        .split(':')
        .any(|folder| Path::new(folder).join(program).exists());
    let found = is_there
        .then_some(())
        .ok_or(format!("{program} is not in PATH"));
    feature::has("screens", found)
}

#[test]
fn a_shell_takes_messages_and_buttons_and_its_end_is_shown() {
    let (scene, gateway) = open("/term sh");
    prompts(&scene);
    scene.ana.says("echo $((40+2)).");
    shows(&scene, "42.");
    scene.ana.says("echo not sent \\");
    shows(&scene, "echo not sent █");
    scene.ana.presses("Enter");
    shows(&scene, "\nnot sent");
    scene.ana.says("sleep 600; echo slept");
    shows(&scene, "sleep 600");
    scene.ana.presses("Ctrl-C");
    shows(&scene, "^C");
    scene.ana.says("/key \"echo keys\" enter");
    shows(&scene, "\nkeys");
    // Other commands work as usual.
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    scene.ana.says("/sh echo beside it");
    scene.wait_for("beside it");
    scene.ana.says("exit 3");
    let closed = closes(&scene, "Terminal closed: exit status 3");
    assert!(
        closed.text.contains("exit 3"),
        "the last screen stays: {}",
        closed.text
    );
    scene.ana.says("/key enter");
    scene.wait_for("No terminal is open here.");
    gateway.stop().ends_with(0);
    let audit: Vec<_> = scene
        .audit()
        .into_iter()
        .map(|line| line["command"].clone())
        .collect();
    assert!(audit.contains(&json!("sh")), "{audit:?}");
}

/// Every file below a folder that has these words in it.
fn files_with(folder: &Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        match kind.is_dir() {
            true => found.extend(files_with(&path, words)),
            // The root of commands has links to the system.
            false if kind.is_symlink() => {}
            false => {
                let content = fs::read(&path).unwrap_or_default();
                if String::from_utf8_lossy(&content).contains(words) {
                    found.push(path.display().to_string());
                }
            }
        }
    }
    found
}

#[test]
fn a_password_is_typed_deleted_and_kept_nowhere() {
    for may_delete in [true, false] {
        let scene = Scene::playing([]);
        let script = "stty -echo\nprintf 'Password: '\nread p\nstty echo\necho\necho \"it has ${#p} letters\"\nread x\n";
        fs::write(scene.home.workspace("login.sh"), script).unwrap();
        let gateway = scene.start();
        scene.ana.says("/term sh login.sh");
        shows(&scene, "Your next message is typed in as a secret");
        if !may_delete {
            let fault = Fault::BadRequest("message can't be deleted");
            scene.telegram.fail_next("deleteMessage", fault);
        }
        let said = scene.ana.says(SECRET);
        let screen = shows(&scene, "it has 14 letters");
        assert!(
            !screen.text.contains("typed in as a secret"),
            "{}",
            screen.text
        );
        let deleted = scene.telegram.wait_for_calls("deleteMessage", 1);
        assert!(
            deleted
                .iter()
                .any(|call| call["message_id"] == said.message),
            "{deleted:?}"
        );
        if !may_delete {
            scene.wait_for("Please delete it yourself.");
        }
        scene.telegram.wait_for_offset(said.update);
        // What comes next is no secret.
        scene.ana.says("done");
        closes(&scene, "Terminal closed: exit status 0");
        let log = gateway.stop().ends_with(0);
        assert!(!log.stderr.contains(SECRET) && !log.stdout.contains(SECRET));
        assert_eq!(files_with(scene.home.path(), SECRET), [""; 0]);
        for method in ["sendMessage", "editMessageText"] {
            let calls = scene.telegram.calls(method);
            assert!(!calls.iter().any(|call| call.to_string().contains(SECRET)));
        }
    }
}

#[test]
fn a_secret_that_comes_too_late_is_deleted_and_kept_nowhere() {
    let scene = Scene::playing([]);
    let script = "stty -echo\nprintf 'Password: '\nwhile [ ! -e over ]; do sleep 0.05; done\n";
    fs::write(scene.home.workspace("login.sh"), script).unwrap();
    let gateway = scene.start();
    scene.ana.says("/term sh login.sh");
    shows(&scene, "typed in as a secret");
    fs::write(scene.home.workspace("over"), "").unwrap();
    closes(&scene, "Terminal closed: exit status 0");
    let said = scene.ana.says(SECRET);
    scene.wait_for("The program no longer asks for the secret.");
    let deleted = scene.telegram.wait_for_calls("deleteMessage", 1);
    assert!(
        deleted
            .iter()
            .any(|call| call["message_id"] == said.message)
    );
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    gateway.stop().ends_with(0);
    assert_eq!(files_with(scene.home.path(), SECRET), [""; 0]);
}

#[test]
fn a_terminal_takes_the_size_that_is_asked_for() {
    let (scene, gateway) = open("/term 60x20 sh");
    prompts(&scene);
    scene.ana.says("stty size");
    shows(&scene, "\n20 60");
    scene.ana.says("/term phone");
    scene.ana.says("stty size");
    shows(&scene, "\n20 40");
    scene.ana.says("/term 5x5");
    scene.wait_for("/term 60x24");
    scene.ana.says("/term top");
    scene.wait_for("A terminal is already open here.");
    scene.ana.says("/key frobnicate");
    scene.wait_for("Unknown key frobnicate");
    scene.ana.says("/key");
    scene.wait_for("Which key?");
    scene.ana.presses("Close");
    closes(&scene, "Terminal closed");
    scene.ana.says("/term close");
    scene.wait_for("No terminal is open here.");
    gateway.stop().ends_with(0);
}

#[test]
fn a_screenshot_is_sent_as_a_photo() {
    let (scene, gateway) = open("/term phone sh");
    prompts(&scene);
    scene.ana.presses("Screenshot");
    let sent = scene.telegram.wait_for_calls("sendPhoto", 1);
    assert_eq!(sent[0]["photo"]["name"], "screen.png", "{sent:?}");
    scene.ana.presses("Close");
    closes(&scene, "Terminal closed");
    gateway.stop().ends_with(0);
}

#[test]
fn in_a_group_only_the_one_who_opened_it_types() {
    let scene = Scene::playing([say("Hello Ben.")]).set("groupPolicy", json!("open"));
    let scene = scene.set("allowFrom", json!(["1001", "1002"]));
    let home = scene.telegram.group(-1_005, "Home");
    let ben: Person = scene.telegram.person(1002, "Ben", Some("ben"));
    let gateway = scene.start();
    scene.ana.says_in(home, "/term sh");
    shows_in(&scene, home, "█");
    ben.says_in(home, "touch by-ben");
    scene.wait_in(home, "Hello Ben.");
    ben.presses_in(home, "Enter");
    scene.wait_in(home, "Only the person who opened this terminal");
    scene.ana.says_in(home, "echo $((20+1))");
    shows_in(&scene, home, "\n21");
    scene.ana.says_in(home, "exit");
    scene.wait_in(home, "Terminal closed: exit status 0");
    assert!(!scene.home.workspace("by-ben").exists());
    gateway.stop().ends_with(0);
}

#[test]
fn a_restart_closes_it_and_says_so_once() {
    let (scene, gateway) = open("/term sh");
    prompts(&scene);
    gateway.stop().ends_with(0);
    closes(&scene, "closed by a restart");
    let gateway = scene.start();
    scene.ana.says("/term sh");
    prompts(&scene);
    scene.ana.says("echo $((40+2)).");
    let screen = shows(&scene, "42.");
    gateway.kill();
    let gateway = scene.start();
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.id == screen.id
                && message.text.contains("closed by a restart")
                && !is_screen(message)
        });
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    scene.ana.says("/id");
    scene.wait_for("telegram:1001");
    gateway.stop().ends_with(0);
    let told = scene
        .texts()
        .into_iter()
        .filter(|text| text.contains("closed by a restart"));
    assert_eq!(told.count(), 2);
}

#[test]
fn outside_the_sandbox_it_is_allowed_each_time() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.ana.says("/term! sh");
    let question = scene.wait_for("Run this outside the sandbox");
    assert!(question.button("Always this command").is_none());
    scene.ana.presses("Run once");
    shows(&scene, "Outside the sandbox");
    scene.ana.says(&format!(
        "cat {} | head -c 20; echo",
        scene.home.path().join("config.json").display()
    ));
    shows(&scene, "{");
    scene.ana.says("exit");
    closes(&scene, "Terminal closed: exit status 0");
    scene.ana.says("/term ! sh");
    scene.ana.presses("Deny");
    scene.wait_for("✗ Denied by");
    gateway.stop().ends_with(0);
    let said_twice = |text: &String| text.contains("you denied it");
    assert!(!scene.texts().iter().any(said_twice));
}

#[test]
fn what_is_typed_pushes_the_screen_up_and_it_comes_down_again() {
    let (scene, gateway) = open("/term sh");
    let first = prompts(&scene);
    for number in 0..5 {
        scene.ana.says(&format!("echo $((100+{number}))"));
        shows(&scene, &format!("\n{}", 100 + number));
    }
    let below = scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            is_screen(message) && message.id > first.id
        });
    assert!(below.text.contains("100"), "{}", below.text);
    let screens = scene.telegram.messages(scene.ana.chat());
    assert_eq!(
        screens.iter().filter(|message| is_screen(message)).count(),
        1
    );
    scene.ana.presses("Close");
    closes(&scene, "Terminal closed");
    gateway.stop().ends_with(0);
}

#[test]
fn the_model_has_a_terminal_too() {
    let steps = [
        call("exec", json!({"command": "sh -i", "pty": true})),
        call(
            "exec_session",
            json!({"action": "keys", "session_id": 1, "input": "\"stty size; echo $TERM\" enter"}),
        ),
        call(
            "exec_session",
            json!({"action": "write", "session_id": 1, "input": "cat\r"}),
        ),
        call(
            "exec_session",
            json!({"action": "keys", "session_id": 1, "input": "x ctrl-c \"exit 5\" enter"}),
        ),
        call(
            "exec_session",
            json!({"action": "keys", "session_id": 1, "input": "frobnicate"}),
        ),
        say("Seen."),
    ];
    let scene = Scene::playing(steps);
    let gateway = scene.start();
    scene.ana.says("try a terminal");
    scene.wait_for("Seen.");
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    assert!(
        requests[1].last_message().contains("session 1"),
        "{}",
        requests[1].last_message()
    );
    assert!(
        requests[5].last_message().contains("is not a key"),
        "{}",
        requests[5].last_message()
    );
}

#[test]
fn the_model_reads_the_screen_of_its_terminal() {
    let scene = Scene::answering(|request| {
        let last = request.last_message();
        let session =
            |action: &str| call("exec_session", json!({"action": action, "session_id": 1}));
        if last.contains("24 80") {
            return say("It is 80 wide.");
        }
        match last.contains("Started as session 1") || last.contains("(screen 80x24") {
            true => session("screen"),
            false => call(
                "exec",
                json!({"command": "printf '\\033[2J\\033[3;5Hup here'; stty size; sleep 600", "pty": true}),
            ),
        }
    });
    let gateway = scene.start();
    scene.ana.says("how wide is it?");
    scene.wait_for("It is 80 wide.");
    gateway.stop().ends_with(0);
    let last = scene.model.requests().last().unwrap().last_message();
    assert!(
        last.contains("\\n\\n    up here24 80") || last.contains("\n\n    up here24 80"),
        "{last}"
    );
    assert!(last.contains("cursor at row 4, column 1"), "{last}");
}
