//! The allow-list sees every command of a line: text after a refused line, or in a substitution beside
//! it, does not make the line pass.

use peacrab::tools::commands::risk::Patterns;

pub fn run(bytes: &[u8]) {
    let line = &*String::from_utf8_lossy(bytes);
    let patterns = Patterns::new(&[], &["^allowed( |$)".to_owned()]).expect("a pattern");
    // A newline ends every closed quote, so this command is separate at the beginning.
    let more = format!("stranger\n{line}");
    assert!(patterns.objection(&more).is_some(), "{more:?}");
}
