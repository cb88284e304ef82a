//! Any bytes are a line or nothing. An entry stays the same when it is written and read again.

use peacrab::store::session::line::{Line, decode, encode_entry};

pub fn run(bytes: &[u8]) {
    if let Some(Line::Entry(entry)) = decode(bytes) {
        let line = encode_entry(&entry);
        let (end, text) = line.split_last().expect("a line has an end");
        assert!(*end == b'\n' && !text.contains(&b'\n'));
        assert_eq!(decode(text), Some(Line::Entry(entry)));
    }
}
