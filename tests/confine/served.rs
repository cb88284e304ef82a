//! Servers of tools as programs in the sandbox: what they see, one thread for all of them, and that nothing
//! outlives this program.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use peacrab::base::cancel::Cancel;
use peacrab::base::clock::Clock;
use peacrab::base::secret::Secret;
use peacrab::config::schema::{McpServer, Tools};
use peacrab::net::Tls;
use peacrab::sandbox::confine::{Exec, SandboxMode};
use peacrab::tools::mcp::client::Step;
use peacrab::tools::mcp::client::servers::{Parts, ServerCall, Servers};
use peacrab::tools::mcp::client::stdio::Sandboxed;
use serde_json::{Value, json};

use crate::world::{CANARY, World, seconds};

/// Set for the process that is to be killed.
const CHILD: &str = "PEACRAB_TEST_SERVED";

fn lamp(world: &World, network: bool, mark: &str) -> McpServer {
    // A board has the tests without their sources.
    let script = world.at("manual/lamp.py");
    fs::create_dir_all(world.at("manual")).unwrap();
    fs::write(&script, include_str!("../harness/mcp/lamp.py")).unwrap();
    let mut server = McpServer {
        command: "/usr/bin/python3".to_owned(),
        args: vec![
            script.display().to_string(),
            "legacy".to_owned(),
            word(mark),
        ],
        network: Some(network),
        allowed_paths: vec![
            world.at("extra").display().to_string(),
            // Nothing of the home is given, whatever the configuration says.
            world.at("home/.peacrab/sessions").display().to_string(),
        ],
        read_only_paths: vec![world.at("manual").display().to_string()],
        ..McpServer::default()
    };
    server
        .env
        .insert("LAMP_KEY".to_owned(), Secret::new("lamp-key-4711"));
    server
}

fn servers(world: &World, exec: Exec, servers: BTreeMap<String, McpServer>) -> Servers {
    for folder in ["extra", "manual"] {
        fs::create_dir_all(world.at(folder)).unwrap();
    }
    let sandboxed = Sandboxed::new(exec, &Tools::default(), world.workspace(), None);
    Servers::new(Parts {
        servers,
        launcher: Some(Arc::new(sandboxed)),
        tls: Tls::new(None).unwrap(),
        folder: world.at("home/.peacrab/state/mcp"),
        root: format!("file://{}", world.workspace().display()),
        elicitation: false,
        clock: Clock::System,
    })
}

