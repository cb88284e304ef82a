//! The text of `jobs.json`, read and written. Pure.
//!
//! A job that cannot be read does not spoil the others, and stays in the file. So does what other programs
//! have written beside our members.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::json;
use crate::base::limits::schedule::{ERROR_CHARS_MAX, JOBS_MAX, MESSAGE_BYTES_MAX};
use crate::schedule::job::Job;
use crate::schedule::times::Schedule;
use crate::text::{ellipsize_chars, grouped};

/// Bytes of a job's id, which is part of a file name; ours have four.
const ID_BYTES_MAX: usize = 64;

/// A job of the file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which job of the file it is; the first one is 1.
    pub place: usize,
    /// Its id, if that can be read.
    pub id: Option<String>,
    /// What is wrong with it, as a part of a sentence.
    pub reason: String,
    raw: Box<str>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, reason, .. } = self;
        match &self.id {
            Some(id) => {
                let id = ellipsize_chars(id, ID_BYTES_MAX);
                write!(f, "job {place} ({id}): {reason}")
            }
            None => write!(f, "job {place}: {reason}"),
        }
    }
}

/// What is in the file.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The jobs that can be used.
    pub jobs: Vec<Job>,
    /// The others.
    pub faults: Vec<Fault>,
    /// Lines of the log up to this number are in the jobs' states already.
    pub folded_to: u64,
    /// Other members of the file.
    others: BTreeMap<String, Box<RawValue>>,
}

/// Reads the file. Fails when it is not a list of jobs in a version that is known.
pub(super) fn parse(bytes: &[u8]) -> Result<Contents, String> {
    // Some editors begin a file with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        return Ok(Contents::default());
    }
    let file: BTreeMap<String, &RawValue> =
        json::envelope_from_slice(bytes).map_err(|error| error.to_string())?;
    let mut contents = Contents::default();
    let mut jobs = Vec::new();
    for (name, value) in file {
        match name.as_str() {
            "version" => check_version(value.get())?,
            "jobs" => {
                let list: Option<Vec<&RawValue>> = json::envelope_from_str(value.get())
                    .map_err(|error| format!("in \"jobs\": {error}"))?;
                jobs = list.unwrap_or_default();
            }
            FOLDED_TO => contents.folded_to = json::from_str(value.get()).unwrap_or_default(),
            _ => drop(contents.others.insert(name, value.to_owned())),
        }
    }
    let mut ids = HashSet::new();
    for (index, raw) in jobs.into_iter().map(RawValue::get).enumerate() {
        let job = parse_job(raw).and_then(|job| {
            if ids.contains(&job.id) {
                return Err("another job has the same id".to_owned());
            }
            if contents.jobs.len() == JOBS_MAX {
                return Err(format!("there are more than {} jobs", grouped(JOBS_MAX)));
            }
            Ok(job)
        });
        match job {
            Ok(job) => {
                ids.insert(job.id.clone());
                contents.jobs.push(job);
            }
            Err(reason) => contents.faults.push(Fault {
                place: index + 1,
                id: id_of(raw),
                reason,
                raw: raw.into(),
            }),
        }
    }
    Ok(contents)
}

const FOLDED_TO: &str = "runsFoldedTo";

fn check_version(value: &str) -> Result<(), String> {
    match value {
        "1" | "null" => Ok(()),
        _ => Err(format!(
            "its version is {}, and only version 1 is known",
            ellipsize_chars(value, 20)
        )),
    }
}

fn parse_job(raw: &str) -> Result<Job, String> {
    let mut job = read_job(raw).map_err(|error| {
        // The place is one in the job, and not in the file.
        let text = error.to_string();
        let reason = text
            .split_once(" at line ")
            .map_or(text.as_str(), |(reason, _)| reason);
        ellipsize_chars(reason, ERROR_CHARS_MAX).into_owned()
    })?;
    check(&job)?;
    job.raw = Some(raw.into());
    Ok(job)
}

/// Reads a job. In one of nanobot's, a sixth field of a cron line has the seconds (croniter's default); we
/// have them first.
fn read_job(raw: &str) -> serde_json::Result<Job> {
    let mut job: Job = json::from_str(raw)?;
    if let Schedule::Cron { expr, .. } = &mut job.schedule {
        let mut fields: Vec<&str> = expr.split_whitespace().collect();
        if fields.len() == 6 && is_of_nanobot(raw) {
            fields.rotate_right(1);
            *expr = fields.join(" ");
        }
    }
    Ok(job)
}

