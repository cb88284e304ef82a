//! No text crashes the reader of arguments, and JSON is read as JSON.

use std::collections::BTreeMap;

use peacrab::tools::arguments::Arguments;
use serde_json::Value;

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let arguments = Arguments::parse(text);
    let json = serde_json::from_str::<BTreeMap<String, Value>>(text);
    for (name, value) in json.into_iter().flatten() {
        let arguments = arguments.as_ref().expect("an object is an object");
        let _ = (arguments.number(&name, ""), arguments.flag(&name));
        if let Value::String(expected) = value {
            let text = arguments.text(&name, "").expect("a text");
            assert_eq!(text, expected.as_str());
        }
    }
}
