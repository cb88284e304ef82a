//! Commands: run within the walls, asked about, refused, stopped, and always on record.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY};
use crate::harness::model::{Model, Request, call, say};
use crate::harness::program::{Output, PEACRAB, Program};
use crate::harness::telegram::Telegram;
use crate::harness::terminal::{CTRL_C, RETURN, Terminal};
use crate::terminal::AT_ONCE;

/// Asks once; what the model was told of its last call.
fn run(home: &Home, model: &Model) -> (Output, String) {
    let output = Program::new(home)
        .args(["agent", "-s", "default", "-m", "do it"])
        .run()
        .ends_with(0);
    let requests = model.requests();
    let told = told(&requests[requests.len() - 1]);
    (output, told)
}

/// What the last message of a request says.
fn told(request: &Request) -> String {
    let last: Value = serde_json::from_str(&request.last_message()).unwrap();
    let content = last["content"].as_str().unwrap_or_default();
    // The runtime's facts stand before a person's words.
    content
        .rsplit("\n\n")
        .next()
        .filter(|_| last["role"] == "user")
        .unwrap_or(content)
        .to_owned()
}

/// One call of exec and what came of it.
fn exec(arguments: Value, change: impl FnOnce(&mut Home)) -> (Home, String) {
    let model = Model::playing([call("exec", arguments), say("done")]);
    let mut home = Home::with_model(&model);
    change(&mut home);
    let (_, told) = run(&home, &model);
    (home, told)
}

