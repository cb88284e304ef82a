//! Servers that behave well and badly, as the script tests/harness/mcp/lamp.py says.

mod http;
mod questions;

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::base::chat::{InputAnswer, InputKind};
use crate::base::json;
use crate::base::secret::{Eraser, Secret};
use crate::sandbox::confine::Served;
use crate::sandbox::files::PromptPlaces;
use crate::tools::mcp::client::link::{Link, Options};
use crate::tools::mcp::client::protocol::Abilities;
use crate::tools::mcp::client::stdio::{Settings, Stdio as StdioTransport};
use crate::tools::mcp::client::{MESSAGE_BYTES, UNREAD_BYTES};

/// Time for what happens on other threads and in other processes.
const MOST: Duration = Duration::from_secs(30);

/// Starts programs without a sandbox.
#[derive(Default)]
struct Plain {
    started: AtomicUsize,
    kind: u64,
}

impl Launcher for Plain {
    fn launch(
        &self,
        _name: &str,
        server: &McpServer,
        _cancel: &Cancel,
    ) -> Result<(Served, Option<PromptPlaces>)> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let child = Command::new(&server.command)
            .args(&server.args)
            .envs(
                server
                    .env
                    .iter()
                    .map(|(name, value)| (name, value.expose())),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::io("start", &server.command))?;
        Ok((Served::plain(child)?, None))
    }

    fn fingerprint(&self) -> u64 {
        self.kind
    }
}

fn lamp(arguments: &[&str]) -> McpServer {
    // As text, because the tests also run where the repository is not: on boards.
    let script = include_str!("../../../../../tests/harness/mcp/lamp.py");
    let arguments = ["-c", script].into_iter().chain(arguments.iter().copied());
    let mut server = McpServer {
        command: "python3".to_owned(),
        args: arguments.map(str::to_owned).collect(),
        ..McpServer::default()
    };
    let key = Secret::new("lamp-key-4711");
    server.env.insert("LAMP_KEY".to_owned(), key);
    server
}

struct World {
    servers: Servers,
    plain: Arc<Plain>,
    folder: tempfile::TempDir,
}

fn parts(world: &tempfile::TempDir, plain: &Arc<Plain>, server: McpServer) -> Parts {
    Parts {
        servers: BTreeMap::from([("lamp".to_owned(), server)]),
        launcher: Some(Arc::clone(plain) as Arc<dyn Launcher>),
        tls: Tls::new(None).unwrap(),
        folder: world.path().join("mcp"),
        root: "file:///w".to_owned(),
        elicitation: true,
        clock: Clock::System,
    }
}

impl World {
    fn new(server: McpServer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plain = Arc::new(Plain::default());
        Self {
            servers: Servers::new(parts(&folder, &plain, server)),
            plain,
            folder,
        }
    }

    fn step(&self, tool: &str, arguments: Value) -> Result<Step> {
        step(&self.servers, tool, arguments, &Cancel::new())
    }

    fn text(&self, tool: &str, arguments: Value) -> String {
        done(self.step(tool, arguments))
    }

    fn fault(&self, tool: &str, arguments: Value) -> String {
        match self.step(tool, arguments) {
            Ok(_) => panic!("{tool} did not fail"),
            Err(error) => error.to_string(),
        }
    }

    fn started(&self) -> usize {
        self.plain.started.load(Ordering::SeqCst)
    }
}

