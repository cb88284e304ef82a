//! Commands in the background: started, read, written to, killed.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::Signal;

use super::run::{End, Running};
use super::{Exec, ShellCommand};
use super::{PIPE_BYTES, SWEEP_PAUSE, TRY_TIME};
use crate::base::access::Role;
use crate::base::approval::Answer;
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::tools::INPUT_LINE_BYTES;
use crate::base::sync::{Mutex, MutexGuard};
use crate::sys::process;
use crate::sys::pty::Size;
use crate::text::emulator::{Emulator, Screen};

/// Commands in the background at a time, of all chats together.
const SESSIONS: usize = 8;
/// Commands in the background of one chat, so that one does not take all from the others.
const SESSIONS_PER_CHAT: usize = 4;
/// Bytes of unread output that a command in the background may have; older ones are dropped.
const SESSION_BYTES: usize = 128 * 1024;
/// A command in the background that nobody asks for is killed after this.
const SESSION_IDLE: Duration = Duration::from_mins(30);
/// How long reading a command in the background waits for output or for its end.
const READ_TIME: Duration = Duration::from_secs(2);
/// How often that is looked for.
const READ_POLL: Duration = Duration::from_millis(20);
/// How long a command in the background may take to read its input.
const INPUT_TIME: Duration = Duration::from_secs(5);
/// Stack of the thread that follows a command in the background; it needs 10 kB.
const SESSION_STACK_BYTES: usize = 128 * 1024;

/// What happens to a command in the background.
#[derive(Clone, Copy, Debug)]
pub enum SessionEvent<'a> {
    /// This is about to be written to it, with a person's answer where one was asked. After an error
    /// it is not.
    Input(&'a str, Option<Answer>),
    /// It has ended.
    Ended(&'a End),
}

/// Is told of each event of one command, before the event takes effect.
pub type Observer = Arc<dyn Fn(SessionEvent<'_>) -> Result<()> + Send + Sync>;

/// The commands in the background. All are killed when this is dropped.
pub struct Sessions {
    idle: Duration,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    next: u32,
    sessions: Vec<Session>,
}

struct Session {
    id: u32,
    owner: String,
    command: String,
    folder: PathBuf,
    unsandboxed: bool,
    /// A person allows whatever is written to it.
    is_input_allowed: bool,
    /// The end of its input since the last line was finished.
    unfinished: String,
    input: Arc<Mutex<Option<File>>>,
    observer: Observer,
    shared: Arc<Mutex<Shared>>,
    cancel: Cancel,
    follower: Option<JoinHandle<()>>,
}

/// What the follower of a command and those who ask for it share.
struct Shared {
    /// The screen, of a command on a terminal; its output goes there.
    emulator: Option<Emulator>,
    /// Whether the screen has changed since the last reading.
    is_changed: bool,
    unread: VecDeque<u8>,
    dropped: u64,
    end: Option<End>,
    asked: Stopwatch,
}

/// Output since the last reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadOutput {
    /// The output, broken characters replaced.
    pub text: String,
    /// Bytes that came before it and were dropped because they were not read in time.
    pub dropped: u64,
    /// How the command ended; none while it runs.
    pub end: Option<End>,
}

/// A command in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its number.
    pub id: u32,
    /// The command.
    pub command: String,
    /// Where it was started.
    pub folder: PathBuf,
    /// Whether it runs outside the sandbox.
    pub unsandboxed: bool,
    /// Whether a person allows whatever is written to it.
    pub is_input_allowed: bool,
    /// The end of its input since the last line was finished.
    pub unfinished: String,
    /// Bytes of output that are not read yet.
    pub unread: usize,
    /// Of a command on a terminal: whether it has switched the cursor keys to application mode.
    pub application_cursor: Option<bool>,
    /// How it ended; none while it runs.
    pub end: Option<End>,
}

/// A command that is to run in the background.
#[derive(Clone, Copy, Debug)]
pub struct SessionStart<'a> {
    /// The command.
    pub command: &'a ShellCommand<'a>,
    /// The size of its terminal; `None`: it has pipes.
    pub terminal: Option<Size>,
    /// Whose it is.
    pub owner: &'a str,
    /// The role of the person.
    pub role: Role,
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(SESSION_IDLE)
    }
}

impl Sessions {
    /// No sessions yet. A session that is not read for `idle` is killed.
    pub fn new(idle: Duration) -> Self {
        Self {
            idle,
            inner: Mutex::default(),
        }
    }