fn text(servers: &Servers, name: &str, tool: &str, arguments: &Value) -> Result<String, String> {
    let request = ServerCall::Tool {
        name: tool.to_owned(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
    };
    match servers.call(name, request, &Cancel::new(), &mut |_| ()) {
        Ok(Step::Done(result)) => {
            let result: Value = serde_json::from_str(&result).unwrap();
            Ok(result["content"][0]["text"].as_str().unwrap().to_owned())
        }
        Ok(Step::Asked(paused)) => panic!("{:?}", paused.request()),
        Err(error) => Err(error.to_string()),
    }
}

/// A mark of this process's own: the same tests run beside these as another user.
fn own(mark: &str) -> String {
    format!("{mark}-{}", std::process::id())
}

/// The word on the command line that bears a mark.
fn word(mark: &str) -> String {
    format!("mark={mark}")
}

/// The processes whose command line has the mark.
fn marked(mark: &str) -> Vec<String> {
    let mark = word(mark);
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let has_mark = |name: &String| {
        let line = fs::read(format!("/proc/{name}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|word| word == mark.as_bytes())
    };
    names.filter(has_mark).collect()
}

fn until_gone(mark: &str) {
    let begun = Instant::now();
    while !marked(mark).is_empty() {
        assert!(begun.elapsed() < seconds(60), "{:?}", marked(mark));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The threads of this process with that name.
fn threads(name: &str) -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|one| one.trim() == name).count()
}

#[test]
fn a_server_has_what_commands_have_and_its_own_folders_and_key() {
    let world = World::new();
    for (mode, exec) in crate::modes(&world, true, false) {
        let own_view = exec.isolation().unwrap().own_view();
        let mark = own(mode);
        let lamp = lamp(&world, false, &mark);
        let servers = servers(&world, exec, BTreeMap::from([("lamp".to_owned(), lamp)]));
        let call = |tool: &str, arguments: Value| text(&servers, "lamp", tool, &arguments).unwrap();
        let write = |path: &Path| call("folder", json!({"path": path.display().to_string()}));
        assert_eq!(call("echo", json!({"text": "hi"})), "hi", "{mode}");
        assert_eq!(write(&world.at("extra/file")), "written", "{mode}");
        let below = world.workspace().join("sub/new");
        assert_eq!(write(&below), "written", "{mode}");
        assert_eq!(
            write(Path::new("sub/here")),
            "written",
            "{mode}: the folder is the workspace"
        );
        // With Landlock alone no prompt can be made there only if nothing can.
        let beside_prompts = write(&world.workspace().join("new"));
        assert_eq!(beside_prompts == "written", own_view, "{mode}");
        for path in [
            "manual/file",
            "outside/secret",
            "home/.peacrab/sessions/a.jsonl",
        ] {
            assert_ne!(write(&world.at(path)), "written", "{mode}: {path}");
        }
        if own_view {
            assert_eq!(call("network", json!({})), "lo", "{mode}");
        }
        assert_eq!(call("secret", json!({})), "lamp-key-4711", "{mode}");
        let fault = text(&servers, "lamp", "die", &json!({})).unwrap_err();
        let expected = "ended (exit status 3). It wrote: the lamp is starting\nTraceback: the lamp is broken, key [secret]";
        assert!(fault.ends_with(expected), "{mode}: {fault}");
        drop(servers);
        assert_eq!(marked(&mark), [""; 0], "{mode}");
        for new in [
            "extra/file",
            "home/.peacrab/workspace/sub/new",
            "home/.peacrab/workspace/sub/here",
        ] {
            fs::remove_file(world.at(new)).unwrap();
        }
        fs::remove_file(world.workspace().join("new")).ok();
        fs::remove_dir_all(world.at("home/.peacrab/state/mcp")).ok();
    }
    let secret = fs::read_to_string(world.at("outside/secret")).unwrap();
    assert_eq!(secret.trim(), CANARY);
}

#[test]
fn a_server_that_cannot_run_says_why() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let missing = McpServer {
        command: "no-such-server".to_owned(),
        ..lamp(&world, false, "missing")
    };
    let nowhere = McpServer {
        cwd: "/nowhere".to_owned(),
        ..lamp(&world, false, "nowhere")
    };
    let all = BTreeMap::from([
        ("missing".to_owned(), missing),
        ("nowhere".to_owned(), nowhere),
    ]);
    let servers = servers(&world, exec, all);
    let fault = text(&servers, "missing", "echo", &json!({})).unwrap_err();
    assert!(
        fault.contains("exit status 127") && fault.contains("no-such-server"),
        "{fault}"
    );
    let fault = text(&servers, "nowhere", "echo", &json!({})).unwrap_err();
    assert!(fault.contains("cannot enter the working folder"), "{fault}");
}

#[test]
fn three_servers_share_one_thread_and_idle_ones_are_stopped() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let names = ["a", "b", "c"];
    let mark = own("idle");
    let all = names.map(|name| {
        let mut lamp = lamp(&world, false, &mark);
        lamp.idle_timeout = 2;
        (name.to_owned(), lamp)
    });
    let servers = servers(&world, exec, BTreeMap::from(all));
    assert_eq!(threads("mcp"), 0, "nothing runs yet");
    for name in names {
        assert_eq!(
            text(&servers, name, "echo", &json!({"text": name})).unwrap(),
            name
        );
    }
    assert_eq!(threads("mcp"), 1);
    until_gone(&mark);
    let begun = Instant::now();
    while threads("mcp") > 0 {
        assert!(begun.elapsed() < seconds(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(
        text(&servers, "b", "echo", &json!({"text": "again"})).unwrap(),
        "again"
    );
}

/// Bytes of memory that are this process's own.
fn anonymous() -> i64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup.lines().find(|line| line.starts_with("Anonymous:"));
    let number = line.and_then(|line| line.split_ascii_whitespace().nth(1));
    number.unwrap().parse::<i64>().unwrap() * 1024
}

/// Writes a line for the parent.
fn say(text: &str) {
    let line = format!("\n{text}\n");
    std::io::stdout().write_all(line.as_bytes()).unwrap();
}

/// What three idle servers may cost, in a build for tests.
const IDLE_BYTES: i64 = 200 * 1000;

/// What the process does that is measured.
fn be_measured() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let names = ["a", "b", "c"];
    let all = names.map(|name| (name.to_owned(), lamp(&world, false, "measured")));
    let servers = servers(&world, exec, BTreeMap::from(all));
    servers.refresh("a", &Cancel::new()).unwrap();
    servers.stop_all();
    let before = anonymous();
    for name in names {
        servers.refresh(name, &Cancel::new()).unwrap();
    }
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let begun = Instant::now();
            text(&servers, "b", "echo", &json!({"text": "x"})).unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort();
    let more = anonymous() - before;
    let median = times[100];
    say(&format!(
        "median of a call: {median:?}; three idle servers: {more} bytes"
    ));
    assert!(more <= IDLE_BYTES, "{more}");
    assert!(median < Duration::from_secs(2), "{median:?}");
}

/// In a process of its own, where nothing else takes memory.
#[test]
fn three_idle_servers_take_little_memory() {
    if std::env::var_os(CHILD).is_some() {
        return be_measured();
    }
    let name = "served::three_idle_servers_take_little_memory";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(CHILD, "measured")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("median of a call"), "{text}");
    println!("{text}");
}

/// What the process does that is killed: it starts a server, says so, and waits.
fn be_killed() {
    let world = World::new();
    let exec = Exec::new(world.settings(SandboxMode::Auto, true)).unwrap();
    let mark = std::env::var(CHILD).unwrap();
    let all = BTreeMap::from([("lamp".to_owned(), lamp(&world, false, &mark))]);
    let servers = servers(&world, exec, all);
    text(&servers, "lamp", "echo", &json!({})).unwrap();
    say("ready");
    std::thread::sleep(seconds(600));
}

#[test]
fn nothing_outlives_this_program_when_it_is_killed() {
    if std::env::var_os(CHILD).is_some() {
        return be_killed();
    }
    let mark = own("killed");
    let name = "served::nothing_outlives_this_program_when_it_is_killed";
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(CHILD, &mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let ready = output.lines().any(|line| line.unwrap() == "ready");
    let running = marked(&mark);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(ready);
    assert_ne!(running, [""; 0]);
    until_gone(&mark);
}