fn step(servers: &Servers, tool: &str, arguments: Value, cancel: &Cancel) -> Result<Step> {
    let request = ServerCall::Tool {
        name: tool.to_owned(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
    };
    servers.call("lamp", request, cancel, &mut |_| ())
}

fn done(step: Result<Step>) -> String {
    match step.unwrap() {
        Step::Done(result) => {
            let result: Value = json::from_str(&result).unwrap();
            result["content"][0]["text"].as_str().unwrap().to_owned()
        }
        Step::Asked(paused) => panic!("{:?}", paused.request()),
    }
}

fn until(mut holds: impl FnMut() -> bool) {
    let watch = Stopwatch::start();
    while !holds() {
        assert!(watch.elapsed() < MOST, "it never came true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn runs(pid: i32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn both_eras_are_spoken_and_the_lists_are_stored() {
    for (era, version, starts) in [
        ("legacy", "2025-06-18", 1),
        ("modern", "2026-07-28", 1),
        ("brittle", "2025-06-18", 2),
    ] {
        let world = World::new(lamp(&[era]));
        assert_eq!(world.servers.listing("lamp").state, ListState::Never);
        let listing = world.servers.refresh("lamp", &Cancel::new()).unwrap();
        assert_eq!(
            (listing.version.as_str(), listing.name.as_str()),
            (version, "lamp 1.0")
        );
        assert!(
            listing.tools.len() > 10,
            "all pages: {}",
            listing.tools.len()
        );
        assert_eq!((listing.resources.len(), listing.prompts.len()), (1, 1));
        assert_eq!(world.text("echo", json!({"text": "héllo\n"})), "héllo\n");
        assert_eq!(world.started(), starts, "{era}");
        let status = world.servers.status("lamp");
        assert!(status.running.is_some() && status.version == version);
        // Another program reads them without starting anything.
        let other = Servers::new(parts(&world.folder, &world.plain, lamp(&[era])));
        assert_eq!(other.listing("lamp"), listing);
        assert_eq!(world.started(), starts);
        other.refresh("lamp", &Cancel::new()).unwrap();
        assert_eq!(world.started(), starts + 1, "the version is known");
        let few = McpServer {
            enabled_tools: vec!["e*".to_owned()],
            ..lamp(&[era])
        };
        let few = Servers::new(parts(&world.folder, &world.plain, few));
        assert_eq!(
            few.listing("lamp").state,
            ListState::Never,
            "other settings"
        );
        let tools = few.refresh("lamp", &Cancel::new()).unwrap().tools;
        assert_eq!(tools.len(), 1);
    }
}

#[test]
fn pages_without_an_end_list_each_tool_once_and_say_so() {
    let all = World::new(lamp(&["legacy"]));
    let all = all.servers.refresh("lamp", &Cancel::new()).unwrap().tools;
    for kind in ["counting", "same"] {
        let world = World::new(lamp(&["legacy", &format!("endless={kind}")]));
        let listing = world.servers.refresh("lamp", &Cancel::new()).unwrap();
        let names = |tools: &[tool::Tool]| -> Vec<String> {
            tools.iter().map(|tool| tool.name.clone()).collect()
        };
        assert_eq!(names(&listing.tools), names(&all), "{kind}");
        assert_eq!(
            listing.refused,
            ["tools/list: its pages come again and again: each entry is listed once"]
        );
    }
}

#[test]
fn an_answer_that_is_not_json_fails_its_call_and_the_next_one_works() {
    let world = World::new(lamp(&["legacy"]));
    let fault = world.fault("nan", json!({}));
    assert!(
        fault.contains("the MCP server lamp")
            && fault.contains("cannot be read")
            && fault.contains("NaN"),
        "{fault}"
    );
    assert_eq!(world.text("echo", json!({"text": "on"})), "on");
    assert_eq!(world.started(), 1);
}

#[test]
fn a_turn_waits_for_a_silent_server_for_a_while_only_and_finds_it_when_it_speaks() {
    let speaks = tempfile::tempdir().unwrap();
    let speaks = speaks.path().join("now");
    let world = World::new(lamp(&["mute", &format!("speaks={}", speaks.display())]));
    let watch = Stopwatch::start();
    let fault = world.fault("echo", json!({}));
    assert!(
        watch.elapsed() >= TURN_TIME && fault.contains("has not answered within 10 s"),
        "{fault}"
    );
    // Whatever else this turn asks of it does not wait again.
    let asked = Stopwatch::start();
    for _ in 0..3 {
        let listed = world
            .servers
            .refresh_for_turn("lamp", TURN_TIME, &Cancel::new());
        assert_eq!(listed.unwrap_err().to_string(), fault);
        assert_eq!(world.fault("echo", json!({})), fault);
    }
    assert!(asked.elapsed() < TURN_TIME);
    std::fs::write(&speaks, "").unwrap();
    until(|| world.servers.status("lamp").running.is_some());
    until(|| matches!(world.step("echo", json!({"text": "on"})), Ok(Step::Done(_))));
    assert_eq!(world.started(), 1, "it was connected to all the time");
}

#[test]
fn a_turn_that_is_stopped_does_not_wait_for_a_silent_server() {
    let world = World::new(lamp(&["mute", "speaks=/nowhere"]));
    let cancel = Cancel::new();
    cancel.cancel();
    let step = step(&world.servers, "echo", json!({}), &cancel);
    assert!(matches!(step, Err(Error::Stopped)));
}

#[test]
fn resources_and_prompts_are_read() {
    let world = World::new(lamp(&["legacy"]));
    let read = |request| match world
        .servers
        .call("lamp", request, &Cancel::new(), &mut |_| ())
    {
        Ok(Step::Done(result)) => result,
        _ => panic!("no result"),
    };
    let uri = "lamp://state".to_owned();
    assert!(read(ServerCall::ReadResource { uri }).contains("\"on\""));
    let (name, arguments) = ("morning".to_owned(), Map::new());
    assert!(read(ServerCall::GetPrompt { name, arguments }).contains("Good morning"));
}

const NO_ABILITIES: Abilities = Abilities {
    elicitation: false,
    sampling: false,
};

fn settings() -> Settings {
    Settings {
        name: "lamp".to_owned(),
        eraser: Eraser::default(),
        root: String::new(),
        idle: MOST,
        patience: MOST,
        kept: None,
    }
}

#[test]
fn a_server_that_ignores_the_first_question_is_asked_in_the_old_way() {
    let hub = Arc::<Hub>::default();
    let served = Plain::default().launch("lamp", &lamp(&["deaf"]), &Cancel::new());
    let connection = hub.attach(served.unwrap().0, settings()).unwrap();
    let mut options = Options::new("lamp", NO_ABILITIES, String::new());
    options.discover_time = Duration::from_millis(50);
    let link = Link::open(
        Box::new(StdioTransport(connection)),
        options,
        &Cancel::new(),
    )
    .unwrap();
    assert_eq!(link.hello().version, "2025-06-18");
    drop(link);
    hub.wait_until_ended();
}

#[test]
fn a_server_that_says_nothing_at_first_is_waited_for_once_and_named() {
    let hub = Arc::<Hub>::default();
    let silent = lamp(&["mute", "speaks=/nowhere"]);
    let connection = hub.attach(
        Plain::default()
            .launch("lamp", &silent, &Cancel::new())
            .unwrap()
            .0,
        settings(),
    );
    let connection = connection.unwrap();
    let mut options = Options::new("lamp", NO_ABILITIES, String::new());
    options.discover_time = Duration::from_millis(50);
    options.connect_time = Duration::from_secs(1);
    let transport = Box::new(StdioTransport(Arc::clone(&connection)));
    let error = Link::open(transport, options, &Cancel::new()).err();
    let error = error.unwrap().to_string();
    assert!(
        error.contains("nothing came for 1 s. Either it is not an MCP server"),
        "{error}"
    );
    connection.stop();
    drop(connection);
    hub.wait_until_ended();
}

#[test]
fn a_server_that_announces_nothing_is_asked_for_its_tools() {
    let world = World::new(lamp(&["odd"]));
    let listing = world.servers.refresh("lamp", &Cancel::new()).unwrap();
    let names: Vec<&str> = listing.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!((names, listing.refused), (vec!["plain"], Vec::new()));
    let Step::Done(result) = world.step("plain", json!({})).unwrap() else {
        panic!("it asks nothing");
    };
    assert!(result.contains("on\\u0009and"), "{result}");
    let world = World::new(lamp(&["odd", "none"]));
    let listing = world.servers.refresh("lamp", &Cancel::new()).unwrap();
    assert!(
        listing.refused[0].starts_with("it announces no tools, and tools/list failed"),
        "{:?}",
        listing.refused
    );
}

#[test]
fn what_is_no_answer_is_ignored() {
    let world = World::new(lamp(&["legacy"]));
    for (tool, expected) in [
        ("garbage", "clean"),
        ("lie", "the truth"),
        ("batch", "batched"),
        ("ping", "{}"),
        ("progress", "done"),
    ] {
        assert_eq!(world.text(tool, json!({})), expected);
    }
    assert!(world.text("roots", json!({})).contains("file:///w"));
    assert!(
        world.text("sample", json!({})).contains("-32601"),
        "not allowed"
    );
    assert_eq!(world.started(), 1);
}

#[test]
fn progress_is_reported() {
    let world = World::new(lamp(&["legacy"]));
    let mut said = Vec::new();
    let request = ServerCall::Tool {
        name: "progress".to_owned(),
        arguments: Map::new(),
    };
    let mut progress = |text: &str| said.push(text.to_owned());
    world
        .servers
        .call("lamp", request, &Cancel::new(), &mut progress)
        .unwrap();
    // Of those that come at once only the last one counts, and the answer may come with it.
    assert!(
        said.len() <= 3 && said.iter().all(|text| text.ends_with("/3 cooking")),
        "{said:?}"
    );
}

#[test]
fn a_server_that_dies_says_why_and_is_started_again() {
    let world = World::new(lamp(&["legacy"]));
    let fault = world.fault("die", json!({}));
    assert!(
        fault.contains("the MCP server lamp") && fault.contains("the lamp is broken"),
        "{fault}"
    );
    assert!(
        fault.contains("[secret]") && !fault.contains("4711"),
        "{fault}"
    );
    assert!(
        world
            .servers
            .status("lamp")
            .error
            .unwrap()
            .contains("is broken")
    );
    assert_eq!(world.text("echo", json!({"text": "again"})), "again");
    assert_eq!(
        (world.started(), world.servers.status("lamp").error),
        (2, None)
    );
}

#[test]
fn a_server_that_fails_is_not_started_all_the_time() {
    let world = World::new(lamp(&["legacy", "fail=no lamp here"]));
    let first = world.fault("echo", json!({}));
    assert!(first.contains("no lamp here"), "{first}");
    let started = world.started();
    assert!(world.fault("echo", json!({})).contains("no lamp here"));
    let last = world.started();
    assert!(last > started, "the first failure is not the last word");
    let third = world.fault("echo", json!({}));
    assert!(
        third.contains("tried again in") && third.contains("no lamp here"),
        "{third}"
    );
    assert_eq!(world.started(), last);
    let same = lamp(&["legacy", "fail=no lamp here"]);
    let other = Servers::new(parts(&world.folder, &world.plain, same));
    let error = other.status("lamp").error.unwrap();
    assert!(
        error.contains("no lamp here"),
        "in another process: {error}"
    );
    assert!(
        matches!(world.servers.listing("lamp").state, ListState::Failed(why) if why.contains("no lamp"))
    );
    world.servers.look_later();
    assert!(!world.servers.0.is_looking.load(Ordering::SeqCst));
    assert!(world.servers.refresh("lamp", &Cancel::new()).is_err());
    assert!(world.started() > last, "a person does not wait");
}

#[test]
fn a_large_message_comes_whole_and_a_too_large_one_or_a_flood_ends_the_server() {
    let world = World::new(lamp(&["legacy"]));
    let fault = world.fault("scream", json!({}));
    assert!(fault.contains("bytes of errors"), "{fault}");
    assert_eq!(
        world.text("large", json!({"bytes": 3_000_000})).len(),
        3_000_000
    );
    let fault = world.fault("large", json!({"bytes": 100_000_000}));
    assert!(fault.contains(&MESSAGE_BYTES.to_string()), "{fault}");
    assert_eq!(world.text("echo", json!({"text": "again"})), "again");
}

#[test]
fn a_call_that_is_stopped_ends_at_once_and_the_server_learns_of_it() {
    let world = World::new(lamp(&["legacy"]));
    world.text("echo", json!({}));
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| step(&world.servers, "slow", json!({}), &cancel));
        cancel.cancel();
        assert!(matches!(call.join().unwrap(), Err(Error::Stopped)));
    });
    let cancelled: Vec<u64> = json::from_str(&world.text("cancelled", json!({}))).unwrap();
    assert!(cancelled.len() <= 1, "{cancelled:?}");
    let impatient = McpServer {
        tool_timeout: 1,
        ..lamp(&["legacy"])
    };
    let world = World::new(impatient);
    assert!(world.fault("slow", json!({})).contains("more than 1 s"));
    let cancelled: Vec<u64> = json::from_str(&world.text("cancelled", json!({}))).unwrap();
    assert_eq!(cancelled.len(), 1);
}

