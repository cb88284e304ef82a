//! The servers of an agent: started when they are needed, and what they offer is kept in files.

mod entry;
mod listing;
mod open;
mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::{Map, Value};

use super::link::{Call, Step};
use super::stdio::{Hub, Launcher};
use super::tool;
use super::{CLOSE_TIME, STACK_BYTES};
use crate::base::cancel::Cancel;
use crate::base::clock::{Clock, Stopwatch};
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::base::sync;
use crate::config::schema::McpServer;
use crate::net::Tls;
use crate::tools::mcp::TURN_TIME;
use entry::{Entry, Up};
pub use listing::{ListState, Listing};
use listing::{Stored, is_enabled, load_failure, save_failure};

/// Bytes of a list that are kept.
const LIST_BYTES: usize = 512 * 1024;

/// What the servers are made of.
pub struct Parts {
    /// Those of the configuration that are enabled, by their names.
    pub servers: BTreeMap<String, McpServer>,
    /// Starts programs; `None` where commands are turned off.
    pub launcher: Option<Arc<dyn Launcher>>,
    /// For those that have an address.
    pub tls: Tls,
    /// The folder for lists (NAME.json) and logins (NAME.login.json).
    pub folder: PathBuf,
    /// The address of the workspace, such as `file:///home/pi/workspace`.
    pub root: String,
    /// Whether there is a person to ask.
    pub elicitation: bool,
    /// The source of the time.
    pub clock: Clock,
}

/// How the file with the last failure of a server ends.
pub const FAILURE: &str = "failed";

/// The servers of an agent. When it is dropped its programs are stopped, and those that do not end by
/// themselves are killed.
pub struct Servers(Arc<Inner>);

struct Inner {
    parts: Parts,
    entries: Vec<Arc<Entry>>,
    hub: Arc<Hub>,
    /// Whether a thread reads lists.
    is_looking: Arc<AtomicBool>,
    /// Raised when this is dropped.
    ended: Cancel,
}

/// What is asked of a server.
pub enum ServerCall {
    /// Calls a tool.
    Tool {
        /// Its name there.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// Reads a resource.
    ReadResource {
        /// Its address.
        uri: String,
    },
    /// Gets a prompt.
    GetPrompt {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
}

/// How a server is, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// How long it has been connected; `None`: it is not.
    pub running: Option<Duration>,
    /// Its own name and version, while it runs.
    pub name: String,
    /// The version of the protocol, while it runs.
    pub version: String,
    /// The last failure, unless it has been connected since; it may have been in another process.
    pub error: Option<String>,
    /// Whether it needs a login, as far as that is known.
    pub needs_login: bool,
    /// How long it is not tried again after that.
    pub retry_in: Option<Duration>,
    /// When its lists were read, in milliseconds since 1970.
    pub listed_at: Option<i64>,
}

impl Servers {
    /// Starts nothing.
    pub fn new(parts: Parts) -> Self {
        let entries = parts
            .servers
            .iter()
            .map(|(name, server)| Arc::new(Entry::new(name.clone(), server.clone())));
        Self(Arc::new(Inner {
            entries: entries.collect(),
            parts,
            hub: Arc::default(),
            is_looking: Arc::default(),
            ended: Cancel::new(),
        }))
    }

    /// Starts nothing, and goes on with those servers of other settings whose own did not change.
    pub fn continuing(parts: Parts, earlier: &Self) -> Self {
        let of = |parts: &Parts| parts.launcher.as_ref().map(|one| one.fingerprint());
        let earlier = &earlier.0;
        let is_same = of(&parts) == of(&earlier.parts)
            && (&parts.root, parts.elicitation) == (&earlier.parts.root, earlier.parts.elicitation);
        let entries = parts.servers.iter().map(|(name, server)| {
            let entry = earlier.get(name);
            let entry = entry.filter(|entry| is_same && entry.server == *server);
            let new = || Arc::new(Entry::new(name.clone(), server.clone()));
            entry.cloned().unwrap_or_else(new)
        });
        Self(Arc::new(Inner {
            entries: entries.collect(),
            parts,
            hub: Arc::clone(&earlier.hub),
            is_looking: Arc::clone(&earlier.is_looking),
            ended: Cancel::new(),
        }))
    }

    /// The names of all servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.entries.iter().map(|entry| entry.name.as_str())
    }

    /// What a server offers, as far as it is known. Nothing is started.
    pub fn listing(&self, server: &str) -> Listing {
        match self.0.get(server) {
            Some(entry) => self.0.listing(entry),
            None => Listing::default(),
        }
    }

    /// Connects if need be, whatever has failed before, and reads all lists.
    pub fn refresh(&self, server: &str, cancel: &Cancel) -> Result<Listing> {
        self.0.refresh(self.0.entry(server)?, true, cancel)
    }

