//! What the wire formats share. All pure.

pub mod body;
pub mod calls;
pub mod entries;
pub mod filter;
pub mod quote;
pub mod template;
pub mod think;
pub mod tokens;
pub mod written;

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::base::chat::{Fault, ReasoningEffort};
use crate::base::json::{self, Members};
use crate::models::classify::Failure;

#[cfg(test)]
pub mod example;

/// Tokens that older Anthropic models may think, by effort. 1024 is the API's least.
const THINKING_LOW: u32 = 1024;
/// See [`THINKING_LOW`].
const THINKING_MEDIUM: u32 = 4096;
/// See [`THINKING_LOW`].
const THINKING_HIGH: u32 = 16_384;
/// See [`THINKING_LOW`].
const THINKING_MAX: u32 = 32_768;

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// More has to come.
    Open,
    /// The model has ended; usage may follow.
    Ended,
    /// Nothing follows.
    Over,
}

/// Mends what strict readers refuse.
pub fn mended(json: &str) -> Cow<'_, str> {
    // Nearly all events are JSON, and are not looked through.
    match json::envelope_from_str::<&RawValue>(json) {
        Ok(_) => Cow::Borrowed(json),
        Err(_) => json::mend_all(json),
    }
}

/// Reads the members of an event or of a whole answer.
pub fn parse(json: &str) -> Result<Members<'_>, Failure> {
    let broken = |error| Failure::new(Fault::Garbage, format!("broken JSON: {error}"));
    json::envelope_from_str(json).map_err(broken)
}

/// Tokens that thoughts may need beside the answer.
pub fn thinking_tokens(effort: ReasoningEffort) -> u32 {
    match effort {
        ReasoningEffort::Off | ReasoningEffort::Low => THINKING_LOW,
        ReasoningEffort::Medium => THINKING_MEDIUM,
        ReasoningEffort::High => THINKING_HIGH,
        ReasoningEffort::XHigh | ReasoningEffort::Max => THINKING_MAX,
    }
}