#[test]
fn answers_find_their_calls() {
    let world = World::new(lamp(&["modern"]));
    world.text("echo", json!({}));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| world.text("late", json!({})));
        let second = scope.spawn(|| world.text("late", json!({})));
        let mut both = [first.join().unwrap(), second.join().unwrap()];
        both.sort();
        assert_eq!(both, ["first", "second"]);
    });
}

#[test]
fn changed_tools_are_listed_again() {
    for era in ["legacy", "modern"] {
        let world = World::new(lamp(&[era]));
        let before = world.servers.refresh("lamp", &Cancel::new()).unwrap().tools;
        world.servers.look_later();
        world.text("grow", json!({}));
        assert_eq!(world.servers.listing("lamp").state, ListState::Stale);
        world.servers.look_later();
        until(|| world.servers.listing("lamp").state == ListState::Fresh);
        let after = world.servers.listing("lamp").tools;
        assert_eq!(after.len(), before.len() + 1);
        assert_eq!(world.started(), 1);
    }
}

#[test]
fn a_change_while_the_lists_are_read_is_read_the_next_time() {
    let world = World::new(lamp(&["legacy"]));
    let before = world.servers.refresh("lamp", &Cancel::new()).unwrap().tools;
    let seen = world.folder.path().join("seen");
    world.text("restless", json!({"path": seen}));
    std::thread::scope(|scope| {
        let read = scope.spawn(|| world.servers.refresh("lamp", &Cancel::new()).unwrap());
        // Someone else hears of it first.
        until(|| world.servers.listing("lamp").state == ListState::Stale);
        std::fs::write(&seen, "").unwrap();
        read.join().unwrap();
    });
    assert_eq!(world.servers.listing("lamp").state, ListState::Stale);
    world.servers.look_later();
    until(|| world.servers.listing("lamp").state == ListState::Fresh);
    assert_eq!(world.servers.listing("lamp").tools.len(), before.len() + 1);
}

