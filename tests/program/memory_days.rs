//! Two months: what was told on the first day is found on the last one, after many consolidations.

use std::fs::{self, File};
use std::io::Write;

use serde_json::{Value, json};

use crate::gateway::memory::{material, said};
use crate::gateway::scene::Scene;
use crate::harness::gateway::Gateway;
use crate::harness::model::{Request, Step, call, say};
use crate::harness::program::Program;

/// Facts that are told on each day.
const FACTS_PER_DAY: usize = 8;
/// Lines of MEMORY.md that the model keeps, the newest: older facts are in HISTORY.md only.
const FACTS_KEPT: usize = 60;
/// Of all questions, the part that has to be answered by the first results.
const RECALL_MIN: f64 = 0.95;
/// Results that count.
const RESULTS: usize = 5;

/// Of these the names of people and animals are made: each is new, as most names are that one hears.
const SYLLABLES: [&str; 8] = ["ba", "ne", "ki", "lo", "ru", "ta", "vi", "so"];
/// Facts that are told of each name.
const FACTS_PER_NAME: usize = 2;
const TRAITS: [&str; 8] = [
    "serial number",
    "favourite colour",
    "door code",
    "birthday",
    "insurance",
    "supplier",
    "repair date",
    "network name",
];

/// A fact that nothing else in the scenario says.
struct Fact {
    day: usize,
    name: String,
    quality: &'static str,
    value: String,
}

impl Fact {
    /// The fact of this number; each has another combination of words.
    fn new(number: usize) -> Self {
        let whose = number / FACTS_PER_NAME;
        let syllable = |place: u32| SYLLABLES[whose * 5 / 8_usize.pow(place) % 8];
        Self {
            day: number / FACTS_PER_DAY,
            name: format!("{}{}{}ra", syllable(2), syllable(1), syllable(0)),
            quality: TRAITS[number * 3 % TRAITS.len()],
            value: format!(
                "{}-{}",
                ["kestrel", "amber", "velvet", "onyx"][number % 4],
                1000 + number * 37
            ),
        }
    }

    /// What the person says.
    fn told(&self) -> String {
        let Self {
            name,
            quality,
            value,
            ..
        } = self;
        format!("By the way, the {quality} of {name} is {value}.")
    }

    /// What the person asks two months later, in other words.
    fn asked(&self) -> String {
        format!("what was {}'s {}", self.name, self.quality)
    }
}

/// The model: a paragraph with every fact, and a MEMORY.md with the newest ones.
fn consolidate(request: &Request) -> Step {
    let text = material(request);
    let known = text
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("  "));
    let known = known.map(str::trim).filter(|line| *line != "(empty)");
    let mut facts: Vec<String> = known.map(str::to_owned).collect();
    let told: Vec<String> = said(request)
        .iter()
        .filter_map(|said| said.strip_prefix("By the way, ").map(str::to_owned))
        .collect();
    facts.extend(told.iter().map(|fact| format!("- {fact}")));
    let over = facts.len().saturating_sub(FACTS_KEPT);
    facts.drain(..over);
    let paragraph = format!("They talked about the house. Told: {}", told.join(" "));
    call(
        "save_memory",
        json!({"history_entry": paragraph, "memory_update": facts.join("\n")}),
    )
}

/// The day's turns, as they are in the journal after that day.
fn journal_of(day: usize, facts: &[Fact]) -> String {
    let date = format!("2027-{:02}-{:02}", 1 + day / 28, 1 + day % 28);
    let mut lines = String::new();
    let mut add = |value: Value| lines.push_str(&format!("{value}\n"));
    for (minute, fact) in facts.iter().filter(|fact| fact.day == day).enumerate() {
        let timestamp = format!("{date}T09:{minute:02}:00+00:00");
        add(json!({"role": "user", "content": fact.told(), "timestamp": timestamp}));
        let small_talk =
            format!("Good to know. It is day {day} of our talks, and the weather is fine.");
        add(json!({"role": "assistant", "content": small_talk, "timestamp": timestamp}));
        add(json!({"_type": "metadata", "turn": "answered", "timestamp": timestamp}));
    }
    lines
}

