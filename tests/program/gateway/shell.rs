//! The shell of a chat: it remembers, takes input, lists what runs, and says when the sandbox is in the way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use super::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::program::Program;
use crate::harness::telegram::Message;

/// Sends a command and waits for the answer, which begins with the prompt.
fn asks(scene: &Scene, typed: &str, expected: &str) -> Message {
    let said = scene.ana.says(typed);
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.id > said.message && message.text.contains(expected)
        })
}

/// What the audit log has.
fn audit_of(scene: &Scene) -> String {
    fs::read_to_string(scene.home.path().join("audit.jsonl")).unwrap()
}

#[test]
fn a_shell_remembers_its_folder_variables_functions_and_options() {
    let scene = Scene::playing([]);
    fs::create_dir(scene.home.workspace("plans")).unwrap();
    let gateway = scene.start();
    for (typed, answer) in [
        (
            "cd plans; A=one; export B='and two'; umask 027",
            "Done, no output.",
        ),
        (
            "say() { echo \"$A $B\"; }; alias twice='say; say'",
            "Done, no output.",
        ),
        ("set -f", "Done, no output."),
        ("say; sh -c 'echo $B'; umask", "one and two\nand two\n0027"),
        ("twice *", "one and two\none and two"),
        ("echo *; pwd | sed 's/.*peacrab//'", "\n*"),
    ] {
        asks(&scene, &format!("/sh {typed}"), answer);
    }
    let answer = asks(&scene, "/sh basename \"$PWD\"", "\nplans");
    assert_eq!(answer.text, "~/plans $ basename \"$PWD\"\nplans");
    let answer = asks(&scene, "/sh cd /usr", "Done");
    assert!(
        answer.text.starts_with("~/plans $ cd /usr"),
        "{}",
        answer.text
    );
    let answer = asks(&scene, "/sh ls -d bin", "\nbin");
    assert_eq!(answer.text, "/usr $ ls -d bin\nbin");
    gateway.stop().ends_with(0);
}

#[test]
fn mistakes_are_answered_and_the_shell_goes_on() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    asks(&scene, "/sh A=kept", "Done");
    for typed in [
        "echo 'never closed",
        "(",
        ". /no/such/file",
        "if true",
        "${A?}x",
    ] {
        let said = scene.ana.says(&format!("/sh {typed}"));
        let answer = scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.id > said.message && message.text.contains("exit status")
            });
        assert!(
            !answer.text.contains("shell has ended"),
            "{typed}: {}",
            answer.text
        );
    }
    asks(&scene, "/sh echo $A", "\nkept");
    let ended = asks(&scene, "/sh echo bye; exit 3", "exit status 3");
    assert!(
        ended
            .text
            .contains("The shell has ended. The next command starts a new one."),
        "{}",
        ended.text
    );
    let fresh = asks(&scene, "/sh echo \"<$A>\"", "<>");
    assert!(!fresh.text.contains("new shell"), "{}", fresh.text);
    let left = asks(&scene, "/sh exit", "The shell has ended.");
    assert!(!left.text.contains("Done"), "{}", left.text);
    gateway.stop().ends_with(0);
}

#[test]
fn after_a_restart_the_folder_is_kept_and_the_shell_says_once_that_it_is_new() {
    let scene = Scene::playing([]);
    fs::create_dir(scene.home.workspace("plans")).unwrap();
    let gateway = scene.start();
    asks(&scene, "/sh cd plans; A=1", "Done");
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    let first = asks(&scene, "/sh echo \"<$A>\"", "<>");
    assert!(first.text.starts_with("~/plans $"), "{}", first.text);
    assert!(
        first
            .text
            .contains("This is a new shell in the same folder."),
        "{}",
        first.text
    );
    let second = asks(&scene, "/sh echo again", "\nagain");
    assert!(!second.text.contains("new shell"), "{}", second.text);
    gateway.stop().ends_with(0);
}

