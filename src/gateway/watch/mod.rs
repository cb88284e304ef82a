//! Watches: rules over the board, and what is watched without a rule.
//!
//! One thread waits for all events of the kernel with one call, and looks at the rest now and then (`thread`).
//! Hosts, commands and `systemctl` are asked on threads that exist only meanwhile (`probe`). What is told is noted
//! before it goes to the outbox under an id of its own (`tell`), so that a kill neither repeats nor loses it.

mod built_in;
mod command;
mod file;
mod journal;
mod look;
mod probe;
mod system;
mod tell;
mod texts;
mod thread;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Gateway;
use crate::base::access::{Person, Role};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::base::message::{Address, Author};
use crate::base::sync::{Condvar, Mutex};
use crate::board::watch::rule::summary;
use crate::board::watch::{Blind, Entry, Moment, Rule, Store, Subject, Watch, What};
use crate::channels::http;
use crate::config::schema;
use crate::sys;
use crate::sys::watch::events::Wake;

pub use command::{AddedToFile, add_to_file, describe_offline};
use std::time::Duration;

/// How long a command waits for the first look at what is new.
const FIRST_LOOK_TIME: Duration = Duration::from_secs(2);
/// Folders of control groups that are searched for a service.
const GROUPS_MAX: usize = 256;

/// Stack of the thread that waits.
const STACK_BYTES: usize = 256 * 1024;

/// The watches of the gateway.
pub struct Watching {
    store: Store,
    /// Contains `proc`, `sys` and `run`: `/`, or a made-up tree.
    root: PathBuf,
    home: PathBuf,
    boot: u32,
    /// Wakes the thread; `None` where the kernel gives nothing to wake it with: then nothing is watched.
    wake: Option<Wake>,
    shared: Mutex<Shared>,
    /// Held while the list is read, so that none that is older replaces it.
    reading: Mutex<()>,
    /// The thread has looked at what has changed.
    progress: Condvar,
    /// Raised when the gateway stops.
    cancel: Cancel,
}

/// What the thread shares with commands and probes.
#[derive(Default)]
struct Shared {
    items: Vec<Arc<Item>>,
    /// What is wrong with the file.
    faults: Vec<String>,
    /// By the item's key.
    /// Boxed: the nodes of a map have room for eleven, of which half are in use.
    entries: BTreeMap<String, Box<Entry>>,
    /// What was found last.
    found: BTreeMap<String, Look>,
    /// What probes have found, until the thread takes it.
    probed: Vec<(Arc<Item>, Look)>,
    /// The keys of what is being told.
    telling: Vec<String>,
    /// The chats in which a watch is being added: its confirmation comes before its first alarm.
    adding: Vec<Address>,
    /// Whether the entries differ from the disk.
    is_unsaved: bool,
    /// How often the file or the configuration may have changed; reading them at the start counts as a change.
    changes: u64,
    /// How many of these changes are in `items`.
    read: u64,
    /// How many of them the thread has had a first look at.
    looked: u64,
    /// The file as it was read, see [`Store::stamp`].
    stamp: u64,
    /// Whether the file could not be read, so that the watches of before go on.
    is_unreadable: bool,
    /// The network's traffic: bytes and when, and kilobytes a second before that.
    traffic: Option<(u64, i64, Option<f64>)>,
}

/// A watch as the thread works with it.
#[derive(Debug, PartialEq)]
struct Item {
    /// Its number, or the name of a built-in one.
    key: String,
    subject: Subject,
    /// The rule as text.
    rule: String,
    /// The chat that it belongs to; `None`: a built-in one, or one of the command line.
    chat: Option<Address>,
    is_paused: bool,
    by_model: bool,
    process: Option<(String, u64)>,
    is_built_in: bool,
    /// What the one who has caused it may do.
    role: Role,
    author: Option<Author>,
}

/// What a look has found.
#[derive(Clone, Debug, Default, PartialEq)]
struct Look {
    /// `None`: it could not be found out.
    value: Option<f64>,
    /// Details. Untrusted.
    note: String,
    /// Why it does not see what it is about.
    blind: Option<Blind>,
}

impl Look {
    fn blind(why: Blind) -> Self {
        Self {
            blind: Some(why),
            ..Self::default()
        }
    }

    /// Of what is either so or not.
    fn is_bad(is_bad: bool, note: impl Into<String>) -> Self {
        Self {
            value: Some(f64::from(u8::from(is_bad))),
            note: note.into(),
            blind: None,
        }
    }
}

impl Item {
    fn rule(&self) -> Option<&Rule> {
        match &self.subject {
            Subject::Rule(rule) => Some(rule),
            Subject::BuiltIn(_) => None,
        }
    }
}