/// What the audit log holds.
fn audit(home: &Home) -> Vec<Value> {
    let log = fs::read_to_string(home.path().join("audit.jsonl")).unwrap_or_default();
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_command_works_in_the_workspace_and_is_on_record() {
    let (home, told) = exec(
        json!({"command": "echo made > made.txt && pwd && false"}),
        |_| (),
    );
    let workspace = home.path().canonicalize().unwrap().join("workspace");
    assert!(told.starts_with("exit status 1\n"), "{told}");
    assert!(told.contains(workspace.to_str().unwrap()), "{told}");
    assert_eq!(
        fs::read_to_string(home.workspace("made.txt")).unwrap(),
        "made\n"
    );
    let log = audit(&home);
    let [start, end] = &log[..] else {
        panic!("{log:?}");
    };
    assert_eq!(
        (&start["event"], &start["who"]),
        (&json!("start"), &json!("cli:default"))
    );
    assert_eq!(start["command"], "echo made > made.txt && pwd && false");
    assert_eq!(
        (&end["event"], &end["result"], &end["id"]),
        (&json!("end"), &json!("exit status 1"), &start["id"])
    );
}

#[test]
fn a_command_whose_record_is_not_on_the_disk_is_not_run() {
    // A full disk, and one that takes the record and cannot keep it.
    for target in ["/dev/full", "/dev/null"] {
        for background in [false, true] {
            let arguments = json!({"command": "echo made > made.txt", "background": background});
            let (home, told) = exec(arguments, |home| {
                std::os::unix::fs::symlink(target, home.path().join("audit.jsonl")).unwrap();
            });
            assert!(
                told.starts_with(
                    "Error: the command was not run, because it could not be recorded"
                ) && told.contains("audit.jsonl"),
                "{target}: {told}"
            );
            assert!(!home.workspace("made.txt").exists(), "{target}");
        }
    }
}

#[test]
fn the_record_of_a_command_that_kills_the_program_is_there() {
    // The shell's parent is its supervisor, and the supervisor's is the program.
    let command = "kill -9 $(sed -n 's/^PPid:\\s*//p' /proc/$PPID/status)";
    let model = Model::playing([call("exec", json!({"command": command}))]);
    let mut home = Home::with_model(&model);
    home.set("/tools", json!({"exec": {"sandbox": "off"}}));
    let output = Program::new(&home)
        .args(["agent", "-s", "default", "-m", "do it"])
        .run();
    assert_eq!(output.code, None, "{output:#?}");
    let log = audit(&home);
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!(log[0]["command"], command);
}

#[test]
fn input_to_a_command_in_the_background_is_checked_and_recorded() {
    let write = |input: &str| {
        let arguments = json!({"action": "write", "session_id": 1, "input": input});
        call("exec_session", arguments)
    };
    let model = Model::playing([
        call("exec", json!({"command": "cat > got", "background": true})),
        write("echo plain\n"),
        write("echo hi; c'u'rl x\n"),
        write("cu"),
        write("rl x\n"),
        write("; sudo reboot\n"),
        say("done"),
    ]);
    let mut home = Home::with_model(&model);
    home.set("/tools", json!({"exec": {"denyPatterns": ["^curl "]}}));
    run(&home, &model);
    let requests = model.requests();
    let told: Vec<String> = requests[2..].iter().map(told).collect();
    assert_eq!([&told[0], &told[2]], ["Written.", "Written."]);
    for refused in [&told[1], &told[3]] {
        assert!(
            refused.contains("tools.exec.denyPatterns: ^curl "),
            "{refused}"
        );
    }
    assert!(told[4].contains("power"), "{}", told[4]);
    let log = audit(&home);
    let inputs: Vec<(&str, &str)> = log
        .iter()
        .filter(|record| record["event"] == "input" && record["id"] == log[0]["id"])
        .map(|record| {
            (
                record["input"].as_str().unwrap(),
                record["decision"].as_str().unwrap(),
            )
        })
        .collect();
    let denied = "refused: tools.exec.denyPatterns: ^curl ";
    assert_eq!(
        inputs,
        [
            ("echo plain\n", "allowed"),
            ("echo hi; c'u'rl x\n", denied),
            ("cu", "allowed"),
            ("rl x\n", denied),
            ("; sudo reboot\n", "refused: power"),
        ]
    );
    assert_eq!(
        fs::read_to_string(home.workspace("got")).unwrap(),
        "echo plain\ncu"
    );
}

#[test]
fn the_end_of_a_command_in_the_background_is_recorded() {
    let kill = json!({"action": "kill", "session_id": 2});
    let started = |command: &str| call("exec", json!({"command": command, "background": true}));
    let read = json!({"action": "read", "session_id": 1});
    let model = Model::answering(move |request| match told(request).as_str() {
        "do it" => started("sleep 1; exit 3"),
        words if words.starts_with("Started as session 1") => call("exec_session", read.clone()),
        // More of these than a turn may have steps, if reading did not wait for news.
        words if words.starts_with("running") => call("exec_session", read.clone()),
        words if words.starts_with("exit status 3") => started("sleep 600"),
        words if words.starts_with("Started as session 2") => call("exec_session", kill.clone()),
        words if words.starts_with("Killed.") => started("sleep 601"),
        words if words.starts_with("Started as session 3") => say("done"),
        other => say(&format!("unexpected: {other}")),
    });
    let home = Home::with_model(&model);
    let (output, _) = run(&home, &model);
    assert_eq!(output.stdout, "done\n");
    let log = audit(&home);
    let end_of = |command: &str| {
        let start = log
            .iter()
            .find(|record| record["command"] == command)
            .unwrap();
        let mut ends = log.iter().filter(|record| record["event"] == "end");
        ends.find(|record| record["id"] == start["id"])
            .map(|record| record["result"].as_str().unwrap())
    };
    assert_eq!(end_of("sleep 1; exit 3"), Some("exit status 3"));
    assert_eq!(end_of("sleep 600"), Some("stopped"));
    // The program's end ends it.
    assert_eq!(end_of("sleep 601"), Some("stopped"));
}

#[test]
fn a_command_sees_neither_the_keys_nor_the_daemon() {
    let attempt =
        "cat ../config.json; cat ../sessions/*; env; cat /proc/*/environ | tr '\\0' ' '; ls -a ..";
    let model = Model::playing([call("exec", json!({"command": attempt})), say("done")]);
    let home = Home::with_model(&model);
    let output = Program::new(&home)
        .args(["agent", "-s", "default", "-m", "do it"])
        .env("ANTHROPIC_API_KEY", "sk-canary-environment")
        .run();
    output.ends_with(0);
    let told = told(&model.requests()[1]);
    for secret in [KEY, "sk-canary-environment", "fake-model", "do it"] {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
}

#[test]
fn what_wants_out_is_denied_where_nobody_can_be_asked() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("made");
    let command = format!("touch {}", file.display());
    let (home, told) = exec(
        json!({"command": command, "escalate": true, "reason": "I want to"}),
        |_| (),
    );
    assert!(
        told.starts_with("Error: the command was not run: denied: no one to ask\n\nDo it within"),
        "{told}"
    );
    assert!(!file.exists());
    assert_eq!(audit(&home)[0]["decision"], "denied: no one to ask");
    let (_, told) = exec(json!({"command": command, "escalate": true}), |_| ());
    assert!(told.contains("escalate needs a reason"), "{told}");
    assert!(!file.exists());
}

#[test]
fn a_person_at_the_terminal_allows_once_always_or_not() {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("log");
    let command = format!("echo x >> {}", file.display());
    let arguments = json!({"command": command, "escalate": true, "reason": "to write a log"});
    let again = || [call("exec", arguments.clone()), say("done")];
    let script: Vec<_> = (0..4).flat_map(|_| again()).collect();
    let model = Model::playing(script);
    let home = Home::with_model(&model);
    let lines = || {
        fs::read_to_string(&file)
            .unwrap_or_default()
            .lines()
            .count()
    };

    for (answer, lines_then) in [("n", 0), ("y", 1), ("a", 2)] {
        let mut terminal = Terminal::start(&home, &["agent", "-s", "default", "-m", "do it"]);
        terminal.wait_for("reason  to write a log");
        terminal.wait_for("Run it?");
        assert!(terminal.shown().contains(&command));
        terminal.type_text(answer);
        terminal.type_text(RETURN);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        assert_eq!(lines(), lines_then, "after {answer}");
    }
    // From now on nobody has to be asked for exactly this.
    run(&home, &model);
    assert_eq!(lines(), 3);
    let decisions: Vec<Value> = audit(&home)
        .into_iter()
        .filter(|record| record["event"] != "end")
        .map(|record| record["decision"].clone())
        .collect();
    assert_eq!(
        decisions,
        [
            "denied",
            "allowed once",
            "allowed always",
            "allowed by a standing approval"
        ]
    );

    let other = format!("echo y >> {}", file.display());
    let model = Model::playing([
        call(
            "exec",
            json!({"command": other, "escalate": true, "reason": "r"}),
        ),
        say("done"),
    ]);
    let mut other_home = Home::with_model(&model);
    other_home.set("/tools", json!({}));
    fs::create_dir_all(other_home.path().join("state")).unwrap();
    fs::copy(
        home.path().join("state/approvals.json"),
        other_home.path().join("state/approvals.json"),
    )
    .unwrap();
    run(&other_home, &model);
    assert_eq!(
        lines(),
        3,
        "a standing approval holds for one command in one folder"
    );
}

#[test]
fn a_question_can_be_stopped() {
    let model = Model::playing([call(
        "exec",
        json!({"command": "id", "escalate": true, "reason": "r"}),
    )]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "-s", "default", "-m", "do it"]);
    terminal.wait_for("Run it?");
    let pressed = Instant::now();
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(130), "{}", terminal.shown());
    assert!(pressed.elapsed() < AT_ONCE, "{:?}", pressed.elapsed());
}

