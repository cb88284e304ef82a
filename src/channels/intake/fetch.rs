//! Fetches the files of accepted messages, on threads that come and go.
//!
//! The files of a session are fetched message by message, those of different sessions in parallel. Owners' come first,
//! one thread is left to them, and the others take turns, person by person. What
//! may succeed later is tried again without occupying a thread; what fails is given up with a note in the
//! message.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Shared;
use super::store::Receiving;
use crate::base::access::Role;
use crate::base::bus::{Event, Heartbeat};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::Error;
use crate::base::limits::channels::{FILE_TRIES, IDLE, PATIENCE, STACK_BYTES};
use crate::base::message::{Attachment, Envelope, RemoteFile, SessionKey};
use crate::base::sync::{Condvar, Mutex, MutexGuard};
use crate::channels::kit::adapter::{Connection, Failure};
use crate::channels::kit::names;
use crate::channels::kit::stream::backoff::{doubled, with_jitter};
use crate::sandbox::confine::Writing;
use crate::sandbox::files::Workspace;
use crate::sys::memory;

/// Threads that fetch files for one channel at a time. Each holds a connection.
const FETCH_THREADS: usize = 2;
/// Those of them that fetch for people who are no owners: the last one is left to owners.
const OTHERS_THREADS: usize = FETCH_THREADS - 1;
/// People whose last turn is remembered.
const SERVED_MAX: usize = 64;
/// How long a fetching thread without work keeps its connection: the next file often follows soon.
const FETCH_LINGER: Duration = Duration::from_secs(10);
/// How long the files of a message are tried while the channel cannot be reached, or asks to wait. Its
/// conversation waits as long.
const FETCH_TIME: Duration = Duration::from_mins(10);

/// The messages whose files are to be fetched, and the threads that do it.
#[derive(Default)]
pub(super) struct Fetches {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// In the order in which the messages came. There are no more than messages in the inbox.
    queue: VecDeque<Job>,
    /// The jobs in progress.
    busy: Vec<Busy>,
    /// The people for whom files were fetched, the last one at the end. There are at most [`SERVED_MAX`].
    served: VecDeque<String>,
    threads: usize,
    idle: usize,
    handles: Vec<JoinHandle<()>>,
}

/// A job in progress.
struct Busy {
    session: SessionKey,
    id: String,
    is_owners: bool,
}

/// The files of one message.
struct Job {
    id: String,
    session: SessionKey,
    /// The message without its text and files.
    message: Box<Envelope>,
    /// Where its files go, once there is one.
    workspace: Option<Arc<Workspace>>,
    files: VecDeque<RemoteFile>,
    attachments: Vec<Attachment>,
    notes: Vec<String>,
    /// Since the first try.
    age: Stopwatch,
    /// Failed tries of the file that is next.
    tries: u32,
    /// Failures in a row to reach the channel.
    outages: u32,
    /// When it is tried again, on the stopwatch `age`.
    due: Duration,
}

/// What a thread does next.
enum Task {
    Fetch(Job),
    /// There is nothing to do for a while: the connection is not needed.
    Disconnect,
    End,
}

/// How far a job has come.
enum Progress {
    Done,
    /// It is to be tried again after this time.
    Later(Duration),
    /// The files are no longer needed, or the fetch was cancelled.
    Dropped,
}

/// Puts the files of a message into the queue, and starts a thread if one is needed.
pub(super) fn enqueue(shared: &Arc<Shared>, mut envelope: Envelope) {
    let fetches = &shared.fetches;
    let mut state = fetches.state.lock();
    if state.knows(&envelope.id) || shared.parts.cancel.is_cancelled() {
        return;
    }
    let files = std::mem::take(&mut envelope.remote_files);
    (envelope.text, envelope.quote) = Default::default();
    state.queue.push_back(Job {
        id: envelope.id.clone(),
        session: envelope.session.clone(),
        message: Box::new(envelope),
        workspace: None,
        files: files.into(),
        attachments: Vec::new(),
        notes: Vec::new(),
        age: Stopwatch::start(),
        tries: 0,
        outages: 0,
        due: Duration::ZERO,
    });
    if state.queue.len() > state.idle && state.threads < FETCH_THREADS {
        state.handles.retain(|handle| !handle.is_finished());
        let shared = Arc::clone(shared);
        let thread = thread::Builder::new()
            .name("fetch".to_owned())
            .stack_size(STACK_BYTES);
        match thread.spawn(move || work(&shared)) {
            Ok(handle) => {
                state.handles.push(handle);
                state.threads += 1;
            }
            Err(error) => tracing::error!("failed to start a thread that fetches files: {error}"),
        }
    }
    drop(state);
    fetches.changed.notify_all();
}

