//! The board that the program runs on, as the model and people hear of it.

use std::fs;

use serde_json::{Value, json};

use crate::harness::home::Home;
use crate::harness::model::{Model, call, say};
use crate::harness::program::Program;

/// Minutes since this machine was started.
fn minutes_up() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap();
    let (seconds, _) = uptime.split_once('.').unwrap();
    seconds.parse::<u64>().unwrap() / 60
}

/// Minutes of a text such as `3 d 4 h`, which has its two largest units only.
fn minutes_of(span: &str) -> u64 {
    let words: Vec<&str> = span.split(' ').collect();
    let parts = words.chunks(2).map(|part| {
        let unit = match part[1] {
            "d" => 24 * 60,
            "h" => 60,
            _ => 1,
        };
        part[0].parse::<u64>().unwrap() * unit
    });
    parts.sum()
}

/// The size of this machine's memory as a person reads it.
fn memory_in_words() -> String {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find(|line| line.starts_with("MemTotal:"));
    let kilobytes: f64 = line
        .and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok())
        .unwrap();
    let bytes = kilobytes * 1024.0;
    let (size, unit) = match bytes {
        ..1e9 => (bytes / 1e6, "MB"),
        _ => (bytes / 1e9, "GB"),
    };
    format!(" free of {:.1} {unit} (", (size * 10.0).floor() / 10.0)
}

#[test]
fn the_model_asks_how_the_machine_is_and_is_told_real_figures() {
    let model = Model::playing([
        call("device", json!({"action": "status"}))
            .and_call("device", json!({"action": "history"})),
        say("All is well."),
    ]);
    let home = Home::with_model(&model);
    let before = minutes_up();
    Program::new(&home)
        .args(["agent", "-m", "how are you?"])
        .run()
        .ends_with(0);
    let requests = model.requests();
    let told: Vec<&str> = requests[1]
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str())
        .collect();
    let [status, history] = told[..] else {
        panic!("two results, not {told:?}");
    };
    let up = status
        .lines()
        .next()
        .and_then(|line| line.split("**, up ").nth(1));
    let up = minutes_of(up.unwrap());
    // After a day the minutes are not shown.
    assert!(up + 60 > before && up <= minutes_up(), "{up} in {status}");
    let memory = status.lines().find(|line| line.starts_with("- Memory: "));
    assert!(memory.unwrap().contains(&memory_in_words()), "{status}");
    assert!(
        history.contains("begins when the gateway runs"),
        "{history}"
    );
}

#[test]
fn the_offline_helper_tells_how_the_machine_is() {
    let home = Home::new();
    let output = Program::new(&home)
        .args(["agent", "-m", "device status"])
        .run()
        .ends_with(0);
    assert!(output.stdout.contains(&memory_in_words()), "{output:?}");
}

#[test]
fn the_tool_is_listed() {
    let output = Program::new(&Home::new())
        .args(["tools", "list", "--json"])
        .run()
        .ends_with(0);
    let mut tools = output
        .stdout
        .lines()
        .map(|line| -> Value { serde_json::from_str(line).unwrap() });
    assert!(tools.any(|tool| tool["name"] == "device"), "{output:?}");
}
