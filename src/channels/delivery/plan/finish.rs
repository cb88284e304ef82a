//! What a job changes when it begins, and what its outcome means.

use std::time::Duration;

use super::{Failures, Plan, Work};
use crate::base::limits::channels::LONGEST_BACKOFF;
use crate::base::message::Address;
use crate::channels::delivery::job::{Content, Job, Outcome, Report, Ticket};
use crate::channels::kit::stream::backoff::{doubled, doubled_from, jittered};

/// The first wait after the quick tries for a message; each further one is twice as long.
const SLOW_WAIT: Duration = Duration::from_secs(15);

impl Plan {
    pub(super) fn begin(&mut self, job: &Job, now: Duration) {
        match job {
            Job::Deliver { to, has_files, .. } => {
                self.call(to);
                self.destinations
                    .entry(to.clone())
                    .or_default()
                    .is_transferring = *has_files;
                self.pace.begin(&to.chat, now);
            }
            Job::SetAside { to, .. } | Job::Delete { to, .. } => self.call(to),
            Job::Show { to, key, .. } => {
                self.call(to);
                if !self.works.get(key).is_some_and(Work::is_previewed) {
                    self.pace.begin(&to.chat, now);
                }
                let mut questions = self.notices.iter().filter(|notice| {
                    let is_question = matches!(notice.content, Content::Question(_));
                    is_question && notice.to == *to && notice.message.is_none()
                });
                let serial = questions.next().map(|notice| notice.serial);
                if let Some(work) = self.works.get_mut(key) {
                    work.shown_before = serial.unwrap_or(work.shown_before);
                    work.showing(now);
                }
            }
            Job::Notify { to, serial, .. } => {
                self.call(to);
                self.pace.begin(&to.chat, now);
                self.set_busy(*serial, true);
            }
            Job::Settle { to, serial, .. } => {
                self.call(to);
                self.set_busy(*serial, true);
            }
            Job::Remove { to, message } => {
                self.call(to);
                self.removals
                    .retain(|(other, waiting)| other != to || waiting != message);
            }
            Job::React { to, message } => {
                self.reactions
                    .retain(|(other, waiting)| other != to || waiting != message);
                self.destinations.entry(to.clone()).or_default().is_reacting = true;
            }
            Job::Type { to } => {
                let next = now + self.capabilities.typing_interval.unwrap_or_default();
                let works = self.works.values_mut().filter(|work| work.to == *to);
                works
                    .filter_map(|work| work.typing_at.as_mut())
                    .for_each(|at| *at = next);
                self.destinations.entry(to.clone()).or_default().is_reacting = true;
            }
            Job::SetMenu => self.menu_at = None,
        }
    }

    /// Takes the outcome of a job into account. `chance` is a random number from 0 to 1, for the
    /// jitter of waits.
    pub fn finish(
        &mut self,
        ticket: Ticket,
        outcome: Outcome,
        now: Duration,
        chance: f32,
    ) -> Vec<Report> {
        let Ticket {
            job,
            is_slow,
            begun,
        } = ticket;
        self.running = self.running.saturating_sub(1);
        self.slow = self.slow.saturating_sub(usize::from(is_slow));
        if let Job::Deliver { to, .. } | Job::Show { to, .. } | Job::Notify { to, .. } = &job {
            self.pace.end(&to.chat, begun, now);
        }
        self.free(&job);
        let mut reports = Vec::new();
        match &outcome {
            Outcome::Done { .. }
            | Outcome::Previewed
            | Outcome::Dropped
            | Outcome::Moved
            | Outcome::RetryAfter(_) => {
                if self.outage.count > 0 {
                    self.outage = Failures::default();
                    reports.push(Report::Back);
                }
            }
            Outcome::Trouble(_) | Outcome::Down(_) | Outcome::Stopped => {}
        }
        match outcome {
            Outcome::Done { message, is_last } => {
                self.answered(&job, now);
                self.succeeded(&job, message, is_last);
            }
            Outcome::Previewed => {
                self.answered(&job, now);
                if let Job::Show { key, .. } = &job
                    && let Some(work) = self.works.get_mut(key)
                {
                    work.previewed();
                }
            }
            Outcome::Dropped | Outcome::Moved => {
                self.answered(&job, now);
                self.dropped(&job);
            }
            failed => {
                self.restore(&job, now);
                reports.extend(self.failed(&job, failed, (begun, now), chance));
            }
        }
        self.forget_works();
        self.destinations
            .retain(|_, destination| !destination.is_idle(now));
        reports
    }

    fn call(&mut self, to: &Address) {
        self.destinations.entry(to.clone()).or_default().calls += 1;
    }