#[test]
fn lists_that_are_missing_are_read_later() {
    let world = World::new(lamp(&["legacy"]));
    world.servers.look_later();
    until(|| world.servers.listing("lamp").state == ListState::Fresh);
    assert_eq!(world.started(), 1);
    // Stored lists that are fresh start nothing.
    let other = Servers::new(parts(&world.folder, &world.plain, lamp(&["legacy"])));
    other.look_later();
    until(|| !other.0.is_looking.load(Ordering::SeqCst));
    assert_eq!(world.started(), 1);
}

#[test]
fn where_nothing_can_be_stored_lists_stay_in_memory() {
    let world = World::new(lamp(&["legacy"]));
    std::fs::write(world.folder.path().join("mcp"), "in the way").unwrap();
    world.servers.refresh("lamp", &Cancel::new()).unwrap();
    assert!(!world.servers.listing("lamp").tools.is_empty());
}

#[test]
fn a_flood_and_a_server_that_does_not_read_hold_up_no_others() {
    let world = World::new(lamp(&["legacy"]));
    let mut all = parts(&world.folder, &world.plain, lamp(&["legacy"]));
    all.servers.insert("flood".to_owned(), lamp(&["legacy"]));
    all.servers.insert("deaf".to_owned(), lamp(&["legacy"]));
    let servers = Servers::new(all);
    for name in ["flood", "deaf"] {
        let (name, arguments) = (name.to_owned(), Map::new());
        let request = ServerCall::Tool {
            name: name.clone(),
            arguments,
        };
        servers
            .call(&name, request, &Cancel::new(), &mut |_| ())
            .unwrap();
    }
    let cancel = Cancel::new();
    cancel.cancel();
    let send_much = || {
        let arguments = json!({"text": "x".repeat(UNREAD_BYTES / 2)});
        let request = ServerCall::Tool {
            name: "echo".to_owned(),
            arguments: arguments.as_object().unwrap().clone(),
        };
        let outcome = servers.call("deaf", request, &cancel, &mut |_| ());
        outcome.err().unwrap().to_string()
    };
    let faults: Vec<String> = (0..3).map(|_| send_much()).collect();
    // The second one where the server was slower than these calls; then it has been started again.
    let is_named = |fault: &String| fault.contains("does not read what is sent to it");
    assert!(faults.iter().any(is_named), "{faults:?}");
    for _ in 0..20 {
        assert_eq!(
            done(step(&servers, "echo", json!({"text": "x"}), &Cancel::new())),
            "x"
        );
    }
    servers.stop_all();
    assert_eq!(servers.status("flood").running, None);
}

