//! Any text is a frame of DingTalk's stream, a message, or nothing. A message can be answered.

use std::time::Duration;

use super::check_incoming;
use peacrab::channels::dingtalk::event::read;
use peacrab::channels::dingtalk::session::{Action, Session};
use peacrab::config::schema::GroupPolicy;

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let mut session = Session::new(Duration::ZERO);
    let framed = match session.receive(text, Duration::ZERO) {
        Some(Action::Message { data, .. }) => data,
        _ => String::new(),
    };
    for policy in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
        let incoming = [read(text, "frame", policy), read(&framed, "frame", policy)];
        incoming.iter().flatten().for_each(check_incoming);
    }
}
