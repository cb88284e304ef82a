//! What others wrote reaches no terminal and no log with a character that is obeyed or not seen.

use serde_json::{Value, json};

use crate::harness::home::Home;
use crate::harness::model::{Model, call, error, say};
use crate::harness::program::{Output, Program};

/// A title, a cleared screen, an 8-bit sequence, an override, a zero-width space, a tag.
const EVIL: &str = "x\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}y\u{200b}\u{e0041}\u{0}z";

fn is_clean(output: &Output) {
    for text in [&output.stdout, &output.stderr] {
        let found = text.chars().find(|char| peacrab::text::is_invisible(*char));
        assert_eq!(found, None, "{text:?}");
    }
}

#[test]
fn what_the_model_a_server_or_a_person_wrote_is_shown_without_codes() {
    let model = Model::playing([
        call("read_file", json!({"path": EVIL})),
        say(EVIL),
        error(400, EVIL),
        error(400, EVIL),
    ]);
    let home = Home::with_model(&model);
    let run = |arguments: &[&str]| {
        let output = Program::new(&home).args(arguments).run();
        is_clean(&output);
        output
    };
    let answer = run(&["agent", "-s", "default", "-m", "hello \u{202e}\u{9b}"]);
    assert!(
        answer.stdout.contains("title") && answer.stdout.contains('z'),
        "{answer:?}"
    );
    run(&["agent", "-s", "default", "-m", "again"]);
    let shown = run(&["sessions", "show", "default", "--full"]);
    assert!(shown.stdout.contains("title"), "{shown:?}");
    run(&["sessions"]);
    let listed = run(&["sessions", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert!(listed["last"].is_string());
    for arguments in [
        &["config", "get", "\u{1b}[2Ja.\u{202e}b"][..],
        &["sessions", "show", "\u{1b}[2J\u{202e}b"],
        &[
            "agent",
            "-s",
            "default",
            "-m",
            "x",
            "--model",
            "\u{1b}[2J\u{202e}b",
        ],
        &["\u{1b}[2J\u{202e}b"],
    ] {
        run(arguments);
    }
}
