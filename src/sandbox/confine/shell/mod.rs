//! A shell that goes on from one command to the next.
//!
//! It is an interactive `sh` without a terminal, because only those come back to their beginning after an
//! interrupt or an error, whatever a command was doing. It reads from a socket what `request` writes: a line
//! that runs the command, and another that reports its exit status under a number that only we and the shell
//! know. The command itself runs with the socket closed, and a socket cannot be opened through /proc, so what a
//! command leaves behind has nothing to write a report to. Code that the shell itself runs (a function, a
//! trap) is the shell: it can say what it likes about the exit status, and nothing is decided by that. Which
//! folder the shell is in is what the kernel says.
//!
//! The commands' input is a pipe whose reading end is held here too: each command gets a writing end of its
//! own, so that its input can end without being over for the next one.

mod between;
mod follower;
mod input;
mod kept;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal};

pub use between::{Unread, short_folder};
use follower::Follower;
pub use input::ShellInput;
pub use kept::{Shells, Taken};

use super::explain::{Note, View};
use super::policy::ChildTask;
use super::run::{Captured, End, Output, Running};
use super::session::Observer;
use super::{Exec, ShellCommand};
use super::{FLOOD_BYTES, OUTPUT_LOOK, PIPE_BYTES, START_TIME, STATUS_BYTES};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::confine as bounds;
use crate::sys::{process, random};

/// The same for the shells of all chats together, with whatever runs in them.
const HELD_BYTES_OF_ALL: u64 = 128 * 1024 * 1024;
/// How long a command that is stopped may take after the interrupt, after the request to end, and
/// after it was killed. Then the shell itself is ended.
const STOP_STEPS: [Duration; 3] = [
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(800),
];
/// How often is looked whether a command that is stopped has gone.
const STOP_LOOK: Duration = Duration::from_millis(40);

/// Bytes of a line for a shell; messages of every channel are shorter.
const LINE_BYTES: usize = 64 * 1024;
/// Bytes of a shell's report on a command, which is a number.
const REPORT_BYTES: usize = 4096;
/// How long a shell may take to accept a command.
const SEND_TIME: Duration = Duration::from_secs(5);

/// The descriptors of the shell: what commands get as input and as output, and where reports go. Shells
/// know numbers of one digit only, and people use the small ones.
pub const INPUT: i32 = 7;
/// See [`INPUT`].
pub const OUTPUT: i32 = 8;
/// See [`INPUT`].
pub const REPORT: i32 = 9;

/// What makes bash like the others: no history of its own, no `!`, and no strictness after errors.
const SETUP: &str =
    "[ -z \"${BASH_VERSION-}\" ] || { set +H +o history +o posix; unset HISTFILE; }\n";

/// A running shell. When it is dropped everything in it is killed.
pub struct Shell {
    running: Running,
    control: UnixStream,
    /// The reading end of the commands' input.
    input: OwnedFd,
    /// The shell's own process, as we see it.
    process: Option<Pid>,
    /// All processes before the first command: the supervisors and the shell.
    own: Vec<Pid>,
    view: View,
    /// Its folders that are memory.
    in_memory: Vec<OwnedFd>,
    unsandboxed: bool,
    report: Vec<u8>,
    /// What programs in the background wrote between two commands.
    unread: Vec<u8>,
    /// How much that was in all since the last command.
    written: u64,
    /// Whether they were ended because it was too much.
    is_flooded: bool,
    is_alive: bool,
    /// Where it was when it had to be ended.
    last_folder: Option<PathBuf>,
}

/// How a command ended.
#[derive(Debug)]
pub struct ShellOutcome {
    /// Its end.
    pub end: End,
    /// Its output as plain lines.
    pub output: Captured,
    /// Whether the shell goes on.
    pub is_alive: bool,
    /// Why it failed, where the sandbox is the reason.
    pub notes: Vec<Note>,
    /// Whether it failed because it needs more than the sandbox gives.
    pub needs_more: bool,
}

/// A command for a shell.
#[derive(Clone, Copy)]
pub struct ShellLine<'a> {
    /// The command, of any number of lines.
    pub line: &'a str,
    /// How long it may take.
    pub timeout: Duration,
    /// Stops it.
    pub cancel: &'a Cancel,
    /// What is written to it while it runs, and who is told of that.
    pub input: (&'a ShellInput, &'a Observer),
}

/// What came of waiting for a shell.
struct Event {
    /// Bytes of output in the buffer.
    length: usize,
    /// The exit status of the command, if it was reported.
    status: Option<i32>,
}