/// Lives through the days: each is written into the journal and ended with `/new`.
fn live(scene: &Scene, gateway: &Gateway, days: usize, facts: &[Fact]) {
    let journal = scene.home.path().join("sessions/telegram_1001.jsonl");
    for day in 0..days {
        scene.ana.says(&format!("Good morning, day {day}."));
        scene.wait_for(&format!("Hello, day {day}."));
        // The next message is taken only when the turn has closed the journal.
        scene.ana.says(&format!("/model default{day}"));
        scene.wait_for(&format!("default{day}"));
        let mut file = File::options().append(true).open(&journal).unwrap();
        file.write_all(journal_of(day, facts).as_bytes()).unwrap();
        scene.ana.says("/new");
        let mut asked = 0;
        while gateway.log().matches("memory: noted").count() <= day {
            asked += 1;
            assert!(asked < 200, "day {day} is not remembered");
            scene.ana.says(&format!("/foo{day}x{asked}"));
            scene.wait_for(&format!("/foo{day}x{asked}."));
        }
    }
}

/// The part of the facts that are found: one of the first results of the search is from the paragraph that
/// has the fact, or MEMORY.md has it. And the part of them whose value a result shows.
fn recall(scene: &Scene, facts: &[&Fact]) -> (f64, f64) {
    let read = |name| fs::read_to_string(scene.home.workspace(name)).unwrap();
    let (memory, history) = (read("memory/MEMORY.md"), read("memory/HISTORY.md"));
    let (mut found, mut shown) = (0, 0);
    for fact in facts {
        let arguments = ["memory", "search", "--json", &fact.asked()];
        let output = Program::new(&scene.home).args(arguments).run().ends_with(0);
        let hits = output.stdout.lines().take(RESULTS);
        let hits = hits.map(|line| serde_json::from_str::<Value>(line).unwrap());
        let texts: Vec<String> = hits
            .map(|hit| hit["text"].as_str().unwrap().into())
            .collect();
        let has_it = |text: &str| text.contains(&fact.value);
        let is_from_it = |text: &String| {
            let part = text.trim_matches('…');
            let mut paragraphs = history.split("\n\n");
            paragraphs.any(|paragraph| has_it(paragraph) && paragraph.contains(part))
        };
        let is_shown = has_it(&memory) || texts.iter().any(|text| has_it(text));
        shown += usize::from(is_shown);
        found += usize::from(is_shown || texts.iter().any(is_from_it));
    }
    let part = |count: usize| count as f64 / facts.len() as f64;
    (part(found), part(shown))
}

fn run(consolidations: usize, questions: usize) {
    let facts: Vec<Fact> = (0..consolidations * FACTS_PER_DAY).map(Fact::new).collect();
    let mut scene = Scene::answering(|request| match request.is_consolidation() {
        true => consolidate(request),
        false => {
            let text = request.body["messages"].to_string();
            let day = text.rfind("Good morning, ").unwrap_or_default();
            let day = text[day..].trim_start_matches("Good morning, ");
            let day: String = day.chars().take_while(|char| *char != '.').collect();
            say(&format!("Hello, {day}."))
        }
    });
    scene.home.set("/log/level", json!("debug"));
    let gateway = scene.start();
    live(&scene, &gateway, consolidations, &facts);
    gateway.stop().ends_with(0);
    let requests = scene.model.requests();
    let asked = requests
        .iter()
        .filter(|request| request.is_consolidation())
        .count();
    assert_eq!(asked, consolidations, "one request for each conversation");
    let first_day: Vec<&Fact> = facts.iter().filter(|fact| fact.day == 0).collect();
    let step = facts.len().div_ceil(questions).max(1);
    let sample: Vec<&Fact> = facts.iter().step_by(step).collect();
    // Without the journals: what the memory itself has kept.
    fs::remove_dir_all(scene.home.path().join("sessions")).unwrap();
    let memory = fs::read_to_string(scene.home.workspace("memory/MEMORY.md")).unwrap();
    assert!(
        consolidations * FACTS_PER_DAY <= FACTS_KEPT || !memory.contains(&facts[0].value),
        "the first day's facts are in HISTORY.md only"
    );
    let (first, first_shown) = recall(&scene, &first_day);
    let (all, all_shown) = recall(&scene, &sample);
    eprintln!(
        "long memory: {consolidations} consolidations, {} facts; recall of the first day {first:.2} \
         (shown at once {first_shown:.2}), of all {all:.2} (shown at once {all_shown:.2})",
        facts.len()
    );
    assert!(first >= RECALL_MIN, "recall of the first day: {first:.2}");
    assert!(all >= RECALL_MIN, "recall: {all:.2}");
}

#[test]
fn what_was_told_on_the_first_day_is_found_after_ten_conversations() {
    run(10, 20);
}

#[test]
#[ignore = "two months: make day"]
fn what_was_told_on_the_first_day_is_found_after_two_months() {
    run(30, 240);
}
