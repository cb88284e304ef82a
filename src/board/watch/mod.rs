//! Rules over the board, its services, files, hosts and processes, and the messages about them.
//!
//! `parse` reads a rule, `judge` says when a value is an alarm and when it is over, `notice` what the message says, and
//! `lines` cuts a growing file into lines, and `blind` says why a watch sees nothing: all PURE. `store` keeps the rules
//! and what was told; `process` reads /proc.

pub mod blind;
pub mod judge;
pub mod lines;
pub mod notice;
pub mod parse;
pub mod process;
pub mod rule;
pub mod store;
pub(crate) mod texts;

#[cfg(test)]
mod tests;

pub use blind::Blind;
pub use judge::{Criterion, Event, Moment, Phase, Seen, Tracker};
pub use lines::Lines;
pub use notice::{BuiltIn, Kind, Notice, Subject};
pub use rule::{Quantity, Rule, Sound, Then, Told, What};
pub use store::{Cause, Entry, Mute, Ran, Store, Watch, Watches};

/// How long a flapping value has to stay normal before its alarm is over, in milliseconds.
const FLAP_CALM_MS: i64 = 10 * 60 * 1000;
/// Time between two messages about things that happen one by one, such as lines of a log, in milliseconds. What happens
/// in between is counted.
pub const SEEN_PAUSE_MS: i64 = 10 * 60 * 1000;
