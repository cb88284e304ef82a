//! Floor 6: scheduled jobs and cron lines: what is planned, when it is due, and how its runs ended.

pub mod correct;
pub mod due;
pub mod edit;
pub mod job;
pub mod line;
pub mod show;
pub mod store;
#[cfg(test)]
mod tests;
mod texts;
pub mod times;
mod times_texts;
pub mod when;

pub use job::{Deliver, Job, Payload, PayloadKind, Run, RunOutcome, State, Status};
pub use store::{Fault, Jobs, Store, read_foreign};
pub use texts::meant_hour;
pub use times::{Phase, Schedule};