    /// The same for a turn, which waits for it only for this time; it goes on without the turn.
    pub fn refresh_for_turn(
        &self,
        server: &str,
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Listing> {
        let entry = self.0.entry(server)?;
        self.0.for_turn(entry, time, cancel, |inner, entry, ended| {
            inner.refresh(entry, true, ended)
        })
    }

    /// Connects if need be, however long that takes, so that the next call need not.
    pub fn connect(&self, server: &str, cancel: &Cancel) -> Result<()> {
        self.0
            .connect(self.0.entry(server)?, true, cancel)
            .map(drop)
    }

    /// Reads lists that are missing, old or changed, on a thread.
    pub fn look_later(&self) {
        let inner = &self.0;
        let is_due = inner.entries.iter().any(|entry| inner.is_due(entry));
        if !is_due || inner.is_looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let (weak, ended) = (Arc::downgrade(inner), inner.ended.clone());
        let is_looking = Arc::clone(&inner.is_looking);
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        let work = Box::new(move || {
            for name in names {
                let Some(inner) = weak.upgrade() else {
                    break;
                };
                let Some(entry) = inner.get(&name) else {
                    continue;
                };
                // This finds out how old stored lists are.
                let _ = inner.listing(entry);
                if inner.is_due(entry)
                    && let Err(error) = inner.refresh(entry, false, &ended)
                {
                    tracing::warn!(server = %name, "failed to read the lists of an MCP server: {error}");
                }
            }
            is_looking.store(false, Ordering::SeqCst);
        });
        let builder = std::thread::Builder::new().name("mcp-lists".to_owned());
        if sync::spawn(builder.stack_size(STACK_BYTES), work).is_err() {
            inner.is_looking.store(false, Ordering::SeqCst);
        }
    }

    /// Makes a call, and connects if need be, for which it waits at most `TURN_TIME`.
    pub fn call(
        &self,
        server: &str,
        request: ServerCall,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Step> {
        let entry = self.0.entry(server)?;
        let call = self.0.call_of(entry, request);
        let up = self.0.connect_for_turn(entry, cancel)?;
        let mark = up.connection.as_ref().map(|one| one.mark());
        let outcome = up.link.call(call.clone(), cancel, progress);
        // A program that ended before it could read the call gets it when it runs again, and so does a
        // server that has ended the session. These statuses only come for the call itself.
        let is_unseen = match &outcome {
            Err(Error::Status { status, .. }) if !matches!(status, 401 | 403 | 429) => {
                entry.state.lock().forget(&up);
                matches!(status, 400 | 404)
            }
            Err(_) => {
                let seen = up.connection.as_ref().zip(mark);
                up.end().is_some() && seen.is_some_and(|(one, mark)| !one.has_seen_since(mark))
            }
            Ok(_) => false,
        };
        let outcome = if is_unseen && !cancel.is_cancelled() {
            let up = self.0.connect_for_turn(entry, cancel)?;
            up.link.call(call, cancel, progress)
        } else {
            outcome
        };
        if outcome.is_ok() {
            entry.state.lock().failure = None;
        }
        outcome
    }

    /// Stops a server. The next call starts it again.
    pub fn stop(&self, server: &str) {
        if let Some(entry) = self.0.get(server) {
            entry.stop();
        }
    }

    /// Stops all servers, and waits until their programs have ended.
    pub fn stop_all(&self) {
        self.0.entries.iter().for_each(|entry| entry.stop());
        self.0.hub.wait_until_ended();
    }

    /// How a server is.
    pub fn status(&self, server: &str) -> Status {
        let Some(entry) = self.0.get(server) else {
            return Status::default();
        };
        // This finds out how old the lists are.
        let _ = self.0.listing(entry);
        let stored = self.0.failure_file(entry);
        let stored = stored.and_then(|file| load_failure(&file, &entry.fingerprint));
        let mut state = entry.state.lock();
        let up = state.live();
        let stored = stored.filter(|_| up.is_none());
        let hello = up.as_ref().map(|up| up.link.hello());
        Status {
            running: up.as_ref().map(|up| up.since.elapsed()),
            name: hello.map(|hello| hello.name.clone()).unwrap_or_default(),
            version: hello.map_or("", |hello| hello.version).to_owned(),
            error: (state.failure.as_ref().map(|failure| failure.why.clone())).or(stored),
            needs_login: state.failure.as_ref().is_some_and(|one| one.needs_login),
            retry_in: state.wait(),
            listed_at: state.age.map(|age| age.at),
        }
    }
}

/// The error of a turn that does not wait any longer.
fn not_ready(name: &str) -> Error {
    Error::Failed(format!(
        "the MCP server {name} has not answered within {} s. Peacrab goes on connecting to it: go on without \
         it, say so, and try it later",
        TURN_TIME.as_secs()
    ))
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.0.ended.cancel();
        let works = |entry: &Arc<Entry>| entry.state.lock().working.is_some();
        let watch = Stopwatch::start();
        while self.0.entries.iter().any(works) && watch.elapsed() < CLOSE_TIME {
            std::thread::sleep(POLL / 10);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Programs of servers that go on with other settings are kept by these.
        self.entries.clear();
        // One is ours, one is the thread's: nothing else goes on with it.
        if Arc::strong_count(&self.hub) <= 2 {
            self.hub.wait_until_ended();
        }
    }
}

impl Inner {
    fn entry(&self, server: &str) -> Result<&Arc<Entry>> {
        let missing = || Error::Failed(format!("there is no MCP server {server}"));
        self.get(server).ok_or_else(missing)
    }

    fn get(&self, server: &str) -> Option<&Arc<Entry>> {
        self.entries.iter().find(|entry| entry.name == server)
    }

    fn now(&self) -> i64 {
        self.parts.clock.now_ms()
    }

    /// The file with a server's lists; `None` for a name that is not one of a file.
    fn file(&self, entry: &Entry) -> Option<PathBuf> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let name = &entry.name;
        let is_name = !name.is_empty() && name.bytes().all(is_plain);
        is_name.then(|| self.parts.folder.join(format!("{name}.json")))
    }

    /// The file with the last failure.
    fn failure_file(&self, entry: &Entry) -> Option<PathBuf> {
        Some(self.file(entry)?.with_extension(FAILURE))
    }

    fn keep_failure(&self, entry: &Entry, error: Option<&Error>) {
        let why = error.map(|error| match error {
            Error::Status {
                status: 401 | 403, ..
            } => format!("it needs a login (peacrab mcp login {})", entry.name),
            error => error.to_string(),
        });
        if let Some(file) = self.failure_file(entry) {
            save_failure(&file, &entry.fingerprint, why.as_deref());
        }
    }

    fn stored(&self, entry: &Entry) -> Option<Stored> {
        let kept = entry.state.lock().kept.clone();
        kept.or_else(|| Stored::load(&self.file(entry)?, &entry.fingerprint))
    }

    fn listing(&self, entry: &Entry) -> Listing {
        let stored = self.stored(entry);
        let mut state = entry.state.lock();
        let Some(stored) = stored else {
            let failure = state.failure.as_ref();
            return Listing {
                state: failure.map_or(ListState::Never, |failure| {
                    ListState::Failed(failure.why.clone())
                }),
                ..Listing::default()
            };
        };
        state.age.get_or_insert(stored.age());
        let has_changed = state.has_changed();
        drop(state);
        let mut listing = Self::filtered(entry, stored.listing(self.now()));
        if has_changed {
            listing.state = ListState::Stale;
        }
        listing
    }

    fn filtered(entry: &Entry, mut listing: Listing) -> Listing {
        let patterns = &entry.server.enabled_tools;
        listing
            .tools
            .retain(|tool| is_enabled(patterns, &tool.name));
        listing
    }

    /// Whether the lists have to be read. The first look at them reads the file.
    fn is_due(&self, entry: &Entry) -> bool {
        let mut state = entry.state.lock();
        let has_changed = state.has_changed();
        let is_fresh = state.age.is_some_and(|age| age.is_fresh(self.now()));
        let needs_login = (state.failure.as_ref()).is_some_and(|failure| failure.needs_login);
        (has_changed || !is_fresh) && state.wait().is_none() && !needs_login
    }

    fn refresh(&self, entry: &Arc<Entry>, is_urgent: bool, cancel: &Cancel) -> Result<Listing> {
        let has_url = !entry.server.url.is_empty();
        let mut is_second = entry.state.lock().live().is_none();
        let (read, changes) = loop {
            let up = self.connect(entry, is_urgent, cancel)?;
            // What changes from now on is read the next time, also when another look hears of it first.
            let changes = {
                let mut state = entry.state.lock();
                state.has_changed();
                state.changes
            };
            match read::all(&up.link, has_url, cancel) {
                // It may have ended the session.
                Err(Error::Status { .. }) if !is_second => {
                    entry.state.lock().forget(&up);
                    is_second = true;
                }
                read => break (read, changes),
            }
        };
        if let Err(error) = &read
            && !matches!(error, Error::Stopped)
        {
            self.keep_failure(entry, Some(error));
        }
        let (listing, fresh) = read?;
        let stored = Stored::new(&listing, &entry.fingerprint, self.now(), fresh);
        let saved = match self.file(entry) {
            Some(file) => stored.save(&file).map_err(|error| error.to_string()),
            None => Err("its name is not one of a file".to_owned()),
        };
        let mut state = entry.state.lock();
        (state.age, state.failure) = (Some(stored.age()), None);
        state.changes_read = changes;
        state.kept = match saved {
            Ok(()) => None,
            Err(why) => {
                tracing::warn!(server = %entry.name, "failed to store the lists of an MCP server: {why}");
                Some(stored)
            }
        };
        drop(state);
        Ok(Self::filtered(entry, listing))
    }

    fn connect_for_turn(self: &Arc<Self>, entry: &Arc<Entry>, cancel: &Cancel) -> Result<Up> {
        if let Some(up) = entry.state.lock().live() {
            return Ok(up);
        }
        self.for_turn(entry, TURN_TIME, cancel, |inner, entry, ended| {
            inner.connect(entry, false, ended)
        })
    }

    /// Does this on a thread, and waits for it for this time only: a server may be silent for long. While that
    /// goes on, further turns do not wait for it.
    fn for_turn<T: Send + 'static>(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        time: Duration,
        cancel: &Cancel,
        work: impl FnOnce(&Self, &Arc<Entry>, &Cancel) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let watch = Stopwatch::start();
        {
            let mut state = entry.state.lock();
            let (count, since) = state.working.unwrap_or((0, watch));
            if since.elapsed() >= TURN_TIME {
                return Err(not_ready(&entry.name));
            }
            state.working = Some((count + 1, since));
        }
        let (sender, receiver) = sync_channel(1);
        let (inner, its_entry) = (Arc::clone(self), Arc::clone(entry));
        let work = Box::new(move || {
            let done = work(&inner, &its_entry, &inner.ended);
            // Whoever drops the servers waits for their end, and is not to find them used here.
            drop(inner);
            let mut state = its_entry.state.lock();
            state.working = match state.working {
                Some((count, since)) if count > 1 => Some((count - 1, since)),
                _ => None,
            };
            drop(state);
            // No one may wait any more.
            let _ = sender.send(done);
        });
        let builder = std::thread::Builder::new().name("mcp-turn".to_owned());
        if let Err(error) = sync::spawn(builder.stack_size(STACK_BYTES), work) {
            entry.state.lock().working = None;
            return Err(Error::io("start", "a thread")(error));
        }
        loop {
            match receiver.recv_timeout(POLL.min(time.saturating_sub(watch.elapsed()))) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Disconnected) => return Err(not_ready(&entry.name)),
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    return Err(Error::Stopped);
                }
                Err(RecvTimeoutError::Timeout) if watch.elapsed() >= time => {
                    return Err(not_ready(&entry.name));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The connection to a server. Only one thread makes it; one in a hurry does not mind failures before.
    fn connect(&self, entry: &Arc<Entry>, is_urgent: bool, cancel: &Cancel) -> Result<Up> {
        loop {
            let mut state = entry.state.lock();
            if let Some(up) = state.live() {
                return Ok(up);
            }
            if !state.is_starting {
                if let Some(error) = state.too_early(&entry.name).filter(|_| !is_urgent) {
                    return Err(error);
                }
                state.is_starting = true;
                break;
            }
            drop(state);
            if cancel.wait(POLL) {
                return Err(Error::Stopped);
            }
        }
        let opened = self.open(entry, cancel);
        let error = opened.as_ref().err();
        if !matches!(error, Some(Error::Stopped)) {
            self.keep_failure(entry, error);
        }
        let mut state = entry.state.lock();
        state.is_starting = false;
        match opened {
            Ok((link, connection)) => {
                let since = Stopwatch::start();
                let up = Up {
                    link,
                    connection,
                    since,
                };
                state.up = Some(up.clone());
                Ok(up)
            }
            Err(Error::Stopped) => Err(Error::Stopped),
            Err(error) => {
                state.fail_with(&error);
                Err(error)
            }
        }
    }

    fn call_of(&self, entry: &Entry, request: ServerCall) -> Call {
        let (method, name, target, arguments) = match request {
            ServerCall::Tool { name, arguments } => ("tools/call", "name", name, Some(arguments)),
            ServerCall::GetPrompt { name, arguments } => {
                ("prompts/get", "name", name, Some(arguments))
            }
            ServerCall::ReadResource { uri } => ("resources/read", "uri", uri, None),
        };
        let mut parameters = Vec::new();
        if let Some(arguments) = &arguments
            && !entry.server.url.is_empty()
            && method == "tools/call"
            && let Some(listed) = self
                .listing(entry)
                .tools
                .iter()
                .find(|one| one.name == target)
        {
            parameters = tool::header_values(listed, arguments);
        }
        let mut params = Map::new();
        params.insert(name.to_owned(), target.into());
        if let Some(arguments) = arguments {
            params.insert("arguments".to_owned(), arguments.into());
        }
        Call {
            method,
            params,
            parameters,
            patience: Duration::from_secs(entry.server.tool_timeout),
        }
    }
}

#[cfg(test)]
mod tests;
