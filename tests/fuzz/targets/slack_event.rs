//! Any text is an event of Slack's, a press, a command, or nothing.

use super::check_incoming;
use peacrab::channels::slack::event::{Me, Reader, Scope};
use peacrab::config::schema::GroupPolicy;

pub fn run(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let me = Me {
        user: "U900".to_owned(),
        name: "pea".to_owned(),
        team: "T1".to_owned(),
    };
    for groups in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
        let scope = Scope {
            groups,
            only_in: Vec::new(),
            private: true,
            reply_in_thread: groups == GroupPolicy::Open,
        };
        let reader = Reader {
            me: &me,
            scope: &scope,
            awaits: &|_, _| false,
            takes_part: &|_| false,
            sender: &|_| None,
            person: &|_| None,
            written_by: &|_, _, _| (),
        };
        let read = [reader.event(text), reader.press(text), reader.command(text)];
        read.iter().flatten().for_each(check_incoming);
    }
}
