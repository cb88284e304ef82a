//! Which conversations are to be consolidated, and when. Pure: times are spans since the gateway's start.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::agent::consolidate::{Why, backoff};
use crate::base::message::SessionKey;

/// Conversations that wait for their consolidation; the least urgent one is left out.
const WAITING_MAX: usize = 64;

/// What is to be done, one conversation at a time.
#[derive(Debug, Default)]
pub struct Plan {
    waiting: BTreeMap<Target, Due>,
    is_running: bool,
}

/// A conversation of an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The agent's id.
    pub agent: String,
    /// The conversation.
    pub key: SessionKey,
}

/// When a conversation is to be consolidated.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Due {
    why: Why,
    at: Duration,
    /// Failures in a row.
    failures: u32,
}

/// A conversation whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The conversation.
    pub target: Target,
    /// Why it is consolidated.
    pub why: Why,
    /// Failures in a row before this attempt.
    pub failures: u32,
}

impl Plan {
    /// Adds a conversation that is due at `at`; each is in the plan once. The more urgent reason stays. One
    /// that waits after a failure goes on waiting, unless a person has asked.
    pub fn add(&mut self, target: &Target, why: Why, at: Duration) {
        if let Some(due) = self.waiting.get_mut(target) {
            // A conversation that goes on is idle later.
            let is_later_idle = why == Why::Idle && due.why == Why::Idle;
            if why == Why::Asked || (due.failures == 0 && (why > due.why || is_later_idle)) {
                due.at = at;
            }
            due.why = due.why.max(why);
            return;
        }
        if self.waiting.len() >= WAITING_MAX {
            let least = self
                .waiting
                .iter()
                .min_by_key(|(_, due)| (due.why, std::cmp::Reverse(due.at)));
            let least = least.map(|(key, due)| (key.clone(), due.why));
            match least {
                // The next message there, or the next start, finds it again.
                Some((key, least)) if least < why => self.waiting.remove(&key),
                _ => return,
            };
        }
        let due = Due {
            why,
            at,
            failures: 0,
        };
        self.waiting.insert(target.clone(), due);
    }

    /// Takes the most urgent conversation that is due; `None` while one is being consolidated.
    pub fn next(&mut self, now: Duration) -> Option<Job> {
        if self.is_running {
            return None;
        }
        let due = self.waiting.iter().filter(|(_, due)| due.at <= now);
        let (key, _) = due.max_by_key(|(_, due)| (due.why, std::cmp::Reverse(due.at)))?;
        let (target, due) = self.waiting.remove_entry(&key.clone())?;
        self.is_running = true;
        Some(Job {
            target,
            why: due.why,
            failures: due.failures,
        })
    }

    /// The conversation of [`next`](Self::next) is done with.
    pub fn done(&mut self) {
        self.is_running = false;
    }

    /// The conversation of [`next`](Self::next) has failed: it is tried again later. What a person has asked
    /// for is reported to them instead. Returns after which time, if so.
    pub fn failed(&mut self, job: &Job, now: Duration) -> Option<Duration> {
        self.is_running = false;
        if job.why == Why::Asked {
            return None;
        }
        let wait = backoff(job.failures);
        self.add(&job.target, job.why, now + wait);
        let due = self.waiting.get_mut(&job.target)?;
        if due.why != Why::Asked {
            due.at = now + wait;
            due.failures = job.failures + 1;
        }
        Some(wait)
    }

    /// Whether a conversation is being consolidated.
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// When the next conversation is due; `None` when there is none, or one is being consolidated.
    pub fn next_at(&self) -> Option<Duration> {
        let next = self.waiting.values().map(|due| due.at).min();
        next.filter(|_| !self.is_running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Target {
        Target {
            agent: "main".to_owned(),
            key: SessionKey::parse(name),
        }
    }

    fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn one_at_a_time_the_most_urgent_first() {
        let mut plan = Plan::default();
        plan.add(&key("telegram:1"), Why::Idle, secs(100));
        plan.add(&key("telegram:2"), Why::Window, secs(5));
        plan.add(&key("telegram:3"), Why::New, secs(6));
        assert_eq!(plan.next_at(), Some(secs(5)));
        assert_eq!(plan.next(secs(4)), None);
        let mut taken = |now| {
            let job = plan.next(secs(now))?;
            assert_eq!(plan.next(secs(now)), None, "one at a time");
            assert_eq!(plan.next_at(), None);
            plan.done();
            Some(job.target.key.to_string())
        };
        assert_eq!(taken(7).as_deref(), Some("telegram:3"));
        assert_eq!(taken(7).as_deref(), Some("telegram:2"));
        assert_eq!(taken(7), None);
        assert_eq!(taken(100).as_deref(), Some("telegram:1"));
        assert_eq!(plan.next_at(), None);
    }

    #[test]
    fn a_conversation_is_in_the_plan_once_and_is_idle_after_its_last_turn() {
        let mut plan = Plan::default();
        for turn in 0..5 {
            plan.add(&key("telegram:1"), Why::Idle, secs(100 + turn));
        }
        assert_eq!(plan.next_at(), Some(secs(104)));
        plan.add(&key("telegram:1"), Why::Window, secs(7));
        plan.add(&key("telegram:1"), Why::Idle, secs(200));
        let job = plan.next(secs(7)).unwrap();
        assert_eq!((job.why, plan.next_at()), (Why::Window, None));
        plan.done();
        assert_eq!(plan.next_at(), None);
    }

    #[test]
    fn failures_wait_longer_and_longer_and_a_person_need_not_wait() {
        let mut plan = Plan::default();
        let (mut now, mut waits) = (secs(0), Vec::new());
        plan.add(&key("telegram:1"), Why::New, now);
        for _ in 0..12 {
            let job = plan.next(now).unwrap();
            // Another turn ends meanwhile.
            plan.add(&key("telegram:1"), Why::Window, now);
            let wait = plan.failed(&job, now).unwrap();
            plan.add(&key("telegram:1"), Why::Window, now);
            assert_eq!(plan.next_at(), Some(now + wait));
            waits.push(wait.as_secs() / 60);
            now += wait;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360, 360]);
        let early = now - secs(1);
        assert_eq!(plan.next(early), None);
        plan.add(&key("telegram:1"), Why::Asked, early);
        let job = plan.next(early).unwrap();
        assert_eq!(job.why, Why::Asked);
        assert_eq!(plan.failed(&job, early), None);
        assert_eq!(plan.next_at(), None, "the person has been told");
    }

    #[test]
    fn a_full_plan_drops_the_least_urgent() {
        let mut plan = Plan::default();
        for number in 0..2 * WAITING_MAX {
            plan.add(&key(&format!("telegram:{number}")), Why::Idle, secs(9));
        }
        assert_eq!(plan.waiting.len(), WAITING_MAX);
        plan.add(&key("telegram:new"), Why::New, secs(9));
        assert_eq!(plan.waiting.len(), WAITING_MAX);
        assert_eq!(plan.next(secs(9)).unwrap().target, key("telegram:new"));
    }
}
