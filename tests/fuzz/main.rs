//! Runs the inputs of `corpus/` through the targets of `make fuzz`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail by panicking"
)]

mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use targets::TARGETS;

/// The names in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let name = |entry: Result<fs::DirEntry, _>| entry.unwrap().file_name().into_string().unwrap();
    entries.map(name).collect()
}

#[test]
fn every_input_of_the_corpus_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let with_target: BTreeSet<String> = TARGETS.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names(&corpus), with_target);
    for (name, run) in TARGETS {
        let folder = corpus.join(name);
        let inputs = names(&folder);
        assert!(!inputs.is_empty(), "{name} has no input");
        for input in inputs {
            // The last one printed is the one that failed.
            println!("{name}/{input}");
            run(&fs::read(folder.join(input)).unwrap());
        }
    }
}