impl Exec {
    /// Starts a shell in a folder. The command's line is not run.
    pub fn open_shell(&self, command: &ShellCommand<'_>, cancel: &Cancel) -> Result<Shell> {
        let mut policy = self.policy_for(command)?;
        policy.task = ChildTask::Interactive;
        policy.keep_input = true;
        let broken = || Error::io("start", "a shell");
        let (control, theirs) = UnixStream::pair().map_err(broken())?;
        control
            .set_write_timeout(Some(SEND_TIME))
            .map_err(broken())?;
        let (input, _) = pipe_with(PipeFlags::CLOEXEC)
            .map_err(std::io::Error::from)
            .map_err(broken())?;
        let spawned = self.spawn(&policy, OwnedFd::from(theirs).into(), Stdio::piped())?;
        // A failure shows in what the child reports, or fails to report.
        let _ = (&control).write_all(&policy.encode());
        let copy = input.try_clone().map_err(broken())?;
        let _ = crate::sys::descriptor::send(&control, copy);
        let folders = policy.in_memory().iter();
        let in_memory = folders.map_while(|_| receive(&control, cancel)).collect();
        let mut shell = Shell {
            running: Running::following(spawned)?,
            control,
            input,
            process: None,
            own: Vec::new(),
            view: View::new(&policy, self.settings.account_home.as_deref()),
            in_memory,
            unsandboxed: command.unsandboxed,
            report: Vec::new(),
            unread: Vec::new(),
            written: 0,
            is_flooded: false,
            is_alive: true,
            last_folder: None,
        };
        if let Err(error) = shell.wait_until_ready(cancel) {
            self.forget_isolation();
            return Err(error);
        }
        Ok(shell)
    }
}

impl Shell {
    fn wait_until_ready(&mut self, cancel: &Cancel) -> Result<()> {
        let key = new_key()?;
        let mut buffer = vec![0; PIPE_BYTES];
        let watch = Stopwatch::start();
        let mut is_asked = false;
        let none = UnixStream::pair().map_err(Error::io("start", "a shell"))?;
        while watch.elapsed() < START_TIME {
            if self.running.report.confined && !is_asked {
                is_asked = true;
                let _ = self.control.write_all(SETUP.as_bytes());
                let _ = self.control.write_all(question(&key).as_bytes());
            }
            let event = self.wait(&key, &none.0, &mut buffer, STOP_LOOK)?;
            if event.status.is_some() {
                self.own = process::descendants_of(self.running.supervisor());
                self.process = self.own.last().copied();
                return Ok(());
            }
            if cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            if !self.is_alive {
                break;
            }
        }
        let lost = || Error::Failed("the shell did not start".to_owned());
        let failure = self.running.report.failure_after(watch.elapsed());
        Err(failure.unwrap_or_else(lost))
    }

    /// Runs a command. `output` gets what comes, as plain text, and the whole of what is longer than
    /// `limits::confine::OUTPUT_BYTES`.
    pub fn run(&mut self, line: &ShellLine<'_>, output: Output<'_>) -> Result<ShellOutcome> {
        if line.line.len() > LINE_BYTES || line.line.contains('\0') {
            return Err(Error::Failed(
                "the command is too long for a shell".to_owned(),
            ));
        }
        let broken = || Error::io("write to", "a shell");
        let key = new_key()?;
        let before = self.processes();
        let (input, observer) = line.input;
        input.connect(&self.input, observer)?;
        self.report.clear();
        let (woken, wake) = UnixStream::pair().map_err(broken())?;
        let guard = line
            .cancel
            .on_cancel(move || drop(wake.shutdown(Shutdown::Both)));
        self.control
            .write_all(request(line.line, &key).as_bytes())
            .map_err(broken())?;
        let mut follower = Follower::new(output);
        let ended = self.follow(line, &key, &woken, &mut follower);
        drop(guard);
        let ended = ended.and_then(|ended| match ended {
            Ok(status) => Ok(End::Exit(status)),
            Err(why) => {
                let is_flood = matches!(why, End::Stopped(_));
                if self.is_alive {
                    // Who wrote it cannot be seen, so a flood ends what is in the background too.
                    let kept: &[Pid] = if is_flood { &[] } else { &before };
                    self.stop_command(&key, kept, &mut follower, is_flood)?;
                }
                Ok(why)
            }
        });
        input.disconnect();
        let end = match ended {
            Ok(end) if self.is_alive => end,
            // It ended by itself, by `exit` above all, or because it was killed.
            ended => self.end_of_shell(ended?, &mut follower),
        };
        Ok(self.outcome(line.line, end, follower))
    }

