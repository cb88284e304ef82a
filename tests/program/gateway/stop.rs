//! Ends: signals, `/stop`, `/restart`, a second gateway, and a disk that is full for a while.

use std::fs::{self, File};
use std::io::Write;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use super::scene::Scene;
use crate::disk::{FILL, IN_OWN_MOUNTS, has_mounts_of_its_own};
use crate::harness::PATIENCE;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Gate, INPUT_TOKENS, Model, OUTPUT_TOKENS, call, hang, say};
use crate::harness::program::{PEACRAB, Program};
use crate::harness::telegram::{Message, Telegram};
use crate::harness::wait_until;

/// What a stop may take: the grace of turns and of sending, and a busy machine.
const LONG_STOP: Duration = Duration::from_secs(14);
/// What a stop takes when there is nothing to wait for, on a busy machine.
const QUICK_STOP: Duration = Duration::from_secs(5);

fn is(text: &str) -> impl Fn(&Message) -> bool {
    move |message| message.text == text
}

#[test]
fn a_restart_is_not_announced_to_systemd_as_a_stop() {
    let scene = Scene::playing([]);
    let (gateway, watchdog) = scene.start_with_watchdog(PATIENCE);
    watchdog.wait_for("READY=1");
    scene.ana.says("/restart");
    scene.wait_for("Back.");
    let count = |text: &str| {
        let notices = watchdog.notices().into_iter();
        notices.filter(|notice| notice.text == text).count()
    };
    wait_until("the second start", || count("READY=1") == 2);
    assert_eq!(count("STOPPING=1"), 0, "systemd would end the new run");
    gateway.stop().ends_with(0);
    assert_eq!(count("STOPPING=1"), 1);
}