    /// Starts a command and says its number.
    pub fn start(&self, exec: &Exec, start: &SessionStart<'_>, observer: Observer) -> Result<u32> {
        let SessionStart {
            command,
            terminal,
            owner,
            role,
        } = *start;
        let mut inner = self.lock();
        make_room(&mut inner.sessions, SESSIONS_PER_CHAT, |one| {
            one.owner == owner
        })
        .ok_or_else(|| too_many(SESSIONS_PER_CHAT, "of this chat", "kill one first"))?;
        let most = role.places(SESSIONS);
        make_room(&mut inner.sessions, most, |_| true).ok_or_else(|| {
            let way = match role {
                Role::Owner => "one has to end first",
                _ => "one has to end first, as the other places are kept for owners",
            };
            too_many(most, "of all chats", way)
        })?;
        let (mut running, first) = match terminal {
            Some(size) => (
                exec.start_on_terminal(command, size, &Cancel::new())?,
                Vec::new(),
            ),
            None => exec.start_in_background(command)?,
        };
        let input = match terminal {
            Some(_) => Some(typing(&running)?),
            None => running.input.take(),
        };
        inner.next += 1;
        let shared = Arc::new(Mutex::new(Shared {
            emulator: terminal.map(|size| Emulator::new(size.columns, size.rows)),
            is_changed: false,
            unread: first.into(),
            dropped: 0,
            end: None,
            asked: Stopwatch::start(),
        }));
        let mut session = Session {
            id: inner.next,
            owner: owner.to_owned(),
            command: command.line.to_owned(),
            folder: command.folder.to_owned(),
            unsandboxed: command.unsandboxed,
            is_input_allowed: false,
            unfinished: String::new(),
            input: Arc::new(Mutex::new(input)),
            observer: observer.clone(),
            shared: shared.clone(),
            cancel: Cancel::new(),
            follower: None,
        };
        let (cancel, idle) = (session.cancel.clone(), self.idle);
        let follower = std::thread::Builder::new()
            .name("exec-session".to_owned())
            .stack_size(SESSION_STACK_BYTES)
            .spawn(move || {
                let end = follow(running, &shared, &cancel, idle);
                // Nothing is left that an error could stop.
                let _ = observer(SessionEvent::Ended(&end));
                shared.lock().end = Some(end);
            })
            .map_err(|error| Error::Failed(format!("cannot follow a command: {error}")))?;
        session.follower = Some(follower);
        inner.sessions.push(session);
        Ok(inner.next)
    }

    /// The output since the last reading. A session that has ended and is read is forgotten. While the
    /// command runs and has written nothing new, this waits a little for output or its end.
    pub fn read(&self, owner: &str, id: u32, cancel: &Cancel) -> Result<UnreadOutput> {
        self.wait_for_news(owner, id, cancel)?;
        let mut inner = self.lock();
        let at = find(&inner.sessions, owner, id)?;
        let since = inner.sessions[at].shared().take();
        if since.end.is_some() {
            inner.sessions.remove(at);
        }
        Ok(since)
    }

    fn wait_for_news(&self, owner: &str, id: u32, cancel: &Cancel) -> Result<()> {
        let shared = {
            let inner = self.lock();
            let at = find(&inner.sessions, owner, id)?;
            Arc::clone(&inner.sessions[at].shared)
        };
        let is_quiet = || {
            let shared = shared.lock();
            shared.unread.is_empty() && !shared.is_changed && shared.end.is_none()
        };
        let watch = Stopwatch::start();
        while is_quiet() && watch.elapsed() < READ_TIME {
            if cancel.wait(READ_POLL) {
                break;
            }
        }
        Ok(())
    }

    /// Gives the command input. It waits a little if the command does not read.
    pub fn write(&self, owner: &str, id: u32, input: &str) -> Result<()> {
        self.write_answered(owner, id, input, None)
    }

    /// Gives the command input about which a person was asked. `Always` allows all further input.
    pub fn write_answered(
        &self,
        owner: &str,
        id: u32,
        input: &str,
        answer: Option<Answer>,
    ) -> Result<()> {
        let (pipe, observer) = {
            let mut inner = self.lock();
            let at = find(&inner.sessions, owner, id)?;
            let session = &mut inner.sessions[at];
            session.is_input_allowed |= answer == Some(Answer::Always);
            session.shared().asked = Stopwatch::start();
            (session.input.clone(), session.observer.clone())
        };
        let mut pipe = pipe.lock();
        let closed = || Error::Failed(format!("session {id} reads no input any more"));
        let pipe = pipe.as_mut().ok_or_else(closed)?;
        observer(SessionEvent::Input(input, answer))?;
        self.note_input(owner, id, input);
        feed(pipe, input.as_bytes()).ok_or_else(closed)?
    }

    fn note_input(&self, owner: &str, id: u32, input: &str) {
        let mut inner = self.lock();
        let found = find(&inner.sessions, owner, id).ok();
        let Some(session) = found.and_then(|at| inner.sessions.get_mut(at)) else {
            return;
        };
        session.unfinished += input;
        let line = session.unfinished.rsplit(['\n', '\r']).next();
        let line = line.unwrap_or_default();
        let from = line.ceil_char_boundary(line.len().saturating_sub(INPUT_LINE_BYTES));
        session.unfinished = line.get(from..).unwrap_or_default().to_owned();
    }

