//! Tools of the workspace: written, approved, called, changed, and everything that can be wrong with them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::harness::feature;
use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY};
use crate::harness::model::{Model, Step, call, say};
use crate::harness::program::{Output, Program};
use crate::harness::telegram::Telegram;
use crate::harness::terminal::{RETURN, Terminal};

fn tools(home: &Home, arguments: &[&str]) -> Output {
    Program::new(home).arg("tools").args(arguments).run()
}

/// Writes a tool with these members in its tool.json, and a script of the shell.
fn put(home: &Home, name: &str, manifest: Value, script: &str) {
    let folder = home.workspace("tools").join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("tool.json"), manifest.to_string()).unwrap();
    let run = folder.join("run");
    fs::write(&run, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
}

fn described() -> Value {
    json!({"description": "Does something."})
}

/// A tool that says this word.
fn put_saying(home: &Home, name: &str, word: &str) {
    put(home, name, described(), &format!("echo {word}"));
}

fn approve(home: &Home, name: &str) {
    tools(home, &["approve", name, "--yes"]).ends_with(0);
}

/// Asks the agent once, with no one to ask.
fn run(home: &Home) -> Output {
    Program::new(home)
        .args(["agent", "-m", "do it"])
        .run()
        .ends_with(0)
}

/// A model that calls each of these tools once, in a turn of its own.
fn calling(names: &[&str]) -> Model {
    let steps = names
        .iter()
        .flat_map(|name| [call(name, json!({})), say("done")]);
    Model::playing(steps.collect::<Vec<Step>>())
}