#[test]
fn a_turn_that_is_not_done_when_the_program_is_to_end_goes_on_after_the_next_start() {
    let model = Model::playing([hang(), say("It is done.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("work");
    model.wait_for_requests(1);
    let start = Instant::now();
    gateway.terminate();
    gateway.wait_for_log("stopping");
    let output = gateway.finish().ends_with(0);
    assert!(start.elapsed() < LONG_STOP, "{:?}", start.elapsed());
    output.complains_of(&["1 turn continues after the next start"]);
    let gateway = Gateway::start(&home);
    telegram.wait_for_message(ana.chat(), is("It is done."));
    gateway.stop().ends_with(0);
    let answers = telegram.messages(ana.chat());
    let done = answers.iter().filter(|message| is("It is done.")(message));
    assert_eq!(done.count(), 1);
}

#[test]
fn an_idle_gateway_ends_at_once() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let gateway = Gateway::start(&home);
    gateway.wait_for_log("ready");
    telegram.wait_for_poll();
    let start = Instant::now();
    gateway.stop().ends_with(0);
    assert!(start.elapsed() < QUICK_STOP, "{:?}", start.elapsed());
}

#[test]
fn a_second_signal_ends_it_without_any_grace() {
    let model = Model::playing([hang()]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("work");
    model.wait_for_requests(1);
    gateway.terminate();
    gateway.wait_for_log("stopping");
    let start = Instant::now();
    gateway.stop().ends_with(130);
    assert!(start.elapsed() < QUICK_STOP, "{:?}", start.elapsed());
}

#[test]
fn a_person_stops_what_runs_and_what_waits() {
    let model = Model::playing([hang(), say("Hello.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let gateway = Gateway::start(&home);
    ana.says("work");
    model.wait_for_requests(1);
    ana.says("more work");
    let start = Instant::now();
    ana.says("/stop");
    telegram.wait_for_message(
        ana.chat(),
        is("Stopped. 1 reply cancelled, 1 queued message dropped."),
    );
    gateway.wait_for_log("turn stopped");
    assert!(start.elapsed() < QUICK_STOP, "{:?}", start.elapsed());
    ana.says("/stop");
    telegram.wait_for_message(ana.chat(), is("Nothing is running here."));
    ana.says("hello");
    telegram.wait_for_message(ana.chat(), is("Hello."));
    gateway.stop().ends_with(0);
    let asked = model.requests()[1].body["messages"].to_string();
    assert!(!asked.contains("more work"), "{asked}");
}

/// The command lines of this machine's processes that have this word.
fn processes_with(word: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let has_word = |line: &Vec<u8>| {
        line.split(|byte| *byte == 0)
            .any(|part| part == word.as_bytes())
    };
    lines.filter(has_word).count()
}

#[test]
fn a_stop_ends_the_background_commands_of_its_chat_and_names_them() {
    let (anas, bens) = ("76054321.1", "76054321.2");
    let model = Model::answering(move |request| {
        let started = request.last_message().contains(r#""role":"tool""#);
        let seconds = match request.body["messages"].to_string().contains("I am Ben") {
            true => bens,
            false => anas,
        };
        let command = json!({"command": format!("sleep {seconds}"), "background": true});
        match started {
            true => say("It runs."),
            false => call("exec", command),
        }
    });
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    home.set(
        "/channels/telegram/allowFrom",
        json!(["1001", "1002", "1003", "1004", "1005", "2002"]),
    );
    let (ana, ben) = (
        telegram.person(1001, "Ana", None),
        telegram.person(1002, "Ben", None),
    );
    let gateway = Gateway::start(&home);
    for (person, words) in [(&ana, "start it"), (&ben, "I am Ben, start it")] {
        person.says(words);
        telegram.wait_for_message(person.chat(), is("It runs."));
    }
    // It was started, and may not be that program yet.
    wait_until("both run", || {
        processes_with(anas) > 0 && processes_with(bens) > 0
    });
    ana.says("/stop");
    let told = format!("Stopped. 1 background command was ended: sleep {anas}.");
    telegram.wait_for_message(ana.chat(), is(&told));
    assert_eq!(processes_with(anas), 0, "it still runs");
    assert!(processes_with(bens) > 0, "another chat's command was ended");
    ana.says("/stop");
    telegram.wait_for_message(ana.chat(), is("Nothing is running here."));
    ben.says("/new");
    telegram.wait_for_message(ben.chat(), |message| {
        let ended = format!(" 1 background command was ended: sleep {bens}.");
        message.text.ends_with(&ended)
    });
    assert_eq!(processes_with(bens), 0);
    gateway.stop().ends_with(0);
}

#[test]
fn a_stop_that_comes_together_with_the_work_stops_it() {
    // The turn may be stopped before it has asked anything.
    let model = Model::answering(|_| hang());
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    ana.says("work");
    ana.says("/stop");
    let gateway = Gateway::start(&home);
    telegram.wait_for_message(ana.chat(), is("Stopped. 1 reply cancelled."));
    let start = Instant::now();
    gateway.stop().ends_with(0);
    assert!(start.elapsed() < QUICK_STOP, "{:?}", start.elapsed());
}

#[test]
fn a_restart_is_the_same_process_and_happens_once() {
    let model = Model::playing([say("Hello.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let mut gateway = Gateway::start(&home);
    ana.says("/restart");
    let is_told = |message: &Message| message.text.starts_with("Restarting…");
    telegram.wait_for_message(ana.chat(), is_told);
    gateway.wait_for_log("stopped, nothing left to send");
    ana.says("hello");
    telegram.wait_for_message(ana.chat(), is("Hello."));
    assert!(gateway.is_running());
    let output = gateway.stop().ends_with(0);
    assert_eq!(output.stderr.matches("the gateway starts").count(), 2);
}

#[test]
fn a_restart_with_an_invalid_configuration_is_refused_and_the_bot_stays() {
    let model = Model::playing([say("Still here.")]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let mut gateway = Gateway::start(&home);
    gateway.wait_for_log("ready");
    home.write_config("{\"tools\": {\"exec\": {\"sandbox\": \"non\"}}}");
    ana.says("/restart");
    let is_refused = |message: &Message| {
        message.text.starts_with("Not restarting: ") && message.text.contains("tools.exec.sandbox")
    };
    telegram.wait_for_message(ana.chat(), is_refused);
    ana.says("hello");
    telegram.wait_for_message(ana.chat(), is("Still here."));
    assert!(gateway.is_running());
    let output = gateway.stop().ends_with(0);
    assert_eq!(output.stderr.matches("the gateway starts").count(), 1);
    assert!(
        !home.path().join("state/restart.json").exists(),
        "no one waits for it"
    );
}

#[test]
fn a_home_has_one_gateway() {
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let gateway = Gateway::start(&home);
    gateway.wait_for_log("ready");
    let second = Program::new(&home).arg("gateway").run().ends_with(1);
    second.complains_of(&[&format!("process {}", gateway.id())]);
    gateway.stop().ends_with(0);
}

/// Fills and empties a small disk at the test's word.
const FULL_DISK: &str = r#"
    exec 3<"$HOME/orders"
    mkdir "$HOME.small"
    mount -t tmpfs -o size=1m none "$HOME.small"
    cp "$HOME/config.json" "$HOME.small"
    mkdir "$HOME.small/workspace"
    export PEACRAB_HOME="$HOME.small"
    cd "$PEACRAB_HOME"
    "$P" gateway 3<&- &
    gateway=$!
    while read word <&3; do
        case $word in
        fill*) fill . ;;
        free*) free_again . ;;
        end) break ;;
        esac
        echo "done: $word" >&2
    done
    kill "$gateway"
    wait "$gateway"
"#;

/// Starts a gateway whose home is on a disk of its own, and the pipe for orders to the script.
pub(super) fn start_on_small_disk(home: &Home) -> (Gateway, File) {
    let path = home.path().join("orders");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // Open for both, it waits for nobody; dropped, it ends the script.
    let orders = File::options().read(true).write(true).open(path).unwrap();
    let unshare = Program::of("unshare", home).args(IN_OWN_MOUNTS);
    let script = unshare
        .args(["sh", "-eu", "-c", &format!("{FILL}{FULL_DISK}")])
        .env("P", PEACRAB);
    let gateway = Gateway::of(script);
    gateway.wait_for_log("ready");
    (gateway, orders)
}

/// Gives an order to the script, and waits until it is done.
pub(super) fn order(gateway: &Gateway, mut orders: &File, word: &str) {
    writeln!(orders, "{word}").unwrap();
    gateway.wait_for_log(&format!("done: {word}"));
}

fn says_it_cannot_go_on(message: &Message) -> bool {
    message.text.starts_with("I can't go on for now: ")
        && message.text.contains("no space left on device")
        && message.text.contains("/stop gives up")
}

#[test]
fn a_disk_that_is_full_for_a_while_loses_nothing_and_repeats_nothing() {
    if !has_mounts_of_its_own() {
        return;
    }
    let gate = Gate::default();
    // Longer than what is left of a file's last block.
    let (long, answer) = ("ä".repeat(4000), "ö".repeat(3900));
    let model = Model::playing([say("one"), say(&answer).after(&gate)]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    let (gateway, mut orders) = start_on_small_disk(&home);

    order(&gateway, &orders, "fill 1");
    ana.says(&long);
    gateway.wait_for_log("inbox.jsonl: no space left on device");
    assert!(model.requests().is_empty());
    order(&gateway, &orders, "free 1");
    telegram.wait_for_message(ana.chat(), is("one"));

    ana.says("two");
    model.wait_for_requests(2);
    order(&gateway, &orders, "fill 2");
    gate.open();
    gateway.wait_for_log("failed to store a step, trying again");
    telegram.wait_for_message(ana.chat(), says_it_cannot_go_on);
    order(&gateway, &orders, "free 2");
    telegram.wait_for_message(ana.chat(), |message| message.text.starts_with('ö'));
    writeln!(orders, "end").unwrap();
    gateway.finish().ends_with(0);
    let _ = fs::remove_dir(format!("{}.small", home.path().display()));
    // The trouble is told once, and the answer is there without the model being asked again.
    assert_eq!(telegram.messages(ana.chat()).len(), 3);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn tokens_are_counted_although_a_full_disk_keeps_the_answer_and_the_counts_from_being_written() {
    if !has_mounts_of_its_own() {
        return;
    }
    let gate = Gate::default();
    let model = Model::answering({
        let (gate, answer) = (gate.clone(), "ö".repeat(3900));
        move |_| say(&answer).after(&gate)
    });
    let telegram = Telegram::start();
    let mut home = Home::with_telegram(&model, &telegram);
    let turn = INPUT_TOKENS + OUTPUT_TOKENS;
    home.set("/limits/tokensPerDay", json!(turn));
    let ana = telegram.person(1001, "Ana", None);
    let (gateway, mut orders) = start_on_small_disk(&home);

    ana.says("one");
    model.wait_for_requests(1);
    order(&gateway, &orders, "fill 1");
    gate.open();
    telegram.wait_for_message(ana.chat(), says_it_cannot_go_on);
    // The end of the turn saves the counts.
    ana.says("/stop");
    telegram.wait_for_message(ana.chat(), is("/stop\nStopped. 1 reply cancelled."));
    gateway.wait_for_log("failed to save the token usage");
    order(&gateway, &orders, "free 1");
    ana.says("two");
    let refused = |message: &Message| {
        message.text.contains("tokensPerDay") && message.text.contains(&turn.to_string())
    };
    telegram.wait_for_message(ana.chat(), refused);
    assert_eq!(model.requests().len(), 1);
    writeln!(orders, "end").unwrap();
    gateway.finish().ends_with(0);
    let _ = fs::remove_dir(format!("{}.small", home.path().display()));
}