/// Waits until the gateway knows which message shows a command: one that only the fake knows may be any message.
fn wait_until_confirmed(scene: &Scene, message: i64) {
    let outbox = scene.home.path().join("outbox.jsonl");
    let known = format!("\"message\":\"{message}\"");
    let limit = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(&outbox)
        .unwrap_or_default()
        .contains(&known)
    {
        assert!(
            Instant::now() < limit,
            "message {message} was not confirmed"
        );
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_running_command_takes_input_from_in_and_from_replies() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let gateway = scene.start();
    let usage = asks(&scene, "/in Ann", "No command is waiting for input here.");
    assert!(usage.text.contains("/in Ann"), "{}", usage.text);
    let typed = scene.ana.says("/sh echo ready; read a; echo \"a=$a\"; read b; echo \"b=$b\"; read c; echo \"c=$c\"; cat; echo over");
    scene.wait_for("\nready");
    scene.ana.says("/in Ann");
    // It is below what was written meanwhile.
    let draft = scene.wait_for("\na=Ann");
    // A person is slower than the confirmation of a message, which this is not.
    wait_until_confirmed(&scene, draft.id);
    scene.ana.replies(scene.ana.chat(), draft.id, "two words");
    scene.wait_for("\nb=two words");
    scene
        .ana
        .replies(scene.ana.chat(), typed.message, "/not a command");
    scene.ana.replies(scene.ana.chat(), typed.message, "third");
    scene.wait_for("\nc=third");
    scene.ana.says("/in to cat");
    scene.ana.says("/in ^D");
    let answer = scene.wait_for("\nover");
    assert!(answer.text.contains("\nto cat\nover"), "{}", answer.text);
    // The end of the input was for that command only.
    let next = scene.ana.says("/sh read d; echo \"d=$d\"");
    scene.wait_for("$ read d;");
    scene.ana.replies(scene.ana.chat(), next.message, "fourth");
    scene.wait_for("d=fourth");
    // A late one may be a password: it is no message for the model.
    for late in [typed.message, next.message] {
        let said = scene.ana.replies(scene.ana.chat(), late, "hunter2");
        scene
            .telegram
            .wait_for_message(scene.ana.chat(), |message| {
                message.id > said.message && message.text.starts_with("It has ended")
            });
    }
    gateway.stop().ends_with(0);
    assert!(scene.model.requests().is_empty());
    let audit = audit_of(&scene);
    assert!(
        !audit.contains("two words") && audit.contains("\"event\":\"input\""),
        "{audit}"
    );
    assert!(audit.contains("\"length\":10,"), "{audit}");
}

#[test]
fn input_right_behind_its_command_is_for_that_command() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene.telegram.go_offline();
    scene
        .ana
        .says("/sh read a; echo \"a=$a\"; read b; echo \"b=$b\"; cat");
    scene.ana.says("/in Ann");
    scene.ana.says("/in Bob");
    scene.ana.says("/in ^D");
    scene.telegram.go_online();
    let shown = scene.wait_for("\nb=Bob");
    assert!(shown.text.contains("\na=Ann"), "{}", shown.text);
    // A reply to the command, too.
    scene.telegram.go_offline();
    let typed = scene.ana.says("/sh read c; echo \"c=$c\"");
    scene.ana.replies(scene.ana.chat(), typed.message, "third");
    scene.telegram.go_online();
    scene.wait_for("\nc=third");
    // For one that never runs it is not lost in silence.
    let texts = scene.texts().join("\n");
    assert!(!texts.contains("No command is waiting"), "{texts}");
    scene.telegram.go_offline();
    scene.ana.says("/sh! cat");
    scene.ana.says("/in unused");
    scene.telegram.go_online();
    scene.wait_for_question("outside the sandbox");
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            let is_told = |words: &str| message.text.starts_with(words);
            is_told("It takes no input now") || is_told("No command is waiting")
        });
    scene.ana.says("/deny");
    scene.wait_for("✗ Denied by");
    gateway.stop().ends_with(0);
    assert!(scene.model.requests().is_empty());
    // The question shows it: a message about it would be one too many.
    let texts = scene.texts();
    let is_more = |text: &String| text.starts_with("✗ Denied: ") || text.contains("Not run");
    assert!(!texts.iter().any(is_more), "{texts:?}");
}

