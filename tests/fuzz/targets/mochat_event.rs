//! Any JSON is a message of MoChat's, or nothing. It can be answered.

use super::check_incoming;
use peacrab::base::json;
use peacrab::channels::mochat::event::{Reader, time};
use peacrab::config::schema::GroupPolicy;

pub fn run(bytes: &[u8]) {
    let Ok(value) = json::with_texts_from_str(&String::from_utf8_lossy(bytes), 16) else {
        return;
    };
    time(&value["createdAt"]);
    for policy in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
        let reader = Reader {
            me: "900",
            policy,
            awaits: &|_, _| false,
        };
        for (target, group) in [("session_1", ""), ("panel", "group")] {
            let incoming = reader.read(target, &value, group);
            incoming.iter().for_each(check_incoming);
        }
    }
}
