//! The thread that watches: it waits for the kernel's events and for the time of the next look, with one call.

mod events;

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::built_in;
use super::file::Follower;
use super::look::{Before, Tick};
use super::{Item, Look, Shared, Watching, system};
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::limits::watch::{EVENT_EVERY_SECONDS, VALUE_EVERY_SECONDS};
use crate::base::message::Address;
use crate::board::reading::Reading;
use crate::board::watch::rule::millis;
use crate::board::watch::{
    Blind, BuiltIn, Criterion, Entry, Moment, Notice, Phase, Ran, Subject, What,
};
use crate::gateway::{Gateway, spawn};
use crate::sys::watch::events::{Changes, Interest, process};

/// Looks that are due within this many milliseconds are made together.
const TOGETHER_MS: i64 = 1000;
/// Wait before the file is read again after it could not be.
const STORE_RETRY_MS: i64 = 60 * 1000;
/// Looks at hosts and commands at a time: each is a thread.
const PROBES_AT_ONCE: usize = 4;
/// See [`PRESSURE_HOLD_SECONDS`].
const CLOCK_HOLD_SECONDS: u64 = 15 * 60;

/// The thread's own state.
pub(super) struct Thread<'a> {
    gateway: &'a Arc<Gateway>,
    running: Vec<Running>,
    changes: Option<Changes>,
    /// The number of the folder of the file of watches in `changes`.
    store: Option<i32>,
    /// How many changes of the list are in `running`.
    taken: u64,
    before: Before,
    /// What else the kernel reports: each with the built-in watch that looks then.
    sources: Vec<events::Source>,
    probes: usize,
    /// When the file is read again after it could not be.
    retry: Option<i64>,
    /// Since the last changes of files that were about nothing that is watched.
    noise: Option<Stopwatch>,
}

/// An item with what the thread holds for it.
struct Running {
    item: Arc<Item>,
    /// When to look next, in milliseconds since the machine was started.
    next_ms: i64,
    /// When the last look was.
    looked_ms: Option<i64>,
    is_probed: bool,
    /// Readable once the process has ended.
    process: Option<OwnedFd>,
    /// The numbers of what it sees in the thread's [`Changes`].
    seen: Vec<i32>,
    file: Option<Follower>,
}

impl Running {
    fn what(&self) -> Option<&What> {
        self.item.rule().map(|rule| &rule.what)
    }
}

impl<'a> Thread<'a> {
    pub(super) fn new(gateway: &'a Arc<Gateway>) -> Self {
        let changes = Changes::new();
        if let Err(error) = &changes {
            tracing::warn!("failed to watch files, looking now and then: {error}");
        }
        let watches = &gateway.parts.watches;
        let changes = changes.ok();
        let folder = watches.store.path();
        let store = changes.as_ref().zip(folder.parent());
        let store = store.and_then(|(changes, folder)| changes.add(folder, Interest::Files).ok());
        gateway.read_watches();
        let mut shared = watches.shared.lock();
        let cut: Vec<Box<Ran>> = shared
            .entries
            .values_mut()
            .filter_map(|entry| entry.run.take())
            .collect();
        shared.is_unsaved |= !cut.is_empty();
        drop(shared);
        // In the outbox before it is forgotten.
        cut.iter().for_each(|ran| gateway.tell_cut_run(ran));
        Self {
            gateway,
            running: Vec::new(),
            store,
            taken: 0,
            before: Before::default(),
            sources: events::sources(&watches.root),
            changes,
            probes: 0,
            retry: None,
            noise: None,
        }
    }

