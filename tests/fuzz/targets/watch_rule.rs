//! Any text is a rule that reads the same again when it is written, or an error.

use peacrab::base::language::Language;
use peacrab::board::watch::parse::parse;

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    if let Ok(rule) = parse(text, Language::English) {
        let written = rule.to_string();
        assert_eq!(parse(&written, Language::English), Ok(rule), "{written:?}");
    }
}