    /// Waits for the command's end, or until there is a reason to stop it.
    fn follow(
        &mut self,
        line: &ShellLine<'_>,
        key: &str,
        woken: &UnixStream,
        follower: &mut Follower<'_>,
    ) -> Result<std::result::Result<i32, End>> {
        let mut buffer = vec![0; PIPE_BYTES];
        let watch = Stopwatch::start();
        loop {
            let left = line.timeout.saturating_sub(watch.elapsed());
            let event = self.wait(key, woken, &mut buffer, left.min(OUTPUT_LOOK))?;
            follower.push(buffer.get(..event.length).unwrap_or_default());
            if let Some(status) = event.status {
                self.read_rest(&mut buffer, |bytes| follower.push(bytes))?;
                return Ok(Ok(status));
            }
            if !self.is_alive {
                return Ok(Err(End::Lost));
            }
            if follower.total > FLOOD_BYTES {
                let most = FLOOD_BYTES;
                return Ok(Err(End::Stopped(format!(
                    "it wrote more than {most} bytes"
                ))));
            }
            if line.cancel.is_cancelled() {
                return Ok(Err(End::Cancelled));
            }
            if watch.elapsed() >= line.timeout {
                return Ok(Err(End::TimedOut(line.timeout)));
            }
        }
    }

