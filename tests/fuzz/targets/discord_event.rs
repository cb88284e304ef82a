//! Any bytes are a frame of Discord's gateway, an event, or nothing. A message from an event can be
//! answered.

use std::time::Duration;

use peacrab::channels::discord::event::{FileId, Meaning, Reader};
use peacrab::channels::kit::sink::Incoming;
use peacrab::channels::kit::stream::session::{Me, Scope, Session};
use peacrab::config::schema::GroupPolicy;

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let mut session = Session::new(Scope::All);
    session.opened(Duration::ZERO);
    for (second, frame) in text.lines().enumerate() {
        let now = Duration::from_secs(second as u64);
        session.receive(frame, now, 0.5);
        session.tick(now, second % 2 == 0);
    }
    let me = Me {
        id: "900".to_owned(),
        username: "pea".to_owned(),
    };
    for policy in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
        let reader = Reader {
            me: &me,
            policy,
            awaits: &|_, _| false,
        };
        for kind in ["MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"] {
            let incoming = match reader.read(kind, text) {
                Meaning::Incoming(incoming) | Meaning::Interaction { incoming, .. } => incoming,
                Meaning::Nothing => continue,
            };
            if let Incoming::Message { envelope, .. } = incoming {
                assert!(!envelope.text.is_empty() || !envelope.remote_files.is_empty());
                assert!(envelope.reply.is_some());
                for file in envelope.remote_files {
                    assert!(FileId::parse(&file.id).is_some());
                }
            }
        }
    }
}
