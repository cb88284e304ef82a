//! What is done next for which address, and what an outcome means. Pure: it has no thread, clock or
//! connection; the caller passes the time.
//!
//! An address has at most one message in flight, which keeps its order. Each address has its own
//! back-off; only a channel that cannot be reached at all makes everything wait.

mod drafts;
mod finish;
mod notices;
mod signs;
mod waits;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::base::limits::channels::LONGEST_BACKOFF;
use crate::base::message::{Address, DraftKey};
use crate::channels::kit::adapter::Capabilities;
use crate::store::outbox::{Backlog, Draft, Head};

use super::job::{Content, Job, Next, Ticket};
use super::pace::{Limits, Pace};
use super::question::Settled;
use super::work::{DraftText, Work};

pub use waits::Wait;

/// Threads that deliver for one channel at a time. Each holds a connection. One of them is never
/// taken by what is known to be slow (files, chats that have failed). Three chats that hang at their first
/// call at the same time delay the others once, by the time that a reply may take.
pub(super) const DELIVERY_WORKERS: usize = 3;
/// See [`SHORT_BACKOFF`].
pub(super) const SHORT_OUTAGE: Duration = Duration::from_mins(10);
/// Time in which a message always fails while its channel works, until it is set aside.
pub(super) const SET_ASIDE_TIME: Duration = Duration::from_mins(12);
/// Messages of people's that wait to be deleted: a few secrets.
pub(super) const REMOVALS: usize = 16;
/// The longest wait of a message while failures have lasted for less than [`SHORT_OUTAGE`]: after a short one nobody
/// waits for minutes.
const SHORT_BACKOFF: Duration = Duration::from_mins(1);
/// How much of the time in which a message fails may be missing on the disk.
const FAILING_NOTED: Duration = Duration::from_mins(1);
/// Failures of a message before it is set aside, however long that takes.
const SET_ASIDE_TRIES: u32 = 3;
/// Messages of a chat that wait for a reaction.
const REACTIONS_WAITING: usize = 20;
/// Pieces of work that show something at a time.
const WORKS: usize = 64;
/// Waiting reactions, over all chats.
const REACTIONS: usize = 200;
/// Open questions, and texts that could not be stored in the outbox.
const NOTICES: usize = 64;

/// A message that is not kept across a restart.
#[derive(Debug)]
struct Notice {
    to: Address,
    serial: u64,
    content: Content,
    /// Pieces that were sent.
    pieces: usize,
    /// The message of the last piece, once all are sent.
    message: Option<String>,
    settled: Option<Settled>,
    tries: u32,
    is_busy: bool,
}

impl Notice {
    fn is_question(&self, number: u64) -> bool {
        matches!(&self.content, Content::Question(asked) if asked.number == number)
    }

    fn is_settleable(&self) -> bool {
        self.message.is_some() && self.settled.is_some()
    }
}

/// Failures in a row, and until when nothing is tried because of them.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    since: Duration,
    until: Duration,
}

impl Failures {
    fn add(&mut self, wait: Duration, now: Duration) {
        if self.count == 0 {
            self.since = now;
        }
        self.count = self.count.saturating_add(1);
        self.until = now + wait;
    }

    /// The longest wait after the next one.
    fn longest(&self, now: Duration) -> Duration {
        let is_long = self.count > 0 && now >= self.since + SHORT_OUTAGE;
        if is_long {
            LONGEST_BACKOFF
        } else {
            SHORT_BACKOFF
        }
    }

    /// Whether they no longer count: nothing is tried again after this much time.
    fn is_over(&self, now: Duration) -> bool {
        let counted = match self.count {
            0 => Duration::ZERO,
            _ => LONGEST_BACKOFF,
        };
        self.until + counted <= now
    }
}

/// A message of the outbox that fails and fails.
#[derive(Debug)]
struct Stuck {
    id: u64,
    /// When it failed first, and for how long it had failed in earlier runs of the program.
    since: Duration,
    earlier: Duration,
    tries: u32,
    /// How much of that is on the disk; `None` while nothing is.
    noted: Option<Duration>,
    /// What was said last.
    why: String,
}

impl Stuck {
    /// For how long it has failed.
    fn time(&self, now: Duration) -> Duration {
        self.earlier + now.saturating_sub(self.since)
    }
}

/// The state of one address.
#[derive(Debug, Default)]
struct Destination {
    /// Calls in flight that send or change messages.
    calls: u32,
    /// Whether one of them sends files, which can take long.
    is_transferring: bool,
    /// Whether a reaction or "typing" is in flight.
    is_reacting: bool,
    messages: Failures,
    /// What was said last about them.
    why: String,
    /// The message that the last of them were about.
    stuck: Option<Stuck>,
    /// Of reactions, "typing" and drafts: they delay no message.
    display: Failures,
}

