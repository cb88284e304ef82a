//! Any text is a frame of the bridge to WhatsApp. A message from it can be answered.

use super::check_incoming;
use peacrab::channels::whatsapp::event::{Reader, decode, encode};
use peacrab::channels::whatsapp::frame::{Frame, read};
use peacrab::config::schema::GroupPolicy;

pub fn run(bytes: &[u8]) {
    let Frame::Message(message) = read(&String::from_utf8_lossy(bytes)) else {
        return;
    };
    for policy in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
        let reader = Reader {
            policy,
            names: &["@pea".to_owned()],
            takes_files: policy == GroupPolicy::Open,
            awaits: &|_, _| false,
        };
        if let Some(incoming) = reader.read(&message) {
            check_incoming(&incoming);
            assert_eq!(decode(&encode(&message.chat)), Some(message.chat.clone()));
        }
    }
}
