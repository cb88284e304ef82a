//! Topics of private chats: each is a conversation of its own, named after its first question.

use std::collections::VecDeque;

use super::api::{Api, ChatTarget};
use super::update::{Meaning, Received};
use crate::channels::kit::sink::SharedSink;
use crate::text::truncate_chars;

/// Topics without a name whose first question has not come yet. Of more the oldest keep the name that Telegram gives them.
const UNNAMED: usize = 16;
/// Characters of a name: a line of a phone. Telegram takes 128
/// (<https://core.telegram.org/bots/api#editforumtopic>).
const NAME_CHARS: usize = 40;
/// Topics that are named after one poll, each with a call.
const NAMED_AT_ONCE: usize = 4;

/// The topics that nobody has named.
#[derive(Default)]
pub(super) struct Topics(VecDeque<ChatTarget>);

impl Topics {
    /// The new names of topics, by the messages of a batch.
    pub fn names(&mut self, batch: &[Meaning], intake: &SharedSink) -> Vec<(ChatTarget, String)> {
        let mut names = Vec::new();
        for meaning in batch {
            match meaning {
                Meaning::Topic(place) => {
                    if self.0.len() >= UNNAMED {
                        self.0.pop_front();
                    }
                    self.0.push_back(*place);
                }
                Meaning::Message(received) => names.extend(self.name(received, intake)),
                _ => {}
            }
        }
        names.truncate(NAMED_AT_ONCE);
        names
    }

    fn name(&mut self, received: &Received, intake: &SharedSink) -> Option<(ChatTarget, String)> {
        let message = &received.message;
        let place = ChatTarget::parse(&message.address()).filter(|place| self.0.contains(place))?;
        let sender = message.sender()?;
        let line = message
            .text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())?;
        if line.starts_with('/') || !intake.has_access(sender, &received.username) {
            return None;
        }
        self.0.retain(|other| *other != place);
        let name = truncate_chars(line, NAME_CHARS);
        let is_whole = name.len() == line.len();
        let name = name.trim_end();
        Some((
            place,
            if is_whole {
                name.to_owned()
            } else {
                format!("{name}…")
            },
        ))
    }
}

/// Names topics. A name that cannot be given is not worth a second call.
pub(super) fn give(api: &Api, names: &[(ChatTarget, String)]) {
    for (place, name) in names {
        if let Err(error) = api.edit_forum_topic(*place, name) {
            tracing::debug!("failed to name a topic: {error}");
            return;
        }
    }
}
