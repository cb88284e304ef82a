//! What is no regular file where a file of the home should be: a clear error, and never a hang.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use crate::harness::home::Home;
use crate::harness::model::{Model, say};
use crate::harness::program::Program;
use crate::harness::telegram::Telegram;

const KINDS: [&str; 4] = ["pipe", "folder", "socket", "device"];

/// Puts something of a kind there.
fn put(kind: &str, path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "folder" => fs::create_dir(path).unwrap(),
        // The socket stays when nobody listens any more.
        "socket" => drop(UnixListener::bind(path).unwrap()),
        _ => symlink("/dev/zero", path).unwrap(),
    }
}

#[test]
fn the_gateway_does_not_start_and_names_the_file() {
    let (model, telegram) = (Model::playing([]), Telegram::start());
    for name in ["inbox.jsonl", "outbox.jsonl", "gateway.lock", "config.json"] {
        let home = Home::with_telegram(&model, &telegram);
        for kind in KINDS {
            put(kind, &home.path().join(name));
            let output = Program::new(&home).arg("gateway").run();
            assert_ne!(output.code, Some(0), "{kind} {name}");
            let said = &output.stderr;
            assert!(
                said.contains(name) && said.contains("not a regular file"),
                "{kind} {name}: {said}"
            );
        }
    }
}

#[test]
fn a_conversation_names_its_journal_and_does_not_wait_for_the_small_facts() {
    for kind in KINDS {
        let model = Model::answering(|_| say("Hello!"));
        let home = Home::with_model(&model);
        let agent = || {
            Program::new(&home)
                .args(["agent", "-s", "default", "-m", "hello"])
                .run()
        };
        assert_eq!(agent().code, Some(0));
        let journals = fs::read_dir(home.path().join("sessions")).unwrap();
        let journal = journals
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|end| end == "jsonl"))
            .unwrap();
        put(kind, &journal);
        let output = agent();
        assert!(
            output.stderr.contains("not a regular file"),
            "{kind}: {}",
            output.stderr
        );
        fs::remove_file(&journal)
            .or_else(|_| fs::remove_dir(&journal))
            .unwrap();
        for name in [
            "usage",
            "usage_days",
            "introduction",
            "models",
            "approvals",
            "pairing",
            "recent",
        ] {
            put(
                kind,
                &home.path().join("state").join(name).with_extension("json"),
            );
        }
        // It answers, or says what is wrong: what is counted is replaced, what decides is not.
        let output = agent();
        assert!(
            output.stdout.contains("Hello!") || output.stderr.contains("regular file"),
            "{kind}: {} {}",
            output.stdout,
            output.stderr
        );
        put(kind, &journal);
        for command in [&["sessions"][..], &["status"], &["channels"], &["doctor"]] {
            Program::new(&home).args(command).run();
        }
    }
}

#[test]
fn without_an_audit_log_no_command_runs() {
    for kind in KINDS {
        let model = Model::playing([
            crate::harness::model::call("exec", serde_json::json!({"command": "touch ran"})),
            say("Done."),
        ]);
        let home = Home::with_model(&model);
        put(kind, &home.path().join("audit.jsonl"));
        Program::new(&home).args(["agent", "-m", "hello"]).run();
        let requests = model.requests();
        let result = requests[1].body["messages"].to_string();
        assert!(result.contains("not a regular file"), "{kind}: {result}");
        assert!(!home.path().join("workspace/ran").exists(), "{kind}");
    }
}
