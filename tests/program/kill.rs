//! Power cuts: the program is killed at any instant, and the turn goes on afterwards.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::home::Home;
use crate::harness::model::{Model, Request, Step, call, say};
use crate::harness::program::Program;

/// How often the program is killed, over all threads.
const KILLS: usize = 200;
const THREADS: usize = 2;
/// The lines that the model wants appended to a file, one a call.
const LINES: [&str; 3] = ["one", "two", "three"];
/// How often the model is asked in a turn: for each line, and for the answer.
const REQUESTS: usize = LINES.len() + 1;
const QUESTION: &str = "write the lines";
const ANSWER: &str = "All three lines are written.";

/// The model: one line after the other, then the answer.
fn next_step(request: &Request) -> Step {
    let results = request
        .messages()
        .iter()
        .filter(|message| message["role"] == "tool")
        .count();
    match LINES.get(results) {
        Some(line) => call(
            "append_file",
            json!({"path": "log.txt", "content": format!("{line}\n")}),
        ),
        None => say(ANSWER),
    }
}

/// Where in the turn a kill hit, by what the journal holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hit {
    BeforeTheMessage,
    /// While the model was asked.
    Asking,
    /// While a call was running: its outcome is unknown.
    Calling,
    AfterTheAnswer,
}

impl Hit {
    fn of(journal: &str) -> Self {
        let mut lines = journal
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        match lines.rfind(|line| line["role"].is_string()) {
            None => Self::BeforeTheMessage,
            Some(last) if last["content"] == ANSWER => Self::AfterTheAnswer,
            Some(last) if last["tool_calls"].is_array() => Self::Calling,
            Some(_) => Self::Asking,
        }
    }
}

#[test]
fn a_turn_that_was_killed_goes_on_and_writes_nothing_twice() {
    let threads: Vec<_> = (0..THREADS)
        .map(|number| thread::spawn(move || kill_often(KILLS / THREADS, number as u64)))
        .collect();
    let hits: Vec<Hit> = threads
        .into_iter()
        .flat_map(|thread| thread.join().unwrap())
        .collect();
    let count = |wanted| hits.iter().filter(|hit| **hit == wanted).count();
    let (asking, calling) = (count(Hit::Asking), count(Hit::Calling));
    // The test is worth something only when the kills hit the turn itself.
    assert_eq!(hits.len(), KILLS);
    assert!(
        asking > 10 && calling > 10,
        "{asking} while asking, {calling} while calling"
    );
}

fn kill_often(kills: usize, seed: u64) -> Vec<Hit> {
    let model = Model::answering(next_step);
    let mut chance = Chance(seed);
    let pace = Pace::of(&model);
    let mut hits = Vec::new();
    for _ in 0..kills {
        let home = Home::with_model(&model);
        kill_once(&home, &model, &pace, &mut chance);
        let journal = home.journal("default");
        let hit = Hit::of(&journal);
        if hit != Hit::BeforeTheMessage {
            let show = ["sessions", "show", "default"];
            let shown = Program::new(&home).args(show).run().ends_with(0).stdout;
            assert!(shown.contains(QUESTION), "{shown}\n{journal}");
            resume(&home, hit);
        }
        hits.push(hit);
    }
    hits
}

/// Starts a turn, and ends it at a random instant.
fn kill_once(home: &Home, model: &Model, pace: &Pace, chance: &mut Chance) {
    let asked = model.requests().len();
    let mut running = ask(home).start();
    // Most kills are to hit the turn, not the program's start: they come after a random request.
    let request = (chance.next() * (REQUESTS + 1) as f64) as usize;
    let span = if request == 0 {
        pace.until_asked
    } else {
        model.wait_for_requests(asked + request);
        pace.between_requests
    };
    // Not a wait for something, but the instant at which the power goes.
    thread::sleep(span.mul_f64(chance.next()));
    running.kill();
    running.finish();
}

/// Goes on with the turn, and checks that each line was written once at most.
fn resume(home: &Home, hit: Hit) {
    let output = Program::new(home)
        .args(["agent", "--resume"])
        .run()
        .ends_with(0);
    let journal = home.journal("default");
    if hit != Hit::AfterTheAnswer {
        assert!(output.stdout.contains(ANSWER), "{output:#?}\n{journal}");
    }
    let written = std::fs::read_to_string(home.workspace("log.txt")).unwrap_or_default();
    for line in LINES {
        let times = written.lines().filter(|written| *written == line).count();
        assert!(times <= 1, "{line} was written {times} times\n{journal}");
    }
}

/// How long an undisturbed turn takes.
struct Pace {
    until_asked: Duration,
    between_requests: Duration,
}

impl Pace {
    fn of(model: &Model) -> Self {
        // The first run only warms up.
        ask(&Home::with_model(model)).run().ends_with(0);
        let home = Home::with_model(model);
        let asked = model.requests().len();
        let start = Instant::now();
        let running = ask(&home).start();
        model.wait_for_requests(asked + 1);
        let until_asked = start.elapsed();
        running.finish().ends_with(0);
        let between_requests = (start.elapsed() - until_asked) / REQUESTS as u32;
        Self {
            until_asked,
            between_requests,
        }
    }
}

fn ask(home: &Home) -> Program {
    Program::new(home).args(["agent", "-s", "default", "-m", QUESTION])
}

/// Random instants that are the same in each run of the test (splitmix64).
struct Chance(u64);

impl Chance {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64
    }
}
