//! A command on a terminal of its own: within the sandbox, or outside where a person has allowed that.
//!
//! The terminal is made by the child, in the devices of the view that it has by then, so that programs find it where they
//! look for it; its other end comes back through the socket that has brought the policy.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};

use super::policy::Policy;
use super::run::{End, Running, SupervisorReport};
use super::{Exec, ShellCommand};
use super::{START_TIME, STATUS_BYTES, TRY_TIME};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::base::limits::confine as bounds;
use crate::sys::process;
use crate::sys::pty::{self, Size};

/// A command that gets a terminal.
#[derive(Clone, Debug)]
pub struct TerminalRequest<'a> {
    /// The command.
    pub command: ShellCommand<'a>,
    /// The size of the terminal.
    pub size: Size,
}

/// A command that runs on a terminal. When it is dropped everything that it started is killed.
///
/// A shell there may live for days, so the bounds of each process are those of any command: an hour of processor time is
/// far for a shell, which waits, and near for what runs wild.
pub struct Terminal {
    running: Running,
}

/// The other end of a terminal, for those who type.
#[derive(Debug)]
pub struct Keyboard(File);

/// What has happened at a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalEvent {
    /// Bytes of output that are in the buffer.
    pub length: usize,
    /// Bytes of the input that were taken.
    pub typed: usize,
    /// Whether the one who waits was woken.
    pub woken: bool,
    /// Whether the command and all that it started have ended.
    pub closed: bool,
}

impl Keyboard {
    /// Whether the program reads a line that it does not show.
    pub fn hides_input(&self) -> bool {
        pty::hides_input(&self.0)
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, size: Size) -> Result<()> {
        pty::resize(&self.0, size).map_err(Error::io("resize", "a terminal"))
    }
}

impl Exec {
    /// Starts a command on a new terminal and waits until it is confined.
    pub fn open_terminal(
        &self,
        request: &TerminalRequest<'_>,
        cancel: &Cancel,
    ) -> Result<Terminal> {
        let running = self.start_on_terminal(&request.command, request.size, cancel)?;
        // A program that does not read must not stop who types.
        rustix::io::ioctl_fionbio(&running.output, true)
            .map_err(|error| Error::io("use", "a terminal")(error.into()))?;
        Ok(Terminal { running })
    }

    /// The same without more around it.
    pub(super) fn start_on_terminal(
        &self,
        command: &ShellCommand<'_>,
        size: Size,
        cancel: &Cancel,
    ) -> Result<Running> {
        let mut policy = self.policy_for(command)?;
        policy.terminal = Some(size);
        policy
            .environment
            .retain(|(name, _)| name != "TERM" && name != "COLUMNS" && name != "LINES");
        policy.environment.push(("TERM".into(), kind()));
        let mut running = self.spawn_on_terminal(&policy)?;
        let watch = Stopwatch::start();
        while let Some(status) = running.open_status()
            && !running.report.confined
            && watch.elapsed() < START_TIME
        {
            if cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            let ready = process::readable([status], Some(POLL));
            let [ready] = ready.map_err(Error::io("read from", "a command"))?;
            if ready {
                running
                    .read_status()
                    .map_err(Error::io("read from", "a command"))?;
            }
        }
        if let Some(failure) = running.report.failure_after(watch.elapsed()) {
            self.forget_isolation();
            return Err(failure);
        }
        Ok(running)
    }

    fn spawn_on_terminal(&self, policy: &Policy) -> Result<Running> {
        let pair = UnixStream::pair();
        let (mut ours, theirs) = pair.map_err(Error::io("connect with", "a command"))?;
        let spawned = self.spawn(policy, OwnedFd::from(theirs).into(), Stdio::null())?;
        // A failure shows in what the child reports, or fails to report.
        let _ = ours.write_all(&policy.encode());
        match receive(&ours) {
            Some(master) => Running::with_output(spawned, master),
            None => Err(why(spawned.child)),
        }
    }
}

/// The other end of the terminal; `None` when none comes.
fn receive(from: &UnixStream) -> Option<File> {
    match process::readable([from.as_fd()], Some(TRY_TIME)) {
        Ok([true]) => crate::sys::descriptor::receive(from).ok()?.map(File::from),
        _ => None,
    }
}

