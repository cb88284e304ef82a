//! Waiting for the command, and the end of everything that it started.

use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::gate::Gate;
use crate::sandbox::confine::SWEEP_PAUSE;
use crate::sys::process::{self, Signals, Woken};

/// How often the number of tasks is looked at while a command of root's runs. A fork bomb makes
/// some four hundred in this time.
const TASKS_LOOK: Duration = Duration::from_millis(20);
/// The same while it does not grow: each look without growth doubles the pause up to this, so that a shell that waits
/// wakes the processor hardly more than once a second.
const TASKS_LOOK_MAX: Duration = Duration::from_millis(640);
/// New tasks of the machine between two looks that do not count as growth: others start programs, too.
const TASKS_GROWTH: u64 = 16;
/// Rounds of killing every descendant. One is enough unless something forks all the time.
const SWEEPS: usize = 100;

/// What a supervisor looks at while it waits.
pub struct Watch<'a> {
    /// Where it says how it went.
    pub status: &'a Status,
    /// What wakes it.
    pub signals: &'a Signals,
    /// How many tasks the machine may have.
    pub ceiling: Option<Ceiling>,
    /// Calls about which it decides.
    pub gate: Option<Gate<'a>>,
}

/// When a command of root's has started too many processes or threads: the kernel does not apply its
/// own limit to root.
pub struct Ceiling {
    /// Tasks of the machine below which nobody has to be counted.
    machine: u64,
    /// Tasks that the command may have.
    own: u64,
    /// When it is looked.
    looks: Looks,
}

/// How often the number of tasks is looked at: soon while it grows, and seldom while a command only waits. A supervisor
/// of an open shell would wake the processor for nothing. The number is the machine's, where a few come and go.
struct Looks {
    /// Tasks at the last look.
    tasks: u64,
    /// Until the next one.
    pause: Duration,
}

impl Looks {
    fn new(tasks: u64) -> Self {
        Self {
            tasks,
            pause: TASKS_LOOK,
        }
    }

    /// It was looked, because it was time or for another reason.
    fn note(&mut self, tasks: u64, is_time: bool) {
        if tasks > self.tasks + TASKS_GROWTH {
            self.pause = TASKS_LOOK;
        } else if is_time {
            self.pause = (2 * self.pause).min(TASKS_LOOK_MAX);
        }
        self.tasks = tasks;
    }
}

impl Ceiling {
    /// The ceiling for a command that starts now; none where the kernel's own limit holds.
    pub fn of(processes: u64) -> Option<Self> {
        let root = rustix::process::getuid().is_root();
        root.then(|| {
            let tasks = process::tasks_on_machine();
            Self {
                machine: tasks + processes,
                own: processes,
                looks: Looks::new(tasks),
            }
        })
    }

    /// The machine's number is cheap to read, but it may be others that have grown: only where it is
    /// high are the command's own counted.
    fn is_passed(&mut self, is_time: bool) -> bool {
        let tasks = process::tasks_on_machine();
        self.looks.note(tasks, is_time);
        tasks > self.machine && process::has_more_tasks_below(rustix::process::getpid(), self.own)
    }
}

impl Watch<'_> {
    /// Waits outside a process namespace for its first process; kills it, and so all, when asked to.
    pub fn namespace(mut self, first: Pid) -> Result<(), Failure> {
        if self.wait(first)?.is_none() {
            process::signal(first, Signal::KILL);
            // It becomes a zombie only when the kernel has killed all others in there.
            let _ = rustix::io::retry_on_intr(|| {
                rustix::process::waitpid(Some(first), WaitOptions::empty())
            });
        }
        Ok(())
    }

    /// Waits for the command and says how it ended.
    pub fn command(mut self, command: Pid) -> Result<(), Failure> {
        if let Some(ended) = self.wait(command)? {
            self.status.ended(ended);
        }
        Ok(())
    }

    /// Reaps children until `main` is among them; none when it is to end before that.
    fn wait(&mut self, main: Pid) -> Result<Option<WaitStatus>, Failure> {
        loop {
            let time = self.ceiling.as_ref().map(|ceiling| ceiling.looks.pause);
            let questions = self.gate.as_ref().map(AsFd::as_fd);
            let woken = self.signals.wait(self.status.as_fd(), questions, time);
            let woken = woken.doing("wait")?;
            let is_time = matches!(woken, Woken::Time);
            match woken {
                Woken::End => return Ok(None),
                Woken::Child => {
                    while let Ok(Some((pid, ended))) = rustix::process::wait(WaitOptions::NOHANG) {
                        if pid == main {
                            return Ok(Some(ended));
                        }
                        if let Some(gate) = &mut self.gate {
                            gate.reaped(pid);
                        }
                    }
                }
                Woken::Question => {
                    if !self.gate.as_mut().is_some_and(Gate::answer) {
                        self.gate = None;
                    }
                }
                Woken::Time => {}
            }
            let ceiling = self.ceiling.as_mut();
            if ceiling.is_some_and(|ceiling| ceiling.is_passed(is_time)) {
                self.status
                    .stopped("it started too many processes or threads");
                return Ok(None);
            }
        }
    }
}

