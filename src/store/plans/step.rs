//! A step of a plan, and what the end of one of its agents means for it. Pure.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::base::error::{Error, Result};
use crate::text::ellipsize_bytes;

/// Bytes of what a step is to do.
const TASK_BYTES: usize = 2 * 1024;
/// Bytes of what shows that a step is done.
const PROOF_BYTES: usize = 1024;
/// Bytes that are kept of a worker's report and of a critic's objection.
const RESULT_BYTES: usize = 6 * 1024;
/// How often a critic may send a step back; when it refuses once more, the step has failed.
const SENT_BACK: u32 = 2;
/// How often the agents of one step may fail; one more failure ends it.
const FAILURES: u32 = 2;

/// How a critic's report begins that takes a step for done.
const ACCEPTED: &str = "ACCEPTED";
/// The words of which it has one.
const WORDS: [&str; 2] = [ACCEPTED, "REFUSED"];

/// What an agent has reported, or why it has not.
pub type Report<'a> = std::result::Result<&'a str, &'a str>;

/// How far a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It was not begun, or was sent back.
    #[default]
    Waiting,
    /// A worker is at it.
    Working,
    /// The worker has reported, and no critic has begun.
    Worked,
    /// A critic is at it.
    Checking,
    /// A critic has accepted it.
    Done,
    /// It was refused or failed too often.
    Failed,
    /// A person wants to do without it.
    Skipped,
}

/// A step as a planner writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What is to be done.
    pub task: String,
    /// What shows that it is done.
    pub proof: String,
    /// The numbers of the earlier steps that have to be done before, from 1.
    pub after: Vec<usize>,
}

/// A step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// What is to be done.
    pub task: String,
    /// What shows that it is done.
    pub proof: String,
    /// The numbers of the earlier steps that have to be done before, from 1.
    pub after: Vec<usize>,
    /// How far it is.
    pub state: StepState,
    /// Runs of its worker so far: the number of the last one.
    pub works: u32,
    /// Runs of its critic, likewise.
    pub checks: u32,
    /// How often a critic has refused it.
    pub refusals: u32,
    /// How often one of its agents has failed.
    pub failures: u32,
    /// The last report of its worker.
    pub result: String,
    /// Why a critic has refused it, or an agent has failed, last; empty: neither.
    pub objection: String,
}

impl Step {
    /// Whether the steps after it may begin.
    pub fn is_done(&self) -> bool {
        matches!(self.state, StepState::Done | StepState::Skipped)
    }

    /// Its worker has ended.
    pub(super) fn worked(&mut self, report: Report<'_>) {
        let report = report.and_then(|text| match verdict(text, WORDS) {
            _ if !text.contains(char::is_alphanumeric) => Err("it has ended without a word"),
            "FAILED" => Err(text),
            _ => Ok(text),
        });
        match report {
            Ok(text) => {
                self.result = kept(text);
                self.state = StepState::Worked;
            }
            Err(why) => self.failed(why, StepState::Waiting),
        }
    }

    /// Its critic has ended.
    pub(super) fn checked(&mut self, report: Report<'_>) {
        match report {
            Ok(text) if verdict(text, WORDS) == ACCEPTED => {
                self.state = StepState::Done;
                self.objection.clear();
            }
            Ok(text) => {
                self.refusals += 1;
                self.objection = kept(text);
                self.state = match self.refusals > SENT_BACK {
                    true => StepState::Failed,
                    false => StepState::Waiting,
                };
            }
            Err(why) => self.failed(why, StepState::Worked),
        }
    }

    fn failed(&mut self, why: &str, again: StepState) {
        self.failures += 1;
        self.objection = kept(why);
        self.state = match self.failures > FAILURES {
            true => StepState::Failed,
            false => again,
        };
    }
}

/// The word that a report begins with, without the signs of Markdown around it: `REFUSED` in `**REFUSED**: why`. Empty
/// where the first line quotes someone, or names both of the words that it could be.
pub fn verdict<'a>(report: &'a str, words: [&str; 2]) -> &'a str {
    let mut lines = report.lines();
    let line = lines.find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default();
    let is_sign = |char: char| !char.is_alphanumeric();
    let rest = line.trim_start_matches(is_sign);
    let signs = line.strip_suffix(rest).unwrap_or_default();
    let names_both = words.iter().all(|word| line.contains(word));
    if names_both || signs.contains(['>', '"', '“', '„', '«']) {
        return "";
    }
    rest.split(is_sign).next().unwrap_or_default()
}

fn kept(text: &str) -> String {
    ellipsize_bytes(printable(text).trim(), RESULT_BYTES).into_owned()
}

/// Drops the control characters but line breaks and tabs: each would take six bytes in a file.
pub(super) fn printable(text: &str) -> Cow<'_, str> {
    let is_kept = |char: &char| !char.is_control() || matches!(char, '\n' | '\t');
    match text.chars().all(|char| is_kept(&char)) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.chars().filter(is_kept).collect()),
    }
}

/// Fails where a step has no text for what it is to do or what shows that it is done, or too long a one.
pub(super) fn check_texts(number: usize, task: &str, proof: &str) -> Result<()> {
    for (what, text, limit) in [("task", task, TASK_BYTES), ("proof", proof, PROOF_BYTES)] {
        if text.trim().is_empty() {
            return Err(Error::Failed(format!(
                "the {what} of step {number} is empty"
            )));
        }
        if text.len() > limit {
            return Err(Error::TooLarge {
                what: format!("the {what} of step {number}"),
                limit,
            });
        }
    }
    Ok(())
}
