//! Floor 5: jobs that begin at a planned time: their schedules, and which of them is due.

pub mod due;
pub mod schedule;
pub mod when;

pub use schedule::{Phase, Schedule};
