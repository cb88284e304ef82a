//! A paste, which programs cut into lines: what one person writes in quick succession is one message. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::base::message::{Address, Envelope};

/// How long more lines of a paste are waited for.
const PASTE_WAIT: Duration = Duration::from_millis(400);
/// The longest that a paste is collected, and its bytes.
const PASTE_TIME: Duration = Duration::from_secs(5);
/// See [`PASTE_TIME`].
const PASTE_BYTES: usize = 32 * 1024;

/// The message that is being collected.
#[derive(Debug, Default)]
pub struct Paste(Option<Held>);

/// A message, and the ids of its lines after the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// The message.
    pub envelope: Envelope,
    /// The ids, where the server gives any.
    pub ids: Vec<String>,
}

impl Whole {
    /// A message of one line.
    pub fn one(envelope: Envelope) -> Self {
        Self {
            envelope,
            ids: Vec::new(),
        }
    }
}

#[derive(Debug)]
struct Held {
    whole: Whole,
    since: Duration,
    last: Duration,
}

impl Paste {
    /// Whether this person is writing something in this chat, so that what comes next belongs to it.
    pub fn continues(&self, chat: &Address, person: &str) -> bool {
        let Some(held) = &self.0 else {
            return false;
        };
        let envelope = &held.whole.envelope;
        let sender = envelope.sender();
        envelope.address() == *chat && sender.is_some_and(|sender| sender.id == person)
    }

    /// Takes a message and its id, if it has one. Returns the one before, if this is none of its lines.
    pub fn add(&mut self, envelope: Envelope, id: Option<String>, now: Duration) -> Option<Whole> {
        let person = envelope.sender().map(|sender| sender.id.as_str());
        let is_more = self.continues(&envelope.address(), person.unwrap_or_default());
        if let Some(held) = &mut self.0
            && is_more
            && held.whole.envelope.text.len() + envelope.text.len() < PASTE_BYTES
        {
            let text = &mut held.whole.envelope.text;
            text.push('\n');
            text.push_str(&envelope.text);
            held.whole.ids.extend(id);
            held.last = now;
            return None;
        }
        let before = self.take();
        self.0 = Some(Held {
            whole: Whole::one(envelope),
            since: now,
            last: now,
        });
        before
    }

    /// How long to wait for more lines; `None` where nothing is held.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        let held = self.0.as_ref()?;
        let end = (held.last + PASTE_WAIT).min(held.since + PASTE_TIME);
        Some(end.saturating_sub(now))
    }

    /// The message, as far as it has come, which stays here.
    pub fn held(&self) -> Option<&Whole> {
        self.0.as_ref().map(|held| &held.whole)
    }

    /// The message, as far as it has come.
    pub fn take(&mut self) -> Option<Whole> {
        self.0.take().map(|held| held.whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::message::Sender;

    fn says(who: &str, text: &str) -> Envelope {
        let sender = Sender {
            id: who.to_owned(),
            ..Sender::default()
        };
        Envelope::written(&Address::new("irc", "#crab"), sender, text)
    }

    #[test]
    fn lines_in_quick_succession_are_one_message() {
        let at = Duration::from_millis;
        let mut paste = Paste::default();
        assert_eq!(paste.wait(at(0)), None);
        let id = |id: &str| Some(id.to_owned());
        assert_eq!(paste.add(says("ana", "one"), id("1"), at(0)), None);
        assert_eq!(paste.add(says("ana", "two"), id("2"), at(200)), None);
        let chat = says("ana", "").address();
        assert!(paste.continues(&chat, "ana") && !paste.continues(&chat, "bob"));
        assert!(!paste.continues(&Address::new("irc", "#shed"), "ana"));
        assert_eq!(paste.wait(at(200)), Some(PASTE_WAIT));
        let before = paste.add(says("bob", "hi"), None, at(300)).unwrap();
        assert_eq!(before.envelope.text, "one\ntwo");
        assert_eq!(before.ids, ["2"]);
        assert!(!paste.continues(&chat, "ana"));
        assert_eq!(paste.wait(at(300) + PASTE_WAIT), Some(Duration::ZERO));
        assert_eq!(paste.take().unwrap().envelope.text, "hi");
    }

    #[test]
    fn a_paste_has_an_end() {
        let mut paste = Paste::default();
        let mut now = Duration::ZERO;
        paste.add(says("ana", "x"), None, now);
        while paste.wait(now) != Some(Duration::ZERO) {
            now += PASTE_WAIT / 2;
            assert!(now <= PASTE_TIME + PASTE_WAIT);
            paste.add(says("ana", "x"), None, now);
        }
        let long = "x".repeat(PASTE_BYTES);
        assert!(paste.add(says("ana", &long), None, now).is_some());
    }
}
