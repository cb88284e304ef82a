//! What a test needs on the machine. Tests are never skipped silently: when something is missing, the test
//! fails, unless `PEACRAB_TEST_WITHOUT` lists it.

use std::fmt::Display;

/// The variable that lists what the machine does not have, separated by commas: `namespaces`,
/// `landlock`, `mounts` (by the test), `programs` (of the attacks), `work` (programs that do plain work), `screens`
/// (programs that use a whole terminal), `setpriv`, `strace`.
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
