//! Scheduled jobs on a running gateway, with a clock that the stories turn.

mod chats;
mod deliver;
mod kills;
mod kinds;
mod limits;
mod many;
mod repeats;
mod times;
mod week;

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::gateway::scene::Scene;
use crate::harness::clock::Turned;
use crate::harness::home::Home;
use crate::harness::model::{Request, Step};
use crate::harness::program::Program;
use crate::harness::wait_until;

pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3600);
pub const DAY: Duration = Duration::from_secs(86_400);
/// A Monday.
pub const START: &str = "2027-03-01T07:00:00Z";

/// A scene whose clock is turned, and in which Ana has written before, so that there is a chat.
pub fn scene(clock: &Turned, answer: impl Fn(&Request) -> Step + Send + Sync + 'static) -> Scene {
    let mut scene = Scene::answering(answer);
    scene.home.turn(clock);
    let state = scene.home.path().join("state");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("owner.json"), r#""telegram:1001""#).unwrap();
    scene
}

/// A job of the file. `more` replaces members; those of `payload` are merged.
pub fn job(clock: &Turned, id: &str, schedule: Value, payload: Value) -> Value {
    let now = clock.now_ms();
    json!({
        "id": id, "name": id, "enabled": true, "schedule": schedule, "payload": payload,
        "state": {}, "createdAtMs": now, "updatedAtMs": now,
    })
}

pub fn at(clock: &Turned, after: Duration) -> Value {
    json!({"kind": "at", "atMs": clock.now_ms() + after.as_millis() as i64})
}

pub fn every(time: Duration) -> Value {
    json!({"kind": "every", "everyMs": time.as_millis() as i64})
}

pub fn cron(line: &str) -> Value {
    json!({"kind": "cron", "expr": line, "tz": "UTC"})
}

pub fn reminder(text: &str) -> Value {
    json!({"kind": "reminder", "message": text})
}

pub fn command(line: &str) -> Value {
    json!({"kind": "command", "message": line})
}

pub fn turn(text: &str) -> Value {
    json!({"kind": "agent_turn", "message": text})
}

/// Writes the file of jobs as an editor does: a new file takes its place.
pub fn write(home: &Home, jobs: &[Value]) {
    let folder = home.path().join("cron");
    fs::create_dir_all(&folder).unwrap();
    let text = json!({"version": 1, "jobs": jobs}).to_string();
    fs::write(folder.join("new"), text).unwrap();
    fs::rename(folder.join("new"), folder.join("jobs.json")).unwrap();
}

/// The runs of a job in the order in which they began, by their planned times, and how each ended.
pub fn runs(home: &Home, id: &str) -> Vec<(i64, String)> {
    let folder = home.path().join("cron");
    let mut found: BTreeMap<i64, (usize, String)> = BTreeMap::new();
    let mut note = |planned: &Value, status: &Value| {
        let next = found.len();
        let (planned, status) = (planned.as_i64().unwrap(), status.as_str().unwrap());
        let run = found.entry(planned).or_insert((next, String::new()));
        run.1 = status.to_owned();
    };
    let file = fs::read(folder.join("jobs.json")).unwrap_or_default();
    let file: Value = serde_json::from_slice(&file).unwrap_or_default();
    let jobs = file["jobs"].as_array().cloned().unwrap_or_default();
    for job in jobs.iter().filter(|job| job["id"] == id) {
        for run in job["state"]["runHistory"].as_array().into_iter().flatten() {
            note(&run["plannedAtMs"], &run["status"]);
        }
    }
    let log = fs::read_to_string(folder.join("runs.jsonl")).unwrap_or_default();
    let events = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    // Lines that went into the file stay in the log, for older copies of the file.
    let folded = file["runsFoldedTo"].as_u64().unwrap_or_default();
    let is_news = |event: &Value| event["n"].as_u64().unwrap_or_default() > folded;
    for event in events.filter(|event| event["id"] == id && is_news(event)) {
        note(&event["planned"], &event["status"]);
    }
    let mut runs: Vec<_> = found
        .into_iter()
        .map(|(planned, run)| (run.0, planned, run.1))
        .collect();
    runs.sort();
    runs.into_iter()
        .map(|(_, planned, status)| (planned, status))
        .collect()
}

/// How the runs of a job ended.
pub fn statuses(home: &Home, id: &str) -> Vec<String> {
    runs(home, id)
        .into_iter()
        .map(|(_, status)| status)
        .collect()
}

/// What `peacrab cron history` says of a job.
pub fn history(home: &Home, id: &str) -> String {
    let command = Program::new(home).args(["cron", "history", id]);
    command.run().ends_with(0).stdout
}

/// Waits until the chat has so many messages that contain these words. A channel takes about one a second.
pub fn wait_for_count(scene: &Scene, words: &str, count: usize) {
    wait_until(&format!("{count} messages with {words:?}"), || {
        scene
            .texts()
            .iter()
            .filter(|text| text.contains(words))
            .count()
            >= count
    });
}

/// Waits until the last run of a job has this status.
pub fn wait_for_run(home: &Home, id: &str, count: usize, status: &str) {
    wait_until(
        &format!("{count} runs of {id}, the last one {status}"),
        || {
            let statuses = statuses(home, id);
            statuses.len() == count && statuses.last().is_some_and(|last| last == status)
        },
    );
}
