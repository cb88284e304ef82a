//! A step of a plan, and what the end of one of its agents means for it. Pure.

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
        let report = report.and_then(|text| match first_word(text) {
            "" => Err("it has ended without a word"),
            word if word.eq_ignore_ascii_case("FAILED") => Err(text),
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
            Ok(text) if is_accepted(text) => {
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

/// Whether a critic accepts: the first line that begins with one of the two words decides, and without one nothing
/// is accepted.
fn is_accepted(report: &str) -> bool {
    let mut words = report.lines().map(first_word);
    words
        .find_map(|word| match word {
            word if word.eq_ignore_ascii_case("ACCEPTED") => Some(true),
            word if word.eq_ignore_ascii_case("REFUSED") => Some(false),
            _ => None,
        })
        .unwrap_or(false)
}

/// The first word of a line, without the signs of Markdown around it.
fn first_word(line: &str) -> &str {
    let is_sign = |char: char| !char.is_alphanumeric();
    let rest = line.trim_start_matches(is_sign);
    rest.split(is_sign).next().unwrap_or_default()
}

fn kept(text: &str) -> String {
    ellipsize_bytes(text.trim(), RESULT_BYTES).into_owned()
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
