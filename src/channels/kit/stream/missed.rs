//! The catch-up after an interruption, for channels that have to ask for what was written meanwhile. The place from
//! which on it asks is on the disk before anything newer is accepted, until everything was asked: neither a rate limit
//! nor a kill in the middle loses a message.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::backoff::{doubled, with_jitter};
use crate::base::error::Result;
use crate::base::limits::channels::MISSED_CHATS;
use crate::channels::kit::adapter::Failure;
use crate::store::state::{Damaged, Policy, StateFile};

/// Bytes of the file with them; an address of Slack's with a thread takes 60.
const MISSED_FILE_BYTES: usize = 16 * 1024;
/// Failures in a row, but for rate limits, after which missed messages are given up: a day with the longest wait.
const MISSED_FAILURES: u32 = 300;

/// The content of `state/missed-<channel>.json`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(default)]
struct Kept<C> {
    /// The newest number that was known before messages may have been missed; `None` when none was missed.
    since: Option<i64>,
    /// The chats that were active last, the newest at the end.
    chats: VecDeque<C>,
}

impl<C> Default for Kept<C> {
    fn default() -> Self {
        Self {
            since: None,
            chats: VecDeque::new(),
        }
    }
}

/// What is to be asked, one question `Q` after the other, about chats `C`.
pub struct Missed<C, Q> {
    title: &'static str,
    file: StateFile<Kept<C>>,
    kept: Kept<C>,
    /// The place in the file, and whether a chat is missing there.
    saved_since: Option<i64>,
    has_new_chat: bool,
    /// The questions that are left; `None` before the first one.
    left: Option<VecDeque<Q>>,
    /// Failures since something succeeded.
    failures: u32,
    /// When the next question may be asked.
    due: Duration,
}