    fn set_busy(&mut self, serial: u64, is_busy: bool) {
        let mut notices = self.notices.iter_mut();
        if let Some(notice) = notices.find(|notice| notice.serial == serial) {
            notice.is_busy = is_busy;
        }
    }

    /// The job's call has ended.
    fn free(&mut self, job: &Job) {
        match job {
            Job::Deliver { to, .. }
            | Job::SetAside { to, .. }
            | Job::Delete { to, .. }
            | Job::Remove { to, .. }
            | Job::Show { to, .. }
            | Job::Notify { to, .. }
            | Job::Settle { to, .. } => {
                if let Some(destination) = self.destinations.get_mut(to) {
                    destination.calls = destination.calls.saturating_sub(1);
                    destination.is_transferring &= !matches!(job, Job::Deliver { .. });
                }
            }
            Job::React { to, .. } | Job::Type { to } => {
                if let Some(destination) = self.destinations.get_mut(to) {
                    destination.is_reacting = false;
                }
            }
            Job::SetMenu => {}
        }
        if let Job::Notify { serial, .. } | Job::Settle { serial, .. } = job {
            self.set_busy(*serial, false);
        }
    }

    /// The channel has replied for the address, so earlier failures no longer count.
    fn answered(&mut self, job: &Job, now: Duration) {
        if let Job::SetAside { to, .. } = job {
            // The next message is tried at once, but may fail like this one.
            if let Some(destination) = self.destinations.get_mut(to) {
                destination.stuck = None;
                destination.messages.until = now;
            }
            return;
        }
        self.worked_at = now;
        match job {
            Job::Deliver { to, .. }
            | Job::Delete { to, .. }
            | Job::Notify { to, .. }
            | Job::Settle { to, .. } => {
                if let Some(destination) = self.destinations.get_mut(to) {
                    if matches!(job, Job::Deliver { .. }) {
                        destination.stuck = None;
                    }
                    destination.messages = Failures::default();
                    destination.display = Failures::default();
                }
            }
            Job::Show { to, .. }
            | Job::Remove { to, .. }
            | Job::React { to, .. }
            | Job::Type { to } => {
                if let Some(destination) = self.destinations.get_mut(to) {
                    destination.display = Failures::default();
                }
            }
            Job::SetAside { .. } | Job::SetMenu => {}
        }
    }

    fn succeeded(&mut self, job: &Job, message: Option<String>, is_last: bool) {
        match job {
            Job::Show { key, .. } => {
                if let Some(work) = self.works.get_mut(key) {
                    if self.capabilities.edits {
                        work.showed(message)
                    } else {
                        work.showed_for_good(message)
                    }
                }
            }
            Job::Notify { serial, to, .. } => {
                self.overtake(to);
                let mut notices = self.notices.iter_mut();
                if let Some(notice) = notices.find(|notice| notice.serial == *serial) {
                    notice.pieces += 1;
                    notice.message = message.filter(|_| is_last);
                }
                self.notices.retain(|notice| {
                    let is_text = matches!(notice.content, Content::Text(_));
                    let is_settled_early = notice.settled.is_some() && notice.message.is_none();
                    notice.serial != *serial || !(is_text && is_last || is_settled_early)
                });
            }
            _ => self.dropped(job),
        }
    }

    /// The subject of a job is done, or never will be.
    fn dropped(&mut self, job: &Job) {
        match job {
            Job::Deliver { replaces, .. } => {
                if let Some(work) = replaces.as_ref().and_then(|key| self.works.get_mut(key)) {
                    work.replaced();
                }
                if let Job::Deliver { id, .. } = job {
                    // The outbox is read again; until then it is not delivered once more.
                    self.backlog.heads.retain(|head| head.id != *id);
                }
            }
            Job::SetAside { id, .. } => self.backlog.heads.retain(|head| head.id != *id),
            Job::Delete {
                key,
                message,
                again,
                ..
            } => {
                if let Some(work) = self.works.get_mut(key) {
                    work.deleted(message, *again);
                }
            }
            Job::Notify { serial, .. } | Job::Settle { serial, .. } => {
                self.notices.retain(|notice| notice.serial != *serial);
            }
            Job::Show { key, .. } => {
                if let Some(work) = self.works.get_mut(key) {
                    work.showed(None);
                }
            }
            Job::Remove { .. } | Job::React { .. } | Job::Type { .. } | Job::SetMenu => {}
        }
    }

