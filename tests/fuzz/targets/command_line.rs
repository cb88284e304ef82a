//! The allow list sees every command of a line: what is put behind a line that it refuses, or in a
//! substitution beside it, does not make the line pass.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peacrab::tools::commands::risk::Patterns;
use peacrab::tools::commands::risk::split::commands;

fuzz_target!(|line: &str| {
    let patterns = Patterns::new(&[], &["^allowed( |$)".to_owned()]).expect("a pattern");
    for command in commands(line) {
        assert!(!command.words.is_empty() || !command.writes.is_empty() || !command.text.is_empty());
    }
    // A line end ends every quote that is closed, so this command stands alone at the beginning.
    let more = format!("stranger\n{line}");
    assert!(patterns.objection(&more).is_some(), "{more:?}");
});
