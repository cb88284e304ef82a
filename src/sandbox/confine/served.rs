//! A program that answers over its pipes: its input stays open, and its errors are apart from its output.

use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal};

use super::Change;
use super::Exec;
use super::explain::View;
use super::policy::ChildTask;
use super::run::{Spawned, SupervisorReport};
use super::{START_TIME, STATUS_BYTES};
use crate::base::cancel::Cancel;
use crate::base::clock::Stopwatch;
use crate::base::error::{Error, Result};
use crate::base::limits::cancel::POLL;
use crate::base::limits::confine as bounds;
use crate::sys::process;
use crate::sys::watch::events;

/// Bytes that are kept of what a program that is served writes to its standard error: a traceback.
const ERRORS_BYTES: usize = 4 * 1024;

/// A program to serve, and what it gets beside what commands get.
#[derive(Clone, Debug)]
pub struct Service<'a> {
    /// The name of its home, see [`Exec::program_home`].
    pub name: &'a str,
    /// What `sh -c` gets.
    pub line: &'a str,
    /// Where it runs; `None`: in its home.
    pub folder: Option<PathBuf>,
    /// Further folders to read and write: real paths.
    pub write: Vec<PathBuf>,
    /// Further folders to read: real paths.
    pub read: Vec<PathBuf>,
    /// Further paths that are not changed.
    pub protect: Vec<PathBuf>,
    /// Further variables.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether it reaches the network; `None`: as commands do.
    pub network: Option<bool>,
}

/// A running program. When it is dropped everything that it started is killed.
pub struct Served {
    child: Child,
    change: Option<Change>,
    /// Its input; closing it asks it to end.
    pub input: Option<ChildStdin>,
    /// Its output; at its end all processes of the program have ended, or it was closed.
    pub output: ChildStdout,
    /// What [`ServedErrors`] reads.
    pub error_pipe: ChildStderr,
    /// What came from there.
    pub errors: ServedErrors,
    /// Its line and what it sees; `None` for one without a sandbox.
    view: Option<(String, View)>,
}

/// The end of what a program wrote to its standard error, and behind it what its supervisor reports. Both come
/// from one pipe, so the program can lie about its end, and about nothing else: before it is
/// confined, only the supervisor writes.
#[derive(Debug, Default)]
pub struct ServedErrors {
    report: SupervisorReport,
    /// What came after the program was confined.
    tail: Vec<u8>,
}

impl Exec {
    /// Adds everything to the hash that decides how programs are started.
    pub fn hash_settings(&self, hasher: &mut impl Hasher) {
        self.settings.hash(hasher);
    }

    /// Starts a program, isolated as commands are, and waits until it is confined.
    pub fn serve(&self, service: &Service<'_>, cancel: &Cancel) -> Result<Served> {
        let isolation = self.isolation_of_commands()?;
        let mut settings = self.settings.clone();
        settings.write.extend_from_slice(&service.write);
        settings.read.extend_from_slice(&service.read);
        settings.protect.extend_from_slice(&service.protect);
        settings.network = service.network.unwrap_or(settings.network);
        let own = self.program_home(service.name)?;
        let folder = service.folder.as_ref().unwrap_or(&own);
        settings.own = Some(own.clone());
        let mut settings = settings.resolved()?;
        settings
            .environment
            .retain(|(name, _)| service.environment.iter().all(|(other, _)| other != name));
        settings.environment.extend_from_slice(&service.environment);
        let task = ChildTask::Shell(service.line.into());
        let mut policy = self.policy_by(&settings, isolation, task, folder)?;
        policy.keep_input = true;
        policy.errors_apart = true;
        let mut served = Served::new(
            self.spawn(&policy, Stdio::piped(), Stdio::piped())?,
            &policy.encode(),
        )?;
        served
            .wait_until_confined(cancel)
            .inspect_err(|_| self.forget_isolation())?;
        let view = View::new(&policy, self.settings.account_home.as_deref());
        served.view = Some((service.line.to_owned(), view));
        Ok(served)
    }
}

impl Served {
    /// Takes over a child with pipes, and writes this to its input first.
    fn new(spawned: Spawned, policy: &[u8]) -> Result<Self> {
        let Spawned { mut child, change } = spawned;
        let missing = || Error::Failed("a child has no pipes".to_owned());
        let mut input = child.stdin.take().ok_or_else(missing)?;
        let output = child.stdout.take().ok_or_else(missing)?;
        let error_pipe = child.stderr.take().ok_or_else(missing)?;
        // A failure shows in what the child reports, or fails to report.
        let _ = std::io::Write::write_all(&mut input, policy);
        Ok(Self {
            child,
            change,
            input: Some(input),
            output,
            error_pipe,
            errors: ServedErrors::default(),
            view: None,
        })
    }

    /// A child without a sandbox, for unit tests.
    #[cfg(test)]
    pub fn plain(child: Child) -> Result<Self> {
        let change = None;
        let mut served = Self::new(Spawned { child, change }, b"")?;
        served.errors.take(b"confined\n");
        Ok(served)
    }

    /// Why it failed, where the sandbox is the reason.
    pub fn explain(&self) -> Option<String> {
        let (line, view) = self.view.as_ref()?;
        let (text, report) = self.errors.parse();
        let explanation = view.explain(line, &report.end?, &text)?;
        Some(explanation.note.to_string())
    }