    fn watches(&self) -> &'a Watching {
        &self.gateway.parts.watches
    }

    fn now(&self) -> Moment {
        self.watches().now(self.gateway.clock())
    }

    /// Runs until the gateway stops.
    pub(super) fn run(mut self) {
        while !self.watches().cancel.is_cancelled() {
            let now = self.now();
            if self.watches().has_changed_since(self.taken) {
                self.load(now);
            }
            self.take_probes(now);
            self.look_at_due(now);
            self.watches().has_looked(self.taken);
            self.tell(now);
            self.wait();
        }
        self.keep_marks();
        self.watches().progress.notify_all();
    }

    /// Takes the items of the list as it is now. What is the same goes on.
    fn load(&mut self, now: Moment) {
        self.gateway.read_watches();
        let shared = self.watches().shared.lock();
        self.taken = shared.read;
        let is_unreadable = shared.is_unreadable;
        let items = shared.items.clone();
        drop(shared);
        self.retry = is_unreadable.then(|| now.up_ms.saturating_add(STORE_RETRY_MS));
        for running in std::mem::take(&mut self.running) {
            if items.contains(&running.item) {
                self.running.push(running)
            } else {
                self.drop_running(&running)
            }
        }
        self.running
            .reserve_exact(items.len().saturating_sub(self.running.len()));
        for item in items {
            if !self.running.iter().any(|running| running.item == item) {
                let running = self.start(item, now);
                self.running.push(running);
            }
        }
    }

    fn drop_running(&self, running: &Running) {
        let others = || self.running.iter().flat_map(|other| other.seen.iter());
        if let Some(changes) = &self.changes {
            // Two watches of one path share a number.
            let own = running.seen.iter();
            own.filter(|watch| {
                !others().any(|other| other == *watch) && self.store != Some(**watch)
            })
            .for_each(|watch| changes.remove(*watch));
        }
    }

    fn start(&self, item: Arc<Item>, now: Moment) -> Running {
        let what = item.rule().map(|rule| &rule.what);
        let file = match what {
            Some(What::File { .. }) => Some(Follower::default()),
            _ => None,
        };
        let process = match what {
            Some(What::Pid(pid)) => process(*pid).ok(),
            _ => None,
        };
        Running {
            next_ms: now.up_ms,
            looked_ms: None,
            is_probed: false,
            process,
            seen: self.see(&item),
            file,
            item,
        }
    }

    /// Makes the looks that are due.
    fn look_at_due(&mut self, now: Moment) {
        if self.retry.is_some_and(|retry| retry <= now.up_ms) {
            self.watches().look_again();
        }
        let due = now.up_ms.saturating_add(TOGETHER_MS);
        let is_due = |running: &Running| running.next_ms <= due && !running.is_probed;
        // What is due now takes others along that are due in a moment.
        if !self
            .running
            .iter()
            .any(|running| running.next_ms <= now.up_ms && !running.is_probed)
        {
            return;
        }
        let tick = Arc::new(self.watches().tick(now));
        for index in 0..self.running.len() {
            if self.running.get(index).is_some_and(is_due) {
                self.look_at(index, &tick);
            }
        }
    }

    fn look_at(&mut self, index: usize, tick: &Arc<Tick>) {
        let Some(running) = self.running.get_mut(index) else {
            return;
        };
        let item = Arc::clone(&running.item);
        running.next_ms = tick.now.up_ms.saturating_add(interval_ms(&item));
        running.looked_ms = Some(tick.now.up_ms);
        if is_off(self.gateway, &item) {
            return;
        }
        if running.file.is_some() {
            return self.follow(index, tick.now);
        }
        if let Subject::BuiltIn(built_in) = item.subject
            && self.note(&item, built_in, &tick.reading, tick.now)
        {
            return;
        }
        let (gateway, watches) = (self.gateway, self.watches());
        match watches.look(gateway, &item, tick, &mut self.before) {
            Some(look) => self.step(&item, look, tick.now),
            None if self.probes < PROBES_AT_ONCE => self.start_probe(index, tick),
            None => {
                // As soon as one of the others has ended.
                if let Some(running) = self.running.get_mut(index) {
                    running.next_ms = tick.now.up_ms.saturating_add(TOGETHER_MS);
                }
            }
        }
        if matches!(item.rule().map(|rule| &rule.what), Some(What::Service(_))) {
            // Its control group may be another one now.
            self.see_again(index);
        }
    }

    /// Looks on a thread of its own.
    fn start_probe(&mut self, index: usize, tick: &Arc<Tick>) {
        let Some(running) = self.running.get_mut(index) else {
            return;
        };
        let (gateway, item) = (Arc::clone(self.gateway), Arc::clone(&running.item));
        let tick = Arc::clone(tick);
        let probe = move || {
            let look = gateway.probe(&item, &tick);
            let watches = &gateway.parts.watches;
            watches.shared.lock().probed.push((item, look));
            watches.wake();
        };
        match spawn("watch probe", probe) {
            Ok(()) => {
                running.is_probed = true;
                self.probes += 1;
            }
            Err(error) => tracing::warn!("failed to start a thread for a watch: {error}"),
        }
    }

    fn take_probes(&mut self, now: Moment) {
        let probed = std::mem::take(&mut self.watches().shared.lock().probed);
        for (item, look) in probed {
            self.probes = self.probes.saturating_sub(1);
            let running = self.running.iter_mut().find(|running| running.item == item);
            // It may have been removed meanwhile.
            if let Some(running) = running {
                running.is_probed = false;
                self.step(&item, look, now);
            }
        }
    }

    /// Takes what a look has found.
    fn step(&mut self, item: &Item, look: Look, now: Moment) {
        let criterion = criterion(item);
        let mut shared = self.watches().shared.lock();
        let shared = &mut *shared;
        let Some(entry) = shared.entries.get_mut(&item.key) else {
            return;
        };
        let raised = entry.tracker.is_raised();
        let is_first = is_silent_first(item) && entry.known.is_none() && look.value.is_some();
        let event = entry.tracker.step(&criterion, look.value, now);
        if is_first && !matches!(entry.tracker.phase, Phase::Pending { .. }) {
            // How it was at the beginning is no news.
            entry.known = Some(Vec::new());
            shared.is_unsaved = true;
        }
        let names = new_units(item, entry, &look, raised);
        let notice = match event {
            Some(event) => Some(Notice::of(event, now, &look.note)),
            None => names.map(|names| Notice {
                value: 1.0,
                ..Notice::seen(now, 1, names)
            }),
        };
        if raised != entry.tracker.is_raised() || notice.is_some() {
            shared.is_unsaved = true;
        }
        if let Some(notice) = notice.filter(|_| !is_first) {
            put(entry, notice, now);
        }
        if let Some(deadline) = entry.tracker.deadline(&criterion)
            && let Some(running) = self
                .running
                .iter_mut()
                .find(|running| *running.item == *item)
        {
            running.next_ms = running.next_ms.min(deadline);
        }
        shared.found.insert(item.key.clone(), look);
    }

    /// Looks at what is counted or remembered; false for what is not.
    fn note(&mut self, item: &Item, built_in: BuiltIn, reading: &Reading, now: Moment) -> bool {
        let watches = self.watches();
        let root = &watches.root;
        let mut shared = watches.shared.lock();
        let shared = &mut *shared;
        let Some(entry) = shared.entries.get_mut(&item.key) else {
            return true;
        };
        let is_news = match built_in {
            BuiltIn::OutOfMemory => {
                let kills = watches
                    .read("proc/vmstat")
                    .and_then(|text| system::oom_kills(&text));
                let mut seen = std::mem::take(&mut entry.seen);
                let is_news = built_in::note_kills(entry, &mut seen, kills, now.boot);
                entry.seen = seen;
                is_news
            }
            BuiltIn::Address => {
                let found = built_in::addresses(reading);
                // Without a network there is nothing to begin with.
                let is_known = entry.known.is_some() || !found.is_empty();
                is_known && built_in::note_new(entry, found)
            }
            BuiltIn::Login => built_in::note_new(entry, built_in::logins(root)),
            _ => return false,
        };
        shared.is_unsaved |= is_news;
        true
    }

    /// Reads what a file has grown by.
    fn follow(&mut self, index: usize, now: Moment) {
        let gateway = self.gateway;
        let Some(running) = self.running.get_mut(index) else {
            return;
        };
        let Some(follower) = &mut running.file else {
            return;
        };
        let item = &running.item;
        let Some(What::File { path, pattern }) = item.rule().map(|rule| &rule.what) else {
            return;
        };
        let watches = &gateway.parts.watches;
        let known = |shared: &Shared| Some(shared.entries.get(&item.key)?.mark);
        let Some(mark) = known(&watches.shared.lock()) else {
            return;
        };
        // Without the lock: the file can be on a network disk that does not answer.
        let blind = RefCell::new(None);
        let open = || {
            let opened = open(gateway, item, path);
            opened.inspect_err(|error| *blind.borrow_mut() = Some(Blind::of_file(error)))
        };
        let found = follower.read(&open, mark, pattern);
        let mut shared = watches.shared.lock();
        let shared = &mut *shared;
        let Some(entry) = shared.entries.get_mut(&item.key) else {
            return;
        };
        if found.count > 0 {
            entry.seen.note(found.count, found.last.clone());
        }
        if found.count > 0 || entry.mark.is_none() && found.exists {
            entry.mark = follower.mark();
            shared.is_unsaved = true;
        }
        if found.has_more {
            running.next_ms = now.up_ms;
        }
        let before = shared.found.remove(&item.key).unwrap_or_default();
        let look = Look {
            value: None,
            note: match found.last.is_empty() {
                true => before.note,
                false => found.last,
            },
            blind: blind.into_inner(),
        };
        shared.found.insert(item.key.clone(), look);
    }

    /// Notes and tells what has happened, and what was not told before.
    fn tell(&mut self, now: Moment) {
        let watches = self.watches();
        let mut shared = watches.shared.lock();
        let mut told = Vec::new();
        let items = shared.items.clone();
        for item in items {
            let shared = &mut *shared;
            let Some(entry) = shared.entries.get_mut(&item.key) else {
                continue;
            };
            if entry.muted.is_some_and(|mute| mute.left(now).is_none()) {
                entry.muted = None;
                shared.is_unsaved = true;
                if std::mem::take(&mut entry.is_hushed)
                    && let Some(since) = entry.tracker.raised_since()
                {
                    let value = shared.found.get(&item.key).and_then(|look| look.value);
                    let value = value.unwrap_or_default();
                    let still = crate::board::watch::Event::Repeated {
                        value,
                        lasted_ms: now.since(since),
                        peak: value,
                    };
                    let note = shared.found.get(&item.key).map_or("", |look| &look.note);
                    entry.notice = Some(Box::new(Notice::of(still, now, note)));
                }
            }
            if entry.notice.is_none()
                && !item.is_paused
                && let Some((count, last)) = entry.seen.take(now)
            {
                put(entry, Notice::seen(now, count, last), now);
                shared.is_unsaved = true;
            }
            // Nothing is told later of what happened meanwhile.
            let is_dropped = |entry: &Entry| {
                entry.notice.is_some() && (item.is_paused || self.gateway.has_no_access(&item))
            };
            if is_dropped(entry) {
                entry.notice = None;
                shared.is_unsaved = true;
            }
            let is_held = |chat: &Address| shared.adding.contains(chat);
            if let Some(notice) = &entry.notice
                && !item.chat.as_ref().is_some_and(is_held)
            {
                told.push((item, notice.clone()));
            }
        }
        watches.save(&mut shared);
        drop(shared);
        for (item, notice) in told {
            self.gateway.tell_watch(&item, &notice);
        }
    }

    /// Keeps how far files were read, for the next start.
    fn keep_marks(&self) {
        let mut shared = self.watches().shared.lock();
        for running in &self.running {
            let mark = running.file.as_ref().and_then(Follower::mark);
            // How far the journal was read is in the entry already.
            shared.is_unsaved |= matches!(running.what(), Some(What::Log { .. }));
            let entry = shared.entries.get_mut(&running.item.key);
            if let Some((entry, mark)) = entry.zip(mark) {
                entry.mark = Some(mark);
                shared.is_unsaved = true;
            }
        }
        self.watches().save(&mut shared);
    }
}

