//! Which messages are new. Pure.
//!
//! After an interruption WhatsApp delivers what was written meanwhile, which is to be answered, and sometimes
//! messages that were delivered long before, which must not be: their commands would run again. So nothing counts
//! that is older than the newest message before the interruption. Within a small overlap, ids tell what is new.

/// Seconds by which a message may be older than the newest one before an interruption: messages of different chats
/// come slightly out of order.
const OVERLAP_SECS: i64 = 10 * 60;
/// Seconds that the newest message is ahead of the one on the disk before the disk is written again. Fewer would
/// wear the card, and the overlap is longer.
const SAVE_SECS: i64 = 60;
/// Seconds that a message's time may be ahead of the clock; what is later counts as now.
const AHEAD_SECS: i64 = 10 * 60;

/// The times of messages, in seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Of the newest message that was accepted.
    newest: Option<i64>,
    /// The same at the last interruption.
    before: Option<i64>,
    /// The same on the disk.
    saved: Option<i64>,
}

impl History {
    /// A history whose newest message is what the disk says.
    pub fn new(saved: Option<i64>) -> Self {
        Self {
            newest: saved,
            before: saved,
            saved,
        }
    }

    /// The connection was interrupted, or begins: what comes now may be a repetition.
    pub fn interrupted(&mut self) {
        self.before = self.newest;
    }

    /// Whether a message of this time is to be accepted. One without a time is.
    pub fn is_new(&self, time: Option<i64>) -> bool {
        match (time, self.before) {
            (Some(time), Some(before)) => time >= before.saturating_sub(OVERLAP_SECS),
            _ => true,
        }
    }

    /// A message of this time was accepted at `now`. Returns what is to be saved, if it is worth it.
    pub fn accepted(&mut self, time: Option<i64>, now: i64) -> Option<i64> {
        // A wrong clock of someone else must not make us deaf.
        let time = time?.min(now.saturating_add(AHEAD_SECS));
        self.newest = self.newest.max(Some(time));
        let is_due = self
            .saved
            .is_none_or(|saved| time >= saved.saturating_add(SAVE_SECS));
        is_due.then(|| {
            self.saved = Some(time);
            time
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_732_390_000;

    #[test]
    fn what_was_written_meanwhile_is_new_and_what_is_older_is_not() {
        let mut history = History::new(Some(NOW));
        // Two days later the chats come one after the other, each with its own times.
        let later = NOW + 2 * 86_400;
        for time in [NOW + 86_400, NOW + 3_600, NOW + 7_200, NOW - 30] {
            assert!(history.is_new(Some(time)), "{time}");
            history.accepted(Some(time), later);
        }
        assert!(!history.is_new(Some(NOW - OVERLAP_SECS - 1)));
        history.interrupted();
        assert!(!history.is_new(Some(NOW + 7_200)), "it came before");
        assert!(history.is_new(Some(NOW + 86_400 - 5)));
    }

    #[test]
    fn without_a_past_or_a_time_everything_is_new() {
        let mut history = History::new(None);
        assert!(history.is_new(Some(1)));
        assert_eq!(history.accepted(Some(NOW), NOW), Some(NOW));
        history.interrupted();
        assert!(history.is_new(None) && !history.is_new(Some(1)));
        assert_eq!(history.accepted(None, NOW), None);
    }

    #[test]
    fn the_disk_is_written_once_a_minute_at_most() {
        let mut history = History::new(Some(NOW));
        let saved =
            (0..600).filter_map(|second| history.accepted(Some(NOW + second), NOW + second));
        assert_eq!(saved.count(), 9);
    }

    #[test]
    fn a_time_in_the_future_counts_as_little_more_than_now() {
        let mut history = History::new(None);
        assert_eq!(
            history.accepted(Some(i64::MAX), NOW),
            Some(NOW + AHEAD_SECS)
        );
        history.interrupted();
        assert!(history.is_new(Some(NOW)));
    }
}
