//! Watches: rules over a made-up board, over files and processes of this machine, and what is told of them.

mod built_in;
mod restarts;
mod roles;
mod unseen;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::gateway::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Step, call, say};
use crate::harness::program::Program;
use crate::harness::telegram::Message;
use crate::harness::terminal::Terminal;
use crate::harness::wait_until;

const MINUTE: Duration = Duration::from_secs(60);
const MORNING: &str = "2026-11-23T09:00:00Z";

/// A board of files.
struct Board(tempfile::TempDir);

impl Board {
    fn new() -> Self {
        let board = Self(tempfile::tempdir().unwrap());
        board.temperature(48_000);
        board.write("proc/loadavg", "0.10 0.10 0.10 1/88 900\n");
        board.write(
            "proc/meminfo",
            "MemTotal: 1000000 kB\nMemAvailable: 800000 kB\n",
        );
        board.write("proc/vmstat", "pgfault 1\noom_kill 0\n");
        board.write("proc/self/mounts", "/dev/mmcblk0p2 / ext4 rw,noatime 0 0\n");
        board.write("proc/net/tcp", "  sl  local_address\n");
        board.firmware("0");
        board.group("nginx", true);
        board
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Replaces a file as a whole, in place.
    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn temperature(&self, millidegrees: i32) {
        self.write(
            "sys/class/thermal/thermal_zone0/temp",
            &format!("{millidegrees}\n"),
        );
    }

    /// What the firmware of a Raspberry Pi says about its power.
    fn firmware(&self, bits: &str) {
        self.write(
            "sys/devices/platform/soc/soc:firmware/get_throttled",
            &format!("{bits}\n"),
        );
    }

    /// The control group of a service.
    fn group(&self, name: &str, runs: bool) {
        let events = format!("sys/fs/cgroup/system.slice/{name}.service/cgroup.events");
        self.write(
            &events,
            &format!("populated {}\nfrozen 0\n", u8::from(runs)),
        );
    }
}

/// A scene with a board and a clock that the story turns.
fn scene(script: impl IntoIterator<Item = Step>) -> (Scene, Board, Turned) {
    let (mut scene, board, clock) = (Scene::playing(script), Board::new(), Turned::at(MORNING));
    scene.home.turn(&clock);
    scene.home.watch_board(board.0.path());
    (scene, board, clock)
}

/// Ana says hello, so that there is a chat.
fn greet(scene: &Scene) {
    scene.ana.says("/id");
    scene.wait_for("1001");
}

fn labels(message: &Message) -> Vec<String> {
    let Some(markup) = &message.markup else {
        return Vec::new();
    };
    let rows = markup["inline_keyboard"].as_array().unwrap().iter();
    let buttons = rows.flat_map(|row| row.as_array().unwrap());
    buttons
        .map(|button| button["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Asks until the answer contains these words: what the thread sees is known a moment later.
fn asks_until(scene: &Scene, question: &str, words: &str) {
    let watch = std::time::Instant::now();
    loop {
        let before = scene.texts().len();
        let sent = scene.telegram.wait_for_calls("sendMessage", 0).len();
        scene.ana.says(question);
        scene.telegram.wait_for_calls("sendMessage", sent + 1);
        if scene
            .texts()
            .iter()
            .skip(before)
            .any(|text| text.contains(words))
        {
            return;
        }
        let texts = scene.texts();
        assert!(
            watch.elapsed() < crate::harness::PATIENCE,
            "{words:?} never came: {:?}",
            texts.last()
        );
    }
}

fn count(scene: &Scene, words: &str) -> usize {
    scene
        .texts()
        .iter()
        .filter(|text| text.contains(words))
        .count()
}

fn add(scene: &Scene, rule: &str, now: &str) {
    scene.ana.says(&format!("/watch {rule}"));
    scene.wait_for(&format!("Now: {now}"));
}

#[test]
fn a_temperature_is_told_once_and_its_end_with_how_long_it_was() {
    let (scene, board, clock) = scene([]);
    let gateway = scene.start();
    scene.ana.says("/watch temperature > 75 for 5m every 2m");
    let added = scene.wait_for("Watching temperature > 75 for 5m every 2m (number 1). Now: 48 °C.");
    assert_eq!(labels(&added), ["Remove"]);
    // The built-in watch begins at 80 degrees.
    board.temperature(78_000);
    clock.forward(2 * MINUTE);
    asks_until(&scene, "/watch", "every 2m: 🔴 78 °C");
    clock.forward(5 * MINUTE);
    let alarm = scene.wait_for("🌡 temperature 78 °C (over 75 for 5 min");
    assert_eq!(labels(&alarm), ["Mute 1 h", "Remove"]);
    asks_until(&scene, "/watch", "every 2m: 🔴 78 °C, for 5 min");
    board.temperature(60_000);
    clock.forward(2 * MINUTE);
    scene.wait_for("✅ temperature is back to 60 °C after");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "🌡"), 1, "{:?}", scene.texts());
    assert_eq!(count(&scene, "✅"), 1);
}

#[test]
fn a_service_that_stops_is_told_and_one_that_restarts_is_not() {
    let (scene, board, clock) = scene([]);
    let gateway = scene.start();
    add(&scene, "service nginx", "running");
    board.group("nginx", false);
    asks_until(&scene, "/watch", "service nginx: 🔴 not running");
    // The kernel has said so: no look of the clock was needed. Only the time that a restart may take has to pass.
    clock.forward(Duration::from_secs(6));
    scene.wait_for("🔴 nginx is not running");
    clock.forward(Duration::from_secs(10));
    board.group("nginx", true);
    scene.wait_for("✅ nginx is running again (after 1");
    fs::remove_dir_all(board.path("sys/fs/cgroup/system.slice/nginx.service")).unwrap();
    asks_until(&scene, "/watch", "service nginx: 🔴 not running");
    clock.forward(Duration::from_secs(6));
    asks_until(
        &scene,
        "/watch",
        "🔴 not running (there is no such service), for ",
    );
    asks_until(&scene, "/watch test 1", "service nginx: 🔴 not running");
    // It comes back in another group of the same name.
    board.group("nginx", true);
    scene.wait_for("✅ nginx is running again (after 6 s)");
    gateway.stop().ends_with(0);
}

#[test]
fn lines_of_a_log_are_told_at_once_and_many_of_them_together() {
    let (scene, _board, clock) = scene([]);
    let log = scene.home.workspace("app.log");
    fs::create_dir_all(scene.home.workspace("")).unwrap();
    fs::write(&log, "ERROR of yesterday\n").unwrap();
    let gateway = scene.start();
    add(
        &scene,
        &format!("file {} matches 'ERROR|panic'", log.display()),
        "no line has matched yet. At most one message every 10 min.",
    );
    // What was there is old: the watch has begun once it is listed with the file at its end.
    clock.forward(Duration::from_secs(2));
    gateway_has_read(&scene);
    let mut file = fs::OpenOptions::new().append(true).open(&log).unwrap();
    file.write_all(b"fine\nERROR `disk` <b>\nhalf an ERR")
        .unwrap();
    clock.forward(Duration::from_secs(2));
    scene.wait_for("app.log: ERROR `disk` <b>");
    file.write_all(b"OR line\nERROR three\n").unwrap();
    // Rotated, as logrotate does it.
    fs::rename(&log, scene.home.workspace("app.log.1")).unwrap();
    fs::write(&log, "panic in the new file\n").unwrap();
    clock.forward(Duration::from_secs(2));
    asks_until(&scene, "/watch", "last match panic in the new file");
    clock.forward(11 * MINUTE);
    scene.wait_for("app.log: 3 more lines match, the last one: panic in the new file");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "yesterday"), 0);
}

