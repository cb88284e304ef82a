//! Floor 5: scheduled jobs: what is planned, when it is due, and how its runs ended.

pub mod due;
mod file;
pub mod job;
mod log;
pub mod schedule;
pub mod store;
pub mod when;

pub use file::Fault;
pub use job::{Deliver, Job, Payload, PayloadKind, Run, RunOutcome, State, Status};
pub use schedule::{Phase, Schedule};
pub use store::{Jobs, Store};
