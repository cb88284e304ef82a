//! The targets under libFuzzer. The variable FUZZ_TARGET names the one to run.

#![no_main]

mod targets;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

/// The target that was asked for. Ends the process if there is none of that name.
fn target() -> fn(&[u8]) {
    let wanted = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = targets::TARGETS.iter().find(|(name, _)| *name == wanted);
    let Some((_, run)) = found else {
        let names: Vec<&str> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
        eprintln!("FUZZ_TARGET must be one of {}", names.join(", "));
        std::process::exit(2);
    };
    *run
}

fuzz_target!(|bytes: &[u8]| TARGET.get_or_init(target)(bytes));
