//! Answers of `/sh` that the sandbox makes odd, programs that need a terminal, the dashes of phones, and `/get!`.

use std::fs;

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{call, say};
use crate::harness::program::Program;
use crate::harness::telegram::Message;
use crate::harness::wait_until;

struct Odd(Scene, Gateway);

impl Odd {
    fn new() -> Self {
        let scene = Scene::playing([]);
        let gateway = scene.start();
        Self(scene, gateway)
    }

    /// The answer to a message.
    fn asks(&self, text: &str, expected: &str) -> Message {
        let scene = &self.0;
        let all = scene.telegram.messages(scene.ana.chat());
        let last = all.iter().map(|message| message.id).max().unwrap_or(0);
        scene.ana.says(text);
        scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.id > last && message.text.contains(expected)
            })
    }
}

#[test]
fn an_answer_that_the_sandbox_makes_odd_says_so_at_any_status() {
    let odd = Odd::new();
    for (line, said) in [
        ("ps aux", "only its own processes"),
        ("ps -e | tail -1", "only its own processes"),
        ("mount | head -1", "mounts of its own"),
        ("df -h", "mounts of its own"),
        ("kill -0 999999", "only its own processes"),
        ("mkdir /mnt/peacrab-none", "the sandbox does not show /mnt"),
    ] {
        let answer = odd.asks(&format!("/sh {line}"), said);
        assert!(answer.button("Run it on the board").is_some(), "{line}");
    }
    let missing = odd.asks("/sh nosuch-program", "not found");
    assert!(!missing.text.contains("eval"), "{}", missing.text);
    // `man` needs it.
    if std::path::Path::new("/etc/manpath.config").exists() {
        odd.asks("/sh test -r /etc/manpath.config && echo se''en", "seen");
    }
    for line in [
        "echo dmesg",
        "echo 'ps aux'; echo mount",
        "ps --version | head -1",
        "df -h /",
    ] {
        let answer = odd.asks(&format!("/sh {line}"), line);
        assert!(
            answer.markup.is_none() && !answer.text.contains("sandbox"),
            "{line}: {}",
            answer.text
        );
    }
    odd.1.stop().ends_with(0);
}

#[test]
fn a_program_that_needs_a_terminal_is_offered_one() {
    let odd = Odd::new();
    for line in ["vim x", "top", "python3", "sudo nano /etc/hosts"] {
        let answer = odd.asks(&format!("/sh {line}"), "needs a terminal");
        let sign = if line.starts_with("sudo") { "!" } else { "" };
        assert!(
            answer.button(&format!("/term{sign} {line}")).is_some(),
            "{line}"
        );
    }
    let answer = odd.asks("/sh journalctl -f", "would wait forever");
    let again = answer.button("Run it on the board");
    assert!(again.is_some(), "{}", answer.text);
    let answer = odd.asks("/sh! vim x", "needs a terminal");
    assert!(answer.button("/term! vim x").is_some());
    odd.1.stop().ends_with(0);
}

#[test]
fn the_long_dash_of_a_phone_is_undone_outside_of_quotes() {
    let odd = Odd::new();
    fs::write(odd.0.home.workspace(".hidden"), "x").unwrap();
    odd.asks("/sh ls —a", ".hidden");
    odd.asks("/sh ls —all", ".hidden");
    odd.asks("/sh echo '—la' x—y", "—la x—y");
    odd.asks("/sh echo a — b", "\na — b");
    odd.1.stop().ends_with(0);
}

#[test]
fn a_file_outside_the_workspace_is_asked_about_and_sent() {
    let odd = Odd::new();
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("it's.conf");
    fs::write(&path, "outside the workspace\n").unwrap();
    odd.asks("/get! notes.txt", "Give the whole path of a file");
    odd.asks("/get! /etc/nothing-there", "does not exist");
    odd.asks("/get! ~/nothing-there", "/nothing-there does not exist");
    odd.asks(
        &format!("/get! {}", outside.path().display()),
        "not a regular file",
    );
    let config = odd.0.home.path().join("config.json");
    odd.0.ana.says(&format!("/get! {}", config.display()));
    odd.0
        .wait_for_question("It is one of my own files, such as my configuration");
    odd.0.ana.presses("Deny");
    odd.0.wait_for("Denied by");
    for (button, is_sent) in [("Deny", false), ("Run once", true)] {
        odd.0.ana.says(&format!("/get! {}", path.display()));
        let question = odd.0.wait_for_question("cp -- ");
        assert!(!question.text.contains("my own files"), "{}", question.text);
        odd.0.ana.presses(button);
        match is_sent {
            true => {
                let chat = odd.0.ana.chat();
                let sent = odd
                    .0
                    .telegram
                    .wait_for_message(chat, |message| message.file.is_some());
                let file = sent.file.unwrap();
                assert_eq!(file.name, "it's.conf");
                assert_eq!(&*file.bytes, b"outside the workspace\n");
            }
            false => wait_until("it is denied", || {
                let texts = odd.0.texts();
                let denied = texts.iter().filter(|text| text.contains("Denied by"));
                denied.count() == 2
            }),
        }
    }
    odd.1.stop().ends_with(0);
    // The question says it.
    let texts = odd.0.texts();
    assert!(
        !texts.iter().any(|text| text.contains("Not run")),
        "{texts:?}"
    );
}

/// The names of files of the workspace with this text in them.
fn workspace_files_with(scene: &Scene, text: &str) -> Vec<String> {
    let root = scene.home.workspace("");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text) {
                found.push(path.strip_prefix(&root).unwrap().display().to_string());
            }
        }
    }
    found
}

/// What a user or a command in the sandbox could read, or change before it is delivered.
#[test]
fn what_comes_from_outside_the_sandbox_leaves_nothing_in_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().join("large.txt");
    fs::write(&path, "CANARY outside\n".repeat(20_000)).unwrap();
    let shown = path.display().to_string();
    let arguments = serde_json::json!({
        "command": format!("cat {shown}"), "escalate": true, "reason": "a test"
    });
    let scene = Scene::playing([call("exec", arguments), say("Read.")]);
    let gateway = scene.start();
    let chat = scene.ana.chat();
    let wait_for_files = |count: usize| {
        let has_all = || {
            let all = scene.telegram.messages(chat).into_iter();
            all.filter(|message| message.file.is_some()).count() == count
        };
        wait_until("the files", has_all);
    };
    let mut files = 0;
    for (text, button) in [
        (format!("/sh! cat {shown}"), "Run once"),
        (format!("/get! {shown}"), "Run once"),
    ] {
        scene.ana.says(&text);
        scene.wait_for_question(&shown);
        scene.ana.presses(button);
        files += 1;
        wait_for_files(files);
        assert_eq!(workspace_files_with(&scene, "CANARY"), [""; 0], "{text}");
    }
    let sent = Program::new(&scene.home)
        .args(["send", "--file", &shown])
        .run();
    sent.ends_with(0);
    wait_for_files(files + 1);
    assert_eq!(workspace_files_with(&scene, "CANARY"), [""; 0]);

    scene.ana.says("read it");
    scene.wait_for_question(&shown);
    scene.ana.presses("Run once");
    scene.wait_for("Read.");
    let request = scene.model.requests().pop().unwrap();
    assert!(format!("{request:?}").contains("is kept in no file"));
    assert_eq!(workspace_files_with(&scene, "CANARY"), [""; 0]);
    // What was delivered is gone from the home too.
    gateway.stop().ends_with(0);
    let left = fs::read_dir(scene.home.path().join("outgoing")).unwrap();
    assert_eq!(left.count(), 0);
}