/// Waits until the first look at a file is on the disk.
fn gateway_has_read(scene: &Scene) {
    let state = scene.home.path().join("state/watches.json");
    let watch = std::time::Instant::now();
    while !fs::read_to_string(&state).is_ok_and(|text| text.contains("\"mark\"")) {
        assert!(
            watch.elapsed() < crate::harness::PATIENCE,
            "it never read the file"
        );
        std::thread::yield_now();
    }
}

fn sleeper() -> Child {
    Command::new("cat").stdin(Stdio::piped()).spawn().unwrap()
}

#[test]
fn the_end_of_a_process_is_told_by_the_kernel_and_its_watch_goes() {
    let (scene, _board, _clock) = scene([]);
    let gateway = scene.start();
    let mut child = sleeper();
    add(&scene, &format!("pid {}", child.id()), "running (cat)");
    let file = scene.home.path().join("watches.json");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("\"process\": \"cat\"")
    );
    // The clock stands still: only the kernel can have said it, and before the parent has asked.
    child.kill().unwrap();
    let told = scene.wait_for(&format!("🏁 cat ({}) has ended", child.id()));
    child.wait().unwrap();
    assert!(labels(&told).is_empty());
    wait_until("the end of the watch", || {
        !fs::read_to_string(&file).unwrap().contains("cat")
    });
    scene.ana.says("/watch");
    scene.wait_for("Nothing is watched for this chat yet.");
    scene.ana.says("/watch pid 4194304");
    scene.wait_for("Process 4194304 is not running.");
    gateway.stop().ends_with(0);
}

