//! Any bytes are a frame of Feishu's, or nothing; so is the event in it, or one without a frame.

use std::time::Duration;

use super::check_incoming;
use peacrab::channels::feishu::event::{Answered, Meaning, Reader};
use peacrab::channels::feishu::frame::Frame;
use peacrab::channels::feishu::session::{Action, Session, acknowledge};
use peacrab::config::schema::GroupPolicy;

fn read(payload: &[u8]) {
    for policy in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
        let reader = Reader {
            me: "ou_900",
            app: "cli_1",
            policy,
            awaits: &|_, _| false,
        };
        match reader.read(payload) {
            Meaning::Message(written) => {
                let incoming = written.finish(Some(&Answered::default()));
                incoming.iter().for_each(check_incoming);
            }
            Meaning::Press(incoming) => check_incoming(&incoming),
            Meaning::Nothing => {}
        }
    }
}

pub fn run(bytes: &[u8]) {
    if let Some(frame) = Frame::decode(bytes) {
        assert_eq!(Frame::decode(&frame.encode()), Some(frame));
    }
    let mut session = Session::new(1, Duration::ZERO);
    // The same part again is no other one.
    for second in 0..2 {
        let now = Duration::from_secs(second);
        if let Some(Action::Event { frame, payload }) = session.receive(bytes, now) {
            read(&payload);
            assert!(Frame::decode(&acknowledge(frame, now, None)).is_some());
        }
    }
    read(bytes);
}
