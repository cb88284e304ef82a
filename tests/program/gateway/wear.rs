//! What the card has to bear: how often a turn is forced to it, and that nothing is written while
//! nothing happens. Both are seen from outside only, by strace.

use std::fs;

use serde_json::json;

use crate::disk::has_strace;
use crate::harness::gateway::Gateway;
use crate::harness::home::Home;
use crate::harness::model::{Model, Step, call, say};
use crate::harness::program::{PEACRAB, Program};
use crate::harness::telegram::{Fault, Telegram};
use crate::harness::wait_until;

/// Synced writes that a turn with a tool call may cost.
const SYNCS: usize = 8;
/// Polls that come to nothing.
const POLLS: usize = 3;
/// What a start writes by itself, in threads of their own: on a busy machine the bot polls before it is there.
const AT_START: [&str; 3] = ["clock.json", "starts.json", "watches.json"];

/// A gateway under strace, which is not its parent, so that signals reach it.
fn traced(home: &Home) -> Gateway {
    let calls =
        "trace=fsync,fdatasync,write,pwrite64,writev,ftruncate,rename,renameat,renameat2,unlink";
    let strace = Program::of("strace", home).args(["-D", "-f", "-y", "-e", calls, "-o"]);
    Gateway::of(
        strace
            .arg(home.path().join("trace"))
            .args([PEACRAB, "gateway"]),
    )
}

/// The calls so far that touch the home's files.
fn calls(home: &Home) -> Vec<String> {
    let trace = fs::read_to_string(home.path().join("trace")).unwrap();
    // strace writes a line in pieces: the last one is whole when it has its end.
    let (trace, _) = trace.rsplit_once('\n').unwrap_or_default();
    let home = home.path().to_str().unwrap();
    let lines = trace.lines().filter(|line| line.contains(home));
    lines.map(str::to_owned).collect()
}

/// The same without those that only force them to the card: the last ones of a start may come late.
fn changes(home: &Home) -> Vec<String> {
    let calls = calls(home).into_iter();
    calls.filter(|call| !is_sync(call)).collect()
}

fn is_sync(call: &str) -> bool {
    call.contains("fsync(") || call.contains("fdatasync(")
}

#[test]
fn a_turn_with_a_tool_call_is_forced_to_the_card_eight_times_at_most() {
    turn_costs(SYNCS, || call("list_dir", json!({"path": "."})));
}

/// The record of the command is on the card before the command runs.
#[test]
fn a_command_costs_one_more() {
    turn_costs(SYNCS + 1, || call("exec", json!({"command": "true"})));
}

/// Lets a turn make a call, and counts how often it is forced to the card.
fn turn_costs(most: usize, tool_call: impl Fn() -> Step) {
    if !has_strace() {
        return;
    }
    let script = || [tool_call(), say("Nothing here.")];
    let model = Model::playing(script().into_iter().chain(script()));
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    let ana = telegram.person(1001, "Ana", None);
    // The first turn makes the session.
    let gateway = Gateway::start(&home);
    ana.says("what is here?");
    telegram.wait_for_calls("sendMessage", 1);
    gateway.stop().ends_with(0);
    let gateway = traced(&home);
    ana.says("and now?");
    telegram.wait_for_calls("sendMessage", 2);
    gateway.stop().ends_with(0);
    let calls = calls(&home);
    let accepts = |call: &String| call.contains("inbox.jsonl>, \"{\\\"accepted");
    let last = calls.iter().rposition(accepts).unwrap();
    // What is kept at a stop, whatever happened before: the last known time, that it was in order, and the
    // samples of the last hour.
    let at_stop = ["clock.json", "starts.json", "history.bin", "/state>"];
    let is_of_turn = |call: &&String| !at_stop.iter().any(|name| call.contains(name));
    let syncs = calls[last..]
        .iter()
        .filter(|call| is_sync(call))
        .filter(is_of_turn);
    let syncs: Vec<&String> = syncs.collect();
    assert!(syncs.len() > 4, "it is not measured: {calls:#?}");
    assert!(syncs.len() <= most, "{syncs:#?}");
}

#[test]
fn an_idle_gateway_writes_nothing_however_often_it_polls() {
    if !has_strace() {
        return;
    }
    let model = Model::playing([]);
    let telegram = Telegram::start();
    let home = Home::with_telegram(&model, &telegram);
    telegram.fail_times("getUpdates", POLLS, Fault::ServerError);
    let gateway = traced(&home);
    telegram.wait_for_calls("getUpdates", 1);
    wait_until("what a start writes", || {
        let changes = changes(&home);
        AT_START.iter().all(|name| {
            let renamed = format!("\"{name}\"");
            changes.iter().any(|call| call.contains(&renamed))
        })
    });
    let before = changes(&home);
    telegram.wait_for_calls("getUpdates", POLLS + 1);
    telegram.wait_for_poll();
    assert_eq!(changes(&home), before);
    gateway.stop().ends_with(0);
}