#[test]
fn patterns_refuse_with_the_rule_and_what_would_allow_it() {
    let (home, told) = exec(json!({"command": "rm -rf / --no-preserve-root"}), |_| ());
    assert!(
        told.contains("built-in pattern delete-root") && told.contains("escalate"),
        "{told}"
    );
    assert_eq!(audit(&home)[0]["decision"], "refused: delete-root");
    let (_, told) = exec(json!({"command": "ls; curl x"}), |home| {
        home.set("/tools", json!({"exec": {"allowPatterns": ["^ls"]}}));
    });
    assert!(
        told.contains("tools.exec.allowPatterns") && told.contains("curl x"),
        "{told}"
    );
    let (_, told) = exec(
        json!({"command": "id", "escalate": true, "reason": "r"}),
        |home| {
            home.set("/tools", json!({"exec": {"approval": "never"}}));
        },
    );
    assert!(told.contains("tools.exec.approval is \"never\""), "{told}");
}

#[test]
fn a_long_output_is_cut_and_the_whole_is_in_a_file() {
    let (home, told) = exec(json!({"command": "seq 1 100000"}), |_| ());
    assert!(
        told.starts_with("exit status 0\n1\n2\n") && told.trim_end().ends_with("100000"),
        "{told}"
    );
    assert!(told.chars().count() <= 16_500);
    let name = told
        .split("the whole is in ")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap();
    let whole = fs::read_to_string(home.workspace(name)).unwrap();
    assert_eq!(whole.lines().count(), 100_000);
}

#[test]
fn a_command_that_takes_too_long_is_stopped_with_all_that_it_started() {
    let command = "(setsid sleep 86399.5 &) ; echo begun; sleep 600";
    let (_, told) = exec(json!({"command": command, "timeout": 1}), |_| ());
    assert!(
        told.starts_with("Error: timed out after 1 s\nbegun"),
        "{told}"
    );
    assert!(!lives("86399.5"));
}

/// Whether a process of this machine has the word in its command line.
fn lives(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let mut words = lines.flat_map(|line| {
        line.split(|byte| *byte == 0)
            .map(<[u8]>::to_vec)
            .collect::<Vec<_>>()
    });
    words.any(|found| found == word.as_bytes())
}