#[test]
fn stop_and_the_time_limit_end_the_command_and_not_the_shell() {
    let mut scene = Scene::playing([]);
    scene
        .home
        .set("/tools/exec", json!({"maxTimeout": 2, "timeout": 2}));
    let scene = scene.set("streamEditIntervalMs", json!(300));
    let gateway = scene.start();
    asks(&scene, "/sh A=kept", "Done");
    scene.ana.says("/sh echo begun; sleep 600; echo never");
    scene.wait_for("\nbegun");
    scene.ana.says("/stop");
    scene.wait_for("Stopped. 1 command ended.");
    let stopped = scene.wait_for("stopped");
    assert!(!stopped.text.contains("\nnever"), "{}", stopped.text);
    let late = asks(&scene, "/sh while :; do :; done", "timed out after 2 s");
    assert!(
        !late.text.contains("shell had to be ended"),
        "{}",
        late.text
    );
    asks(
        &scene,
        "/sh trap '' INT TERM; sleep 600",
        "timed out after 2 s",
    );
    asks(&scene, "/sh echo \"<$A>\"", "<kept>");
    let lost = asks(
        &scene,
        "/sh cd /usr; while :; do :; done",
        "timed out after 2 s",
    );
    assert!(
        lost.text.contains("The shell had to be ended too."),
        "{}",
        lost.text
    );
    let fresh = asks(&scene, "/sh echo \"<$A>\"", "<>");
    assert!(fresh.text.starts_with("/usr $"), "{}", fresh.text);
    assert!(!fresh.text.contains("new shell"), "{}", fresh.text);
    gateway.stop().ends_with(0);
}

#[test]
fn a_command_runs_beside_a_long_one_and_changes_nothing() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let program = Program::new(&scene.home).arg("gateway");
    let gateway = Gateway::of(program.env("PEACRAB_TEST_EVERY_COMMAND_IS_LONG", "1"));
    scene
        .ana
        .says("/sh cd /usr; echo waiting; read x; echo \"x=$x\"");
    scene.wait_for("\nwaiting");
    let beside = asks(&scene, "/sh echo one", "\none");
    assert!(!beside.text.contains("beside"), "{}", beside.text);
    let moved = asks(&scene, "/sh cd /etc", "ran beside it");
    assert!(moved.text.starts_with("~ $"), "{}", moved.text);
    scene.ana.says("/in done");
    scene.wait_for("\nx=done");
    asks(&scene, "/sh pwd", "/usr $ pwd\n/usr");
    gateway.stop().ends_with(0);
}

#[test]
fn what_runs_is_listed_and_followed() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let gateway = scene.start();
    asks(&scene, "/bg", "Nothing is running here.");
    asks(&scene, "/bg 7", "No command has that number.");
    asks(
        &scene,
        "/sh (read x; echo from behind; sleep 600) </dev/null & echo started",
        "\nstarted",
    );
    let listed = asks(&scene, "/bg", "sleep 600");
    assert!(
        listed.text.contains("In the background of the shell:"),
        "{}",
        listed.text
    );
    scene
        .ana
        .says("/sh echo begun; read line; echo \"line=$line\"");
    scene.wait_for("\nbegun");
    let listed = asks(&scene, "/bg", "1: ");
    assert!(listed.text.contains("read line"), "{}", listed.text);
    let followed = asks(&scene, "/bg 1", "Following 1:");
    // What is shown of the command stands below that again.
    scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.id > followed.id && message.text.contains("\nbegun")
        });
    scene.ana.says("/in x");
    scene.wait_for("\nline=x");
    gateway.stop().ends_with(0);
    let texts = scene.texts().join("\n");
    assert_eq!(texts.matches("\nfrom behind").count(), 1, "{texts}");
}