impl Shared {
    /// Takes these items, with what is known of those that were there before.
    fn take(&mut self, items: Vec<Arc<Item>>, is_enabled: bool) {
        let states = self.entries.len();
        // What cannot be read or is turned off now may come back.
        let is_all_known = is_enabled && !self.is_unreadable;
        self.entries.retain(|key, entry| {
            let is_listed = items
                .iter()
                .any(|item| item.key == *key && item.rule == entry.rule);
            let is_built_in = key.parse::<u32>().is_err();
            let is_chosen = is_built_in && (entry.is_off || entry.muted.is_some());
            is_listed || !is_all_known || is_chosen || entry.run.is_some()
        });
        self.is_unsaved |= self.entries.len() != states;
        for item in &items {
            let entry = self.entries.entry(item.key.clone()).or_default();
            entry.rule.clone_from(&item.rule);
        }
        self.found
            .retain(|key, _| items.iter().any(|item| item.key == *key));
        self.items = items;
    }
}

impl Watching {
    /// The watches of a home.
    pub fn new(home: &Path) -> Self {
        let wake = Wake::new();
        if let Err(error) = &wake {
            tracing::error!("failed to prepare watches, so nothing is watched: {error}");
        }
        Self {
            store: Store::open(home),
            root: root(),
            home: home.to_owned(),
            boot: boot(),
            wake: wake.ok(),
            shared: Mutex::new(Shared {
                changes: 1,
                ..Shared::default()
            }),
            reading: Mutex::default(),
            progress: Condvar::new(),
            cancel: Cancel::new(),
        }
    }

    /// The file of watches.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The file or the configuration has changed.
    pub fn look_again(&self) {
        self.shared.lock().changes += 1;
        self.wake();
    }

    /// Takes the list from the file and the configuration, if they have changed. Whoever works with it calls this
    /// before, and does not wait for the thread: a network disk that does not answer can hold that up.
    fn read_list(&self, settings: impl FnOnce() -> schema::Watch) {
        let _reading = self.reading.lock();
        let stamp = self.store.stamp();
        let mut shared = self.shared.lock();
        shared.changes += u64::from(stamp != shared.stamp);
        shared.stamp = stamp;
        let (changes, read) = (shared.changes, shared.read);
        drop(shared);
        if read == changes {
            return;
        }
        let settings = settings();
        let state = (read == 0).then(|| self.store.read_state());
        let list = settings.enabled.then(|| self.store.read());
        let built_in = match settings.enabled {
            true => built_in::items(&settings.built_in, &self.root, &self.home),
            false => Vec::new(),
        };
        let mut shared = self.shared.lock();
        if let Some(state) = state {
            shared.entries = state;
        }
        shared.is_unreadable = matches!(list, Some(Err(_)));
        let (mut items, faults): (Vec<_>, _) = match list {
            Some(Ok(list)) => (list.watches.into_iter().map(item).collect(), list.faults),
            Some(Err(error)) => {
                // The watches that run go on.
                let kept = shared.items.iter().filter(|item| !item.is_built_in);
                (kept.cloned().collect(), vec![error.to_string()])
            }
            None => (Vec::new(), Vec::new()),
        };
        items.extend(built_in);
        if shared.faults != faults {
            faults.iter().for_each(|fault| tracing::error!("{fault}"));
        }
        shared.faults = faults;
        shared.read = changes;
        shared.take(items, settings.enabled);
    }

    /// Changes what is known of an item, and keeps it; false if there is none with this key.
    fn change_entry(&self, key: &str, change: impl FnOnce(&mut Entry)) -> bool {
        let mut shared = self.shared.lock();
        let Some(entry) = shared.entries.get_mut(key) else {
            return false;
        };
        change(entry);
        shared.is_unsaved = true;
        self.save(&mut shared);
        drop(shared);
        self.look_again();
        true
    }

    /// Reads the list, and waits a while for the first look at what is new, so that a command says what was found.
    fn settle(&self, settings: impl FnOnce() -> schema::Watch) {
        if self.wake.is_none() {
            return;
        }
        self.read_list(settings);
        let shared = self.shared.lock();
        let wanted = shared.read;
        let is_unseen = |shared: &mut Shared| shared.looked < wanted && !self.cancel.is_cancelled();
        let waited = self
            .progress
            .wait_timeout_while(shared, FIRST_LOOK_TIME, is_unseen);
        drop(waited);
    }

    /// Whether there were more changes than these.
    fn has_changed_since(&self, changes: u64) -> bool {
        self.shared.lock().changes > changes
    }

    /// The thread has looked at so many changes.
    fn has_looked(&self, changes: u64) {
        let mut shared = self.shared.lock();
        if shared.looked < changes {
            shared.looked = changes;
            self.progress.notify_all();
        }
    }

    fn wake(&self) {
        if let Some(wake) = &self.wake {
            wake.wake();
        }
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.cancel.cancel();
        self.progress.notify_all();
        self.wake();
    }

