//! Canaries in every place where a secret can stand, and nowhere that anything leaves.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::Path;

use serde_json::json;

use crate::harness::gateway::Gateway;
use crate::harness::home::{Home, KEY};
use crate::harness::model::{Gate, Model, call, error, say};
use crate::harness::program::{Output, PEACRAB, Program};
use crate::harness::telegram::Telegram;

/// In an added header, behind its scheme.
const HEADER: &str = "canary-header-24680";
/// In the proxy's URL.
const PASSWORD: &str = "canary-password-13579";
/// In the variable of a provider that is not even used.
const VARIABLE: &str = "sk-canary-variable-97531";
/// Behind the `?` of an address.
const QUERY: &str = "canary-query-86420";
/// Before the host of an address.
const LOGIN: &str = "canary-login-64208";
/// Among the arguments of a server of tools.
const ARGUMENT: &str = "canary-argument-42086";
const ALL: [&str; 7] = [KEY, HEADER, PASSWORD, VARIABLE, QUERY, LOGIN, ARGUMENT];

/// A home with all of them in its configuration; the proxy is set for another provider, because the
/// model is on this machine.
fn home(model: &Model) -> Home {
    let mut home = Home::with_model(model);
    let proxy = format!("http://me:{PASSWORD}@proxy.invalid:3128");
    home.set(
        "/providers/fake/extraHeaders",
        json!({"X-Token": format!("Bearer {HEADER}")}),
    );
    home.set("/providers/openai/proxy", json!(proxy));
    let address = format!("https://me:{LOGIN}@far.invalid/x?tavilyApiKey={QUERY}");
    home.set("/update/url", json!(address));
    let arguments = ["remote", &address, "--api-key", ARGUMENT];
    home.set(
        "/tools/mcpServers",
        json!({
            "far": {"url": address, "enabled": false},
            "near": {"command": "npx", "args": arguments, "enabled": false},
        }),
    );
    // So that whatever a tool finds is more than the conversation takes.
    home.set("/agents/defaults/maxToolResultChars", json!(500));
    home
}

fn program(home: &Home) -> Program {
    Program::new(home).env("ANTHROPIC_API_KEY", VARIABLE)
}

#[track_caller]
fn assert_none(text: &str, place: &str) {
    for canary in ALL {
        assert!(!text.contains(canary), "{canary} is in {place}: {text}");
    }
}

#[track_caller]
fn assert_silent(output: &Output, place: &str) {
    assert_none(&output.stdout, &format!("stdout of {place}"));
    assert_none(&output.stderr, &format!("stderr of {place}"));
}

/// Looks into every file that the program wrote; returns how many those were.
fn look_through(folder: &Path) -> usize {
    let mut looked = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_owned();
        if path.is_symlink() {
            // The root of commands has links to the system.
        } else if path.is_dir() {
            looked += look_through(&path);
        } else if !["config.json", "keys.txt", "TOOLS.md"]
            .map(OsString::from)
            .contains(&name)
        {
            assert_none(&fs::read_to_string(&path).unwrap(), path.to_str().unwrap());
            looked += 1;
        }
    }
    looked
}

#[test]
fn a_key_that_a_tool_finds_in_a_file_stays_there() {
    let model = Model::playing([
        call("read_file", json!({"path": "keys.txt"})).and_call("grep", json!({"pattern": "."})),
        say("I saw nothing."),
    ]);
    let home = home(&model);
    let line = format!("{}\n", ALL.join(" "));
    fs::write(home.workspace("keys.txt"), line.repeat(100)).unwrap();
    // A file that is a part of every prompt.
    symlink("keys.txt", home.workspace("TOOLS.md")).unwrap();
    let output = program(&home)
        .args(["agent", "-vv", "--json", "-m", "look"])
        .run()
        .ends_with(0);
    assert!(output.stderr.contains("host=127.0.0.1"), "{output:?}");
    assert_silent(&output, "agent -vv --json");

    let asked = model.requests();
    assert!(asked[0].messages()[0].to_string().contains("[secret]"));
    assert!(asked[1].last_message().contains("[secret]"));
    for request in &asked {
        assert_none(&request.body.to_string(), "a request's body");
    }
    assert_eq!(
        asked[0].header("x-token"),
        Some(&*format!("Bearer {HEADER}"))
    );
    assert!(home.workspace(".results").is_dir());
    // The journal, the count of tokens and a result that was too long.
    assert!(look_through(home.path()) >= 3);
}