    /// The job is still to be done.
    fn restore(&mut self, job: &Job, now: Duration) {
        match job {
            Job::Show { key, .. } => {
                if let Some(work) = self.works.get_mut(key) {
                    work.showed(None);
                    work.show_again();
                }
            }
            Job::Notify { serial, .. } => {
                let over =
                    |notice: &super::Notice| notice.serial == *serial && notice.settled.is_some();
                self.notices.retain(|notice| !over(notice));
            }
            Job::Remove { to, message } => self.remove(to, message),
            Job::SetMenu => self.menu_at = Some(now),
            _ => {}
        }
    }

    fn failed(
        &mut self,
        job: &Job,
        outcome: Outcome,
        (begun, now): (Duration, Duration),
        chance: f32,
    ) -> Option<Report> {
        let longer = |wait: Duration| jittered(wait, chance);
        match outcome {
            Outcome::Down(why) => {
                // Calls that were in flight together fail together.
                if begun >= self.outage.until {
                    let wait = doubled(self.outage.count).min(self.outage.longest(now));
                    self.outage.add(longer(wait), now);
                }
                Some(Report::Down { why })
            }
            Outcome::RetryAfter(wait) => self.rate_limited(job, wait, now),
            Outcome::Trouble(why) => self.troubled(job, why, now, &longer),
            Outcome::Done { .. }
            | Outcome::Previewed
            | Outcome::Dropped
            | Outcome::Moved
            | Outcome::Stopped => None,
        }
    }

    fn rate_limited(&mut self, job: &Job, wait: Duration, now: Duration) -> Option<Report> {
        let to = match job {
            Job::SetMenu => {
                self.menu_at = Some(now + wait);
                let why = format!("rate-limited for {} s", wait.as_secs());
                return Some(Report::NoMenu { why });
            }
            Job::React { to, .. } | Job::Type { to } => {
                self.destinations
                    .entry(to.clone())
                    .or_default()
                    .display
                    .until = now + wait;
                to
            }
            // The message that comes next may be accepted, or has a wait of its own.
            Job::Show { to, .. } => {
                self.pace.hold_drafts(&to.chat, now + wait);
                to
            }
            Job::Deliver { to, .. }
            | Job::SetAside { to, .. }
            | Job::Delete { to, .. }
            | Job::Remove { to, .. }
            | Job::Notify { to, .. }
            | Job::Settle { to, .. } => {
                self.pace.hold(&to.chat, now + wait);
                to
            }
        };
        let to = to.clone();
        Some(Report::RateLimited { to, wait })
    }

    fn troubled(
        &mut self,
        job: &Job,
        why: String,
        now: Duration,
        longer: &dyn Fn(Duration) -> Duration,
    ) -> Option<Report> {
        let max_retries = self.max_retries;
        let add = |failures: &mut Failures| {
            let wait = match failures.count.checked_sub(max_retries) {
                Some(more) => doubled_from(SLOW_WAIT, more),
                None => doubled(failures.count),
            };
            failures.add(longer(wait.min(failures.longest(now))), now);
        };
        match job {
            Job::SetMenu => {
                self.menu_at = Some(now + longer(LONGEST_BACKOFF));
                Some(Report::NoMenu { why })
            }
            Job::Show { to, .. }
            | Job::Remove { to, .. }
            | Job::React { to, .. }
            | Job::Type { to } => {
                add(&mut self.destinations.entry(to.clone()).or_default().display);
                let to = to.clone();
                Some(Report::NotShown { to, why })
            }
            // A draft that cannot be deleted does not delay messages.
            Job::Delete { to, .. } => {
                add(&mut self.destinations.entry(to.clone()).or_default().display);
                self.dropped(job);
                let to = to.clone();
                Some(Report::NotShown { to, why })
            }
            Job::Deliver { to, .. }
            | Job::SetAside { to, .. }
            | Job::Notify { to, .. }
            | Job::Settle { to, .. } => {
                let destination = self.destinations.entry(to.clone()).or_default();
                let is_first = destination.messages.count == 0;
                add(&mut destination.messages);
                why.clone_into(&mut destination.why);
                let failing = match job {
                    Job::Deliver { id, .. } => {
                        let mut heads = self.backlog.heads.iter();
                        let head = heads.find(|head| head.id == *id);
                        let earlier = head.map_or(Duration::ZERO, |head| head.failed);
                        let time = destination.failed(*id, earlier, &why, now);
                        time.map(|time| (*id, time))
                    }
                    _ => None,
                };
                if let Job::Settle { serial, .. } = job {
                    let mut notices = self.notices.iter_mut();
                    if let Some(notice) = notices.find(|notice| notice.serial == *serial) {
                        notice.tries += 1;
                    }
                    self.notices.retain(|notice| notice.tries <= max_retries);
                }
                let to = to.clone();
                Some(Report::Trouble {
                    to,
                    why,
                    is_first,
                    failing,
                })
            }
        }
    }
}
