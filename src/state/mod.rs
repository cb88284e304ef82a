//! Floor 5: small facts that outlive the process, each an atomic file below `state/`.

pub mod approvals;
pub mod audit;
pub mod choices;
pub mod pairing;
pub mod recent;
pub mod usage;

use std::path::Path;

use serde::Serialize;

use crate::error::Result;
use crate::sys;

pub use approvals::Approvals;
pub use audit::Audit;
pub use choices::Choices;
pub use pairing::Pairing;
pub use recent::Recent;
pub use usage::{Counts, Ledger};

/// Writes a fact as JSON that a person can read, atomically, mode 0600.
fn write(path: &Path, fact: &impl Serialize) -> Result<()> {
    // Strings, numbers and truth values only: nothing in our facts that JSON cannot say.
    let content = serde_json::to_vec_pretty(fact).unwrap_or_default();
    if let Some(folder) = path.parent() {
        sys::file::private_folder(folder)?;
    }
    sys::file::write_atomic(path, &content, 0o600)
}
