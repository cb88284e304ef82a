//! What a chat shows of work that goes on. Pure: whoever asks says what time it is.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits::channels::{REACTIONS_WAITING, TYPING_INTERVAL};

/// The state of one chat's display.
#[derive(Debug, Default)]
pub(super) struct Display {
    /// Whether work goes on.
    pub is_working: bool,
    /// When "typing" was shown last.
    typed: Option<Duration>,
    /// The newest draft that is not shown, and when the first one came.
    draft: Option<Draft>,
    since: Option<Duration>,
    /// When the draft was edited last, and what it shows.
    edited: Option<Duration>,
    shown: Option<Draft>,
    /// Messages that get a sign.
    pub reactions: Vec<String>,
    /// Questions that were asked: the message with the buttons, by the question's number.
    pub asked: BTreeMap<u64, Asked>,
}

/// What is to be shown of work that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    /// Markdown.
    pub text: String,
    /// The message that it is about, by its name within the chat; may be empty.
    pub reply_to: String,
}

/// A question's message.
#[derive(Debug)]
pub(super) struct Asked {
    /// Its number in the chat.
    pub message: i64,
    /// Its last piece, as HTML.
    pub html: String,
}

impl Display {
    /// A newer draft takes the place of one that was not shown yet.
    pub fn draft(&mut self, draft: Draft, now: Duration) {
        self.draft = Some(draft);
        self.since.get_or_insert(now);
    }

    /// Whether there is a draft to be shown, and in how long.
    pub fn draft_wait(&self, interval: Duration, now: Duration) -> Option<Duration> {
        self.draft.as_ref()?;
        // An answer that comes at once needs no draft.
        let last = self.edited.or(self.since).unwrap_or_default();
        Some((last + interval).saturating_sub(now))
    }

    /// Takes the draft, to show it now.
    pub fn take_draft(&mut self, now: Duration) -> Option<Draft> {
        self.edited = Some(now);
        self.shown = self.draft.take();
        self.shown.clone()
    }

    /// The draft was taken away, to stand below what is sent now: it is to be shown anew.
    pub fn show_again(&mut self) {
        if self.is_working && self.draft.is_none() {
            self.draft = self.shown.take();
        }
    }

    /// The work's result is there: what was to be shown of it on the way is not any more.
    pub fn forget_draft(&mut self) {
        (self.draft, self.shown) = (None, None);
        (self.since, self.edited) = (None, None);
    }

    /// In how long "typing" has to be shown again; none while nothing goes on.
    pub fn typing_wait(&self, now: Duration) -> Option<Duration> {
        let next = self
            .typed
            .map_or(Duration::ZERO, |typed| typed + TYPING_INTERVAL);
        self.is_working.then(|| next.saturating_sub(now))
    }

    /// "typing" is shown.
    pub fn typed(&mut self, now: Duration) {
        self.typed = Some(now);
    }

    /// A message gets a sign, unless too many wait for theirs.
    pub fn react(&mut self, reference: String) {
        if self.reactions.len() < REACTIONS_WAITING {
            self.reactions.push(reference);
        }
    }

    /// Whether nothing is left to be shown.
    pub fn is_idle(&self) -> bool {
        !self.is_working
            && self.draft.is_none()
            && self.reactions.is_empty()
            && self.asked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_draft_waits_for_its_interval_and_the_newest_counts() {
        let mut display = Display::default();
        let draft = |text: &str| Draft {
            text: text.to_owned(),
            reply_to: String::new(),
        };
        assert_eq!(display.draft_wait(SECOND, Duration::ZERO), None);
        display.draft(draft("a"), 10 * SECOND);
        display.draft(draft("ab"), 10 * SECOND + SECOND / 2);
        assert_eq!(display.draft_wait(SECOND, 10 * SECOND), Some(SECOND));
        assert_eq!(
            display.draft_wait(SECOND, 11 * SECOND),
            Some(Duration::ZERO)
        );
        assert_eq!(display.take_draft(11 * SECOND), Some(draft("ab")));
        assert_eq!(display.draft_wait(SECOND, 11 * SECOND), None);
        display.show_again();
        assert_eq!(display.draft_wait(SECOND, 11 * SECOND), None, "no work");
        display.is_working = true;
        display.show_again();
        assert_eq!(display.take_draft(11 * SECOND), Some(draft("ab")));
        display.draft(draft("abc"), 11 * SECOND);
        assert_eq!(display.draft_wait(SECOND, 11 * SECOND), Some(SECOND));
    }

    #[test]
    fn typing_is_shown_while_work_goes_on() {
        let mut display = Display::default();
        assert_eq!(display.typing_wait(SECOND), None);
        display.is_working = true;
        assert_eq!(display.typing_wait(SECOND), Some(Duration::ZERO));
        display.typed(SECOND);
        assert_eq!(
            display.typing_wait(2 * SECOND),
            Some(TYPING_INTERVAL - SECOND)
        );
        display.is_working = false;
        assert!(display.typing_wait(SECOND).is_none() && display.is_idle());
    }
}
