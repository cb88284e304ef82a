//! Commands that a person allows outside the sandbox: nothing that the model can write decides what they
//! do, and what runs is what the person was shown.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, Model, Step, call, say};
use crate::harness::program::Program;
use crate::harness::telegram::Telegram;
use crate::harness::terminal::{RETURN, Terminal};

/// A call of exec that needs a person.
fn outside(command: &str, more: Value) -> Step {
    let mut arguments = json!({"command": command, "escalate": true, "reason": "a test"});
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    call("exec", arguments)
}

/// Plays the script at a terminal where each question gets its answer, and gives what was shown.
fn answering(home: &Home, answers: &[&str]) -> String {
    let mut terminal = Terminal::start(home, &["agent", "-m", "do it"]);
    for answer in answers {
        terminal.wait_for("Run it?");
        terminal.type_text(answer);
        terminal.type_text(RETURN);
    }
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    terminal.shown()
}

/// Runs once with no one to ask.
fn unattended(home: &Home, session: &str) {
    let arguments = ["agent", "-s", session, "-m", "do it"];
    Program::new(home).args(arguments).run().ends_with(0);
}

fn audit(home: &Home) -> Vec<Value> {
    let log = fs::read_to_string(home.path().join("audit.jsonl")).unwrap_or_default();
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn nothing_of_the_workspace_is_loaded_because_it_is_home() {
    let elsewhere = tempfile::tempdir().unwrap();
    let repository = elsewhere.path();
    let made = Command::new("git")
        .args(["init", "-q"])
        .arg(repository)
        .status();
    let has_git = made.is_ok_and(|status| status.success());
    let command = format!(
        "env; cd {} && git status; python3 -c 1; docker evil; true",
        repository.display()
    );
    let model = Model::playing([outside(&command, json!({})), say("done")]);
    let mut home = Home::with_model(&model);
    let bin = home.workspace("bin");
    home.set("/tools", json!({"exec": {"pathAppend": bin}}));
    let ran = home.workspace("ran");
    let put = |name: &str, text: &str| {
        let file = home.workspace(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(file, mode).unwrap();
    };
    let evil = format!("#!/bin/sh\necho \"$0\" >> {}\n", ran.display());
    put("bin/evil", &evil);
    let monitor = home.workspace("bin/evil");
    put(
        ".gitconfig",
        &format!("[core]\n\tfsmonitor = {}\n", monitor.display()),
    );
    for minor in 7..20 {
        let line = format!("import os; os.system({:?})\n", monitor.display());
        put(
            &format!(".local/lib/python3.{minor}/site-packages/evil.pth"),
            &line,
        );
    }
    put(".docker/cli-plugins/docker-evil", &evil);
    answering(&home, &["y"]);
    let told = &model.tool_results()[0];
    let workspace = home.path().canonicalize().unwrap().join("workspace");
    let workspace = workspace.to_str().unwrap();
    let leading: Vec<&str> = told
        .lines()
        .filter(|line| line.contains(workspace) && !line.contains("PWD="))
        .collect();
    assert_eq!(leading, [""; 0]);
    assert!(told.contains("HOME=/") && told.contains("PATH=/"), "{told}");
    assert!(
        !ran.exists(),
        "{}",
        fs::read_to_string(&ran).unwrap_or_default()
    );
    // The same with the workspace as home runs it, or this test shows nothing.
    if has_git {
        let mut status = Command::new("git");
        status.arg("-C").arg(repository).arg("status");
        status.env("HOME", workspace).output().unwrap();
        assert!(ran.exists());
    }
}

#[test]
fn what_a_person_types_gets_the_same_environment() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let gateway = Gateway::start(&home);
    let ana = telegram.person(1001, "Ana", None);
    ana.says("/sh !echo \"home is $HOME\"");
    ana.presses("Run once");
    let shown = telegram.wait_for_message(ana.chat(), |message| {
        message.text.contains("home is /") && message.markup.is_none()
    });
    gateway.stop().ends_with(0);
    let workspace = home.workspace("").canonicalize().unwrap();
    let workspace = workspace.to_str().unwrap().trim_end_matches('/');
    assert!(
        !shown.text.contains(&format!("home is {workspace}")),
        "{}",
        shown.text
    );
}

#[test]
fn the_question_has_the_real_folder_and_what_lies_in_it() {
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().canonicalize().unwrap();
    let there = || outside("pwd", json!({"working_dir": "build"}));
    let model = Model::playing([there(), say("done")]);
    let home = Home::with_model(&model);
    symlink(&real, home.workspace("build")).unwrap();
    let shown = answering(&home, &["y"]);
    let line = format!("folder  {}", real.display());
    assert!(shown.contains(&line), "{shown}");
    let told = &model.tool_results()[0];
    assert!(told.contains(real.to_str().unwrap()), "{told}");
    assert_eq!(audit(&home)[0]["folder"], real.to_str().unwrap());
}

#[test]
fn a_folder_that_is_swapped_during_the_question_is_another_one() {
    let elsewhere = tempfile::tempdir().unwrap();
    let there = outside("touch made", json!({"working_dir": "build"}));
    let model = Model::playing([there, say("done")]);
    let home = Home::with_model(&model);
    fs::create_dir(home.workspace("build")).unwrap();
    let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
    terminal.wait_for("Run it?");
    fs::remove_dir(home.workspace("build")).unwrap();
    symlink(elsewhere.path(), home.workspace("build")).unwrap();
    terminal.type_text("y");
    terminal.type_text(RETURN);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let told = &model.tool_results()[0];
    assert!(told.contains("changed since it was approved"), "{told}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_script_that_changes_after_the_question_is_not_run() {
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("made");
    let good = "echo good\n";
    let evil = format!("touch {}\n", file.display());
    let run = |line| [outside(line, json!({})), say("done")];
    let lines = ["sh ./x.sh", "cat x.sh", "cat x.sh", "cat x.sh"];
    let model = Model::playing(lines.into_iter().flat_map(run).collect::<Vec<_>>());
    let home = Home::with_model(&model);
    let script = home.workspace("x.sh");
    let told = || model.tool_results().into_iter().next_back().unwrap();

    fs::write(&script, good).unwrap();
    let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
    terminal.wait_for("Run it?");
    fs::write(&script, &evil).unwrap();
    terminal.type_text("y");
    terminal.type_text(RETURN);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert!(
        told().contains("x.sh changed since it was approved"),
        "{}",
        told()
    );
    assert!(!file.exists());
    let decision = audit(&home)[0]["decision"].as_str().unwrap().to_owned();
    assert!(decision.starts_with("denied: "), "{decision}");

    // A standing approval holds for a file as it was, and no longer.
    fs::write(&script, good).unwrap();
    answering(&home, &["a"]);
    assert!(told().contains("good"), "{}", told());
    unattended(&home, "default");
    assert!(told().contains("good"), "{}", told());
    fs::write(&script, &evil).unwrap();
    unattended(&home, "default");
    assert!(told().contains("no one to ask"), "{}", told());
    assert!(!file.exists());
}

#[test]
fn a_script_is_not_run_outside_where_it_could_be_changed_meanwhile() {
    let background = json!({"background": true});
    let model = Model::playing([
        outside("sh ./x.sh", background.clone()),
        outside("terraform apply", background.clone()),
        outside("cat x.sh", background.clone()),
        outside("sleep 1; sh out/later.sh", background),
        say("done"),
    ]);
    let home = Home::with_model(&model);
    fs::write(home.workspace("x.sh"), "echo ran\n").unwrap();
    answering(&home, &[]);
    for told in model.tool_results() {
        assert!(told.contains("in the foreground"), "{told}");
    }
}

/// What a command outside reads is not changed by one in the sandbox while it runs: that one is frozen, and where it
/// cannot be, the command is not run.
#[test]
fn nothing_in_the_sandbox_changes_what_a_command_outside_reads() {
    const WRITE: &str = "until [ -e flag ]; do sleep 0.01; done; mkdir out; echo 'echo from the sandbox' >out/after.sh";
    const READ: &str = "touch flag; i=0; until [ -e out/after.sh ] || [ $i -eq 30 ]; do sleep 0.1; i=$((i + 1)); done; \
                        sh out/after.sh; echo it ran";
    for variables in [&[][..], &[("PEACRAB_TEST_NO_FREEZER", "1")]] {
        let session = json!({"command": WRITE, "background": true});
        let model = Model::playing([
            call("exec", session),
            outside(READ, json!({})),
            outside("df -h /", json!({})),
            call("write_file", json!({"path": "own.txt", "content": "x"})),
            call("exec_session", json!({"action": "kill", "session_id": 1})),
            outside("echo alone", json!({})),
            say("done"),
        ]);
        let home = Home::with_model(&model);
        let arguments = ["agent", "-m", "do it"];
        let mut terminal = Terminal::start_on(&home, &arguments, 80, variables);
        for _ in 0..3 {
            terminal.wait_for("Run it?");
            terminal.type_text("y");
            terminal.type_text(RETURN);
        }
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        let told = model.tool_results();
        let is_refused = told[1].contains("have to end first: [1]");
        let is_run = told[1].contains("it ran") && variables.is_empty();
        assert!(is_refused || is_run, "{}", told[1]);
        assert!(!told[1].contains("from the sandbox"), "{}", told[1]);
        assert!(told[2].contains("exit status 0"), "{}", told[2]);
        assert!(home.workspace("own.txt").exists());
        assert!(told[5].contains("alone"), "{}", told[5]);
    }
}

/// What a configured command reads on the host is not changed by one in the sandbox while it runs.
#[test]
fn nothing_in_the_sandbox_changes_what_a_configured_command_reads() {
    const WRITE: &str =
        "until [ -e flag ]; do sleep 0.01; done; echo 'echo from the sandbox' >part.sh";
    const READ: &str = "touch flag; i=0; until grep -q sandbox part.sh || [ $i -eq 30 ]; do sleep 0.1; i=$((i + 1)); done; \
                        . ./part.sh; echo it ran";
    let session = json!({"command": WRITE, "background": true});
    let model = Model::playing([call("exec", session), say("started")]);
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    // It starts in HOME, where the model writes nothing.
    let read = format!("cd '{}'; {READ}", home.workspace("").display());
    let deploy = json!({"deploy": {"run": read, "where": "host"}});
    home.set("/commands", deploy);
    fs::write(home.workspace("part.sh"), "echo original\n").unwrap();
    let gateway = Gateway::start(&home);
    let ana = telegram.person(1001, "Ana", None);
    ana.says("go");
    telegram.wait_for_message(ana.chat(), |message| message.text.contains("started"));
    ana.says("/deploy");
    let told = telegram.wait_for_message(ana.chat(), |message| {
        message.text.contains("it ran") || message.text.contains("have to end first")
    });
    assert!(!told.text.contains("from the sandbox"), "{}", told.text);
    gateway.stop().ends_with(0);
}

/// A script that the line names in a way that is only resolved when it runs is bound with the workspace.
#[test]
fn a_script_behind_an_open_name_is_not_run_when_it_has_changed() {
    for line in [
        "sh ~root/..{w}/x.sh",
        "sh {w}$USER/x.sh",
        "env -S'sh\\_x.sh'",
        "service ../..{w}/x.sh run",
    ] {
        let command = Arc::new(OnceLock::<String>::new());
        let asked = Arc::clone(&command);
        let model = Model::answering(move |request| {
            let is_over = request
                .messages()
                .iter()
                .any(|message| message["role"] == "tool");
            match asked.get() {
                Some(line) if !is_over => outside(line, json!({})),
                _ => say("done"),
            }
        });
        let home = Home::with_model(&model);
        let workspace = home.workspace("").canonicalize().unwrap();
        let folder = workspace.to_str().unwrap().trim_end_matches('/');
        command.set(line.replace("{w}", folder)).unwrap();
        fs::write(home.workspace("x.sh"), "echo good\n").unwrap();
        let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
        terminal.wait_for("Run it?");
        fs::write(home.workspace("x.sh"), "echo another\n").unwrap();
        terminal.type_text("y");
        terminal.type_text(RETURN);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        assert!(!terminal.shown().contains("[a]"), "{}", terminal.shown());
        let told = &model.tool_results()[0];
        assert!(told.contains("changed since it was approved"), "{told}");
    }
}

/// A server of tools writes in its home while the question waits.
#[test]
fn what_a_server_changes_in_its_home_after_the_question_is_not_run() {
    for line in ["cd {h} && sh ./x.sh", "sh {h}/x.sh", "cat {h}/x.sh"] {
        let command = Arc::new(OnceLock::<String>::new());
        let asked = Arc::clone(&command);
        let model = Model::answering(move |request| {
            let messages = request.messages();
            let is_over = messages.iter().any(|message| message["role"] == "tool");
            match asked.get() {
                Some(line) if !is_over => outside(line, json!({})),
                _ => say("done"),
            }
        });
        let home = Home::with_model(&model);
        let server = home.path().join("programs/mcp.b.0123");
        fs::create_dir_all(&server).unwrap();
        let server = server.canonicalize().unwrap();
        command
            .set(line.replace("{h}", server.to_str().unwrap()))
            .unwrap();
        fs::write(server.join("x.sh"), "echo good\n").unwrap();
        let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
        terminal.wait_for("Run it?");
        fs::write(server.join("x.sh"), "echo another\n").unwrap();
        terminal.type_text("y");
        terminal.type_text(RETURN);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        let told = &model.tool_results()[0];
        assert!(told.contains("changed since it was approved"), "{told}");
    }
}

/// What is not simple is bound to everything that the agent can write, and the model gets the name of what changed.
#[test]
fn what_is_not_simple_is_not_run_when_anything_of_the_agent_has_changed() {
    for line in [
        "sh dep\rloy",
        "cat status.txt",
        "ssh -oProxyCommand='make >&2' host",
        "cd app && make",
    ] {
        let model = Model::playing([outside(line, json!({})), say("done")]);
        let home = Home::with_model(&model);
        fs::write(home.workspace("notes"), "one\n").unwrap();
        symlink("/etc/hostname", home.workspace("status.txt")).unwrap();
        symlink("/usr", home.workspace("app")).unwrap();
        let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
        terminal.wait_for("Run it?");
        fs::write(home.workspace("notes"), "two\n").unwrap();
        terminal.type_text("y");
        terminal.type_text(RETURN);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        let shown = terminal.shown();
        assert!(!shown.contains("[a]"), "{shown}");
        if line.contains("status") {
            assert!(
                shown.contains("run: app → /usr, status.txt → /etc/hostname\r\n"),
                "{shown}"
            );
        }
        let told = &model.tool_results()[0];
        assert!(
            told.contains("notes changed since it was approved"),
            "{line}: {told}"
        );
        assert!(told.contains("call exec again"), "{told}");
    }
}

/// The agent decides names in a folder without changing any file.
#[test]
fn names_that_change_after_the_question_are_not_written_to_a_file() {
    let elsewhere = tempfile::tempdir().unwrap();
    let out = elsewhere.path().join("out");
    let line = format!("ls reports > {}", out.display());
    let model = Model::playing([outside(&line, json!({})), say("done")]);
    let home = Home::with_model(&model);
    fs::create_dir(home.workspace("reports")).unwrap();
    let name = |name: &str| home.workspace("reports").join(name);
    fs::write(name("monday"), "").unwrap();
    let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
    terminal.wait_for("Run it?");
    fs::rename(name("monday"), name("* * * * * root evil")).unwrap();
    terminal.type_text("y");
    terminal.type_text(RETURN);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    assert!(!terminal.shown().contains("[a]"), "{}", terminal.shown());
    let told = &model.tool_results()[0];
    assert!(told.contains("changed since it was approved"), "{told}");
    assert!(!out.exists());
}

/// What a question does not show of a file it says, and then nothing is allowed always.
#[test]
fn what_is_not_shown_of_a_file_is_said() {
    let text: String = (0..41).map(|number| format!("line {number}\n")).collect();
    for (content, said) in [
        (text.as_str(), "Not shown: 31 of 41 lines."),
        ("echo ran; exit 0\n\0", "It is not text, and is not shown."),
        (&*"a ".repeat(900), "Not shown: 1 of 1 lines."),
    ] {
        let model = Model::playing([outside("cat x.sh", json!({})), say("done")]);
        let home = Home::with_model(&model);
        fs::write(home.workspace("x.sh"), content).unwrap();
        let shown = answering(&home, &["y"]);
        assert!(shown.contains(said), "{shown}");
        assert!(!shown.contains("[a]"), "{shown}");
    }
}

/// A file that does not exist yet is shown, "always" is not offered for it, and once it is there it is another command.
#[test]
fn a_missing_script_is_shown_and_is_not_allowed_always() {
    let model = Model::playing([outside("sh job.sh", json!({})), say("done")]);
    let home = Home::with_model(&model);
    let shown = answering(&home, &["y"]);
    assert!(shown.contains("job.sh (does not exist yet)"), "{shown}");
    assert!(!shown.contains("[a]"), "{shown}");
}

#[test]
fn a_standing_approval_of_one_chat_serves_no_other() {
    let run = || [outside("echo allowed", json!({})), say("done")];
    let model = Model::playing((0..3).flat_map(|_| run()).collect::<Vec<_>>());
    let home = Home::with_model(&model);
    let told = || model.tool_results().into_iter().next_back().unwrap();
    answering(&home, &["a"]);
    unattended(&home, "other");
    assert!(told().contains("no one to ask"), "{}", told());
    unattended(&home, "default");
    assert!(told().contains("allowed"), "{}", told());
}

#[test]
fn input_to_a_command_outside_the_sandbox_is_asked_about() {
    let elsewhere = tempfile::tempdir().unwrap();
    let got = elsewhere.path().join("got");
    let write = |name: &str| {
        let arguments = json!({"action": "write", "session_id": 1, "input": format!("{name}\n")});
        call("exec_session", arguments)
    };
    let command = format!("cat > {}", got.display());
    let gate = Gate::default();
    let model = Model::playing([
        outside(&command, json!({"background": true})),
        write("refused"),
        write("once"),
        write("always"),
        write("unasked"),
        say("done").after(&gate),
    ]);
    let home = Home::with_model(&model);
    let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
    for (answer, shown) in [
        ("y", "cat >"),
        ("n", "\r\n    refused"),
        ("y", "\r\n    once"),
        ("a", "\r\n    always"),
    ] {
        terminal.wait_for(shown);
        terminal.wait_for("Run it?");
        terminal.type_text(answer);
        terminal.type_text(RETURN);
    }
    let waiting = Instant::now();
    let written = || fs::read_to_string(&got).unwrap_or_default();
    while written() != "once\nalways\nunasked\n" {
        assert!(waiting.elapsed() < Duration::from_secs(20), "{}", written());
        std::thread::sleep(Duration::from_millis(10));
    }
    gate.open();
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let decisions: Vec<Value> = audit(&home)
        .into_iter()
        .filter(|record| record["event"] == "input")
        .map(|record| record["decision"].clone())
        .collect();
    assert_eq!(
        decisions,
        ["denied", "allowed once", "allowed always", "allowed always"]
    );
    let standing = fs::read_to_string(home.path().join("state/approvals.json"));
    assert!(!standing.unwrap_or_default().contains("input for"));
}

#[test]
fn one_chat_does_not_take_all_places_in_the_background() {
    let start = |number: u32| {
        let command = format!("sleep 60{number}");
        call("exec", json!({"command": command, "background": true}))
    };
    let script = (0..5).map(start).chain([say("done")]);
    let model = Model::playing(script);
    let home = Home::with_model(&model);
    unattended(&home, "default");
    let told = model.tool_results();
    assert!(told[3].starts_with("Started as session 4"), "{}", told[3]);
    assert!(
        told[4].contains("4 commands of this chat run in the background already"),
        "{}",
        told[4]
    );
}

#[test]
fn input_is_bound_to_the_files_that_it_names() {
    let write = json!({"action": "write", "session_id": 1, "input": "sh ./x.sh\n"});
    let model = Model::playing([
        outside("cat", json!({"background": true})),
        call("exec_session", write),
        say("done"),
    ]);
    let home = Home::with_model(&model);
    fs::write(home.workspace("x.sh"), "echo good\n").unwrap();
    let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
    for swapped in [false, true] {
        terminal.wait_for("Run it?");
        if swapped {
            fs::write(home.workspace("x.sh"), "touch evil\n").unwrap();
        }
        terminal.type_text("y");
        terminal.type_text(RETURN);
    }
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let told = &model.tool_results()[1];
    assert!(told.contains("the input was not written"), "{told}");
    assert!(!home.workspace("evil").exists());
}
