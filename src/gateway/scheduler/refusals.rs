//! Messages that find no room: their chats are told, together where there are many.

use super::{Action, RefusalReason, Scheduler};
use crate::base::message::Envelope;

/// Messages that a refusal names; it counts the others.
pub(super) const REFUSED_NAMES_MAX: usize = 10;
/// The same over all chats.
pub(super) const REFUSED_NAMES_ALL_MAX: usize = 200;
/// Messages that are only counted until the chat is told of them, at first; each time ten times as many.
/// A kill takes the count.
const REFUSED_COUNT_MAX: usize = 100;

/// The refused messages that a chat has not been told of. In a flood they are only counted.
#[derive(Debug, Default)]
pub(super) struct Refused {
    pub named: Vec<Envelope>,
    more: usize,
    /// The count at which the chat is told.
    count_max: usize,
}

impl Scheduler {
    /// A chat is told of its first refusal at once, and of the following ones together when some work has
    /// ended: a flood of messages causes no flood of refusals.
    pub(super) fn refuse(
        &mut self,
        message: Envelope,
        reason: RefusalReason,
        actions: &mut Vec<Action>,
    ) {
        let key = (message.address(), reason);
        // What is named waits in the inbox.
        let named = self.refused.values().map(|others| others.named.len());
        let may_name = named.sum::<usize>() < REFUSED_NAMES_ALL_MAX;
        match self.refused.get_mut(&key) {
            Some(others) if may_name && others.named.len() < REFUSED_NAMES_MAX => {
                others.named.push(message)
            }
            Some(others) => {
                others.more += 1;
                let is_full = others.more >= others.count_max;
                actions.push(Action::Forget(Box::new(message)));
                if is_full {
                    // A flood that continues is reported less and less often.
                    others.count_max = others.count_max.saturating_mul(10);
                    self.report_refused(actions);
                }
            }
            None => {
                let count_max = REFUSED_COUNT_MAX;
                self.refused.insert(
                    key,
                    Refused {
                        count_max,
                        ..Refused::default()
                    },
                );
                actions.push(Action::Refuse {
                    messages: vec![message],
                    more: 0,
                    reason,
                });
            }
        }
    }

    pub(super) fn report_refused(&mut self, actions: &mut Vec<Action>) {
        self.refused.retain(|(_, reason), refused| {
            if refused.named.is_empty() {
                return false;
            }
            let named = std::mem::take(&mut refused.named);
            let more = std::mem::take(&mut refused.more);
            actions.push(Action::Refuse {
                messages: named,
                more,
                reason: *reason,
            });
            true
        });
    }
}