#[test]
fn a_file_that_holds_a_key_is_closed_to_tools_wherever_it_lies() {
    let on_key = |tool: &str| call(tool, json!({"path": "keys/fake", "content": "mine"}));
    let tools = ["read_file", "write_file", "append_file"];
    let model = Model::playing(tools.map(on_key).into_iter().chain([say("done")]));
    let mut home = Home::with_model(&model);
    let file = home.workspace("keys/fake");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, KEY).unwrap();
    home.set(
        "/providers/fake/apiKey",
        json!(format!("file:{}", file.display())),
    );
    program(&home)
        .args(["agent", "-m", "try"])
        .run()
        .ends_with(0);
    for request in &model.requests()[1..] {
        let result = request.last_message();
        assert!(result.contains("it belongs to Peacrab"), "{result}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), KEY);
}

#[test]
fn a_key_that_a_server_echoes_is_not_passed_on() {
    let said = format!("Incorrect API key provided: {KEY}, sent with {HEADER}");
    let model = Model::playing([error(401, &said), error(400, &said)]);
    let home = home(&model);
    let ask = |arguments: &[&str]| program(&home).arg("agent").args(arguments).run();
    let output = ask(&["-vv", "-m", "hi"]).ends_with(1);
    output.complains_of(&["Incorrect API key provided: [secret]"]);
    assert_silent(&output, "agent -vv");
    let output = ask(&["--json", "-m", "hi"]).ends_with(1);
    assert!(output.stdout.contains("[secret]"), "{output:?}");
    assert_silent(&output, "agent --json");
    assert!(look_through(home.path()) > 0);
}

#[test]
fn the_commands_that_show_the_configuration_show_no_key() {
    let model = Model::playing([]);
    let home = home(&model);
    for arguments in [
        &["config", "show"][..],
        &["config", "explain"],
        &["config", "explain", "providers.fake"],
        &["config", "get", "providers.fake.apiKey"],
        &["config", "get", "providers.fake.extraHeaders"],
        &["config", "get", "providers.openai.proxy"],
        &["config", "get", "tools.mcpServers.near.args"],
        &["config", "explain", "update.url"],
        &["config", "show", "--json"],
        &[
            "config",
            "set",
            "update.url",
            &format!("https://{LOGIN}@far.invalid/?{QUERY}"),
        ],
        &["config", "check"],
        &["mcp", "list"],
        &["mcp", "list", "--json"],
        &["doctor"],
        &["status"],
        &["status", "--json"],
        &["-vv", "status"],
    ] {
        assert_silent(&program(&home).args(arguments).run(), &arguments.join(" "));
    }
    let address = program(&home).args(["config", "get", "update.url"]).run();
    assert_eq!(address.stdout, "https://[secret]@far.invalid/?[secret]\n");
}

/// What other users of the machine can see of a running program.
#[test]
fn the_command_line_of_the_running_program_holds_no_key() {
    let gate = Gate::default();
    let model = Model::playing([say("done").after(&gate)]);
    let home = home(&model);
    let running = program(&home).args(["agent", "-m", "hi"]).start();
    model.wait_for_requests(1);
    let process = format!("/proc/{}", running.id());
    let cmdline = fs::read(format!("{process}/cmdline")).unwrap();
    assert!(cmdline.ends_with(b"agent\0-m\0hi\0"));
    assert_none(&String::from_utf8_lossy(&cmdline), "cmdline");
    gate.open();
    running.finish().ends_with(0);
}

/// A configuration that cannot be read is shown around the place of the mistake, without its keys.
#[test]
fn a_broken_configuration_is_shown_without_its_keys() {
    let home = Home::new();
    for broken in [
        format!(r#"{{"providers": {{"fake": {{"apiKey": "{KEY}" "apiBase": 1}}}}}}"#),
        format!(
            r#"{{"providers": {{"fake": {{"apiKey": ["{KEY}"], "proxy": {{"a": "{KEY}"}}}}}}}}"#
        ),
        format!(r#"{{"providers": {{"fake": {{"apiKey": {KEY}}}}}}}"#),
    ] {
        home.write_config(&broken);
        let output = program(&home).args(["config", "check"]).run().ends_with(78);
        assert_silent(&output, &broken);
    }
}

/// Who owns a process's files in /proc: root, when the process is not dumpable (proc(5)).
#[test]
fn a_running_gateway_cannot_be_read_by_other_processes_of_its_account() {
    const NOBODY: u32 = 65534;
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    // For root there is nothing to see: then it runs as an ordinary account.
    let gateway = if rustix::process::geteuid().is_root() {
        for path in [".", "workspace", "config.json"] {
            chown(home.path().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let user = format!("--reuid={NOBODY}");
        let group = format!("--regid={NOBODY}");
        let program = Program::of("setpriv", &home);
        Gateway::of(program.args([&user, &group, "--clear-groups", "--", PEACRAB, "gateway"]))
    } else {
        Gateway::start(&home)
    };
    telegram.wait_for_poll();
    let environment = fs::metadata(format!("/proc/{}/environ", gateway.id())).unwrap();
    assert_eq!(environment.uid(), 0, "its environment can be read");
    gateway.stop().ends_with(0);
}