/// Kills every descendant. While something forks all the time a round finds what the last one left,
/// which is less each time: the dead cost no time, so the next round is shorter.
pub fn sweep(signals: &Signals, status: &Status) {
    let own = rustix::process::getpid();
    for _ in 0..SWEEPS {
        for pid in process::descendants_of(own) {
            process::signal(pid, Signal::KILL);
        }
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                // No child is left, and orphans would be our children.
                Err(_) => return,
            }
        }
        // Whether a signal or the time ends this, the next round looks again.
        let _ = signals.wait(status.as_fd(), None, Some(SWEEP_PAUSE));
    }
}

/// What could not be done, in words that go after "cannot".
#[derive(Debug)]
pub struct Failure {
    doing: &'static str,
    error: io::Error,
}

/// Names what was being done when a result is an error.
pub trait While<T> {
    /// See [`While`].
    fn doing(self, what: &'static str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> While<T> for Result<T, E> {
    fn doing(self, what: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure {
            doing: what,
            error: error.into(),
        })
    }
}

/// The pipe to the daemon. While its other end is open, the result is wanted.
pub struct Status(OwnedFd);

impl Status {
    /// Keeps the pipe that the child was given as its standard error; the command does not get it.
    pub fn open() -> io::Result<Self> {
        let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?;
        Ok(Self(copy))
    }

    /// The process is confined.
    pub fn confined(&self) {
        self.line("confined");
    }

    /// The command is in its control group.
    pub fn grouped(&self) {
        self.line("grouped");
    }

    /// Something is missing, and the isolation is complete without it.
    pub fn note(&self, text: &str) {
        self.line(&format!("note {text}"));
    }

    /// The command was stopped by its supervisor.
    pub fn stopped(&self, why: &str) {
        self.line(&format!("stopped {why}"));
    }

    /// The process could not be confined, or the command could not be started.
    pub fn failed(&self, failure: &Failure) {
        self.line(&format!(
            "failed cannot {}: {}",
            failure.doing, failure.error
        ));
    }

    /// How the command ended.
    pub fn ended(&self, status: WaitStatus) {
        let line = |word: &str, number: &dyn Display| self.line(&format!("{word} {number}"));
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => line("exit", &code),
            (None, Some(signal)) => line("signal", &signal),
            (None, None) => {}
        }
    }

    fn line(&self, text: &str) {
        // A line of the command's own errors may have no end. Without a reader there is nothing to do.
        let _ = rustix::io::write(&self.0, format!("\n{text}\n").as_bytes());
    }
}

impl AsFd for Status {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_looked_seldom_while_nothing_is_started_and_soon_again_when_it_is() {
        let mut looks = Looks::new(100);
        for tasks in [100, 99, 99, 98, 98, 98, 98] {
            looks.note(tasks, true);
        }
        assert_eq!(looks.pause, TASKS_LOOK_MAX);
        looks.note(98, false);
        assert_eq!(looks.pause, TASKS_LOOK_MAX);
        looks.note(98 + TASKS_GROWTH, false);
        assert_eq!(looks.pause, TASKS_LOOK_MAX, "a few come and go");
        looks.note(199, false);
        assert_eq!(looks.pause, TASKS_LOOK);
        looks.note(199, false);
        assert_eq!(looks.pause, TASKS_LOOK, "only time makes it longer");
        looks.note(199, true);
        assert_eq!(looks.pause, 2 * TASKS_LOOK);
    }
}