impl<C, Q> Missed<C, Q>
where
    C: Clone + PartialEq + Serialize + DeserializeOwned,
{
    /// The catch-up of a channel, as far as it was left to do. `title` is the channel's name for people.
    pub fn open(state: &Path, (channel, title): (&str, &'static str)) -> Self {
        let policy = Policy {
            bytes_max: MISSED_FILE_BYTES,
            damaged: Damaged::StartFresh,
            // The inbox is, and after a power cut this must not be older.
            synced: true,
        };
        let file: StateFile<Kept<C>> =
            StateFile::new(state.join(format!("missed-{channel}.json")), policy);
        let mut kept = file.read().unwrap_or_default();
        let over = kept.chats.len().saturating_sub(MISSED_CHATS);
        kept.chats.drain(..over);
        Self {
            title,
            file,
            saved_since: kept.since,
            kept,
            has_new_chat: false,
            left: None,
            failures: 0,
            due: Duration::ZERO,
        }
    }

    /// Messages newer than `newest` may be missed from now on, besides those that are still to be fetched. All
    /// questions are asked again.
    pub fn interrupted(&mut self, newest: Option<i64>) {
        self.left = None;
        self.kept.since = self.kept.since.or(newest);
    }

    /// The number from which on messages are to be asked for; `None` when nothing was missed.
    pub fn since(&self) -> Option<i64> {
        self.kept.since
    }

    /// The chats that were active last, the newest at the end.
    pub fn chats(&self) -> &VecDeque<C> {
        &self.kept.chats
    }

    /// Notes an active chat. The oldest one is forgotten.
    pub fn note_chat(&mut self, chat: C) {
        let before = self.kept.chats.len();
        self.kept.chats.retain(|known| *known != chat);
        if self.kept.chats.len() == before {
            self.has_new_chat = true;
        }
        if self.kept.chats.len() >= MISSED_CHATS {
            self.kept.chats.pop_front();
        }
        self.kept.chats.push_back(chat);
    }

    /// Writes the place, if it has changed. Done before messages are accepted, as these change what is the newest.
    pub fn save(&mut self) -> Result<()> {
        if self.has_new_chat || self.saved_since != self.kept.since {
            self.file.update(|kept| {
                kept.clone_from(&self.kept);
                Ok(())
            })?;
            self.has_new_chat = false;
            self.saved_since = self.kept.since;
        }
        Ok(())
    }

    /// How long until the next question is due; `None` when there is none.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        self.kept.since.map(|_| self.due.saturating_sub(now))
    }

    /// The next question, if one is due. `first` makes the first ones. After the last one nothing is missed any more.
    pub fn next(&mut self, now: Duration, first: impl FnOnce(&VecDeque<C>) -> Vec<Q>) -> Option<Q> {
        if self.kept.since.is_none() || now < self.due {
            return None;
        }
        let left = self
            .left
            .get_or_insert_with(|| first(&self.kept.chats).into());
        if let Some(question) = left.pop_front() {
            return Some(question);
        }
        self.left = None;
        self.kept.since = None;
        // If that fails, more is fetched again after a restart, and recognised.
        if let Err(error) = self.save() {
            tracing::warn!(
                "failed to save what was fetched from {}: {error}",
                self.title
            );
        }
        None
    }

    /// A question was answered, and leads to further ones: those that come next, and those that come last.
    pub fn answered(&mut self, next: Vec<Q>, last: Vec<Q>) {
        self.failures = 0;
        let left = self.left.get_or_insert_default();
        next.into_iter()
            .rev()
            .for_each(|question| left.push_front(question));
        left.extend(last);
    }

    /// A question failed. It is asked again when the server wants it to be, or behind the other ones and after a growing
    /// wait; in the end it is given up.
    pub fn failed(&mut self, question: Q, failure: &Failure, now: Duration) {
        let left = self.left.get_or_insert_default();
        let wait = match failure {
            Failure::RetryAfter(wait) => {
                left.push_front(question);
                *wait
            }
            _ if self.failures >= MISSED_FAILURES => {
                tracing::warn!(
                    "gave up fetching messages that were written while {} was not connected, so some may stay \
                     unanswered: {failure}",
                    self.title
                );
                return;
            }
            _ => {
                left.push_back(question);
                self.failures += 1;
                with_jitter(doubled(self.failures - 1))
            }
        };
        tracing::info!(
            "messages that were written while {} was not connected are fetched in {} s: {failure}",
            self.title,
            wait.as_secs()
        );
        self.due = now + wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Asked = Missed<String, u32>;

    fn open(state: &Path) -> Asked {
        Missed::open(state, ("test", "Test"))
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_rate_limit_delays_the_catch_up_as_long_as_asked() {
        let folder = tempfile::tempdir().unwrap();
        let mut missed = open(folder.path());
        assert_eq!(
            (missed.next(at(0), |_| vec![9]), missed.wait(at(0))),
            (None, None)
        );
        missed.interrupted(Some(7));
        missed.interrupted(Some(8));
        assert_eq!(missed.since(), Some(7), "the older place");
        assert_eq!(missed.next(at(1), |_| vec![1, 2]), Some(1));
        missed.failed(1, &Failure::RetryAfter(at(40)), at(1));
        assert_eq!(missed.next(at(40), |_| Vec::new()), None);
        assert_eq!(missed.wait(at(31)), Some(at(10)));
        assert_eq!(missed.next(at(41), |_| Vec::new()), Some(1));
        missed.answered(vec![3, 4], vec![5]);
        let rest: Vec<u32> = std::iter::from_fn(|| missed.next(at(41), |_| Vec::new())).collect();
        assert_eq!(rest, [3, 4, 2, 5]);
        assert_eq!((missed.since(), missed.wait(at(41))), (None, None));
    }

    #[test]
    fn the_place_survives_a_kill_until_everything_was_asked() {
        let folder = tempfile::tempdir().unwrap();
        let mut missed = open(folder.path());
        missed.interrupted(Some(7));
        missed.note_chat("a".to_owned());
        missed.save().unwrap();
        assert_eq!(missed.next(at(0), |_| vec![1, 2]), Some(1));
        let mut missed = open(folder.path());
        missed.interrupted(Some(100));
        assert_eq!(missed.since(), Some(7));
        assert_eq!(missed.chats(), &["a"]);
        assert_eq!(missed.next(at(0), |_| vec![1]), Some(1));
        missed.answered(Vec::new(), Vec::new());
        assert_eq!(missed.next(at(0), |_| Vec::new()), None);
        assert_eq!(open(folder.path()).since(), None);
    }

    #[test]
    fn a_question_that_always_fails_lets_the_others_pass_and_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let mut missed = open(folder.path());
        missed.interrupted(Some(7));
        let mut now = at(0);
        let (mut others, mut tries) = (0, 0);
        while missed.since().is_some() {
            match missed.next(now, |_| vec![1, 2, 3]) {
                Some(1) => {
                    tries += 1;
                    missed.failed(1, &Failure::Trouble("500".to_owned()), now);
                }
                Some(_) => {
                    assert!(tries <= 3, "behind one that fails");
                    others += 1;
                    missed.answered(Vec::new(), Vec::new());
                }
                None => now += missed.wait(now).unwrap_or_default(),
            }
        }
        assert_eq!(others, 2);
        assert!((MISSED_FAILURES..MISSED_FAILURES + 5).contains(&tries));
        assert!(now > Duration::from_hours(12) && now < Duration::from_hours(48));
    }

    #[test]
    fn the_chats_are_bounded_and_written_when_one_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let mut missed = open(folder.path());
        for number in 0..=MISSED_CHATS {
            missed.note_chat(number.to_string());
        }
        assert_eq!(missed.chats().len(), MISSED_CHATS);
        missed.save().unwrap();
        missed.note_chat("5".to_owned());
        assert!(!missed.has_new_chat);
        std::fs::write(folder.path().join("missed-test.json"), "[").unwrap();
        assert!(open(folder.path()).chats().is_empty());
    }
}
