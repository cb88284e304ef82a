//! The one thread that serves all programs. It exists while one runs.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

use super::connection::{Connection, Due, End, Settings};
use super::lines::Lines;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::confine::KILL_GRACE;
use crate::base::limits::mcp::SHOWN_CHARS;
use crate::base::sync::{self, Condvar, Mutex};
use crate::sandbox::confine::Served;
use crate::tools::mcp::client::{CLOSE_TIME, MESSAGE_BYTES, STACK_BYTES};

/// Bytes read from a server at once.
const READ_BYTES: usize = 16 * 1024;
/// Bytes that a program writes to its standard error within a second; beyond that it is ended.
const ERRORS_BYTES: usize = 4 * 1024 * 1024;

const SECOND: Duration = Duration::from_secs(1);

/// Programs that run, and the thread that serves them.
#[derive(Default)]
pub struct Hub {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Default)]
struct State {
    /// Programs that the thread has not taken over yet.
    arriving: Vec<(Served, Arc<Connection>)>,
    /// What wakes the thread; `None`: there is none.
    wake: Option<Arc<OwnedFd>>,
}

impl Hub {
    /// Serves a program from now on.
    pub fn attach(self: &Arc<Self>, served: Served, settings: Settings) -> Result<Arc<Connection>> {
        let cannot =
            |error: std::io::Error| Error::Failed(format!("cannot serve an MCP server: {error}"));
        if let Some(input) = &served.input {
            rustix::io::ioctl_fionbio(input, true).map_err(|error| cannot(error.into()))?;
        }
        let mut state = self.state.lock();
        let wake = match &state.wake {
            Some(wake) => Arc::clone(wake),
            None => {
                let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
                let wake = rustix::event::eventfd(0, flags);
                let wake = Arc::new(wake.map_err(|error| cannot(error.into()))?);
                let (hub, theirs) = (Arc::clone(self), Arc::clone(&wake));
                let builder = std::thread::Builder::new().name("mcp".to_owned());
                let work = Box::new(move || hub.serve(&theirs));
                sync::spawn(builder.stack_size(STACK_BYTES), work).map_err(cannot)?;
                state.wake = Some(Arc::clone(&wake));
                wake
            }
        };
        let connection = Arc::new(Connection::new(settings, wake));
        state.arriving.push((served, Arc::clone(&connection)));
        drop(state);
        connection.wake();
        Ok(connection)
    }

    /// Waits until no program runs any more, which they have been asked for.
    pub fn wait_until_ended(&self) {
        let most = CLOSE_TIME + KILL_GRACE * 2;
        let state = self.state.lock();
        drop(
            self.ended
                .wait_timeout_while(state, most, |state| state.wake.is_some()),
        );
    }

    fn serve(&self, wake: &OwnedFd) {
        let mut programs: Vec<Program> = Vec::new();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            {
                let mut state = self.state.lock();
                let arriving = std::mem::take(&mut state.arriving);
                programs.extend(arriving.into_iter().map(Program::new));
                if programs.is_empty() {
                    state.wake = None;
                    self.ended.notify_all();
                    return;
                }
            }
            let mut time = None;
            programs.retain_mut(|program| match program.advance() {
                Some(left) => {
                    time = Some(left.min(time.unwrap_or(left)));
                    true
                }
                None => false,
            });
            if programs.is_empty() {
                continue;
            }
            let ready = wait(wake, &programs, time);
            for (program, ready) in programs.iter_mut().zip(ready) {
                program.read(ready, &mut buffer);
            }
        }
    }
}

/// Waits for news; says for each program whether there is output, and whether there are errors.
fn wait(wake: &OwnedFd, programs: &[Program], time: Option<Duration>) -> Vec<[bool; 2]> {
    let mut polled = vec![PollFd::new(wake, PollFlags::IN)];
    for program in programs {
        let served = &program.served;
        let output = Some(served.output.as_fd()).filter(|_| program.output_open);
        let errors = Some(served.error_pipe.as_fd()).filter(|_| program.errors_open);
        let input = served.input.as_ref().map(AsFd::as_fd);
        let input = input.filter(|_| !program.writing.is_empty());
        for (pipe, flags) in [
            (output, PollFlags::IN),
            (errors, PollFlags::IN),
            (input, PollFlags::OUT),
        ] {
            // What is closed would always be ready; its place in the list stays.
            polled.push(match pipe {
                Some(pipe) => PollFd::from_borrowed_fd(pipe, flags),
                None => PollFd::new(wake, PollFlags::empty()),
            });
        }
    }
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    // An error is an interruption: all is looked at again.
    let _ = rustix::event::poll(&mut polled, time.as_ref());
    // What has come since is taken with what came before.
    let _ = rustix::io::read(wake, &mut [0_u8; 8]);
    let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
    let pipes = polled.get(1..).unwrap_or_default();
    pipes
        .chunks_exact(3)
        .map(|of| {
            [
                of.first().is_some_and(is_ready),
                of.get(1).is_some_and(is_ready),
            ]
        })
        .collect()
}