/// Whether nanobot wrote a job. It writes what is not set as `null`; PicoClaw and we leave it out. What we
/// have changed since has a member of ours.
fn is_of_nanobot(raw: &str) -> bool {
    let job: Value = json::from_str(raw).unwrap_or_default();
    let members = |name: &str| job.get(name).and_then(Value::as_object);
    let parts = ["schedule", "payload"].into_iter().filter_map(members);
    let is_own = |(name, value): (&String, &Value)| {
        value.is_null() || NANOBOTS_MEMBERS.contains(&snake_case(name).as_str())
    };
    job.get("catchUp").is_none() && parts.flatten().any(is_own)
}

/// Members of a payload that only nanobot writes.
const NANOBOTS_MEMBERS: [&str; 4] = [
    "channel_meta",
    "origin_channel",
    "origin_chat_id",
    "origin_metadata",
];

/// The id of a job that cannot be read otherwise.
fn id_of(raw: &str) -> Option<String> {
    let job: Value = json::from_str(raw).ok()?;
    Some(job.get("id")?.as_str()?.to_owned())
}

/// What is wrong with a job, as a part of a sentence.
pub(super) fn check(job: &Job) -> Result<(), String> {
    // It is a part of a session key, and of what is typed.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if job.id.is_empty() || job.id.len() > ID_BYTES_MAX || !job.id.bytes().all(is_plain) {
        return Err(format!(
            "the id must have 1 to {ID_BYTES_MAX} letters, digits, dots, hyphens or underscores"
        ));
    }
    if job.payload.message.trim().is_empty() {
        return Err("the message is empty".to_owned());
    }
    if job.payload.message.len() > MESSAGE_BYTES_MAX {
        let limit = grouped(MESSAGE_BYTES_MAX);
        return Err(format!("the message is longer than {limit} bytes"));
    }
    job.schedule.check()?;
    if job.schedule.is_too_frequent() {
        Err("it would run more often than once a minute".to_owned())
    } else {
        Ok(())
    }
}

impl Contents {
    /// The text of the file.
    pub fn render(self) -> String {
        let mut text = "{\n  \"version\": 1,\n  \"jobs\": [".to_owned();
        let bad = self.faults.into_iter().map(|fault| fault.raw);
        let jobs = self.jobs.into_iter().map(render_job);
        for (index, job) in jobs.chain(bad).enumerate() {
            text += if index == 0 { "\n    " } else { ",\n    " };
            text += &job;
        }
        text += "\n  ]";
        if self.folded_to > 0 {
            text += &format!(",\n  \"{FOLDED_TO}\": {}", self.folded_to);
        }
        for (name, value) in self.others {
            text += &format!(",\n  {}: {}", Value::from(name), value.get());
        }
        text + "\n}\n"
    }
}

/// A job as it is in the file already, or with its changes.
fn render_job(mut job: Job) -> Box<str> {
    let Some(raw) = job.raw.take() else {
        return pretty(&job);
    };
    if read_job(&raw).is_ok_and(|written| written == job) {
        return raw;
    }
    let new = serde_json::to_value(&job);
    match (json::from_str::<Value>(&raw), new) {
        (Ok(mut old), Ok(new)) => {
            merge(&mut old, new);
            pretty(&old)
        }
        _ => pretty(&job),
    }
}

fn pretty(value: &impl serde::Serialize) -> Box<str> {
    // What has only texts, numbers and booleans can be written as JSON. A newline in a text is escaped.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', "\n    ").into()
}

/// Overwrites the members that are ours, and leaves the others.
fn merge(old: &mut Value, new: Value) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            if new.contains_key("kind") {
                // Of a schedule, only the members of its kind are written.
                old.retain(|name, _| !matches!(name.as_str(), "atMs" | "everyMs" | "expr" | "tz"));
            }
            for (name, value) in new {
                // nanobot reads both ways of writing a name; two of them would be ambiguous.
                let snake = snake_case(&name);
                if snake != name {
                    old.remove(&snake);
                }
                merge(old.entry(name).or_insert(Value::Null), value);
            }
        }
        (old, new) => *old = new,
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for char in name.chars() {
        if char.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(char.to_ascii_lowercase());
    }
    snake
}
