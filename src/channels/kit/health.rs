//! Whether a channel can be reached, for people who ask.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset};

use crate::base::sync::Mutex;

/// What does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// Receiving from the channel.
    Receive,
    /// Storing what was received.
    Accept,
    /// Sending to the channel.
    Send,
}

/// A task that has failed since some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    /// What does not work.
    pub task: Task,
    /// The time of the first failure in a row.
    pub since: DateTime<FixedOffset>,
    /// The last failure.
    pub error: String,
}

/// The outages of one channel. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<Vec<Outage>>>);

impl Health {
    /// The task has failed.
    pub fn failed(&self, task: Task, error: &str, now: DateTime<FixedOffset>) {
        let mut outages = self.0.lock();
        match outages.iter_mut().find(|outage| outage.task == task) {
            Some(outage) => error.clone_into(&mut outage.error),
            None => outages.push(Outage {
                task,
                since: now,
                error: error.to_owned(),
            }),
        }
    }

    /// The task has succeeded.
    pub fn succeeded(&self, task: Task) {
        self.0.lock().retain(|outage| outage.task != task);
    }

    /// What does not work now, receiving first.
    pub fn outages(&self) -> Vec<Outage> {
        let mut outages = self.0.lock().clone();
        outages.sort_by_key(|outage| outage.task);
        outages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_begins_with_the_first_failure_and_has_the_last_error() {
        let at = |minute: i64| {
            DateTime::from_timestamp(60 * minute, 0)
                .unwrap()
                .fixed_offset()
        };
        let health = Health::default();
        health.failed(Task::Send, "no route", at(1));
        health.failed(Task::Send, "timeout", at(2));
        health.failed(Task::Receive, "no route", at(3));
        let outages = health.outages();
        let seen: Vec<_> = outages.iter().map(|one| (one.task, one.since)).collect();
        assert_eq!(seen, [(Task::Receive, at(3)), (Task::Send, at(1))]);
        assert_eq!(outages[1].error, "timeout");
        health.succeeded(Task::Send);
        health.succeeded(Task::Receive);
        assert_eq!(health.outages(), []);
    }
}
