//! How fast messages may be sent: the channel's limits, respected before it has to enforce them. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What a channel allows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The least time between two messages to one chat.
    pub chat_interval: Duration,
    /// Messages to one group, and the span that they are counted in.
    pub group_rate: (usize, Duration),
    /// Messages to all chats, and the span that they are counted in.
    pub total_rate: (usize, Duration),
}

/// When messages were sent, as time since some start.
#[derive(Debug)]
pub(super) struct Pace {
    limits: Limits,
    all: VecDeque<Duration>,
    chats: BTreeMap<String, Chat>,
}

#[derive(Debug, Default)]
struct Chat {
    sent: VecDeque<Duration>,
    /// Until when the channel accepts nothing for this chat.
    held: Duration,
    /// The same for drafts alone.
    drafts_held: Duration,
}

impl Pace {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            all: VecDeque::new(),
            chats: BTreeMap::new(),
        }
    }

    /// When the next message to a chat may be sent.
    pub fn message_at(&self, chat: &str, is_group: bool) -> Duration {
        let (group_count, group_span) = self.limits.group_rate;
        self.at(chat, is_group.then_some((group_count, group_span)))
    }

    /// When the next draft may be shown. In a group drafts leave half of the rate to messages.
    pub fn draft_at(&self, chat: &str, is_group: bool) -> Duration {
        let (group_count, group_span) = self.limits.group_rate;
        let half = (group_count.div_ceil(2), group_span);
        let at = self.at(chat, is_group.then_some(half));
        at.max(self.drafts_held_until(chat))
    }

    fn at(&self, chat: &str, group_rate: Option<(usize, Duration)>) -> Duration {
        let (total_count, total_span) = self.limits.total_rate;
        let at = free_at(&self.all, total_count, total_span);
        let Some(chat) = self.chats.get(chat) else {
            return at;
        };
        let of_group = group_rate.map(|(count, span)| free_at(&chat.sent, count, span));
        at.max(chat.held)
            .max(free_at(&chat.sent, 1, self.limits.chat_interval))
            .max(of_group.unwrap_or_default())
    }

    /// Until when the channel accepts nothing for a chat.
    pub fn held_until(&self, chat: &str) -> Duration {
        self.chats
            .get(chat)
            .map_or(Duration::ZERO, |chat| chat.held)
    }

    /// The same for drafts.
    pub fn drafts_held_until(&self, chat: &str) -> Duration {
        let held = |chat: &Chat| chat.held.max(chat.drafts_held);
        self.chats.get(chat).map_or(Duration::ZERO, held)
    }

    /// The channel accepts no drafts for a chat until then. It may accept messages, for which the limits are others.
    pub fn hold_drafts(&mut self, chat: &str, until: Duration) {
        let chat = self.chats.entry(chat.to_owned()).or_default();
        chat.drafts_held = chat.drafts_held.max(until);
    }

    /// The channel accepts nothing for a chat until then.
    pub fn hold(&mut self, chat: &str, until: Duration) {
        let chat = self.chats.entry(chat.to_owned()).or_default();
        chat.held = chat.held.max(until);
    }

    /// A message goes out now.
    pub fn begin(&mut self, chat: &str, now: Duration) {
        let span = self.limits.group_rate.1.max(self.limits.chat_interval);
        // Chats that have been quiet limit nothing any longer.
        self.chats.retain(|_, chat| {
            let last = chat.sent.back().copied().unwrap_or_default();
            last + span > now || chat.held.max(chat.drafts_held) > now
        });
        push(&mut self.all, self.limits.total_rate.0, now);
        let chat = self.chats.entry(chat.to_owned()).or_default();
        push(&mut chat.sent, self.limits.group_rate.0, now);
    }

    /// The message that went out at `begun` has been answered now. Until then it is unknown when the
    /// channel counted it, so the later time counts.
    pub fn end(&mut self, chat: &str, begun: Duration, now: Duration) {
        delay(&mut self.all, begun, now);
        if let Some(chat) = self.chats.get_mut(chat) {
            delay(&mut chat.sent, begun, now);
        }
    }
}