impl Destination {
    /// A message of the outbox has failed, in earlier runs of the program for `earlier`. Returns for how long in all
    /// when that is to be noted.
    fn failed(&mut self, id: u64, earlier: Duration, why: &str, now: Duration) -> Option<Duration> {
        let before = self.stuck.take().filter(|stuck| stuck.id == id);
        let stuck = self.stuck.insert(before.unwrap_or_else(|| Stuck {
            id,
            since: now,
            earlier,
            tries: 0,
            noted: None,
            why: String::new(),
        }));
        stuck.tries += 1;
        why.clone_into(&mut stuck.why);
        let time = stuck.time(now);
        let is_due = stuck
            .noted
            .is_none_or(|noted| time >= noted + FAILING_NOTED);
        if is_due {
            stuck.noted = Some(time);
        }
        is_due.then_some(time)
    }

    fn is_idle(&self, now: Duration) -> bool {
        self.calls == 0
            && !self.is_reacting
            && self.messages.is_over(now)
            && self.display.is_over(now)
    }

    /// Whether nothing but files is in flight. Beside these an address has one call at a time, so that a
    /// chat that hangs takes no second thread before it is known to fail.
    fn is_free(&self) -> bool {
        !self.is_reacting && self.calls == u32::from(self.is_transferring)
    }

    /// When a message may be sent; `None` while something is in flight.
    fn message_at(&self) -> Option<Duration> {
        (self.is_free() && !self.is_transferring).then_some(self.messages.until)
    }

    /// The same for a notice, which does not wait for files.
    fn notice_at(&self) -> Option<Duration> {
        self.is_free().then_some(self.messages.until)
    }

    fn reaction_at(&self) -> Option<Duration> {
        let until = self.display.until.max(self.messages.until);
        self.is_free().then_some(until)
    }
}

/// A search for something that may be done now; it notes when the soonest of the rest may.
struct Search {
    now: Duration,
    soonest: Option<Duration>,
}

impl Search {
    fn is_due(&mut self, at: Option<Duration>) -> bool {
        match at {
            Some(at) if at <= self.now => true,
            Some(at) => {
                self.soonest = Some(self.soonest.map_or(at, |soonest| soonest.min(at)));
                false
            }
            None => false,
        }
    }
}

/// What is to be done, and how it went so far.
pub(super) struct Plan {
    capabilities: Capabilities,
    /// Quick tries; then the longest wait lies between two.
    max_retries: u32,
    is_group: Box<dyn Fn(&Address) -> bool + Send>,
    backlog: Backlog,
    destinations: BTreeMap<Address, Destination>,
    pub(super) works: BTreeMap<DraftKey, Work>,
    notices: Vec<Notice>,
    last_serial: u64,
    reactions: VecDeque<(Address, String)>,
    /// Messages of people's that are to be deleted.
    removals: VecDeque<(Address, String)>,
    pace: Pace,
    outage: Failures,
    /// When the channel was last seen to work.
    worked_at: Duration,
    /// See [`SET_ASIDE_TIME`].
    pub(super) patience: Duration,
    /// When the menu is to be set; `None` once it is.
    menu_at: Option<Duration>,
    /// Jobs that were taken, and those of them that may take long.
    running: usize,
    slow: usize,
}

impl Plan {
    pub fn new(
        capabilities: Capabilities,
        max_retries: u32,
        is_group: impl Fn(&Address) -> bool + Send + 'static,
        has_menu: bool,
        drafts: Vec<Draft>,
    ) -> Self {
        let limits = Limits {
            chat_interval: capabilities.chat_interval,
            group_rate: capabilities.group_rate,
            total_rate: capabilities.total_rate,
        };
        // Where nothing can be edited, what an earlier process has shown stays as it is.
        let edits = capabilities.edits;
        let drafts = drafts.into_iter().filter(move |_| edits);
        let works = drafts.map(|draft| (draft.key, Work::left(draft.to, draft.message)));
        Self {
            capabilities,
            max_retries,
            is_group: Box::new(is_group),
            backlog: Backlog::default(),
            destinations: BTreeMap::new(),
            works: works.collect(),
            notices: Vec::new(),
            last_serial: 0,
            reactions: VecDeque::new(),
            removals: VecDeque::new(),
            pace: Pace::new(limits),
            outage: Failures::default(),
            worked_at: Duration::ZERO,
            patience: SET_ASIDE_TIME,
            menu_at: has_menu.then_some(Duration::ZERO),
            running: 0,
            slow: 0,
        }
    }

    /// Takes over what the outbox has to deliver.
    pub fn set_backlog(&mut self, backlog: Backlog) {
        self.backlog = backlog;
    }

    /// The menu has changed.
    pub fn menu_changed(&mut self, now: Duration) {
        self.menu_at = Some(now);
    }