/// Runs a thread until it has been idle for a while.
fn work(shared: &Arc<Shared>) {
    let heartbeat = shared.parts.heartbeats.register("fetch");
    let waker = Arc::clone(shared);
    let _waker = shared.parts.cancel.on_cancel(move || {
        // With the lock, so that it does not come between a look at the token and the wait.
        drop(waker.fetches.state.lock());
        waker.fetches.changed.notify_all();
    });
    let mut connection = None;
    loop {
        let is_connected = connection.is_some();
        let cancel = &shared.parts.cancel;
        match shared.fetches.next(cancel, &heartbeat, is_connected) {
            Task::Fetch(mut job) => {
                let progress = fetch(shared, &mut job, &mut connection, &heartbeat);
                settle(shared, job, progress, &heartbeat);
            }
            Task::Disconnect => connection = None,
            Task::End => break,
        }
    }
    drop(connection);
    // It stays mapped until the thread is joined.
    memory::give_back_stack();
}

/// Fetches what is left of a job, until something fails that may succeed later.
fn fetch(
    shared: &Shared,
    job: &mut Job,
    connection: &mut Option<Box<dyn Connection>>,
    heartbeat: &Heartbeat,
) -> Progress {
    while let Some(file) = job.files.front().cloned() {
        if !shared.parts.inbox.holds(&job.id) {
            return Progress::Dropped;
        }
        heartbeat.beat(IDLE + 2 * PATIENCE);
        let stored = job
            .workspace(shared)
            .map_err(Failure::Local)
            .and_then(|workspace| fetch_file(shared, &file, &workspace, (connection, heartbeat)));
        let failure = match stored {
            Ok(attachment) => {
                job.attachments.push(attachment);
                job.next_file();
                continue;
            }
            Err(failure) => failure,
        };
        if matches!(failure, Failure::Stopped) {
            return Progress::Dropped;
        }
        match job.wait_after(&failure) {
            Some(wait) => {
                tracing::debug!(session = %job.session, "failed to fetch a file: {}", explain(&failure));
                *connection = None;
                return Progress::Later(wait);
            }
            None => {
                let why = explain(&failure);
                tracing::warn!(session = %job.session, "failed to fetch a file: {why}");
                let name = names::clean_file_name(&file.name);
                job.notes
                    .push(format!("[{name} could not be fetched: {why}]"));
                job.next_file();
            }
        }
    }
    Progress::Done
}

/// Fetches one file into the workspace and syncs it. A partial file is removed.
fn fetch_file(
    shared: &Shared,
    file: &RemoteFile,
    workspace: &Workspace,
    (connection, heartbeat): (&mut Option<Box<dyn Connection>>, &Heartbeat),
) -> Result<Attachment, Failure> {
    let parts = &shared.parts;
    let limit = parts.adapter.capabilities().download_bytes;
    if file.size.is_some_and(|size| size > limit as u64) {
        return Err(Failure::Local(Error::TooLarge {
            what: "the file".to_owned(),
            limit,
        }));
    }
    let connection = match connection {
        Some(connection) => connection,
        None => {
            let new = parts.adapter.connect(&parts.cancel, heartbeat);
            connection.insert(new.map_err(Failure::Local)?)
        }
    };
    let begun = Receiving::begin(workspace, &file.name, parts.clock.now());
    let mut to = begun.map_err(Failure::Local)?;
    let fetched = connection.fetch(&file.id, &mut to.file, limit);
    let stored = fetched.and_then(|()| {
        let size = to.file.sync_all().and_then(|()| to.file.metadata());
        let size = size.map_err(|error| Failure::Local(Error::io("write", &file.name)(error)))?;
        Ok((size.len(), still(shared, heartbeat)?))
    });
    match stored {
        Ok((bytes, _change)) => {
            let path = to.finish(workspace, &file.name, parts.clock.now());
            let path = path.map_err(Failure::Local)?;
            shared
                .store
                .stored(bytes, workspace, &parts.inbox, &parts.clock);
            Ok(Attachment {
                media: file.media,
                path,
            })
        }
        Err(failure) => {
            if let Err(error) = to.discard(workspace) {
                tracing::debug!("failed to remove a file that is not needed: {error}");
            }
            Err(failure)
        }
    }
}

