//! Floor 5: small facts that outlive the process, each an atomic file below `state/`.

pub mod usage;

pub use usage::{Counts, Ledger};