    pub fn react(&mut self, to: &Address, message: &str) {
        let waiting = self.reactions.iter().filter(|(other, _)| other == to);
        let has_room = self.reactions.len() < REACTIONS && waiting.count() < REACTIONS_WAITING;
        if has_room && !self.capabilities.reaction.is_empty() {
            self.reactions.push_back((to.clone(), message.to_owned()));
        }
    }

    /// Deletes a message of a person's, for which there is one call after the other.
    pub fn remove(&mut self, to: &Address, message: &str) {
        if self.removals.len() >= REMOVALS {
            self.removals.pop_front();
        }
        self.removals.push_back((to.clone(), message.to_owned()));
    }

    /// Shows work again, below what has come since.
    pub fn lower(&mut self, key: &DraftKey) {
        if let Some(work) = self.works.get_mut(key) {
            if self.capabilities.edits {
                work.lower()
            } else {
                work.show_once_more()
            }
        }
    }

    pub fn working(&mut self, key: &DraftKey, to: &Address, now: Duration) {
        let will_be_replaced = self.backlog.replaces.contains(key);
        self.last_serial += 1;
        let serial = (self.last_serial % u64::from(u32::MAX >> 1)) as u32;
        if let Some(work) = self.work(key, to) {
            work.begin(to, will_be_replaced, serial, now);
        }
    }

    /// The messages that show the work: now, and before it was sent again below.
    pub fn shown_by(&self, key: &DraftKey) -> Vec<String> {
        let work = self.works.get(key);
        let messages = work.map(|work| [work.message.clone(), work.earlier.clone()]);
        messages.into_iter().flatten().flatten().collect()
    }

    pub fn resting(&mut self, key: &DraftKey) {
        if let Some(work) = self.works.get_mut(key) {
            work.end();
        }
        self.forget_works();
    }

    pub fn draft(&mut self, key: &DraftKey, to: &Address, text: DraftText, now: Duration) {
        let edits = self.capabilities.edits;
        if (!edits || self.capabilities.edit_interval.is_some())
            && let Some(work) = self.work(key, to)
        {
            if edits {
                work.draft(text, now)
            } else {
                work.draft_sparsely(text, now)
            }
        }
    }

    /// Adds a notice; false when there are too many.
    pub fn notify(&mut self, to: &Address, content: Content) -> bool {
        if self.notices.len() >= NOTICES {
            return false;
        }
        self.last_serial += 1;
        self.notices.push(Notice {
            to: to.clone(),
            serial: self.last_serial,
            content,
            pieces: 0,
            message: None,
            settled: None,
            tries: 0,
            is_busy: false,
        });
        true
    }

    /// A question is over. One that was not shown yet is dropped.
    pub fn settle(&mut self, number: u64, settled: Settled) {
        let mut notices = self.notices.iter_mut();
        if let Some(notice) = notices.find(|notice| notice.is_question(number)) {
            notice.settled = Some(settled);
        }
        self.notices.retain(|notice| {
            !notice.is_question(number) || notice.is_busy || notice.message.is_some()
        });
    }

    /// The channel can be reached again: what failed may be tried at once.
    pub fn reachable(&mut self, now: Duration) {
        self.worked_at = now;
        self.outage.until = Duration::ZERO;
        for destination in self.destinations.values_mut() {
            destination.messages.until = Duration::ZERO;
        }
    }

    /// Takes what is to be done now.
    pub fn take(&mut self, now: Duration) -> Next<Ticket> {
        match self.look(now) {
            Next::Do(job) => {
                let is_slow = self.is_slow(&job);
                self.begin(&job, now);
                self.running += 1;
                self.slow += usize::from(is_slow);
                Next::Do(Ticket {
                    job,
                    is_slow,
                    begun: now,
                })
            }
            Next::At(at) => Next::At(at),
            Next::Nothing => Next::Nothing,
        }
    }

    /// What is to be done now.
    pub fn look(&self, now: Duration) -> Next<Job> {
        if self.outage.until > now {
            return Next::At(self.outage.until);
        }
        // A channel that could not be reached is tried with one call.
        if self.running >= DELIVERY_WORKERS || self.outage.count > 0 && self.running > 0 {
            return Next::Nothing;
        }
        let mut search = Search { now, soonest: None };
        let job = self
            .delivery(&mut search)
            .or_else(|| self.removal(&mut search))
            .or_else(|| self.settling(&mut search))
            .or_else(|| self.notice(&mut search))
            .or_else(|| self.draft_job(&mut search))
            .or_else(|| self.reaction(&mut search))
            .or_else(|| {
                let may = search.is_due(self.menu_at) && self.has_slow_worker();
                may.then_some(Job::SetMenu)
            });
        match (job, search.soonest) {
            (Some(job), _) => Next::Do(job),
            (None, Some(at)) => Next::At(at),
            (None, None) => Next::Nothing,
        }
    }

