//! Who was asked for a secret, in this run or in one that ended meanwhile: what they write then is not stored, even when
//! no program waits for it any more. [`Asked`] is PURE but for its stopwatches.

use super::{Asking, Open};
use crate::base::clock::{Clock, Stopwatch};
use crate::base::message::{Address, Envelope};
use crate::gateway::Gateway;
use crate::store::state::AskedSecret;
use std::time::Duration;

/// How long after a program has stopped waiting for a secret a message still counts as that: its writer has not seen it yet.
const LATE_SECRET: Duration = Duration::from_mins(1);
/// Chats of which that is remembered.
const LATE_SECRETS_MAX: usize = 16;

/// The people who were asked.
#[derive(Debug, Default)]
pub(super) struct Asked {
    entries: Vec<Entry>,
    /// Whether a message has come since the start.
    has_received: bool,
}

#[derive(Debug)]
struct Entry {
    kept: AskedSecret,
    /// Since the question is over; `None`: a program asks.
    over: Option<Stopwatch>,
    /// Whether an earlier run has asked.
    is_earlier: bool,
}

impl Entry {
    fn is_of(&self, chat: &Address, person: &str) -> bool {
        self.kept.chat == *chat && self.kept.person == person
    }
}

impl Asked {
    /// Those whom an earlier run has asked. What they wrote while no gateway ran comes within a minute of the start.
    pub fn restored(list: Vec<AskedSecret>, now: i64) -> Self {
        let late = i64::try_from(LATE_SECRET.as_secs()).unwrap_or(i64::MAX);
        // A clock that was set back has not made a question newer.
        let is_over = |over: i64| now.saturating_sub(over) > late;
        let entries = list
            .into_iter()
            .filter(|kept| !kept.over.is_some_and(is_over))
            .take(LATE_SECRETS_MAX)
            .map(|kept| Entry {
                kept: AskedSecret {
                    over: Some(now),
                    ..kept
                },
                over: Some(Stopwatch::start()),
                is_earlier: true,
            });
        Self {
            entries: entries.collect(),
            has_received: false,
        }
    }

    /// A program asks a person.
    fn begin(&mut self, chat: &Address, person: &str) {
        self.entries.retain(|entry| !entry.is_of(chat, person));
        if self.entries.len() >= LATE_SECRETS_MAX {
            self.entries.remove(0);
        }
        self.entries.push(Entry {
            kept: AskedSecret {
                chat: chat.clone(),
                person: person.to_owned(),
                over: None,
            },
            over: None,
            is_earlier: false,
        });
    }

    /// A program asks no longer. `now` is the time in seconds; `None` when the gateway ends: then its next run says when
    /// the question is over.
    fn end(&mut self, chat: &Address, person: &str, now: Option<i64>) {
        for entry in &mut self.entries {
            if entry.is_of(chat, person) {
                entry.over = Some(Stopwatch::start());
                entry.kept.over = now;
            }
        }
    }

    fn remove(&mut self, chat: &Address, person: &str) {
        self.entries.retain(|entry| !entry.is_of(chat, person));
    }

    /// Forgets those of whom no answer is expected any more.
    fn forget(&mut self) {
        self.entries.retain(|entry| {
            let over = entry.over.as_ref();
            over.is_none_or(|over| over.elapsed() < LATE_SECRET)
        });
    }

    /// Whether what a person writes answers a question that is over.
    fn is_late(&self, chat: &Address, person: &str) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.over.is_some() && entry.is_of(chat, person))
    }

    /// A channel was reached for the first time after failures: what was written meanwhile comes now.
    fn reached(&mut self, channel: &str) {
        if self.has_received {
            return;
        }
        for entry in &mut self.entries {
            if entry.is_earlier && entry.kept.chat.channel == channel {
                entry.over = Some(Stopwatch::start());
            }
        }
    }

    fn list(&self) -> Vec<AskedSecret> {
        let entries = self.entries.iter();
        entries.map(|entry| entry.kept.clone()).collect()
    }
}