/// Why a child has made no terminal.
fn why(mut child: Child) -> Error {
    let mut report = SupervisorReport::default();
    let mut text = Vec::new();
    let _ = child.kill();
    if let Some(mut status) = child.stderr.take() {
        // Its first processes may live a moment longer, and have the pipe open.
        let is_ready = process::readable([status.as_fd()], Some(bounds::KILL_GRACE));
        if let Ok([true]) = is_ready {
            let mut piece = vec![0; STATUS_BYTES];
            let length = status.read(&mut piece).unwrap_or_default();
            piece.truncate(length);
            text = piece;
        }
    }
    let _ = child.wait();
    report.take(&text);
    let silent = || Error::Failed("a command got no terminal".to_owned());
    report.failure().unwrap_or_else(silent)
}

/// The kind of terminal that programs are told about: the best one of which this system has a description. Where there is
/// none at all, programs that need one have it built in.
fn kind() -> OsString {
    const KINDS: [&str; 3] = ["xterm-256color", "xterm", "vt100"];
    const FOLDERS: [&str; 3] = ["/usr/share/terminfo", "/lib/terminfo", "/etc/terminfo"];
    let is_known = |kind: &&&str| {
        let initial = kind.get(..1).unwrap_or_default();
        let mut folders = FOLDERS.iter().map(Path::new);
        folders.any(|folder| folder.join(initial).join(kind).exists())
    };
    KINDS
        .iter()
        .find(is_known)
        .unwrap_or(&"xterm-256color")
        .into()
}

impl Terminal {
    /// Another handle on the terminal, for those who type.
    pub fn keyboard(&self) -> Result<Keyboard> {
        let copy = self.running.output.try_clone();
        Ok(Keyboard(copy.map_err(Error::io("use", "a terminal"))?))
    }

    /// Waits for output, for room to type `input`, for the end of the command, for `wake` to have something, or for the time;
    /// `None`: however long it takes. Takes what there is.
    pub fn wait(
        &mut self,
        (buffer, input): (&mut [u8], &[u8]),
        wake: BorrowedFd<'_>,
        time: Option<Duration>,
    ) -> Result<TerminalEvent> {
        let wanted = match input.is_empty() {
            true => PollFlags::IN,
            false => PollFlags::IN | PollFlags::OUT,
        };
        let [mut is_readable, mut is_writable, mut is_reported] = [false; 3];
        let woken;
        {
            let (output, status) = (self.running.open_output(), self.running.open_status());
            // A pipe at its end would be ready for ever.
            let mut polled = vec![PollFd::new(&wake, PollFlags::IN)];
            polled.extend(output.iter().map(|output| PollFd::new(output, wanted)));
            polled.extend(
                status
                    .iter()
                    .map(|status| PollFd::new(status, PollFlags::IN)),
            );
            let time = time.and_then(|time| Timespec::try_from(time).ok());
            rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, time.as_ref()))
                .map_err(|error| Error::io("wait for", "a terminal")(error.into()))?;
            let mut events = polled.iter().map(PollFd::revents);
            woken = events.next().is_some_and(|event| !event.is_empty());
            if output.is_some()
                && let Some(event) = events.next()
            {
                is_writable = event.contains(PollFlags::OUT);
                is_readable = event.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
            }
            if status.is_some()
                && let Some(event) = events.next()
            {
                is_reported = !event.is_empty();
            }
        }
        let failed = || Error::io("use", "a terminal");
        let mut event = TerminalEvent {
            woken,
            ..TerminalEvent::default()
        };
        if is_readable {
            event.length = self.running.read_output(buffer).map_err(failed())?;
        }
        if is_writable && !input.is_empty() {
            match self.running.output.write(input) {
                Ok(length) => event.typed = length,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                // Nobody reads any more.
                Err(_) => event.typed = input.len(),
            }
        }
        if is_reported {
            self.running.read_status().map_err(failed())?;
        }
        event.closed = self.running.open_status().is_none() && event.length == 0;
        Ok(event)
    }

    /// Asks the supervisor to kill everything. `wait` says when it has.
    pub fn terminate(&self) {
        self.running.terminate();
    }

    /// How the command has ended, once it has; else it is killed. `ended` is how, where that was decided here.
    pub fn end(mut self, ended: Option<End>) -> End {
        let report = std::mem::take(&mut self.running.report);
        drop(self.running);
        report.end.or(ended).unwrap_or(End::Lost)
    }
}
