//! Scheduled jobs, from the files in which these programs keep them.

use serde_json::{Map, Value, json};

use super::formats::read_json;
use super::report::{Mark, Report};
use super::source::{Program, Source};
use super::texts;
use crate::base::clock::Clock;
use crate::base::error::Result;
use crate::base::json::check_depth;
use crate::base::limits::schedule::JOBS_MAX;
use crate::config::Home;
use crate::config::channels;
use crate::schedule::job::{Job, PayloadKind};
use crate::schedule::times::Schedule;
use crate::schedule::{Store, read_foreign};

/// Bytes of a list of jobs.
const JOBS_BYTES: usize = 4 * 1024 * 1024;
/// Levels of a list of jobs.
const LEVELS: usize = 32;
/// Bytes of the recipient of a job, which is a chat.
const PLACE_BYTES: usize = 200;
/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60_000;

/// Takes the jobs.
pub fn take(source: &Source, home: &Home, write: bool, report: &mut Report) -> Result<()> {
    let place = "cron/jobs.json";
    let of_workspace = source.workspace.as_ref();
    let read = [of_workspace, Some(&source.home)].into_iter().flatten();
    let text = read
        .map(|folder| folder.read_text(place, JOBS_BYTES))
        .find(|text| !matches!(text, Ok(None)));
    let Some(text) = text else { return Ok(()) };
    report.part(texts::JOBS);
    let text = match text {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => {
            report.add(Mark::Left, place, &error.to_string());
            return Ok(());
        }
    };
    let text = match source.program {
        Program::OpenClaw | Program::Hermes => convert(source.program, &text),
        _ => Some(text),
    };
    let text = text.filter(|text| check_depth(text.as_bytes(), LEVELS).is_ok());
    let jobs = match text.map(|text| read_foreign(text.as_bytes())) {
        Some(Ok(jobs)) => jobs,
        Some(Err(why)) => {
            report.add(Mark::Left, place, &why);
            return Ok(());
        }
        None => {
            report.add(Mark::Left, place, texts::UNREADABLE);
            return Ok(());
        }
    };
    for fault in &jobs.faults {
        report.add(Mark::Left, &fault.to_string(), "");
    }
    let (store, now) = (
        Store::open(home.path()),
        Clock::System.now().timestamp_millis(),
    );
    let there = store.read()?;
    let mut new = Vec::new();
    for mut job in jobs.jobs {
        let title = format!("{} ({})", job.title(), job.id);
        if there.find(&job.id).is_some() {
            report.add(Mark::Kept, &title, "");
            continue;
        }
        if let Err(why) = fit(&mut job, now) {
            report.add(Mark::Left, &title, why);
            continue;
        }
        if there.jobs.len() + new.len() >= JOBS_MAX {
            report.add(Mark::Left, &title, texts::TOO_MANY_JOBS);
            continue;
        }
        match job.payload.kind {
            PayloadKind::Command => {
                job.enabled = false;
                report.add(Mark::Changed, &title, &texts::disabled(&job.id));
            }
            _ => report.add(Mark::Taken, &title, ""),
        }
        new.push(job);
    }
    if write && !new.is_empty() {
        store.change(|jobs| {
            jobs.extend(new);
            Ok(())
        })?;
    }
    Ok(())
}

/// Makes a job one of ours: what it missed is not made up for.
fn fit(job: &mut Job, now: i64) -> std::result::Result<(), &'static str> {
    if let Schedule::At { at_ms } = job.schedule
        && at_ms <= now
    {
        return Err(texts::PAST);
    }
    if let Some(channel) = &job.payload.channel
        && !channels::NAMES.contains(&channel.as_str())
    {
        return Err(texts::NO_CHANNEL);
    }
    if let Some(to) = job.payload.to.take() {
        if to.len() > PLACE_BYTES || to.chars().any(char::is_control) {
            return Err(texts::NO_PLACE);
        }
        job.payload.to = Some(to.replace(":topic:", ":"));
    }
    job.state.note_planned(now);
    job.created_at_ms = job.created_at_ms.min(now);
    Ok(())
}

/// A list of jobs of OpenClaw or Hermes in the shape of nanobot's.
fn convert(program: Program, text: &str) -> Option<String> {
    let list = read_json(text)?;
    let jobs = list.get("jobs").unwrap_or(&list).as_array()?;
    let jobs = jobs.iter().take(2 * JOBS_MAX).filter_map(Value::as_object);
    let jobs: Vec<Value> = jobs
        .map(|job| match program {
            Program::Hermes => of_hermes(job),
            _ => of_openclaw(job),
        })
        .collect();
    Some(json!({"version": 1, "jobs": jobs}).to_string())
}

fn of_openclaw(job: &Map<String, Value>) -> Value {
    let get = |name: &str| job.get(name).cloned().unwrap_or_default();
    let (payload, mut schedule, delivery) = (get("payload"), get("schedule"), get("delivery"));
    if let (Value::Null, Some(time)) = (&schedule["atMs"], schedule["at"].as_str()) {
        schedule["atMs"] = milliseconds(time);
    }
    let is_event = payload["kind"] == "systemEvent";
    let message = if is_event {
        &payload["text"]
    } else {
        &payload["message"]
    };
    let kind = if payload["kind"] == "command" {
        "command"
    } else {
        "agent_turn"
    };
    let is_silent = delivery["mode"] == "none" || payload["deliver"] == false;
    let first = |name: &str| match &delivery[name] {
        Value::Null => payload[name].clone(),
        value => value.clone(),
    };
    json!({
        "id": get("id"), "name": get("name"), "enabled": get("enabled") != false,
        "schedule": schedule,
        "payload": {
            "kind": kind, "message": message, "deliver": !is_silent,
            "channel": Some(first("channel")).filter(|it| *it != "last"), "to": first("to"),
        },
        "createdAtMs": get("createdAtMs").as_i64().unwrap_or_default(),
        "deleteAfterRun": get("deleteAfterRun") == true,
    })
}

fn of_hermes(job: &Map<String, Value>) -> Value {
    let get = |name: &str| job.get(name).cloned().unwrap_or_default();
    let schedule = get("schedule");
    let schedule = match schedule["kind"].as_str() {
        Some("once") => {
            json!({"kind": "at", "atMs": milliseconds(schedule["run_at"].as_str().unwrap_or_default())})
        }
        Some("interval") => {
            let minutes = schedule["minutes"].as_i64().unwrap_or_default();
            json!({"kind": "every", "everyMs": minutes.saturating_mul(MINUTE_MS)})
        }
        _ => json!({"kind": "cron", "expr": schedule["expr"]}),
    };
    let (deliver, origin) = (get("deliver"), get("origin"));
    let named = deliver.as_str().and_then(|to| to.split_once(':'));
    let (channel, to) = match named {
        Some((channel, to)) => (channel.into(), to.into()),
        None if deliver == "origin" => (origin["platform"].clone(), origin["chat_id"].clone()),
        None => (Value::Null, Value::Null),
    };
    // A script is a program of that home.
    let message = match get("script").is_null() {
        true => get("prompt"),
        false => "".into(),
    };
    json!({
        "id": get("id"), "name": get("name"), "enabled": get("enabled") != false,
        "schedule": schedule,
        "payload": {"message": message, "deliver": deliver != "local", "channel": channel, "to": to},
    })
}

fn milliseconds(time: &str) -> Value {
    let time = chrono::DateTime::parse_from_rfc3339(time);
    time.map_or(Value::Null, |time| time.timestamp_millis().into())
}
