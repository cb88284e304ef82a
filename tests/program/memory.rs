//! What the agent remembers: told on one day, found on another, and never lost to an edit.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};

use crate::harness::home::Home;
use crate::harness::model::{Model, call, say};
use crate::harness::program::{Output, Program};
use crate::harness::terminal::{CTRL_D, RETURN, Terminal};

fn peacrab(home: &Home, arguments: &[&str]) -> Output {
    Program::new(home).args(arguments).run().ends_with(0)
}

#[test]
fn what_was_told_on_monday_is_found_in_another_conversation() {
    let model = Model::playing([
        say("Good to know."),
        call(
            "memory",
            json!({"action": "append", "text": "boiler: next service in 2027"}),
        ),
        say("Noted."),
        call(
            "memory",
            json!({"action": "search", "text": "boiler service"}),
        ),
        say("Huber did, and the next one is in 2027."),
    ]);
    let home = Home::with_model(&model);
    peacrab(
        &home,
        &["agent", "-m", "The boiler service was done by Huber."],
    );
    peacrab(&home, &["agent", "-m", "Remember when the next one is."]);
    peacrab(&home, &["agent", "-m", "Who did the boiler service?"]);
    let requests = model.requests();
    let found = requests[4].last_message();
    for part in [
        "person: The boiler service was done by Huber.",
        "next service in 2027",
        "memory/20",
    ] {
        assert!(found.contains(part), "{found}");
    }
    // The question itself is not an answer.
    assert!(!found.contains("Who did"), "{found}");

    let output = peacrab(&home, &["memory", "search", "huber", "--json"]);
    let hits: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(hits[0]["text"], "The boiler service was done by Huber.");
    assert_eq!(hits[0]["who"], "person");
    let none = peacrab(&home, &["memory", "search", "plumber"]);
    assert_eq!(none.stdout, "Nothing found. Try other or fewer words.\n");
}

#[test]
fn an_earlier_version_is_listed_brought_back_and_nothing_is_lost_by_it() {
    let home = Home::new();
    let empty = peacrab(&home, &["memory", "show"]);
    assert!(
        empty.stdout.starts_with("Nothing is remembered yet."),
        "{empty:?}"
    );
    let none = peacrab(&home, &["memory", "restore"]);
    assert_eq!(
        none.stdout,
        "There are no earlier versions of memory/MEMORY.md yet.\n"
    );

    fs::create_dir_all(home.workspace("memory/.versions")).unwrap();
    fs::write(home.workspace("memory/MEMORY.md"), "- tea\n- cake\n").unwrap();
    fs::write(
        home.workspace("memory/.versions/1.md"),
        "- tea\n- the boiler is from 2009\n",
    )
    .unwrap();
    let history = peacrab(&home, &["memory", "history"]);
    assert!(history.stdout.starts_with("   1  20"), "{history:?}");
    assert!(
        history.stdout.ends_with("      32 B  then +1 −1 lines\n"),
        "{history:?}"
    );
    let restored = peacrab(&home, &["memory", "restore"]);
    assert_eq!(
        restored.stdout,
        "memory/MEMORY.md is version 1 again (2 lines). To undo: peacrab memory restore 2\n"
    );
    let shown = peacrab(&home, &["memory", "show"]);
    assert_eq!(shown.stdout, "- tea\n- the boiler is from 2009\n");
    peacrab(&home, &["memory", "restore", "2"]);
    let shown = peacrab(&home, &["memory", "show"]);
    assert_eq!(shown.stdout, "- tea\n- cake\n");
    let missing = Program::new(&home)
        .args(["memory", "restore", "77"])
        .run()
        .ends_with(2);
    missing.complains_of(&["No version 77", "peacrab memory history"]);
}

/// Megabytes of the journals in the next story; 100 with the environment variable.
fn megabytes() -> usize {
    let given = std::env::var("SEARCH_MEGABYTES").ok();
    given.and_then(|given| given.parse().ok()).unwrap_or(16)
}

fn write_journals(home: &Home, megabytes: usize) {
    let folder = home.path().join("sessions");
    fs::create_dir_all(folder.join("archive")).unwrap();
    let names = ["cli_a.jsonl", "archive/cli_a-20260101T000000000.jsonl"];
    for (index, name) in names.into_iter().enumerate() {
        let file = fs::File::create(folder.join(name)).unwrap();
        let mut file = std::io::BufWriter::new(file);
        writeln!(file, r#"{{"_type":"metadata","key":"cli:a"}}"#).unwrap();
        let mut bytes = 0;
        let mut number = index;
        while bytes < megabytes * 500_000 {
            let words =
                format!("message {number} about the weather and the garden, with tea ").repeat(8);
            let role = ["user", "assistant"][number % 2];
            let time = "2026-05-01T10:00:00+00:00";
            let line = format!(r#"{{"role":"{role}","content":"{words}","timestamp":"{time}"}}"#);
            writeln!(file, "{line}").unwrap();
            bytes += line.len() + 1;
            number += 1;
        }
        let needle = format!("the greenhouse thermostat number {index}");
        let line = format!(r#"{{"role":"user","content":"{needle}"}}"#);
        writeln!(file, "{line}").unwrap();
    }
}

/// Searches with at most so many kilobytes of data (setrlimit(2), RLIMIT_DATA).
fn search_within(home: &Home, kilobytes: usize) -> Output {
    let script =
        format!("ulimit -d {kilobytes}; exec \"$PEACRAB\" memory search 'the weather thermostat'");
    Program::of("sh", home)
        .args(["-c", &script])
        .env("PEACRAB", crate::harness::program::PEACRAB)
        .run()
}

#[test]
fn long_journals_are_searched_in_constant_memory() {
    let (small, large) = (Home::new(), Home::new());
    write_journals(&small, 1);
    write_journals(&large, megabytes());
    let enough = |kilobytes: &usize| {
        search_within(&small, *kilobytes)
            .stdout
            .contains("thermostat")
    };
    let least = (512..64 * 1024).step_by(512).find(enough).unwrap();
    let output = search_within(&large, least + 2048);
    assert!(
        output.stdout.contains("greenhouse thermostat number 1"),
        "{least}: {output:?}"
    );
    eprintln!(
        "{} MB of journals within {} kB of data",
        megabytes(),
        least + 2048
    );
}

#[test]
fn at_the_terminal_a_memory_that_fails_is_not_tried_again_after_each_turn() {
    let model = Model::answering(|request| match request.is_consolidation() {
        true => say("Sure, I have saved it."),
        false => say("I see."),
    });
    let mut home = Home::with_model(&model);
    home.set("/agents/defaults/memoryWindow", json!(2));
    let mut terminal = Terminal::start(&home, &["agent"]);
    for turn in 1..=8 {
        terminal.wait_for("› ");
        terminal.type_text(&format!("Fact number {turn}."));
        terminal.type_text(RETURN);
        terminal.wait_for("I see.");
        if turn == 3 {
            // Its answer cannot be used, and it has heard so once.
            model.wait_for_requests(5);
        }
    }
    terminal.wait_for("› ");
    terminal.type_text(CTRL_D);
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.shown());
    let requests = model.requests();
    let asked = requests.iter().filter(|request| request.is_consolidation());
    assert_eq!(asked.count(), 2);
}