#[test]
fn a_call_that_no_server_has_seen_is_made_again() {
    let world = World::new(lamp(&["legacy"]));
    let pid: i32 = world.text("pid", json!({})).parse().unwrap();
    world.text("deaf", json!({}));
    let cancel = Cancel::new();
    cancel.cancel();
    let much = json!({"text": "x".repeat(UNREAD_BYTES / 2)});
    assert!(step(&world.servers, "echo", much, &cancel).is_err());
    let entry = world.servers.0.entry("lamp").unwrap();
    let connection = entry.state.lock().up.clone().unwrap().connection.unwrap();
    let sent = connection.mark();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| world.text("echo", json!({"text": "unseen"})));
        until(|| connection.mark() > sent);
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        crate::sys::process::signal(pid, rustix::process::Signal::KILL);
        assert_eq!(call.join().unwrap(), "unseen");
    });
    assert_eq!(world.started(), 2);
}

#[test]
fn an_idle_server_is_stopped_and_started_when_it_is_needed() {
    let world = World::new(McpServer {
        idle_timeout: 1,
        ..lamp(&["legacy"])
    });
    let pid: i32 = world.text("pid", json!({})).parse().unwrap();
    until(|| !runs(pid));
    world.servers.0.hub.wait_until_ended();
    assert_eq!(world.servers.status("lamp"), Status::default());
    assert_ne!(world.text("pid", json!({})), pid.to_string());
    assert_eq!(world.started(), 2);
}

