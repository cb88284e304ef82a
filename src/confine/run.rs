//! A command in the foreground: its output as it comes, its end, and the end of all that it started.

use std::fmt;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::output::{Captured, Collector, Output};
use super::policy::Policy;
use super::{Exec, Job};
use crate::cancel::Cancel;
use crate::clock::Stopwatch;
use crate::error::{Error, Result};
use crate::limits::confine as bounds;
use crate::sys::process;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// Its time was over.
    TimedOut(Duration),
    /// Somebody stopped it.
    Cancelled,
    /// It did too much of something: what.
    Stopped(String),
    /// Its supervisor was killed.
    Lost,
}

impl End {
    /// Whether the command did what it was to do.
    pub fn is_success(&self) -> bool {
        *self == Self::Exit(0)
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit status {code}"),
            Self::Signal(number) => match signal_words(*number) {
                Some(words) => write!(f, "killed by signal {number} ({words})"),
                None => write!(f, "killed by signal {number}"),
            },
            Self::TimedOut(time) => write!(f, "stopped: not done after {} s", time.as_secs()),
            Self::Cancelled => f.write_str("stopped on request"),
            Self::Stopped(why) => write!(f, "stopped: {why}"),
            Self::Lost => f.write_str("ended, and nobody saw how (out of memory?)"),
        }
    }
}

/// The signals that commands die of, in words.
fn signal_words(number: i32) -> Option<&'static str> {
    Some(match number {
        libc::SIGHUP => "SIGHUP, the terminal went away",
        libc::SIGINT => "SIGINT, interrupted",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL, not a program for this processor",
        libc::SIGABRT => "SIGABRT, it gave up itself",
        libc::SIGBUS => "SIGBUS, bad memory access",
        libc::SIGFPE => "SIGFPE, bad arithmetic",
        libc::SIGKILL => "SIGKILL, perhaps because memory ran out",
        libc::SIGSEGV => "SIGSEGV, bad memory access",
        libc::SIGPIPE => "SIGPIPE, nobody read its output",
        libc::SIGTERM => "SIGTERM, asked to end",
        libc::SIGXCPU => "SIGXCPU, its processor time was over",
        libc::SIGXFSZ => "SIGXFSZ, it wrote a file larger than it may",
        libc::SIGSYS => "SIGSYS, a system call that is not allowed",
        _ => return None,
    })
}

/// What came of a command.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// What it wrote to its output and its errors, in the order in which it came.
    pub output: Captured,
    /// What was missing that is no wall, such as /proc.
    pub notes: Vec<String>,
}

impl Exec {
    /// Runs a command and waits for it, at most `timeout`. When it ends, is cancelled or its time is
    /// over, every process that it started is killed, those in the background too. `output` is told
    /// what comes, and the whole of what is longer than `limits::confine::OUTPUT_BYTES`.
    ///
    /// An error means that the command did not run.
    pub fn run(
        &self,
        job: &Job<'_>,
        timeout: Duration,
        cancel: &Cancel,
        output: Output<'_>,
    ) -> Result<Outcome> {
        let policy = self.policy_for(job)?;
        let running = self.start(&policy)?;
        let outcome = running.follow(timeout, cancel, output);
        if outcome.is_err() {
            self.forget_walls();
        }
        outcome
    }
}

/// What the supervisor has said.
#[derive(Debug, Default)]
pub struct Said {
    rest: Vec<u8>,
    /// Whether the walls stand.
    pub confined: bool,
    /// How the command ended.
    pub end: Option<End>,
    /// Why it did not run.
    pub failed: Option<String>,
    /// What is missing that is no wall.
    pub notes: Vec<String>,
}

impl Said {
    /// Takes the next bytes of the supervisor's lines.
    pub fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.line(&String::from_utf8_lossy(&line[..end]));
        }
    }

    fn line(&mut self, line: &str) {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        let number = text.parse().unwrap_or_default();
        match word {
            "confined" => self.confined = true,
            "exit" => self.end = Some(End::Exit(number)),
            "signal" => self.end = Some(End::Signal(number)),
            "stopped" => self.end = Some(End::Stopped(text.to_owned())),
            "note" => self.notes.push(text.to_owned()),
            "failed" => self.failed = Some(text.to_owned()),
            "" => {}
            // Words of a panic, or of a loader that does not find something; the first say most.
            _ => drop(self.failed.get_or_insert_with(|| line.to_owned())),
        }
    }

    /// The error that this is, if the command did not run.
    pub fn failure(&self) -> Option<Error> {
        let why = match (&self.failed, self.confined) {
            (Some(why), _) => why,
            (None, true) => return None,
            (None, false) => "its process ended before it was confined",
        };
        Some(Error::Failed(format!(
            "the command was not run, because the sandbox could not be put up: {why} \
             (`peacrab doctor sandbox` says more)"
        )))
    }
}

/// A child with its supervisor. When it is dropped everything in it is killed.
pub struct Running {
    child: Child,
    /// The command's input, where it goes on.
    pub input: Option<ChildStdin>,
    /// The command's output and errors.
    pub output: ChildStdout,
    status: ChildStderr,
    /// What the supervisor has said.
    pub said: Said,
    output_open: bool,
    status_open: bool,
}

/// Which of a child's pipes had something to say.
pub struct Heard {
    /// Bytes of output that are in the buffer.
    pub length: usize,
    /// Whether both pipes are at their end: nothing lives any more.
    pub over: bool,
}