    /// Tells a chat nothing until the result is dropped.
    fn hold(&self, chat: &Address) -> impl Drop {
        self.shared.lock().adding.push(chat.clone());
        Held(self, chat.clone())
    }

    /// The values of what is watched by the name under which a picture can show them.
    pub fn values(&self) -> Vec<(String, f64)> {
        let shared = self.shared.lock();
        let rules = shared.items.iter().filter(|item| !item.is_built_in);
        let value = |item: &Arc<Item>| {
            let rule = item.rule()?;
            let value = shared.found.get(&item.key)?.value?;
            Some(match &rule.what {
                What::Value { quantity, .. } => match quantity.path() {
                    Some(path) => (format!("{} {path}", quantity.name()), value),
                    None => (quantity.name().to_owned(), value),
                },
                // A picture of what is well shows 1.
                _ => (summary(&Rule::new(rule.what.clone())), 1.0 - value),
            })
        };
        rules.filter_map(value).collect()
    }

    /// Now, by the clock of the gateway.
    fn now(&self, clock: &Clock) -> Moment {
        let turned = clock.turned();
        let uptime = turned.map_or_else(sys::time::uptime, |turned| turned.uptime);
        Moment {
            up_ms: i64::try_from(uptime.as_millis()).unwrap_or(i64::MAX),
            wall_ms: clock.now_ms(),
            boot: self.boot,
        }
    }

    /// Writes what was told, if that has changed. A disk that takes nothing is tried again with the next change.
    fn save(&self, shared: &mut Shared) {
        if !std::mem::take(&mut shared.is_unsaved) {
            return;
        }
        let is_news = |entry: &Entry| {
            let empty = Entry {
                rule: entry.rule.clone(),
                ..Entry::default()
            };
            *entry != empty
        };
        let entries = shared.entries.iter();
        let kept: BTreeMap<&str, &Entry> = entries
            .filter(|(_, entry)| is_news(entry))
            .map(|(key, entry)| (key.as_str(), &**entry))
            .collect();
        let written = self.store.write_state(&kept);
        if let Err(error) = written {
            shared.is_unsaved = true;
            tracing::warn!("failed to save what was told of watches: {error}");
        }
    }

    /// A text of a file below the root.
    fn read(&self, path: &str) -> Option<String> {
        system::read(&self.root, path)
    }
}

/// See [`Watching::hold`].
struct Held<'a>(&'a Watching, Address);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut shared = self.0.shared.lock();
        let place = shared.adding.iter().position(|chat| *chat == self.1);
        place.map(|place| shared.adding.swap_remove(place));
        drop(shared);
        self.0.wake();
    }
}

/// Which start of the machine this is, as a number.
fn boot() -> u32 {
    let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // FNV-1a.
    let mix = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    id.iter().fold(0x811c_9dc5, mix)
}

/// Where the machine's files are.
#[cfg(not(feature = "test-hooks"))]
fn root() -> PathBuf {
    PathBuf::from("/")
}

/// In a build for tests, a made-up tree.
#[cfg(feature = "test-hooks")]
fn root() -> PathBuf {
    std::env::var_os("PEACRAB_TEST_WATCH_ROOT").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}

/// Watches for as long as the gateway runs.
pub(super) fn keep(gateway: &Arc<Gateway>) {
    if gateway.parts.watches.wake.is_none() {
        return;
    }
    let watching = Arc::clone(gateway);
    let builder = std::thread::Builder::new()
        .name("watch".to_owned())
        .stack_size(STACK_BYTES);
    let work = Box::new(move || thread::Thread::new(&watching).run());
    if let Err(error) = crate::base::sync::spawn(builder, work) {
        tracing::error!("failed to start the thread of watches, so nothing is watched: {error}");
        gateway.parts.watches.stop();
    }
}

impl Gateway {
    /// See [`Watching::read_list`].
    fn read_watches(&self) {
        let settings = || self.live().watch.clone();
        self.parts.watches.read_list(settings);
    }

    /// See [`Watching::settle`].
    fn settle_watches(&self) {
        let settings = || self.live().watch.clone();
        self.parts.watches.settle(settings);
    }

    /// The chat that is told about an item, if there is one and it still has access.
    fn chat_of_watch(&self, item: &Item) -> Option<Address> {
        let is_reached = |chat: &Address| self.delivery(chat).is_some();
        if let Some(chat) = &item.chat {
            let role = self.role_of_watch(chat, item);
            return Some(chat.clone()).filter(|chat| role.is_some() && is_reached(chat));
        }
        let to = &self.live().watch.to;
        let found = match to.as_str() {
            "" => self
                .owner_chat()
                .filter(|chat| self.role_of_watch(chat, item).is_some()),
            to => Some(Address::parse(to)),
        };
        found.filter(is_reached)
    }