#[test]
fn the_history_lists_what_was_typed_and_runs_it_again() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    asks(&scene, "/history", "No commands yet.");
    asks(&scene, "/sh !!", "There is no such command.");
    asks(&scene, "/sh echo first", "\nfirst");
    asks(&scene, "/sh echo second", "\nsecond");
    let again = asks(&scene, "/sh !!", "\nsecond");
    assert_eq!(again.text, "~ $ echo second\nsecond");
    assert_eq!(
        asks(&scene, "/sh !1", "\nfirst").text,
        "~ $ echo first\nfirst"
    );
    asks(&scene, "/sh !?seco", "\nsecond");
    let listed = asks(&scene, "/history", "echo second");
    assert!(
        listed.text.contains("1  echo first") && listed.text.contains("2  echo second"),
        "{}",
        listed.text
    );
    let found = asks(&scene, "/history fir", "echo first");
    assert!(!found.text.contains("echo second"), "{}", found.text);
    for absent in ["nowhere", "0", "99"] {
        let told = format!("None of your commands contains {absent}.");
        asks(&scene, &format!("/history {absent}"), &told);
    }
    for absent in ["!99", "!-1", "!18446744073709551616"] {
        asks(
            &scene,
            &format!("/sh {absent}"),
            "There is no such command.",
        );
    }
    // Outside the sandbox the last one asks again.
    asks(&scene, "/sh! !!", "outside the sandbox");
    scene.ana.presses("Run once");
    scene.wait_for("\nsecond");
    gateway.stop().ends_with(0);
    let gateway = scene.start();
    asks(&scene, "/history", "echo second");
    gateway.stop().ends_with(0);
}

#[test]
fn secrets_are_in_no_history() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let key = crate::harness::home::KEY;
    asks(&scene, &format!("/sh echo {key} | wc -c"), "wc -c");
    let listed = asks(&scene, "/history", "wc -c");
    assert!(!listed.text.contains(key), "{}", listed.text);
    gateway.stop().ends_with(0);
    assert!(
        !fs::read_to_string(scene.home.path().join("state/shells.json"))
            .unwrap()
            .contains(key)
    );
}

#[test]
fn a_progress_bar_is_one_line() {
    let scene = Scene::playing([]).set("streamEditIntervalMs", json!(300));
    let gateway = scene.start();
    let bar = "printf 'get\\n'; for i in 10 50 100; do printf '\\r\\033[32m%s%%\\033[0m' $i; done; read x; echo";
    scene.ana.says(&format!("/sh {bar}"));
    let draft = scene.wait_for("get\n100%");
    assert!(
        !draft.text.contains("\n10%") && !draft.text.contains('\u{1b}'),
        "{:?}",
        draft.text
    );
    scene.ana.says("/in");
    let answer = scene
        .telegram
        .wait_for_message(scene.ana.chat(), |message| {
            message.text.ends_with("\nget\n100%")
        });
    assert!(!answer.text.contains("50%"), "{}", answer.text);
    gateway.stop().ends_with(0);
}

