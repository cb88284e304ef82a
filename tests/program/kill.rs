//! Power cuts: the program is killed at any instant, and the turn goes on afterwards.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

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

/// What became of the killed turns.
#[derive(Default)]
struct Tally {
    before_the_message: usize,
    in_the_turn: usize,
    after_the_answer: usize,
}

#[test]
fn a_turn_that_was_killed_goes_on_and_writes_nothing_twice() {
    let threads: Vec<_> = (0..THREADS)
        .map(|number| thread::spawn(move || kill_often(KILLS / THREADS, number as u64)))
        .collect();
    let mut all = Tally::default();
    for thread in threads {
        let tally = thread.join().unwrap();
        all.before_the_message += tally.before_the_message;
        all.in_the_turn += tally.in_the_turn;
        all.after_the_answer += tally.after_the_answer;
    }
    let Tally {
        before_the_message,
        in_the_turn,
        after_the_answer,
    } = all;
    assert_eq!(before_the_message + in_the_turn + after_the_answer, KILLS);
// The test is worth something only when most kills hit the turn itself.
    assert!(
        in_the_turn > KILLS / 4,
        "{before_the_message} / {in_the_turn} / {after_the_answer}"
    );
}

fn kill_often(kills: usize, seed: u64) -> Tally {
    let model = Model::answering(next_step);
    let mut chance = Chance(seed);
    let mut tally = Tally::default();
    let pace = Pace::of(&model);
    for _ in 0..kills {
        let home = Home::with_model(&model);
        let asked = model.requests().len();
        let mut running = write_the_lines(&home).start();
        // Most kills are to hit the turn, not the program's start: after a random request.
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
        drop(running.finish());

        let journal = home.journal("default");
        if !journal.contains("write the lines") {
            tally.before_the_message += 1;
            continue;
        }
        assert!(
            Program::new(&home)
                .args(["sessions", "show", "default"])
                .run()
                .code
                == Some(0),
            "{journal}"
        );
        let was_answered = journal.contains(ANSWER);
        resume(&home, was_answered);
        if was_answered {
            tally.after_the_answer += 1;
        } else {
            tally.in_the_turn += 1;
        }
    }
    tally
}

/// Goes on with the turn, and checks that each line was written once at most.
fn resume(home: &Home, was_answered: bool) {
    let output = Program::new(home)
        .args(["agent", "--resume"])
        .run()
        .ends_with(0);
    if !was_answered {
        assert!(
            output.stdout.contains(ANSWER),
            "{output:#?}\n{}",
            home.journal("default")
        );
    }
    let written = std::fs::read_to_string(home.workspace("log.txt")).unwrap_or_default();
    for line in LINES {
        let times = written.lines().filter(|written| *written == line).count();
        assert!(
            times <= 1,
            "{line} was written {times} times\n{}",
            home.journal("default")
        );
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
        write_the_lines(&Home::with_model(model)).run().ends_with(0);
        let home = Home::with_model(model);
        let asked = model.requests().len();
        let start = Instant::now();
        let running = write_the_lines(&home).start();
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

fn write_the_lines(home: &Home) -> Program {
    Program::new(home).args(["agent", "-m", "write the lines"])
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