    /// Reads what the command has written before its end was reported, and nothing that programs in the
    /// background write meanwhile without end.
    fn read_rest(&mut self, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> Result<()> {
        let Some(output) = self.running.open_output() else {
            return Ok(());
        };
        let mut left = rustix::io::ioctl_fionread(output).unwrap_or_default();
        while left > 0 {
            let most = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let part = buffer.get_mut(..most).unwrap_or_default();
            let read = self.running.read_pipes(part, Duration::ZERO);
            let read = read.map_err(Error::io("read from", "a shell"))?.length;
            take(buffer.get(..read).unwrap_or_default());
            if read == 0 {
                break;
            }
            left = left.saturating_sub(read as u64);
        }
        Ok(())
    }

    /// Ends a command and what it has started, but not what was there `before`, nor the children of that: it is
    /// interrupted, asked to end, and killed. The shell goes on if it comes back from that.
    fn stop_command(
        &mut self,
        key: &str,
        before: &[Pid],
        follower: &mut Follower<'_>,
        is_flood: bool,
    ) -> Result<()> {
        let mut buffer = vec![0; PIPE_BYTES];
        let none = UnixStream::pair().map_err(Error::io("stop", "a command"))?;
        let mut is_back = false;
        let mut others = self.others(before);
        for (step, signal) in [Signal::INT, Signal::TERM, Signal::KILL]
            .into_iter()
            .enumerate()
        {
            if !is_back && let Some(shell) = self.process {
                process::signal(shell, Signal::INT);
            }
            for pid in self.processes_since(&others) {
                process::signal(pid, signal);
            }
            // The interrupt may have taken the question away with the rest of the input.
            let _ = self.control.write_all(question(key).as_bytes());
            let time = STOP_STEPS.get(step).copied().unwrap_or_default();
            let watch = Stopwatch::start();
            while watch.elapsed() < time {
                let event = self.wait(key, &none.0, &mut buffer, STOP_LOOK)?;
                if !is_flood {
                    follower.push(buffer.get(..event.length).unwrap_or_default());
                }
                is_back |= event.status.is_some();
                if !self.is_alive {
                    return Ok(());
                }
                others = self.others(&others);
                let left = self.processes_since(&others);
                if is_back && left.is_empty() {
                    // Nobody reads the rest of a flood.
                    self.read_rest(&mut buffer, |bytes| {
                        if !is_flood {
                            follower.push(bytes);
                        }
                    })?;
                    return Ok(());
                }
                if signal == Signal::KILL {
                    left.into_iter()
                        .for_each(|pid| process::signal(pid, signal));
                }
            }
        }
        // What is left then may be of a program in the background whose children outlive it.
        if !is_back || others.is_empty() {
            self.last_folder = self.folder();
            self.is_alive = false;
        }
        Ok(())
    }

    /// Reads what is left when the shell has ended, and says how it did.
    fn end_of_shell(&mut self, why: End, follower: &mut Follower<'_>) -> End {
        self.is_alive = false;
        self.running.terminate();
        let mut buffer = vec![0; PIPE_BYTES];
        let watch = Stopwatch::start();
        while watch.elapsed() < bounds::KILL_GRACE {
            let left = bounds::KILL_GRACE.saturating_sub(watch.elapsed());
            match self.running.read_pipes(&mut buffer, left) {
                Ok(event) => {
                    follower.push(buffer.get(..event.length).unwrap_or_default());
                    if event.closed {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        match (why, &self.running.report.end) {
            (End::Lost, Some(end)) => end.clone(),
            (why, _) => why,
        }
    }

    fn outcome(&self, line: &str, end: End, follower: Follower<'_>) -> ShellOutcome {
        let output = follower.finish();
        let text = output.text();
        let reason = match self.folder() {
            Some(folder) => self.view.explain_at(&folder, line, &end, &text),
            None => self.view.explain(line, &end, &text),
        };
        ShellOutcome {
            end,
            output,
            is_alive: self.is_alive,
            needs_more: reason.as_ref().is_some_and(|reason| reason.needs_more),
            notes: reason.into_iter().map(|reason| reason.note).collect(),
        }
    }

    /// Waits for output, a report on the command with this key, a word of the supervisor, or `woken`.
    fn wait(
        &mut self,
        key: &str,
        woken: &UnixStream,
        buffer: &mut [u8],
        time: Duration,
    ) -> Result<Event> {
        let broken = || Error::io("read from", "a shell");
        let control = self.control.as_fd();
        let output = self.running.open_output().unwrap_or(control);
        let status = self.running.open_status().unwrap_or(control);
        let all = [output, status, control, woken.as_fd()];
        let [.., is_reported, _] = process::readable(all, Some(time)).map_err(broken())?;
        let read = self
            .running
            .read_pipes(buffer, Duration::ZERO)
            .map_err(broken())?;
        self.is_alive &= !read.closed && self.running.report.end.is_none();
        let mut event = Event {
            length: read.length,
            status: None,
        };
        if is_reported {
            let mut part = [0; STATUS_BYTES];
            let length = self.control.read(&mut part).map_err(broken())?;
            // At its end the shell has closed it, or has ended: the supervisor says so in a moment.
            self.is_alive &= length > 0;
            self.report
                .extend_from_slice(part.get(..length).unwrap_or_default());
            event.status = find_status(&self.report, key);
            let over = self.report.len().saturating_sub(REPORT_BYTES);
            self.report.drain(..over);
        }
        Ok(event)
    }

    /// The folder that the shell is in; `None` when the kernel does not tell.
    pub fn folder(&self) -> Option<PathBuf> {
        if !self.is_alive {
            return self.last_folder.clone();
        }
        let pid = self.process?.as_raw_pid();
        let folder = std::fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        // The kernel writes that behind the path of a folder that was removed.
        let is_gone = folder
            .as_os_str()
            .as_encoded_bytes()
            .ends_with(b" (deleted)");
        (folder.is_absolute() && !is_gone).then_some(folder)
    }

    /// Bytes of memory in its /tmp and /dev/shm.
    pub fn held_bytes(&self) -> u64 {
        let held = self.in_memory.iter().filter_map(|folder| {
            let found = rustix::fs::fstatvfs(folder).ok()?;
            Some(found.f_blocks.saturating_sub(found.f_bfree) * found.f_frsize)
        });
        held.sum()
    }

    /// Whether programs run in the background.
    pub fn has_background(&self) -> bool {
        !self.processes_since(&[]).is_empty()
    }

    /// Whether it runs outside the sandbox.
    pub fn is_unsandboxed(&self) -> bool {
        self.unsandboxed
    }
}

/// A folder that the child hands over before it becomes the shell; `None` when it ends instead.
fn receive(from: &UnixStream, cancel: &Cancel) -> Option<OwnedFd> {
    let watch = Stopwatch::start();
    while watch.elapsed() < START_TIME && !cancel.is_cancelled() {
        if let [true] = process::readable([from.as_fd()], Some(STOP_LOOK)).ok()? {
            return crate::sys::descriptor::receive(from).ok()?;
        }
    }
    None
}

fn new_key() -> Result<String> {
    Ok(format!("{:032x}", u128::from_ne_bytes(random::bytes()?)))
}

/// What a shell reads to run a command: one line that does, and one that reports. Quoted words, because a
/// person may have an alias with the name.
fn request(line: &str, key: &str) -> String {
    let quoted = line.replace('\'', "'\\''");
    let mut text = String::with_capacity(quoted.len() + 160);
    let _ = writeln!(
        text,
        "\\command \\eval '{quoted}' <&{INPUT} >&{OUTPUT} 2>&{OUTPUT} {INPUT}<&- {OUTPUT}>&- {REPORT}>&-"
    );
    text.push_str(&question(key));
    text
}

/// Asks for the exit status of what ran last.
fn question(key: &str) -> String {
    format!("\\command printf '%s %s\\n' {key} \"$?\" >&{REPORT}\n")
}

/// The exit status in the report with this key.
fn find_status(report: &[u8], key: &str) -> Option<i32> {
    let text = String::from_utf8_lossy(report);
    let mut lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    lines.find_map(|line| {
        let (found, status) = line.trim_end().split_once(' ')?;
        (!key.is_empty() && found == key).then(|| status.parse().ok())?
    })
}

#[cfg(test)]
mod tests;
