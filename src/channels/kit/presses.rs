//! How much of a receiver's time people may take with presses and commands that are answered at once: what is received
//! waits meanwhile.

use std::time::Duration;

use crate::base::access::Role;
use crate::base::clock::Stopwatch;
use crate::channels::kit::sink::{Incoming, SharedSink};

/// Time of answers to people who are no owners after which they wait.
const OTHERS_BURST: Duration = Duration::from_secs(3);
/// The same for owners.
const OWNERS_BURST: Duration = Duration::from_secs(10);
/// Part of the time that answers may take in the long run, for owners and for others: a fifth.
const SHARE: u32 = 5;
/// The least time between two answers to people without access, all together.
const STRANGERS_INTERVAL: Duration = Duration::from_secs(10);

/// The time that the answers of one receiver have taken.
pub struct Presses {
    clock: Stopwatch,
    owners: Taken,
    others: Taken,
    /// When someone without access was answered last, on the clock.
    stranger_at: Option<Duration>,
}

/// Time that was taken and has not been waited for.
#[derive(Default)]
struct Taken {
    time: Duration,
    /// When that was, on the clock.
    at: Duration,
}

impl Taken {
    fn is_below(&mut self, burst: Duration, now: Duration) -> bool {
        let waited = now.saturating_sub(self.at) / SHARE;
        self.time = self.time.saturating_sub(waited);
        self.at = now;
        self.time < burst
    }
}

/// The role of the person who has pressed or written something; `None` without access.
pub fn role_of(incoming: &Incoming, intake: &SharedSink) -> Option<Role> {
    match incoming {
        Incoming::Pressed {
            sender,
            username,
            address,
            is_group,
            ..
        } => intake.role(sender, username, is_group.then_some(address)),
        Incoming::Message { envelope, username } => {
            let place = envelope.address();
            let group = envelope.is_group.then_some(&place);
            intake.role(envelope.sender()?, username, group)
        }
        Incoming::Edited { .. } => None,
    }
}

impl Default for Presses {
    fn default() -> Self {
        Self {
            clock: Stopwatch::start(),
            owners: Taken::default(),
            others: Taken::default(),
            stranger_at: None,
        }
    }
}

impl Presses {
    /// Answers someone, unless such people have taken enough time; then `None`. Without a role they have no access.
    pub fn answer<T>(&mut self, role: Option<Role>, call: impl FnOnce() -> T) -> Option<T> {
        let begun = self.clock.elapsed();
        if !self.admits(role, begun) {
            return None;
        }
        let answered = call();
        let took = self.clock.elapsed().saturating_sub(begun);
        self.taken(role).time += took;
        Some(answered)
    }

    fn taken(&mut self, role: Option<Role>) -> &mut Taken {
        match role {
            Some(Role::Owner) => &mut self.owners,
            _ => &mut self.others,
        }
    }

    fn admits(&mut self, role: Option<Role>, now: Duration) -> bool {
        let burst = match role {
            Some(Role::Owner) => OWNERS_BURST,
            _ => OTHERS_BURST,
        };
        if !self.taken(role).is_below(burst, now) {
            return false;
        }
        if role.is_none() {
            let is_early = |at| now.saturating_sub(at) < STRANGERS_INTERVAL;
            if self.stranger_at.is_some_and(is_early) {
                return false;
            }
            self.stranger_at = Some(now);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn others_take_a_fifth_of_the_time_and_nothing_of_an_owners() {
        let mut presses = Presses::default();
        let (user, owner) = (Some(Role::User), Some(Role::Owner));
        let mut answered = 0;
        // Someone presses without end, and each answer takes a second.
        let mut now = Duration::ZERO;
        while now < 100 * SECOND {
            if presses.admits(user, now) {
                answered += 1;
                now += SECOND;
                presses.taken(user).time += SECOND;
            } else {
                now += SECOND / 10;
            }
        }
        assert!((20..=25).contains(&answered), "{answered}");
        assert!(presses.admits(owner, now));
        // One answer that hangs is waited for, too.
        presses.taken(user).time += 50 * SECOND;
        assert!(!presses.admits(user, now + 200 * SECOND));
        assert!(presses.admits(user, now + 270 * SECOND));
    }

    #[test]
    fn strangers_are_answered_once_in_a_while() {
        let mut presses = Presses::default();
        assert!(presses.admits(None, SECOND));
        assert!(!presses.admits(None, 10 * SECOND));
        assert!(presses.admits(Some(Role::Guest), 10 * SECOND));
        assert!(presses.admits(None, 11 * SECOND));
    }
}