    /// Kills a command and all that it started, and says what it had still written.
    pub fn kill(&self, owner: &str, id: u32) -> Result<UnreadOutput> {
        let mut session = {
            let mut inner = self.lock();
            let at = find(&inner.sessions, owner, id)?;
            inner.sessions.remove(at)
        };
        session.stop();
        let since = session.shared().take();
        Ok(since)
    }

    /// The commands of an owner.
    pub fn list(&self, owner: &str) -> Vec<SessionInfo> {
        let inner = self.lock();
        let of_owner = inner
            .sessions
            .iter()
            .filter(|session| session.owner == owner);
        let listed = of_owner.map(|session| {
            let shared = session.shared();
            SessionInfo {
                id: session.id,
                command: session.command.clone(),
                folder: session.folder.clone(),
                unsandboxed: session.unsandboxed,
                is_input_allowed: session.is_input_allowed,
                unfinished: session.unfinished.clone(),
                unread: shared.unread.len(),
                application_cursor: shared
                    .emulator
                    .as_ref()
                    .map(|emulator| emulator.screen().has_application_cursor()),
                end: shared.end.clone(),
            }
        });
        listed.collect()
    }

    /// The numbers of all commands that run in the sandbox.
    pub fn in_sandbox(&self) -> Vec<u32> {
        let inner = self.lock();
        let sessions = inner.sessions.iter();
        let running = sessions.filter(|one| !one.unsandboxed && one.shared().end.is_none());
        running.map(|session| session.id).collect()
    }

    /// Kills all commands of an owner and waits until they are gone. Returns those that were running.
    pub fn end_of(&self, owner: &str) -> Vec<String> {
        self.end_where(|session| session.owner == owner)
    }

    /// The numbers of all that have not been forgotten.
    pub fn ids(&self) -> impl Iterator<Item = u32> + use<> {
        let ids: Vec<u32> = self
            .lock()
            .sessions
            .iter()
            .map(|session| session.id)
            .collect();
        ids.into_iter()
    }

    /// Kills the commands with these numbers and waits until they are gone.
    pub fn end_these(&self, ids: &BTreeSet<u32>) {
        self.end_where(|session| ids.contains(&session.id));
    }

    fn end_where(&self, is_ending: impl Fn(&Session) -> bool) -> Vec<String> {
        let mut inner = self.lock();
        let (ending, staying): (Vec<Session>, _) = std::mem::take(&mut inner.sessions)
            .into_iter()
            .partition(is_ending);
        inner.sessions = staying;
        drop(inner);
        let was_running = |session: &&Session| session.shared().end.is_none();
        let running = ending.iter().filter(was_running);
        let running = running.map(|session| session.command.clone()).collect();
        end_together(ending);
        running
    }