#[test]
fn where_the_sandbox_is_the_reason_a_button_runs_it_on_the_board() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    fs::write(&file, "what happened\n").unwrap();
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let line = format!("cat {}", file.display());
    let failed = asks(&scene, &format!("/sh {line}"), "No such file");
    let why = format!("the sandbox does not show {}", file.display());
    assert!(failed.text.contains(&why), "{}", failed.text);
    assert!(failed.button("Run it on the board").is_some());
    let folder = outside.path().display();
    let unseen = asks(&scene, &format!("/sh cd {folder} && ls"), "exit status");
    for (said, times) in [
        ("which the sandbox hides", 1),
        ("runs it on the board itself.", 0),
    ] {
        assert_eq!(unseen.text.matches(said).count(), times, "{}", unseen.text);
    }
    // What is nowhere is not the sandbox's fault.
    let nowhere = asks(&scene, "/sh cat /no/such/file", "No such file");
    assert!(!nowhere.text.contains("sandbox"), "{}", nowhere.text);
    // In a pipe the answer says so too: the status is that of the last program.
    asks(&scene, &format!("/sh {line} | tail -1"), &why);
    scene.ana.presses("Run it on the board");
    scene.wait_for("outside the sandbox");
    scene.ana.presses("Run once");
    let answer = scene.wait_for("\nwhat happened");
    assert!(answer.text.contains(&line), "{}", answer.text);
    gateway.stop().ends_with(0);
}

#[test]
fn a_program_that_the_sandbox_hides_is_named_with_the_setting_that_shows_it() {
    let programs = tempfile::tempdir().unwrap();
    let folder = programs.path().canonicalize().unwrap();
    fs::write(folder.join("lampd"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(folder.join("lampd"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut scene = Scene::playing([]);
    let folder = folder.to_str().unwrap();
    scene.home.set("/tools/exec/pathAppend", json!(folder));
    let gateway = scene.start();
    let hint = format!("lampd is in {folder}, which the sandbox hides: add {folder} to");
    let failed = asks(&scene, "/sh lampd on", "tools.readOnlyPaths");
    assert!(failed.text.contains(&hint), "{}", failed.text);
    gateway.stop().ends_with(0);
}

#[test]
fn a_shell_on_the_board_asks_only_about_what_is_risky() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("made");
    let mut scene = Scene::playing([]);
    scene.home.set(
        "/tools/exec",
        json!({"shell": "host", "denyPatterns": ["fortune"]}),
    );
    let gateway = scene.start();
    asks(
        &scene,
        &format!("/sh cd {}", outside.path().display()),
        "Done",
    );
    let first = scene.wait_for("Done");
    assert!(!first.text.starts_with("~ $"), "{}", first.text);
    let answer = asks(&scene, "/sh touch made; A=1", "Done");
    assert!(
        answer
            .text
            .starts_with(&format!("{} ", outside.path().display())),
        "{}",
        answer.text
    );
    assert!(file.exists());
    asks(&scene, "/sh echo \"<$A>\"", "<1>");
    asks(&scene, "/sh fortune", "the configuration forbids it");
    asks(&scene, "/sh reboot", "outside the sandbox");
    scene.ana.presses("Deny");
    scene.wait_for("✗ Denied by");
    gateway.stop().ends_with(0);
    let audit = audit_of(&scene);
    assert!(
        audit.contains("touch made") && audit.contains("refused"),
        "{audit}"
    );
}

#[test]
fn the_root_shows_the_disk_of_the_board() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    let real = rustix::fs::statvfs(scene.home.workspace("").as_path()).unwrap();
    let size = real.f_blocks * real.f_frsize / 1024;
    asks(
        &scene,
        "/sh df -kP / | awk 'NR == 2 {print $2}'",
        &format!("\n{size}"),
    );
    let read_only = asks(&scene, "/sh touch /new", "exit status 1");
    assert!(read_only.text.contains("Read-only"), "{}", read_only.text);
    gateway.stop().ends_with(0);
}

/// A name such as `photo<RLO>gpj.exe` would be read backwards.
#[test]
fn output_is_shown_in_the_order_in_which_it_was_written() {
    let scene = Scene::playing([]);
    let gateway = scene.start();
    scene
        .ana
        .says(r"/sh printf 'photo\342\200\256gpj.exe \342\201\246x\n'");
    scene.wait_for("\nphotogpj.exe x");
    gateway.stop().ends_with(0);
}
