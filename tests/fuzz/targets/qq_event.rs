//! Any text is an event of QQ's, or nothing. A message from an event can be answered.

use super::check_incoming;
use peacrab::channels::qq::event::{Meaning, read};
use peacrab::channels::qq::place::Place;
use peacrab::config::schema::GroupPolicy;

const KINDS: [&str; 5] = [
    "C2C_MESSAGE_CREATE",
    "GROUP_AT_MESSAGE_CREATE",
    "AT_MESSAGE_CREATE",
    "DIRECT_MESSAGE_CREATE",
    "INTERACTION_CREATE",
];

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    for kind in KINDS {
        match read(kind, text, "900", GroupPolicy::Open) {
            Meaning::Message { incoming, chat, .. } => {
                assert!(Place::parse(&chat).is_some());
                check_incoming(&incoming);
            }
            Meaning::Pressed { incoming, id } => {
                assert!(!id.is_empty());
                incoming.iter().for_each(check_incoming);
            }
            Meaning::Nothing => {}
        }
    }
}