#[test]
fn a_server_that_is_stopped_ends_what_waits_for_it() {
    let world = World::new(lamp(&["legacy"]));
    let pid: i32 = world.text("pid", json!({})).parse().unwrap();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| world.fault("slow", json!({})));
        // The call may have to start it first.
        until(|| {
            world.servers.stop("lamp");
            call.is_finished()
        });
        let fault = call.join().unwrap();
        assert!(fault.contains("was stopped"), "{fault}");
    });
    until(|| !runs(pid));
    let pid: i32 = world.text("pid", json!({})).parse().unwrap();
    drop(world);
    assert!(!runs(pid), "dropping waits for the end");
}

#[test]
fn other_settings_keep_the_servers_that_did_not_change() {
    let world = World::new(lamp(&["legacy"]));
    let pid = world.text("pid", json!({}));
    let mut all = parts(&world.folder, &world.plain, lamp(&["legacy"]));
    all.servers.insert("other".to_owned(), lamp(&["legacy"]));
    let servers = Servers::continuing(all, &world.servers);
    let folder = world.folder;
    drop(world.servers);
    assert_eq!(done(step(&servers, "pid", json!({}), &Cancel::new())), pid);
    let changed = parts(&folder, &world.plain, lamp(&["modern"]));
    let changed = Servers::continuing(changed, &servers);
    drop(servers);
    let modern = done(step(&changed, "pid", json!({}), &Cancel::new()));
    assert_ne!(modern, pid);
    until(|| !runs(pid.parse().unwrap()));
    let sandbox = Arc::new(Plain {
        kind: 1,
        ..Plain::default()
    });
    let confined = parts(&folder, &sandbox, lamp(&["modern"]));
    let confined = Servers::continuing(confined, &changed);
    drop(changed);
    assert_ne!(
        done(step(&confined, "pid", json!({}), &Cancel::new())),
        modern
    );
    until(|| !runs(modern.parse().unwrap()));
}