/// Keeps a notice until it is told, unless the watch is muted. Of an alarm that was never told, the end is not told.
fn put(entry: &mut Entry, notice: Notice, now: Moment) {
    use crate::board::watch::Kind;
    let is_muted = entry.muted.is_some_and(|mute| mute.left(now).is_some());
    let was_untold = entry
        .notice
        .as_ref()
        .is_some_and(|before| before.kind == Kind::Raised);
    match notice.kind {
        Kind::Recovered if entry.is_hushed || was_untold => {
            entry.is_hushed = false;
            entry.notice = None;
        }
        Kind::Raised if is_muted => entry.is_hushed = true,
        _ if is_muted => {}
        _ => entry.notice = Some(Box::new(notice)),
    }
}

/// The names of services that failed while others had failed before.
fn new_units(item: &Item, entry: &mut Entry, look: &Look, was_raised: bool) -> Option<String> {
    if item.subject != Subject::BuiltIn(BuiltIn::Units) || look.value.is_none() {
        return None;
    }
    let now: Vec<String> = look.note.split(", ").map(str::to_owned).collect();
    let before = entry.known.replace(now.clone()).unwrap_or_default();
    let new: Vec<String> = now
        .into_iter()
        .filter(|name| !before.contains(name))
        .collect();
    let has_new = was_raised && look.value == Some(1.0) && !new.is_empty();
    has_new.then(|| new.join(", "))
}

