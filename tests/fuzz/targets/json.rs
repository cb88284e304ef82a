//! What is JSON is read as serde_json reads it; what is mended is JSON where nothing else was wrong, and
//! stays as it is when it is mended again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peacrab::json::{self, Members};
use peacrab::limits::json::LEVELS_MAX;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mended = json::mend_numbers(&text);
    assert_eq!(json::mend_numbers(&mended), mended);
    let strict: Option<Value> = serde_json::from_str(&text).ok();
    if json::check_depth(text.as_bytes(), LEVELS_MAX).is_err() {
        return;
    }
    let read = json::from_str::<Value>(&text);
    if let Some(strict) = strict {
        assert_eq!(mended, text);
        assert_eq!(read.unwrap(), strict);
    }
    let _ = json::lenient_from_str_within::<Vec<u64>>(&text, LEVELS_MAX);
    if let Some(members) = Members::read(&mended) {
        let _ = (members.text("a"), members.number("a"), members.texts("a"));
    }
});