/// Waits, however long that takes, until no command outside the sandbox runs that reads what is there: nothing is put
/// beside it meanwhile.
fn still(shared: &Shared, heartbeat: &Heartbeat) -> Result<Writing, Failure> {
    loop {
        heartbeat.beat(IDLE + 2 * PATIENCE);
        match shared.parts.hold.write() {
            Ok(change) => return Ok(change),
            Err(_) if shared.parts.cancel.is_cancelled() => return Err(Failure::Stopped),
            Err(_) => {}
        }
    }
}

/// Notifies the gateway of a finished job, and requeues an unfinished one.
fn settle(shared: &Shared, mut job: Job, progress: Progress, heartbeat: &Heartbeat) {
    let is_over = !matches!(progress, Progress::Later(_));
    match progress {
        Progress::Done => {
            let (attachments, notes) = (job.attachments.clone(), std::mem::take(&mut job.notes));
            match shared.parts.inbox.fetched(&job.id, attachments, notes) {
                Some(envelope) => {
                    shared.send(Event::Fetched(envelope), heartbeat);
                }
                None => job.discard(),
            }
        }
        Progress::Later(wait) => job.due = job.age.elapsed() + wait,
        Progress::Dropped => job.discard(),
    }
    let mut state = shared.fetches.state.lock();
    state.busy.retain(|busy| busy.id != job.id);
    if !is_over {
        // Before the others of its session.
        state.queue.push_front(job);
    }
    drop(state);
    shared.fetches.changed.notify_all();
}

impl Job {
    fn next_file(&mut self) {
        self.files.pop_front();
        (self.tries, self.outages) = (0, 0);
    }

    /// How long to wait before the next try; `None` when the file is given up.
    fn wait_after(&mut self, failure: &Failure) -> Option<Duration> {
        let wait = match failure {
            Failure::RetryAfter(time) => *time,
            Failure::Down(_) => {
                self.outages = self.outages.saturating_add(1);
                with_jitter(doubled(self.outages - 1))
            }
            Failure::Trouble(_) => {
                self.tries += 1;
                if self.tries >= FILE_TRIES {
                    return None;
                }
                return Some(with_jitter(doubled(self.tries - 1)));
            }
            _ => return None,
        };
        (self.age.elapsed() + wait <= FETCH_TIME).then_some(wait)
    }

    /// The workspace for its files: the same for all of them.
    fn workspace(&mut self, shared: &Shared) -> Result<Arc<Workspace>, Error> {
        let found = match self.workspace.take() {
            Some(workspace) => workspace,
            None => (shared.parts.workspace_for)(&self.message)?,
        };
        Ok(Arc::clone(self.workspace.insert(found)))
    }

    /// Removes the fetched files of a message that is no longer needed.
    fn discard(&self) {
        if let Some(workspace) = &self.workspace {
            let fetched = self.attachments.iter();
            fetched.for_each(|attachment| remove(workspace, &attachment.path));
        }
    }

    fn is_owners(&self) -> bool {
        self.message.role == Role::Owner
    }

    /// The person who has sent it.
    fn person(&self) -> &str {
        self.message.sender().map_or("", |sender| &sender.id)
    }

    /// How long it still has to wait.
    fn wait(&self) -> Duration {
        self.due.saturating_sub(self.age.elapsed())
    }
}