impl Gateway {
    /// Loads whom the last run has asked for a secret. Before anything is received.
    pub(in crate::gateway) fn load_asked(&self) {
        let now = Clock::System.now().timestamp();
        let asked = Asked::restored(self.parts.asked.list(), now);
        self.terminals.inner.lock().asked = asked;
    }

    /// A channel was reached again.
    pub(in crate::gateway) fn channel_reached(&self, channel: &str) {
        self.terminals.inner.lock().asked.reached(channel);
    }

    /// Notes whether a terminal asks for a secret now. What is asked is on the disk before the chat shows it.
    pub(super) fn note_asking(&self, open: &Open, hides_input: bool) {
        let (chat, person) = (&open.to, open.person.as_str());
        let before = open.ask(hides_input);
        match (before, hides_input) {
            (Asking::No, true) => self.change_asked(|asked, _| asked.begin(chat, person)),
            (Asking::Yes, false) => self.change_asked(|asked, now| asked.end(chat, person, now)),
            (Asking::Answered, false) => self.change_asked(|asked, _| asked.remove(chat, person)),
            (Asking::No, false) | (Asking::Yes | Asking::Answered, true) => {}
        }
    }

    /// Whether a message answers a question for a secret that is over.
    pub(super) fn is_late(&self, message: &Envelope) -> bool {
        let mut inner = self.terminals.inner.lock();
        inner.asked.has_received = true;
        if inner.asked.entries.is_empty() {
            return false;
        }
        drop(inner);
        self.change_asked(|asked, _| asked.forget());
        let sender = message.sender();
        sender.is_some_and(|sender| self.is_asked_late(&message.address(), &sender.id))
    }

    pub(super) fn is_asked_late(&self, chat: &Address, person: &str) -> bool {
        self.terminals.inner.lock().asked.is_late(chat, person)
    }

    /// A late answer has come.
    pub(super) fn settle_late(&self, message: &Envelope) {
        if let Some(sender) = message.sender() {
            self.change_asked(|asked, _| asked.remove(&message.address(), &sender.id));
        }
    }

    /// Changes who was asked, here and on the disk.
    fn change_asked(&self, change: impl FnOnce(&mut Asked, Option<i64>)) {
        let mut inner = self.terminals.inner.lock();
        let before = inner.asked.list();
        let now = (!inner.is_shutting_down).then(|| Clock::System.now().timestamp());
        change(&mut inner.asked, now);
        let after = inner.asked.list();
        if after != before
            && let Err(error) = self.parts.asked.set(after)
        {
            tracing::warn!("failed to note who was asked for a secret: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_outlives_the_run_that_asked_it() {
        let chat = Address::new("telegram", "1");
        let mut asked = Asked::default();
        asked.begin(&chat, "1");
        assert!(!asked.is_late(&chat, "1"), "the program waits for it");
        let next = Asked::restored(asked.list(), 1_000_000);
        assert!(next.is_late(&chat, "1") && !next.is_late(&chat, "2"));
        asked.end(&chat, "1", Some(1_000_000));
        assert!(asked.is_late(&chat, "1"));
        for (now, is_late) in [(1_000_030, true), (1_000_061, false), (5, true)] {
            let next = Asked::restored(asked.list(), now);
            assert_eq!(next.is_late(&chat, "1"), is_late, "{now}");
        }
        asked.remove(&chat, "1");
        assert_eq!(asked.list(), []);
    }

    #[test]
    fn no_more_are_remembered_than_the_file_takes() {
        let mut asked = Asked::default();
        for number in 0..=LATE_SECRETS_MAX {
            asked.begin(&Address::new("telegram", &number.to_string()), "1");
        }
        assert_eq!(asked.list().len(), LATE_SECRETS_MAX);
        assert_eq!(asked.list()[0].chat, Address::new("telegram", "1"));
    }
}
