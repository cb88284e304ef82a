//! What a test needs of the machine. A test does not pass by being skipped: where something is missing
//! it fails, unless `PEACRAB_TEST_WITHOUT` says that this machine does not have it.

use std::fmt::Display;

/// The variable that lists what the machine does not have, with commas between: `namespaces`,
/// `landlock`, `mounts` (a test's own), `programs` (of the attacks), `setpriv`, `strace`.
const WITHOUT: &str = "PEACRAB_TEST_WITHOUT";

/// Whether the machine has a feature. Panics when it is missing and not listed.
pub fn has<E: Display>(feature: &str, found: Result<(), E>) -> bool {
    let Err(why) = found else {
        return true;
    };
    let listed = std::env::var(WITHOUT).unwrap_or_default();
    assert!(
        listed.split(',').any(|one| one.trim() == feature),
        "this test needs {feature}: {why}. If this machine cannot have it, list it in {WITHOUT}"
    );
    false
}
