//! A paste, which programs cut into lines: what one person writes in quick succession is one message. Pure.

use std::time::Duration;

use crate::limits::channels::irc::{PASTE_BYTES, PASTE_TIME, PASTE_WAIT};
use crate::message::Envelope;

/// The message that is being collected.
#[derive(Debug, Default)]
pub struct Paste(Option<Held>);

#[derive(Debug)]
struct Held {
    envelope: Envelope,
    since: Duration,
    last: Duration,
}

impl Paste {
    /// Takes a message. Returns the one before, if this is none of its lines.
    pub fn add(&mut self, envelope: Envelope, now: Duration) -> Option<Envelope> {
        if let Some(held) = &mut self.0
            && held.envelope.address() == envelope.address()
            && held.envelope.sender() == envelope.sender()
            && held.envelope.text.len() + envelope.text.len() < PASTE_BYTES
        {
            held.envelope.text.push('\n');
            held.envelope.text.push_str(&envelope.text);
            held.last = now;
            return None;
        }
        let before = self.take();
        self.0 = Some(Held {
            envelope,
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

    /// The message, as far as it has come.
    pub fn take(&mut self) -> Option<Envelope> {
        self.0.take().map(|held| held.envelope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Address, Sender};

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
        assert_eq!(paste.add(says("ana", "one"), at(0)), None);
        assert_eq!(paste.add(says("ana", "two"), at(200)), None);
        assert_eq!(paste.wait(at(200)), Some(PASTE_WAIT));
        let before = paste.add(says("bob", "hi"), at(300)).unwrap();
        assert_eq!(before.text, "one\ntwo");
        assert_eq!(paste.wait(at(300) + PASTE_WAIT), Some(Duration::ZERO));
        assert_eq!(paste.take().unwrap().text, "hi");
    }

    #[test]
    fn a_paste_has_an_end() {
        let mut paste = Paste::default();
        let mut now = Duration::ZERO;
        paste.add(says("ana", "x"), now);
        while paste.wait(now) != Some(Duration::ZERO) {
            now += PASTE_WAIT / 2;
            assert!(now <= PASTE_TIME + PASTE_WAIT);
            paste.add(says("ana", "x"), now);
        }
        let long = "x".repeat(PASTE_BYTES);
        assert!(paste.add(says("ana", &long), now).is_some());
    }
}