    /// Whether a job may be taken that can take long.
    fn has_slow_worker(&self) -> bool {
        self.slow + 1 < DELIVERY_WORKERS
    }

    fn is_slow(&self, job: &Job) -> bool {
        match job {
            Job::Deliver {
                has_files: true, ..
            }
            | Job::React { .. }
            | Job::Type { .. }
            | Job::SetMenu => true,
            Job::SetAside { .. } => false,
            Job::Deliver { to, .. }
            | Job::Delete { to, .. }
            | Job::Remove { to, .. }
            | Job::Show { to, .. }
            | Job::Notify { to, .. }
            | Job::Settle { to, .. } => self.is_troubled(to),
        }
    }

    /// Whether calls for an address have failed: then the next one may hang.
    fn is_troubled(&self, to: &Address) -> bool {
        let destination = self.destinations.get(to);
        destination.is_some_and(|destination| {
            destination.messages.count > 0 || destination.display.count > 0
        })
    }

    fn delivery(&self, search: &mut Search) -> Option<Job> {
        self.backlog.heads.iter().find_map(|head| {
            let Head {
                id,
                to,
                replaces,
                edits,
                has_files,
                is_silent,
                failed: _,
            } = head;
            let draft = || {
                let work = self.works.get(replaces.as_ref()?)?;
                // An edit makes no sound, and stays above what was written since.
                let is_below = *is_silent || !work.has_to_sound();
                work.message.clone().filter(|_| work.to == *to && is_below)
            };
            let edits = edits.clone().or_else(draft);
            let edits = edits.filter(|_| self.capabilities.edits);
            let ready_at = self.ready_at(to, Destination::message_at);
            let aside = self.aside_at(to, *id);
            let ready_at = ready_at.map(|at| aside.map_or(at, |(aside_at, _)| at.min(aside_at)));
            let paced = self.pace.message_at(&to.chat, (self.is_group)(to));
            if !search.is_due(ready_at.map(|at| at.max(paced)))
                || (*has_files || self.is_troubled(to)) && !self.has_slow_worker()
            {
                return None;
            }
            if let Some((_, why)) = aside.filter(|(at, _)| *at <= search.now) {
                let (to, id, why) = (to.clone(), *id, why.to_owned());
                return Some(Job::SetAside { to, id, why });
            }
            let above = match &edits {
                Some(_) => None,
                None => self.draft_above(to, true),
            };
            Some(above.unwrap_or_else(|| Job::Deliver {
                to: to.clone(),
                id: *id,
                replaces: replaces.clone(),
                edits,
                has_files: *has_files,
            }))
        })
    }

    /// When a message is set aside that fails and fails, and why; `None` while it is to be tried. Only a channel that
    /// has worked since the first failure shows that the message is the reason.
    fn aside_at(&self, to: &Address, id: u64) -> Option<(Duration, &str)> {
        let stuck = self.destinations.get(to)?.stuck.as_ref()?;
        let has_failed = stuck.id == id && stuck.tries >= SET_ASIDE_TRIES;
        let is_stuck = has_failed && stuck.since < self.worked_at;
        let rest = self.patience.saturating_sub(stuck.earlier);
        is_stuck.then_some((stuck.since + rest, stuck.why.as_str()))
    }

    /// Deletes a draft that would be above what is sent now.
    fn draft_above(&self, to: &Address, again: bool) -> Option<Job> {
        let mut works = self.works.iter().filter(|(_, work)| work.to == *to);
        works.find_map(|(key, work)| {
            Some(Job::Delete {
                to: to.clone(),
                key: key.clone(),
                message: work.message.clone()?,
                again,
            })
        })
    }

    /// The least time between two edits of a draft; `None` where none is edited.
    fn edit_interval(&self) -> Option<Duration> {
        let interval = self.capabilities.edit_interval;
        interval.filter(|_| self.capabilities.edits)
    }

    /// Something was written below what an address shows of running work.
    pub fn overtake(&mut self, to: &Address) {
        let works = self.works.values_mut().filter(|work| work.to == *to);
        works.for_each(Work::overtake);
    }

    fn may_try(&self, to: &Address) -> bool {
        !self.is_troubled(to) || self.has_slow_worker()
    }

    fn ready_at(
        &self,
        to: &Address,
        at: impl Fn(&Destination) -> Option<Duration>,
    ) -> Option<Duration> {
        self.destinations.get(to).map_or(Some(Duration::ZERO), at)
    }

    fn work(&mut self, key: &DraftKey, to: &Address) -> Option<&mut Work> {
        if self.works.len() >= WORKS && !self.works.contains_key(key) {
            return None;
        }
        Some(
            self.works
                .entry(key.clone())
                .or_insert_with(|| Work::new(to)),
        )
    }

    fn forget_works(&mut self) {
        self.works.retain(|_, work| !work.is_over());
    }
}
