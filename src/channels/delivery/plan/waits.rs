//! What waits for another attempt, for people who ask.

use super::*;

/// A chat whose messages wait for another attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The chat.
    pub to: Address,
    /// Its next message in the outbox; `None` for a question or a text that is not stored.
    pub message: Option<u64>,
    /// For how long its messages have failed, in this run of the program.
    pub lasts: Duration,
    /// The time until the next attempt.
    pub next: Duration,
    /// The last failure.
    pub why: String,
}

impl Plan {
    /// What waits for another attempt, and why: messages of the outbox by their numbers, else questions and texts.
    pub fn waits(&self, now: Duration) -> Vec<Wait> {
        let chats = self
            .destinations
            .iter()
            .filter(|(_, it)| it.messages.count > 0);
        let asked = chats.filter_map(|(to, destination)| {
            let head = self.backlog.heads.iter().find(|head| head.to == *to);
            let is_asked = self.notices.iter().any(|notice| notice.to == *to);
            (head.is_some() || is_asked).then(|| Wait {
                to: to.clone(),
                message: head.map(|head| head.id),
                lasts: now.saturating_sub(destination.messages.since),
                next: destination.messages.until.saturating_sub(now),
                why: destination.why.clone(),
            })
        });
        let held = self.backlog.heads.iter().filter_map(|head| {
            let next = self.pace.held_until(&head.to.chat).saturating_sub(now);
            let has_failed = self
                .destinations
                .get(&head.to)
                .is_some_and(|it| it.messages.count > 0);
            (!next.is_zero() && !has_failed).then(|| Wait {
                to: head.to.clone(),
                message: Some(head.id),
                lasts: Duration::ZERO,
                next,
                why: "rate-limited".to_owned(),
            })
        });
        asked.chain(held).collect()
    }
}