impl Running {
    /// Tells a new child its policy.
    pub fn new(mut child: Child, policy: &Policy) -> Result<Self> {
        let missing = || Error::Failed("a child has no pipes".to_owned());
        let mut input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let status = child.stderr.take().ok_or_else(missing)?;
        // What goes wrong here shows in what the child says, or does not.
        let _ = input.write_all(&policy.encode());
        Ok(Self {
            child,
            input: policy.keep_input.then_some(input),
            output,
            status,
            said: Said::default(),
            output_open: true,
            status_open: true,
        })
    }

    /// The supervisor. Its number is ours until `finish`.
    pub fn supervisor(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits for output or words of the supervisor, at most so long.
    pub fn hear(&mut self, buffer: &mut [u8], time: Duration) -> std::io::Result<Heard> {
        let status = self.status.as_fd();
        let output = if self.output_open {
            self.output.as_fd()
        } else {
            status
        };
        let status = if self.status_open { status } else { output };
        let [output_ready, status_ready] = process::readable([output, status], Some(time))?;
        let mut length = 0;
        if output_ready && self.output_open {
            length = self.output.read(buffer)?;
            self.output_open = length > 0;
        }
        if status_ready && self.status_open {
            let mut words = [0; bounds::STATUS_BYTES];
            let length = self.status.read(&mut words)?;
            self.status_open = length > 0;
            self.said.take(&words[..length]);
        }
        let over = !self.output_open && !self.status_open;
        Ok(Heard { length, over })
    }

    /// Asks the supervisor to kill everything. It takes a moment; `hear` says when it is over.
    pub fn terminate(&self) {
        process::signal(self.supervisor(), Signal::TERM);
    }

    /// Follows the command to its end.
    pub fn follow(
        mut self,
        timeout: Duration,
        cancel: &Cancel,
        output: Output<'_>,
    ) -> Result<Outcome> {
        let supervisor = self.supervisor();
        let guard = cancel.on_cancel(move || process::signal(supervisor, Signal::TERM));
        let mut collector = Collector::new(bounds::OUTPUT_BYTES, output);
        let mut buffer = vec![0; bounds::PIPE_BYTES];
        let mut ended = None;
        let (watch, mut grace) = (Stopwatch::start(), None);
        loop {
            let left = match grace {
                None => timeout.saturating_sub(watch.elapsed()),
                Some(until) => Duration::saturating_sub(until, watch.elapsed()),
            };
            let heard = self
                .hear(&mut buffer, left.min(bounds::OUTPUT_LOOK))
                .map_err(Error::io("read from", "a command"))?;
            collector.push(&buffer[..heard.length]);
            if heard.over {
                break;
            }
            let why = if collector.total() > bounds::FLOOD_BYTES {
                Some(End::Stopped(format!(
                    "it wrote more than {} bytes",
                    bounds::FLOOD_BYTES
                )))
            } else if cancel.is_cancelled() {
                Some(End::Cancelled)
            } else {
                (watch.elapsed() >= timeout).then_some(End::TimedOut(timeout))
            };
            match (why, grace) {
                (Some(why), None) => {
                    self.terminate();
                    ended = Some(why);
                    grace = Some(watch.elapsed() + bounds::KILL_GRACE);
                }
                (_, Some(until)) if watch.elapsed() >= until => break,
                _ => {}
            }
        }
        drop(guard);
        // The end of a cancelled command can be heard before the flag is looked at.
        let cancelled = || cancel.is_cancelled().then_some(End::Cancelled);
        let ended = ended.or_else(cancelled);
        let output = collector.finish();
        self.outcome(ended, output)
    }

    /// What came of it, once all is over.
    fn outcome(mut self, ended: Option<End>, output: Captured) -> Result<Outcome> {
        let said = std::mem::take(&mut self.said);
        drop(self);
        let interrupted = matches!(ended, Some(End::Cancelled | End::TimedOut(_)));
        match said.failure() {
            Some(failure) if !interrupted => return Err(failure),
            _ => {}
        }
        Ok(Outcome {
            // What ended by itself at the last moment has ended by itself.
            end: said.end.or(ended).unwrap_or(End::Lost),
            output,
            notes: said.notes,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !(self.output_open || self.status_open) || matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.wait();
            return;
        }
        self.terminate();
        let watch = Stopwatch::start();
        let mut buffer = [0; bounds::STATUS_BYTES];
        while watch.elapsed() < bounds::KILL_GRACE {
            let left = bounds::KILL_GRACE.saturating_sub(watch.elapsed());
            match self.hear(&mut buffer, left) {
                Ok(heard) if !heard.over => {}
                _ => break,
            }
        }
        // A supervisor that is still there hangs in the kernel; its group goes with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_supervisor_says_is_read_whatever_the_pieces() {
        let mut said = Said::default();
        for piece in ["not", "e no /proc\nconf", "ined\nsig", "nal 9\n"] {
            said.take(piece.as_bytes());
        }
        assert!(said.confined && said.failure().is_none());
        assert_eq!(said.notes, ["no /proc"]);
        assert_eq!(said.end, Some(End::Signal(9)));
    }

    #[test]
    fn a_child_that_says_nothing_has_not_run() {
        let mut said = Said::default();
        assert!(said.failure().is_some());
        said.take(b"confined\nfailed cannot run /bin/sh: not found\n");
        let failure = said.failure().unwrap().to_string();
        assert!(failure.contains("cannot run /bin/sh"), "{failure}");
    }

    #[test]
    fn an_end_is_told_in_words() {
        assert_eq!(End::Exit(3).to_string(), "exit status 3");
        assert!(
            End::Signal(9)
                .to_string()
                .starts_with("killed by signal 9 (SIGKILL")
        );
        assert_eq!(End::Signal(60).to_string(), "killed by signal 60");
    }
}
