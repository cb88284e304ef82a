//! The person of a turn, and how often owners are asked in the place of other people: each question rings in their chat.

use std::collections::VecDeque;
use std::time::Duration;

use super::ChatHost;
use crate::base::access::Role;
use crate::base::clock::Stopwatch;
use crate::base::sync::Mutex;

/// The time in which questions are counted.
const ASKED_TIME: Duration = Duration::from_mins(10);
/// Questions for one person in that time.
const ASKED_FOR_ONE: usize = 5;
/// The same for all people together.
const ASKED_FOR_ALL: usize = 20;

/// The questions of other people that owners were asked in the last minutes.
pub struct OwnersAsked {
    clock: Stopwatch,
    /// Each with its person and its time on the clock, the newest at the end.
    asked: Mutex<VecDeque<(String, Duration)>>,
}

impl OwnersAsked {
    /// None were asked.
    pub fn new() -> Self {
        Self {
            clock: Stopwatch::start(),
            asked: Mutex::default(),
        }
    }

    /// Whether an owner may be asked for a person once more. If so, it counts.
    fn admits(&self, person: &str) -> bool {
        self.admits_at(person, self.clock.elapsed())
    }

    fn admits_at(&self, person: &str, now: Duration) -> bool {
        let mut asked = self.asked.lock();
        asked.retain(|(_, at)| now.saturating_sub(*at) < ASKED_TIME);
        let own = asked.iter().filter(|(other, _)| other == person).count();
        if own >= ASKED_FOR_ONE || asked.len() >= ASKED_FOR_ALL {
            return false;
        }
        asked.push_back((person.to_owned(), now));
        true
    }
}

impl ChatHost<'_> {
    /// The role of the person for whom the turn is: of a job, a watch or a subagent the one who has caused it, and an
    /// owner where no person of a chat has.
    pub(super) fn payer(&self) -> Role {
        if self.is_typed() {
            return self.role;
        }
        let role = |author| self.gateway.role_in(&self.reply, Some(author), self.role);
        match &self.author {
            Some(author) => role(author).unwrap_or(self.role),
            None => Role::Owner,
        }
    }

    /// Whether a person's message has begun it.
    fn is_typed(&self) -> bool {
        !self.is_quiet() && !self.is_report
    }

    /// Whether an owner may be asked in the place of this turn's person.
    pub(super) fn may_ask_owner(&self) -> bool {
        let person = match &self.author {
            Some(author) => format!("{}:{}", self.reply.channel, author.id),
            None => self.reply.to_string(),
        };
        self.gateway.owners_asked.admits(&person)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_and_all_together_ask_owners_a_few_times_in_ten_minutes() {
        let minutes = Duration::from_mins;
        let asked = OwnersAsked::new();
        let count = |person: &str, now| {
            let admitted = (0..50).filter(|_| asked.admits_at(person, now));
            admitted.count()
        };
        assert_eq!(count("a", minutes(0)), ASKED_FOR_ONE);
        assert_eq!(count("a", minutes(9)), 0);
        for person in ["b", "c", "d"] {
            assert_eq!(count(person, minutes(9)), ASKED_FOR_ONE);
        }
        assert_eq!(count("e", minutes(9)), 0);
        // Those of the first one are forgotten by then.
        assert_eq!(count("a", minutes(10)), ASKED_FOR_ONE);
        assert_eq!(count("e", minutes(10)), 0);
        assert_eq!(count("e", minutes(19)), ASKED_FOR_ONE);
    }
}