    /// Kills all commands and waits until they are gone.
    pub fn end_all(&self) {
        let ending = std::mem::take(&mut self.lock().sessions);
        end_together(ending);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Session {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }

    /// Kills the command and waits until it is gone.
    fn stop(&mut self) {
        self.cancel.cancel();
        if let Some(follower) = self.follower.take() {
            // A follower that panicked has dropped its child, and that killed it.
            let _ = follower.join();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn take(&mut self) -> UnreadOutput {
        self.asked = Stopwatch::start();
        self.is_changed = false;
        let unread: Vec<u8> = self.unread.drain(..).collect();
        let text = match &self.emulator {
            Some(emulator) => describe_screen(&emulator.screen()),
            None => String::from_utf8_lossy(&unread).into_owned(),
        };
        UnreadOutput {
            text,
            dropped: std::mem::take(&mut self.dropped),
            end: self.end.clone(),
        }
    }

    /// Takes output. Returns what the terminal answers to it.
    fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if let Some(emulator) = &mut self.emulator {
            self.is_changed |= !piece.is_empty();
            return emulator.feed(piece);
        }
        self.unread.extend(piece);
        let over = self.unread.len().saturating_sub(SESSION_BYTES);
        self.unread.drain(..over);
        self.dropped += over as u64;
        Vec::new()
    }
}

/// A screen as the model reads it: its lines, and where the cursor is.
fn describe_screen(screen: &Screen<'_>) -> String {
    let (columns, rows) = screen.size();
    let cursor = match screen.cursor() {
        Some((row, column)) => format!("cursor at row {}, column {}", row + 1, column + 1),
        None => "no cursor".to_owned(),
    };
    format!("(screen {columns}x{rows}, {cursor})\n{}", screen.text(None))
}

/// The end of a terminal to type into, which never makes the one wait who types or reads.
fn typing(running: &Running) -> Result<File> {
    let failed = || Error::io("use", "a terminal");
    rustix::io::ioctl_fionbio(&running.output, true).map_err(|error| failed()(error.into()))?;
    running.output.try_clone().map_err(failed())
}

/// Kills them all at once: the drop waits for one after the other.
fn end_together(ending: Vec<Session>) {
    ending.iter().for_each(|session| session.cancel.cancel());
}

fn find(sessions: &[Session], owner: &str, id: u32) -> Result<usize> {
    let found = sessions
        .iter()
        .position(|one| one.id == id && one.owner == owner);
    found.ok_or_else(|| {
        Error::Failed(format!(
            "there is no session {id}; the action \"list\" shows those that are"
        ))
    })
}

/// Forgets one of those that have ended, the oldest, where there are too many of a kind; none when
/// all of them run.
fn make_room(
    sessions: &mut Vec<Session>,
    most: usize,
    is_counted: impl Fn(&Session) -> bool,
) -> Option<()> {
    let has_ended = |one: &Session| is_counted(one) && one.shared().end.is_some();
    let count = sessions.iter().filter(|one| is_counted(one)).count();
    let over = (count + 1).saturating_sub(most);
    if sessions.iter().filter(|one| has_ended(one)).count() < over {
        return None;
    }
    for _ in 0..over {
        let ended = sessions.iter().position(has_ended)?;
        drop(sessions.remove(ended));
    }
    Some(())
}

fn too_many(count: usize, whose: &str, way: &str) -> Error {
    Error::Failed(format!(
        "{count} commands {whose} run in the background already: {way}"
    ))
}

/// Writes all of it, waiting while the pipe is full; none when the other end is closed.
pub(super) fn feed(pipe: &mut File, mut input: &[u8]) -> Option<Result<()>> {
    rustix::io::ioctl_fionbio(&*pipe, true).ok()?;
    let watch = Stopwatch::start();
    while !input.is_empty() {
        let left = INPUT_TIME.saturating_sub(watch.elapsed());
        if !process::writable(&*pipe, left).ok()? {
            let rest = input.len();
            let why = format!("the command does not read its input; {rest} bytes were not written");
            return Some(Err(Error::Failed(why)));
        }
        match pipe.write(input) {
            Ok(length) => input = &input[length..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
    Some(Ok(()))
}

/// Takes a command's output until it ends, is cancelled or has not been read for too long.
fn follow(mut running: Running, shared: &Mutex<Shared>, cancel: &Cancel, idle: Duration) -> End {
    let lock = || shared.lock();
    let supervisor = running.supervisor();
    let guard = cancel.on_cancel(move || process::signal(supervisor, Signal::TERM));
    let mut buffer = vec![0; PIPE_BYTES];
    let mut why = None;
    loop {
        let left = idle.saturating_sub(lock().asked.elapsed());
        let event = running.read_pipes(&mut buffer, left.max(SWEEP_PAUSE));
        match event {
            Ok(event) => {
                let reply = lock().push(&buffer[..event.length]);
                if !reply.is_empty() {
                    // A program that does not read its answer can do without.
                    let _ = running.output.write(&reply);
                }
                if event.closed {
                    break;
                }
            }
            Err(_) => break,
        }
        // The killing and the waiting are in the drop.
        if cancel.is_cancelled() {
            break;
        }
        if lock().asked.elapsed() >= idle {
            why = Some(End::Stopped("it was not read for too long".to_owned()));
            break;
        }
    }
    drop(guard);
    if cancel.is_cancelled() {
        why = Some(End::Cancelled);
    }
    let end = std::mem::take(&mut running.report).end;
    drop(running);
    end.or(why).unwrap_or(End::Lost)
}

impl Exec {
    /// Starts a command whose input stays open, and waits until it is confined.
    fn start_in_background(&self, command: &ShellCommand<'_>) -> Result<(Running, Vec<u8>)> {
        let mut policy = self.policy_for(command)?;
        policy.keep_input = true;
        let mut running = self.start(&policy)?;
        let mut output = Vec::new();
        let mut buffer = vec![0; PIPE_BYTES];
        let watch = Stopwatch::start();
        while !running.report.confined && watch.elapsed() < TRY_TIME {
            let left = TRY_TIME.saturating_sub(watch.elapsed());
            let event = running.read_pipes(&mut buffer, left);
            let event = event.map_err(Error::io("read from", "a command"))?;
            output.extend_from_slice(&buffer[..event.length]);
            if event.closed {
                break;
            }
        }
        if let Some(failure) = running.report.failure_after(watch.elapsed()) {
            self.forget_isolation();
            return Err(failure);
        }
        Ok((running, output))
    }
}
