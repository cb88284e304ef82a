//! Floor 5: jobs that begin at a planned time: their schedules, and which of them is due.

pub mod due;
pub mod line;
pub mod schedule;
#[cfg(test)]
mod tests;
mod texts;
pub mod when;

pub use schedule::{Phase, Schedule};
