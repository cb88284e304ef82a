//! Floor 5: what outlives the process: journals, queues, memory and small facts, each written so that a kill loses nothing.

pub mod append_log;
pub mod backup;
pub mod inbox;
pub mod memory;
pub mod outbox;
pub mod outgoing;
pub mod plans;
pub mod session;
pub mod state;