    fn wait_until_confined(&mut self, cancel: &Cancel) -> Result<()> {
        let broken = || Error::io("read from", "a command");
        let watch = Stopwatch::start();
        let mut buffer = [0; STATUS_BYTES];
        let mut is_open = true;
        while is_open && !self.errors.report.confined && watch.elapsed() < START_TIME {
            if cancel.is_cancelled() {
                return Err(Error::Stopped);
            }
            let [ready] =
                process::readable([self.error_pipe.as_fd()], Some(POLL)).map_err(broken())?;
            if ready {
                let length = self.error_pipe.read(&mut buffer).map_err(broken())?;
                is_open = length > 0;
                self.errors.take(buffer.get(..length).unwrap_or_default());
            }
        }
        if let Some(change) = &mut self.change {
            if self.errors.report.grouped {
                change.can_freeze()
            } else {
                change.can_restart(Pid::from_child(&self.child))
            }
        }
        let failure = self.errors.report.failure_after(watch.elapsed());
        failure.map_or(Ok(()), Err)
    }

    /// Asks the supervisor to kill everything. Both pipes are at their end when it has.
    pub fn terminate(&mut self) {
        if !self.has_ended() {
            process::signal(Pid::from_child(&self.child), Signal::TERM);
        }
    }

    /// Kills the supervisor, with which the program ends.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// A handle to the supervisor (pidfd_open(2)); `None` where the kernel has none.
    pub fn handle(&self) -> Option<OwnedFd> {
        events::process(self.child.id()).ok()
    }

    /// Whether the supervisor has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        self.terminate();
        let watch = Stopwatch::start();
        let mut buffer = [0; STATUS_BYTES];
        while watch.elapsed() < bounds::KILL_GRACE {
            let left = bounds::KILL_GRACE.saturating_sub(watch.elapsed());
            match process::readable([self.error_pipe.as_fd()], Some(left)) {
                Ok([true]) if matches!(self.error_pipe.read(&mut buffer), Ok(1..)) => {}
                _ => break,
            }
        }
        // A supervisor that is still there hangs in the kernel; its group goes with it.
        self.kill();
    }
}

impl ServedErrors {
    /// Takes the next bytes of the pipe.
    pub fn take(&mut self, bytes: &[u8]) {
        if self.report.confined {
            self.tail.extend_from_slice(bytes);
        } else {
            self.tail = self.report.take_until_confined(bytes);
        }
        let over = self.tail.len().saturating_sub(ERRORS_BYTES);
        // Not at every piece, for each time moves what stays.
        if over > ERRORS_BYTES {
            self.tail.drain(..over);
        }
    }

    /// The end of what the program wrote, and how it ended where that is known.
    pub fn read(&self) -> (String, Option<String>) {
        let (text, report) = self.parse();
        let end = report.end.map(|end| end.to_string()).or(report.failed);
        (text, end)
    }

    fn parse(&self) -> (String, SupervisorReport) {
        let over = self.tail.len().saturating_sub(ERRORS_BYTES);
        let text = String::from_utf8_lossy(self.tail.get(over..).unwrap_or_default());
        let mut text = text.trim_end();
        // Its last line is the supervisor's, where that had the time to write one.
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        let mut report = SupervisorReport::default();
        if ["exit ", "signal ", "stopped ", "failed "]
            .iter()
            .any(|word| last.starts_with(word))
        {
            report.take(format!("{last}\n").as_bytes());
            text = before.trim_end();
        }
        (text.to_owned(), report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(pieces: &[&str]) -> ServedErrors {
        let mut errors = ServedErrors::default();
        pieces
            .iter()
            .for_each(|piece| errors.take(piece.as_bytes()));
        errors
    }

    #[test]
    fn errors_are_told_from_what_the_supervisor_says_whatever_the_pieces() {
        let pieces = [
            "\nnote no /proc\n\nconf",
            "ined\nTrace",
            "back\nKeyError",
            "\nexit 1\n",
        ];
        let (text, end) = errors(&pieces).read();
        assert_eq!(text, "Traceback\nKeyError");
        assert_eq!(end.as_deref(), Some("exit status 1"));
        let whole = errors(&[&pieces.concat()]);
        assert_eq!(whole.read(), (text, end));
        assert_eq!(
            errors(&["\nconfined\nready\n"]).read(),
            ("ready".into(), None)
        );
        let (_, end) = errors(&["\nconfined\n", "\nfailed cannot run /bin/sh: no\n"]).read();
        assert_eq!(end.as_deref(), Some("cannot run /bin/sh: no"));
        assert!(
            errors(&["failed cannot make namespaces: no\n"])
                .report
                .failure()
                .is_some()
        );
    }

    #[test]
    fn of_many_errors_the_end_is_kept() {
        let mut errors = errors(&["\nconfined\n"]);
        for number in 0..10_000 {
            errors.take(format!("line {number}\n").as_bytes());
        }
        assert!(errors.tail.capacity() <= 8 * ERRORS_BYTES);
        let (text, _) = errors.read();
        assert!(
            text.len() <= ERRORS_BYTES && text.ends_with("line 9999"),
            "{text}"
        );
    }
}