/// A program as the thread sees it.
struct Program {
    served: Served,
    connection: Arc<Connection>,
    lines: Lines,
    /// What is being written to it.
    writing: Vec<u8>,
    output_open: bool,
    errors_open: bool,
    /// Bytes of errors since then.
    errors: (Stopwatch, usize),
    phase: Phase,
}

enum Phase {
    /// It takes calls.
    Up,
    /// Its input is closed.
    Closed(Stopwatch),
    /// Its supervisor was asked to kill it.
    Killed(Stopwatch),
}

impl Program {
    fn new((served, connection): (Served, Arc<Connection>)) -> Self {
        Self {
            served,
            connection,
            lines: Lines::default(),
            writing: Vec::new(),
            output_open: true,
            errors_open: true,
            errors: (Stopwatch::start(), 0),
            phase: Phase::Up,
        }
    }

    /// Does what is due. Says when to look again; `None`: it has ended.
    fn advance(&mut self) -> Option<Duration> {
        if !self.output_open && !self.errors_open {
            self.fail();
            return None;
        }
        self.write();
        if let Phase::Up = self.phase {
            match self.connection.due() {
                Due::Wait(left) if self.output_open && self.errors_open => return Some(left),
                _ => self.close(),
            }
        }
        if let Phase::Closed(since) = self.phase {
            let left = CLOSE_TIME.saturating_sub(since.elapsed());
            if !left.is_zero() {
                return Some(left);
            }
            self.kill();
        }
        if let Phase::Killed(since) = self.phase {
            let left = KILL_GRACE.saturating_sub(since.elapsed());
            if !left.is_zero() {
                return Some(left);
            }
        }
        // A supervisor that is still there hangs in the kernel.
        self.served.kill();
        self.fail();
        None
    }

    fn close(&mut self) {
        self.served.input = None;
        self.writing = Vec::new();
        self.phase = Phase::Closed(Stopwatch::start());
    }

    fn kill(&mut self) {
        self.fail();
        self.served.input = None;
        self.served.terminate();
        self.phase = Phase::Killed(Stopwatch::start());
    }

    /// Says how it ended, unless that is known already.
    fn fail(&self) {
        if self.connection.end().is_some() {
            return;
        }
        let (text, end) = self.served.errors.read();
        let mut why = match end {
            Some(end) => format!("ended ({end})"),
            None => "closed its output".to_owned(),
        };
        let text = self.connection.cleaned(text.trim());
        if !text.is_empty() {
            let before = text.chars().count().saturating_sub(SHOWN_CHARS);
            let end = text.char_indices().nth(before).map_or(0, |(at, _)| at);
            why = format!("{why}. It wrote: {}", text.get(end..).unwrap_or_default());
        }
        if let Some(reason) = self.served.explain() {
            why = format!("{why} ({reason})");
        }
        self.connection.end_with(End::Failed(why));
    }

    fn write(&mut self) {
        loop {
            if self.writing.is_empty() {
                self.writing = self.connection.take_outgoing();
            }
            let Some(input) = self
                .served
                .input
                .as_mut()
                .filter(|_| !self.writing.is_empty())
            else {
                return;
            };
            match input.write(&self.writing) {
                Ok(length) => {
                    self.writing.drain(..length);
                    self.connection.add_written(length);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Its end comes next.
                Err(_) => self.close(),
            }
        }
    }

    /// Ends a program that does nothing but write errors.
    fn count_errors(&mut self, length: usize) {
        let (since, bytes) = &mut self.errors;
        if since.elapsed() >= SECOND {
            (*since, *bytes) = (Stopwatch::start(), 0);
        }
        *bytes += length;
        if *bytes > ERRORS_BYTES && self.connection.end().is_none() {
            let why = format!("wrote more than {ERRORS_BYTES} bytes of errors within a second");
            self.connection.end_with(End::Failed(why));
            self.kill();
        }
    }

    fn read(&mut self, [output, errors]: [bool; 2], buffer: &mut [u8]) {
        if errors && self.errors_open {
            match self.served.error_pipe.read(buffer) {
                Ok(length) if length > 0 => {
                    self.served
                        .errors
                        .take(buffer.get(..length).unwrap_or_default());
                    self.count_errors(length);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => self.errors_open = false,
            }
        }
        if output && self.output_open {
            match self.served.output.read(buffer) {
                Ok(length) if length > 0 => {
                    let piece = buffer.get(..length).unwrap_or_default();
                    let connection = &self.connection;
                    let taken = self
                        .lines
                        .take(piece, &mut |line| connection.take_line(line));
                    if taken.is_err() {
                        let why = format!("sent a message of more than {MESSAGE_BYTES} bytes");
                        connection.end_with(End::Failed(why));
                        self.kill();
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => self.output_open = false,
            }
        }
    }
}
