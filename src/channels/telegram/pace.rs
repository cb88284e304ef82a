//! How fast messages may go out: Telegram's limits, kept before it has to enforce them.
//! <https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this>

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::limits::channels::{
    CHAT_INTERVAL, GROUP_MESSAGES, GROUP_SPAN, TOTAL_MESSAGES, TOTAL_SPAN,
};

/// When messages went out, in time since some start. Pure: whoever asks says what time it is.
#[derive(Debug, Default)]
pub(super) struct Pace {
    all: VecDeque<Duration>,
    chats: BTreeMap<i64, Chat>,
}

#[derive(Debug, Default)]
struct Chat {
    sent: VecDeque<Duration>,
    /// Telegram has said how long to wait.
    held: Duration,
}

impl Pace {
    /// How long a message to a chat has to wait. Groups have negative ids.
    pub fn wait(&self, chat: i64, now: Duration) -> Duration {
        let mut until = over(&self.all, TOTAL_MESSAGES, TOTAL_SPAN);
        if let Some(of_chat) = self.chats.get(&chat) {
            until = until
                .max(of_chat.held)
                .max(over(&of_chat.sent, 1, CHAT_INTERVAL));
            if chat < 0 {
                until = until.max(over(&of_chat.sent, GROUP_MESSAGES, GROUP_SPAN));
            }
        }
        until.saturating_sub(now)
    }

    /// How long something that is only shown has to wait: in groups it leaves half of the messages to
    /// those that are owed.
    pub fn draft_wait(&self, chat: i64, now: Duration) -> Duration {
        let wait = self.wait(chat, now);
        match self.chats.get(&chat) {
            Some(of_chat) if chat < 0 => {
                let until = over(&of_chat.sent, GROUP_MESSAGES / 2, GROUP_SPAN);
                wait.max(until.saturating_sub(now))
            }
            _ => wait,
        }
    }

    /// A message has gone out.
    pub fn sent(&mut self, chat: i64, now: Duration) {
        push(&mut self.all, TOTAL_MESSAGES, now);
        // Chats that are quiet hold nothing any more.
        self.chats.retain(|_, chat| {
            let last = chat.sent.back().copied().unwrap_or_default();
            now.saturating_sub(last) < GROUP_SPAN || chat.held > now
        });
        push(
            &mut self.chats.entry(chat).or_default().sent,
            GROUP_MESSAGES,
            now,
        );
    }

    /// How long Telegram wants nothing at all for a chat.
    pub fn held(&self, chat: i64, now: Duration) -> Duration {
        let held = self.chats.get(&chat).map_or(Duration::ZERO, |of| of.held);
        held.saturating_sub(now)
    }

    /// Telegram wants a chat to wait.
    pub fn hold(&mut self, chat: i64, time: Duration, now: Duration) {
        self.chats.entry(chat).or_default().held = now + time;
    }
}

/// Until when the next one has to wait, so that no span holds more than `most`.
fn over(sent: &VecDeque<Duration>, most: usize, span: Duration) -> Duration {
    let first = sent
        .len()
        .checked_sub(most)
        .and_then(|index| sent.get(index));
    first.map_or(Duration::ZERO, |first| *first + span)
}

fn push(sent: &mut VecDeque<Duration>, most: usize, now: Duration) {
    if sent.len() >= most {
        sent.pop_front();
    }
    sent.push_back(now);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_chat_gets_one_a_second_and_a_group_twenty_a_minute() {
        let mut pace = Pace::default();
        let at = |seconds| Duration::from_secs(seconds);
        pace.sent(1, at(10));
        assert_eq!(pace.wait(1, at(10)), CHAT_INTERVAL);
        assert_eq!(pace.wait(2, at(10)), Duration::ZERO, "another chat");
        assert_eq!(pace.wait(1, at(12)), Duration::ZERO);
        for second in 100..120 {
            assert_eq!(pace.wait(-5, at(second)), Duration::ZERO);
            pace.sent(-5, at(second));
        }
        assert_eq!(pace.wait(-5, at(120)), at(40));
        for second in 200..210 {
            assert_eq!(pace.draft_wait(-5, at(second)), Duration::ZERO);
            pace.sent(-5, at(second));
        }
        assert_eq!(pace.draft_wait(-5, at(210)), at(50));
        assert_eq!(pace.wait(-5, at(210)), Duration::ZERO);
    }

    #[test]
    fn what_telegram_asks_for_is_waited_for() {
        let mut pace = Pace::default();
        pace.hold(1, Duration::from_secs(7), Duration::from_secs(100));
        assert_eq!(pace.wait(1, Duration::from_secs(101)).as_secs(), 6);
        assert_eq!(pace.held(1, Duration::from_secs(101)).as_secs(), 6);
        assert_eq!(pace.wait(2, Duration::from_secs(101)), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn who_waits_as_long_as_it_is_told_keeps_every_limit(
            chats in proptest::collection::vec(-3i64..4, 1..300),
        ) {
            let mut pace = Pace::default();
            let mut now = Duration::ZERO;
            let mut sent: Vec<(i64, Duration)> = Vec::new();
            for chat in chats {
                now += pace.wait(chat, now);
                pace.sent(chat, now);
                sent.push((chat, now));
                let within = |span: Duration, of: &dyn Fn(i64) -> bool| {
                    sent.iter().filter(|(other, at)| of(*other) && now - *at < span).count()
                };
                prop_assert!(within(TOTAL_SPAN, &|_| true) <= TOTAL_MESSAGES);
                prop_assert!(within(CHAT_INTERVAL, &|other| other == chat) <= 1);
                prop_assert!(chat >= 0 || within(GROUP_SPAN, &|other| other == chat) <= GROUP_MESSAGES);
            }
        }
    }
}
