//! What is JSON is read as serde_json reads it, and what is mended and JSON by then stays as it is when it is mended again. What a model writes is read or refused.

use peacrab::base::json::{self, Members};
use peacrab::base::limits::json::LEVELS_MAX;
use serde_json::Value;
use serde_json::value::RawValue;

pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mended = json::mend_all(&text);
    if serde_json::from_str::<Value>(&mended).is_ok() {
        assert_eq!(json::mend_all(&mended), mended);
    }
    if let Ok(loose) = json::loose_from_str(&text) {
        // A number may be larger than any that is kept.
        serde_json::from_str::<&RawValue>(&loose).unwrap();
    }
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
}