/// Whether the first look is no news, but only the beginning.
fn is_silent_first(item: &Item) -> bool {
    use crate::board::watch::Told;
    matches!(
        item.rule().map(|rule| &rule.what),
        Some(What::Command {
            told: Told::Changes,
            ..
        })
    )
}

/// Whether an item is not looked at.
fn is_off(gateway: &Gateway, item: &Item) -> bool {
    let shared = gateway.parts.watches.shared.lock();
    let is_off = shared
        .entries
        .get(&item.key)
        .is_some_and(|entry| entry.is_off);
    drop(shared);
    item.is_paused || is_off || gateway.has_no_access(item)
}

/// Milliseconds between two looks.
fn interval_ms(item: &Item) -> i64 {
    millis(match &item.subject {
        Subject::Rule(rule) => rule.interval(),
        Subject::BuiltIn(BuiltIn::Units | BuiltIn::Login) => EVENT_EVERY_SECONDS,
        Subject::BuiltIn(_) => VALUE_EVERY_SECONDS,
    })
}

fn criterion(item: &Item) -> Criterion {
    match &item.subject {
        Subject::Rule(rule) => rule.criterion(),
        Subject::BuiltIn(built_in) => Criterion {
            is_over: true,
            threshold: 0.5,
            back: 0.5,
            hold_ms: match built_in {
                BuiltIn::Clock => millis(CLOCK_HOLD_SECONDS),
                _ => 0,
            },
            repeat_ms: None,
            gap_ms: interval_ms(item).saturating_mul(crate::base::limits::watch::GAP_INTERVALS),
        },
    }
}

/// Opens a watched file: for the model only what its own tools can read.
fn open(gateway: &Gateway, item: &Item, path: &str) -> std::io::Result<File> {
    if !item.by_model {
        return crate::sys::file::open_to_read(Path::new(path));
    }
    let session = item.chat.as_ref().map(Address::session);
    let session = session.unwrap_or_else(|| crate::base::message::SessionKey::parse("watch"));
    let hosted = gateway.agent_for(&gateway.live(), &session, None);
    let workspace = hosted.workspace().map_err(std::io::Error::other)?;
    workspace
        .open_read(Path::new(path))
        .map_err(|error| match error {
            Error::Io { source, .. } => source,
            error => std::io::Error::other(error),
        })
}