#[test]
fn a_tool_in_python_and_one_in_shell_run_in_a_turn() {
    let model = Model::playing([
        call("hello", json!({"name": "Ana"})),
        call("greet", json!({"name": "Bo \"B\" Ö"})),
        call("greet", json!({})),
        say("done"),
        say("again"),
    ]);
    let home = Home::with_model(&model);
    tools(&home, &["new", "hello"]).ends_with(0);
    tools(&home, &["new", "greet", "--lang", "python"]).ends_with(0);
    tools(&home, &["new", "greet"]).ends_with(2);
    let checked = tools(&home, &["check"]).ends_with(0);
    assert_eq!(checked.stdout, "No problems found in 2 tools.\n");
    let listed = tools(&home, &["list"]).ends_with(0).stdout;
    assert!(listed.contains("hello(name*)"), "{listed}");
    assert!(listed.contains("`peacrab tools approve hello`"), "{listed}");
    for name in ["hello", "greet"] {
        let approved = tools(&home, &["approve", name, "--yes"]).ends_with(0);
        assert!(
            approved.stdout.contains("Greet a person by name."),
            "{approved:?}"
        );
        assert!(approved.stdout.contains("run ("), "{approved:?}");
    }
    run(&home);
    let told = model.tool_results();
    assert_eq!(told[0], "Hello, Ana!");
    assert_eq!(told[1], "Hello, Bo \"B\" Ö!");
    assert!(
        told[2].starts_with("Error: greet: exit status 1\nname is missing"),
        "{}",
        told[2]
    );
    run(&home);
    let requests = model.requests();
    let lists: Vec<&Value> = requests
        .iter()
        .map(|request| &request.body["tools"])
        .collect();
    assert!(lists[0].to_string().contains("Greet a person by name."));
    assert!(
        lists.iter().all(|list| *list == lists[0]),
        "the same in every request"
    );
    let log = fs::read_to_string(home.path().join("audit.jsonl")).unwrap();
    assert!(
        log.contains(r#""tool":"hello""#) && log.contains("allowed: an approved tool"),
        "{log}"
    );
}

#[test]
fn a_new_tool_is_asked_about_and_again_when_it_changes() {
    let model = calling(&["lamp", "lamp", "lamp", "lamp", "lamp"]);
    let home = Home::with_model(&model);
    put_saying(&home, "lamp", "on");
    let ask = |answer: &str| {
        let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
        terminal.wait_for("Run it?");
        terminal.type_text(answer);
        terminal.type_text(RETURN);
        assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
        terminal.shown()
    };
    let shown = ask("y");
    for words in [
        "use the new tool lamp in the sandbox",
        "Does something.",
        "tools/lamp/run",
        "echo on",
        "tool.json",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let shown = ask("a");
    assert!(
        shown.contains("the new tool lamp"),
        "once was once: {shown}"
    );
    run(&home);
    put_saying(&home, "lamp", "off");
    let listed = tools(&home, &["list"]).ends_with(0).stdout;
    assert!(listed.contains("changed since it was approved"), "{listed}");
    run(&home);
    let shown = ask("n");
    assert!(
        shown.contains("lamp, which has changed since you allowed it"),
        "{shown}"
    );
    let told = model.tool_results();
    assert_eq!(told[..3], ["on", "on", "on"]);
    assert!(
        told[3].starts_with("Error: the tool lamp was not run: it is not approved, and there is no one to ask. To approve it: `peacrab tools approve lamp`"),
        "{}",
        told[3]
    );
    assert!(
        told[4].starts_with("Error: the tool lamp was not run: denied"),
        "{}",
        told[4]
    );
}

#[test]
fn what_is_swapped_between_the_question_and_the_run_does_not_run() {
    let model = calling(&["lamp"]);
    let home = Home::with_model(&model);
    put_saying(&home, "lamp", "good");
    let mut terminal = Terminal::start(&home, &["agent", "-m", "do it"]);
    terminal.wait_for("Run it?");
    put_saying(&home, "lamp", "evil > evil");
    terminal.type_text("a");
    terminal.type_text(RETURN);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let told = model.tool_results().remove(0);
    assert!(
        told.starts_with("Error: the tool lamp was not run: its folder changed after"),
        "{told}"
    );
    assert!(!home.workspace("evil").exists());
    let listed = tools(&home, &["list", "--json"]).ends_with(0).stdout;
    assert!(
        listed.contains(r#""state":"new""#),
        "nothing was approved: {listed}"
    );
}

#[test]
fn a_revoked_tool_and_a_tool_that_may_not_be_asked_about_are_not_run() {
    let model = calling(&["lamp", "lamp"]);
    let mut home = Home::with_model(&model);
    put_saying(&home, "lamp", "on");
    approve(&home, "lamp");
    run(&home);
    tools(&home, &["revoke", "lamp"]).ends_with(0);
    tools(&home, &["revoke", "lamp"])
        .ends_with(2)
        .complains_of(&["lamp is not approved"]);
    home.set("/tools", json!({"exec": {"approval": "never"}}));
    run(&home);
    let told = model.tool_results();
    assert_eq!(told[0], "on");
    assert!(
        told[1].contains("tools.exec.approval is \"never\". To approve it: `peacrab"),
        "{}",
        told[1]
    );
    tools(&home, &["approve", "lamb", "-y"])
        .ends_with(2)
        .complains_of(&["Did you mean lamp?"]);
    tools(&home, &["approve", "lamp"])
        .ends_with(2)
        .complains_of(&["--yes"]);
}

#[test]
fn whatever_a_tool_does_the_turn_goes_on_and_nothing_gets_out() {
    let table = [
        (
            "status",
            "echo half; echo 'disk is full' >&2; exit 3",
            "Error: status: exit status 3\ndisk is full\n\nIts output:\nhalf",
        ),
        (
            "hang",
            "echo begun; sleep 600",
            "Error: hang: timed out after 1 s\n\nIts output:\nbegun",
        ),
        ("noisy", "echo warning >&2; echo 21", "21"),
        ("silent", ":", "(no output)"),
        ("garbage", "head -c 3000 /dev/zero", "(binary output, "),
        ("deaf", "exec <&-; echo fine", "fine"),
        ("flood", "yes 123456789 | head -c 200000", "123456789\n"),
        (
            "curious",
            "ls .. ; cat ../config.json ../state/tools.json",
            "Error: curious: exit status",
        ),
        (
            "self_made",
            "echo x >> \"$0\"; echo y > tools/self_made/more; echo \"$HOME\"",
            "/",
        ),
        ("killed", "kill -9 $$", "Error: killed: exit status 137"),
    ];
    let names: Vec<&str> = table.iter().map(|(name, ..)| *name).collect();
    let model = calling(&names);
    let home = Home::with_model(&model);
    for (name, script, _) in table {
        let manifest = json!({"description": "x", "timeout": if name == "hang" { 1 } else { 30 }});
        put(&home, name, manifest, script);
        approve(&home, name);
    }
    for _ in &table {
        run(&home);
    }
    let told = model.tool_results();
    for ((name, _, begins), told) in table.iter().zip(&told) {
        assert!(told.starts_with(begins), "{name}: {told}");
        assert!(!told.contains(KEY), "{name}");
    }
    let flood = &told[6];
    assert!(
        flood.contains("the whole is in") && flood.len() < 20_000,
        "{}",
        flood.len()
    );
    let listed = tools(&home, &["list"]).ends_with(0).stdout;
    assert!(
        listed.contains("self_made()\n    x\n    yours, changed since"),
        "{listed}"
    );
    let copies = home.path().join("state/tools");
    for copy in fs::read_dir(copies).unwrap() {
        let script = fs::read_to_string(copy.unwrap().path().join("run")).unwrap();
        assert!(!script.ends_with("x\n"), "what runs cannot change itself");
    }
}

#[test]
fn a_check_names_every_fault_and_the_agent_still_answers() {
    let model = Model::playing([
        call("exec", json!({"command": "echo built in"})),
        say("done"),
    ]);
    let home = Home::with_model(&model);
    put_saying(&home, "fine", "x");
    put_saying(&home, "exec", "x");
    put(
        &home,
        "schema",
        json!({"description": "x", "parameters": []}),
        ":",
    );
    put_saying(&home, "plain", "x");
    let run_file = home.workspace("tools/plain/run");
    fs::set_permissions(run_file, fs::Permissions::from_mode(0o644)).unwrap();
    put_saying(&home, "many", "x");
    for number in 0..10_000 {
        fs::write(home.workspace(&format!("tools/many/{number}")), "").unwrap();
    }
    put_saying(&home, "pipe", "x");
    let pipe = home.workspace("tools/pipe/tool.json");
    fs::remove_file(&pipe).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    symlink(home.path(), home.workspace("tools/out")).unwrap();
    let checked = tools(&home, &["check"]).ends_with(1).stdout;
    for words in [
        "tools/exec: exec is the name of a built-in tool",
        "tools/schema: tool.json: parameters must be a JSON schema",
        "tools/plain/run is not executable: chmod +x tools/plain/run",
        "tools/many: it has more than 64 files",
        "tools/pipe/tool.json",
        "tools/out: it is a link",
        "Found 6 problems.",
    ] {
        assert!(checked.contains(words), "{words}: {checked}");
    }
    let json = tools(&home, &["check", "--json"]).ends_with(1).stdout;
    assert_eq!(json.lines().count(), 7);
    let doctor = Program::new(&home).arg("doctor").run().stdout;
    assert!(doctor.contains("peacrab tools check"), "{doctor}");
    run(&home);
    assert!(model.tool_results()[0].contains("built in"));
    let list = model.requests()[0].body["tools"].to_string();
    assert!(
        list.contains("\"fine\"") && !list.contains("\"schema\""),
        "{list}"
    );
}

#[test]
fn the_question_in_a_chat_shows_the_tool_and_its_buttons_answer_it() {
    let model = calling(&["lamp", "lamp"]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    put(
        &home,
        "lamp",
        json!({"description": "Switches the *lamp*."}),
        "echo on",
    );
    let gateway = Gateway::start(&home);
    let ana = telegram.person(1001, "Ana", None);
    ana.says("light!");
    let asked = telegram.wait_for_message(ana.chat(), |message| message.markup.is_some());
    for words in [
        "Use the new tool lamp?",
        "Switches the *lamp*.",
        "tools/lamp/run",
        "echo on",
    ] {
        assert!(asked.text.contains(words), "{words}: {}", asked.text);
    }
    ana.presses("Always this tool");
    telegram.wait_for_message(ana.chat(), |message| message.text == "done");
    ana.says("again");
    model.wait_for_requests(4);
    ana.says("/tools");
    let list = telegram.wait_for_message(ana.chat(), |message| message.text.contains("read_file"));
    assert!(
        list.text.contains("lamp: Switches the *lamp*"),
        "{}",
        list.text
    );
    gateway.stop().ends_with(0);
    assert_eq!(model.tool_results(), ["on", "on"]);
}

#[test]
fn each_agent_has_the_tools_of_its_own_workspace() {
    let model = calling(&["lamp", "lamp"]);
    let mut home = Home::with_model(&model);
    home.set("/agents/list", json!([{"id": "work"}]));
    let of_work = home.path().join("agents/work/workspace/tools");
    tools(&home, &["new", "fan", "--agent", "work"]).ends_with(0);
    assert!(of_work.join("fan/run").exists());
    put_saying(&home, "lamp", "on");
    approve(&home, "lamp");
    fs::rename(home.workspace("tools/lamp"), of_work.join("lamp")).unwrap();
    put_saying(&home, "lamp", "on");
    let listed = |agent: &str| {
        tools(&home, &["list", "--agent", agent])
            .ends_with(0)
            .stdout
    };
    let (main, work) = (listed("main"), listed("work"));
    assert!(
        main.contains("yours, approved") && !main.contains("fan("),
        "{main}"
    );
    assert!(
        work.contains("fan(") && !work.contains("yours, approved"),
        "{work}"
    );
    run(&home);
    Program::new(&home)
        .args(["agent", "--agent", "work", "-m", "do it"])
        .run()
        .ends_with(0);
    let told = model.tool_results();
    assert_eq!(told[0], "on");
    assert!(told[1].contains("it is not approved"), "{}", told[1]);
}

#[test]
fn the_agent_writes_a_tool_for_itself_and_custom_tools_can_be_turned_off() {
    let script = "#!/bin/sh\necho forty-two\n";
    let model = Model::playing([
        call(
            "write_file",
            json!({"path": "tools/answer/tool.json", "content": "{\"description\": \"The answer.\"}"}),
        ),
        call(
            "write_file",
            json!({"path": "tools/answer/run", "content": script}),
        ),
        call("answer", json!({})),
        call("exec", json!({"command": "chmod +x tools/answer/run"})),
        say("done"),
        call("answer", json!({})),
        say("done"),
        call("answer", json!({})),
        say("done"),
    ]);
    let mut home = Home::with_model(&model);
    run(&home);
    let told = model.tool_results();
    assert!(
        told[2].contains("is not executable: chmod +x tools/answer/run"),
        "{}",
        told[2]
    );
    approve(&home, "answer");
    run(&home);
    assert_eq!(model.tool_results()[4], "forty-two");
    home.set("/tools", json!({"custom": {"enabled": false}}));
    run(&home);
    assert!(model.tool_results()[5].starts_with("Error: there is no tool \"answer\""));
    let listed = tools(&home, &["list"]).ends_with(0).stdout;
    assert!(
        listed.contains("yours, not used: tools.custom.enabled"),
        "{listed}"
    );
}

#[test]
fn a_tool_runs_the_same_in_every_kind_of_sandbox() {
    let script =
        "cat; . \"$(dirname \"$0\")/lib.sh\"; echo x > made; pwd; cat ../config.json; exit 0";
    let mut tried = 0;
    for (kind, tools) in [
        ("any", json!({})),
        ("namespaces", json!({"exec": {"sandbox": "namespaces"}})),
        ("landlock", json!({"exec": {"sandbox": "landlock"}})),
        ("any", json!({"restrictToWorkspace": false})),
        ("none", json!({"exec": {"sandbox": "off"}})),
    ] {
        let model = Model::playing([call("lamp", json!({"on": true})), say("done")]);
        let mut home = Home::with_model(&model);
        home.set("/tools", tools.clone());
        put(&home, "lamp", described(), script);
        fs::write(
            home.workspace("tools/lamp/lib.sh"),
            "echo from the library\n",
        )
        .unwrap();
        approve(&home, "lamp");
        run(&home);
        let told = model.tool_results().remove(0);
        let found = match told.contains("cannot be sandboxed here") {
            true => Err(told.as_str()),
            false => Ok(()),
        };
        if !feature::has(kind, found) {
            continue;
        }
        assert!(
            told.starts_with("{\"on\":true}from the library\n"),
            "{tools}: {told}"
        );
        assert!(told.contains("/workspace"), "{tools}: {told}");
        assert!(home.workspace("made").exists(), "{tools}");
        assert!(!told.contains(KEY), "{tools}: {told}");
        let sees_all = told.contains("apiKey");
        assert_eq!(sees_all, kind == "none", "{tools}: {told}");
        tried += 1;
    }
    assert!(tried > 0);
}

#[test]
fn a_program_that_the_sandbox_hides_from_a_tool_is_named_with_the_setting_that_shows_it() {
    let model = calling(&["shine"]);
    let mut home = Home::with_model(&model);
    let programs = tempfile::tempdir().unwrap();
    let folder = programs.path().canonicalize().unwrap();
    fs::write(folder.join("lampd"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(folder.join("lampd"), fs::Permissions::from_mode(0o755)).unwrap();
    let folder = folder.to_str().unwrap();
    home.set("/tools/exec/pathAppend", json!(folder));
    put(&home, "shine", described(), "lampd on");
    approve(&home, "shine");
    run(&home);
    let result = model.tool_results().remove(0);
    let hint = format!(
        "lampd is in {folder}, which the sandbox hides: add {folder} to tools.readOnlyPaths"
    );
    assert!(result.contains(&hint), "{result}");
}