/// When one more may follow so that no span holds more than `count`.
fn free_at(sent: &VecDeque<Duration>, count: usize, span: Duration) -> Duration {
    let first = sent.len().checked_sub(count.max(1));
    let first = first.and_then(|index| sent.get(index));
    first.map_or(Duration::ZERO, |first| *first + span)
}

fn push(sent: &mut VecDeque<Duration>, count: usize, now: Duration) {
    if sent.len() >= count.max(1) {
        sent.pop_front();
    }
    sent.push_back(now);
}

/// Moves an entry to a later time, and so to the end.
fn delay(sent: &mut VecDeque<Duration>, from: Duration, to: Duration) {
    if let Some(index) = sent.iter().position(|at| *at == from) {
        sent.remove(index);
        sent.push_back(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    const LIMITS: Limits = Limits {
        chat_interval: SECOND,
        group_rate: (20, Duration::from_secs(60)),
        total_rate: (30, SECOND),
    };

    #[test]
    fn a_chat_gets_one_a_second_and_a_group_twenty_a_minute() {
        let mut pace = Pace::new(LIMITS);
        let at = |seconds| Duration::from_secs(seconds);
        pace.begin("1", at(10));
        assert_eq!(pace.message_at("1", false), at(11));
        assert_eq!(pace.message_at("2", false), Duration::ZERO, "another chat");
        pace.end("1", at(10), at(15));
        assert_eq!(pace.message_at("1", false), at(16));
        for second in 100..120 {
            assert!(pace.message_at("5", true) <= at(second));
            pace.begin("5", at(second));
        }
        assert_eq!(pace.message_at("5", true), at(160));
        for second in 200..210 {
            assert!(pace.draft_at("5", true) <= at(second));
            pace.begin("5", at(second));
        }
        assert_eq!(pace.draft_at("5", true), at(260));
        assert_eq!(pace.message_at("5", true), at(210));
    }

    #[test]
    fn a_hold_concerns_one_chat() {
        let mut pace = Pace::new(LIMITS);
        pace.hold("1", Duration::from_secs(107));
        assert_eq!(pace.message_at("1", false).as_secs(), 107);
        assert_eq!(pace.held_until("1").as_secs(), 107);
        assert_eq!(pace.message_at("2", false), Duration::ZERO);
    }

    #[test]
    fn a_hold_of_drafts_holds_no_message() {
        let mut pace = Pace::new(LIMITS);
        pace.hold_drafts("1", Duration::from_secs(20));
        assert_eq!(pace.drafts_held_until("1").as_secs(), 20);
        assert_eq!(pace.draft_at("1", false).as_secs(), 20);
        assert_eq!(pace.held_until("1"), Duration::ZERO);
        assert_eq!(pace.message_at("1", false), Duration::ZERO);
        pace.begin("2", Duration::from_secs(10));
        assert_eq!(pace.draft_at("1", false).as_secs(), 20, "it is remembered");
    }

    proptest! {
        #[test]
        fn waiting_as_long_as_asked_keeps_every_limit(
            chats in proptest::collection::vec((0u8..7, 0u64..3000), 1..300),
        ) {
            let mut pace = Pace::new(LIMITS);
            let mut now = Duration::ZERO;
            let mut sent: Vec<(u8, Duration)> = Vec::new();
            for (chat, millis) in chats {
                let (name, is_group) = (chat.to_string(), chat < 3);
                now = now.max(pace.message_at(&name, is_group));
                pace.begin(&name, now);
                let begun = now;
                now += Duration::from_millis(millis / 10);
                pace.end(&name, begun, now);
                sent.push((chat, now));
                let within = |span: Duration, of: &dyn Fn(u8) -> bool| {
                    sent.iter().filter(|(other, at)| of(*other) && now - *at < span).count()
                };
                prop_assert!(within(SECOND, &|_| true) <= 30);
                prop_assert!(within(SECOND, &|other| other == chat) <= 1);
                prop_assert!(!is_group || within(Duration::from_secs(60), &|other| other == chat) <= 20);
            }
        }
    }
}