#[test]
fn ctrl_c_ends_a_command_at_once() {
    let model = Model::playing([call(
        "exec",
        json!({"command": "echo begun > begun; sleep 600"}),
    )]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "-s", "default", "-m", "do it"]);
    let begun = home.workspace("begun");
    let waiting = Instant::now();
    while !begun.exists() {
        assert!(
            waiting.elapsed() < Duration::from_secs(20),
            "{}",
            terminal.shown()
        );
        std::thread::yield_now();
    }
    let pressed = Instant::now();
    terminal.type_text(CTRL_C);
    assert_eq!(terminal.finish(), Some(130), "{}", terminal.shown());
    assert!(pressed.elapsed() < AT_ONCE, "{:?}", pressed.elapsed());
    assert!(home.journal("default").contains("stopped"));
}

#[test]
fn a_command_in_the_background_is_read_written_to_and_killed() {
    let session = |action: &str| {
        call(
            "exec_session",
            json!({"action": action, "session_id": 1, "input": "hello\n"}),
        )
    };
    let echo = json!({"command": "while read line; do echo got $line; done", "background": true});
    let model = Model::answering(move |request| match told(request).as_str() {
        "do it" => call("exec", echo.clone()),
        words if words.starts_with("Started as session 1") => session("write"),
        // It may take a moment until the command has answered.
        "Written." | "running\n(nothing new)" => session("read"),
        "running\ngot hello\n" => session("list"),
        words if words.starts_with("1: running, 0 bytes unread: while read") => session("kill"),
        words if words.starts_with("Killed.") => session("read"),
        words if words.starts_with("Error: ") => say("it is gone"),
        other => say(&format!("unexpected: {other}")),
    });
    let home = Home::with_model(&model);
    let (output, _) = run(&home, &model);
    assert_eq!(output.stdout, "it is gone\n");
}

#[test]
fn the_end_of_the_gateway_ends_its_commands_on_record() {
    let command = json!({"command": "sleep 602", "background": true});
    let model = Model::playing([call("exec", command), say("started")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let gateway = Gateway::start(&home);
    telegram.person(1001, "Ana", None).says("start it");
    telegram.wait_for_calls("sendMessage", 1);
    gateway.stop().ends_with(0);
    let log = audit(&home);
    let ends = log.iter().map(|record| record["result"].as_str());
    assert_eq!(ends.collect::<Vec<_>>(), [None, Some("stopped")]);
}

#[test]
fn without_commands_the_model_hears_of_none() {
    let model = Model::playing([say("hi")]);
    let mut home = Home::with_model(&model);
    home.set("/tools", json!({"exec": {"enabled": false}}));
    run(&home, &model);
    let body = &model.requests()[0].body;
    assert!(!body["tools"].to_string().contains("exec"), "{body}");
    assert!(
        !body["messages"].to_string().contains("exec runs"),
        "{body}"
    );
}

/// A script can have told the kernel to forget how children end, and to interrupt nothing.
#[test]
fn commands_run_whatever_signals_the_caller_ignores() {
    let home = Home::new();
    let output = Program::of("sh", &home)
        .args([
            "-c",
            "trap '' CHLD HUP INT TERM; exec \"$0\" doctor sandbox",
        ])
        .arg(PEACRAB)
        .run()
        .ends_with(0);
    assert!(
        output.stdout.contains("attempts, all blocked"),
        "{}",
        output.stdout
    );
}

#[test]
fn the_doctor_tries_to_escape_and_says_what_held() {
    let home = Home::new();
    let output = Program::new(&home)
        .args(["doctor", "sandbox"])
        .run()
        .ends_with(0);
    assert!(
        output
            .stdout
            .contains("attempts, all blocked\n  files      read a secret,"),
        "{}",
        output.stdout
    );
    assert!(!output.stdout.contains("NOT BLOCKED"));
    let output = Program::new(&home)
        .args(["doctor", "sandbox", "--json"])
        .run()
        .ends_with(0);
    let found: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(found["held"], true);
    assert!(found["attempts"].as_array().unwrap().len() >= 30);

    home.write_config(r#"{"tools": {"exec": {"sandbox": "off"}}}"#);
    let output = Program::new(&home)
        .args(["doctor", "sandbox"])
        .run()
        .ends_with(1);
    assert!(
        output.stdout.contains("NOT BLOCKED  files: read a secret"),
        "{}",
        output.stdout
    );
}
