//! Floor 5: small facts that outlive the process, each an atomic file below `state/`.

pub mod approvals;
pub mod audit;
pub mod usage;

pub use approvals::Approvals;
pub use audit::Audit;
pub use usage::{Counts, Ledger};