impl Fetches {
    /// Tries at once what waits for the channel to be reached.
    pub fn hurry(&self) {
        let mut state = self.state.lock();
        let waiting = state.queue.iter_mut().filter(|job| job.outages > 0);
        waiting.for_each(|job| job.due = Duration::ZERO);
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until every thread has ended.
    pub fn join(&self) {
        let handles = std::mem::take(&mut self.state.lock().handles);
        for handle in handles {
            // A panic has been logged by then.
            let _ = handle.join();
        }
    }

    /// Waits for something to fetch. The thread counts as ended when this returns [`Task::End`].
    fn next(&self, cancel: &Cancel, heartbeat: &Heartbeat, is_connected: bool) -> Task {
        let idle = Stopwatch::start();
        let mut state = self.state.lock();
        loop {
            if cancel.is_cancelled() {
                state.threads -= 1;
                return Task::End;
            }
            let wait = match state.pick() {
                Ok(job) => return Task::Fetch(job),
                Err(wait) => wait,
            };
            let linger = FETCH_LINGER.saturating_sub(idle.elapsed());
            let wait = match wait {
                // One thread is enough to wait for what is tried again.
                Some(wait) if !linger.is_zero() || state.threads == 1 => {
                    if is_connected && wait > FETCH_LINGER {
                        return Task::Disconnect;
                    }
                    match state.threads {
                        1 => wait,
                        _ => wait.min(linger),
                    }
                }
                None if !linger.is_zero() => linger,
                _ => {
                    state.threads -= 1;
                    return Task::End;
                }
            };
            state = self.rest(state, wait, heartbeat);
        }
    }

    fn rest<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        time: Duration,
        heartbeat: &Heartbeat,
    ) -> MutexGuard<'a, State> {
        heartbeat.beat(time + PATIENCE);
        state.idle += 1;
        let mut state = self.changed.wait_timeout(state, time);
        state.idle -= 1;
        state
    }
}

impl State {
    fn knows(&self, id: &str) -> bool {
        self.queue.iter().any(|job| job.id == id) || self.busy.iter().any(|busy| busy.id == id)
    }

    /// Takes the next job that may be started: the first of its session, if no other thread has one of that session,
    /// and if it is no owner's, only while a thread is left to owners. Otherwise returns the time until there is one, if
    /// one waits.
    fn pick(&mut self) -> Result<Job, Option<Duration>> {
        let sessions = self.busy.iter().map(|busy| &busy.session);
        let mut blocked: BTreeSet<&SessionKey> = sessions.collect();
        let others = self.busy.iter().filter(|busy| !busy.is_owners).count();
        let mut soonest: Option<Duration> = None;
        let mut found: Option<(usize, Option<usize>)> = None;
        for (index, job) in self.queue.iter().enumerate() {
            let is_owners = job.is_owners();
            if !blocked.insert(&job.session) || !is_owners && others >= OTHERS_THREADS {
                continue;
            }
            let wait = job.wait();
            if !wait.is_zero() {
                soonest = Some(soonest.map_or(wait, |soonest| soonest.min(wait)));
                continue;
            }
            if is_owners {
                found = Some((index, None));
                break;
            }
            // Those who have not been served for longest come first.
            let served = self.served.iter().position(|one| one == job.person());
            if found.is_none_or(|(_, before)| served < before) {
                found = Some((index, served));
            }
        }
        let job = found.and_then(|(index, _)| self.queue.remove(index));
        let job = job.ok_or(soonest)?;
        self.note_served(&job);
        self.busy.push(Busy {
            session: job.session.clone(),
            id: job.id.clone(),
            is_owners: job.is_owners(),
        });
        Ok(job)
    }

    fn note_served(&mut self, job: &Job) {
        if job.is_owners() {
            return;
        }
        let person = job.person();
        self.served.retain(|one| one != person);
        self.served.push_back(person.to_owned());
        if self.served.len() > SERVED_MAX {
            self.served.pop_front();
        }
    }
}

fn remove(workspace: &Workspace, path: &str) {
    if let Err(error) = workspace.remove(Path::new(path)) {
        tracing::debug!("failed to remove a file that is not needed: {error}");
    }
}

/// Why a file was not fetched, for the model and the log.
fn explain(failure: &Failure) -> String {
    match failure {
        Failure::RetryAfter(_) => "too many requests".to_owned(),
        Failure::Gone { said: why, .. }
        | Failure::Refused(why)
        | Failure::Trouble(why)
        | Failure::Down(why)
        | Failure::Markup(why) => why.clone(),
        Failure::Local(error) => error.to_string(),
        Failure::MessageGone => "it no longer exists".to_owned(),
        Failure::NotModified | Failure::TooLong => "the channel refused".to_owned(),
        Failure::Stopped => "stopped".to_owned(),
    }
}
