//! Power cuts during a consolidation: the memory is whole, and has each conversation once.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::gateway::memory::{remember, said};
use crate::gateway::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, say};
use crate::harness::program::Program;
use crate::harness::wait_until;

/// How often the gateway is killed, over all threads.
const KILLS: usize = 100;
const THREADS: usize = 2;
/// The steps of applying a result, at which the program ends itself.
const STEPS: [&str; 4] = ["staged", "saved", "marked", "remembered"];
/// The span in which the power goes, as a part of the time that a consolidation was seen to take.
const SPAN_FACTOR: f64 = 1.3;
/// By how much that span changes after a kill that came too early, or late enough: the machine may have become slower.
const EARLY_FACTOR: f64 = 1.2;
/// See [`EARLY_FACTOR`].
const LATE_FACTOR: f64 = 0.9;

fn scene() -> Scene {
    Scene::answering(|request| match request.is_consolidation() {
        true => remember(request),
        false => say(&format!("Heard: {}", last_fact(request))),
    })
}

fn last_fact(request: &Request) -> String {
    let text = request.body["messages"].to_string();
    let start = text.rfind("fact ").unwrap_or_default();
    text[start..]
        .chars()
        .take_while(|char| *char != '.')
        .collect()
}

/// Ana tells a fact and ends the conversation.
fn tell(scene: &Scene, number: usize) {
    scene.ana.says(&format!("This is fact {number}."));
    scene.wait_for(&format!("Heard: fact {number}"));
    scene.ana.says("/new");
}

/// Lets everything that is left be remembered, and checks that nothing is lost or there twice.
fn check(scene: &Scene, facts: usize) {
    let gateway = scene.start();
    tell(scene, facts);
    let read = |name: &str| {
        fs::read_to_string(scene.home.workspace("memory").join(name)).unwrap_or_default()
    };
    let has_all = |text: &str| (0..=facts).all(|fact| text.contains(&format!("fact {fact}.")));
    // Each message is answered after what came before it.
    let mut asked = 0;
    let staged = scene.home.path().join("sessions/consolidations");
    let is_left = || {
        let mut files = fs::read_dir(&staged).unwrap();
        files.any(|file| {
            file.unwrap()
                .path()
                .extension()
                .is_some_and(|end| end == "json")
        })
    };
    while (!has_all(&read("HISTORY.md")) || is_left()) && asked < 100 {
        asked += 1;
        scene.ana.says(&format!("/foo{asked}"));
        scene.wait_for(&format!("/foo{asked}."));
    }
    gateway.stop().ends_with(0);
    let (history, memory) = (read("HISTORY.md"), read("MEMORY.md"));
    for fact in 0..=facts {
        let words = format!("fact {fact}.");
        assert_eq!(history.matches(&words).count(), 1, "{words}\n{history}");
        assert_eq!(memory.matches(&words).count(), 1, "{words}\n{memory}");
    }
    assert!(!is_left());
}

#[test]
fn a_consolidation_that_ends_at_any_step_goes_on_where_it_was() {
    for step in STEPS {
        let scene = scene();
        let program = Program::new(&scene.home).arg("gateway");
        let gateway = Gateway::of(program.env("PEACRAB_TEST_CONSOLIDATION_CUT", step));
        tell(&scene, 0);
        assert_eq!(gateway.finish().code, None, "{step}: it has ended itself");
        check(&scene, 1);
        // The part was not asked about again: its result was on the disk.
        let requests = scene
            .model
            .requests()
            .into_iter()
            .filter(Request::is_consolidation);
        let parts: Vec<_> = requests.map(|request| said(&request)).collect();
        assert_eq!(parts.len(), 2, "{step}: {parts:?}");
    }
}

#[test]
fn the_memory_survives_a_hundred_kills_of_a_consolidation() {
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| thread::spawn(move || kill_often(KILLS / THREADS, seed as u64)))
        .collect();
    let mut hits = BTreeSet::new();
    for thread in threads {
        hits.extend(thread.join().unwrap());
    }
    // The test is worth something only when kills hit the consolidation before and after its answer.
    assert!(hits.contains(&false) && hits.contains(&true), "{hits:?}");
}

/// Returns, for each kill, whether the paragraph was written by then.
fn kill_often(kills: usize, seed: u64) -> Vec<bool> {
    let scene = scene();
    let mut chance = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut hits = Vec::new();
    let mut span = time_of_one(&scene).mul_f64(SPAN_FACTOR);
    for number in 1..=kills {
        let gateway = scene.start();
        let asked = scene.model.requests().len();
        tell(&scene, number);
        scene.model.wait_for_requests(asked + 2);
        // xorshift: not a wait for something, but the instant at which the power goes.
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        thread::sleep(span.mul_f64((chance >> 11) as f64 / (1_u64 << 53) as f64));
        gateway.kill();
        let is_written = history(&scene).contains(&format!("fact {number}."));
        span = span.mul_f64(if is_written {
            LATE_FACTOR
        } else {
            EARLY_FACTOR
        });
        hits.push(is_written);
    }
    check(&scene, kills + 1);
    hits
}

/// How long a consolidation takes on this machine now, from the request to the paragraph.
fn time_of_one(scene: &Scene) -> Duration {
    let gateway = scene.start();
    tell(scene, 0);
    scene.model.wait_for_requests(2);
    let asked = Instant::now();
    wait_until("the paragraph", || history(scene).contains("fact 0."));
    let span = asked.elapsed();
    gateway.kill();
    span
}

fn history(scene: &Scene) -> String {
    let path = scene.home.workspace("memory/HISTORY.md");
    fs::read_to_string(path).unwrap_or_default()
}