#[test]
fn ports_hosts_and_commands_are_asked() {
    let (scene, _board, clock) = scene([]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let web = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let web_port = web.local_addr().unwrap().port();
    let gateway = scene.start();
    add(&scene, &format!("port {web_port}"), "open");
    add(&scene, &format!("host 127.0.0.1 port {port}"), "answers");
    let flag = scene.home.workspace("done");
    let rule = format!("cmd 'test -e {}' succeeds every 1m", flag.display());
    add(&scene, &rule, "fails (exit status 1)");
    drop((web, listener));
    fs::write(&flag, "").unwrap();
    clock.forward(2 * MINUTE);
    scene.wait_for(&format!("🔴 Nothing listens on port {web_port}."));
    scene.wait_for(&format!("🔴 127.0.0.1:{port} does not answer."));
    scene.wait_for("✅ test -e");
    asks_until(&scene, "/watch", "every 1m: ✅ succeeds");
    asks_until(&scene, "/watch test 3", ": ✅ succeeds");
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    clock.forward(2 * MINUTE);
    scene.wait_for(&format!("✅ 127.0.0.1:{port} answers again (after 2 min)"));
    drop(listener);
    gateway.stop().ends_with(0);
}

#[test]
fn a_rule_that_is_wrong_shows_the_nearest_form() {
    let (scene, _board, _clock) = scene([]);
    let gateway = scene.start();
    let own = scene.home.path().join("config.json");
    scene
        .ana
        .says(&format!("/watch file {} matches x", own.display()));
    scene.wait_for("My own files, such as my configuration");
    for (typed, said) in [
        (
            "/watch temprature > 70",
            "Did you mean /watch temperature > 70?",
        ),
        ("/watch disk / > full", "For example: /watch disk / > 90%"),
        ("/watch cmd test -e /x", "Put the command in quotes"),
        ("/watch remove", "For example: /watch remove 1"),
        ("/watch off", "For example: /watch off temperature"),
        (
            "/watch host nas port abc",
            "/watch host 192.168.1.1 port 22",
        ),
        ("/watch remove 7", "There is nothing watched under 7 here"),
        (
            "/watch mute temperature soon",
            "at most? For example: /watch mute temperature 2h",
        ),
        ("/watch mute temperature 31d", "30 days at most"),
        ("/watch > 5", "I can't watch >"),
        ("/watch file /proc/uptime matches 1", "Only a regular file"),
        ("/watch file /dev/null matches 1", "Only a regular file"),
        ("/watch file /tmp matches 1", "Only a regular file"),
        ("/watch remove temperature", "emperature is built in"),
        ("/watch help", "/watch service nginx"),
    ] {
        scene.ana.says(typed);
        scene.wait_for(said);
    }
    gateway.stop().ends_with(0);
    assert!(!scene.home.path().join("watches.json").exists());
}

#[test]
fn two_chats_have_watches_of_their_own() {
    let (mut scene, board, clock) = scene([]);
    scene
        .home
        .set("/channels/telegram/allowFrom", json!(["1001", "1002"]));
    let ben = scene.telegram.person(1002, "Ben", Some("ben"));
    let gateway = scene.start();
    add(&scene, "load > 4", "0.10");
    ben.says("/watch load > 6");
    scene.wait_in(ben.chat(), "number 2");
    ben.says("/watch remove 1");
    scene.wait_in(ben.chat(), "There is nothing watched under 1 here");
    board.write("proc/loadavg", "5.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("load 5.00 (over 4)");
    board.write("proc/loadavg", "7.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_in(ben.chat(), "load 7.00 (over 6)");
    gateway.stop().ends_with(0);
    let of_ben = scene.texts_in(ben.chat());
    assert!(
        !of_ben.iter().any(|text| text.contains("over 4")),
        "{of_ben:?}"
    );
}

#[test]
fn a_muted_or_paused_watch_says_nothing_and_then_what_is_still_so() {
    let (scene, board, clock) = scene([]);
    let gateway = scene.start();
    add(&scene, "load > 4", "0.10");
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("📈 load 8.00 (over 4).");
    scene.ana.presses("Mute 1 h");
    scene.wait_for("Muted for 1 h: load > 4");
    board.write("proc/loadavg", "0.20 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    asks_until(&scene, "/watch", "1. load > 4: 0.20, muted for 59 min");
    board.write("proc/loadavg", "9.00 1.00 1.00 1/88 900\n");
    clock.forward(58 * MINUTE);
    asks_until(&scene, "/watch", "1. load > 4: 🔴 9.00");
    clock.forward(2 * MINUTE);
    scene.wait_for("📈 load still 9.00");
    scene.ana.says("/watch pause 1");
    scene.wait_for("Paused: load > 4");
    scene.ana.says("/watch");
    scene.wait_for("1. load > 4: paused");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "✅"), 0, "{:?}", scene.texts());
}

#[test]
fn the_numbers_of_watches_stay_when_one_in_the_middle_is_removed() {
    let (scene, _board, _clock) = scene([]);
    let gateway = scene.start();
    for load in 4..7 {
        add(&scene, &format!("load > {load}"), "0.10");
    }
    scene.ana.says("/watch remove 2");
    scene.wait_for("Removed: load > 5");
    scene.ana.says("/watch");
    let listed = scene.wait_for("1. load > 4: 0.10");
    assert!(listed.text.contains("\n3. load > 6: 0.10"), "{listed:?}");
    assert!(!listed.text.contains("/watch RULE"), "{listed:?}");
    scene.ana.says("/watch remove 3");
    scene.wait_for("Removed: load > 6");
    gateway.stop().ends_with(0);
}

#[test]
fn in_quiet_hours_a_watch_makes_no_sound_unless_it_is_loud() {
    let (mut scene, board, clock) = scene([]);
    scene
        .home
        .set("/cron", json!({"quietHours": "22:00-07:00"}));
    clock.set("2026-11-23T23:00:00Z");
    let gateway = scene.start();
    add(&scene, "load > 4", "0.10");
    add(&scene, "load > 5 loud", "0.10");
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("load 8.00 (over 4)");
    scene.wait_for("load 8.00 (over 5)");
    let silent = |words: &str| {
        let calls = scene.telegram.wait_for_calls("sendMessage", 4);
        let sent = calls
            .iter()
            .find(|call| call.to_string().contains(words))
            .unwrap();
        sent["disable_notification"] == json!(true)
    };
    assert!(silent("over 4") && !silent("over 5"));
    gateway.stop().ends_with(0);
}

#[test]
fn an_alarm_runs_a_command_and_starts_a_turn() {
    let (scene, board, clock) = scene([say("I looked: it is busy.")]);
    let gateway = scene.start();
    add(
        &scene,
        "load > 4 then run echo looked at $((40 + 2))",
        "0.10",
    );
    add(&scene, "load > 5 then ask Why is the load so high?", "0.10");
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("looked at 42");
    scene.wait_for("I looked: it is busy.");
    let asked = scene.asked(0);
    assert!(
        asked.contains("Why is the load so high?") && asked.contains("over 5"),
        "{asked}"
    );
    gateway.stop().ends_with(0);
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn the_command_line_adds_and_changes_watches_of_a_running_gateway() {
    let (scene, board, clock) = scene([]);
    let run = |arguments: &[&str]| Program::new(&scene.home).arg("watch").args(arguments).run();
    let listed = run(&[]).ends_with(0);
    listed.complains_of(&["so nothing is watched. Start it: `peacrab gateway`"]);
    assert_eq!(
        listed.stdout,
        "No watches of your own yet. Add one: peacrab watch add 'temperature > 75 for 5m'\n"
    );
    assert_eq!(listed.stderr.lines().count(), 1, "{}", listed.stderr);
    let gateway = scene.start();
    greet(&scene);
    let added = run(&["add", "load > 4"]).ends_with(0).stdout;
    assert_eq!(added, "Watching `load > 4` (number 1). Now: 0.10.\n");
    run(&["add", "cmd", "test -e /x", "every", "5m"]).ends_with(0);
    run(&["add", "prot", "1"])
        .ends_with(2)
        .complains_of(&["Did you mean `peacrab watch add 'port 1'`?"]);
    run(&["remove", "9"])
        .ends_with(2)
        .complains_of(&["There is no watch 9"]);
    run(&["test", "9"])
        .ends_with(1)
        .complains_of(&["`peacrab watch` lists what is."]);
    board.write("proc/loadavg", "8.00 1.00 1.00 1/88 900\n");
    clock.forward(MINUTE);
    scene.wait_for("load 8.00 (over 4)");
    let tested = run(&["test", "1"]).ends_with(0).stdout;
    assert_eq!(tested, "`load > 4`: 🔴 8.00\n");
    run(&["pause", "1"]).ends_with(0);
    let listed = run(&[]).ends_with(0).stdout;
    assert!(
        listed.contains("`load > 4`: paused") && listed.contains("cmd 'test -e /x' every 5m"),
        "{listed}"
    );
    run(&["remove", "1", "2"]).ends_with(0);
    gateway.stop().ends_with(0);
    run(&["test", "1"])
        .ends_with(1)
        .complains_of(&["so nothing can be tested. Start it with `peacrab gateway`."]);
}

#[test]
fn the_model_tells_when_something_is_done() {
    let (scene, _board, clock) = scene([
        call(
            "watch",
            json!({"action": "add", "rule": "cmd 'test -e done' succeeds every 1m"}),
        ),
        say("I'll tell you when it is done."),
    ]);
    let gateway = scene.start();
    scene.ana.says("tell me when the build is done");
    scene.wait_for("I'll tell you when it is done.");
    fs::write(scene.home.workspace("done"), "").unwrap();
    clock.forward(2 * MINUTE);
    scene.wait_for("✅ test -e done succeeds.");
    gateway.stop().ends_with(0);
    let audit = scene.audit();
    assert!(
        audit
            .iter()
            .any(|record| record["command"] == "test -e done"),
        "{audit:?}"
    );
}

/// The time on a processor that the gateway's thread of watches has used.
fn busy(gateway: &Gateway) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{}/task", gateway.id())).unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().path());
    let is_it = |task: &PathBuf| fs::read_to_string(task.join("comm")).unwrap().trim() == "watch";
    let task = tasks.find(is_it).unwrap();
    let text = fs::read_to_string(task.join("schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// With a real clock, as in a release: thirty watches look every half minute and wait for the kernel in between.
#[test]
fn thirty_watches_cost_next_to_nothing() {
    let (mut scene, board) = (Scene::playing([]), Board::new());
    scene.home.watch_board(board.0.path());
    let rules = (1..=30).map(|id| {
        let rule = match id % 3 {
            0 => format!("load > {id}"),
            1 => format!("service unit{id}"),
            _ => format!("file {}/log-{id} matches x", board.0.path().display()),
        };
        json!({"id": id, "rule": rule, "chat": "telegram:1001", "paused": false})
    });
    let file = json!({"watches": rules.collect::<Vec<_>>()});
    fs::write(scene.home.path().join("watches.json"), file.to_string()).unwrap();
    let gateway = scene.start();
    scene.ana.says("/watch");
    scene.wait_for("30. load > 30");
    // A look comes twice a minute: of three spans, at least two are without one, and cost nothing.
    let spans = (0..3).map(|_| {
        let (before, watch) = (busy(&gateway), std::time::Instant::now());
        std::thread::sleep(Duration::from_secs(2));
        (busy(&gateway) - before, watch.elapsed())
    });
    let least = spans.min().unwrap();
    let (used, passed) = least;
    assert!(used <= passed / 1000, "{used:?} in {passed:?}");
    gateway.stop().ends_with(0);
}

#[test]
fn how_a_command_came_out_at_the_beginning_is_no_news_even_after_a_while() {
    let (scene, _board, clock) = scene([]);
    let gateway = scene.start();
    add(&scene, "cmd 'test -e gone' every 1m for 1m", "🔴 fails");
    for _ in 0..3 {
        clock.forward(2 * MINUTE);
        asks_until(&scene, "/watch", "fails");
    }
    fs::write(scene.home.workspace("gone"), "").unwrap();
    clock.forward(2 * MINUTE);
    scene.wait_for("succeeds (after");
    gateway.stop().ends_with(0);
    assert_eq!(count(&scene, "🔴 test -e gone"), 0, "{:?}", scene.texts());
}

#[test]
fn a_terminal_shows_styles_and_no_codes() {
    let scene = Scene::playing([]);
    let variables = [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")];
    for line in [&["watch", "add", "load > 96"][..], &["watch", "list"]] {
        let mut terminal = Terminal::start_on(&scene.home, line, 80, &variables);
        assert_eq!(terminal.finish(), Some(0));
        let shown = terminal.shown();
        assert_eq!(shown.contains("\x1b["), line[1] == "add", "{shown}");
        assert!(!shown.contains("u{1b}"), "{shown}");
        assert!(terminal.screen().contains("load > 96"), "{shown}");
    }
}
