//! Any bytes are an update or nothing. A message from an update can be answered.

use peacrab::channels::kit::names;
use peacrab::channels::telegram::api::types::Update;
use peacrab::channels::telegram::api::{ChatTarget, Me};
use peacrab::channels::telegram::update::{Meaning, read};
use peacrab::config::schema::GroupPolicy;

pub fn run(bytes: &[u8]) {
    let me = Me {
        id: 900,
        username: "peabot".to_owned(),
    };
    for policy in [GroupPolicy::Mention, GroupPolicy::Open, GroupPolicy::Off] {
        let Ok(update) = peacrab::base::json::from_slice::<Update>(bytes) else {
            return;
        };
        match read(update, &me, policy, &|_, _| false) {
            Meaning::Message(said) => {
                assert!(!said.message.text.is_empty() || !said.message.remote_files.is_empty());
                assert!(said.addressed || said.album.is_some());
                assert!(ChatTarget::parse(&said.message.address()).is_some());
                assert!(policy != GroupPolicy::Off || !said.message.is_group);
                for wanted in said.message.remote_files {
                    assert!(!names::clean_file_name(&wanted.name).contains('/'));
                }
            }
            Meaning::Edited { chat, .. } => assert!(ChatTarget::parse(&chat).is_some()),
            Meaning::Pressed(pressed) => assert!(!pressed.data.is_empty()),
            Meaning::Topic(_) | Meaning::Nothing => {}
        }
    }
}