    /// What the one who has caused an item may do now in its chat, at most what it was then; `None` without access.
    fn role_of_watch(&self, chat: &Address, item: &Item) -> Option<Role> {
        let found = self.role_in(chat, item.author.as_ref(), item.role)?;
        // A guest sees nothing of the board.
        Some(found.min(item.role)).filter(|role| *role >= Role::User)
    }

    /// What someone may do in a chat now; `None` without access. `before`: what they could do then, where the chat
    /// does not tell who they are.
    pub(super) fn role_in(
        &self,
        chat: &Address,
        author: Option<&Author>,
        before: Role,
    ) -> Option<Role> {
        if chat.channel == http::PAGE {
            let is_own = author.is_none_or(|author| author.id == chat.chat);
            return is_own.then(|| self.role_of_key(&chat.chat)).flatten();
        }
        let rules = self.rules_of(&chat.channel)?;
        let role = |author: &Author| {
            let person = Person {
                id: &author.id,
                username: &author.username,
                group: Some(&chat.chat),
                thread_of: None,
                paired: None,
            };
            let paired = || self.parts.pairing.role_of(&chat.channel, &author.id);
            rules.role_now(&person, paired)
        };
        match author {
            Some(author) => role(author),
            None => {
                let alone = Author {
                    id: chat.chat.clone(),
                    ..Author::default()
                };
                // A group, or a person who is known by name only.
                let is_open = chat.channel != "telegram"
                    || chat.chat.starts_with('-')
                    || rules.allow_from.iter().any(|entry| entry.starts_with('@'))
                    || rules.roles.keys().any(|entry| entry.starts_with('@'));
                role(&alone).or(is_open.then_some(before))
            }
        }
    }

    /// Whether the chat of an item has lost its access, so that nothing of it is told or run.
    fn has_no_access(&self, item: &Item) -> bool {
        let chat = item.chat.as_ref();
        chat.is_some_and(|chat| self.role_of_watch(chat, item).is_none())
    }

    /// The item with a key.
    fn watch_item(&self, key: &str) -> Option<Arc<Item>> {
        let shared = self.parts.watches.shared.lock();
        shared.items.iter().find(|item| item.key == key).cloned()
    }
}

/// The item of a watch of the file.
fn item(watch: Watch) -> Arc<Item> {
    Arc::new(Item {
        key: watch.id.to_string(),
        rule: watch.rule.to_string(),
        subject: Subject::Rule(watch.rule),
        chat: watch.chat,
        is_paused: watch.is_paused,
        by_model: watch.by_model,
        process: watch.process,
        is_built_in: false,
        role: watch.role,
        author: watch.author,
    })
}

/// An error whose text is Markdown for the person who typed something.
fn usage(text: String) -> Error {
    Error::Usage(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::language::Language;
    use crate::board::watch::Cause;

    #[test]
    fn the_list_is_read_without_the_thread() {
        let home = tempfile::tempdir().unwrap();
        let watching = Watching::new(home.path());
        let settings = || schema::Watch {
            enabled: true,
            ..schema::Watch::default()
        };
        let add = |text: &str| {
            let rule = crate::board::watch::parse::parse(text, Language::English).unwrap();
            watching.store.insert(rule, Cause::typed(None)).unwrap();
        };
        let rules = || {
            let shared = watching.shared.lock();
            let items = shared.items.iter().filter(|item| !item.is_built_in);
            let known = items.filter(|item| shared.entries.contains_key(&item.key));
            known.map(|item| item.rule.clone()).collect::<Vec<_>>()
        };
        add("port 80");
        watching.read_list(settings);
        assert_eq!(rules(), ["port 80"]);
        // Whoever has changed the file.
        add("port 81");
        watching.read_list(settings);
        assert_eq!(rules(), ["port 80", "port 81"]);
        assert!(watching.has_changed_since(1));
        assert!(watching.change_entry("2", |entry| entry.is_hushed = true));
        assert!(!watching.change_entry("3", |entry| entry.is_hushed = true));
        let kept = watching.store.read_state();
        assert!(kept.len() == 1 && kept["2"].is_hushed);
        std::fs::write(watching.store.path(), "{").unwrap();
        watching.read_list(settings);
        assert_eq!(rules(), ["port 80", "port 81"], "they go on");
        assert_eq!(watching.shared.lock().faults.len(), 1);
    }

    #[test]
    fn a_command_waits_for_the_first_look() {
        let home = tempfile::tempdir().unwrap();
        let watching = Watching::new(home.path());
        let settle = || watching.settle(schema::Watch::default);
        std::thread::scope(|scope| {
            let waits = scope.spawn(settle);
            watching.has_looked(1);
            waits.join().unwrap();
        });
        // Without a look it goes on after a while.
        watching.look_again();
        settle();
        watching.look_again();
        watching.stop();
        settle();
    }
}
