//! Floor 5: scheduled jobs: what is planned, when it is due, and how its runs ended.

pub mod correct;
pub mod due;
pub mod edit;
pub mod job;
pub mod line;
pub mod schedule;
mod schedule_texts;
pub mod show;
pub mod store;
#[cfg(test)]
mod tests;
mod texts;
pub mod when;

pub use job::{Deliver, Job, Payload, PayloadKind, Run, RunOutcome, State, Status};
pub use schedule::{Phase, Schedule};
pub use store::{Fault, Jobs, Store};
